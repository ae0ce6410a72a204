"""The rules of channel folders: what they may be called."""

from typing import Final

from server.domain.errors import InvalidParameterError
from server.domain.names import composed, unprintable_at

MAX_NAME_LENGTH: Final = 60
MAX_DESCRIPTION_LENGTH: Final = 1024
MAX_FOLDERS: Final = 1_000
"""Of one organization: everybody's client is told of all."""


def checked_name(name: str) -> str:
    """The name as it is kept. Raises InvalidParameterError if no folder may be called so."""
    cleaned = composed(name)
    if not cleaned:
        raise InvalidParameterError("name", "Channel folder name can't be empty.")
    if len(cleaned) > MAX_NAME_LENGTH:
        raise InvalidParameterError(
            "name", f"name is too long (limit: {MAX_NAME_LENGTH} characters)"
        )
    if place := unprintable_at(cleaned):
        raise InvalidParameterError(
            "name", f"Invalid character in channel folder name, at position {place}."
        )
    return cleaned


def checked_description(description: str) -> str:
    """The description as it is kept. Raises InvalidParameterError if it is too long."""
    cleaned = description.strip()
    if len(cleaned) > MAX_DESCRIPTION_LENGTH:
        raise InvalidParameterError(
            "description",
            f"description is too long (limit: {MAX_DESCRIPTION_LENGTH} characters)",
        )
    return cleaned
