"""The rules of accounts: names and addresses that somebody may have."""

import re
import unicodedata
from functools import lru_cache
from typing import Final
from zoneinfo import available_timezones

from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.passwords import MAX_LENGTH, MIN_LENGTH

MIN_NAME_LENGTH: Final = 2
MAX_NAME_LENGTH: Final = 100
NOT_IN_NAMES: Final = frozenset('*`\\>"@')
"""They would end a mention or begin something else."""
MAX_EMAIL_LENGTH: Final = 254
NAME_TAKEN: Final = "Name is already in use."

_EMAIL: Final = re.compile(
    r"[^\s@,;<>()\[\]\"\\]+@[^\s@,;<>()\[\]\"\\.]+(\.[^\s@,;<>()\[\]\"\\.]+)*"
)


def checked_full_name(name: str) -> str:
    """The name as it is kept. Raises BadRequestError."""
    name = " ".join(name.split())
    if len(name) > MAX_NAME_LENGTH:
        raise BadRequestError("Name too long!")
    if len(name) < MIN_NAME_LENGTH:
        raise BadRequestError("Name too short!")
    if any(c in NOT_IN_NAMES or unicodedata.category(c)[0] == "C" for c in name):
        raise BadRequestError("Invalid characters in name!")
    return name


def checked_timezone(name: str) -> str:
    """The name of a time zone; empty where nobody knows it. Raises InvalidParameterError."""
    if name and name not in _timezones():
        raise InvalidParameterError("timezone", f"timezone: {name[:60]!r} is not one")
    return name


def checked_email(email: str) -> str:
    """The address as it is kept, in the letters that were given. Raises BadRequestError."""
    email = email.strip()
    if len(email) > MAX_EMAIL_LENGTH or _EMAIL.fullmatch(email) is None:
        raise BadRequestError(f"Enter a valid email address, not {email[:MAX_EMAIL_LENGTH]!r}.")
    return email


def checked_password(password: str | None) -> str | None:
    """The password, or none at all. Raises BadRequestError."""
    if password is None or MIN_LENGTH <= len(password) <= MAX_LENGTH:
        return password
    raise BadRequestError(f"Passwords have {MIN_LENGTH} to {MAX_LENGTH} characters.")


@lru_cache(maxsize=1)
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())
