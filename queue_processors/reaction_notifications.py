"""Windows of reactions to a message as a kind of due item."""

from queue_processors.timer_kind import DueItemKind
from server.actions.reaction_notifications import deliver, give_up
from storage import reaction_notifications

KIND = DueItemKind(
    "reaction_notifications",
    reaction_notifications.due,
    reaction_notifications.among,
    lambda row: row.message_id,
    lambda row: row.message_id,
    deliver,
    give_up,
)
