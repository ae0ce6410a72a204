"""Read groups and permissions from an export of Zulip."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Final

from server.domain.access import (
    ADMINISTRATORS_GROUP,
    FULL_MEMBERS_GROUP,
    MODERATORS_GROUP,
)
from server.domain.permission_settings import CHANNEL_PERMISSIONS, GROUP_PERMISSIONS
from server.imports.records import GroupRecord, PermissionRecord
from server.imports.zulip_files import Row, ZulipFiles, id_of, key_of, text_of, time_of

_NAMED: Final = ("zerver_namedusergroup", "zerver_usergroup")
"""Groups that people know; the second had names, too, in older exports."""
_POST_POLICIES: Final = {2: ADMINISTRATORS_GROUP, 3: FULL_MEMBERS_GROUP, 4: MODERATORS_GROUP}
"""Groups that may send, in older exports."""


@dataclass(slots=True)
class ZulipGroups:
    """Groups by their numbers: named ones, role groups, and those that are values of settings."""

    records: list[Row] = field(default_factory=list)
    role_groups: dict[int, str] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    members: dict[int, list[str]] = field(default_factory=dict)
    subgroups: dict[int, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, files: ZulipFiles) -> "ZulipGroups":
        groups = cls()
        for _, row in files.realm(*_NAMED):
            number, name = id_of(row.get("id")), text_of(row.get("name"))
            if number is None or not name or number in groups.names:
                continue
            groups.names[number] = name
            if row.get("is_system_group"):
                groups.role_groups[number] = name
            else:
                groups.records.append(row)
        for table, row in files.realm("zerver_usergroupmembership", "zerver_groupgroupmembership"):
            group = id_of(row.get("user_group")) or id_of(row.get("supergroup")) or 0
            subgroup = id_of(row.get("subgroup"))
            if group in groups.role_groups:
                continue  # Roles tell who is in them.
            if table == "zerver_usergroupmembership":
                groups.members.setdefault(group, []).append(key_of(row.get("user_profile")))
            elif subgroup is not None:
                groups.subgroups.setdefault(group, []).append(subgroup)
        return groups

    def all(self) -> Iterator[GroupRecord]:
        for row in self.records:
            number = int(row["id"])
            yield GroupRecord(
                key=str(number),
                name=self.names[number],
                description=text_of(row.get("description")),
                members=self.members.get(number, ()),
                subgroups=[self._key(each) for each in self.subgroups.get(number, ())],
                is_active=not row.get("deactivated"),
                creator=key_of(row.get("creator")) or None,
                created_at=time_of(row.get("date_created")),
                permissions=self._permissions(row, GROUP_PERMISSIONS),
            )

    def of_channel(self, row: Row) -> dict[str, PermissionRecord]:
        """Return the permissions of a channel."""
        permissions = self._permissions(row, CHANNEL_PERMISSIONS)
        senders = _POST_POLICIES.get(id_of(row.get("stream_post_policy")) or 0)
        if senders is not None:
            permissions.setdefault("can_send_message_group", PermissionRecord(groups=(senders,)))
        return permissions

    def _permissions(self, row: Row, known: Collection[str]) -> dict[str, PermissionRecord]:
        return {
            name: self._value(number)
            for name, value in row.items()
            if name in known and (number := id_of(value)) is not None
        }

    def _value(self, number: int) -> PermissionRecord:
        if number in self.names:
            return PermissionRecord(groups=(self._key(number),))
        return PermissionRecord(
            people=self.members.get(number, ()),
            groups=[self._key(each) for each in self.subgroups.get(number, ())],
        )

    def _key(self, number: int) -> str:
        return self.role_groups.get(number, str(number))
