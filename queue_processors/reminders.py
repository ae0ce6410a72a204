"""Reminders as a kind of due item."""

from queue_processors.timer_kind import DueItemKind
from server.actions.reminders import deliver, give_up
from storage import reminders

KIND = DueItemKind(
    "reminders",
    reminders.due,
    reminders.among,
    lambda row: row.reminder_id,
    lambda row: row.user_id,
    deliver,
    give_up,
)
