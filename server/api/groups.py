"""Endpoints of user groups."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from server.actions import stepped_work
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.groups import change, create, members
from server.api import setting_descriptions as texts
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.group_values import GroupUpdateParam, GroupValue, group_setting, permission_change
from server.api.params import Params, declare
from server.api.people import known_user
from server.domain.access import GroupGraph, GroupSetting, Person
from server.domain.errors import BadRequestError
from server.domain.groups import within
from server.domain.permission_settings import GROUP_PERMISSIONS
from server.events.groups import UserGroup
from server.i18n import _
from server.initial_state.groups import direct_members, shown_groups
from server.initial_state.people import People, read_people
from storage import groups, realms
from storage.database import Connection
from storage.groups import GroupRow
from storage.ids import GroupId, UserId

Id = TypeVar("Id", GroupId, UserId)


class GroupsParams(Params):
    include_deactivated_groups: bool = False
    """Whether to return deactivated groups, too."""


class Groups(Result):
    user_groups: list[UserGroup]


async def get_all(request: Request, params: GroupsParams) -> Groups:
    async with request.app.database.snapshot() as connection:
        realm = await realms.by_id(connection, request.actor.realm_id)
        assert realm is not None, "a realm is never removed"
        graph = await request.realm_cache.groups_of(connection, realm)
        people = await read_people(connection, request.realm_cache)
        rows = await groups.all_of_realm(connection, request.actor.realm_id)
    shown = shown_groups(rows, people, graph, include_deactivated=params.include_deactivated_groups)
    return Groups(user_groups=shown)


class NewGroupParams(Params):
    name: str
    """Name of the group."""
    description: str
    """Description of the group."""
    members: list[UserId]
    """User ids of its members."""
    subgroups: list[GroupId] | None = None
    """Ids of groups that are contained in it."""


CreateParams = declare(
    "CreateParams",
    NewGroupParams,
    texts.GROUP_PERMISSIONS,
    **dict.fromkeys(GROUP_PERMISSIONS, GroupValue | None),
)


class CreateResult(Result):
    group_id: GroupId


async def make(request: Request, params: Params) -> CreateResult:
    assert isinstance(params, NewGroupParams)
    given = {name: getattr(params, name) for name in GROUP_PERMISSIONS}
    new = create.NewGroup(
        name=params.name,
        description=params.description,
        member_ids=params.members,
        subgroup_ids=params.subgroups or (),
        permissions={name: group_setting(v) for name, v in given.items() if v is not None},
    )
    group_id = await request.write(create.create_group, new, now=request.app.clock.now())
    return CreateResult(group_id=group_id)


class GroupParams(Params):
    user_group_id: GroupId
    """Id of the user group."""


class NamesParams(GroupParams):
    name: str | None = None
    """New name."""
    description: str | None = None
    """New description."""
    deactivated: bool | None = None
    """false brings a deactivated group back."""


ChangeParams = declare(
    "ChangeParams",
    NamesParams,
    texts.GROUP_PERMISSION_CHANGES,
    **dict.fromkeys(GROUP_PERMISSIONS, GroupUpdateParam),
)


async def change_it(request: Request, params: Params) -> Empty:
    """Change a group; `deactivated` can only reactivate it, deactivating has its own endpoint."""
    assert isinstance(params, NamesParams)
    given = {name: getattr(params, name) for name in GROUP_PERMISSIONS}
    wanted = {name: permission_change(v) for name, v in given.items() if v is not None}
    if not wanted and (params.name, params.description, params.deactivated) == (None, None, None):
        raise BadRequestError(_("No new data supplied"))
    work_id = await request.write(
        change.change_group,
        params.user_group_id,
        change.GroupChange(
            name=params.name,
            description=params.description,
            permissions=wanted,
            reactivate=params.deactivated is False,
        ),
    )
    await stepped_work.finish(request.realm_services, ACCESS_CHANGE, work_id)
    return Empty()


async def deactivate(request: Request, params: GroupParams) -> Empty:
    work_id = await request.write(change.deactivate_group, params.user_group_id)
    await stepped_work.finish(request.realm_services, ACCESS_CHANGE, work_id)
    return Empty()


async def remove(request: Request, params: GroupParams) -> Empty:
    """Deactivate the group, for older clients."""
    return await deactivate(request, params)


class MembersParams(GroupParams):
    add: list[UserId] | None = None
    """User ids of those to add."""
    delete: list[UserId] | None = None
    """User ids of those to remove."""
    add_subgroups: list[GroupId] | None = None
    """Ids of groups to add as subgroups."""
    delete_subgroups: list[GroupId] | None = None
    """Ids of subgroups to remove."""


async def change_members(request: Request, params: MembersParams) -> Empty:
    return await _change_members(
        request,
        params.user_group_id,
        members.MembersChange(
            add=_each_once(params.add),
            delete=_each_once(params.delete),
            add_subgroups=_each_once(params.add_subgroups),
            delete_subgroups=_each_once(params.delete_subgroups),
        ),
    )


class SubgroupsParams(GroupParams):
    add: list[GroupId] | None = None
    """Ids of groups to add as subgroups."""
    delete: list[GroupId] | None = None
    """Ids of subgroups to remove."""


async def change_subgroups(request: Request, params: SubgroupsParams) -> Empty:
    return await _change_members(
        request,
        params.user_group_id,
        members.MembersChange(
            add_subgroups=_each_once(params.add), delete_subgroups=_each_once(params.delete)
        ),
    )


async def _change_members(
    request: Request, group_id: GroupId, wanted: members.MembersChange
) -> Empty:
    if wanted == members.MembersChange():
        raise BadRequestError(_('Nothing to do. Specify at least one of "add" or "delete".'))
    work_id = await request.write(members.change_members, group_id, wanted)
    await stepped_work.finish(request.realm_services, ACCESS_CHANGE, work_id)
    return Empty()


def _each_once(ids: Sequence[Id] | None) -> tuple[Id, ...]:
    return tuple(sorted(set(ids or ())))


class ListMembersParams(GroupParams):
    direct_member_only: bool = False
    """Leave out users who are members only through a subgroup."""


class MembersResult(Result):
    members: list[UserId]


async def list_members(request: Request, params: ListMembersParams) -> MembersResult:
    async with _looked_at(request, params.user_group_id) as look:
        return MembersResult(members=look.members(direct_only=params.direct_member_only))


class MemberParams(ListMembersParams):
    user_id: UserId
    """Id of the user."""


class MemberResult(Result):
    is_user_group_member: bool


async def is_member(request: Request, params: MemberParams) -> MemberResult:
    async with _looked_at(request, params.user_group_id) as look:
        await known_user(request, look.connection, params.user_id)
        found = look.members(direct_only=params.direct_member_only)
    return MemberResult(is_user_group_member=params.user_id in found)


class ListSubgroupsParams(GroupParams):
    direct_subgroup_only: bool = False
    """Leave out subgroups of subgroups."""


class SubgroupsResult(Result):
    subgroups: list[GroupId]


async def list_subgroups(request: Request, params: ListSubgroupsParams) -> SubgroupsResult:
    async with _looked_at(request, params.user_group_id) as look:
        direct = look.row.subgroup_ids
        found = direct if params.direct_subgroup_only else look.graph.within(look.row.group_id)
        return SubgroupsResult(subgroups=sorted(found))


@dataclass(frozen=True, slots=True)
class _Look:
    """A group in a snapshot, with all possible members."""

    connection: Connection
    row: GroupRow
    graph: GroupGraph
    people: People

    def members(self, *, direct_only: bool) -> list[UserId]:
        """Return the active members, by id."""
        graph, row = self.graph, self.row
        if direct_only:
            return direct_members(row, self.people, graph)
        members = GroupSetting(group_id=row.group_id)
        if not row.is_system_group:
            members = within(row)
        return sorted(
            user_id
            for user_id, member in self.people.members.items()
            if graph.contains(members, Person(user_id, member.role, member.date_joined))
        )


@asynccontextmanager
async def _looked_at(request: Request, group_id: GroupId) -> AsyncIterator[_Look]:
    """Yield the group in one snapshot. Raises BadRequestError."""
    realm_id = request.actor.realm_id
    async with request.app.database.snapshot() as connection:
        row = await groups.by_id(connection, realm_id, group_id)
        realm = await realms.by_id(connection, realm_id)
        if row is None or realm is None:
            raise BadRequestError(_("Invalid user group"))
        graph = await request.realm_cache.groups_of(connection, realm)
        yield _Look(connection, row, graph, await read_people(connection, request.realm_cache))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/user_groups",
        Access.USER,
        GroupsParams,
        get_all,
        Groups,
        summary="List user groups",
        description=(
            "Groups made by users and the groups of roles, with their members, subgroups and"
            " permissions."
        ),
    ),
    Endpoint(
        "POST",
        "/user_groups/create",
        Access.USER,
        CreateParams,
        make,
        CreateResult,
        summary="Create a user group",
        description="The caller needs the organization's permission to create groups.",
    ),
    Endpoint(
        "PATCH",
        "/user_groups/{user_group_id}",
        Access.USER,
        ChangeParams,
        change_it,
        summary="Change a user group",
        description=(
            "Name, description and permissions; what is left out stays. `deactivated` can only"
            " be false here: `POST /user_groups/{user_group_id}/deactivate` deactivates a group."
        ),
    ),
    Endpoint(
        "DELETE",
        "/user_groups/{user_group_id}",
        Access.USER,
        GroupParams,
        remove,
        summary="Deactivate a user group (older form)",
        description="Does the same as `POST /user_groups/{user_group_id}/deactivate`.",
    ),
    Endpoint(
        "POST",
        "/user_groups/{user_group_id}/deactivate",
        Access.USER,
        GroupParams,
        deactivate,
        summary="Deactivate a user group",
        description=(
            "It can no longer be mentioned or given permissions. Refused while it is in use as a"
            " permission or a subgroup."
        ),
    ),
    Endpoint(
        "GET",
        "/user_groups/{user_group_id}/members",
        Access.USER,
        ListMembersParams,
        list_members,
        MembersResult,
        summary="List the members of a user group",
    ),
    Endpoint(
        "POST",
        "/user_groups/{user_group_id}/members",
        Access.USER,
        MembersParams,
        change_members,
        summary="Add and remove members of a user group",
        description="Users and subgroups in one request: all changes are made, or none.",
    ),
    Endpoint(
        "GET",
        "/user_groups/{user_group_id}/members/{user_id}",
        Access.USER,
        MemberParams,
        is_member,
        MemberResult,
        summary="Check whether a user is in a user group",
    ),
    Endpoint(
        "GET",
        "/user_groups/{user_group_id}/subgroups",
        Access.USER,
        ListSubgroupsParams,
        list_subgroups,
        SubgroupsResult,
        summary="List the subgroups of a user group",
    ),
    Endpoint(
        "POST",
        "/user_groups/{user_group_id}/subgroups",
        Access.USER,
        SubgroupsParams,
        change_subgroups,
        summary="Add and remove subgroups of a user group",
        description=(
            "All changes are made, or none. A group cannot contain itself, directly or through"
            " others."
        ),
    ),
)
