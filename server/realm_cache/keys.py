"""Keys of cached rows: log entries name the rows that they change by them."""

from typing import Any, Final

from server.domain.names import fold_name
from storage.ids import ChannelId, UserId

Touch = tuple[Any, ...]

REALM: Final[Touch] = ("realm",)
GROUPS: Final[Touch] = ("groups",)
ALERT_WORDS: Final[Touch] = ("alert words",)
LINKIFIERS: Final[Touch] = ("linkifiers",)
EMOJI: Final[Touch] = ("emoji",)
GRAPH: Final[Touch] = ("graph",)
"""The groups, and the version of the realm's row read before them."""
ROLL: Final[Touch] = ("roll",)
"""Presence and addresses of all users (server/initial_state/presence_index.py)."""


def user_key(user_id: UserId) -> Touch:
    return ("user", user_id)


def channel_key(channel_id: ChannelId) -> Touch:
    return ("channel", channel_id)


def subscription_key(user_id: UserId, channel_id: ChannelId) -> Touch:
    return ("subscription", user_id, channel_id)


def topic_key(channel_id: ChannelId, name: str) -> Touch:
    return ("topic", channel_id, fold_name(name))


NAMES: Final = {"user": "user names", "channel": "channel names"}
"""A changed row may have a new name: all look-ups by name of its kind are invalidated."""
