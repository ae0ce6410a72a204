"""Follow the groups that an identity provider or a directory asserts of a user."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from server.actions import audit
from server.actions.groups.members import MembersChange, change_members
from server.actions.locked_realm import lock_realm, locked_realm_of
from server.actions.user_roles import change_role, owners_of
from server.domain.access import OWNER, GroupGraph
from server.domain.actor import Actor
from server.domain.directory_groups import Claims
from server.domain.names import fold_name
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.transactions import Tx
from storage import users
from storage.ids import GroupId, UserId
from storage.users import UserRow

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ClaimedChanges:
    """How a user differs from what is claimed of them."""

    add: Sequence[GroupId]
    remove: Sequence[GroupId]
    role: int | None
    """The new role; None for the one that they have."""

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.role is not None)


def claimed_changes(graph: GroupGraph, row: UserRow, claims: Claims) -> ClaimedChanges:
    """Return what has to change; unknown, deactivated and role groups are left out."""
    known = mapped_groups(graph, claims.managed)
    wanted = {known[name] for name in claims.groups if name in known}
    there = {i for i in known.values() if row.user_id in graph.members.get(i, ())}
    role = None if claims.role == row.role else claims.role
    return ClaimedChanges(sorted(wanted - there), sorted(there - wanted), role)


def mapped_groups(graph: GroupGraph, names: frozenset[str]) -> dict[str, GroupId]:
    """Return the ids of those of these names that are active user groups, but no role groups."""
    hidden = graph.deactivated | graph.system_names.keys()
    by_folded = {fold_name(name): i for name, i in graph.ids_by_name.items() if i not in hidden}
    found = {name: by_folded.get(fold_name(name)) for name in names}
    return {name: group_id for name, group_id in found.items() if group_id is not None}


async def follow_claims(
    tx: Tx, user_id: UserId, claims: Claims, *, cause: str, now: datetime
) -> list[str]:
    """Put the user into the groups that are claimed and out of other mapped ones; set the role.

    It is done on behalf of an owner, as what directories do, and `cause` names the provider in the
    audit log. The only owner keeps that role. Returns the ids of ACCESS_CHANGEs to be finished.
    Raises BadRequestError.
    """
    tx.must_be_exact()
    realm = await lock_realm(tx, alone=True)
    connection = await tx.connection()
    rows = await users.by_ids(connection, tx.realm_id, [user_id])
    actor = await acting_owner(tx, user_id)
    if not rows or not rows[0].is_active or rows[0].bot_type is not None or actor is None:
        return []
    [row] = rows
    changes = claimed_changes((await locked_realm_of(tx, realm, [])).graph, row, claims)
    role = changes.role
    if role is not None and row.role == OWNER and actor.user_id == user_id:
        logger.warning("directory.last_owner_kept", user_id=user_id, provider=cause)
        role = None
    work = [
        await change_members(tx, actor, group_id, MembersChange(add=[user_id]))
        for group_id in changes.add
    ]
    work += [
        await change_members(tx, actor, group_id, MembersChange(delete=[user_id]))
        for group_id in changes.remove
    ]
    if role is not None:
        await change_role(tx, actor, user_id, role, now=now)
    if work or role is not None:
        _record(tx, row, changes, role, cause)
    return [each for each in work if each is not None]


async def acting_owner(tx: Tx, user_id: UserId) -> Actor | None:
    """Return an owner as the actor of a change by a directory; None without any owner.

    It is the one with the oldest account, and the user alone only if there is no other.
    """
    connection = await tx.connection()
    owners = set(await owners_of(connection, tx.realm_id))
    if not owners:
        return None
    chosen = min(owners - {user_id}, default=user_id)
    [owner] = await users.by_ids(connection, tx.realm_id, [chosen])
    return Actor(tx.realm_id, owner, client="Directory")


def _record(tx: Tx, row: UserRow, changes: ClaimedChanges, role: int | None, cause: str) -> None:
    """Record the provider as the cause of the changes, beside them."""
    after: Mapping[str, object] = {
        "provider": cause,
        "groups_added": list(changes.add),
        "groups_removed": list(changes.remove),
        **({} if role is None else {"role": role}),
    }
    audit.append_recorded(
        tx,
        None,
        "user_claims_followed",
        Tick(),
        NO_AUDIENCE,
        before={} if role is None else {"role": row.role},
        after=after,
        subject_id=row.user_id,
    )
