"""Validation of channel folders."""

from typing import Final

from server.domain import names
from server.i18n import _, marked

MAX_NAME_LENGTH: Final = 60
MAX_DESCRIPTION_LENGTH: Final = 1024
MAX_FOLDERS: Final = 1_000
"""Maximum per realm: each client gets all of them."""


def checked_name(name: str) -> str:
    """Return the normalized name; raise InvalidParameterError."""
    return names.checked_name(
        name,
        empty=_("Channel folder name can't be empty."),
        unprintable=marked("Invalid character in channel folder name, at position {place}."),
        parameter="name",
        longest=MAX_NAME_LENGTH,
    )


def checked_description(description: str) -> str:
    """Return the normalized description; raise InvalidParameterError if it is too long."""
    return names.checked_description(
        description, parameter="description", longest=MAX_DESCRIPTION_LENGTH
    )
