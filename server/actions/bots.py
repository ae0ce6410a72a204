"""Create, change and deactivate bots."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from server.actions import audit, bot_defaults
from server.actions.api_keys import regenerate
from server.actions.avatars import set_avatar
from server.actions.bot_defaults import UNCHANGED, WantedDefaults
from server.actions.bot_owners import give_bot
from server.actions.credential_changes import end_queues
from server.actions.email_changes import set_bot_address
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.user_activation import deactivate_user
from server.actions.user_audiences import UserAudiences
from server.actions.user_roles import change_role
from server.actions.users import CreatedUser, NewService, NewUser, create_users
from server.domain.accounts import NAME_TAKEN, checked_full_name
from server.domain.actor import Actor
from server.domain.bots import INCOMING_WEBHOOK, check_may_create, email_of_bot, looks_after
from server.domain.errors import BadRequestError
from server.events.base import NO_AUDIENCE, Audience, Entry, to_users
from server.events.bots import (
    BotAdded,
    BotChange,
    BotChanged,
    BotDefaults,
    BotDeleted,
    DeletedBot,
    shown_bot,
    shown_services,
)
from server.events.log import Tick
from server.events.users import PersonChange, UserChanged
from server.i18n import _
from server.transactions import Tx
from storage import bots, users
from storage.bots import DefaultsRow, ServiceRow
from storage.database import Connection
from storage.ids import UserId
from storage.users import UserRow

NO_SUCH_BOT: Final = _("No such bot")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBot:
    """Options of a new bot."""

    full_name: str
    short_name: str
    bot_type: int
    service: NewService | None = None
    defaults: WantedDefaults = UNCHANGED
    avatar_key: str | None = None
    """Key of an avatar that is in the store already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BotWithKey(CreatedUser):
    """A new bot with its API key."""

    defaults: BotDefaults


