"""Events of visibility policies of topics."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

from typing_extensions import override

from server.events.base import ClientView, Event
from server.events.messages import shown_topic
from storage.ids import ChannelId, Position


class UserTopic(TypedDict):
    """The visibility policy of a topic."""

    stream_id: ChannelId
    topic_name: str
    last_updated: int
    visibility_policy: int


class UserTopicWire(UserTopic):
    """A changed visibility policy of a topic."""

    type: Literal["user_topic"]


class MutedTopicsWire(TypedDict):
    """All muted topics: channel, topic, and Unix time of muting. For older clients."""

    type: Literal["muted_topics"]
    muted_topics: list[tuple[str, str, int]]


class UserTopicChanged(Event, frozen=True, kw_only=True):
    """A changed policy, delivered to the user only.

    Appended by storage (set_topic_policy), as is the other one.
    """

    kind: ClassVar[str] = "user_topic"
    wire_type: ClassVar[str] = "user_topic"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels", "empty_topic_name")
    wires: ClassVar[tuple[type, ...]] = (UserTopicWire,)

    stream_id: ChannelId
    topic_name: str
    last_updated: int
    visibility_policy: int
    empty_topic_display_name: str = ""
    archived: bool = False
    """Whether the channel is archived, so that clients without the capability do not know it."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.archived and not view.archived_channels:
            return []
        return [
            {
                "type": "user_topic",
                "stream_id": self.stream_id,
                "topic_name": shown_topic(self.topic_name, self.empty_topic_display_name, view),
                "last_updated": self.last_updated,
                "visibility_policy": self.visibility_policy,
            }
        ]


class MutedTopicsChanged(Event, frozen=True, kw_only=True):
    """All muted topics of the user, for older clients."""

    kind: ClassVar[str] = "muted_topics"
    wire_type: ClassVar[str] = "muted_topics"
    varies_by: ClassVar[tuple[str, ...]] = ("empty_topic_name",)
    wires: ClassVar[tuple[type, ...]] = (MutedTopicsWire,)

    muted_topics: tuple[tuple[str, str, int], ...]
    """Channel, topic, and Unix time of muting."""
    empty_topic_display_name: str = ""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        muted = [
            (channel, shown_topic(topic, self.empty_topic_display_name, view), muted_at)
            for channel, topic, muted_at in self.muted_topics
        ]
        return [{"type": "muted_topics", "muted_topics": muted}]
