"""Endpoints that create links to calls; server/web/calls.py serves the links."""

import secrets
from typing import Final

from server.api.call_accounts import create_with_account, service_of
from server.api.endpoint import Access, Endpoint, NoParams, Request, Result
from server.api.params import Field, Params
from server.app import App
from server.calls import constructor_groups, nextcloud_talk
from server.calls.constructor_groups import ConstructorGroups
from server.calls.nextcloud_talk import NextcloudTalk
from server.domain.calls import (
    BIG_BLUE_BUTTON,
    MAX_NAME_LENGTH,
    PURPOSE,
    BigBlueButton,
    Meeting,
    link_to,
    not_configured,
)
from server.domain.errors import BadRequestError
from storage import server_keys

ID_BYTES: Final = 20


class MeetingParams(Params):
    meeting_name: str = Field(max_length=MAX_NAME_LENGTH)
    """Name of the meeting."""
    voice_only: bool = False
    """Whether participants join without video."""


class RoomParams(Params):
    room_name: str = Field(min_length=1, max_length=MAX_NAME_LENGTH)
    """Name of the conversation."""


class ZoomParams(Params):
    is_video_call: bool = True
    """Whether participants join with video."""


class CallResult(Result):
    url: str


def big_blue_button(app: App) -> BigBlueButton:
    """Return the server's BigBlueButton. Raises BadRequestError if there is none."""
    url, secret = app.settings.bigbluebutton_url, app.settings.bigbluebutton_secret
    if url is None or secret is None:
        raise BadRequestError(not_configured(BIG_BLUE_BUTTON))
    return BigBlueButton(url, secret)


async def create(request: Request, params: MeetingParams) -> CallResult:
    """Return a link to a new call.

    BigBlueButton gets no request before a user follows it.
    """
    _ = big_blue_button(request.app)
    meeting = Meeting(
        request.actor.realm_id,
        secrets.token_urlsafe(ID_BYTES),
        params.meeting_name,
        params.voice_only,
        request.actor.user_id,
    )
    async with request.read() as connection:
        key = await server_keys.key_for(connection, PURPOSE)
    return CallResult(url=(await request.realm_cache.address()).url + link_to(key, meeting))


async def create_by_constructor_groups(request: Request, _: NoParams) -> CallResult:
    """Return the link to the caller's room."""
    settings, row = request.app.settings, request.actor.row
    url, access_key = settings.constructor_groups_url, settings.constructor_groups_access_key
    secret_key = settings.constructor_groups_secret_key
    if url is None or access_key is None or secret_key is None:
        raise BadRequestError(not_configured(constructor_groups.NAME))
    service = ConstructorGroups(url, access_key, secret_key)
    link = await service.create(request.app.egress, full_name=row.full_name, email=row.email)
    return CallResult(url=link)


async def create_by_nextcloud_talk(request: Request, params: RoomParams) -> CallResult:
    """Return the link to a new conversation."""
    settings = request.app.settings
    url, user = settings.nextcloud_talk_url, settings.nextcloud_talk_user
    password = settings.nextcloud_talk_password
    if url is None or user is None or password is None:
        raise BadRequestError(not_configured(nextcloud_talk.NAME))
    service = NextcloudTalk(url, user, password)
    return CallResult(url=await service.create(request.app.egress, params.room_name))


async def create_by_webex(request: Request, _: NoParams) -> CallResult:
    """Return the link to a new meeting of the caller."""
    service = service_of(request.app.settings, "webex")
    return CallResult(url=await create_with_account(request, service, has_video=True))


async def create_by_zoom(request: Request, params: ZoomParams) -> CallResult:
    """Return the link to a new meeting of the caller."""
    service = service_of(request.app.settings, "zoom")
    has_video = params.is_video_call
    return CallResult(url=await create_with_account(request, service, has_video=has_video))


ENDPOINTS = (
    Endpoint(
        "GET",
        "/calls/bigbluebutton/create",
        Access.USER,
        MeetingParams,
        create,
        CallResult,
        summary="Create a link to a BigBlueButton call",
        description=(
            "The meeting begins when the link is first opened. Refused where the operator has"
            " not configured BigBlueButton."
        ),
    ),
    Endpoint(
        "POST",
        "/calls/constructorgroups/create",
        Access.USER,
        NoParams,
        create_by_constructor_groups,
        CallResult,
        summary="Create a link to a Constructor Groups call",
        description=(
            "The link leads to the caller's room, which Constructor Groups identifies by the email"
            " address: further calls of the same user have the same link. Refused where the"
            " operator has not configured Constructor Groups."
        ),
    ),
    Endpoint(
        "POST",
        "/calls/nextcloud_talk/create",
        Access.USER,
        RoomParams,
        create_by_nextcloud_talk,
        CallResult,
        summary="Create a link to a Nextcloud Talk call",
        description=(
            "The link leads to a new public conversation, which users may join without an account"
            " on the Nextcloud server. Refused where the operator has not configured Nextcloud"
            " Talk."
        ),
    ),
    Endpoint(
        "POST",
        "/calls/zoom/create",
        Access.USER,
        ZoomParams,
        create_by_zoom,
        CallResult,
        summary="Create a link to a Zoom call",
        description=(
            "The meeting is one of the caller's Zoom account, which a browser connects at"
            " `/calls/zoom/register`; the event `has_zoom_token` follows. Refused with"
            " INVALID_VIDEO_CALL_PROVIDER_TOKEN until then, and when Zoom has revoked the"
            " permission."
        ),
    ),
    Endpoint(
        "POST",
        "/calls/webex/create",
        Access.USER,
        NoParams,
        create_by_webex,
        CallResult,
        summary="Create a link to a Webex call",
        description=(
            "The meeting is one of the caller's Webex account, which a browser connects at"
            " `/calls/webex/register`; the event `has_webex_token` follows. Refused with"
            " INVALID_VIDEO_CALL_PROVIDER_TOKEN until then, and when Webex has revoked the"
            " permission."
        ),
    ),
)
