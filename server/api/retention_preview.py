"""The endpoint that says what a retention would delete before it is set."""

from datetime import timedelta
from typing import Annotated, Final

import msgspec

from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Field, Params
from server.domain.access import OWNER
from server.domain.api_keys import Scope
from server.domain.errors import BadRequestError, ChannelDoesNotExistError
from server.domain.realm_changes import MAX_DAYS
from server.i18n import _
from storage import channels, retention_previews
from storage.ids import ChannelId

MAX_COUNTED: Final = 1_000_000


class RetentionPreviewParams(Params):
    days: Annotated[int, Field(ge=1, le=MAX_DAYS)]
    """For how many days messages would be kept: up to 36,500."""
    stream_id: int | None = None
    """The channel that would have the rule. Default: the organization."""


class ExpiringChannel(msgspec.Struct, frozen=True):
    """A channel with messages that would be deleted."""

    stream_id: ChannelId
    messages: int


class RetentionPreviewResult(Result):
    before: int
    """Messages that were sent before this moment would be deleted, in seconds since 1970."""
    messages: int
    direct_messages: int
    """Those of them in direct conversations."""
    channels: list[ExpiringChannel]
    """Those with the most messages first."""
    files: int
    """Files that no other message holds: they go 30 days later."""
    oldest: int | None
    """When the oldest of the messages was sent; null if there are none."""
    is_complete: bool
    """Whether all messages were counted, rather than the first 1,000,000."""


async def preview(request: Request, params: RetentionPreviewParams) -> RetentionPreviewResult:
    if request.actor.role != OWNER:
        raise BadRequestError(_("Must be an organization owner"))
    realm_id = request.actor.realm_id
    before = request.app.clock.now() - timedelta(days=params.days)
    channel_id = None if params.stream_id is None else ChannelId(params.stream_id)
    async with request.read() as connection:
        if channel_id is not None and not await channels.by_ids(connection, realm_id, [channel_id]):
            raise ChannelDoesNotExistError.with_id(channel_id)
        found = await retention_previews.preview(
            connection, realm_id, before=before, channel_id=channel_id, limit=MAX_COUNTED
        )
    directly = [place.messages for place in found.places if place.channel_id is None]
    oldest = min((place.oldest_at for place in found.places), default=None)
    return RetentionPreviewResult(
        before=int(before.timestamp()),
        messages=min(sum(place.messages for place in found.places), MAX_COUNTED),
        direct_messages=sum(directly),
        channels=[
            ExpiringChannel(place.channel_id, place.messages)
            for place in found.places
            if place.channel_id is not None
        ],
        files=found.files,
        oldest=None if oldest is None else int(oldest.timestamp()),
        is_complete=found.is_complete,
    )


ENDPOINTS = (
    Endpoint(
        "GET",
        "/realm/retention_preview",
        Access.ADMIN,
        RetentionPreviewParams,
        preview,
        RetentionPreviewResult,
        summary="Preview what a retention would delete",
        description=(
            "For owners, before they set `message_retention_days` of the organization or of a"
            " channel: what would be deleted at the next run. The organization's rule is that of"
            " direct messages and of channels without a rule of their own. What a legal hold covers"
            " is left out, since it stays."
        ),
        scope=Scope.EVERYTHING,
    ),
)
