"""Events of typing. Delivered once, never logged."""

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, Literal, TypedDict

import msgspec
from msgspec.structs import replace
from typing_extensions import override

from server.domain.addresses import RealmAddress
from server.domain.shown_people import ShownPerson, inaccessible_person
from server.events.base import ClientView, Event
from server.events.messages import shown_topic
from storage.ids import ChannelId, Position, UserId


class TypingPerson(msgspec.Struct, frozen=True):
    email: str
    user_id: UserId

    @classmethod
    def of(cls, person: ShownPerson) -> "TypingPerson":
        return cls(person.email, person.user_id)

    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> "TypingPerson":
        """Return the person for readers who may not know these people."""
        if self.user_id not in strangers:
            return self
        return TypingPerson.of(inaccessible_person(self.user_id, address))


class DirectTyping(Event, frozen=True, kw_only=True):
    """Typing in a direct-message group."""

    kind: ClassVar[str] = "typing/direct"
    wire_type: ClassVar[str] = "typing"

    type: Literal["typing"] = "typing"
    op: Literal["start", "stop"]
    message_type: Literal["direct"] = "direct"
    sender: TypingPerson
    recipients: tuple[TypingPerson, ...]

    @override
    def shows(self) -> Sequence[UserId]:
        # They may have no conversation yet.
        return [self.sender.user_id, *(person.user_id for person in self.recipients)]

    @override
    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> "DirectTyping":
        return replace(
            self,
            sender=self.sender.masked(strangers, address),
            recipients=tuple([each.masked(strangers, address) for each in self.recipients]),
        )


class ChannelTypingWire(TypedDict):
    """Typing in a topic; only for clients with `stream_typing_notifications`."""

    type: Literal["typing"]
    op: Literal["start", "stop"]
    message_type: Literal["stream"]
    sender: TypingPerson
    stream_id: ChannelId
    topic: str


class ChannelTyping(Event, frozen=True, kw_only=True):
    """Typing in a topic; only for clients with the capability."""

    kind: ClassVar[str] = "typing/channel"
    wire_type: ClassVar[str] = "typing"
    varies_by: ClassVar[tuple[str, ...]] = ("empty_topic_name", "stream_typing_notifications")
    wires: ClassVar[tuple[type, ...]] = (ChannelTypingWire,)

    op: Literal["start", "stop"]
    sender: TypingPerson
    stream_id: ChannelId
    topic: str
    empty_topic_display_name: str = ""

    @override
    def shows(self) -> Sequence[UserId]:
        return (self.sender.user_id,)

    @override
    def masked(self, strangers: Collection[UserId], address: RealmAddress) -> "ChannelTyping":
        return replace(self, sender=self.sender.masked(strangers, address))

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if not view.stream_typing_notifications:
            return ()
        return [
            {
                "type": "typing",
                "op": self.op,
                "message_type": "stream",
                "sender": self.sender,
                "stream_id": self.stream_id,
                "topic": shown_topic(self.topic, self.empty_topic_display_name, view),
            }
        ]
