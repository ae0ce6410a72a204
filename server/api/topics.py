"""Endpoint of a channel's topics."""

from msgspec import Struct

from server.api.channel_access import readable_channel
from server.api.endpoint import Access, Endpoint, Request, Result
from server.api.params import Params
from storage import conversations
from storage.ids import ChannelId, MessageId


class TopicsParams(Params):
    stream_id: ChannelId
    """Id of the channel."""
    allow_empty_topic_name: bool = False
    """Whether the empty topic is returned as an empty string; otherwise as its display name."""


class Topic(Struct, frozen=True):
    name: str
    max_id: MessageId


class TopicsResult(Result):
    topics: list[Topic]


async def list_topics(request: Request, params: TopicsParams) -> TopicsResult:
    """Return the topics that the caller may read something of, latest first."""
    realm_id, channel_id = request.actor.realm_id, params.stream_id
    async with request.read() as connection:
        channel, standing, is_in = await readable_channel(request, connection, channel_id)
        if standing.reads_history(channel, subscribed=is_in):
            heads = await conversations.topics_of(connection, realm_id, channel_id)
        else:
            heads = await conversations.topics_given_to(
                connection, realm_id, channel_id, request.actor.user_id
            )
    empty = "" if params.allow_empty_topic_name else standing.settings.empty_topic_display_name
    return TopicsResult(topics=[Topic(head.name or empty, head.max_id) for head in heads])


ENDPOINTS = (
    Endpoint(
        "GET",
        "/users/me/{stream_id}/topics",
        Access.SPECTATOR,
        TopicsParams,
        list_topics,
        TopicsResult,
        summary="List the topics of a channel",
        description=(
            "Those in which the caller may read something, the most recent first, each with the"
            " id of its newest message."
        ),
    ),
)
