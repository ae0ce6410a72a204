"""People and bots join the organization, and leave it."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from server.actions.ground import Ground, ground_of, lock_realm
from server.actions.onlookers import Onlookers
from server.actions.push_devices import drop_all_devices
from server.actions.subscriptions.membership import Move, join, withdraw
from server.domain.access import GUEST, MEMBER, OWNER, ROLES, Person
from server.domain.accounts import checked_email, checked_full_name
from server.domain.api_keys import new_api_key
from server.domain.bots import BOT_TYPES
from server.domain.errors import BadRequestError
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import UserSettings
from server.events.base import EVERYONE, NOBODY, Tx
from server.events.bots import BotAdded, BotChange, BotChanged, shown_bot
from server.events.groups import MembersAdded, MembersRemoved
from server.events.log import QueuesEnded
from server.events.user_status import UserStatusChanged
from server.events.users import PersonChange, UserChanged
from storage import bots, channels, event_queues, groups, subscriptions, users
from storage.bots import ServiceRow
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.users import NewUserRow, UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewService:
    """Where a bot is to be called, and in which form."""

    base_url: str
    interface: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """Somebody who is to get an account; a bot has a `bot_type`."""

    email: str
    full_name: str
    role: int = MEMBER
    password_hash: str | None = None
    """From server/domain/passwords.py; None: no password, only the API key."""
    bot_type: int | None = None
    bot_owner_id: UserId | None = None
    service: NewService | None = None
    """Of a bot that is called."""
    timezone: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Personal settings that differ from the organization's defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedUser:
    """A new account, with the key that opens it."""

    user_id: UserId
    email: str
    full_name: str
    role: int
    api_key: str


async def create_users(tx: Tx, new: Sequence[NewUser], *, now: datetime) -> list[CreatedUser]:
    """Give all of these an account, or none of them; in the same order.

    People, but for guests, are subscribed to the default channels. Everyone who may know of all
    this is told. Raises BadRequestError for what is wrong with any of them: a name, a role, an
    address that is malformed or has an account already.
    """
    realm = await lock_realm(tx, alone=True)
    checked = [checked_user(each) for each in new]
    connection = await tx.connection()
    await _refuse_taken(connection, tx.realm_id, checked)
    ids = await channels.default_ids(connection, tx.realm_id)
    defaults = await tx.lock(channels.locking(tx.realm_id, ids)) if ids else []

    connection = await tx.changing()
    rows = await insert_users(
        connection,
        tx.realm_id,
        checked,
        now=now,
        defaults=RealmSettings.of(realm.settings).start_of_newcomers,
    )
    ground = await ground_of(tx, realm, rows)
    services = await _give_services(connection, tx.realm_id, rows, checked)
    await _tell_of_newcomers(tx, connection, ground, services, now=now)
    await join(tx, ground, _to_defaults(rows, defaults))
    return [created(row) for row in rows]


async def deactivate_user(tx: Tx, user_id: UserId, *, now: datetime) -> None:
    """Close the account, and those of the user's bots; their event queues end at once.

    Somebody who is deactivated already stays it. Raises BadRequestError for an unknown user and
    for the only owner.
    """
    realm = await lock_realm(tx, alone=True)
    connection = await tx.connection()
    own = await users.bots(connection, tx.realm_id, owner_id=user_id)
    people = await _lock(tx, [user_id, *(bot.user_id for bot in own)])
    leaving = {row.user_id: row for row in people.values() if row.is_active}
    await _refuse_to_deactivate(connection, tx.realm_id, people.get(user_id), leaving)
    if not leaving:
        return
    move = await _subscribed(tx, connection, leaving)

    connection = await tx.changing()
    left = list(leaving)
    await users.update_active(connection, tx.realm_id, left, active=False)
    await event_queues.delete_of_users(connection, tx.realm_id, left)
    await drop_all_devices(tx, left)
    ground = await ground_of(tx, realm, leaving.values())
    await _tell_of_leaving(tx, connection, ground, now=now)
    await withdraw(tx, ground, move)
    tx.append(QueuesEnded(user_ids=tuple(left)), NOBODY)


async def keep_rehashed_password(tx: Tx, user_id: UserId, *, old: str, new: str) -> None:
    """Keep a stronger hash of the same password, unless it has been changed meanwhile."""
    connection = await tx.changing()
    await users.update_password_hash(connection, tx.realm_id, user_id, old=old, new=new)


async def insert_users(
    connection: Connection,
    realm_id: RealmId,
    new: Sequence[NewUser],
    *,
    now: datetime,
    defaults: Mapping[str, Any],
    are_system_bots: bool = False,
) -> list[UserRow]:
    """The rows of new accounts, and nothing else: in a realm that others know, create_users."""
    ids = await users.new_ids(connection, len(new))
    rows = [
        NewUserRow(
            user_id=user_id,
            email=each.email,
            full_name=each.full_name,
            role=each.role,
            api_key=new_api_key(),
            date_joined=now,
            password_hash=each.password_hash,
            bot_type=each.bot_type,
            bot_owner_id=each.bot_owner_id,
            is_system_bot=are_system_bots,
            timezone=each.timezone,
            settings={**defaults, **each.settings},
        )
        for user_id, each in zip(ids, new, strict=True)
    ]
    await users.insert(connection, realm_id, rows)
    return await users.by_ids(connection, realm_id, ids)


def checked_user(new: NewUser) -> NewUser:
    """The same, as it is kept. Raises BadRequestError."""
    if new.role not in ROLES:
        raise BadRequestError("Invalid role")
    if new.bot_type is not None and new.bot_type not in BOT_TYPES:
        raise BadRequestError("Invalid bot type")
    return replace(new, email=checked_email(new.email), full_name=checked_full_name(new.full_name))


def created(row: UserRow) -> CreatedUser:
    return CreatedUser(
        user_id=row.user_id,
        email=row.email,
        full_name=row.full_name,
        role=row.role,
        api_key=row.api_key,
    )


async def _refuse_taken(connection: Connection, realm_id: RealmId, new: Sequence[NewUser]) -> None:
    """Raise BadRequestError if an address has an account already, or is given twice."""
    wanted: set[str] = set()
    for each in new:
        if each.email.lower() in wanted:
            raise BadRequestError(f"Email '{each.email}' is given twice.")
        wanted.add(each.email.lower())
    for row in await users.by_emails(connection, realm_id, list(wanted)):
        raise BadRequestError(f"Email '{row.email}' is already in use.")


async def _refuse_to_deactivate(
    connection: Connection,
    realm_id: RealmId,
    user: UserRow | None,
    leaving: Collection[UserId],
) -> None:
    """Raise BadRequestError if there is no such user, or if no owner would be left."""
    if user is None or user.is_system_bot:
        raise BadRequestError("No such user")
    owners = (await users.ids_by_role(connection, realm_id)).get(OWNER, ())
    if owners and set(owners) <= set(leaving):
        raise BadRequestError("Cannot deactivate the only organization owner")


async def _lock(tx: Tx, user_ids: Sequence[UserId]) -> dict[UserId, UserRow]:
    """The rows of these users, to change them; of those who do not exist none."""
    found = await users.by_ids(await tx.connection(), tx.realm_id, user_ids)
    rows = await tx.lock(users.locking(tx.realm_id, [row.user_id for row in found]))
    return {row.user_id: row for row in rows}


async def _subscribed(tx: Tx, connection: Connection, leaving: Mapping[UserId, UserRow]) -> Move:
    """Where they are subscribed; those channels are locked."""
    rows = await subscriptions.of_users(connection, tx.realm_id, list(leaving))
    pairs = [(row.user_id, row.channel_id) for row in rows if row.active]
    ids = sorted({channel_id for _, channel_id in pairs})
    locked = await tx.lock(channels.locking(tx.realm_id, ids)) if ids else []
    return Move(
        channels={channel.channel_id: channel for channel in locked}, people=leaving, pairs=pairs
    )


async def _tell_of_leaving(
    tx: Tx, connection: Connection, ground: Ground, *, now: datetime
) -> None:
    onlookers = await _onlookers(tx, connection, ground)
    for row in ground.people.values():
        change = PersonChange(user_id=row.user_id, is_active=False)
        tx.append(UserChanged(person=change), onlookers.of_person(row))
        if row.bot_type is not None:
            bot_change = BotChange(user_id=row.user_id, is_active=False)
            tx.append(BotChanged(bot=bot_change), onlookers.of_bot(row))
    memberships = await groups.memberships(connection, tx.realm_id, list(ground.people))
    for group_id, gone in memberships.items():
        hidden = group_id in ground.graph.deactivated
        gone_from = MembersRemoved(group_id=group_id, user_ids=gone, deactivated=hidden)
        tx.append(gone_from, EVERYONE)
    await _tell_role_groups(tx, connection, ground, MembersRemoved, now=now)


def _to_defaults(rows: Sequence[UserRow], defaults: Sequence[ChannelRow]) -> Move:
    """The newcomers who are people of the organization join these channels."""
    joining = {row.user_id: row for row in rows if row.bot_type is None and row.role != GUEST}
    return Move(
        channels={channel.channel_id: channel for channel in defaults},
        people=joining,
        pairs=[(user_id, channel.channel_id) for user_id in joining for channel in defaults],
    )


async def _give_services(
    connection: Connection, realm_id: RealmId, rows: Sequence[UserRow], new: Sequence[NewUser]
) -> dict[UserId, ServiceRow]:
    """Each bot that is called gets a secret of its own, by which it knows who calls."""
    services = {
        row.user_id: ServiceRow(
            bot_id=row.user_id,
            interface=each.service.interface,
            base_url=each.service.base_url,
            token=new_api_key(),
        )
        for row, each in zip(rows, new, strict=True)
        if each.service is not None
    }
    for service in services.values():
        await bots.insert_service(connection, realm_id, service)
    return services


async def _tell_of_newcomers(
    tx: Tx,
    connection: Connection,
    ground: Ground,
    services: Mapping[UserId, ServiceRow],
    *,
    now: datetime,
) -> None:
    onlookers = await _onlookers(tx, connection, ground)
    for row in ground.people.values():
        for event, audience in onlookers.told_of_newcomer(row):
            tx.append(event, audience)
        if row.bot_type is not None:
            bot = shown_bot(row, onlookers.domain, services.get(row.user_id))
            tx.append(BotAdded(bot=bot), onlookers.of_bot(row))
        elif not UserSettings.of(row.settings).presence_enabled:
            away = UserStatusChanged(user_id=row.user_id, away=True)
            tx.append(away, onlookers.of_person(row))
    await _tell_role_groups(tx, connection, ground, MembersAdded, now=now)


async def _onlookers(tx: Tx, connection: Connection, ground: Ground) -> Onlookers:
    """Who may know what of the people on this ground."""
    directory = await tx.directory()
    return await Onlookers.of(
        connection,
        tx.realm_id,
        domain=directory.address_of(ground.realm).domain,
        guests_know_everybody=ground.settings.guests_know_everybody(ground.graph),
        rows=list(ground.people.values()),
    )


async def _tell_role_groups(
    tx: Tx,
    connection: Connection,
    ground: Ground,
    event: type[MembersAdded | MembersRemoved],
    *,
    now: datetime,
) -> None:
    """Tell everyone which role groups have gained or lost them; their rows change with that."""
    by_name: dict[str, list[UserId]] = defaultdict(list)
    for row in ground.people.values():
        person = Person(row.user_id, row.role, row.date_joined)
        for name in person.role_groups(ground.graph.waiting_period, now):
            by_name[name].append(row.user_id)
    ids = await groups.system_ids(connection, tx.realm_id)
    entry = None
    for name, user_ids in by_name.items():
        entry = tx.append(event(group_id=ids[name], user_ids=tuple(user_ids)), EVERYONE)
    if entry is not None:
        tx.at_position(entry, users.changed(tx.realm_id, list(ground.people)))
