"""Endpoints of pinned topics and messages of channels."""

from server.actions.messages import pins
from server.api.channel_access import readable_channel
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Params, TopicName
from server.domain.api_keys import Scope
from storage import pins as rows
from storage.ids import ChannelId, MessageId

_MESSAGE_PATH = "/messages/{message_id}/pin"
_TOPIC_PATH = "/streams/{stream_id}/pinned_topics"


class MessageParams(Params):
    message_id: int
    """Id of a message in a channel."""


class ChannelParams(Params):
    stream_id: ChannelId
    """Id of the channel."""


class TopicParams(ChannelParams):
    topic: TopicName
    """Name of the topic."""


class PinsResult(Result):
    topics: list[str]
    """In the order of pinning; the empty topic is the empty string."""
    message_ids: list[MessageId]


async def pin_message(request: Request, params: MessageParams) -> Empty:
    return await _set_message(request, params, is_pinned=True)


async def unpin_message(request: Request, params: MessageParams) -> Empty:
    return await _set_message(request, params, is_pinned=False)


async def _set_message(request: Request, params: MessageParams, *, is_pinned: bool) -> Empty:
    message_id = MessageId(params.message_id)
    await request.write(pins.set_message_pinned, message_id, is_pinned=is_pinned)
    return Empty()


async def pin_topic(request: Request, params: TopicParams) -> Empty:
    return await _set_topic(request, params, is_pinned=True)


async def unpin_topic(request: Request, params: TopicParams) -> Empty:
    return await _set_topic(request, params, is_pinned=False)


async def _set_topic(request: Request, params: TopicParams, *, is_pinned: bool) -> Empty:
    now = request.app.clock.now()
    await request.write(
        pins.set_topic_pinned, params.stream_id, params.topic, now, is_pinned=is_pinned
    )
    return Empty()


async def show(request: Request, params: ChannelParams) -> PinsResult:
    """Return the pins of a channel that the caller may read, subscribed or not."""
    here, channel_id = (request.actor.realm_id, request.actor.user_id), params.stream_id
    async with request.read() as connection:
        await readable_channel(request, connection, channel_id)
        topics = await rows.topics_of(connection, *here, channel_id=channel_id)
        messages = await rows.messages_of(connection, *here, channel_id=channel_id)
    return PinsResult(
        topics=[name for each in topics for name in each.topics],
        message_ids=[message_id for each in messages for message_id in each.message_ids],
    )


_WHO = (
    "For users in `can_pin_group` of the organization or of the channel, and"
    " administrators of the channel. Repeating the request changes nothing."
)

ENDPOINTS = (
    Endpoint(
        "PUT",
        _MESSAGE_PATH,
        Access.USER,
        MessageParams,
        pin_message,
        scope=Scope.MESSAGES,
        summary="Pin a message in its channel",
        description=f"{_WHO} A channel has at most 50 pinned messages.",
    ),
    Endpoint(
        "DELETE",
        _MESSAGE_PATH,
        Access.USER,
        MessageParams,
        unpin_message,
        scope=Scope.MESSAGES,
        summary="Unpin a message",
        description=_WHO,
    ),
    Endpoint(
        "PUT",
        _TOPIC_PATH,
        Access.USER,
        TopicParams,
        pin_topic,
        scope=Scope.MESSAGES,
        answers_by_content=True,
        summary="Pin a topic in its channel",
        description=f"{_WHO} A channel has at most 10 pinned topics.",
    ),
    Endpoint(
        "DELETE",
        _TOPIC_PATH,
        Access.USER,
        TopicParams,
        unpin_topic,
        scope=Scope.MESSAGES,
        answers_by_content=True,
        summary="Unpin a topic",
        description=_WHO,
    ),
    Endpoint(
        "GET",
        "/streams/{stream_id}/pins",
        Access.USER,
        ChannelParams,
        show,
        PinsResult,
        summary="Get the pinned topics and messages of a channel",
        description=(
            "Those that the caller may read. Clients of subscribers have them from `POST /register`"
            " and the events `pinned_topics` and `pinned_messages`, with the capability `pins`."
        ),
    ),
)
