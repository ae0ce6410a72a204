"""Events of descriptions of topics, only for clients with the capability `topic_descriptions`."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import ChannelId, Position


class DescribedTopic(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    """The empty topic is the empty string, for all clients."""
    description: str
    """In Markdown. In events empty: the topic has none any more, or is not there any more."""
    rendered_description: str


class TopicDescriptionsChanged(Event, frozen=True, kw_only=True):
    """Topics of a channel with new descriptions, to be applied in their order."""

    kind: ClassVar[str] = "topic_descriptions"
    wire_type: ClassVar[str] = "topic_descriptions"
    varies_by: ClassVar[tuple[str, ...]] = ("topic_descriptions",)

    type: Literal["topic_descriptions"] = "topic_descriptions"
    stream_id: ChannelId
    topics: list[DescribedTopic]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.topic_descriptions else ()
