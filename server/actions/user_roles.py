"""Change users' roles."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from server.actions import audit
from server.actions.invitations import withdraw_of
from server.actions.locked_realm import LockedRealm, lock_realm, locked_realm_of
from server.actions.realm_exports import renew_links
from server.actions.user_audiences import audience_knowing
from server.domain.access import ADMINISTRATOR, OWNER, ROLES
from server.domain.actor import Actor
from server.domain.bots import check_role_of_bot
from server.domain.errors import BadRequestError, UserDeactivatedError
from server.events.base import EVERYONE, NO_AUDIENCE
from server.events.groups import MembersAdded, MembersRemoved
from server.events.log import QueuesEnded
from server.events.users import PersonChange, UserChanged
from server.i18n import _
from server.transactions import Tx
from storage import event_queues, groups, users
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.users import UserRow


async def change_role(tx: Tx, actor: Actor, user_id: UserId, role: int, *, now: datetime) -> None:
    """Change a user's role; publish it to all who know them.

    Bots never have a higher role than their owner: those of a demoted user are demoted, too. The
    event queues of all of these are deleted: with another role one sees other channels, people,
    addresses and bots, from one position to the next, and their clients register again. Raises
    BadRequestError if the actor may not, for an unknown user or role, and for the only owner.
    """
    realm = await lock_realm(tx, alone=True)
    connection = await tx.connection()
    own_bots = await users.bots(connection, tx.realm_id, owner_id=user_id)
    falling = [bot.user_id for bot in own_bots if bot.role < role]
    found = await users.by_ids(connection, tx.realm_id, [actor.user_id, user_id])
    owners = [row.bot_owner_id for row in found if row.bot_owner_id is not None]
    found += await users.by_ids(connection, tx.realm_id, owners)
    context = await locked_realm_of(tx, realm, found)
    row = await _changeable(connection, context, actor, user_id, role)
    if row.role == role:
        return

    locked = await tx.lock(users.locking(tx.realm_id, [user_id, *falling]))
    connection = await tx.changing()
    changed = [each.user_id for each in locked]
    await users.update_role(connection, tx.realm_id, changed, role=role)
    await event_queues.delete_of_users(connection, tx.realm_id, changed)
    if any(each.role <= ADMINISTRATOR < role for each in locked):
        await renew_links(tx)  # which they know as administrators do
    for each in locked:
        await _append_role_events(tx, context, actor, each, role, now=now)
    tx.append(QueuesEnded(user_ids=tuple(changed)), NO_AUDIENCE)
    with_new_roles = {each.user_id: replace(each, role=role) for each in locked}
    await withdraw_of(tx, replace(context, people=with_new_roles))


async def _append_role_events(
    tx: Tx, context: LockedRealm, actor: Actor, before: UserRow, role: int, *, now: datetime
) -> None:
    """Publish the new role to all who know them, and record the actor."""
    after = replace(before, role=role)
    change = UserChanged(person=PersonChange(user_id=before.user_id, role=role))
    entry = tx.append(change, await audience_knowing(tx, context, after))
    tx.at_position(entry, users.changed(tx.realm_id, [before.user_id]))
    changed = {before.user_id: {"role": (before.role, role)}}
    audit.record_each(tx, entry, actor.user_id, "user_role_changed", changed)
    if before.is_active:
        await _append_role_group_events(tx, await tx.connection(), context, before, after, now=now)


async def _changeable(
    connection: Connection, context: LockedRealm, actor: Actor, user_id: UserId, role: int
) -> UserRow:
    """Return the user if the actor may give them the role. Raises BadRequestError."""
    own = context.people.get(actor.user_id)
    if own is None or not own.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    row = context.people.get(user_id)
    if row is None or row.is_system_bot or not row.is_active:
        raise BadRequestError(_("No such user"))
    if role not in ROLES:
        raise BadRequestError(_("Invalid role"))
    if not context.standing_of(own).person.is_administrator:
        raise BadRequestError(_("Insufficient permission"))
    if row.bot_type is not None:
        owner = None if row.bot_owner_id is None else context.people.get(row.bot_owner_id)
        check_role_of_bot(role, owner)
    if OWNER in (row.role, role) and row.role != role:
        if own.role != OWNER:
            raise BadRequestError(_("Must be an organization owner"))
        if set(await owners_of(connection, actor.realm_id)) == {user_id}:
            raise BadRequestError(
                _("The owner permission cannot be removed from the only organization owner.")
            )
    return row


async def owners_of(connection: Connection, realm_id: RealmId) -> tuple[UserId, ...]:
    """Return the active owners of the realm: there must always be one."""
    by_role = await users.ids_by_role(connection, realm_id, without_bots=True)
    return by_role.get(OWNER, ())


async def _append_role_group_events(
    tx: Tx,
    connection: Connection,
    context: LockedRealm,
    before: UserRow,
    after: UserRow,
    *,
    now: datetime,
) -> None:
    """Publish the change of membership in role groups."""
    ids = await groups.system_ids(connection, tx.realm_id)

    def of(row: UserRow) -> Sequence[str]:
        return context.standing_of(row).person.role_groups(context.graph.waiting_period, now)

    for name in of(before):
        tx.append(MembersRemoved(group_id=ids[name], user_ids=(before.user_id,)), EVERYONE)
    for name in of(after):
        tx.append(MembersAdded(group_id=ids[name], user_ids=(after.user_id,)), EVERYONE)
