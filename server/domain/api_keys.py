"""API keys: who has one may act as its user."""

import secrets
import string
from typing import Final

API_KEY_LENGTH: Final = 32
_ALPHABET: Final = string.ascii_letters + string.digits


def new_api_key() -> str:
    """A key that nobody can guess."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(API_KEY_LENGTH))
