"""Endpoints of scheduled messages."""

from typing import Annotated, Final, Literal

from server.actions import scheduled_messages as actions
from server.actions.messages.content import typeset_ahead
from server.actions.scheduled_messages import Changes, MessageType, ScheduleRequest
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Field, OptionalTopicName, Params
from server.domain.api_keys import Scope
from server.domain.clock import LAST_SECOND
from server.events.scheduled_messages import ShownScheduledMessage
from storage import scheduled_messages
from storage.ids import ScheduledMessageId

GivenType = Literal["direct", "channel", "stream", "private"]
TYPES: Final[dict[GivenType, MessageType]] = {
    "direct": "direct",
    "private": "direct",
    "channel": "channel",
    "stream": "channel",
}
Moment = Annotated[int, Field(le=LAST_SECOND)]


class CreateParams(Params):
    type: GivenType
    """`channel` (or `stream`) or `direct` (or `private`)."""
    to: int | list[int]
    """Id of the channel, or the ids of the users."""
    content: str
    """Text, in Markdown."""
    topic: OptionalTopicName = None
    """Topic; only for channel messages."""
    scheduled_delivery_timestamp: Moment
    """When to send it, as a Unix time in seconds, in the future."""
    read_by_sender: bool | None = None
    """Whether the message is marked as read for its sender. Default: whether the client is one that
    people use."""


class MessageParams(Params):
    scheduled_message_id: ScheduledMessageId
    """Id of the scheduled message."""


class EditParams(MessageParams):
    type: GivenType | None = None
    """New kind, together with `to`."""
    to: int | list[int] | None = None
    """Id of the channel, or the ids of the users."""
    content: str | None = None
    """New text."""
    topic: OptionalTopicName = None
    """New topic."""
    scheduled_delivery_timestamp: Moment | None = None
    """New time, as a Unix time in seconds."""


class ScheduledMessages(Result):
    scheduled_messages: list[ShownScheduledMessage]


class CreatedMessage(Result):
    scheduled_message_id: int


async def get_all(request: Request, params: NoParams) -> ScheduledMessages:
    del params
    actor = request.actor
    async with request.read() as connection:
        rows = await scheduled_messages.of_user(connection, actor.realm_id, actor.user_id)
    return ScheduledMessages(scheduled_messages=[ShownScheduledMessage.of(row) for row in rows])


async def create(request: Request, params: CreateParams) -> CreatedMessage:
    wanted = ScheduleRequest(
        type=TYPES[params.type],
        to=params.to,
        topic=params.topic,
        content=params.content,
        timestamp=params.scheduled_delivery_timestamp,
        read_by_sender=params.read_by_sender,
    )
    await typeset_ahead(request.realm_cache, params.content, share=request.actor.user_id)
    now = request.app.clock.now()
    entry = await request.write(actions.schedule_message, wanted, now)
    return CreatedMessage(scheduled_message_id=entry.position)


async def edit(request: Request, params: EditParams) -> Empty:
    changes = Changes(
        type=None if params.type is None else TYPES[params.type],
        to=params.to,
        topic=params.topic,
        content=params.content,
        timestamp=params.scheduled_delivery_timestamp,
    )
    if params.content is not None:
        await typeset_ahead(request.realm_cache, params.content, share=request.actor.user_id)
    message_id, now = params.scheduled_message_id, request.app.clock.now()
    await request.write(actions.edit_scheduled_message, message_id, changes, now)
    return Empty()


async def delete(request: Request, params: MessageParams) -> Empty:
    await request.write(actions.delete_scheduled_message, params.scheduled_message_id)
    return Empty()


_ONE: Final = "/scheduled_messages/{scheduled_message_id}"

ENDPOINTS = (
    Endpoint(
        "GET",
        "/scheduled_messages",
        Access.USER,
        NoParams,
        get_all,
        result=ScheduledMessages,
        summary="List your scheduled messages",
        description="Those that are still to be sent, and those that failed.",
    ),
    Endpoint(
        "POST",
        "/scheduled_messages",
        Access.USER,
        CreateParams,
        create,
        result=CreatedMessage,
        scope=Scope.MESSAGES,
        summary="Schedule a message",
    ),
    Endpoint(
        "PATCH",
        _ONE,
        Access.USER,
        EditParams,
        edit,
        scope=Scope.MESSAGES,
        summary="Change a scheduled message",
        description="What is left out stays. One that failed is tried again at its new time.",
    ),
    Endpoint(
        "DELETE",
        _ONE,
        Access.USER,
        MessageParams,
        delete,
        scope=Scope.MESSAGES,
        summary="Delete a scheduled message",
    ),
)
