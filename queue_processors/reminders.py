"""Reminders, for the timekeeper."""

from queue_processors.timer_kind import Kind
from server.actions.reminders import deliver, give_up
from storage import reminders

KIND = Kind(
    "reminders",
    reminders.due,
    reminders.among,
    lambda row: row.reminder_id,
    lambda row: row.user_id,
    deliver,
    give_up,
)
