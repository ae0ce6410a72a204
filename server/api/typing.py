"""Endpoints of typing notifications."""

from typing import Annotated, Literal

from server.actions import typing
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Field, OptionalTopicName, Params
from server.domain.api_keys import Scope
from server.domain.errors import MissingParameterError
from storage.ids import ChannelId, MessageId, UserId


class TypingParams(Params):
    op: Literal["start", "stop"]
    """Whether typing starts or stops."""
    type: Literal["direct", "stream", "channel", "private"] = "direct"
    """Kind of the message."""
    to: Annotated[list[int] | None, Field(min_length=1)] = None
    """User ids of the recipients of a direct message."""
    stream_id: int | None = None
    """Id of the channel. Required for channel messages."""
    topic: OptionalTopicName = None
    """Topic. Required for channel messages."""


async def set_typing(request: Request, params: TypingParams) -> Empty:
    if params.type in ("stream", "channel"):
        if params.stream_id is None:
            raise MissingParameterError("stream_id")
        if params.topic is None:
            raise MissingParameterError("topic")
        published = await typing.in_channel(
            request.realm_cache,
            request.read,
            request.actor,
            params.op,
            ChannelId(params.stream_id),
            params.topic,
        )
    else:
        if params.to is None:
            raise MissingParameterError("to")
        user_ids = [UserId(user_id) for user_id in params.to]
        published = await typing.in_direct_messages(
            request.realm_cache, request.actor, params.op, user_ids
        )
    if published is not None:
        await request.app.realtime.publish_ephemeral(request.actor.realm_id, *published)
    return Empty()


class EditTypingParams(Params):
    message_id: int
    """Id of the message."""
    op: Literal["start", "stop"]
    """Whether typing starts or stops."""


async def set_edit_typing(request: Request, params: EditTypingParams) -> Empty:
    published = await typing.in_edit(
        request.realm_cache, request.read, request.actor, params.op, MessageId(params.message_id)
    )
    if published is not None:
        await request.app.realtime.publish_ephemeral(request.actor.realm_id, *published)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        "/typing",
        Access.USER,
        TypingParams,
        set_typing,
        scope=Scope.MESSAGES,
        summary="Report that you start or stop typing",
        description=(
            "Reaches the recipients of the message, unless they or the caller have turned typing"
            " notifications off."
        ),
    ),
    Endpoint(
        "POST",
        "/messages/{message_id}/typing",
        Access.USER,
        EditTypingParams,
        set_edit_typing,
        scope=Scope.MESSAGES,
        summary="Report that you start or stop editing a message",
    ),
)
