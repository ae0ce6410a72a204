"""Whether a user is notified of reactions to their messages."""

from datetime import timedelta
from typing import Final

from server.domain.topic_policies import FOLLOWED, MUTED, UNMUTED
from server.domain.user_settings import UserSettings
from storage.reaction_notifications import RecipientRow

WINDOW: Final = timedelta(minutes=2)
"""The time after a reaction in which others to the message join its notification."""
MAX_SHOWN: Final = 20
"""Maximum number of reactions that a notification lists."""


def is_notified(row: RecipientRow) -> bool:
    """Return whether the sender of a message wants to be notified of reactions to it.

    As for messages, the topic's policy takes precedence over a muted channel.
    """
    if not row.is_active or row.is_bot or row.policy == MUTED:
        return False
    if row.channel_muted and row.policy not in (UNMUTED, FOLLOWED):
        return False
    return UserSettings.of(row.settings).enable_reaction_notifications