async def create_bot(tx: Tx, actor: Actor, new: NewBot, *, now: datetime) -> BotWithKey:
    """Create a bot of the actor. Raises BadRequestError."""
    context = await lock_context(tx, actor, names_change=True)
    person = context.standing(actor.user_id).person
    check_may_create(new.bot_type, person, context.graph, context.settings)
    name = checked_full_name(new.full_name)
    await _check_name(await tx.connection(), tx, name)
    decided = await bot_defaults.decide(
        tx,
        context,
        DefaultsRow(bot_id=UserId(0)),
        new.defaults,
        actor_id=actor.user_id,
        owner_id=actor.user_id,
    )
    domain = (await tx.realm_cache()).address_of(context.realm).domain
    [bot] = await create_users(
        tx,
        [
            NewUser(
                email=email_of_bot(new.short_name, domain),
                full_name=name,
                bot_type=new.bot_type,
                bot_owner_id=actor.user_id,
                service=new.service,
                avatar_key=new.avatar_key,
            )
        ],
        now=now,
    )
    made = {"full_name": name, "bot_type": new.bot_type, "owner_id": actor.user_id}
    if new.service is not None:
        made |= {"payload_url": new.service.base_url, "interface": new.service.interface}
    _record(tx, actor, "bot_created", bot.user_id, audit.differences({}, made))
    connection = await tx.changing()
    [row] = await users.by_ids(connection, tx.realm_id, [bot.user_id])
    user_audiences = await UserAudiences.of(tx, context, [row])
    await decided.write(tx, connection, user_audiences, row)
    return BotWithKey(
        user_id=bot.user_id,
        email=bot.email,
        full_name=bot.full_name,
        role=bot.role,
        api_key=bot.api_key,
        defaults=decided.shown,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class BotChanges:
    """Requested changes of a bot; None leaves a field as it is."""

    full_name: str | None = None
    short_name: str | None = None
    """The bot's address follows from it."""
    owner_id: UserId | None = None
    role: int | None = None
    payload_url: str | None = None
    interface: int | None = None
    defaults: WantedDefaults = UNCHANGED
    avatar_key: str | None = None
    """Key of an avatar that is in the store already."""


@dataclass(frozen=True, slots=True)
class ChangedBot:
    row: UserRow
    owner: UserRow | None
    service: ServiceRow | None
    defaults: BotDefaults


async def change_bot(
    tx: Tx, actor: Actor, bot_id: UserId, changes: BotChanges, *, now: datetime
) -> ChangedBot:
    """Change a bot that the actor may manage; all or nothing. Raises BadRequestError.

    A new owner gets the bot with a new key: the previous one may not manage it any more, unless
    they are an administrator.
    """
    wanted = () if changes.owner_id is None else (changes.owner_id,)
    context = await lock_context(tx, actor, [bot_id, *wanted], names_change=True)
    old = _looked_after(context, actor, bot_id)
    connection = await tx.connection()
    service = (await bots.services(connection, tx.realm_id, [bot_id])).get(bot_id)
    new = replace(
        old,
        full_name=await _name(connection, tx, old, changes.full_name),
        bot_owner_id=_owner(context, old, changes),
    )
    email = await _email(connection, tx, context, old, changes.short_name)
    new_service = _service(service, changes)
    defaults = (await bots.defaults(connection, tx.realm_id, [bot_id]))[bot_id]
    decided = await bot_defaults.decide(
        tx,
        context,
        defaults,
        changes.defaults,
        actor_id=actor.user_id,
        owner_id=new.bot_owner_id,
    )
    await tx.lock(users.locking(tx.realm_id, [bot_id]))
    if changes.role is not None and changes.role != old.role:
        await change_role(tx, actor, bot_id, changes.role, now=now)
    if (new, new_service) != (old, service):
        connection = await tx.changing()
        await bots.rename(connection, tx.realm_id, bot_id, full_name=new.full_name)
        if new.bot_owner_id is not None and new.bot_owner_id != old.bot_owner_id:
            new, new_service = await give_bot(tx, new, new_service, new.bot_owner_id)
        elif new_service is not None and new_service != service:
            await bots.update_service(connection, tx.realm_id, new_service)
        before, after = _Bot(old, service), _Bot(new, new_service)
        entry = await _append_bot_events(tx, context, before, after, decided.shown)
        changed = audit.differences(before.facts(), after.facts())
        audit.record_each(tx, entry, actor.user_id, "bot_changed", {bot_id: changed})
    if decided.new != decided.old:
        connection = await tx.changing()
        await decided.write(tx, connection, await UserAudiences.of(tx, context, [new]), new)
    if email != new.email:
        new = await set_bot_address(tx, context, new, email, by=actor.user_id)
    if changes.avatar_key is not None:
        new = await set_avatar(tx, actor, context, new, changes.avatar_key)
    owner_id = new.bot_owner_id
    found = [] if owner_id is None else await users.by_ids(connection, tx.realm_id, [owner_id])
    return ChangedBot(new, found[0] if found else None, new_service, decided.shown)


async def deactivate_bot(tx: Tx, actor: Actor, bot_id: UserId, *, now: datetime) -> None:
    """Deactivate a bot that the actor may manage. Raises BadRequestError."""
    context = await lock_context(tx, actor, [bot_id], names_change=True)
    if _looked_after(context, actor, bot_id).is_active:
        await deactivate_user(tx, bot_id, by=actor.user_id, now=now)


async def regenerate_key(tx: Tx, actor: Actor, bot_id: UserId) -> str:
    """Replace the key of a bot that the actor may manage; return the new one.

    Raises BadRequestError.
    """
    context = await lock_context(tx, actor, [bot_id], names_change=True)
    bot = _looked_after(context, actor, bot_id)
    [locked] = await tx.lock(users.locking(tx.realm_id, [bot.user_id]))
    outcome = await regenerate(tx, locked, by=actor.user_id)
    return outcome.keys[bot.user_id]


async def set_webhook_secret(tx: Tx, actor: Actor, bot_id: UserId, secret: str | None) -> None:
    """Replace the secret of an incoming webhook bot that the actor may manage; None removes it.

    Raises BadRequestError.
    """
    context = await lock_context(tx, actor, [bot_id], names_change=True)
    _looked_after(context, actor, bot_id)
    [bot] = await tx.lock(users.locking(tx.realm_id, [bot_id]))
    if bot.bot_type != INCOMING_WEBHOOK:
        raise BadRequestError(_("Only incoming webhooks have a secret."))
    if bot.webhook_secret == secret:
        return
    await bots.set_webhook_secret(await tx.changing(), tx.realm_id, bot_id, secret)
    entry = await end_queues(tx, [bot_id])
    tx.at_position(entry, users.changed(tx.realm_id, [bot_id]))
    action = "bot_webhook_secret_set" if secret else "bot_webhook_secret_removed"
    audit.record_each(tx, entry, actor.user_id, action, {bot_id: {}})


# -- checks


def _looked_after(context: LockedRealm, actor: Actor, bot_id: UserId) -> UserRow:
    row = context.people.get(bot_id)
    is_bot = row is not None and row.bot_type is not None and not row.is_system_bot
    if row is None or not is_bot or not looks_after(context.standing(actor.user_id).person, row):
        raise BadRequestError(NO_SUCH_BOT)
    return row


async def _name(connection: Connection, tx: Tx, old: UserRow, name: str | None) -> str:
    if name is None or (new := checked_full_name(name)) == old.full_name:
        return old.full_name
    await _check_name(connection, tx, new, but=old.user_id)
    return new


async def _email(
    connection: Connection, tx: Tx, context: LockedRealm, old: UserRow, short_name: str | None
) -> str:
    """Return the bot's address from now on. Raises BadRequestError."""
    if short_name is None:
        return old.email
    domain = (await tx.realm_cache()).address_of(context.realm).domain
    email = email_of_bot(short_name, domain)
    taken = await users.by_emails(connection, tx.realm_id, [email])
    if any(each.user_id != old.user_id for each in taken):
        raise BadRequestError(_("Email '{email}' is already in use.", email=email))
    return email


async def _check_name(
    connection: Connection, tx: Tx, name: str, *, but: UserId | None = None
) -> None:
    """Raise BadRequestError unless the name is unique among bots, so that mentions reach them."""
    same = await users.named(connection, tx.realm_id, name)
    if any(row.user_id != but for row in same):
        raise BadRequestError(NAME_TAKEN)


def _owner(context: LockedRealm, bot: UserRow, changes: BotChanges) -> UserId | None:
    owner_id = changes.owner_id
    if owner_id is None or owner_id == bot.bot_owner_id:
        return bot.bot_owner_id
    row = context.people.get(owner_id)
    if row is None:
        raise BadRequestError(_("Failed to change owner, no such user"))
    person = context.standing_of(row).person
    if not row.is_active:
        raise BadRequestError(_("Failed to change owner, user is deactivated"))
    if person.is_bot or person.is_guest:
        raise BadRequestError(_("Failed to change owner, bots and guests can't own bots"))
    if (bot.role if changes.role is None else changes.role) < row.role:
        raise BadRequestError(_("Failed to change owner, the bot has a higher role than they have"))
    return owner_id


def _service(service: ServiceRow | None, changes: BotChanges) -> ServiceRow | None:
    if changes.payload_url is None and changes.interface is None:
        return service
    if service is None:
        raise BadRequestError(_("This bot is not called: it is no outgoing webhook."))
    return replace(
        service,
        base_url=service.base_url if changes.payload_url is None else changes.payload_url,
        interface=service.interface if changes.interface is None else changes.interface,
    )


# -- events


@dataclass(frozen=True, slots=True)
class _Bot:
    row: UserRow
    service: ServiceRow | None

    def facts(self) -> dict[str, Any]:
        """Return the fields for the audit log: without secrets."""
        row = self.row
        facts: dict[str, Any] = {"full_name": row.full_name, "owner_id": row.bot_owner_id}
        if self.service is not None:
            facts |= {"payload_url": self.service.base_url, "interface": self.service.interface}
        return facts


async def _append_bot_events(
    tx: Tx,
    context: LockedRealm,
    before: _Bot,
    after: _Bot,
    defaults: BotDefaults,
) -> Entry:
    """Publish name and owner to all, what is called to users who may manage the bot."""
    old, new = before.row, after.row
    user_audiences = await UserAudiences.of(tx, context, [new])
    administrators = user_audiences.administrators
    is_given_away = old.bot_owner_id != new.bot_owner_id
    entry: Entry | None = None
    if old.full_name != new.full_name:
        person = PersonChange(user_id=new.user_id, full_name=new.full_name)
        entry = tx.append(UserChanged(person=person), user_audiences.of_person(new))
    if is_given_away:
        assert new.bot_owner_id is not None, "a bot has a new owner"
        person = PersonChange(user_id=new.user_id, bot_owner_id=new.bot_owner_id)
        entry = tx.append(UserChanged(person=person), user_audiences.of_person(new))
        if old.bot_owner_id is not None and old.bot_owner_id not in administrators:
            gone = BotDeleted(bot=DeletedBot(user_id=new.user_id))
            tx.append(gone, to_users(old.bot_owner_id))
        if new.bot_owner_id not in administrators:
            bot = shown_bot(new, after.service, defaults)
            tx.append(BotAdded.of(bot), to_users(new.bot_owner_id))
    if before.service != after.service:
        change = BotChange(user_id=new.user_id, services=shown_services(after.service))
        audience = Audience(users=administrators) if is_given_away else user_audiences.of_bot(new)
        entry = tx.append(BotChanged(bot=change), audience)
    assert entry is not None, "something has changed"
    if old != new:
        tx.at_position(entry, users.changed(tx.realm_id, [new.user_id]))
    return entry


def _record(tx: Tx, actor: Actor, action: str, bot_id: UserId, changed: audit.Differences) -> None:
    entry = tx.append(Tick(), NO_AUDIENCE)
    audit.record_each(tx, entry, actor.user_id, action, {bot_id: changed})
