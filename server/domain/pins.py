"""Pinned topics and messages of channels: limits, and the permission."""

from typing import Final

from server.domain.channels import Standing
from storage.channels import ChannelRow

MAX_PINNED_TOPICS: Final = 10
MAX_PINNED_MESSAGES: Final = 50
"""Maximum numbers in a channel that more pins are refused for; moves may exceed them."""
PERMISSION: Final = "can_pin_group"


def may_pin(standing: Standing, channel: ChannelRow) -> bool:
    """Return whether the organization or the channel permits it, or they administer the channel."""
    return (
        standing.realm_permits(PERMISSION)
        or standing.channel_permits(channel, PERMISSION)
        or standing.administers(channel)
    )
