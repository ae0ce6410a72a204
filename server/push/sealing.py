"""Encrypt payloads for a single device, with the public or the secret key of its client."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

KEY_BYTES: Final = 32
SECRET_BOX: Final = 0x31
"""The first byte of a secret key: it is one of libsodium's `crypto_secretbox_easy`."""


def key_of(text: str) -> bytes | None:
    """Parse a client's public key from base64; None if it is invalid."""
    key = decoded(text)
    return key if key is not None and len(key) == KEY_BYTES and any(key) else None


def secret_key_of(text: str) -> bytes | None:
    """Parse a client's secret key, with its kind before it, from base64; None if it is invalid."""
    tagged = decoded(text)
    if tagged is None or len(tagged) != 1 + KEY_BYTES or tagged[0] != SECRET_BOX:
        return None
    return tagged[1:]


def decoded(text: str) -> bytes | None:
    """Decode base64; None if it is invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def sealed(public_key: bytes, payload: Mapping[str, Any]) -> str:
    """Encrypt the payload in an anonymous box of X25519; return it in base64."""
    from nacl.public import PublicKey, SealedBox  # starts faster without

    box = SealedBox(PublicKey(public_key))
    return base64.b64encode(box.encrypt(msgspec.json.encode(payload))).decode()


def encrypted(secret_key: bytes, payload: Mapping[str, Any]) -> str:
    """Encrypt the payload in a secret box with a fresh nonce before it; return it in base64."""
    from nacl.secret import SecretBox  # starts faster without

    box = SecretBox(secret_key)
    return base64.b64encode(box.encrypt(msgspec.json.encode(payload))).decode()
