"""Sessions of browsers: what their cookies hold, and what their forms do.

A cookie holds a token that no user can guess. The server keeps its digest alone, so that whoever
reads the database cannot sign in with what is there.
"""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from storage.ids import UserId

SESSION: Final = "parley_session"
"""The cookie of a user who has signed in."""
VISITOR: Final = "parley_visitor"
"""The cookie of a user who has not: forms are tied to it."""
FORM_TOKEN: Final = "csrftoken"  # noqa: S105 - a name
"""The cookie in which scripts of our pages find what their requests have to carry."""
SECURE_PREFIX: Final = "__Host-"
"""Browsers take such a cookie over TLS only, and from no user but the very host."""
MAX_TOKEN_LENGTH: Final = 100


def new_token() -> str:
    """Return what a cookie is to hold."""
    return secrets.token_urlsafe(32)


def digest_of(token: str) -> bytes:
    """Return what is kept of a token."""
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
    """Return whether a form that carries this was shown to the holder of the token."""
    return hmac.compare_digest(given.encode(errors="replace"), form_token(token).encode())
