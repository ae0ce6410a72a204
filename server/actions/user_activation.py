"""Deactivate and reactivate accounts."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

import msgspec

from server.actions import audit
from server.actions.account_mail import mail_news
from server.actions.bot_owners import give_bot
from server.actions.credential_changes import Extent, Proof, check_proof, end_pending, end_queues
from server.actions.invitations import withdraw_of
from server.actions.locked_realm import (
    LockedRealm,
    lock_as_administrator,
    lock_realm,
    locked_realm_of,
)
from server.actions.named_people import append_permission_events
from server.actions.presence import introduce
from server.actions.subscriptions.membership import MembershipChange, set_receiving
from server.actions.unique_names import check_unique
from server.actions.user_audiences import UserAudiences
from server.actions.user_roles import owners_of
from server.actions.users import append_role_group_events
from server.domain.access import MEMBER, OWNER
from server.domain.account_news import AccountNews, Closed, Deactivated
from server.domain.actor import Actor
from server.domain.credential_changes import Ended
from server.domain.errors import BadRequestError, CannotDeactivateLastUserError
from server.events.base import EVERYONE, Entry
from server.events.bots import BotChange, BotChanged, shown_services
from server.events.groups import MembersAdded, MembersRemoved
from server.events.users import InaccessibleUserChanged, PersonChange, UserChanged
from server.i18n import _
from server.transactions import Tx
from storage import (
    bots,
    call_tokens,
    channels,
    compliance,
    groups,
    realms,
    subscriptions,
    users,
)
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.users import UserRow

MAX_COMMENT: Final = 2_000
CLOSING: Final = Extent(sessions=True, api_key=True, named_keys=True)
ONLY_OWNER: Final = _("Cannot deactivate the only organization owner")


async def deactivate_as_administrator(
    tx: Tx, actor: Actor, user_id: UserId, *, comment: str | None, now: datetime
) -> None:
    """Deactivate a user's account; a comment, even an empty one, is mailed to a person.

    Raises BadRequestError if the actor may not, for an unknown user, and for the only owner.
    """
    await lock_as_administrator(tx, actor)
    row = await _known(tx, actor, user_id)
    if not row.is_active:
        return
    await deactivate_user(tx, user_id, by=actor.user_id, now=now)
    if comment is not None and row.bot_type is None:
        mail_news(tx, row, Deactivated(comment=comment.strip()))


async def deactivate_own(tx: Tx, actor: Actor, proof: Proof, *, now: datetime) -> None:
    """Deactivate the actor's own account; email them about it.

    Raises CannotDeactivateLastUserError, and BadRequestError if the proof is out of date.
    """
    await lock_realm(tx, alone=True)
    connection = await tx.connection()
    await tx.lock(users.locking(tx.realm_id, [actor.user_id]))
    await check_proof(tx, actor.user_id, proof)
    people = await users.ids_by_role(connection, tx.realm_id, without_bots=True)
    if set(people.get(OWNER, ())) == {actor.user_id}:
        raise CannotDeactivateLastUserError(entity="organization owner", is_last_owner=True)
    if {user_id for ids in people.values() for user_id in ids} == {actor.user_id}:
        raise CannotDeactivateLastUserError(entity="user", is_last_owner=False)
    await deactivate_user(
        tx, actor.user_id, by=actor.user_id, news=lambda ended: Closed(ended=ended), now=now
    )


async def reactivate_as_administrator(
    tx: Tx, actor: Actor, user_id: UserId, *, now: datetime
) -> None:
    """Reactivate a user's account. A bot with a deactivated owner gets the actor as owner.

    Raises BadRequestError if the actor may not, for an unknown user, one who is active, and for a
    name that another user has by now.
    """
    realm = await lock_as_administrator(tx, actor)
    row = await _known(tx, actor, user_id)
    heir = None if row.is_active else await _heir(tx, actor, row)
    if heir is not None:
        await tx.lock(users.locking(tx.realm_id, [user_id]))
        await _inherit(tx, await locked_realm_of(tx, realm, [row]), row, heir)
    await reactivate_user(tx, user_id, by=actor.user_id, now=now)


async def deactivate_user(
    tx: Tx,
    user_id: UserId,
    *,
    by: UserId | None = None,
    news: Callable[[Ended], AccountNews] | None = None,
    now: datetime,
) -> None:
    """Deactivate the account, and those of the user's bots; delete their event queues.

    Their keys and sessions are revoked, also for a later reactivation. A deactivated user stays so.
    `by` is recorded as the actor; None: the operator. `news` is mailed to the person. Raises
    BadRequestError for an unknown user and for the only owner.
    """
    realm = await lock_realm(tx, alone=True)
    connection = await tx.connection()
    own = await users.bots(connection, tx.realm_id, owner_id=user_id)
    people = await _lock(tx, [user_id, *(bot.user_id for bot in own)])
    leaving = {row.user_id: row for row in people.values() if row.is_active}
    await _refuse_to_deactivate(connection, tx.realm_id, people.get(user_id), leaving)
    if not leaving:
        return
    change = await _subscribed(tx, connection, leaving)

    connection = await tx.changing()
    left = list(leaving)
    await users.update_active(connection, tx.realm_id, left, active=False)
    await call_tokens.delete_of_users(connection, tx.realm_id, left)
    await compliance.dismiss(connection, tx.realm_id, left, now=now)
    outcome = await end_pending(tx, list(leaving.values()), CLOSING, news=news)
    gone = [replace(row, api_key=outcome.keys[row.user_id]) for row in leaving.values()]
    context = await locked_realm_of(tx, realm, gone)
    await _append_activation_events(tx, connection, context, active=False, now=now)
    await append_permission_events(tx, connection, context, left, active=False)
    entry = await end_queues(tx, left)
    _keep(tx, entry, by, left, active=False)
    gone_inviters = {row.user_id: replace(row, is_active=False) for row in gone}
    await withdraw_of(tx, replace(context, people=gone_inviters))
    await set_receiving(tx, context, change, entry, receives=False)


async def reactivate_user(
    tx: Tx, user_id: UserId, *, by: UserId | None = None, now: datetime
) -> None:
    """Reactivate the account with its role, groups and channels, and with a new key.

    The user's bots stay deactivated. `by` is as above. Raises BadRequestError for an unknown user,
    one who is active, and for a name that another user has by now.
    """
    realm = await lock_realm(tx, alone=True)
    connection = await tx.connection()
    row = (await _lock(tx, [user_id])).get(user_id)
    if row is None or row.is_system_bot:
        raise BadRequestError(_("No such user"))
    if row.is_active:
        raise BadRequestError(_("User is already active"))
    active = replace(row, is_active=True, is_deleted=False)
    context = await locked_realm_of(tx, realm, [active])
    await check_unique(connection, context, row, row.full_name)
    change = await _subscribed(tx, connection, {user_id: row})

    connection = await tx.changing()
    await users.update_active(connection, tx.realm_id, [user_id], active=True)
    entry = await _append_activation_events(
        tx, connection, context, active=True, was_deleted=row.is_deleted, now=now
    )
    await append_permission_events(tx, connection, context, [user_id], active=True)
    _keep(tx, entry, by, [user_id], active=True)
    await set_receiving(tx, context, change, entry, receives=True)


# -- checks


async def _known(tx: Tx, actor: Actor, user_id: UserId) -> UserRow:
    """Return the user, if the actor, an administrator, may deactivate and reactivate them."""
    found = await users.by_ids(await tx.connection(), tx.realm_id, [actor.user_id, user_id])
    rows = {row.user_id: row for row in found}
    row = rows.get(user_id)
    if row is None or row.is_system_bot:
        raise BadRequestError(_("No such user"))
    if row.role == OWNER and rows[actor.user_id].role != OWNER:
        raise BadRequestError(_("Must be an organization owner"))
    return row


async def _refuse_to_deactivate(
    connection: Connection,
    realm_id: RealmId,
    user: UserRow | None,
    leaving: Collection[UserId],
) -> None:
    """Raise BadRequestError if there is no such user, or if no owner would be left."""
    if user is None or user.is_system_bot:
        raise BadRequestError(_("No such user"))
    owners = await owners_of(connection, realm_id)
    if owners and set(owners) <= set(leaving):
        raise BadRequestError(ONLY_OWNER)


# -- bots of deactivated owners


async def _heir(tx: Tx, actor: Actor, row: UserRow) -> UserRow | None:
    """Return the new owner of the bot, if it is one without an active owner."""
    if row.bot_type is None:
        return None
    wanted = [actor.user_id, *([] if row.bot_owner_id is None else [row.bot_owner_id])]
    found = {
        each.user_id: each
        for each in await users.by_ids(await tx.connection(), tx.realm_id, wanted)
    }
    owner = None if row.bot_owner_id is None else found.get(row.bot_owner_id)
    if owner is not None and owner.is_active and owner.role <= MEMBER:
        return None
    if actor.is_bot:
        raise BadRequestError(_("The bot has no owner any more, and a bot cannot be one."))
    return found[actor.user_id]


async def _inherit(tx: Tx, context: LockedRealm, row: UserRow, heir: UserRow) -> None:
    """Transfer the bot to the heir: an administrator, who may manage it already."""
    service = (await bots.services(await tx.connection(), tx.realm_id, [row.user_id])).get(
        row.user_id
    )
    _, new_service = await give_bot(tx, row, service, heir.user_id)
    await tx.changing()
    user_audiences = await UserAudiences.of(tx, context)
    person = PersonChange(user_id=row.user_id, bot_owner_id=heir.user_id)
    entry = tx.append(UserChanged(person=person), user_audiences.of_person(row))
    if new_service is not None:
        bot = BotChange(user_id=row.user_id, services=shown_services(new_service))
        tx.append(BotChanged(bot=bot), user_audiences.of_bot(row))
    changed = {row.user_id: {"owner_id": (row.bot_owner_id, heir.user_id)}}
    audit.record_each(tx, entry, heir.user_id, "bot_changed", changed)


# -- rows and events


async def _lock(tx: Tx, user_ids: Sequence[UserId]) -> dict[UserId, UserRow]:
    """Lock and return the rows of these users; unknown users are left out."""
    found = await users.by_ids(await tx.connection(), tx.realm_id, user_ids)
    rows = await tx.lock(users.locking(tx.realm_id, [row.user_id for row in found]))
    return {row.user_id: row for row in rows}


async def _subscribed(
    tx: Tx, connection: Connection, people: Mapping[UserId, UserRow]
) -> MembershipChange:
    """Lock the channels of their subscriptions; return the subscriptions."""
    rows = await subscriptions.of_users(connection, tx.realm_id, list(people))
    pairs = [(row.user_id, row.channel_id) for row in rows if row.active]
    ids = sorted({channel_id for _, channel_id in pairs})
    locked = await tx.lock(channels.locking(tx.realm_id, ids)) if ids else []
    return MembershipChange(
        channels={channel.channel_id: channel for channel in locked}, people=people, pairs=pairs
    )


async def _append_activation_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    *,
    active: bool,
    was_deleted: bool = False,
    now: datetime,
) -> Entry:
    """Publish to all who may know them that they are active, or not any more; return the entry.

    With `was_deleted`, also that they are not deleted any more.
    """
    user_audiences = await UserAudiences.of(tx, context)
    entry: Entry | None = None
    for row in context.people.values():
        change = PersonChange(user_id=row.user_id, is_active=active)
        knowing, strangers = await user_audiences.split(row)
        known = msgspec.structs.replace(change, is_deleted=False) if was_deleted else change
        entry = tx.append(UserChanged(person=known), knowing)
        if strangers is not None:
            tx.append(InaccessibleUserChanged(person=change), strangers)
        if active and row.bot_type is None:
            # Clients have dropped data that only active users have.
            domain = user_audiences.address.domain
            await introduce(tx, connection, context, [row], knowing, domain=domain)
    assert entry is not None, "a user is activated or deactivated"
    kind = MembersAdded if active else MembersRemoved
    memberships = await groups.memberships(connection, tx.realm_id, list(context.people))
    for group_id, user_ids in memberships.items():
        hidden = group_id in context.graph.deactivated
        tx.append(kind(group_id=group_id, user_ids=user_ids, deactivated=hidden), EVERYONE)
    await append_role_group_events(tx, connection, context, kind, now=now)
    return entry


def _keep(
    tx: Tx, entry: Entry, by: UserId | None, user_ids: Sequence[UserId], *, active: bool
) -> None:
    # Deactivated users count in groups: decisions on the previous state are stale.
    tx.at_position(entry, realms.groups_changed(tx.realm_id))
    changed = {user_id: {"is_active": (not active, active)} for user_id in user_ids}
    audit.record_each(tx, entry, by, "user_reactivated" if active else "user_deactivated", changed)
