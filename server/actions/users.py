"""Create users and bots, in their channels and groups."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from server.actions.default_channel_groups import chosen_channels
from server.actions.locked_realm import LockedRealm, lock_realm, locked_realm_of
from server.actions.subscriptions.membership import MembershipChange, join
from server.actions.user_audiences import UserAudiences
from server.domain.access import GUEST, MEMBER, ROLES, Person
from server.domain.accounts import checked_full_name, checked_new_email
from server.domain.api_keys import new_api_key
from server.domain.bots import BOT_TYPES, check_role_of_bot
from server.domain.errors import BadRequestError
from server.domain.profiles import user_id_of_hidden_email
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import UserSettings
from server.events.base import EVERYONE
from server.events.bots import BotAdded, shown_bot
from server.events.groups import MembersAdded, MembersRemoved
from server.events.user_status import UserStatusChanged
from server.events.users import PersonChange, UserChanged
from server.i18n import _
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import bots, channels, credentials, groups, realms, users
from storage.address_folding import FoldedAddress, fold_address
from storage.bots import ServiceRow
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelGroupId, ChannelId, GroupId, RealmId, UserId
from storage.users import NewUserRow, Stub, UserRow


@dataclass(frozen=True, slots=True, kw_only=True)
class NewService:
    """URL and interface of a new bot's outgoing webhook."""

    base_url: str
    interface: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Initial channels and groups of a user; archived or deleted ones are skipped."""

    channel_ids: Sequence[ChannelId] = ()
    includes_defaults: bool = True
    """Whether they join the default channels, too."""
    group_ids: Sequence[GroupId] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NewUser:
    """An account to be created; a bot has a `bot_type`."""

    email: str
    full_name: str
    role: int = MEMBER
    password_hash: str | None = None
    """From server/domain/passwords.py; None: no password, only the API key."""
    bot_type: int | None = None
    bot_owner_id: UserId | None = None
    service: NewService | None = None
    """Outgoing webhook of a bot."""
    avatar_key: str | None = None
    """Key of an avatar that is in the store already."""
    timezone: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Personal settings that differ from the realm's defaults."""
    channel_groups: Collection[ChannelGroupId] = ()
    """Default channel groups to join as well, unless there is a `start`."""
    is_active: bool = True
    """Accounts that are deactivated from the start come with imports."""
    email_confirmed: bool = True
    """False if the address was only entered, and no mail or administrator says whose it is."""
    stub: Stub | None = None
    """Origin of the account, if its person has yet to sign in."""
    joined_at: datetime | None = None
    """None: now. Imported accounts are older."""
    start: Start | None = None
    """None: the default channels for people, except guests; nothing for bots."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedUser:
    """A new account with its API key."""

    user_id: UserId
    email: str
    full_name: str
    role: int
    api_key: str


async def create_users(tx: Tx, new: Sequence[NewUser], *, now: datetime) -> list[CreatedUser]:
    """Create all of these accounts, or none; return them in the same order.

    They join what their `start` says, or the default channels and those of the groups that they
    have chosen. Publishes it to all who may know them. Raises BadRequestError for what is wrong
    with any of them: a name, a role, an unknown group, an address that is malformed or has an
    account already.
    """
    realm = await lock_realm(tx, alone=True)
    checked = [checked_user(each) for each in new]
    connection = await tx.connection()
    domain = (await tx.realm_cache()).address_of(realm).domain
    await _refuse_taken(connection, tx.realm_id, checked, domain=domain)
    choices = [each.channel_groups for each in checked]
    chosen = await chosen_channels(connection, tx.realm_id, choices)
    wanted = {i for each in checked if each.start for i in each.start.channel_ids}.union(*chosen)
    ids = sorted(wanted.union(await channels.default_ids(connection, tx.realm_id)))
    places = await tx.lock(channels.locking(tx.realm_id, ids)) if ids else []

    connection = await tx.changing()
    rows = await insert_users(
        connection,
        tx.realm_id,
        checked,
        now=now,
        settings=RealmSettings.of(realm.settings),
    )
    context = await locked_realm_of(tx, realm, rows)
    services = await _give_services(connection, tx.realm_id, rows, checked)
    await _append_new_user_events(tx, connection, context, services, now=now)
    starts = {
        row.user_id: _start_of(row, each, own)
        for row, each, own in zip(rows, checked, chosen, strict=True)
    }
    await _enter_groups(tx, connection, context, starts)
    await join(tx, context, _arrivals(rows, starts, places))
    return [created(row) for row in rows]


async def keep_rehashed_password(tx: Tx, user_id: UserId, *, old: str, new: str) -> None:
    """Store a stronger hash of the same password, unless it has been changed meanwhile."""
    connection = await tx.changing()
    await credentials.update_password_hash(connection, tx.realm_id, user_id, old=old, new=new)


async def insert_users(
    connection: Connection,
    realm_id: RealmId,
    new: Sequence[NewUser],
    *,
    now: datetime,
    settings: RealmSettings,
    are_system_bots: bool = False,
) -> list[UserRow]:
    """Insert the rows of new accounts, and nothing else: a realm with users needs create_users.

    They start as the realm's settings say; system bots have the same settings everywhere.
    """
    defaults = {} if are_system_bots else settings.start_of_newcomers
    ids = await users.new_ids(connection, len(new))
    rows = [
        NewUserRow(
            user_id=user_id,
            email=each.email,
            full_name=each.full_name,
            role=each.role,
            api_key=new_api_key(),
            date_joined=each.joined_at or now,
            password_hash=each.password_hash,
            bot_type=each.bot_type,
            bot_owner_id=each.bot_owner_id,
            is_system_bot=are_system_bots,
            timezone=each.timezone,
            settings={**defaults, **each.settings},
            avatar_key=each.avatar_key,
            is_active=each.is_active,
            email_confirmed=each.email_confirmed,
            avatar_source=settings.default_avatar_source,
            stub=each.stub,
        )
        for user_id, each in zip(ids, new, strict=True)
    ]
    await users.insert(connection, realm_id, rows)
    return await users.by_ids(connection, realm_id, ids)


def checked_user(new: NewUser) -> NewUser:
    """Return the normalized user. Raises BadRequestError."""
    if new.role not in ROLES:
        raise BadRequestError(_("Invalid role"))
    if new.bot_type is not None and new.bot_type not in BOT_TYPES:
        raise BadRequestError(_("Invalid bot type"))
    if new.bot_type is not None:
        check_role_of_bot(new.role, owner=None)
    return replace(
        new, email=checked_new_email(new.email), full_name=checked_full_name(new.full_name)
    )


def created(row: UserRow) -> CreatedUser:
    return CreatedUser(
        user_id=row.user_id,
        email=row.email,
        full_name=row.full_name,
        role=row.role,
        api_key=row.api_key,
    )


async def _refuse_taken(
    connection: Connection, realm_id: RealmId, new: Sequence[NewUser], *, domain: str
) -> None:
    """Raise BadRequestError if an address has an account already, or is given twice.

    Generated addresses of the realm's own domain are no user's.
    """
    wanted: set[FoldedAddress] = set()
    for each in new:
        if user_id_of_hidden_email(each.email, domain) is not None:
            raise BadRequestError(_("Email '{email}' is reserved.", email=each.email))
        if fold_address(each.email) in wanted:
            raise BadRequestError(_("Email '{email}' is given twice.", email=each.email))
        wanted.add(fold_address(each.email))
    for row in await users.by_emails(connection, realm_id, list(wanted)):
        if not row.is_active:
            raise BadRequestError(
                _("Email '{email}' belongs to an account that is deactivated.", email=row.email)
            )
        raise BadRequestError(_("Email '{email}' is already in use.", email=row.email))


def _start_of(row: UserRow, new: NewUser, chosen: Collection[ChannelId]) -> Start:
    """Return the start of a new user: for people the defaults and what they chose."""
    if new.start is not None:
        return new.start
    if row.bot_type is not None or row.role == GUEST or not row.is_active:
        return Start(includes_defaults=False)
    return Start(channel_ids=tuple(chosen))


def _arrivals(
    rows: Sequence[UserRow], starts: Mapping[UserId, Start], places: Sequence[ChannelRow]
) -> MembershipChange:
    """Return the initial subscriptions of the new users in these channels."""
    pairs = [
        (user_id, channel.channel_id)
        for user_id, start in starts.items()
        for channel in places
        if not channel.is_archived
        and (
            channel.channel_id in start.channel_ids
            or (start.includes_defaults and channel.is_default)
        )
    ]
    joining = {user_id for user_id, _ in pairs}
    return MembershipChange(
        channels={channel.channel_id: channel for channel in places},
        people={row.user_id: row for row in rows if row.user_id in joining},
        pairs=pairs,
    )


async def _enter_groups(
    tx: Tx, connection: Connection, context: LockedRealm, starts: Mapping[UserId, Start]
) -> None:
    """Add the new users to their initial groups, if those are active."""
    open_groups = context.graph.members.keys() - context.graph.deactivated
    entering = grouped(
        (group_id, user_id)
        for user_id, start in starts.items()
        for group_id in start.group_ids
        if group_id in open_groups
    )
    for group_id, user_ids in entering.items():
        await groups.add_members(connection, tx.realm_id, group_id, user_ids)
        entry = tx.append(MembersAdded(group_id=group_id, user_ids=tuple(user_ids)), EVERYONE)
        tx.at_position(entry, realms.groups_changed(tx.realm_id))


async def _give_services(
    connection: Connection, realm_id: RealmId, rows: Sequence[UserRow], new: Sequence[NewUser]
) -> dict[UserId, ServiceRow]:
    """Insert the bots' outgoing webhooks, each with a token of its own."""
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


