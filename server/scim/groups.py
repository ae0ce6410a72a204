"""The groups of the SCIM service: user groups of the organization, without role groups."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from scim2_models import (
    Group,
    GroupMember,
    InvalidValueException,
    Meta,
    NotFoundException,
    PreconditionFailedException,
    Reference,
    Resource,
    ResponseParameters,
    SearchRequest,
)
from scim2_server.storage import SearchPage

from server.actions import stepped_work
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.realm_services import RealmServices
from server.actions.scim.groups import (
    WantedGroup,
    change_group_of_directory,
    create_group_of_directory,
    delete_group_of_directory,
)
from server.domain.actor import Actor
from server.domain.names import fold_name
from server.scim.accounts import check_texts, entity_tag
from server.scim.filters import required_values
from server.scim.resources import MAX_RESULTS
from server.scim.users import id_of
from storage import groups, scim, users
from storage.database import Connection
from storage.groups import GroupRow
from storage.ids import GroupId, UserId
from storage.scim import ScimGroupRow
from storage.users import UserRow

Known = tuple[GroupRow, ScimGroupRow | None]


class GroupStorage:
    """Reads and changes user groups for a directory."""

    def __init__(self, services: RealmServices, actor: Actor) -> None:
        self._services = services
        self._actor = actor

    async def get(
        self, resource_id: str, parameters: ResponseParameters[Any] | None = None
    ) -> Group:
        async with self._services.read() as connection:
            known = await self._known(connection, resource_id)
            [group] = await self._shown(
                connection, [known], with_members=_wants_members(parameters)
            )
        return group

    async def search(self, request: SearchRequest[Group]) -> SearchPage:
        required = required_values(request.filter)
        wants_members = request.filter is not None or _wants_members(request)
        async with self._services.read() as connection:
            rows = await self._read(connection)
            if "id" in required:
                rows = [each for each in rows if str(each[0].group_id) == required["id"]]
            if "displayname" in required:
                name = fold_name(required["displayname"])
                rows = [each for each in rows if fold_name(each[0].name) == name]
            start = (request.start_index or 1) - 1
            count = MAX_RESULTS if request.count is None else request.count
            if request.filter is None:
                page = rows[start : start + count]
                shown = await self._shown(connection, page, with_members=wants_members)
                return SearchPage(len(rows), [*shown])
            shown = await self._shown(connection, rows, with_members=wants_members)
        found: list[Resource[Any]] = [each for each in shown if request.filter.match(each)]
        return SearchPage(len(found), found[start : start + count])

    async def create(self, group: Group) -> Group:
        wanted = await self._wanted(group)
        group_id, work = await self._services.write(
            lambda tx: create_group_of_directory(
                tx, self._actor, wanted, now=self._services.clock.now()
            )
        )
        await self._finish(work)
        return await self.get(str(group_id))

    async def update(self, group: Group, expected_version: str | None) -> Group:
        assert group.id is not None, "it was read"
        row = await self._expected(group.id, expected_version)
        wanted = await self._wanted(group)
        work = await self._services.write(
            lambda tx: change_group_of_directory(
                tx, self._actor, row, wanted, now=self._services.clock.now()
            )
        )
        await self._finish(work)
        return await self.get(group.id)

    async def delete(self, resource_id: str, expected_version: str | None) -> None:
        row = await self._expected(resource_id, expected_version)
        await self._finish(
            await self._services.write(lambda tx: delete_group_of_directory(tx, self._actor, row))
        )

    async def _finish(self, work: Iterable[str]) -> None:
        for work_id in work:
            await stepped_work.finish(self._services, ACCESS_CHANGE, work_id)

    async def _read(self, connection: Connection) -> list[Known]:
        """Return the groups that directories see, by id."""
        realm_id = self._services.realm_id
        said = await scim.groups(connection, realm_id)
        return [
            (row, said.get(row.group_id))
            for row in await groups.all_of_realm(connection, realm_id)
            if not row.is_system_group and not row.deactivated
        ]

    async def _known(self, connection: Connection, resource_id: str) -> Known:
        group_id = id_of(resource_id)
        row = None
        if group_id is not None:
            row = await groups.by_id(connection, self._services.realm_id, GroupId(group_id))
        if row is None or row.is_system_group or row.deactivated:
            raise NotFoundException(detail="There is no such group.")
        return row, (await scim.groups(connection, self._services.realm_id)).get(row.group_id)

    async def _expected(self, resource_id: str, version: str | None) -> GroupRow:
        """Return the group. Raises PreconditionFailedException if it has another version."""
        async with self._services.read() as connection:
            known = await self._known(connection, resource_id)
        if version is not None and _version(known) != version:
            raise PreconditionFailedException
        return known[0]

    async def _shown(
        self, connection: Connection, rows: Sequence[Known], *, with_members: bool
    ) -> list[Group]:
        ids = {i for row, _ in rows for i in row.member_ids} if with_members else set()
        found = await users.by_ids(connection, self._services.realm_id, sorted(ids))
        people = {row.user_id: row for row in found if row.bot_type is None and not row.is_deleted}
        return [_shown(known, people) for known in rows]

    async def _wanted(self, group: Group) -> WantedGroup:
        """Return what the group describes. Raises InvalidValueException."""
        assert group.display_name is not None, "it is required"
        check_texts([group.display_name, group.external_id])
        given = [member.value or "" for member in group.members or ()]
        ids = {value: id_of(value) for value in given}
        wanted = {UserId(i) for i in ids.values() if i is not None}
        async with self._services.read() as connection:
            found = await users.by_ids(connection, self._services.realm_id, sorted(wanted))
        people = {row.user_id for row in found if row.bot_type is None and not row.is_deleted}
        for value, user_id in ids.items():
            if user_id not in people:
                raise InvalidValueException(detail=f"members: there is no user {value!r}.")
        return WantedGroup(
            name=group.display_name, external_id=group.external_id, member_ids=sorted(people)
        )


def _wants_members(parameters: ResponseParameters[Any] | None) -> bool:
    """Return whether a response with these parameters contains members."""
    if parameters is None:
        return True
    if parameters.attributes:
        return any("members" in str(each).lower() for each in parameters.attributes)
    return not any(str(each).lower() == "members" for each in parameters.excluded_attributes or ())


def _version(known: Known) -> str:
    row, said = known
    return entity_tag((row.name, row.member_ids, said))


def _shown(known: Known, people: Mapping[UserId, UserRow]) -> Group:
    row, said = known
    members = [
        GroupMember(
            value=str(user_id),
            display=people[user_id].full_name,
            type="User",
            ref=Reference[Any](f"Users/{user_id}"),
        )
        for user_id in row.member_ids
        if user_id in people
    ]
    return Group(
        id=str(row.group_id),
        external_id=said.external_id if said is not None else None,
        meta=Meta(
            resource_type="Group",
            created=row.created_at,
            last_modified=said.modified_at if said is not None else row.created_at,
            version=_version(known),
        ),
        display_name=row.name,
        members=members or None,
    )
