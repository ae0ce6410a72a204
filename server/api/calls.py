"""Endpoints that create links to calls; server/web/calls.py serves the links."""

import secrets
from typing import Final

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Field, Params
from server.app import App
from server.domain.calls import (
    MAX_NAME_LENGTH,
    NOT_CONFIGURED,
    PURPOSE,
    BigBlueButton,
    Meeting,
    link_to,
)
from server.domain.errors import BadRequestError
from storage import server_keys

ID_BYTES: Final = 20


class MeetingParams(Params):
    meeting_name: str = Field(max_length=MAX_NAME_LENGTH)
    """Name of the meeting."""
    voice_only: bool = False
    """Whether participants join without video."""


class ZoomParams(Params):
    is_video_call: bool = True
    """Whether participants join with video."""


class CallResult(Result):
    url: str


def big_blue_button(app: App) -> BigBlueButton:
    """Return the server's BigBlueButton. Raises BadRequestError if there is none."""
    url, secret = app.settings.bigbluebutton_url, app.settings.bigbluebutton_secret
    if url is None or secret is None:
        raise BadRequestError(NOT_CONFIGURED)
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


async def create_by_zoom(_: Request, __: ZoomParams) -> CallResult:
    """Raise BadRequestError: the server has no Zoom credentials."""
    raise BadRequestError("Zoom credentials have not been configured")


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
        "/calls/zoom/create",
        Access.USER,
        ZoomParams,
        create_by_zoom,
        CallResult,
        summary="Create a link to a Zoom call",
        description=(
            "This server has no connection to Zoom and always refuses; clients then offer"
            " another provider."
        ),
    ),
)
