"""Secrets of users, encrypted with a key of the server and bound to their user."""

import secrets
from typing import Final

from storage.ids import RealmId, UserId

_NONCE_BYTES: Final = 12


def sealed(key: bytes, realm_id: RealmId, user_id: UserId, secret: str) -> bytes:
    """Return the secret encrypted with AES-256-GCM, readable for this user only."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # takes 50 ms to import

    nonce = secrets.token_bytes(_NONCE_BYTES)
    return nonce + AESGCM(key).encrypt(nonce, secret.encode(), owner_of(realm_id, user_id))


def unsealed(key: bytes, realm_id: RealmId, user_id: UserId, sealed_secret: bytes) -> str | None:
    """Return the secret; None if it was encrypted for another user, or with another key."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce, rest = sealed_secret[:_NONCE_BYTES], sealed_secret[_NONCE_BYTES:]
    try:
        return AESGCM(key).decrypt(nonce, rest, owner_of(realm_id, user_id)).decode()
    except InvalidTag:
        return None


def owner_of(realm_id: RealmId, user_id: UserId) -> bytes:
    """Return what names the user in everything that is bound to one."""
    return f"{realm_id}:{user_id}".encode()
