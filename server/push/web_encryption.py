"""Encrypt payloads for a browser (RFC 8291), so that its push service can read nothing."""

import base64
import binascii
import os
import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

MAX_BYTES: Final = 3_993
"""The maximum size of a payload before encryption: push services accept 4,096 bytes of content."""
PUBLIC_KEY_BYTES: Final = 65
AUTH_SECRET_BYTES: Final = 16

_RECORD_SIZE: Final = 4_096
_SALT_BYTES: Final = 16
_LAST_RECORD: Final = b"\x02"
_BASE64: Final = re.compile(r"[A-Za-z0-9_-]+={0,2}")


def parse_base64(text: str) -> bytes | None:
    """Parse base64 of URLs, with padding or without; None if it is invalid."""
    if not _BASE64.fullmatch(text):
        return None
    try:
        return base64.urlsafe_b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4))
    except binascii.Error:
        return None


def as_base64(content: bytes) -> str:
    """Return base64 of URLs, without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def public_key_of(text: str) -> bytes | None:
    """Parse a browser's public key, a point of the curve P-256; None if it is invalid."""
    from cryptography.hazmat.primitives.asymmetric import ec  # starts faster without

    key = parse_base64(text)
    if key is None or len(key) != PUBLIC_KEY_BYTES:
        return None
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), key)
    except ValueError:
        return None
    return key


def auth_secret_of(text: str) -> bytes | None:
    """Parse a browser's authentication secret; None if it is invalid."""
    secret = parse_base64(text)
    return secret if secret is not None and len(secret) == AUTH_SECRET_BYTES else None


def encrypted(
    public_key: bytes,
    auth_secret: bytes,
    payload: bytes,
    *,
    padded_to: int = 0,
    sender: "EllipticCurvePrivateKey | None" = None,
    salt: bytes | None = None,
) -> bytes:
    """Return the content of a push message, as one record of `aes128gcm` (RFC 8188).

    The payload has at most MAX_BYTES, and is padded to `padded_to` bytes. The sender's key and the
    salt are used once; both are generated, except for test vectors.
    """
    from cryptography.hazmat.primitives import hashes, serialization  # as above
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    def derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
        return HKDF(hashes.SHA256(), length, salt, info).derive(secret)

    sender = sender or ec.generate_private_key(ec.SECP256R1())
    salt = salt or os.urandom(_SALT_BYTES)
    sender_key = sender.public_key().public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    receiver = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), public_key)
    shared = sender.exchange(ec.ECDH(), receiver)
    secret = derived(shared, auth_secret, b"WebPush: info\0" + public_key + sender_key, 32)
    key = derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derived(secret, salt, b"Content-Encoding: nonce\0", 12)
    record = payload + _LAST_RECORD + bytes(max(0, padded_to - len(payload)))
    header = salt + _RECORD_SIZE.to_bytes(4) + len(sender_key).to_bytes(1) + sender_key
    return header + AESGCM(key).encrypt(nonce, record, None)
