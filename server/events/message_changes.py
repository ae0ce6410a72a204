"""Events of edited, moved and deleted messages."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Literal, NotRequired, TypedDict

import msgspec
from typing_extensions import override

from server.domain.markdown.linkifiers import TopicLink
from server.events.base import ClientView, Event
from server.events.messages import shown_topic
from server.realm_cache import topic_key
from storage.ids import ChannelId, MessageId, Position, UserId

PropagateMode = Literal["change_one", "change_later", "change_all"]
MAX_GONE: Final = 500
"""Maximum number of messages per entry: old clients get an event for each."""


class ContentChange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """New content, and the old one if it was edited and the realm shows edits.

    Clients recognise an edit by the field of the old text: if that is not shown, it is "".
    """

    orig_content: str | None = None
    orig_rendered_content: str | None = None
    content: str
    rendered_content: str
    is_me_message: bool


class Relocation(msgspec.Struct, frozen=True, kw_only=True):
    """A move: where messages were in their channel, and where they are."""

    orig_topic: str
    topic: str
    new_channel_id: ChannelId | None = None
    propagate_mode: PropagateMode
    is_rename: bool = False
    """Whether it renames the whole topic, which keeps its id."""
    topic_links: tuple[TopicLink, ...] = ()
    """Links in the new topic's name."""


class MessagesChangedWire(TypedDict):
    """New content of one message; or a move of messages along with one of them."""

    type: Literal["update_message"]
    message_id: MessageId
    message_ids: list[MessageId]
    user_id: UserId | None
    """None: the server changed it."""
    edit_timestamp: int
    rendering_only: bool
    """Whether only the rendering has changed, without an edit by a user."""
    stream_id: NotRequired[ChannelId]
    stream_name: NotRequired[str]
    orig_content: NotRequired[str]
    orig_rendered_content: NotRequired[str]
    content: NotRequired[str]
    rendered_content: NotRequired[str]
    is_me_message: NotRequired[bool]
    orig_subject: NotRequired[str]
    propagate_mode: NotRequired[PropagateMode]
    subject: NotRequired[str]
    topic_links: NotRequired[list[TopicLink]]
    new_stream_id: NotRequired[ChannelId]


class _GoneWire(TypedDict):
    type: Literal["delete_message"]
    message_type: Literal["private", "stream"]
    stream_id: NotRequired[ChannelId]
    topic: NotRequired[str]


class MessagesGoneWire(_GoneWire):
    """Messages of one conversation are deleted, or no longer accessible."""

    message_ids: list[MessageId]


class MessageGoneWire(_GoneWire):
    """The same of one message, for clients without `bulk_message_deletion`."""

    message_id: MessageId


class ChannelPlace(msgspec.Struct, tag_field="type", tag="channel"):
    """Where in a channel a message is edited."""

    channel_id: ChannelId
    topic: str


class DirectPlace(msgspec.Struct, tag_field="type", tag="direct"):
    """Among which people a direct message is edited."""

    user_ids: list[UserId]


class EditTypingWire(TypedDict):
    """A user edits a message, or has stopped."""

    type: Literal["typing_edit_message"]
    op: Literal["start", "stop"]
    sender_id: UserId
    message_id: MessageId
    recipient: ChannelPlace | DirectPlace


