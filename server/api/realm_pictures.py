"""Endpoints of the realm's icon and logos."""

from typing import Final

from server.actions import realm_pictures as actions
from server.actions.realm_pictures import Place
from server.api.endpoint import (
    Access,
    Empty,
    Endpoint,
    FileUpload,
    NoParams,
    Request,
    ResponseKind,
    Result,
)
from server.api.files import redirect
from server.api.params import Params
from server.api.picture_uploads import keep_pictures, max_picture_bytes
from server.domain.avatars import realm_picture_url

_CACHE_CONTROL: Final = "private, no-cache"


class LogoParams(Params):
    night: bool
    """true for the logo on a dark ground, false for that on a light one."""


class IconResult(Result):
    icon_url: str


async def get_icon(request: Request, params: NoParams) -> None:
    """Redirect to the picture."""
    del params
    await _lead_to(request, "icon")


async def set_icon(request: Request, params: NoParams) -> IconResult:
    del params
    keys = await keep_pictures(request, "icon")
    url = await request.write(actions.change_picture, "icon", keys["small"])
    return IconResult(icon_url=url)


async def remove_icon(request: Request, params: NoParams) -> IconResult:
    del params
    return IconResult(icon_url=await request.write(actions.change_picture, "icon", None))


async def get_logo(request: Request, params: LogoParams) -> None:
    """Redirect to the picture."""
    await _lead_to(request, _logo(params))


async def set_logo(request: Request, params: LogoParams) -> Empty:
    keys = await keep_pictures(request, "logo")
    await request.write(actions.change_picture, _logo(params), keys["wide"])
    return Empty()


async def remove_logo(request: Request, params: LogoParams) -> Empty:
    await request.write(actions.change_picture, _logo(params), None)
    return Empty()


def _logo(params: LogoParams) -> Place:
    return "night_logo" if params.night else "logo"


async def _lead_to(request: Request, place: Place) -> None:
    realm_cache = request.realm_cache
    key = getattr(await realm_cache.settings(), f"{place}_key")
    url = realm_picture_url(await realm_cache.realm(), key, await realm_cache.address())
    await redirect(request, url, cache_control=_CACHE_CONTROL)


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/icon",
        Access.USER,
        NoParams,
        get_icon,
        response=ResponseKind.REDIRECT,
        summary="Find the organization's icon",
        description="Redirects to the picture.",
    ),
    Endpoint(
        "POST",
        "/realm/icon",
        Access.ADMIN,
        NoParams,
        set_icon,
        IconResult,
        body=FileUpload(max_picture_bytes),
        summary="Upload the organization's icon",
        description=(
            "The picture is sent as the field `file` of a `multipart/form-data` form, and is"
            " cropped to a square."
        ),
    ),
    Endpoint(
        "DELETE",
        "/realm/icon",
        Access.ADMIN,
        NoParams,
        remove_icon,
        IconResult,
        summary="Remove the organization's icon",
        description="It gets a generated picture.",
    ),
    Endpoint(
        "GET",
        "/realm/logo",
        Access.USER,
        LogoParams,
        get_logo,
        response=ResponseKind.REDIRECT,
        summary="Find the organization's logo",
        description="Redirects to the picture.",
    ),
    Endpoint(
        "POST",
        "/realm/logo",
        Access.ADMIN,
        LogoParams,
        set_logo,
        body=FileUpload(max_picture_bytes),
        summary="Upload the organization's logo",
        description="The picture is sent as the field `file` of a `multipart/form-data` form.",
    ),
    Endpoint(
        "DELETE",
        "/realm/logo",
        Access.ADMIN,
        LogoParams,
        remove_logo,
        summary="Remove the organization's logo",
    ),
)
