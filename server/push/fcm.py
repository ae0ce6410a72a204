"""Firebase Cloud Messaging, for Android: HTTP v1 requests with the key of a service account."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

import httpx
import msgspec
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import RSAKey

from server.domain.clock import Clock
from server.push.service import (
    NeedsOperatorError,
    PushRefusedError,
    ServiceFaultError,
    UnknownDeviceError,
)
from server.push.web import asked, retry_after
from server.runtime.untrusted_json import decode_untrusted

ADDRESS: Final = "https://fcm.googleapis.com"
SCOPE: Final = "https://www.googleapis.com/auth/firebase.messaging"
GRANT: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
ASSERTION_LIFETIME_SECONDS: Final = 3_600
RENEWAL_MARGIN_SECONDS: Final = 60.0
"""The remaining lifetime at which an access token is renewed."""
DAY: Final = "86400s"


class ServiceAccount(msgspec.Struct, frozen=True):
    """The required fields of Google's file for a service account."""

    project_id: str
    client_email: str
    private_key: str
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105 - where, not what
    private_key_id: str = ""


def account_of(text: str) -> ServiceAccount:
    """Parse the file. Raises NeedsOperatorError."""
    try:
        account = msgspec.json.decode(text, type=ServiceAccount)
        RSAKey.import_key(account.private_key)
    except (msgspec.DecodeError, JoseError, ValueError, TypeError) as error:
        raise NeedsOperatorError("it is not the JSON of a service account with its key") from error
    return account


class _Token(msgspec.Struct, frozen=True):
    access_token: str
    expires_in: float = ASSERTION_LIFETIME_SECONDS


class _Detail(msgspec.Struct, frozen=True, rename={"error_code": "errorCode"}):
    error_code: str = ""


class _Error(msgspec.Struct, frozen=True):
    message: str = ""
    status: str = ""
    details: tuple[_Detail, ...] = ()


class _Failure(msgspec.Struct, frozen=True):
    error: _Error = _Error()


class Fcm:
    """A client that sends data messages. `http` has the service's address."""

    def __init__(self, http: httpx.AsyncClient, account: ServiceAccount, clock: Clock) -> None:
        self._http = http
        self._account = account
        self._key = RSAKey.import_key(account.private_key)
        self._clock = clock
        self._path = f"/v1/projects/{account.project_id}/messages:send"
        self._token = ""
        self._token_ends = 0.0
        self._asking: asyncio.Task[None] | None = None

    async def send(self, token: str, data: Mapping[str, Any], *, is_urgent: bool) -> None:
        """Send a message; it is accepted when this returns. Raises a PushError."""
        message = {
            "token": token,
            "data": {name: _text(value) for name, value in data.items()},
            "android": {"priority": "high" if is_urgent else "normal", "ttl": DAY},
        }
        body = msgspec.json.encode({"message": message})
        used = await self._access_token()
        response = await self._post(body, used)
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            # The token was withdrawn before its time: one more try with another, which may have
            # come meanwhile.
            if used == self._token:
                self._token_ends = 0.0
            response = await self._post(body, await self._access_token())
        if not response.is_success:
            raise _refusal(response)

    async def check(self) -> None:
        """Check the credentials. Raises a PushError."""
        await self._access_token()

    async def _post(self, body: bytes, access_token: str) -> httpx.Response:
        headers = {"Authorization": f"Bearer {access_token}", "Content-Type": "application/json"}
        return await asked(self._http, "POST", self._path, content=body, headers=headers)

    async def _access_token(self) -> str:
        if self._clock.monotonic() >= self._token_ends:
            # Callers that need one meanwhile get the same, or the same refusal.
            if self._asking is None or self._asking.done():
                self._asking = asyncio.create_task(self._renew())
            await asyncio.shield(self._asking)
        return self._token

    async def _renew(self) -> None:
        token = await self._new_token()
        self._token = token.access_token
        self._token_ends = self._clock.monotonic() + token.expires_in - RENEWAL_MARGIN_SECONDS

    async def _new_token(self) -> _Token:
        now = int(self._clock.now().timestamp())
        claims = {
            "iss": self._account.client_email,
            "scope": SCOPE,
            "aud": self._account.token_uri,
            "iat": now,
            "exp": now + ASSERTION_LIFETIME_SECONDS,
        }
        header = {"alg": "RS256", "kid": self._account.private_key_id}
        assertion = jwt.encode(header, claims, self._key)
        response = await asked(
            self._http,
            "POST",
            self._account.token_uri,
            data={"grant_type": GRANT, "assertion": assertion},
        )
        if response.is_success:
            try:
                return decode_untrusted(response.content, _Token)
            except msgspec.DecodeError as error:
                raise ServiceFaultError(f"Google's answer cannot be read: {error}") from error
        status = response.status_code
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.TOO_MANY_REQUESTS:
            raise ServiceFaultError(
                f"Google gives no access token: {status}", after_seconds=retry_after(response)
            )
        raise NeedsOperatorError(f"Google does not accept the service account: {status}")


def _text(value: Any) -> str:
    """Return the payload with text values only, as FCM requires."""
    return value if isinstance(value, str) else str(value)


def _refusal(response: httpx.Response) -> Exception:
    """Return the error for the code of a response."""
    status = response.status_code
    try:
        error = decode_untrusted(response.content, _Failure).error
    except msgspec.DecodeError:
        error = _Error()
    code = next((each.error_code for each in error.details if each.error_code), error.status)
    reason = f"FCM answers {status} {code}: {error.message}"[:500]
    if code == "UNREGISTERED" or status == HTTPStatus.NOT_FOUND:
        return UnknownDeviceError(reason)
    if code == "SENDER_ID_MISMATCH":
        return UnknownDeviceError(reason)  # a token of another app's
    if code == "INVALID_ARGUMENT" and "token" in error.message.lower():
        return UnknownDeviceError(reason)
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ServiceFaultError(reason, after_seconds=retry_after(response))
    if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return NeedsOperatorError(reason)
    return PushRefusedError(reason, code=code)
