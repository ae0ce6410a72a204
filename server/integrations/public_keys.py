"""Public keys of services that sign what they deliver."""

import re
from base64 import b64decode
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.serialization import load_der_public_key

MIN_KEY_BITS: Final = 2048
MAX_KEY_BITS: Final = 4096
"""Bounds the time of a verification, as the cache of keys bounds their memory."""
_KEY: Final = re.compile(
    r"-----BEGIN (RSA )?PUBLIC KEY-----(.*)-----END \1?PUBLIC KEY-----", re.DOTALL
)


@lru_cache(maxsize=64)
def public_key(secret: str) -> RSAPublicKey:
    """Return the key, which may have lost its line ends, or have them as in JSON.

    Raises ValueError unless it is of RSA and of a size that is safe and fast.
    """
    found = _KEY.fullmatch(secret.replace("\\n", "\n").strip())
    if found is None:
        raise ValueError("It is no public key.")
    encoded = "".join(found[2].split())
    try:
        key = load_der_public_key(b64decode(encoded, validate=True))
    except UnsupportedAlgorithm:
        raise ValueError("It is no key of RSA.") from None
    if not isinstance(key, RSAPublicKey) or not MIN_KEY_BITS <= key.key_size <= MAX_KEY_BITS:
        raise ValueError("It is no key of RSA, or too small or large.")
    return key


def verify_signature(secret: str, signature: bytes, content: bytes) -> None:
    """Raise ValueError unless the content was signed (RSA, SHA-1) with the key's private part."""
    try:
        public_key(secret).verify(signature, content, PKCS1v15(), SHA1())  # noqa: S303 (the service's choice)
    except InvalidSignature:
        raise ValueError("The signature is another's.") from None
