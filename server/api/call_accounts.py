"""Calls by services where each user has an account; its OAuth tokens are stored here."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from server.actions.call_tokens import forget_tokens, keep_tokens, replace_tokens
from server.api.endpoint import Request
from server.calls import oauth
from server.calls.oauth import OAuthClient, OAuthService, Tokens, TokensRefusedError
from server.calls.webex import Webex
from server.calls.zoom import Zoom
from server.domain.calls import not_configured
from server.domain.errors import (
    BadRequestError,
    InvalidVideoCallProviderTokenError,
)
from server.domain.user_secrets import sealed, unsealed
from server.settings import Settings
from storage import call_tokens, server_keys

PURPOSE: Final = "call tokens"
"""Purpose of the key that encrypts tokens (storage/server_keys.py)."""


def _webex(settings: Settings) -> OAuthService | None:
    client_id, secret = settings.webex_client_id, settings.webex_client_secret
    if client_id is None or secret is None:
        return None
    return Webex(OAuthClient(client_id, secret), settings.webex_api_url)


def _zoom(settings: Settings) -> OAuthService | None:
    client_id, secret = settings.zoom_client_id, settings.zoom_client_secret
    if client_id is None or secret is None:
        return None
    return Zoom(OAuthClient(client_id, secret), settings.zoom_oauth_url, settings.zoom_api_url)


SERVICES: Final[Mapping[str, tuple[str, Callable[[Settings], OAuthService | None]]]] = {
    Webex.key: (Webex.name, _webex),
    Zoom.key: (Zoom.name, _zoom),
}
"""Names of the services, and what configures them, by key."""


def service_of(settings: Settings, key: str) -> OAuthService:
    """Return the service. Raises BadRequestError if the operator has not configured it."""
    name, configured = SERVICES[key]
    service = configured(settings)
    if service is None:
        raise BadRequestError(not_configured(name))
    return service


async def connect_account(
    request: Request, service: OAuthService, code: str, redirect_uri: str
) -> None:
    """Redeem the authorization code and store the caller's tokens.

    Raises TokensRefusedError for an invalid code, and CallServiceError.
    """
    app = request.app
    tokens = await oauth.redeem(
        app.egress, service, code, redirect_uri=redirect_uri, now=app.clock.now()
    )
    await request.write(keep_tokens, service.key, await _sealed(request, tokens))


async def create_with_account(request: Request, service: OAuthService, *, has_video: bool) -> str:
    """Create a meeting with the caller's account and return its link.

    Expired tokens are refreshed; those that the service refuses are deleted. Raises
    InvalidVideoCallProviderTokenError if there are none that are valid.
    """
    app, now = request.app, request.app.clock.now()
    stored = await _stored(request, service)
    if stored is None:
        raise InvalidVideoCallProviderTokenError(service.name)
    try:
        tokens = await _unsealed(request, stored)
        if tokens.need_refresh(now):
            tokens = await oauth.refresh(app.egress, service, tokens, now=now)
            old, stored = stored, await _sealed(request, tokens)
            await request.write(replace_tokens, service.key, old=old, new=stored)
        return await oauth.create_meeting(app.egress, service, tokens, has_video=has_video, now=now)
    except TokensRefusedError as error:
        await request.write(forget_tokens, service.key, old=stored)
        raise InvalidVideoCallProviderTokenError(service.name) from error


async def _stored(request: Request, service: OAuthService) -> bytes | None:
    actor = request.actor
    async with request.read() as connection:
        return await call_tokens.find(connection, actor.realm_id, actor.user_id, service.key)


async def _sealed(request: Request, tokens: Tokens) -> bytes:
    actor, text = request.actor, msgspec.json.encode(tokens).decode()
    return sealed(await _key(request), actor.realm_id, actor.user_id, text)


async def _unsealed(request: Request, stored: bytes) -> Tokens:
    """Return the tokens. Raises TokensRefusedError if they were encrypted with another key."""
    actor = request.actor
    text = unsealed(await _key(request), actor.realm_id, actor.user_id, stored)
    if text is None:
        raise TokensRefusedError
    return msgspec.json.decode(text, type=Tokens)


async def _key(request: Request) -> bytes:
    async with request.read() as connection:
        return await server_keys.key_for(connection, PURPOSE)
