"""Endpoints of users."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from server.actions.credential_changes import Proof
from server.actions.departed_users import DELETING, DeletionRequest, deactivate_and_delete
from server.actions.newcomers import check_may_create, create_person
from server.actions.stepped_work import finish
from server.actions.user_activation import (
    MAX_COMMENT,
    deactivate_own,
    reactivate_as_administrator,
)
from server.actions.user_changes import UserChange, change_user
from server.actions.users import NewUser
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params, StrictPart
from server.api.people import known_users, user_by_email
from server.api.profile_answers import AnswerParam, answers_of
from server.domain.accounts import checked_password
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError
from server.domain.profile_fields import MAX_FIELDS
from server.domain.profiles import knows_email
from server.events.base import ClientView
from server.events.users import User, shown_user
from server.i18n import _
from storage import profile_data, users
from storage.erasure import Place
from storage.ids import UserId
from storage.profile_data import NO_DATA, ProfileData
from storage.users import UserRow

STEPS_AT_ONCE: Final = 5
"""Steps of a deletion within the request; a worker takes the others."""


class HowToShow(Params):
    """Common parameters of requests for users."""

    client_gravatar: bool = True
    """Whether the client computes Gravatar addresses itself: then `avatar_url` is null for users
    without a picture of their own."""
    include_custom_profile_fields: bool = False
    """Whether to return `profile_data`, the answers to custom profile fields."""


class UserByIdParams(HowToShow):
    user_id: int
    """Id of the user."""


class UserByEmailParams(HowToShow):
    email: str
    """Email address of the user, as the caller may see it."""


class UsersParams(HowToShow):
    user_ids: list[int] | None = None
    """Ids of the users to return. Default: all."""


class ChangeParams(Params):
    full_name: str | None = None
    """New name."""
    new_email: str | None = None
    """New email address; always refused, since users confirm addresses themselves."""
    profile_data: list[AnswerParam] | None = Field(None, max_length=MAX_FIELDS)
    """Answers to custom profile fields, each with the field's `id` and a `value`."""
    role: int | None = None
    """New role: 100 owner, 200 administrator, 300 moderator, 400 member, 600 guest."""


class ChangeByIdParams(ChangeParams):
    user_id: int
    """Id of the user."""


class ChangeByEmailParams(ChangeParams):
    email: str
    """Email address of the user, as the caller may see it."""


class CreateParams(Params):
    email: str
    """Email address."""
    full_name: str
    """Name."""
    password: str
    """Password; empty for none."""


class CloseParams(Params):
    old_password: str | None = None
    """Your password, if the account has one and a session is used. Without one, the session must
    have begun within the last ten minutes.
    """


class DeletionPart(StrictPart):
    """What is deleted with the account: of the user, and of all bots of the user."""

    delete_profile: bool = False
    """The name, which becomes `Deleted user` with the id, the picture, the status, the time zone
    and the answers to custom profile fields. The address stays. The user has `is_deleted` until
    reactivated."""
    delete_public_channel_messages: bool = False
    """The messages in public channels."""
    delete_private_channel_messages: bool = False
    """The messages in private channels, also in those that the caller may not see."""
    delete_direct_messages: bool = False
    """The direct messages."""

    def request(self) -> DeletionRequest:
        places: dict[Place, bool] = {
            "public channel": self.delete_public_channel_messages,
            "private channel": self.delete_private_channel_messages,
            "direct": self.delete_direct_messages,
        }
        chosen = tuple(place for place, is_chosen in places.items() if is_chosen)
        return DeletionRequest(profile=self.delete_profile, places=chosen)


class DeactivateParams(CloseParams):
    user_id: int
    """Id of the user."""
    actions: DeletionPart = DeletionPart()
    """What is deleted, for ever. Default: nothing."""
    deactivation_notification_comment: str | None = Field(None, max_length=MAX_COMMENT)
    """Comment for the email that notifies the user. Without it no email is sent."""


class ReactivateParams(Params):
    user_id: int
    """Id of the user."""


class CreatedPerson(Result):
    user_id: int


