"""Sign-ins that wait for the second factor: signed tokens in the form that asks for it."""

import hashlib
import secrets
from datetime import datetime
from typing import Final

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer

PURPOSE: Final = "unfinished sign-ins"
"""Purpose of the key that signs them (storage/server_keys.py)."""
LIFETIME_SECONDS: Final = 600


class UnfinishedSignIn(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in of a user who has given the first factor, and what it leads to."""

    realm_id: int
    user_id: int
    changed_at: datetime | None
    """When the credentials that were verified had changed last: a later change ends it."""
    wanted: str
    """The page to redirect to at the end."""
    otp: str = ""
    """The one-time pad of a waiting mobile app."""
    desktop_otp: str = ""
    """The key of a waiting desktop app."""
    is_verified: bool = False
    """Whether the second factor has been given: it was just set up."""
    nonce: str = msgspec.field(default_factory=lambda: secrets.token_urlsafe(16))
    """Each of them ends once."""

    def dump(self, key: bytes) -> str:
        return str(_serializer(key).dumps(msgspec.to_builtins(self)))


def load(key: bytes, token: str) -> UnfinishedSignIn | None:
    """Return the sign-in of the token; None if it is invalid or expired."""
    try:
        found = _serializer(key).loads(token, max_age=LIFETIME_SECONDS)
        return msgspec.convert(found, UnfinishedSignIn)
    except (BadData, msgspec.ValidationError):
        return None


def _serializer(key: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        key, salt="unfinished sign-in", signer_kwargs={"digest_method": hashlib.sha256}
    )
