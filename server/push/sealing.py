"""Encrypt payloads for a single device with the public key of its client."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

KEY_BYTES: Final = 32


def key_of(text: str) -> bytes | None:
    """Parse a client's public key from base64; None if it is invalid."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES and any(key) else None


def sealed(public_key: bytes, payload: Mapping[str, Any]) -> str:
    """Encrypt the payload in an anonymous box of X25519; return it in base64."""
    from nacl.public import PublicKey, SealedBox  # starts faster without

    box = SealedBox(PublicKey(public_key))
    return base64.b64encode(box.encrypt(msgspec.json.encode(payload))).decode()
