"""Create the groups of a file, and make permissions of what its records say."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from server.domain.access import GroupGraph, GroupSetting, GroupValue
from server.domain.clock import SystemClock
from server.domain.errors import DomainError
from server.domain.group_settings import checked_setting
from server.domain.groups import (
    MAX_DESCRIPTION_LENGTH,
    MAX_NAME_LENGTH,
    RESERVED_PREFIXES,
)
from server.domain.names import FoldedName, composed, fold_name, unprintable_at
from server.domain.permission_settings import (
    CHANNEL_PERMISSIONS,
    GROUP_PERMISSIONS,
    PermissionRule,
)
from server.i18n import marked
from server.imports.records import GroupRecord, PermissionRecord
from server.imports.report import ImportReport, example
from storage import groups
from storage.database import Connection
from storage.groups import GroupRow
from storage.ids import GroupId, Position, RealmId, UserId

_IMPOSSIBLE: Final = marked(
    "permissions have values that are impossible here, and got their default"
)


class GroupWriter:
    """Writes groups into the realm of an import, in the caller's transaction."""

    def __init__(
        self,
        connection: Connection,
        realm_id: RealmId,
        people: Mapping[str, UserId],
        report: ImportReport,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._realm_id = realm_id
        self._people = people
        """Accounts by the keys of people."""
        self._report = report
        self._now = now
        self._ids: dict[str, GroupId] = {}
        """Groups by their keys, and role groups by their names."""
        self._graph: GroupGraph | None = None

    async def write(self, records: Sequence[GroupRecord]) -> None:
        """Add the groups to those of the realm, nested as they were."""
        there = await groups.all_of_realm(self._connection, self._realm_id)
        self._ids = {row.name: row.group_id for row in there if row.is_system_group}
        taken = {fold_name(row.name) for row in there}
        rows: list[tuple[GroupRecord, GroupRow]] = []
        for record in records:
            if record.key in self._ids:
                continue
            row = await groups.insert(self._connection, self._realm_id, self._row(record, taken))
            self._ids[record.key] = row.group_id
            rows.append((record, row))
        await self._nest(rows)
        written = await groups.all_of_realm(self._connection, self._realm_id)
        self._graph = _graph_of(written)
        for record, row in rows:
            row.permissions.update(self.settings(GROUP_PERMISSIONS, record.permissions))
            await groups.update(self._connection, self._realm_id, row)
        self._report.count(marked("groups"), len(rows))

    def _row(self, record: GroupRecord, taken: set[FoldedName]) -> GroupRow:
        clean = composed("".join(each for each in record.name if not unprintable_at(each)))
        while clean.startswith(RESERVED_PREFIXES):
            clean = clean.partition(":")[2] if ":" in clean else clean.lstrip("@")
        base = clean.strip()[:MAX_NAME_LENGTH].strip() or "?"
        name, number = base, 1
        while fold_name(name) in taken:
            number += 1
            end = f" ({number})"
            name = base[: MAX_NAME_LENGTH - len(end)].rstrip() + end
        taken.add(fold_name(name))
        if name != record.name:
            self._report.remark(marked("names of groups were changed to valid ones"), name)
        return GroupRow(
            group_id=GroupId(0),
            name=name,
            description=record.description.strip()[:MAX_DESCRIPTION_LENGTH],
            is_system_group=False,
            deactivated=not record.is_active,
            creator_id=self._people.get(record.creator or ""),
            created_at=min(record.created_at or self._now, self._now),
            permissions={},
            member_ids=self._people_of(record.members),
            subgroup_ids=[],
            changed_at=Position(0),
        )

    def _people_of(self, keys: Collection[str]) -> list[UserId]:
        return sorted({self._people[key] for key in keys if key in self._people})

    async def _nest(self, rows: Sequence[tuple[GroupRecord, GroupRow]]) -> None:
        """Nest groups; what would close a circle is left out."""
        nested: dict[GroupId, set[GroupId]] = {}

        def below(group_id: GroupId) -> set[GroupId]:
            found, left = {group_id}, [group_id]
            while left:
                new = nested.get(left.pop(), set()) - found
                found |= new
                left += new
            return found

        for record, row in rows:
            subgroups = nested.setdefault(row.group_id, set())
            for key in record.subgroups:
                subgroup_id = self._ids.get(key)
                if subgroup_id is None or row.group_id in below(subgroup_id):
                    self._report.remark(
                        marked("groups in groups were left out"), f"{record.name}: {key}"
                    )
                else:
                    subgroups.add(subgroup_id)
            await groups.add_subgroups(
                self._connection, self._realm_id, row.group_id, sorted(subgroups)
            )

    def channel_settings(
        self, permissions: Mapping[str, PermissionRecord]
    ) -> dict[str, GroupValue]:
        """Return the stored form of a channel's permissions that are possible here."""
        return self.settings(CHANNEL_PERMISSIONS, permissions)

    def settings(
        self, rules: Mapping[str, PermissionRule], permissions: Mapping[str, PermissionRecord]
    ) -> dict[str, GroupValue]:
        """Return the stored form of permissions that are possible here."""
        assert self._graph is not None, "groups are written first"
        return possible_settings(
            rules, permissions, self._ids, self._people, self._graph, self._report
        )


def possible_settings(
    rules: Mapping[str, PermissionRule],
    permissions: Mapping[str, PermissionRecord],
    groups: Mapping[str, GroupId],
    people: Mapping[str, UserId],
    graph: GroupGraph,
    report: ImportReport,
) -> dict[str, GroupValue]:
    """Return the stored form of permissions that are possible here, given ids by keys."""
    settings: dict[str, GroupValue] = {}
    for name, record in permissions.items():
        if name not in rules:
            report.remark(marked("permissions are unknown here, and were left out"), name)
            continue
        if not groups.keys() >= set(record.groups):
            report.remark(_IMPOSSIBLE, name)
            continue
        user_ids = tuple(sorted({people[key] for key in record.people if key in people}))
        group_ids = tuple(sorted({groups[key] for key in record.groups}))
        value = GroupSetting(direct_members=user_ids, direct_subgroups=group_ids)
        try:
            checked = checked_setting(name, rules[name], value, graph, user_ids)
        except DomainError as error:
            report.remark(_IMPOSSIBLE, example(name, error.message))
            continue
        settings[name] = checked.as_json()
    return settings


def without_groups(
    permissions: Mapping[str, PermissionRecord], groups: Mapping[str, GroupRecord]
) -> dict[str, PermissionRecord]:
    """Return permissions that name people in place of the file's groups; role groups stay."""
    named: dict[str, PermissionRecord] = {}
    for name, record in permissions.items():
        people, roles = set(record.people), set[str]()
        left, seen = list(record.groups), set(record.groups)
        while left:
            key = left.pop()
            group = groups.get(key)
            if group is None:
                roles.add(key)
                continue
            people.update(group.members)
            left += set(group.subgroups) - seen
            seen.update(group.subgroups)
        named[name] = PermissionRecord(people=sorted(people), groups=sorted(roles))
    return named


def _graph_of(rows: Sequence[GroupRow]) -> GroupGraph:
    return GroupGraph(
        ids_by_name={row.name: row.group_id for row in rows},
        system_names={row.group_id: row.name for row in rows if row.is_system_group},
        members={row.group_id: frozenset(row.member_ids) for row in rows},
        subgroups={row.group_id: tuple(row.subgroup_ids) for row in rows},
        deactivated=frozenset(),  # Deactivated groups come without members, so they may be named.
        permissions={row.group_id: row.permissions for row in rows},
        waiting_period=timedelta(),
        clock=SystemClock(),
    )
