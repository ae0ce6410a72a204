"""Who has shown the operator's password: signed cookies, which every process can read."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Final

from itsdangerous import BadSignature, URLSafeTimedSerializer

COOKIE: Final = "parley_operator"
LIFE_SECONDS: Final = 8 * 3600
SCRYPT: Final = {"n": 2**14, "r": 8, "p": 1}
"""A cookie that got lost must not make it easy to try passwords: 50 ms for each."""


@dataclass(frozen=True, slots=True)
class Session:
    """Somebody who has signed in; forms of theirs carry the token."""

    token: str

    def sent(self, token: str) -> bool:
        """Whether a form with this token is one of theirs."""
        return _equal(self.token, token)


class Sessions:
    """Keys made of the password alone: they work without a database, and change with it."""

    def __init__(self, password: str) -> None:
        self._password = password
        salt = b"parley operator"
        self._key = hashlib.scrypt(password.encode(), salt=salt, dklen=32, **SCRYPT)
        self._cookies = URLSafeTimedSerializer(
            self._key, salt="session", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def accepts(self, password: str) -> bool:
        """Whether this is the password, in the same time for each."""
        return _equal(self._password, password)

    def begin(self) -> str:
        """A new session's cookie."""
        return str(self._cookies.dumps(secrets.token_urlsafe(16)))

    def of_cookie(self, cookie: str) -> Session | None:
        """The session, unless it is too old or none of ours."""
        try:
            name = self._cookies.loads(cookie, max_age=LIFE_SECONDS)
        except BadSignature:
            return None
        return Session(hmac.digest(self._key, f"form {name}".encode(), "sha256").hex())


def _equal(one: str, other: str) -> bool:
    """Compare digests, so that neither content nor length shows in the time it takes."""
    digests = (hashlib.sha256(text.encode(errors="replace")).digest() for text in (one, other))
    return hmac.compare_digest(*digests)
