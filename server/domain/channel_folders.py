"""The rules of channel folders: what they may be called."""

from typing import Final

from server.domain import names

MAX_NAME_LENGTH: Final = 60
MAX_DESCRIPTION_LENGTH: Final = 1024
MAX_FOLDERS: Final = 1_000
"""Of one organization: every user's client is told of all."""


def checked_name(name: str) -> str:
    """Return the name as it is kept. Raises InvalidParameterError if no folder may be called so."""
    what = "channel folder name"
    return names.checked_name(name, what=what, parameter="name", longest=MAX_NAME_LENGTH)


def checked_description(description: str) -> str:
    """Return the description as it is kept. Raises InvalidParameterError if it is too long."""
    return names.checked_description(
        description, parameter="description", longest=MAX_DESCRIPTION_LENGTH
    )
