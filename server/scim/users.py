"""The users of the SCIM service: people of the organization."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from scim2_models import (
    NotFoundException,
    PreconditionFailedException,
    Resource,
    SearchRequest,
)
from scim2_server.storage import SearchPage

from server.actions.realm_services import RealmServices
from server.actions.scim.accounts import (
    AccountState,
    change_account,
    create_account,
    delete_account,
)
from server.domain.actor import Actor
from server.scim.accounts import is_storable, shown_user, version_of, wanted_account
from server.scim.filters import required_values
from server.scim.resources import MAX_RESULTS, ScimUser
from storage import groups, scim, users
from storage.database import Connection
from storage.ids import GroupId, UserId

CHUNK: Final = 200
"""Number of accounts that are read and compared with a filter at once."""
MAX_DIGITS: Final = 18


class UserStorage:
    """Reads and changes accounts for a directory."""

    def __init__(self, services: RealmServices, actor: Actor, max_closures: int) -> None:
        self._services = services
        self._actor = actor
        self._max_closures = max_closures

    async def get(self, resource_id: str) -> ScimUser:
        async with self._services.read() as connection:
            [user] = await self._shown(connection, [await self._known(connection, resource_id)])
        return user

    async def search(self, request: SearchRequest[ScimUser]) -> SearchPage:
        start = (request.start_index or 1) - 1
        count = MAX_RESULTS if request.count is None else request.count
        async with self._services.read() as connection:
            ids = await self._candidates(connection, request)
            if request.filter is None:
                page = await self._read(connection, ids[start : start + count])
                return SearchPage(len(ids), [*await self._shown(connection, page)])
            found: list[Resource[Any]] = []
            total = 0
            for at in range(0, len(ids), CHUNK):
                states = await self._read(connection, ids[at : at + CHUNK])
                for user in await self._shown(connection, states):
                    if request.filter.match(user):
                        total += 1
                        if start < total <= start + count:
                            found.append(user)
                await asyncio.sleep(0)
        return SearchPage(total, found)

    async def create(self, user: ScimUser) -> ScimUser:
        wanted = wanted_account(user)
        user_id = await self._services.write(
            lambda tx: create_account(
                tx,
                self._actor,
                wanted,
                maximum=self._max_closures,
                now=self._services.clock.now(),
            )
        )
        return await self.get(str(user_id))

    async def update(self, user: ScimUser, expected_version: str | None) -> ScimUser:
        assert user.id is not None, "it was read"
        async with self._services.read() as connection:
            known = await self._expected(connection, user.id, expected_version)
            [old] = await self._shown(connection, [known])
        wanted = wanted_account(user, old)
        await self._services.write(
            lambda tx: change_account(
                tx,
                self._actor,
                known,
                wanted,
                maximum=self._max_closures,
                now=self._services.clock.now(),
            )
        )
        return await self.get(user.id)

    async def delete(self, resource_id: str, expected_version: str | None) -> None:
        async with self._services.read() as connection:
            known = await self._expected(connection, resource_id, expected_version)
        await self._services.write(
            lambda tx: delete_account(
                tx,
                self._actor,
                known,
                maximum=self._max_closures,
                now=self._services.clock.now(),
            )
        )

    async def _expected(
        self, connection: Connection, resource_id: str, version: str | None
    ) -> AccountState:
        """Return the account. Raises PreconditionFailedException if it has another version."""
        known = await self._known(connection, resource_id)
        if version is not None and version_of(known) != version:
            raise PreconditionFailedException
        return known

    async def _known(self, connection: Connection, resource_id: str) -> AccountState:
        """Return the account that the directory sees under this id."""
        user_id = id_of(resource_id)
        states = [] if user_id is None else await self._read(connection, [UserId(user_id)])
        if not states:
            raise NotFoundException(detail="There is no such user.")
        return states[0]

    async def _candidates(
        self, connection: Connection, request: SearchRequest[ScimUser]
    ) -> list[UserId]:
        """Return the ids of all people that the filter may match, in order."""
        realm_id = self._services.realm_id
        required = required_values(request.filter)
        if not all(map(is_storable, required.values())):
            return []
        if "id" in required:
            user_id = id_of(required["id"])
            return [] if user_id is None else [UserId(user_id)]
        if "externalid" in required:
            said = await scim.accounts_called(
                connection, realm_id, external_id=required["externalid"]
            )
            return [row.user_id for row in said]
        if name := required.get("username"):
            rows = await users.by_emails(connection, realm_id, [name])
            said = await scim.accounts_called(connection, realm_id, user_name=name)
            return sorted({row.user_id for row in rows} | {row.user_id for row in said})
        email = required.get("emails.value")
        if email and email.isascii():
            rows = await users.by_emails(connection, realm_id, [email])
            others = await scim.ids_with_email(connection, realm_id, email)
            return sorted({*(row.user_id for row in rows), *others})
        return await scim.people_ids(connection, realm_id)

    async def _read(self, connection: Connection, ids: Sequence[UserId]) -> list[AccountState]:
        """Return those of the accounts that the directory sees."""
        realm_id = self._services.realm_id
        said = await scim.accounts(connection, realm_id, ids)
        return [
            AccountState(row, said.get(row.user_id))
            for row in await users.by_ids(connection, realm_id, ids)
            if row.bot_type is None
            and not row.is_system_bot
            and not row.is_deleted
            and (row.is_active or row.user_id not in said or not said[row.user_id].is_deleted)
        ]

    async def _shown(
        self, connection: Connection, states: Sequence[AccountState]
    ) -> list[ScimUser]:
        ids = [state.row.user_id for state in states]
        by_user: dict[UserId, dict[GroupId, str]] = {user_id: {} for user_id in ids}
        names = await self._group_names()
        members = await groups.memberships(connection, self._services.realm_id, ids)
        for group_id, user_ids in members.items():
            for user_id in user_ids:
                if group_id in names:
                    by_user[user_id][group_id] = names[group_id]
        return [shown_user(state, by_user[state.row.user_id]) for state in states]

    async def _group_names(self) -> Mapping[GroupId, str]:
        """Return the names of the groups that directories see."""
        graph = await self._services.realm_cache.groups()
        hidden = graph.deactivated | graph.system_names.keys()
        return {i: name for name, i in graph.ids_by_name.items() if i not in hidden}


def id_of(resource_id: str) -> int | None:
    """Return the number that the id of a resource stands for; None if it stands for none."""
    is_number = resource_id.isascii() and resource_id.isdecimal()
    return int(resource_id) if is_number and len(resource_id) <= MAX_DIGITS else None
