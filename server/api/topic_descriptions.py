"""Endpoints of descriptions of topics."""

from server.actions.messages.topic_descriptions import set_topic_description
from server.api.channel_access import readable_channel
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Field, Params, TopicName
from server.domain.api_keys import Scope
from server.domain.topic_descriptions import MAX_TOPIC_DESCRIPTION_LENGTH, described
from server.events.topic_descriptions import DescribedTopic
from storage import topic_descriptions
from storage.ids import ChannelId

_PATH = "/streams/{stream_id}/topic_descriptions"


class ChannelParams(Params):
    stream_id: ChannelId
    """Id of the channel."""


class TopicParams(ChannelParams):
    topic: TopicName
    """Name of the topic."""
    description: str = Field(max_length=MAX_TOPIC_DESCRIPTION_LENGTH)
    """New description, in Markdown. Blank: the topic has none any more."""


class DescribedTopicsResult(Result):
    topics: list[DescribedTopic]


async def change(request: Request, params: TopicParams) -> Empty:
    new = described(params.description)
    await request.write(set_topic_description, params.stream_id, params.topic, new)
    return Empty()


async def show(request: Request, params: ChannelParams) -> DescribedTopicsResult:
    """Return the described topics of a channel that the caller may read, subscribed or not."""
    channel_id = params.stream_id
    async with request.read() as connection:
        await readable_channel(request, connection, channel_id)
        rows = await topic_descriptions.of_channels(
            connection, request.actor.realm_id, request.actor.user_id, channel_id=channel_id
        )
    return DescribedTopicsResult(
        topics=[
            DescribedTopic(
                topic=row.topic,
                description=row.description,
                rendered_description=row.rendered_description,
            )
            for row in rows
        ]
    )


ENDPOINTS = (
    Endpoint(
        "PUT",
        _PATH,
        Access.USER,
        TopicParams,
        change,
        scope=Scope.MESSAGES,
        answers_by_content=True,
        summary="Describe a topic",
        description=(
            "For users who may rename topics of the channel. Repeating the request changes"
            " nothing. A channel has at most 100 described topics."
        ),
    ),
    Endpoint(
        "GET",
        _PATH,
        Access.USER,
        ChannelParams,
        show,
        DescribedTopicsResult,
        summary="Get the described topics of a channel",
        description=(
            "Those that the caller may read. Clients of subscribers have them from `POST /register`"
            " and the events `topic_descriptions`, with the capability of this name."
        ),
    ),
)
