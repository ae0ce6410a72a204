"""Identify this server to push services of browsers (VAPID, RFC 8292)."""

from typing import TYPE_CHECKING, Final

from server.domain.clock import Clock
from server.push.web_encryption import as_base64

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

PURPOSE: Final = "web push"
"""The purpose of the key of the server from which the key pair is derived."""
TOKEN_LIFETIME_SECONDS: Final = 12 * 3600
"""The lifetime of a token; services accept up to 24 hours, by their own clocks."""
RENEWAL_SECONDS: Final = TOKEN_LIFETIME_SECONDS / 2
"""The age at which a token is replaced."""
MAX_TOKENS: Final = 100
"""The maximum number of cached tokens: each origin that users name has its own."""

_ORDER: Final = 0xFFFFFFFF_00000000_FFFFFFFF_FFFFFFFF_BCE6FAAD_A7179E84_F3B9CAC2_FC632551
"""The order of the curve P-256."""


class Vapid:
    """The server's key pair, and the tokens signed with it.

    `secret` is random and stays the same for the lifetime of all subscriptions; `contact` is the
    URL by which a push service reaches the operator.
    """

    def __init__(self, secret: bytes, contact: str, clock: Clock) -> None:
        self._scalar = int.from_bytes(secret) % (_ORDER - 1) + 1
        self._contact = contact
        self._clock = clock
        self._public_key = ""
        self._tokens: dict[str, tuple[float, str]] = {}

    @property
    def public_key(self) -> str:
        """The public key with which browsers subscribe, in base64 of URLs."""
        if not self._public_key:
            from cryptography.hazmat.primitives import serialization  # starts faster without

            self._public_key = as_base64(
                self._private_key()
                .public_key()
                .public_bytes(
                    serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
                )
            )
        return self._public_key

    def authorization(self, origin: str) -> str:
        """Return the value of the Authorization header of requests to this origin."""
        now = self._clock.monotonic()
        renewed_at, token = self._tokens.get(origin, (now, ""))
        if renewed_at <= now:
            token = self._signed(origin)
            if len(self._tokens) >= MAX_TOKENS:
                self._tokens.clear()
            self._tokens[origin] = (now + RENEWAL_SECONDS, token)
        return f"vapid t={token}, k={self.public_key}"

    def _signed(self, origin: str) -> str:
        from cryptography.hazmat.primitives import serialization  # as above
        from joserfc import jwt
        from joserfc.jwk import ECKey

        pem = self._private_key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        claims = {
            "aud": origin,
            "exp": int(self._clock.now().timestamp()) + TOKEN_LIFETIME_SECONDS,
            "sub": self._contact,
        }
        return jwt.encode({"typ": "JWT", "alg": "ES256"}, claims, ECKey.import_key(pem))

    def _private_key(self) -> "EllipticCurvePrivateKey":
        from cryptography.hazmat.primitives.asymmetric import ec  # as above

        return ec.derive_private_key(self._scalar, ec.SECP256R1())
