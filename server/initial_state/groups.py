"""Register's `realm_user_groups`: all groups, with their direct members."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypedDict

import msgspec

from server.domain.access import MEMBER, GroupGraph, Person
from server.events.groups import UserGroup, shown_group
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.people import People, people_of
from storage import groups
from storage.groups import GroupRow
from storage.ids import Position, UserId


class GroupFields(TypedDict):
    realm_user_groups: list[UserGroup] | msgspec.Raw


@dataclass(frozen=True, slots=True)
class _Encoded:
    """All groups as JSON: valid for these versions, until a member becomes a full member."""

    groups: msgspec.Raw
    versions: tuple[Position, Position]
    until: datetime | None

    def holds(self, versions: tuple[Position, Position], now: datetime) -> bool:
        return self.versions == versions and (self.until is None or now < self.until)


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    if snapshot.actor.is_spectator:
        return {"realm_user_groups": await _without_members(snapshot)}
    people, graph = await people_of(snapshot), snapshot.graph
    include_deactivated = snapshot.view.include_deactivated_groups
    # One of them changes whenever a group does, or the waiting period.
    versions = snapshot.realm.groups_changed_at, snapshot.realm.changed_at
    now = graph.clock.now()
    key = f"groups, deactivated {include_deactivated}"
    kept: _Encoded | None = people.derived.get(key)
    if kept is None or not kept.holds(versions, now):
        rows = await groups.all_of_realm(snapshot.connection, snapshot.realm_id)
        shown = shown_groups(rows, people, graph, include_deactivated=include_deactivated)
        kept = people.derived[key] = _Encoded(
            msgspec.Raw(msgspec.json.encode(shown)),
            versions,
            _next_full(people, graph.waiting_period, now),
        )
    return {"realm_user_groups": kept.groups}


async def _without_members(snapshot: Snapshot) -> list[UserGroup]:
    """Return the role groups, which channel settings name, without members."""
    rows = await groups.all_of_realm(snapshot.connection, snapshot.realm_id)
    return [shown_group(row, snapshot.graph, []) for row in rows if row.is_system_group]


def shown_groups(
    rows: Sequence[GroupRow], people: People, graph: GroupGraph, *, include_deactivated: bool
) -> list[UserGroup]:
    """Return these groups, which are all of the realm, in their wire form."""
    by_role_group = _by_role_group(people, graph)
    return [
        shown_group(row, graph, _members(row, people, by_role_group))
        for row in rows
        if include_deactivated or not row.deactivated
    ]


def direct_members(row: GroupRow, people: People, graph: GroupGraph) -> list[UserId]:
    """Return the active direct members of this group, by id."""
    return _members(row, people, _by_role_group(people, graph))


def _members(
    row: GroupRow, people: People, by_role_group: Mapping[str, list[UserId]]
) -> list[UserId]:
    if row.is_system_group:
        return sorted(by_role_group.get(row.name, ()))
    return [user_id for user_id in row.member_ids if user_id in people.members]


def _by_role_group(people: People, graph: GroupGraph) -> dict[str, list[UserId]]:
    by_name: dict[str, list[UserId]] = defaultdict(list)
    waiting_period, now = graph.waiting_period, graph.clock.now()
    for user_id, member in people.members.items():
        person = Person(user_id, member.role, member.date_joined)
        for name in person.role_groups(waiting_period, now):
            by_name[name].append(user_id)
    return by_name


def _next_full(people: People, waiting_period: timedelta, now: datetime) -> datetime | None:
    """Return when the next member becomes a full member; None if no member is waiting."""
    waiting = [
        full_at
        for member in people.members.values()
        if member.role == MEMBER and (full_at := member.date_joined + waiting_period) > now
    ]
    return min(waiting, default=None)


SECTION = StateSection("realm_user_groups", fetch, (GroupFields,))
