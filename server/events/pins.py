"""Events of pinned topics and messages, only for clients with the capability `pins`."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import ChannelId, MessageId, Position


class PinnedMessagesChanged(Event, frozen=True, kw_only=True):
    """All pinned messages of a channel that its reader may read."""

    kind: ClassVar[str] = "pinned_messages"
    wire_type: ClassVar[str] = "pinned_messages"
    varies_by: ClassVar[tuple[str, ...]] = ("pins",)

    type: Literal["pinned_messages"] = "pinned_messages"
    stream_id: ChannelId
    message_ids: list[MessageId]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.pins else ()


class PinnedTopicsChanged(Event, frozen=True, kw_only=True):
    """All pinned topics of a channel that its reader may know of, in the order of pinning."""

    kind: ClassVar[str] = "pinned_topics"
    wire_type: ClassVar[str] = "pinned_topics"
    varies_by: ClassVar[tuple[str, ...]] = ("pins",)

    type: Literal["pinned_topics"] = "pinned_topics"
    stream_id: ChannelId
    topics: list[str]
    """The empty topic is the empty string, for all clients."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (self,) if view.pins else ()
