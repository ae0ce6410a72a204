"""User groups."""

from datetime import timedelta

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from server.events.groups import UserGroup
from server.initial_state.groups import shown_groups
from server.initial_state.people import read_people
from storage import groups


class GroupsParams(Params):
    include_deactivated_groups: bool = False


class Groups(Result):
    user_groups: list[UserGroup]


async def get_all(request: Request, params: GroupsParams) -> Groups:
    settings = await request.directory.settings()
    async with request.app.database.snapshot() as connection:
        people = await read_people(connection, request.directory)
        rows = await groups.all_of_realm(connection, request.actor.realm_id)
    shown = shown_groups(
        rows,
        people,
        waiting_period=timedelta(days=settings.waiting_period_threshold),
        now=request.app.clock.now(),
        include_deactivated=params.include_deactivated_groups,
    )
    return Groups(user_groups=shown)


ENDPOINTS = (Endpoint("GET", "/user_groups", Access.USER, GroupsParams, get_all, Groups),)
