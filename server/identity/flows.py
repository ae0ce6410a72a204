"""The state of a sign-in through a provider, in a cookie of the browser."""

import base64
import hashlib
import secrets
from datetime import datetime
from typing import Final

import msgspec
from itsdangerous import BadData, URLSafeTimedSerializer

PURPOSE: Final = "sign-in flows"
"""The name of the signing key (storage/server_keys.py)."""
FLOW_LIFETIME_SECONDS: Final = 600


class Flow(msgspec.Struct, frozen=True, kw_only=True):
    """One sign-in through a provider, bound to one browser."""

    provider: str
    realm_id: int
    state: str
    """Returned with the response, which is thereby bound to this request."""
    nonce: str
    """Contained in the token, which is thereby bound to this flow."""
    verifier: str
    """The provider has its digest: only the browser that began the flow can finish it (PKCE)."""
    wanted: str
    """The page to redirect to at the end."""
    otp: str
    """The one-time pad of a waiting mobile app."""
    desktop_otp: str = ""
    """The key of a waiting desktop app."""
    began_at: float = 0.0
    """In seconds since 1970: a later change of the account's credentials invalidates the flow."""

    user_id: int | None = None
    """Who was signed in when it began, and may have the own address confirmed."""

    @classmethod
    def begin(
        cls,
        provider: str,
        realm_id: int,
        *,
        wanted: str,
        otp: str,
        desktop_otp: str = "",
        now: datetime,
        user_id: int | None = None,
    ) -> "Flow":
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(
            provider=provider,
            realm_id=realm_id,
            state=state,
            nonce=nonce,
            verifier=verifier,
            wanted=wanted,
            otp=otp,
            desktop_otp=desktop_otp,
            began_at=now.timestamp(),
            user_id=user_id,
        )

    @property
    def challenge(self) -> str:
        digest = hashlib.sha256(self.verifier.encode()).digest()
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


class Flows:
    """Flows as cookies: signed, with a timeout of minutes."""

    def __init__(self, key: bytes) -> None:
        self._serializer = URLSafeTimedSerializer(
            key, salt="flow", signer_kwargs={"digest_method": hashlib.sha256}
        )

    def dump(self, flow: Flow) -> str:
        return str(self._serializer.dumps(msgspec.to_builtins(flow)))

    def load(self, cookie: str) -> Flow | None:
        """Return the flow; None if the cookie is invalid or expired."""
        try:
            return msgspec.convert(
                self._serializer.loads(cookie, max_age=FLOW_LIFETIME_SECONDS), Flow
            )
        except (BadData, msgspec.ValidationError):
            return None
