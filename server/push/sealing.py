"""What only one device can read: encrypted with the key that its client has given."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

import msgspec

KEY_BYTES: Final = 32


def key_of(text: str) -> bytes | None:
    """The public key that a client has sent in base64; None if it is none."""
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return key if len(key) == KEY_BYTES and any(key) else None


def sealed(public_key: bytes, payload: Mapping[str, Any]) -> str:
    """The payload as base64 that the key's owner alone can read (an anonymous box of X25519)."""
    from nacl.public import PublicKey, SealedBox  # starts faster without

    box = SealedBox(PublicKey(public_key))
    return base64.b64encode(box.encrypt(msgspec.json.encode(payload))).decode()
