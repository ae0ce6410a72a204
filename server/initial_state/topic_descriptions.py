"""Register's `topic_descriptions`, for clients with the capability of this name."""

from typing import Any, NotRequired, TypedDict

from server.initial_state.base import Snapshot, StateSection
from storage import topic_descriptions
from storage.ids import ChannelId


class SubscribedTopicDescription(TypedDict):
    stream_id: ChannelId
    topic: str
    """The empty topic is the empty string."""
    description: str
    """In Markdown."""
    rendered_description: str


class TopicDescriptionsFields(TypedDict):
    topic_descriptions: NotRequired[list[SubscribedTopicDescription]]
    """Of channels that the user is subscribed to. Only for clients with the capability."""


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    if not snapshot.view.topic_descriptions:
        return {}
    rows = await topic_descriptions.of_channels(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    shown = [
        SubscribedTopicDescription(
            stream_id=row.channel_id,
            topic=row.topic,
            description=row.description,
            rendered_description=row.rendered_description,
        )
        for row in rows
    ]
    return {"topic_descriptions": shown}


SECTION = StateSection("topic_descriptions", fetch, (TopicDescriptionsFields,))
