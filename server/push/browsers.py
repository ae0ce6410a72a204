"""Deliver to browsers through their push services (Web Push, RFC 8030), which users name."""

import asyncio
import hashlib
import hmac
import re
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import msgspec

from server.domain.clock import Clock
from server.domain.retrying import is_passing, seconds_to_wait
from server.egress import (
    Egress,
    EgressError,
    EgressRefusedError,
    FetchedResponse,
    HostUnreachableError,
    Limits,
)
from server.egress.guard import CheckedUrl
from server.i18n import _
from server.push.browser_payloads import MAX_SHORT_BYTES, BrowserNotification
from server.push.outcomes import outcome_of
from server.push.service import (
    DeliveryOutcome,
    NotificationTooLargeError,
    PushError,
    PushRefusedError,
    PushServiceUnreachableError,
    ServiceFaultError,
    UnknownDeviceError,
)
from server.push.vapid import Vapid
from server.push.web_encryption import MAX_BYTES, as_base64, encrypted
from server.runtime.untrusted_json import decode_untrusted
from server.runtime.version import VERSION
from storage.ids import UserId
from storage.push_devices import BrowserDevice

LIFETIME_SECONDS: Final = 86_400
"""How long a push service keeps a notification for a browser that is offline."""
PADDED_BYTES: Final = (MAX_SHORT_BYTES, 2_560, MAX_BYTES)
"""The sizes of payloads before encryption: their exact length would reveal much about a message."""
USER_AGENT: Final = f"ParleyServer/{VERSION}"
LIMITS: Final = Limits(seconds=15.0, max_bytes=4_096, may_cut=True, keep_alive=True)
"""Most browsers share a few services: a TLS handshake for each notification would cost both."""

_TOPIC_BYTES: Final = 24
_GONE: Final = frozenset({HTTPStatus.NOT_FOUND, HTTPStatus.GONE})
_WORD: Final = re.compile(r"[A-Za-z0-9_]{1,60}")


class _Refusal(msgspec.Struct, frozen=True):
    reason: str | None = None
    errno: int | None = None


class Browsers:
    """Deliveries to subscriptions of browsers. Requests may be concurrent."""

    def __init__(self, egress: Egress, vapid: Vapid, clock: Clock) -> None:
        self._egress = egress
        self._vapid = vapid
        self._clock = clock

    @property
    def public_key(self) -> str:
        """The key with which browsers subscribe, in base64 of URLs."""
        return self._vapid.public_key

    def checked(self, endpoint: str) -> str:
        """Return the normalized URL of a subscription. Raises EgressRefusedError.

        It must be https, except for destinations that the operator names in PARLEY_EGRESS_ALLOW.
        """
        target = CheckedUrl.of(endpoint)
        self._egress.guard.check(target)
        if target.scheme != "https" and not self._egress.guard.names(target):
            raise EgressRefusedError(_("The URL must begin with https://."))
        return target.url

    async def push(
        self,
        user_id: UserId,
        notices: Sequence[BrowserNotification],
        devices: Sequence[BrowserDevice],
    ) -> DeliveryOutcome:
        """Deliver to the devices; those that take no removals get none.

        Raises a PushError if all devices are to be retried.
        """
        reached = [
            device
            for device in devices
            if device.wants_removals or any(notice.is_shown for notice in notices)
        ]
        errors = await asyncio.gather(*(self._try(notices, device) for device in reached))
        return outcome_of(user_id, reached, errors)

    async def _try(
        self, notices: Sequence[BrowserNotification], device: BrowserDevice
    ) -> PushError | None:
        try:
            for notice in notices:
                await self._send(notice, device)
        except PushError as error:
            return error
        return None

    async def _send(self, notice: BrowserNotification, device: BrowserDevice) -> None:
        try:
            await self._post(notice, notice.payload, device)
        except NotificationTooLargeError:
            await self._post(notice, notice.short, device)

    async def _post(
        self, notice: BrowserNotification, payload: bytes, device: BrowserDevice
    ) -> None:
        parts = urlsplit(device.endpoint)
        padded_to = next(size for size in PADDED_BYTES if size >= len(payload))
        headers = {
            "Authorization": self._vapid.authorization(f"{parts.scheme}://{parts.netloc}"),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(LIFETIME_SECONDS),
            "Urgency": "high" if notice.is_shown else "normal",
            "User-Agent": USER_AGENT,
        }
        if notice.tag:
            headers["Topic"] = _topic(device.auth_secret, notice.tag)
        body = encrypted(device.public_key, device.auth_secret, payload, padded_to=padded_to)
        place = parts.hostname or ""
        try:
            self.checked(device.endpoint)  # settings may have changed since the subscription
            response = await self._egress.fetch(
                "POST", device.endpoint, headers=headers, body=body, limits=LIMITS
            )
        except HostUnreachableError as error:
            raise PushServiceUnreachableError(f"{place}: {error}") from error
        except EgressError as error:
            raise PushRefusedError(f"{place}: {error}") from error
        if not HTTPStatus.OK <= response.status < HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(place, response)

    def _refusal(self, place: str, response: FetchedResponse) -> PushError:
        """Return the error for a response that accepts nothing."""
        status = response.status
        answered = f"{place} answers {status}{_reason(response.body)}"
        if status in _GONE:
            return UnknownDeviceError(answered)
        if is_passing(status):
            wait = seconds_to_wait(response.headers.get("retry-after", ""), self._clock.now())
            return ServiceFaultError(answered, after_seconds=wait)
        if status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return NotificationTooLargeError(answered)
        return PushRefusedError(answered)


def _topic(auth_secret: bytes, tag: str) -> str:
    """Return an opaque name for the conversation, for the push service to collapse by."""
    digest = hmac.digest(auth_secret, tag.encode(), hashlib.sha256)
    return as_base64(digest[:_TOPIC_BYTES])


def _reason(body: bytes) -> str:
    """Return the word by which some services explain a refusal; no other text of theirs."""
    try:
        refusal = decode_untrusted(body, _Refusal)
    except msgspec.DecodeError:
        return ""
    word = refusal.reason if refusal.reason is not None else str(refusal.errno or "")
    return f" {word}" if _WORD.fullmatch(word) else ""
