"""Register's `reminders`."""

from typing import Any, TypedDict

from server.events.reminders import ShownReminder
from server.initial_state.base import Snapshot, StateSection
from storage import reminders


class ReminderFields(TypedDict):
    reminders: list[ShownReminder]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await reminders.of_user(snapshot.connection, snapshot.realm_id, snapshot.actor.user_id)
    return {"reminders": [ShownReminder.of(row) for row in rows]}


SECTION = StateSection("reminders", fetch, (ReminderFields,))
