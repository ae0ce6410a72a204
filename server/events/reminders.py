"""Events of reminders, delivered to their user only."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, TypedDict

import msgspec
from typing_extensions import override

from server.events.base import ClientView, Event
from storage.ids import MessageId, Position, ReminderId
from storage.reminders import ReminderRow

NO_MESSAGE = MessageId(0)
"""Target of a reminder without a message: clients expect a number there."""


class ShownReminder(msgspec.Struct, frozen=True, kw_only=True):
    """A reminder in its wire form."""

    reminder_id: ReminderId
    type: Literal["private"] = "private"
    to: list[int]
    content: str
    rendered_content: str
    scheduled_delivery_timestamp: int
    failed: bool
    reminder_target_message_id: MessageId

    @classmethod
    def of(cls, row: ReminderRow) -> "ShownReminder":
        return cls(
            reminder_id=row.reminder_id,
            to=[row.user_id],
            content=row.content,
            rendered_content=row.rendered_content,
            scheduled_delivery_timestamp=int(row.due_at.timestamp()),
            failed=row.failure is not None,
            reminder_target_message_id=NO_MESSAGE if row.message_id is None else row.message_id,
        )


class RemindersAddedWire(TypedDict):
    """New reminders."""

    type: Literal["reminders"]
    op: Literal["add"]
    reminders: list[ShownReminder]


class RemindersEvent(Event, frozen=True, kw_only=True):
    """Base of reminder events."""

    wire_type: ClassVar[str] = "reminders"


class ReminderAdded(RemindersEvent, frozen=True, kw_only=True):
    """A new reminder; its id is the entry's position."""

    kind: ClassVar[str] = "reminders/add"
    wires: ClassVar[tuple[type, ...]] = (RemindersAddedWire,)

    reminder: ShownReminder

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        shown = msgspec.structs.replace(self.reminder, reminder_id=ReminderId(position))
        return ({"type": self.wire_type, "op": "add", "reminders": [shown]},)


class ReminderRemoved(RemindersEvent, frozen=True, kw_only=True):
    """A reminder that was sent or deleted."""

    kind: ClassVar[str] = "reminders/remove"

    type: Literal["reminders"] = "reminders"
    op: Literal["remove"] = "remove"
    reminder_id: ReminderId


class ReminderFailed(RemindersEvent, frozen=True, kw_only=True):
    """A reminder that could not be sent and stays in the list. Clients get it as a new one."""

    kind: ClassVar[str] = "reminders/failed"
    wires: ClassVar[tuple[type, ...]] = (ReminderRemoved, RemindersAddedWire)

    reminder: ShownReminder

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return (
            ReminderRemoved(reminder_id=self.reminder.reminder_id),
            {"type": self.wire_type, "op": "add", "reminders": [self.reminder]},
        )