class OwnUser(User, Result, frozen=True, kw_only=True):  # type: ignore[misc]
    """The caller's own profile: both bases in one, since the Result part has no fields."""

    email_confirmed: bool
    """Whether the real address is known to be the caller's."""


class UserFound(Result):
    user: User


class Users(Result):
    members: list[User]


async def get_own(request: Request, params: NoParams) -> OwnUser:
    del params
    async with request.read() as connection:
        own_id, realm_id = request.actor.user_id, request.actor.realm_id
        [row] = await users.by_ids(connection, realm_id, [own_id])
        said = await profile_data.of_users(connection, realm_id, [own_id])
    address = await request.realm_cache.address()
    user = shown_user(row, address, knows_email=True, profile=said.get(own_id, NO_DATA))
    return OwnUser(**msgspec.structs.asdict(user), email_confirmed=row.email_confirmed)


async def get_by_id(request: Request, params: UserByIdParams) -> UserFound:
    async with request.read() as connection:
        rows = await users.by_ids(connection, request.actor.realm_id, [UserId(params.user_id)])
        accessible = await known_users(request, rows)
    return await _found(request, accessible, params)


async def get_by_email(request: Request, params: UserByEmailParams) -> UserFound:
    row = await user_by_email(request, params.email)
    if row is None:
        raise BadRequestError(_("No such user"))
    accessible = await known_users(request, [row])
    return await _found(request, accessible, params)


async def get_all(request: Request, params: UsersParams) -> Users:
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        if params.user_ids is None:
            rows = await users.all_of_realm(connection, realm_id)
            rows = [row for row in rows if not row.is_system_bot]
        else:
            rows = await users.by_ids(connection, realm_id, [UserId(u) for u in params.user_ids])
        accessible = await known_users(request, rows)
    return Users(members=await _shown(request, accessible, params))


async def change_by_id(request: Request, params: ChangeByIdParams) -> Empty:
    return await _change(request, UserId(params.user_id), params)


async def change_by_email(request: Request, params: ChangeByEmailParams) -> Empty:
    row = await user_by_email(request, params.email)
    if row is None:
        raise BadRequestError(_("No such user"))
    return await _change(request, row.user_id, params)


async def _change(request: Request, user_id: UserId, params: ChangeParams) -> Empty:
    if params.new_email is not None:
        # It would have to be confirmed by the reader of that address.
        raise BadRequestError(_("User not authorized to change user emails"))
    change = UserChange(
        full_name=params.full_name,
        role=params.role,
        answers=answers_of(params.profile_data or ()),
    )
    await request.write(change_user, user_id, change, now=request.app.clock.now())
    return Empty()


async def create(request: Request, params: CreateParams) -> CreatedPerson:
    """Create an account for a person; an empty password is none."""
    actor = request.actor
    async with request.read() as connection:
        await check_may_create(connection, actor)
    password = checked_password(params.password or None)
    hashed = None if password is None else await request.app.passwords.hash(password)
    new = NewUser(email=params.email, full_name=params.full_name, password_hash=hashed)
    made = await request.write(create_person, new, now=request.app.clock.now())
    return CreatedPerson(user_id=made.user_id)


async def deactivate(request: Request, params: DeactivateParams) -> Empty:
    """Deactivate a user; administrators deactivate their own account like all users."""
    if params.user_id == request.actor.user_id:
        request.check_reaches(Scope.ACCOUNT)
        await _closing_proof(request, params)
    work_id = await request.write(
        deactivate_and_delete,
        UserId(params.user_id),
        params.actions.request(),
        comment=params.deactivation_notification_comment,
        now=request.app.clock.now(),
    )
    await finish(request.realm_services, DELETING, work_id, steps=STEPS_AT_ONCE)
    return Empty()


async def deactivate_own_account(request: Request, params: CloseParams) -> Empty:
    request.refuse_bots()
    proof = await _closing_proof(request, params)
    await request.write(deactivate_own, proof, now=request.app.clock.now())
    return Empty()


async def _closing_proof(request: Request, params: CloseParams) -> Proof:
    """Return the proof for deactivation: the own key, as the protocol has it.

    Sessions need more.
    """
    if request.session is None:
        return await request.reauthentication.by_own_key()
    return await request.reauthentication.prove(params.old_password)


