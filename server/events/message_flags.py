"""Event of changed message flags, delivered to their user only."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from server.events.messages import shown_topic
from storage.ids import ChannelId, MessageId, Position, UserId


class MessageDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Details of a message that has become unread, for clients to count it."""

    type: Literal["private", "stream"]
    mentioned: bool = False
    stream_id: ChannelId | None = None
    topic: str | None = None
    user_ids: tuple[UserId, ...] | None = None
    unmuted_stream_msg: bool | None = None


class MessageFlagsWire(TypedDict):
    """Messages that gained or lost a flag."""

    type: Literal["update_message_flags"]
    op: Literal["add", "remove"]
    operation: Literal["add", "remove"]
    """The same as `op`, for older clients."""
    flag: str
    messages: list[MessageId]
    all: bool
    """Whether all other messages have gained or lost the flag as well."""
    message_details: NotRequired[dict[MessageId, MessageDetails]]
    """Of messages that have become unread."""


class MessageFlagsChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Appended by storage (append_flag_entries), which determines the messages that changed."""

    kind: ClassVar[str] = "update_message_flags"
    wire_type: ClassVar[str] = "update_message_flags"
    varies_by: ClassVar[tuple[str, ...]] = ("empty_topic_name",)
    wires: ClassVar[tuple[type, ...]] = (MessageFlagsWire,)

    type: str
    op: Literal["add", "remove"]
    operation: Literal["add", "remove"]
    flag: str
    messages: tuple[MessageId, ...]
    all: bool
    """Whether all other messages have gained or lost the flag as well."""
    message_details: dict[str, MessageDetails] | None = None
    empty_topic_display_name: str = ""
    """Used if one of the details is of the empty topic."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if not self.empty_topic_display_name:
            return (self,)
        details = {
            message_id: msgspec.structs.replace(
                each, topic=shown_topic(each.topic, self.empty_topic_display_name, view)
            )
            if each.topic is not None
            else each
            for message_id, each in (self.message_details or {}).items()
        }
        shown = msgspec.structs.replace(self, message_details=details, empty_topic_display_name="")
        return (shown,)
