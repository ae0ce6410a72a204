"""Apple's push notification service: HTTP/2 requests with a provider token."""

from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import httpx
import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey

from server.domain.clock import Clock
from server.push.service import (
    NeedsOperatorError,
    PushRefusedError,
    ServiceFaultError,
    UnknownDeviceError,
)
from server.push.web import asked, retry_after
from server.runtime.untrusted_json import decode_untrusted

ADDRESS: Final = "https://api.push.apple.com"
SANDBOX_ADDRESS: Final = "https://api.sandbox.push.apple.com"
TOKEN_LIFETIME_SECONDS: Final = 2_700.0
"""The lifetime of a provider token.

Apple accepts tokens of up to an hour, and no new one within 20 minutes.
"""
NOTIFICATION_LIFETIME_SECONDS: Final = 86_400
"""How long Apple keeps a notification for a device that is offline."""
URGENT, NOT_URGENT = "10", "5"
CURVE: Final = "P-256"

_GONE: Final = frozenset(
    {"BadDeviceToken", "DeviceTokenNotForTopic", "ExpiredToken", "Unregistered"}
)
_OPERATORS: Final = frozenset(
    {
        *("InvalidProviderToken", "MissingProviderToken", "BadCertificate", "Forbidden"),
        *("BadCertificateEnvironment", "BadEnvironmentKeyIdInToken", "UnrelatedKeyIdInToken"),
    }
)
_EXPIRED: Final = "ExpiredProviderToken"


class _Reason(msgspec.Struct, frozen=True):
    reason: str = ""


def key_of(text: str) -> ECKey:
    """Return the signing key in the text of a .p8 file. Raises NeedsOperatorError."""
    try:
        key = ECKey.import_key(text)
    except (JoseError, ValueError, TypeError) as error:
        raise NeedsOperatorError("it is not the text of a .p8 file") from error
    if key.curve_name != CURVE or not key.is_private:
        raise NeedsOperatorError("it is not a private key of the curve P-256")
    return key


class Apns:
    """A client of APNs. `http` has the service's address, and speaks HTTP/2."""

    def __init__(
        self, http: httpx.AsyncClient, key: ECKey, *, key_id: str, team_id: str, clock: Clock
    ) -> None:
        self._http = http
        self._key = key
        self._key_id = key_id
        self._team_id = team_id
        self._clock = clock
        self._token = ""
        self._token_ends = 0.0

    async def send(
        self,
        token: str,
        app_id: str,
        payload: Mapping[str, Any],
        *,
        is_urgent: bool,
        collapse_key: str = "",
    ) -> None:
        """Send a notification; it is accepted when this returns. Raises a PushError."""
        headers = {
            "apns-topic": app_id,
            "apns-push-type": "alert",
            "apns-priority": URGENT if is_urgent else NOT_URGENT,
            "apns-expiration": str(
                int(self._clock.now().timestamp()) + NOTIFICATION_LIFETIME_SECONDS
            ),
            "Content-Type": "application/json",
        }
        if collapse_key:
            headers["apns-collapse-id"] = collapse_key
        body = msgspec.json.encode(payload)
        used = self._provider_token()
        status, reason, wait = await self._post(token, body, headers, used)
        if reason == _EXPIRED:
            # Its clock or ours is off: one more try with another token.
            if used == self._token:
                self._token_ends = 0.0
            used = self._provider_token()
            status, reason, wait = await self._post(token, body, headers, used)
        if status != HTTPStatus.OK:
            raise _refusal(status, reason, wait)

    async def check(self) -> None:
        """Check the credentials by a request for an unknown device. Raises a PushError."""
        with suppress(UnknownDeviceError, PushRefusedError):
            await self.send("00" * 32, "x", {"aps": {}}, is_urgent=False)

    async def _post(
        self, token: str, body: bytes, headers: Mapping[str, str], provider_token: str
    ) -> tuple[int, str, float]:
        """Send a request; return status, reason, and the retry delay of the response."""
        with_token = {**headers, "Authorization": f"Bearer {provider_token}"}
        response = await asked(
            self._http, "POST", f"/3/device/{token}", content=body, headers=with_token
        )
        if response.status_code == HTTPStatus.OK:
            return HTTPStatus.OK, "", 0.0
        try:
            reason = decode_untrusted(response.content, _Reason).reason
        except msgspec.DecodeError:
            reason = ""
        return response.status_code, reason, retry_after(response)

    def _provider_token(self) -> str:
        if self._clock.monotonic() >= self._token_ends:
            claims = {"iss": self._team_id, "iat": int(self._clock.now().timestamp())}
            header = {"alg": "ES256", "kid": self._key_id}
            self._token = jwt.encode(header, claims, self._key)
            self._token_ends = self._clock.monotonic() + TOKEN_LIFETIME_SECONDS
        return self._token


def _refusal(status: int, reason: str, wait: float) -> Exception:
    """Return the error for the reason in a response."""
    message = f"APNs answers {status} {reason}"
    if reason in _GONE or status == HTTPStatus.GONE:
        return UnknownDeviceError(message)
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServiceFaultError(message, after_seconds=wait)
    if reason in _OPERATORS or reason == _EXPIRED:
        return NeedsOperatorError(message)
    # Also topics that are not the team's: each device says itself of which app it is.
    return PushRefusedError(message, code=reason)
