"""Verify that a delivery comes from the service that shares a secret with the bot."""

import hmac
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

MAX_SKEW_SECONDS: Final = 300.0
"""Maximum difference between a signed time and ours: what was recorded earlier is refused."""
MAX_CANDIDATES: Final = 16
"""Signatures of one header that are compared; services send several while a secret is replaced."""
_MILLISECONDS: Final = 1e11
"""A number of seconds or milliseconds since 1970 is of milliseconds from here on."""
_NUMBER: Final = re.compile(r"[0-9]{1,15}", re.ASCII)


class InvalidSignatureError(Exception):
    """The delivery is not signed, wrongly signed, or too old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """The secret itself in a header."""

    header: str

    def is_present(self, headers: Mapping[str, str]) -> bool:
        return bool(headers.get(self.header))

    def verify(self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> None:
        """Raise InvalidSignatureError unless the delivery has the secret."""
        del body, now
        if not _are_equal(headers.get(self.header, ""), secret):
            raise InvalidSignatureError(f"{self.header} does not hold the bot's secret.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """An HMAC of the body, keyed with the secret, in a header."""

    header: str
    algorithm: Literal["sha1", "sha256"] = "sha256"
    encoding: Literal["hex", "base64"] = "hex"
    prefix: str = ""
    """What precedes the signature. With one, the header may have several parts with commas."""
    signed: str = ""
    """What is signed before the body; `{timestamp}` stands for the time as it was sent."""
    timestamp: str = ""
    """The header with the time of sending, in seconds or milliseconds since 1970 or in ISO 8601."""
    timestamp_prefix: str = ""
    """What precedes the time, if it is one of several parts of its header."""

    def is_present(self, headers: Mapping[str, str]) -> bool:
        return bool(headers.get(self.header))

    def verify(self, headers: Mapping[str, str], body: bytes, secret: str, now: datetime) -> None:
        """Raise InvalidSignatureError unless the body has been signed with the secret, recently."""
        sent = ""
        if self.timestamp:
            sent = next(_parts(headers.get(self.timestamp, ""), self.timestamp_prefix), "")
            if not sent:
                raise InvalidSignatureError(f"{self.timestamp} has no time.")
        expected = self.of(body, secret, sent)
        candidates = list(_parts(headers.get(self.header, ""), self.prefix))
        if not sum(_are_equal(each, expected) for each in candidates[:MAX_CANDIDATES]):
            raise InvalidSignatureError(f"{self.header} was not made with the bot's secret.")
        if self.timestamp and abs((_moment(sent) - now).total_seconds()) > MAX_SKEW_SECONDS:
            raise InvalidSignatureError("It was sent too long ago, or its sender's clock is wrong.")

    def of(self, body: bytes, secret: str, timestamp: str = "") -> str:
        """Return the signature of a body, without its prefix."""
        before = self.signed.replace("{timestamp}", timestamp).encode()
        digest = hmac.digest(secret.encode(), before + body, self.algorithm)
        return digest.hex() if self.encoding == "hex" else b64encode(digest).decode()


Scheme = Token | Signature

HUB: Final = Signature(header="X-Hub-Signature-256", prefix="sha256=")
"""GitHub's, which many services have copied."""
WEBSUB: Final = Signature(header="X-Hub-Signature", prefix="sha256=")
SLACK: Final = Signature(
    header="X-Slack-Signature",
    prefix="v0=",
    signed="v0:{timestamp}:",
    timestamp="X-Slack-Request-Timestamp",
)
SHOPIFY: Final = Signature(header="X-Shopify-Hmac-Sha256", encoding="base64")
TOKEN: Final = Token(header="X-Webhook-Token")
"""For programs that do not sign, but send headers as they are configured."""
GENERAL: Final = (HUB, SLACK, SHOPIFY, TOKEN)
"""Schemes for the formats that any program may send."""


def verify(
    schemes: Sequence[Scheme],
    headers: Mapping[str, str],
    body: bytes,
    secret: str,
    now: datetime,
) -> None:
    """Raise InvalidSignatureError unless the delivery conforms to the scheme whose header it has.

    `headers` look up names without regard to case.
    """
    for scheme in schemes:
        if scheme.is_present(headers):
            scheme.verify(headers, body, secret, now)
            return
    names = " or ".join(dict.fromkeys(scheme.header for scheme in schemes))
    raise InvalidSignatureError(f"This bot takes signed deliveries only, with {names}.")


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
