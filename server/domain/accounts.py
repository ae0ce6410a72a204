"""Validation of accounts: names and email addresses."""

import re
import unicodedata
from functools import lru_cache
from typing import Final
from zoneinfo import available_timezones

from server.domain.errors import BadRequestError, InvalidParameterError
from server.domain.passwords import MAX_LENGTH, MIN_LENGTH
from server.i18n import _

MIN_NAME_LENGTH: Final = 1
MAX_NAME_LENGTH: Final = 100
NOT_IN_NAMES: Final = frozenset('*`\\>"@')
"""Characters that would end a mention or begin other syntax."""
MAX_EMAIL_LENGTH: Final = 254
NAMELESS: Final = "Somebody"
NAME_TAKEN: Final = _("Name is already in use.")

_EMAIL: Final = re.compile(
    r"[^\s@,;<>()\[\]\"\\]+@[^\s@,;<>()\[\]\"\\.]+(\.[^\s@,;<>()\[\]\"\\.]+)*"
)
_ID_AT_END: Final = re.compile(r"\|\d+$")
"""Suffix by which a mention selects one of several users of a name."""


def checked_full_name(name: str) -> str:
    """Return the normalized name; raise BadRequestError if it is invalid."""
    name = " ".join(name.split())
    if len(name) > MAX_NAME_LENGTH:
        raise BadRequestError(_("Name too long!"))
    if len(name) < MIN_NAME_LENGTH:
        raise BadRequestError(_("Name too short!"))
    if not all(map(_may_be_in_name, name)):
        characters = " ".join(sorted(NOT_IN_NAMES.intersection(name)))
        if not characters:
            raise BadRequestError(_("Invalid characters in name!"))
        raise BadRequestError(_("Invalid characters in name: {characters}", characters=characters))
    if _ID_AT_END.search(name):
        raise BadRequestError(_("Invalid format!"))
    return name


def as_full_name(text: str, *, email: str) -> str:
    """Return a valid name made from a name of another system, or else from the address."""
    for wanted in (text, email.partition("@")[0]):
        clean = "".join(c for c in " ".join(wanted.split()) if _may_be_in_name(c))
        clean = " ".join(clean.split())[:MAX_NAME_LENGTH].strip()
        while _ID_AT_END.search(clean):
            clean = _ID_AT_END.sub("", clean).strip()
        if len(clean) >= MIN_NAME_LENGTH:
            return clean
    return NAMELESS


def checked_timezone(name: str) -> str:
    """Return the name of a time zone; empty if it is unknown. Raises InvalidParameterError."""
    if name and name not in _timezones():
        raise InvalidParameterError(
            "timezone", _("timezone: {value!r} is not one", value=name[:60])
        )
    return name


def checked_email(email: str) -> str:
    """Return the address in its given spelling; raise BadRequestError if it is invalid."""
    email = email.strip()
    if len(email) > MAX_EMAIL_LENGTH or _EMAIL.fullmatch(email) is None:
        raise BadRequestError(
            _("Enter a valid email address, not {value!r}.", value=email[:MAX_EMAIL_LENGTH])
        )
    return email


def checked_new_email(email: str) -> str:
    """Return a deliverable address, for a new account or a change; raise BadRequestError.

    Not every mail server takes letters beyond ASCII before the @ (SMTPUTF8), and an account that
    gets no mail can confirm nothing; in the domain they are encoded.
    """
    email = checked_email(email)
    if not email.rpartition("@")[0].isascii():
        raise BadRequestError(
            _(
                "Mail cannot reach {email!r}: use an address with ASCII letters before the @.",
                email=email,
            )
        )
    return email


def checked_password(password: str | None) -> str | None:
    """Return the password, or None; raise BadRequestError if it is too short or long."""
    if password is None or MIN_LENGTH <= len(password) <= MAX_LENGTH:
        return password
    raise BadRequestError(
        _("Passwords have {least} to {limit} characters.", least=MIN_LENGTH, limit=MAX_LENGTH)
    )


def _may_be_in_name(character: str) -> bool:
    return character not in NOT_IN_NAMES and unicodedata.category(character)[0] != "C"


@lru_cache(maxsize=1)
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())
