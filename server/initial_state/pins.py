"""Register's `pinned_messages` and `pinned_topics`, for clients with the capability `pins`."""

from typing import Any, NotRequired, TypedDict

from server.initial_state.base import Snapshot, StateSection
from storage import pins
from storage.ids import ChannelId, MessageId


class PinnedMessages(TypedDict):
    stream_id: ChannelId
    message_ids: list[MessageId]


class PinnedTopics(TypedDict):
    stream_id: ChannelId
    topics: list[str]
    """In the order of pinning; the empty topic is the empty string."""


class PinnedMessagesFields(TypedDict):
    pinned_messages: NotRequired[list[PinnedMessages]]
    """Of channels that the user is subscribed to. Only for clients with the capability."""


class PinnedTopicsFields(TypedDict):
    pinned_topics: NotRequired[list[PinnedTopics]]
    """Of channels that the user is subscribed to. Only for clients with the capability."""


async def fetch_messages(snapshot: Snapshot) -> dict[str, Any]:
    if not snapshot.view.pins:
        return {}
    rows = await pins.messages_of(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    shown = [PinnedMessages(stream_id=r.channel_id, message_ids=r.message_ids) for r in rows]
    return {"pinned_messages": shown}


async def fetch_topics(snapshot: Snapshot) -> dict[str, Any]:
    if not snapshot.view.pins:
        return {}
    rows = await pins.topics_of(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    shown = [PinnedTopics(stream_id=r.channel_id, topics=r.topics) for r in rows]
    return {"pinned_topics": shown}


SECTIONS = (
    StateSection("pinned_messages", fetch_messages, (PinnedMessagesFields,)),
    StateSection("pinned_topics", fetch_topics, (PinnedTopicsFields,)),
)
