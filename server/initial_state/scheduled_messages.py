"""Register's `scheduled_messages`."""

from typing import Any, TypedDict

from server.events.scheduled_messages import ShownScheduledMessage
from server.initial_state.base import Snapshot, StateSection
from storage import scheduled_messages


class ScheduledMessageFields(TypedDict):
    scheduled_messages: list[ShownScheduledMessage]


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    rows = await scheduled_messages.of_user(
        snapshot.connection, snapshot.realm_id, snapshot.actor.user_id
    )
    display_name = snapshot.settings.empty_topic_display_name
    shown = [ShownScheduledMessage.of(row).to_client(display_name, snapshot.view) for row in rows]
    return {"scheduled_messages": shown}


SECTION = StateSection("scheduled_messages", fetch, (ScheduledMessageFields,))
