"""OAuth 2.0 at services that create calls with the account of the user there."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Final, Protocol
from urllib.parse import urlencode

import msgspec

from server.calls.service import ServiceAnswer, failed, link_in, post
from server.egress import Egress

LEEWAY_SECONDS: Final = 60
"""How long before their end access tokens are refreshed."""
DEFAULT_SECONDS: Final = 3600
REFUSED: Final = frozenset({400, 401})
"""Statuses of an invalid code or refresh token (RFC 6749, section 5.2)."""
UNAUTHORIZED: Final = 401


class TokensRefusedError(Exception):
    """The service refuses the code or the tokens."""


class Tokens(msgspec.Struct, frozen=True, kw_only=True):
    access_token: str
    refresh_token: str
    """Empty if there is none."""
    expires_at: float
    """In seconds since 1970."""

    def need_refresh(self, now: datetime) -> bool:
        return self.expires_at - LEEWAY_SECONDS <= now.timestamp()


class OAuthService(Protocol):
    """A service for calls, and the server's registration there."""

    key: ClassVar[str]
    """Its name in paths and tables."""
    name: ClassVar[str]
    scope: ClassVar[str]
    link_field: ClassVar[str]
    """The field of a meeting that has its link."""
    has_basic_authentication: ClassVar[bool]
    """Whether the client's id and secret are sent in a header, not in the form."""

    @property
    def client(self) -> "OAuthClient": ...

    @property
    def authorize_url(self) -> str: ...

    @property
    def token_url(self) -> str: ...

    @property
    def meetings_url(self) -> str: ...

    def meeting(self, *, has_video: bool, now: datetime) -> Mapping[str, Any]:
        """Return the description of a meeting that begins now."""
        ...


@dataclass(frozen=True, slots=True)
class OAuthClient:
    client_id: str
    client_secret: str


def way_there(service: OAuthService, *, redirect_uri: str, state: str) -> str:
    """Return the URL where the user permits the server to create calls."""
    fields = {
        "response_type": "code",
        "client_id": service.client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        **({"scope": service.scope} if service.scope else {}),
    }
    return f"{service.authorize_url}?{urlencode(fields)}"


async def redeem(
    egress: Egress, service: OAuthService, code: str, *, redirect_uri: str, now: datetime
) -> Tokens:
    """Return the tokens for an authorization code.

    Raises TokensRefusedError for an invalid code, and CallServiceError.
    """
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri}
    return await _tokens(egress, service, form, refresh_token="", now=now)


async def refresh(
    egress: Egress, service: OAuthService, tokens: Tokens, *, now: datetime
) -> Tokens:
    """Return new tokens. Raises TokensRefusedError if they are invalid, and CallServiceError."""
    if not tokens.refresh_token:
        raise TokensRefusedError
    form = {"grant_type": "refresh_token", "refresh_token": tokens.refresh_token}
    return await _tokens(egress, service, form, refresh_token=tokens.refresh_token, now=now)


async def create_meeting(
    egress: Egress, service: OAuthService, tokens: Tokens, *, has_video: bool, now: datetime
) -> str:
    """Create a meeting and return its link.

    Raises TokensRefusedError if the tokens are invalid, and CallServiceError.
    """
    answer = await post(
        egress,
        service.name,
        service.meetings_url,
        headers={"Authorization": f"Bearer {tokens.access_token}"},
        payload=service.meeting(has_video=has_video, now=now),
    )
    if answer.status == UNAUTHORIZED:
        raise TokensRefusedError
    return link_in(service.name, answer, service.link_field)


async def _tokens(
    egress: Egress,
    service: OAuthService,
    form: Mapping[str, str],
    *,
    refresh_token: str,
    now: datetime,
) -> Tokens:
    client, headers = service.client, {}
    if service.has_basic_authentication:
        account = f"{client.client_id}:{client.client_secret}".encode()
        headers = {"Authorization": f"Basic {base64.b64encode(account).decode()}"}
    else:
        form = {**form, "client_id": client.client_id, "client_secret": client.client_secret}
    answer = await post(egress, service.name, service.token_url, headers=headers, form=form)
    return _read(service, answer, refresh_token=refresh_token, now=now)


def _read(
    service: OAuthService, answer: ServiceAnswer, *, refresh_token: str, now: datetime
) -> Tokens:
    if answer.status in REFUSED and answer.content.get("error") != "invalid_client":
        raise TokensRefusedError
    if not answer.is_successful:
        raise failed(service.name, f"It answered {answer.status} to a request for tokens.")
    content = answer.content
    access_token = content.get("access_token")
    new = content.get("refresh_token", refresh_token)
    seconds = content.get("expires_in", DEFAULT_SECONDS)
    if not _is_token(access_token) or not (new == "" or _is_token(new)):
        raise failed(service.name, "Its answer has no tokens.")
    if not isinstance(seconds, int):
        raise failed(service.name, "Its answer has no time at which the tokens expire.")
    expires_at = now.timestamp() + seconds
    return Tokens(access_token=str(access_token), refresh_token=str(new), expires_at=expires_at)


def _is_token(value: object) -> bool:
    """Whether it can be sent in a header."""
    return isinstance(value, str) and value != "" and value.isascii() and value.isprintable()
