"""What all changes of groups share: locks, checks, and consequences."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from server.actions import audit
from server.actions.access.apply import apply
from server.actions.access.deferred import defer
from server.actions.access.diff import AccessDiff, AccessState
from server.actions.locked_realm import PEOPLE_IN_BATCH, LockedRealm, lock_context
from server.domain.access import GroupGraph, GroupSetting
from server.domain.actor import Actor
from server.domain.channels import GRANTS_METADATA, setting_of
from server.domain.errors import BadRequestError
from server.events.base import Entry
from server.i18n import _
from server.transactions import Tx
from storage import channels, groups, realms, users
from storage.channels import ChannelRow
from storage.groups import GroupRow
from storage.ids import GroupId, UserId


async def stand_on_group(
    tx: Tx, actor: Actor, group_id: GroupId, people: Iterable[UserId] = ()
) -> tuple[LockedRealm, GroupRow]:
    """Lock the realm exclusively, with these users; return it and the group.

    Raises BadRequestError.
    """
    people = set(people)
    if len(people) > PEOPLE_IN_BATCH:
        tx.must_be_exact()
    context = await lock_context(tx, actor, people, names_change=True)
    row = await groups.by_id(await tx.connection(), tx.realm_id, group_id)
    if row is None:
        raise BadRequestError(_("Invalid user group"))
    return context, row


def active_ids(context: LockedRealm) -> set[UserId]:
    """Return the users in the context who may be in groups, and be named by permissions."""
    return {row.user_id for row in context.people.values() if row.is_active}


def check_people(context: LockedRealm, user_ids: Iterable[UserId]) -> None:
    """Raise BadRequestError for a user who cannot be in a group."""
    for user_id in user_ids:
        row = context.people.get(user_id)
        if row is None or not row.is_active or row.is_system_bot:
            raise BadRequestError(_("Invalid user ID: {user_id}", user_id=user_id))


def check_subgroups(graph: GroupGraph, subgroup_ids: Iterable[GroupId]) -> None:
    """Raise BadRequestError for groups that cannot be subgroups."""
    for group_id in subgroup_ids:
        if group_id not in graph.members or group_id in graph.deactivated:
            raise BadRequestError(_("Invalid user group ID: {group_id}", group_id=group_id))


def conclude(
    tx: Tx,
    actor: Actor,
    entry: Entry,
    action: str,
    group_id: GroupId,
    *,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
) -> None:
    """Invalidate decisions on older groups from this entry on; write the audit log."""
    tx.at_position(entry, realms.groups_changed(tx.realm_id))
    audit.record(tx, entry, actor.user_id, action, subject_id=group_id, before=before, after=after)


async def publish_with_access(
    tx: Tx,
    context: LockedRealm,
    group_id: GroupId,
    concerned: GroupSetting,
    publish: Callable[[], Entry],
) -> str | None:
    """Publish a change of the group's members, with what it means for private channels.

    `concerned` are the users and groups that joined or left the group. The rows are as they are
    afterwards, `context` is from before. Returns the id of an ACCESS_CHANGE to be finished, or
    None.
    """
    connection = await tx.connection()
    graph = await (await tx.realm_cache()).read_groups(connection, context.realm)
    around = context.graph.around(group_id)
    rows = {
        row.channel_id: row
        for row in await channels.naming(connection, tx.realm_id, around)
        if row.invite_only and _names(row, graph, around)
    }
    before = AccessState(replace(context, people={}), rows, ())
    if rows:
        reach = graph.reach([concerned])
        found = await users.up_to_role(
            connection, tx.realm_id, least_role=reach.least_role, or_among=reach.user_ids
        )
        people = {row.user_id: row for row in found}
        before = await AccessState.read(connection, replace(context, people=people), rows)
    after = replace(before, context=replace(before.context, graph=graph))

    async def published(_: AccessDiff) -> Entry:
        return publish()

    return await defer(tx, await apply(tx, connection, before, after, published))


def _names(channel: ChannelRow, graph: GroupGraph, group_ids: frozenset[GroupId]) -> bool:
    """Return whether one of the groups grants metadata access to the channel."""
    return any(
        not group_ids.isdisjoint(setting_of(channel, name, graph).group_ids)
        for name in GRANTS_METADATA
    )
