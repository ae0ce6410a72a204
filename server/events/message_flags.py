"""Personal flags of messages have changed; only their owner is told."""

from typing import ClassVar, Literal

import msgspec

from server.events.base import Event
from storage.ids import ChannelId, MessageId, UserId


class MessageDetails(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Of a message that has become unread: all that a client needs to count it."""

    type: Literal["private", "stream"]
    mentioned: bool = False
    stream_id: ChannelId | None = None
    topic: str | None = None
    user_ids: tuple[UserId, ...] | None = None
    unmuted_stream_msg: bool | None = None


class MessageFlagsChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Built by storage (append_flag_entries), which knows which messages have changed."""

    kind: ClassVar[str] = "update_message_flags"
    wire_type: ClassVar[str] = "update_message_flags"

    type: str
    op: Literal["add", "remove"]
    operation: Literal["add", "remove"]
    flag: str
    messages: tuple[MessageId, ...]
    all: bool
    message_details: dict[str, MessageDetails] | None = None
