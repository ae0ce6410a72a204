"""What every change of a group stands on, and what follows from each."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from server.actions import audit
from server.actions.channels.aftermath import (
    Reader,
    put_off_aftermath,
    take_first,
    tell_first,
)
from server.actions.channels.sight import reading_change, sight_change, tell_of_sight
from server.actions.locked_realm import PEOPLE_IN_BATCH, LockedRealm, lock_context
from server.actions.subscriptions.restored_access import who_find_something
from server.domain.access import GroupGraph, GroupSetting
from server.domain.actor import Actor
from server.domain.channels import GRANTS_METADATA, setting_of
from server.domain.errors import BadRequestError
from server.events.base import Entry
from server.transactions import Tx
from storage import channels, groups, realms, subscriptions, users
from storage.channels import ChannelRow
from storage.groups import GroupRow
from storage.ids import GroupId, UserId


async def stand_on_group(
    tx: Tx, actor: Actor, group_id: GroupId, people: Iterable[UserId] = ()
) -> tuple[LockedRealm, GroupRow]:
    """The realm, held alone, with these people and the group. Raises BadRequestError."""
    people = set(people)
    if len(people) > PEOPLE_IN_BATCH:
        tx.must_be_exact()
    context = await lock_context(tx, actor, people, names_change=True)
    row = await groups.by_id(await tx.connection(), tx.realm_id, group_id)
    if row is None:
        raise BadRequestError("Invalid user group")
    return context, row


def active_ids(context: LockedRealm) -> set[UserId]:
    """The people of the ground who may be in groups, and may be named by permissions."""
    return {row.user_id for row in context.people.values() if row.is_active}


def check_people(context: LockedRealm, user_ids: Iterable[UserId]) -> None:
    """Raise BadRequestError for somebody who cannot be in a group."""
    for user_id in user_ids:
        row = context.people.get(user_id)
        if row is None or not row.is_active or row.is_system_bot:
            raise BadRequestError(f"Invalid user ID: {user_id}")


def check_subgroups(graph: GroupGraph, subgroup_ids: Iterable[GroupId]) -> None:
    """Raise BadRequestError for what cannot be nested in a group."""
    for group_id in subgroup_ids:
        if group_id not in graph.members or group_id in graph.deactivated:
            raise BadRequestError(f"Invalid user group ID: {group_id}")


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
    """Decisions on older groups are stale from this entry on; and it is known who did it."""
    tx.at_position(entry, realms.groups_changed(tx.realm_id))
    audit.record(tx, entry, actor.user_id, action, subject_id=group_id, before=before, after=after)


async def tell_who_sees_otherwise(
    tx: Tx, entry: Entry, context: LockedRealm, group_id: GroupId, concerned: GroupSetting
) -> str | None:
    """Show private channels to those who may know of them from now on, and hide others.

    `concerned` are the people and groups who have come into the group, or left it: the rows are
    as they are afterwards, the ground is from before. The entry tells of that. What is returned,
    if anything, is AFTERMATH to be finished.
    """
    connection = await tx.connection()
    graph = await (await tx.realm_cache()).read_groups(connection, context.realm)
    around = context.graph.around(group_id)
    rows = [
        row
        for row in await channels.naming(connection, tx.realm_id, around)
        if row.invite_only and _names(row, graph, around)
    ]
    if not rows:
        return None
    reach = graph.reach([concerned])
    found = await users.up_to_role(
        connection, tx.realm_id, least_role=reach.least_role, or_among=reach.user_ids
    )
    people = {row.user_id: row for row in found}
    there = await subscriptions.in_channels(
        connection,
        tx.realm_id,
        user_ids=list(people),
        channel_ids=[row.channel_id for row in rows],
    )
    before, after = replace(context, people=people), replace(context, graph=graph, people=people)
    subscribed = {(row.user_id, row.channel_id) for row in there if row.active}
    same = {row.channel_id: row for row in rows}
    change = sight_change(before, after, rows, same, subscribed)
    left: list[Reader] = []
    again: list[Reader] = []
    for row in rows:
        is_in = {user_id for user_id in people if (user_id, row.channel_id) in subscribed}
        reading = reading_change(before, after, row, row, is_in)
        left += await who_find_something(connection, tx.realm_id, row.channel_id, reading.losing)
        again += await who_find_something(connection, tx.realm_id, row.channel_id, reading.gaining)
    shown = await tell_of_sight(tx, connection, after, same, change)
    later = [
        *take_first(tx, entry, left, change.still_known(left), after),
        *tell_first(tx, shown or entry, again, after),
    ]
    return await put_off_aftermath(tx, later, [])


def _names(channel: ChannelRow, graph: GroupGraph, group_ids: frozenset[GroupId]) -> bool:
    """Whether one of the groups lets people know of the channel."""
    return any(
        not group_ids.isdisjoint(setting_of(channel, name, graph).group_ids)
        for name in GRANTS_METADATA
    )
