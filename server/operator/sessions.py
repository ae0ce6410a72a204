"""Sessions of operators: signed cookies, which every process can verify."""

import hashlib
import hmac
import secrets
from typing import Final

from itsdangerous import BadSignature, URLSafeTimedSerializer

COOKIE: Final = "parley_operator"
LIFE_SECONDS: Final = 8 * 3600
SCRYPT: Final = {"n": 2**14, "r": 8, "p": 1}
"""A leaked cookie must not make it cheap to guess the password: 50 ms for each attempt."""


class Sessions:
    """Sign cookies with a key derived from the password: no database is needed.

    A new password ends all sessions.
    """

    def __init__(self, password: str) -> None:
        self._password = password
        salt = b"parley operator"
        self._key = hashlib.scrypt(password.encode(), salt=salt, dklen=32, **SCRYPT)
        self._cookies = URLSafeTimedSerializer(
            self._key, salt="session", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def accepts(self, password: str) -> bool:
        """Return whether this is the password, compared in constant time."""
        return _equal(self._password, password)

    def begin(self) -> str:
        """Return the cookie of a new session."""
        return str(self._cookies.dumps(secrets.token_urlsafe(16)))

    def is_valid(self, cookie: str) -> bool:
        """Return whether the cookie is signed with this password and has not expired."""
        try:
            self._cookies.loads(cookie, max_age=LIFE_SECONDS)
        except BadSignature:
            return False
        return True


def _equal(one: str, other: str) -> bool:
    """Compare digests, so that the time depends neither on content nor on length."""
    digests = (hashlib.sha256(text.encode(errors="replace")).digest() for text in (one, other))
    return hmac.compare_digest(*digests)
