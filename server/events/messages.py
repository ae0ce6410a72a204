"""Event of a new message; and the wire form of messages."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from server.domain.addresses import RealmAddress
from server.domain.avatars import GRAVATAR
from server.domain.markdown.linkifiers import TopicLink
from server.domain.message_buttons import ShownButton
from server.domain.shown_people import ShownPerson, inaccessible_person
from server.events.base import ClientView, Event
from storage.ids import ChannelId, MessageId, Position, UserId


class Recipient(msgspec.Struct, frozen=True):
    """A user in a direct-message group, in the form of messages."""

    email: str
    full_name: str
    id: UserId
    is_mirror_dummy: bool = False

    @classmethod
    def of(cls, person: ShownPerson) -> "Recipient":
        return cls(person.email, person.full_name, person.user_id)


class Sender(msgspec.Struct, frozen=True):
    """The sender, in the form of messages."""

    id: UserId
    email: str
    full_name: str
    realm: str
    """The subdomain of their realm."""
    avatar_url: str | None
    is_gravatar: bool
    """Clients that derive gravatars themselves get no URL."""

    @classmethod
    def of(cls, person: ShownPerson, realm: str) -> "Sender":
        return cls(
            id=person.user_id,
            email=person.email,
            full_name=person.full_name,
            realm=realm,
            avatar_url=person.avatar.url,
            is_gravatar=person.avatar.source == GRAVATAR,
        )


class ShownMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The fields of a message that are the same for all readers."""

    sender: Sender
    client: str
    timestamp: int
    is_me_message: bool = False
    channel_id: ChannelId | None = None
    channel_name: str = ""
    topic: str = ""
    empty_topic_display_name: str = ""
    dm_group_id: int | None = None
    recipients: tuple[Recipient, ...] = ()
    topic_links: tuple[TopicLink, ...] = ()


def recipient_id(channel_id: ChannelId | None, dm_group_id: int | None) -> int:
    """Return a number that identifies the channel or the direct-message group."""
    if channel_id is not None:
        return 2 * channel_id
    assert dm_group_id is not None, "a message is in a channel or in a direct-message group"
    return 2 * dm_group_id + 1


def shown_topic(topic: str, display_name: str, view: ClientView) -> str:
    """Return the topic's name; clients that do not know the empty topic get its display name."""
    return topic if topic or view.empty_topic_name else display_name


class MessageReaction(TypedDict):
    """A reaction to a message, in the form of messages."""

    emoji_name: str
    emoji_code: str
    reaction_type: str
    user_id: UserId
    user: Recipient


class Submessage(TypedDict):
    """A part of a widget: its beginning, a vote, and the like."""

    id: int
    message_id: MessageId
    sender_id: UserId
    msg_type: str
    content: str


class EditHistoryEntry(TypedDict):
    """An edit or a move of a message."""

    timestamp: int
    user_id: UserId | None
    prev_content: NotRequired[str]
    prev_rendered_content: NotRequired[str]
    topic: NotRequired[str]
    prev_topic: NotRequired[str]
    stream: NotRequired[ChannelId]
    prev_stream: NotRequired[ChannelId]


class MessageObject(msgspec.Struct, gc=False):
    """A message for a client with some view.

    Unset fields are left out. Not frozen and not by keyword: a page of history makes a hundred.
    """

    id: MessageId
    type: Literal["private", "stream"]
    avatar_url: str | None
    client: str
    content: str
    content_type: Literal["text/html", "text/x-markdown"]
    is_me_message: bool
    reactions: Sequence[MessageReaction]
    recipient_id: int
    sender_email: str
    sender_full_name: str
    sender_id: UserId
    sender_realm_str: str
    submessages: Sequence[Submessage] | msgspec.Raw
    timestamp: int
    topic_links: tuple[TopicLink, ...]
    display_recipient: str | tuple[Recipient, ...]
    """The channel's name, or the users of a direct message."""
    stream_id: ChannelId | msgspec.UnsetType = msgspec.UNSET
    subject: str = ""
    # From here on fields depend on the reader, or exist in history only.
    flags: tuple[str, ...] | msgspec.UnsetType = msgspec.UNSET
    last_edit_timestamp: int | msgspec.UnsetType = msgspec.UNSET
    last_moved_timestamp: int | msgspec.UnsetType = msgspec.UNSET
    edit_history: list[EditHistoryEntry] | msgspec.UnsetType = msgspec.UNSET
    match_content: str | msgspec.UnsetType = msgspec.UNSET
    match_subject: str | msgspec.UnsetType = msgspec.UNSET
    buttons: Sequence[ShownButton] | msgspec.UnsetType = msgspec.UNSET
    """If there are any: only for clients that ask for them."""


