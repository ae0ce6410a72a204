"""The cookie of known browsers: a sign-in from one sends no email."""

import hashlib
from collections.abc import Sequence
from typing import Final

from itsdangerous import BadData, URLSafeTimedSerializer

from storage.ids import RealmId, UserId

COOKIE: Final = "parley_known"
PURPOSE: Final = "known browsers"
"""Purpose of the key that signs it (storage/server_keys.py)."""
VALID_SECONDS: Final = 400 * 24 * 3600
"""Browsers keep no cookie for longer."""
MAX_USERS: Final = 10
"""Maximum number of users per browser: the most recent ones."""
MAX_LENGTH: Final = 400


def dump(key: bytes, realm_id: RealmId, user_ids: Sequence[UserId]) -> str:
    """Return the cookie of a browser with these users, the last one last."""
    return str(_serializer(key).dumps([realm_id, *user_ids[-MAX_USERS:]]))


def load(key: bytes, realm_id: RealmId, cookie: str | None) -> list[UserId]:
    """Return the users who have signed in there; empty for an invalid or expired cookie."""
    try:
        realm, *user_ids = _serializer(key).loads(cookie or "", max_age=VALID_SECONDS)
    except (BadData, ValueError):
        return []
    return [UserId(each) for each in user_ids] if realm == realm_id else []


def _serializer(key: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        key, salt="known", signer_kwargs={"digest_method": hashlib.sha256}
    )
