"""Events of user groups."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

import msgspec
from typing_extensions import override

from server.domain.access import GroupGraph, GroupValue
from server.domain.groups import group_permission
from server.domain.permission_settings import GROUP_PERMISSIONS
from server.events.base import ClientView, Event
from server.realm_cache import GROUPS
from storage.groups import GroupRow
from storage.ids import GroupId, Position, UserId


class UserGroup(msgspec.Struct, frozen=True, kw_only=True):
    """A group in its wire form: in events, in register, and in responses."""

    id: GroupId
    name: str
    description: str
    members: list[UserId]
    direct_subgroup_ids: list[GroupId]
    is_system_group: bool
    deactivated: bool
    creator_id: UserId | None
    date_created: int | None
    can_add_members_group: GroupValue
    can_join_group: GroupValue
    can_leave_group: GroupValue
    can_manage_group: GroupValue
    can_mention_group: GroupValue
    can_remove_members_group: GroupValue


def permissions_of(row: GroupRow, graph: GroupGraph) -> dict[str, Any]:
    """Return the group's permissions in their wire form."""
    return {name: group_permission(row, name, graph).as_json() for name in GROUP_PERMISSIONS}


def shown_group(row: GroupRow, graph: GroupGraph, members: Sequence[UserId]) -> UserGroup:
    """Return the group with these direct members."""
    return UserGroup(
        id=row.group_id,
        name=row.name,
        description=row.description,
        members=list(members),
        direct_subgroup_ids=row.subgroup_ids,
        is_system_group=row.is_system_group,
        deactivated=row.deactivated,
        creator_id=row.creator_id,
        date_created=None if row.created_at is None else int(row.created_at.timestamp()),
        **permissions_of(row, graph),
    )


class _OfGroups(Event, frozen=True, kw_only=True):
    """Base of events with the wire type `user_group`."""

    wire_type: ClassVar[str] = "user_group"
    varies_by: ClassVar[tuple[str, ...]] = ("include_deactivated_groups",)

    type: Literal["user_group"] = "user_group"

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        return (GROUPS,)


class GroupChange(TypedDict, total=False):
    """Changed fields of a group."""

    name: str
    description: str
    deactivated: bool
    can_add_members_group: GroupValue
    can_join_group: GroupValue
    can_leave_group: GroupValue
    can_manage_group: GroupValue
    can_mention_group: GroupValue
    can_remove_members_group: GroupValue


class GroupChangedWire(TypedDict):
    """Changed fields of a group."""

    type: Literal["user_group"]
    op: Literal["update"]
    group_id: GroupId
    data: GroupChange


class GroupRemovedWire(TypedDict):
    """A deactivated group, for clients that do not support deactivated groups."""

    type: Literal["user_group"]
    op: Literal["remove"]
    group_id: GroupId


class MembersAddedWire(TypedDict):
    """New direct members of a group."""

    type: Literal["user_group"]
    op: Literal["add_members"]
    group_id: GroupId
    user_ids: list[UserId]


class MembersRemovedWire(TypedDict):
    """Removed direct members of a group."""

    type: Literal["user_group"]
    op: Literal["remove_members"]
    group_id: GroupId
    user_ids: list[UserId]


class SubgroupsAddedWire(TypedDict):
    """New direct subgroups of a group."""

    type: Literal["user_group"]
    op: Literal["add_subgroups"]
    group_id: GroupId
    direct_subgroup_ids: list[GroupId]


class SubgroupsRemovedWire(TypedDict):
    """Removed direct subgroups of a group."""

    type: Literal["user_group"]
    op: Literal["remove_subgroups"]
    group_id: GroupId
    direct_subgroup_ids: list[GroupId]


class GroupAdded(_OfGroups, frozen=True, kw_only=True):
    kind: ClassVar[str] = "user_group/add"
    varies_by: ClassVar[tuple[str, ...]] = ()

    op: Literal["add"] = "add"
    group: UserGroup


class GroupChanged(_OfGroups, frozen=True, kw_only=True):
    """Changed fields of a group, in `data`.

    Clients without the capability for deactivated groups get a removal, or an addition, instead.
    """

    kind: ClassVar[str] = "user_group/update"
    wires: ClassVar[tuple[type, ...]] = (GroupChangedWire, GroupRemovedWire, GroupAdded)

    op: Literal["update"] = "update"
    group_id: GroupId
    data: dict[str, Any]
    deactivated: bool = False
    """Whether it is deactivated, and was so before."""
    group: UserGroup | None = None
    """The whole group if it has been reactivated."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if not view.include_deactivated_groups:
            if self.deactivated:
                return []
            if self.data.get("deactivated"):
                return [{"type": self.type, "op": "remove", "group_id": self.group_id}]
            if self.group is not None:
                return [{"type": self.type, "op": "add", "group": self.group}]
        return [{"type": self.type, "op": self.op, "group_id": self.group_id, "data": self.data}]


class _Within(_OfGroups, frozen=True, kw_only=True):
    """Base of events about members and subgroups."""

    group_id: GroupId
    deactivated: bool = False
    """Whether the group is deactivated: clients without the capability get no event."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.deactivated and not view.include_deactivated_groups:
            return []
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        del fields["deactivated"]
        return [fields]


class MembersAdded(_Within, frozen=True, kw_only=True):
    """New direct members of a group."""

    kind: ClassVar[str] = "user_group/add_members"
    wires: ClassVar[tuple[type, ...]] = (MembersAddedWire,)

    op: Literal["add_members"] = "add_members"
    user_ids: tuple[UserId, ...]


class MembersRemoved(_Within, frozen=True, kw_only=True):
    """Removed direct members of a group."""

    kind: ClassVar[str] = "user_group/remove_members"
    wires: ClassVar[tuple[type, ...]] = (MembersRemovedWire,)

    op: Literal["remove_members"] = "remove_members"
    user_ids: tuple[UserId, ...]


class SubgroupsAdded(_Within, frozen=True, kw_only=True):
    """New direct subgroups of a group."""

    kind: ClassVar[str] = "user_group/add_subgroups"
    wires: ClassVar[tuple[type, ...]] = (SubgroupsAddedWire,)

    op: Literal["add_subgroups"] = "add_subgroups"
    direct_subgroup_ids: tuple[GroupId, ...]


class SubgroupsRemoved(_Within, frozen=True, kw_only=True):
    """Removed direct subgroups of a group."""

    kind: ClassVar[str] = "user_group/remove_subgroups"
    wires: ClassVar[tuple[type, ...]] = (SubgroupsRemovedWire,)

    op: Literal["remove_subgroups"] = "remove_subgroups"
    direct_subgroup_ids: tuple[GroupId, ...]
