"""Events of scheduled messages, delivered to their sender only."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import override

from server.events.base import ClientView, Event
from server.events.messages import shown_topic
from storage.ids import Position, ScheduledMessageId
from storage.scheduled_messages import ScheduledMessageRow


class ShownScheduledMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A scheduled message in its wire form."""

    scheduled_message_id: ScheduledMessageId
    type: Literal["stream", "private"]
    to: int | list[int]
    """A channel, or users."""
    topic: str | UnsetType = UNSET
    content: str
    rendered_content: str
    scheduled_delivery_timestamp: int
    failed: bool

    @classmethod
    def of(cls, row: ScheduledMessageRow) -> "ShownScheduledMessage":
        is_direct = row.channel_id is None
        return cls(
            scheduled_message_id=row.scheduled_message_id,
            type="private" if is_direct else "stream",
            to=[*row.user_ids] if row.channel_id is None else row.channel_id,
            topic=UNSET if is_direct else row.topic,
            content=row.content,
            rendered_content=row.rendered_content,
            scheduled_delivery_timestamp=int(row.due_at.timestamp()),
            failed=row.failure is not None,
        )

    def to_client(self, display_name: str, view: ClientView) -> "ShownScheduledMessage":
        """Return it for a client: not all know the empty topic."""
        if self.topic is UNSET:
            return self
        return msgspec.structs.replace(self, topic=shown_topic(self.topic, display_name, view))


class ScheduledMessagesAddedWire(TypedDict):
    """New scheduled messages."""

    type: Literal["scheduled_messages"]
    op: Literal["add"]
    scheduled_messages: list[ShownScheduledMessage]


class ScheduledMessageUpdatedWire(TypedDict):
    """A changed scheduled message."""

    type: Literal["scheduled_messages"]
    op: Literal["update"]
    scheduled_message: ShownScheduledMessage


class ScheduledMessagesEvent(Event, frozen=True, kw_only=True):
    """Base of scheduled message events."""

    wire_type: ClassVar[str] = "scheduled_messages"


class ScheduledMessageEvent(ScheduledMessagesEvent, frozen=True, kw_only=True):
    """Base of events that contain the message."""

    varies_by: ClassVar[tuple[str, ...]] = ("empty_topic_name",)

    scheduled_message: ShownScheduledMessage
    empty_topic_display_name: str


class ScheduledMessageAdded(ScheduledMessageEvent, frozen=True, kw_only=True):
    """A new scheduled message; its id is the entry's position."""

    kind: ClassVar[str] = "scheduled_messages/add"
    wires: ClassVar[tuple[type, ...]] = (ScheduledMessagesAddedWire,)

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        shown = msgspec.structs.replace(
            self.scheduled_message.to_client(self.empty_topic_display_name, view),
            scheduled_message_id=ScheduledMessageId(position),
        )
        return ({"type": self.wire_type, "op": "add", "scheduled_messages": [shown]},)


class ScheduledMessageUpdated(ScheduledMessageEvent, frozen=True, kw_only=True):
    kind: ClassVar[str] = "scheduled_messages/update"
    wires: ClassVar[tuple[type, ...]] = (ScheduledMessageUpdatedWire,)

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        shown = self.scheduled_message.to_client(self.empty_topic_display_name, view)
        return ({"type": self.wire_type, "op": "update", "scheduled_message": shown},)


class ScheduledMessageRemoved(ScheduledMessagesEvent, frozen=True, kw_only=True):
    """A scheduled message that was sent or deleted."""

    kind: ClassVar[str] = "scheduled_messages/remove"

    type: Literal["scheduled_messages"] = "scheduled_messages"
    op: Literal["remove"] = "remove"
    scheduled_message_id: ScheduledMessageId
