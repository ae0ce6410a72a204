"""Endpoints of avatars: set, remove, and look up by user."""

from typing import Final

from server.actions import avatars as actions
from server.api.endpoint import (
    Access,
    Endpoint,
    FileUpload,
    NoParams,
    Request,
    ResponseKind,
    Result,
)
from server.api.files import redirect
from server.api.params import Params
from server.api.people import user_by_email
from server.api.picture_uploads import keep_pictures, max_picture_bytes
from server.domain.avatars import Avatar
from server.domain.channels import Standing
from server.domain.errors import NotFoundError
from server.i18n import _
from storage.ids import UserId

_KNOWN_VERSION: Final = "private, max-age=86400"
_ANY_VERSION: Final = "private, no-cache"


class AvatarResult(Result):
    avatar_url: str


async def set_own(request: Request, params: NoParams) -> AvatarResult:
    del params
    realm_cache = request.realm_cache
    standing = Standing(
        request.actor.person, await realm_cache.groups(), await realm_cache.settings()
    )
    actions.check_may_change(standing)
    keys = await keep_pictures(request, "avatar")
    avatar = await request.write(actions.change_own_avatar, keys["small"])
    return AvatarResult(avatar_url=avatar.url)


async def remove_own(request: Request, params: NoParams) -> AvatarResult:
    del params
    avatar = await request.write(actions.change_own_avatar, None)
    return AvatarResult(avatar_url=avatar.url)


# -- look-up


class LookParams(Params):
    version: int | None = None
    """Version of the avatar that the client knows, so that caches keep each version apart."""


class ByIdParams(LookParams):
    user_id: int
    """Id of the user."""


class ByEmailParams(LookParams):
    email: str
    """Email address of the user, as the caller may see it."""


async def lead_by_id(request: Request, params: ByIdParams) -> None:
    avatar = await _avatar(request, UserId(params.user_id))
    await _lead_to(request, avatar, avatar.url, params)


async def lead_by_id_to_medium(request: Request, params: ByIdParams) -> None:
    avatar = await _avatar(request, UserId(params.user_id))
    await _lead_to(request, avatar, avatar.medium_url, params)


async def lead_by_email(request: Request, params: ByEmailParams) -> None:
    avatar = await _avatar_of_address(request, params.email)
    await _lead_to(request, avatar, avatar.url, params)


async def lead_by_email_to_medium(request: Request, params: ByEmailParams) -> None:
    avatar = await _avatar_of_address(request, params.email)
    await _lead_to(request, avatar, avatar.medium_url, params)


async def _avatar(request: Request, user_id: UserId) -> Avatar:
    """Return the user's avatar, as far as the caller may know them. Raises NotFoundError."""
    row = await request.realm_cache.user(user_id)
    if row is None:
        raise NotFoundError(_("No such user"))
    sight = await request.realm_cache.sight(request.actor.row, [row.user_id])
    return sight.shown(row, await request.realm_cache.address()).avatar


async def _avatar_of_address(request: Request, email: str) -> Avatar:
    """Return the avatar of the user with this address. Raises NotFoundError if there is none."""
    row = await user_by_email(request, email)
    if row is None:
        raise NotFoundError(_("No such user"))
    sight = await request.realm_cache.sight(request.actor.row, [row.user_id])
    return sight.shown(row, await request.realm_cache.address()).avatar


async def _lead_to(request: Request, avatar: Avatar, url: str, params: LookParams) -> None:
    is_current = params.version == avatar.version
    await redirect(request, url, cache_control=_KNOWN_VERSION if is_current else _ANY_VERSION)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/users/me/avatar",
        Access.USER,
        NoParams,
        set_own,
        AvatarResult,
        body=FileUpload(max_picture_bytes),
        summary="Upload your avatar",
        description=(
            "The picture is sent as the field `file` of a `multipart/form-data` form, and is"
            " cropped to a square. Organizations may reserve changes to administrators."
        ),
    ),
    Endpoint(
        "DELETE",
        "/users/me/avatar",
        Access.USER,
        NoParams,
        remove_own,
        AvatarResult,
        summary="Remove your avatar",
        description="The user gets the default picture again.",
    ),
    Endpoint(
        "GET",
        "/avatar/{user_id}",
        Access.SPECTATOR,
        ByIdParams,
        lead_by_id,
        response=ResponseKind.REDIRECT,
        at_root=True,
        is_rate_limited=False,
        summary="Find a user's avatar",
        description="Redirects to the picture.",
    ),
    Endpoint(
        "GET",
        "/avatar/{user_id}/medium",
        Access.SPECTATOR,
        ByIdParams,
        lead_by_id_to_medium,
        response=ResponseKind.REDIRECT,
        at_root=True,
        is_rate_limited=False,
        summary="Find a user's avatar in medium size",
        description="Redirects to the picture.",
    ),
    Endpoint(
        "GET",
        "/avatar/{email}",
        Access.USER,
        ByEmailParams,
        lead_by_email,
        response=ResponseKind.REDIRECT,
        at_root=True,
        is_rate_limited=False,
        summary="Find an avatar by email address",
        description="Redirects to the picture.",
    ),
    Endpoint(
        "GET",
        "/avatar/{email}/medium",
        Access.USER,
        ByEmailParams,
        lead_by_email_to_medium,
        response=ResponseKind.REDIRECT,
        at_root=True,
        is_rate_limited=False,
        summary="Find an avatar by email address in medium size",
        description="Redirects to the picture.",
    ),
)
