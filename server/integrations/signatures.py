"""Verify that a delivery comes from the service that shares a secret with the bot."""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, Protocol

from typing_extensions import override

MAX_SKEW_SECONDS: Final = 300.0
"""Maximum difference between a signed time and ours: what was recorded earlier is refused."""
MAX_CANDIDATES: Final = 16
"""Signatures of one header that are compared; services send several while a secret is replaced."""
_MILLISECONDS: Final = 1e11
"""A number of seconds or milliseconds since 1970 is of milliseconds from here on."""
_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_KEY_BEGINS: Final = "-----BEGIN"
_STANDARD_KEY: Final = "whsec_"


class InvalidSignatureError(Exception):
    """The delivery is not signed, wrongly signed, or too old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A delivery as it was received, before anything of it is parsed."""

    headers: Mapping[str, str]
    """Looks up names without regard to case."""
    body: bytes
    url: str
    """The address as the service has it."""
    payload: Callable[[], bytes]
    """Return the JSON, which may be in a field of a form. May raise a DomainError."""
    received_at: datetime

    def header(self, name: str) -> str:
        """Return the value of the header, or an empty text."""
        return self.headers.get(name, "")


class Scheme(Protocol):
    """A way to prove that a delivery comes from the service."""

    @property
    def header(self) -> str:
        """The header with the proof."""
        ...

    @property
    def has_public_key(self) -> bool:
        """Whether the bot has the service's public key instead of a secret."""
        ...

    def is_present(self, request: SignedRequest) -> bool:
        """Return whether the delivery claims to conform to it."""
        ...

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless the sender has the secret."""
        ...

    def signed(self, request: SignedRequest) -> bytes | None:
        """Return what a valid proof covers that is the same when the delivery is repeated.

        None: the proof covers nothing of it, or a time, which makes each attempt another.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _HeaderScheme:
    """What schemes with a proof in one header have in common."""

    header: str
    has_public_key: bool = False

    def is_present(self, request: SignedRequest) -> bool:
        return bool(request.header(self.header))

    def signed(self, request: SignedRequest) -> bytes | None:
        del request
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token(_HeaderScheme):
    """The secret itself in a header."""

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless the delivery has the secret."""
        if not _are_equal(request.header(self.header), secret):
            raise InvalidSignatureError(f"{self.header} does not hold the bot's secret.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Password(_HeaderScheme):
    """The secret as the password of HTTP's basic authentication, or as a bearer token."""

    header: str = "Authorization"

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless the secret is the password. Any user name will do."""
        scheme, _, value = request.header(self.header).partition(" ")
        value = value.strip()
        if scheme.lower() == "basic":
            try:
                decoded = b64decode(value, validate=True)
            except ValueError:
                decoded = b""
            value = decoded.partition(b":")[2].decode("latin-1")
        elif scheme.lower() != "bearer":
            value = ""
        if not _are_equal(value, secret):
            raise InvalidSignatureError(f"{self.header} does not have the bot's secret.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature(_HeaderScheme):
    """An HMAC of the body, keyed with the secret, in a header."""

    algorithm: Literal["sha1", "sha256"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = ""
    """What precedes the signature. With one, the header may have several parts with commas."""
    preamble: str = ""
    """What is signed before the body; `{timestamp}` stands for the time as it was sent."""
    signs_url: bool = False
    """Whether the address is signed after the body."""
    timestamp: str = ""
    """The header with the time of sending, in seconds or milliseconds since 1970 or in ISO 8601."""
    timestamp_prefix: str = ""
    """What precedes the time, if it is one of several parts of its header."""

    @override
    def is_present(self, request: SignedRequest) -> bool:
        return bool(request.header(self.header)) and (
            not self.timestamp or bool(request.header(self.timestamp))
        )

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless the body has been signed with the secret, recently."""
        sent = ""
        if self.timestamp:
            sent = next(_parts(request.header(self.timestamp), self.timestamp_prefix), "")
            if not sent:
                raise InvalidSignatureError(f"{self.timestamp} has no time.")
        expected = self.of(request, secret, sent)
        candidates = list(_parts(request.header(self.header), self.prefix))
        if not sum(_are_equal(each, expected) for each in candidates[:MAX_CANDIDATES]):
            raise InvalidSignatureError(f"{self.header} was not made with the bot's secret.")
        if self.timestamp:
            _check_recent(sent, request.received_at)

    @override
    def signed(self, request: SignedRequest) -> bytes | None:
        return None if self.timestamp else request.body

    def of(self, request: SignedRequest, secret: str, timestamp: str = "") -> str:
        """Return the signature of a request, without its prefix."""
        before = self.preamble.replace("{timestamp}", timestamp).encode()
        after = request.url.encode() if self.signs_url else b""
        digest = hmac.digest(secret.encode(), before + request.body + after, self.algorithm)
        return digest.hex() if self.encoding == "hex" else b64encode(digest).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class StandardWebhook(_HeaderScheme):
    """HMAC-SHA256 of id, time and body, as the specification Standard Webhooks has it.

    A secret that begins with `whsec_` is followed by the key in Base64.
    """

    header: str = "webhook-signature"

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless it has been signed with the secret, recently."""
        sent = request.header("webhook-timestamp")
        before = f"{request.header('webhook-id')}.{sent}.".encode("latin-1", "replace")
        digest = hmac.digest(_standard_key(secret), before + request.body, "sha256")
        expected = f"v1,{b64encode(digest).decode()}"
        candidates = request.header(self.header).split(" ")[:MAX_CANDIDATES]
        if not sum(_are_equal(each, expected) for each in candidates):
            raise InvalidSignatureError(f"{self.header} was not made with the bot's secret.")
        _check_recent(sent, request.received_at)

    @override
    def signed(self, request: SignedRequest) -> bytes | None:
        return request.header("webhook-id").encode("latin-1", "replace") or None


@dataclass(frozen=True, slots=True, kw_only=True)
class WebToken(_HeaderScheme):
    """A JSON Web Token (HS256) that names its issuer and the SHA-256 digest of the body."""

    issuer: str

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless the token has been made with the secret, for this."""
        from joserfc import jwt  # a start is faster without
        from joserfc.errors import JoseError
        from joserfc.jwk import OctKey

        wrong = InvalidSignatureError(f"{self.header} was not made with the bot's secret.")
        try:
            key = OctKey.import_key(secret)
            claims = jwt.decode(request.header(self.header), key, algorithms=["HS256"]).claims
        except (JoseError, ValueError):
            raise wrong from None
        digest = str(claims.get("sha256", "")).lower()
        is_of_body = _are_equal(digest, hashlib.sha256(request.body).hexdigest())
        if not is_of_body or claims.get("iss") != self.issuer:
            raise wrong

    @override
    def signed(self, request: SignedRequest) -> bytes | None:
        return request.body


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySignature(_HeaderScheme):
    """RSA with SHA-1 (PKCS #1 v1.5) over the JSON, in Base64. The bot has the public key."""

    has_public_key: bool = True

    def verify(self, request: SignedRequest, secret: str) -> None:
        """Raise InvalidSignatureError unless the JSON has been signed with the private key."""
        from server.integrations.public_keys import verify_signature  # a start is faster without

        try:
            signature = b64decode(request.header(self.header), validate=True)
            verify_signature(secret, signature, request.payload())
        except ValueError:
            raise InvalidSignatureError(
                f"{self.header} was not made with the key of which the bot has the public part."
            ) from None

    @override
    def signed(self, request: SignedRequest) -> bytes | None:
        return request.payload()


