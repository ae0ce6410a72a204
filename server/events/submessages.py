"""Event of a widget's state: a vote, a new task, and the like."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import MessageId, Position, UserId


class SubmessageWire(TypedDict):
    """A new submessage of a message."""

    type: Literal["submessage"]
    message_id: MessageId
    submessage_id: int
    sender_id: UserId
    msg_type: str
    content: str


class SubmessageAdded(Event, frozen=True, kw_only=True):
    """A new submessage of a message; its id is the entry's position."""

    kind: ClassVar[str] = "submessage"
    wire_type: ClassVar[str] = "submessage"
    wires: ClassVar[tuple[type, ...]] = (SubmessageWire,)

    message_id: MessageId
    sender_id: UserId
    msg_type: str
    content: str

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        del view
        return (
            {
                "type": "submessage",
                "message_id": self.message_id,
                "submessage_id": position,
                "sender_id": self.sender_id,
                "msg_type": self.msg_type,
                "content": self.content,
            },
        )