async def reactivate(request: Request, params: ReactivateParams) -> Empty:
    user_id, now = UserId(params.user_id), request.app.clock.now()
    await request.write(reactivate_as_administrator, user_id, now=now)
    return Empty()


async def _found(request: Request, rows: Sequence[UserRow], params: HowToShow) -> UserFound:
    """Return the user, if the caller may know them. Raises BadRequestError."""
    shown = await _shown(request, rows, params)
    if not shown:
        raise BadRequestError(_("No such user"))
    return UserFound(user=shown[0])


async def _shown(request: Request, rows: Sequence[UserRow], params: HowToShow) -> list[User]:
    """Return these users in wire form."""
    address = await request.realm_cache.address()
    view = ClientView(client_gravatar=params.client_gravatar)
    said: Mapping[UserId, ProfileData] = {}
    if params.include_custom_profile_fields:
        ids = [row.user_id for row in rows]
        async with request.read() as connection:
            said = await profile_data.of_users(connection, request.actor.realm_id, ids)

    def shown(row: UserRow) -> User:
        knows = knows_email(request.actor.row, row)
        profile = said.get(row.user_id, NO_DATA)
        user = shown_user(row, address, knows_email=knows, profile=profile).for_view(view)
        if params.include_custom_profile_fields:
            return user
        return msgspec.structs.replace(user, profile_data=msgspec.UNSET)

    return [shown(row) for row in rows]


ENDPOINTS = (
    Endpoint(
        "GET",
        "/users",
        Access.USER,
        UsersParams,
        get_all,
        Users,
        summary="List users",
        description=(
            "People and bots, deactivated ones too. Guests may be limited to the users that"
            " share a channel or a conversation with them."
        ),
    ),
    Endpoint(
        "POST",
        "/users",
        Access.ADMIN,
        CreateParams,
        create,
        CreatedPerson,
        summary="Create a user",
        description=(
            "For administrators with the grant to create users, which an operator gives. The new"
            " user gets no email."
        ),
    ),
    Endpoint(
        "DELETE",
        "/users/me",
        Access.USER,
        CloseParams,
        deactivate_own_account,
        scope=Scope.ACCOUNT,
        summary="Deactivate your account",
        description=(
            "Refused for the last owner. Your keys, sessions and bots end, and what is pending"
            " for the account.\n\n"
            "The account's own key is proof enough. A session needs `old_password`, or, where the"
            " account has no password, to have begun within the last ten minutes."
        ),
    ),
    Endpoint(
        "DELETE",
        "/users/{user_id}",
        Access.ADMIN,
        DeactivateParams,
        deactivate,
        summary="Deactivate a user",
        description=(
            "Sessions and keys end. Profile and messages stay, unless `actions` names them; of"
            " users who are deactivated already they are deleted as well. A worker continues long"
            " deletions after the response. A user who is reactivated meanwhile keeps the rest."
        ),
    ),
    Endpoint(
        "POST",
        "/users/{user_id}/reactivate",
        Access.ADMIN,
        ReactivateParams,
        reactivate,
        summary="Reactivate a user",
    ),
    Endpoint(
        "GET",
        "/users/me",
        Access.USER,
        NoParams,
        get_own,
        OwnUser,
        summary="Get your own user",
    ),
    Endpoint(
        "GET",
        "/users/{user_id}",
        Access.USER,
        UserByIdParams,
        get_by_id,
        UserFound,
        summary="Get a user",
    ),
    Endpoint(
        "GET",
        "/users/{email}",
        Access.USER,
        UserByEmailParams,
        get_by_email,
        UserFound,
        summary="Get a user",
    ),
    Endpoint(
        "PATCH",
        "/users/{user_id}",
        Access.ADMIN,
        ChangeByIdParams,
        change_by_id,
        summary="Change a user",
        description="What is left out stays. Only owners may make owners, or change them.",
    ),
    Endpoint(
        "PATCH",
        "/users/{email}",
        Access.ADMIN,
        ChangeByEmailParams,
        change_by_email,
        summary="Change a user",
        description="What is left out stays. Only owners may make owners, or change them.",
    ),
)
