"""Browser sessions: cookies and form tokens.

A cookie holds a random token. Only its digest is stored, so that reading the database does not
allow signing in.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from storage.ids import UserId

SESSION: Final = "parley_session"
"""Cookie of a signed-in user."""
VISITOR: Final = "parley_visitor"
"""Cookie of a visitor: forms are bound to it."""
FORM_TOKEN: Final = "csrftoken"  # noqa: S105 - a name
"""Cookie from which scripts of our pages read the CSRF token of their requests."""
SECURE_PREFIX: Final = "__Host-"
"""Browsers accept such a cookie over TLS only, and only from the host itself."""
MAX_TOKEN_LENGTH: Final = 100


def new_token() -> str:
    """Return a random token."""
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    """Return the stored digest of a token."""
    return hashlib.sha256(token.encode()).digest()


def form_token(token: str) -> str:
    """Return the CSRF token of forms for the holder of the cookie."""
    return hmac.digest(token.encode(), b"form", "sha256").hex()


@dataclass(frozen=True, slots=True)
class Session:
    """A user's session, by the token in their cookie."""

    token: str
    user_id: UserId

    @property
    def digest(self) -> bytes:
        return digest_of(self.token)

    @property
    def form_token(self) -> str:
        return form_token(self.token)


def is_form_token(given: str, token: str) -> bool:
    """Return whether the form token belongs to this session token."""
    return hmac.compare_digest(given.encode(errors="replace"), form_token(token).encode())
