"""Scheduled messages as a kind of due item."""

from collections.abc import Hashable

from queue_processors.timer_kind import DueItemKind
from server.actions.scheduled_messages import deliver, give_up
from server.domain.names import fold_name
from storage import scheduled_messages
from storage.scheduled_messages import ScheduledMessageRow


def place_of(row: ScheduledMessageRow) -> Hashable:
    """Return the destination: a topic, or the users of a direct message."""
    if row.channel_id is not None:
        return row.channel_id, fold_name(row.topic)
    return tuple(sorted({row.sender_id, *row.user_ids}))


KIND = DueItemKind(
    "scheduled_messages",
    scheduled_messages.due,
    scheduled_messages.among,
    lambda row: row.scheduled_message_id,
    place_of,
    deliver,
    give_up,
)
