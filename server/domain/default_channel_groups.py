"""Validation of default channel groups."""

from typing import Final

from server.domain.names import checked_description, checked_name
from server.i18n import _, marked
from storage.channels import ChannelRow

MAX_NAME_LENGTH: Final = 60
MAX_DESCRIPTION_LENGTH: Final = 1024
MAX_GROUPS: Final = 100
"""Maximum per realm: each client gets all of them."""
MAX_CHANNELS: Final = 100
"""Maximum per group: a user who chooses it joins all in one transaction."""


def checked_group_name(name: str, *, parameter: str) -> str:
    """Return the normalized name; raise InvalidParameterError."""
    return checked_name(
        name,
        empty=_("Default channel group name can't be empty."),
        unprintable=marked("Invalid character in default channel group name, at position {place}."),
        parameter=parameter,
        longest=MAX_NAME_LENGTH,
    )


def checked_group_description(description: str, *, parameter: str) -> str:
    """Return the normalized description; raise InvalidParameterError."""
    return checked_description(description, parameter=parameter, longest=MAX_DESCRIPTION_LENGTH)


def may_be_in_a_group(channel: ChannelRow) -> bool:
    """Return whether it is a public channel that is not a default channel."""
    return not (channel.invite_only or channel.is_archived or channel.is_default)