async def _append_new_user_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    services: Mapping[UserId, ServiceRow],
    *,
    now: datetime,
) -> None:
    user_audiences = await UserAudiences.of(tx, context)
    for row in context.people.values():
        for event, audience in user_audiences.newcomer_events(row):
            tx.append(event, audience)
        if not row.is_active:
            # Clients take new people for active ones.
            change = PersonChange(user_id=row.user_id, is_active=False)
            gone = tx.append(UserChanged(person=change), user_audiences.of_person(row))
            tx.at_position(gone, users.changed(tx.realm_id, [row.user_id]))
        if row.bot_type is not None:
            bot = shown_bot(row, services.get(row.user_id))
            tx.append(BotAdded.of(bot), user_audiences.of_bot(row))
        elif row.is_active and not UserSettings.of(row.settings).presence_enabled:
            away = UserStatusChanged(user_id=row.user_id, away=True)
            tx.append(away, user_audiences.of_person(row))
    active = {i: row for i, row in context.people.items() if row.is_active}
    await append_role_group_events(
        tx, connection, replace(context, people=active), MembersAdded, now=now
    )


async def append_role_group_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    event: type[MembersAdded | MembersRemoved],
    *,
    now: datetime,
) -> None:
    """Publish to all which role groups have gained or lost them; it invalidates their rows."""
    by_name = grouped(
        (name, row.user_id)
        for row in context.people.values()
        for name in Person(row.user_id, row.role, row.date_joined).role_groups(
            context.graph.waiting_period, now
        )
    )
    ids = await groups.system_ids(connection, tx.realm_id)
    entry = None
    for name, user_ids in by_name.items():
        entry = tx.append(event(group_id=ids[name], user_ids=tuple(user_ids)), EVERYONE)
    if entry is not None:
        tx.at_position(entry, users.changed(tx.realm_id, list(context.people)))