class MessagesChanged(Event, frozen=True, kw_only=True, omit_defaults=True):
    """New content of one message; or a move of messages along with one of them."""

    kind: ClassVar[str] = "update_message"
    wire_type: ClassVar[str] = "update_message"
    varies_by: ClassVar[tuple[str, ...]] = ("empty_topic_name",)
    has_flags: ClassVar[bool] = True
    wires: ClassVar[tuple[type, ...]] = (MessagesChangedWire,)

    message_id: MessageId
    message_ids: tuple[MessageId, ...]
    user_id: UserId | None
    edit_timestamp: int
    channel_id: ChannelId | None = None
    channel_name: str = ""
    content: ContentChange | None = None
    rendering_only: bool = False
    """Whether only the rendering has changed, without an edit by a user."""
    move: Relocation | None = None
    empty_topic_display_name: str = ""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        event: dict[str, Any] = {
            "type": "update_message",
            "message_id": self.message_id,
            "message_ids": self.message_ids,
            "user_id": self.user_id,
            "edit_timestamp": self.edit_timestamp,
            "rendering_only": self.rendering_only,
        }
        if self.channel_id is not None:
            event |= {"stream_id": self.channel_id, "stream_name": self.channel_name}
        if self.content is not None:
            event |= self._said(self.content)
        if self.move is not None:
            event |= self._moved(self.move, view)
        return (event,)

    def _said(self, content: ContentChange) -> dict[str, Any]:
        said = msgspec.structs.asdict(content)
        for name in ("orig_content", "orig_rendered_content"):
            if self.rendering_only:
                del said[name]
            elif said[name] is None:
                said[name] = ""
        return said

    def _moved(self, move: Relocation, view: ClientView) -> dict[str, Any]:
        moved: dict[str, Any] = {
            "orig_subject": shown_topic(move.orig_topic, self.empty_topic_display_name, view),
            "propagate_mode": move.propagate_mode,
        }
        if move.topic != move.orig_topic:
            subject = shown_topic(move.topic, self.empty_topic_display_name, view)
            moved |= {"subject": subject, "topic_links": move.topic_links}
        if move.new_channel_id is not None:
            moved["new_stream_id"] = move.new_channel_id
        return moved

    @override
    def touches(self) -> Sequence[tuple[Any, ...]]:
        if self.move is None or not self.move.is_rename or self.channel_id is None:
            return ()
        return (
            topic_key(self.channel_id, self.move.orig_topic),
            topic_key(self.channel_id, self.move.topic),
        )


class MessagesGone(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Messages of one conversation are deleted, or no longer accessible to these readers."""

    kind: ClassVar[str] = "delete_message"
    wire_type: ClassVar[str] = "delete_message"
    varies_by: ClassVar[tuple[str, ...]] = ("bulk_message_deletion", "empty_topic_name")
    wires: ClassVar[tuple[type, ...]] = (MessagesGoneWire, MessageGoneWire)

    message_ids: tuple[MessageId, ...]
    channel_id: ChannelId | None = None
    topic: str = ""
    empty_topic_display_name: str = ""
    entries: tuple[Position, ...] = ()
    """Log entries that hold their content."""

    def in_parts(self) -> "Sequence[MessagesGone]":
        """Return it as events of as many messages as an entry may have; the first blanks."""
        if len(self.message_ids) <= MAX_GONE:
            return (self,)
        first, rest = self.message_ids[:MAX_GONE], self.message_ids[MAX_GONE:]
        others = msgspec.structs.replace(self, message_ids=rest, entries=())
        return (msgspec.structs.replace(self, message_ids=first), *others.in_parts())

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        place: dict[str, Any] = {"type": "delete_message", "message_type": "private"}
        if self.channel_id is not None:
            place |= {
                "message_type": "stream",
                "stream_id": self.channel_id,
                "topic": shown_topic(self.topic, self.empty_topic_display_name, view),
            }
        if view.bulk_message_deletion:
            return (place | {"message_ids": self.message_ids},)
        return [place | {"message_id": message_id} for message_id in self.message_ids]

    @override
    def blanked(self) -> Sequence[Position]:
        return self.entries


class EditTyping(Event, frozen=True, kw_only=True):
    """A user edits a message, or has stopped. Delivered once, never logged."""

    kind: ClassVar[str] = "typing_edit_message"
    wire_type: ClassVar[str] = "typing_edit_message"
    varies_by: ClassVar[tuple[str, ...]] = ("empty_topic_name",)
    wires: ClassVar[tuple[type, ...]] = (EditTypingWire,)

    op: Literal["start", "stop"]
    sender_id: UserId
    message_id: MessageId
    recipient: dict[str, Any]
    empty_topic_display_name: str = ""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        recipient = self.recipient
        if recipient["type"] == "channel":
            topic = shown_topic(recipient["topic"], self.empty_topic_display_name, view)
            recipient = recipient | {"topic": topic}
        return [
            {
                "type": "typing_edit_message",
                "op": self.op,
                "sender_id": self.sender_id,
                "message_id": self.message_id,
                "recipient": recipient,
            }
        ]
