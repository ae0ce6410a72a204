"""The rules of default channel groups: what they are called, and which channels are in one."""

from typing import Final

from server.domain.names import checked_description, checked_name
from storage.channels import ChannelRow

MAX_NAME_LENGTH: Final = 60
MAX_DESCRIPTION_LENGTH: Final = 1024
MAX_GROUPS: Final = 100
"""Of one organization: every user's client is told of all."""
MAX_CHANNELS: Final = 100
"""In one of them: whoever chooses it joins all in one transaction."""


def checked_group_name(name: str, *, parameter: str) -> str:
    """Return the name as it is kept. Raises InvalidParameterError."""
    what = "default channel group name"
    return checked_name(name, what=what, parameter=parameter, longest=MAX_NAME_LENGTH)


def checked_group_description(description: str, *, parameter: str) -> str:
    """Return the description as it is kept. Raises InvalidParameterError."""
    return checked_description(description, parameter=parameter, longest=MAX_DESCRIPTION_LENGTH)


def may_be_in_a_group(channel: ChannelRow) -> bool:
    """Public channels that no user joins anyway."""
    return not (channel.invite_only or channel.is_archived or channel.is_default)