HUB: Final = Signature(header="X-Hub-Signature-256", prefix="sha256=")
"""GitHub's, which many services have copied."""
WEBSUB: Final = Signature(header="X-Hub-Signature", prefix="sha256=")
SLACK: Final = Signature(
    header="X-Slack-Signature",
    prefix="v0=",
    preamble="v0:{timestamp}:",
    timestamp="X-Slack-Request-Timestamp",
)
SHOPIFY: Final = Signature(header="X-Shopify-Hmac-Sha256", encoding="base64")
TOKEN: Final = Token(header="X-Webhook-Token")
"""For programs that do not sign, but send headers as they are configured."""
PASSWORD: Final = Password()
"""For programs that can authenticate themselves, but neither sign nor send other headers."""
STANDARD: Final = StandardWebhook()
UNSIGNED: Final = (TOKEN, PASSWORD)
"""Schemes for services that do not sign, in this order."""
GENERAL: Final = (HUB, SLACK, SHOPIFY, STANDARD, *UNSIGNED)
"""Schemes for the formats that any program may send."""


def verify(schemes: Sequence[Scheme], request: SignedRequest, secret: str) -> Scheme:
    """Return the scheme that the delivery conforms to, found by its header.

    Raises InvalidSignatureError.

    A public key is known to many: with one, what is keyed with a secret proves nothing.
    """
    has_key = is_public_key(secret)
    usable = [scheme for scheme in schemes if scheme.has_public_key is has_key]
    if not usable:
        raise InvalidSignatureError("The bot's secret is a public key, of another service.")
    for scheme in usable:
        if scheme.is_present(request):
            scheme.verify(request, secret)
            return scheme
    names = " or ".join(dict.fromkeys(scheme.header for scheme in usable))
    raise InvalidSignatureError(f"This bot takes signed deliveries only, with {names}.")


def is_public_key(secret: str) -> bool:
    """Return whether the secret of a bot is meant to be the public key of a service."""
    return secret.startswith(_KEY_BEGINS)


def _standard_key(secret: str) -> bytes:
    if not secret.startswith(_STANDARD_KEY):
        return secret.encode()
    try:
        return b64decode(secret.removeprefix(_STANDARD_KEY), validate=True)
    except ValueError:
        return secret.encode()


def _check_recent(sent: str, now: datetime) -> None:
    """Raise InvalidSignatureError unless the time is close to now."""
    if abs((_moment(sent) - now).total_seconds()) > MAX_SKEW_SECONDS:
        raise InvalidSignatureError("It was sent too long ago, or its sender's clock is wrong.")


def _parts(value: str, prefix: str) -> Iterator[str]:
    """Yield what follows the prefix in each of the header's parts."""
    for part in value.split(",") if prefix else [value]:
        if part.strip().startswith(prefix):
            yield part.strip().removeprefix(prefix)


def _moment(value: str) -> datetime:
    """Return a time. Raises InvalidSignatureError."""
    try:
        if _NUMBER.fullmatch(value):
            number = int(value)
            return datetime.fromtimestamp(number / (1_000 if number > _MILLISECONDS else 1), UTC)
        time = datetime.fromisoformat(value[:40])
    except (ValueError, OverflowError, OSError):
        raise InvalidSignatureError("Its time is none.") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time


def _are_equal(header: str, expected: str) -> bool:
    # Headers are bytes that the transport has decoded as Latin-1.
    return hmac.compare_digest(header.encode("latin-1", "replace"), expected.encode())
