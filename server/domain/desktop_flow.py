"""Desktop sign-in: the app opens a browser, which hands a token back by the clipboard."""

import secrets
from collections.abc import Mapping
from typing import Final

from server.domain.mobile_flow import checked_otp

FIELD: Final = "desktop_flow_otp"
"""Query parameter and field with the app's key, in hexadecimal digits."""
NONCE_BYTES: Final = 12
PRODUCT: Final = "ZulipElectron/"


def is_desktop_app(headers: Mapping[str, str]) -> bool:
    """Return whether the request comes from a window of the desktop app."""
    return PRODUCT in headers.get("User-Agent", "")


def checked_key(otp: str) -> str:
    """Return the app's key; raise InvalidParameterError."""
    return checked_otp(otp, name=FIELD)


def encrypted(token: str, otp: str) -> str:
    """Return the token for the clipboard, where only the app that has the key can read it.

    In hexadecimal digits: a nonce, and the ciphertext of AES-256-GCM with its tag.
    """
    # Most processes never sign a desktop app in: they start faster without it.
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    nonce = secrets.token_bytes(NONCE_BYTES)
    key = bytes.fromhex(checked_key(otp))
    return (nonce + AESGCM(key).encrypt(nonce, token.encode(), None)).hex()