def content_type(view: ClientView) -> Literal["text/html", "text/x-markdown"]:
    """Return the type of the content that the view asks for."""
    return "text/html" if view.apply_markdown else "text/x-markdown"


def avatar_url(sender: Sender, view: ClientView) -> str | None:
    """Return the URL of the sender's avatar, unless the client derives it itself."""
    return None if sender.is_gravatar and view.client_gravatar else sender.avatar_url


def message_object(
    message_id: MessageId,
    message: ShownMessage,
    content: str,
    view: ClientView,
    *,
    submessages: Sequence[Any] = (),
) -> MessageObject:
    """Return the message for a client with this view; `content` is in the format of the view."""
    sender = message.sender
    is_direct = message.channel_id is None
    return MessageObject(
        id=message_id,
        type="private" if is_direct else "stream",
        avatar_url=avatar_url(sender, view),
        client=message.client,
        content=content,
        content_type=content_type(view),
        is_me_message=message.is_me_message,
        reactions=(),
        recipient_id=recipient_id(message.channel_id, message.dm_group_id),
        sender_email=sender.email,
        sender_full_name=sender.full_name,
        sender_id=sender.id,
        sender_realm_str=sender.realm,
        submessages=submessages,
        timestamp=message.timestamp,
        topic_links=message.topic_links,
        display_recipient=message.recipients if is_direct else message.channel_name,
        stream_id=msgspec.UNSET if message.channel_id is None else message.channel_id,
        subject=""
        if is_direct
        else shown_topic(message.topic, message.empty_topic_display_name, view),
    )


class MessageWire(TypedDict):
    """A new message."""

    type: Literal["message"]
    message: MessageObject


class ConversationOpened(Event, frozen=True, kw_only=True):
    """A direct conversation has begun without a message, which will be imported."""

    kind: ClassVar[str] = "conversation_opened"

    user_ids: tuple[UserId, ...]

    @override
    def met(self) -> Sequence[UserId]:
        return self.user_ids


class MessageSent(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A new message with all fields that any client needs; its id is the entry's position."""

    kind: ClassVar[str] = "message"
    wire_type: ClassVar[str] = "message"
    varies_by: ClassVar[tuple[str, ...]] = (
        "apply_markdown",
        "client_gravatar",
        "empty_topic_name",
        "message_buttons",
    )
    has_flags: ClassVar[bool] = True
    wires: ClassVar[tuple[type, ...]] = (MessageWire,)

    message: ShownMessage
    content: str
    rendered_content: str
    widget: str = ""
    """JSON of the widget that it becomes: its first submessage, which has the message's id."""
    buttons: tuple[ShownButton, ...] = ()

    @override
    def sent_by(self) -> UserId | None:
        return self.message.sender.id

    @override
    def shows(self) -> Sequence[UserId]:
        # Recipients of a direct message share the conversation with everyone in it.
        return () if self.message.channel_id is None else (self.message.sender.id,)

    @override
    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> "MessageSent":
        sender = self.message.sender
        if sender.id not in strangers:
            return self
        unknown = Sender.of(inaccessible_person(sender.id, address), sender.realm)
        return replace(self, message=replace(self.message, sender=unknown))

    @override
    def met(self) -> Sequence[UserId]:
        return [recipient.id for recipient in self.message.recipients]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        content = self.rendered_content if view.apply_markdown else self.content
        shown = message_object(
            MessageId(position),
            self.message,
            content,
            view,
            submessages=self._submessages(position),
        )
        if self.buttons and view.message_buttons:
            shown.buttons = self.buttons
        return ({"type": "message", "message": shown},)

    def _submessages(self, position: Position) -> Sequence[Any]:
        if not self.widget:
            return ()
        first = {
            "id": position,
            "message_id": position,
            "sender_id": self.message.sender.id,
            "msg_type": "widget",
            "content": self.widget,
        }
        return (first,)
