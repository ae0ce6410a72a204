"""Sign-in flows through other sites, kept in a cookie."""

import base64
import hashlib
import secrets
from datetime import datetime
from typing import Final

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer

PURPOSE: Final = "sign-in flows"
"""Purpose of the signing key (storage/server_keys.py)."""
VALID_SECONDS: Final = 600


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in flow in one browser."""

    provider: str
    realm_id: int
    state: str
    """Returned with the response, which so belongs to this very request."""
    nonce: str
    """Part of the token, which so was made for this flow."""
    verifier: str
    """The site has its digest: only the browser that began the flow can end it (PKCE)."""
    wanted: str
    """The page after the sign-in."""
    otp: str
    """One-time pad of the app that waits for the sign-in."""
    began_at: float = 0.0
    """Seconds since 1970: a flow is void after a later change of the account's credentials."""

    @classmethod
    def begin(cls, provider: str, realm_id: int, *, wanted: str, otp: str, now: datetime) -> "Flow":
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(
            provider=provider,
            realm_id=realm_id,
            state=state,
            nonce=nonce,
            verifier=verifier,
            wanted=wanted,
            otp=otp,
            began_at=now.timestamp(),
        )

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Flows:
    """Flows as cookies: signed, and valid for minutes."""

    def __init__(self, key: bytes) -> None:
        self._serializer = URLSafeTimedSerializer(
            key, salt="flow", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def dump(self, flow: Flow) -> str:
        return str(self._serializer.dumps(msgspec.to_builtins(flow)))

    def load(self, cookie: str) -> Flow | None:
        """Return the flow; None if the cookie is invalid or expired."""
        try:
            return msgspec.convert(self._serializer.loads(cookie, max_age=VALID_SECONDS), Flow)
        except (BadData, msgspec.ValidationError):
            return None
