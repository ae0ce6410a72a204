"""API keys: a bearer acts as the key's user, within the key's scopes."""

import hashlib
import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Annotated, Final

from server.domain.errors import BadRequestError, InvalidParameterError
from server.i18n import _

API_KEY_LENGTH: Final = 32
NAMED_PREFIX: Final = "ply_"
"""Prefix of named keys, by which secret scanners recognise them."""
NAMED_LENGTH: Final = 40
HINT_LENGTH: Final = 8
MAX_NAME_LENGTH: Final = 100
MAX_KEYS: Final = 1_000
"""Maximum per user."""
_ALPHABET: Final = string.ascii_letters + string.digits


class Scope(Enum):
    """The scope that a key needs for an endpoint."""

    READ = "read"
    """Reads what the user may read. Returns no `Secret`, and changes nothing."""
    MESSAGES = "messages"
    """Messages, and what belongs to writing them: drafts, files, reactions, flags."""
    EVERYTHING = "everything"
    """All that its user may do, except changes to the account's credentials."""
    ACCOUNT = "account"
    """Only for the account's own key and sessions: credentials, keys, deactivation."""


GRANTABLE: Final = (Scope.READ, Scope.MESSAGES, Scope.EVERYTHING)

Scopes = frozenset[Scope]


@dataclass(frozen=True, slots=True)
class Discloses:
    """Annotates a field with an authorising value: a response or event with it needs this scope."""

    scope: Scope


Secret = Annotated[str, Discloses(Scope.EVERYTHING)]
"""A bearer secret: a key, a token, a link that authorises, an address that takes mail.

Responses and events are typed with it. A response that may hold one comes from an endpoint that
needs the scope, or leaves it out for a key without it; an event is reduced by `without_secrets`.
"""


def reaches(scopes: Scopes, needed: Scope) -> bool:
    """Return whether a key with these scopes has the needed one."""
    if needed is Scope.ACCOUNT:
        return False
    return needed in scopes or Scope.EVERYTHING in scopes


def lacking(needed: Scope) -> str:
    """Return the error's text for a missing scope."""
    if needed in GRANTABLE:
        return f"it takes the scope '{needed.value}'"
    return "it takes the account's own key, which has no name"


def new_api_key() -> str:
    """Return a random key."""
    return _random(API_KEY_LENGTH)


def new_named_key() -> str:
    """Return a random named key."""
    return NAMED_PREFIX + _random(NAMED_LENGTH)


def is_named(api_key: str) -> bool:
    return api_key.startswith(NAMED_PREFIX)


def digest_of(api_key: str) -> bytes:
    """Return the stored digest of a key: long and random, it needs no slow hash."""
    return hashlib.sha256(api_key.encode()).digest()


def checked_name(name: str) -> str:
    """Return the key's name; raise InvalidParameterError."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= MAX_NAME_LENGTH or not name.isprintable():
        raise InvalidParameterError(
            "name",
            _("The name of a key has 1 to {limit} printable characters.", limit=MAX_NAME_LENGTH),
        )
    return name


def checked_scopes(names: Iterable[str]) -> Scopes:
    """Return the scopes of these names; raise InvalidParameterError."""
    known = {scope.value: scope for scope in GRANTABLE}
    wanted = set(names)
    if not wanted or wanted - known.keys():
        raise InvalidParameterError(
            "scopes", _("scopes: one or more of {names}", names=", ".join(known))
        )
    return frozenset(known[name] for name in wanted)


def scopes_of(names: Iterable[str]) -> Scopes:
    """Return the scopes of a stored key; names of a later release are ignored."""
    known = {scope.value: scope for scope in GRANTABLE}
    return frozenset(known[name] for name in names if name in known)


def checked_expiry(expires_at: datetime | None, now: datetime) -> datetime | None:
    """Return when a key expires, or None; raise BadRequestError."""
    if expires_at is not None and expires_at <= now:
        raise BadRequestError(_("A key cannot have expired before it is made."))
    return expires_at


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))
