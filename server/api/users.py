"""People, as one may know them."""

import msgspec

from server.api.endpoint import Access, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.api.people import known_users, user_by_email
from server.domain.errors import BadRequestError
from server.events.base import ClientView
from server.events.users import User, knows_email, shown_user
from storage import users
from storage.ids import UserId
from storage.users import UserRow


class HowToShow(Params):
    """What every question about people may say."""

    client_gravatar: bool = True
    include_custom_profile_fields: bool = False


class UserByIdParams(HowToShow):
    user_id: int


class UserByEmailParams(HowToShow):
    email: str


class UsersParams(HowToShow):
    user_ids: list[int] | None = None


class OwnUser(User, Result, frozen=True, kw_only=True):  # type: ignore[misc]
    """The caller's own profile: both bases in one, since the Result part has no fields."""


class UserFound(Result):
    user: User


class Users(Result):
    members: list[User]


async def get_own(request: Request, params: NoParams) -> OwnUser:
    del params
    async with request.read() as connection:
        [row] = await users.by_ids(connection, request.actor.realm_id, [request.actor.user_id])
    domain = (await request.directory.address()).domain
    return OwnUser(**msgspec.structs.asdict(shown_user(row, domain, knows_email=True)))


async def get_by_id(request: Request, params: UserByIdParams) -> UserFound:
    async with request.read() as connection:
        rows = await users.by_ids(connection, request.actor.realm_id, [UserId(params.user_id)])
        accessible = await known_users(request, connection, rows)
    if not accessible:
        raise BadRequestError("No such user")
    return UserFound(user=await _shown(request, accessible[0], params))


async def get_by_email(request: Request, params: UserByEmailParams) -> UserFound:
    row = await user_by_email(request, params.email)
    if row is None:
        raise BadRequestError("No such user")
    async with request.read() as connection:
        accessible = await known_users(request, connection, [row])
    if not accessible:
        raise BadRequestError("No such user")
    return UserFound(user=await _shown(request, row, params))


async def get_all(request: Request, params: UsersParams) -> Users:
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        if params.user_ids is None:
            rows = await users.all_of_realm(connection, realm_id)
            rows = [row for row in rows if not row.is_system_bot]
        else:
            rows = await users.by_ids(connection, realm_id, [UserId(u) for u in params.user_ids])
        accessible = await known_users(request, connection, rows)
    return Users(members=[await _shown(request, row, params) for row in accessible])


async def _shown(request: Request, row: UserRow, params: HowToShow) -> User:
    domain = (await request.directory.address()).domain
    user = shown_user(row, domain, knows_email=knows_email(request.actor.row, row))
    if not params.include_custom_profile_fields:
        user = msgspec.structs.replace(user, profile_data=msgspec.UNSET)
    return user.for_view(ClientView(client_gravatar=params.client_gravatar))


ENDPOINTS = (
    Endpoint("GET", "/users", Access.USER, UsersParams, get_all, Users),
    Endpoint("GET", "/users/me", Access.USER, NoParams, get_own, OwnUser),
    Endpoint("GET", "/users/{user_id}", Access.USER, UserByIdParams, get_by_id, UserFound),
    Endpoint("GET", "/users/{email}", Access.USER, UserByEmailParams, get_by_email, UserFound),
)
