"""Authentication: from a request's credentials to its actor."""

import base64
import binascii
import hmac
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from server.app import App
from server.domain.actor import Actor, spectator
from server.domain.api_keys import API_KEY_LENGTH, Scope, digest_of, is_named, reaches, scopes_of
from server.domain.bots import INCOMING_WEBHOOK
from server.domain.errors import (
    InvalidApiKeyError,
    InvalidParameterError,
    NonexistentSubdomainError,
    RealmDeactivatedError,
    UnauthorizedError,
    UserDeactivatedError,
)
from server.domain.sessions import Session
from server.i18n import _
from server.realm_cache import RealmCache
from server.runtime.batch_loader import BatchLoader
from storage import api_keys, credentials, realms
from storage.ids import RealmId
from storage.users import UserRow

MAX_CLIENT_NAME_LENGTH: Final = 30
_PRODUCT: Final = re.compile(r"^\s*([A-Za-z][\w.-]*)")
NO_CREDENTIALS: Final = _("Not logged in: API authentication or user session required")


class Realms:
    """Resolves host names to realms. Subdomains are never reassigned, so they are cached."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._by_subdomain: dict[str, RealmId] = {}
        self._asked = BatchLoader(self._read)

    async def of_host(self, host: str) -> RealmId | None:
        """Return the realm of a host name; None for the root of a server with subdomains.

        Raises NonexistentSubdomainError.
        """
        subdomain = self._subdomain(host)
        realm_id = self._by_subdomain.get(subdomain)
        if realm_id is None:
            realm_id = await self._asked.find(subdomain)
        if realm_id is None and subdomain != "":
            raise NonexistentSubdomainError(_("There is no organization at this address."))
        return realm_id

    async def _read(self, subdomains: Sequence[str]) -> dict[str, RealmId]:
        async with self._app.database.connection() as connection:
            found = await realms.ids_of_subdomains(connection, subdomains)
        self._by_subdomain |= found
        return found

    def _subdomain(self, host: str) -> str:
        root = self._app.settings.root_domain
        if root is None:
            return ""
        name = host.lower()
        if ":" not in root:
            name = name.rsplit(":", 1)[0] if re.search(r":\d+$", name) else name
        if name == root.lower() or not name.endswith("." + root.lower()):
            return ""
        return name[: -len(root) - 1]


async def authenticate(app: App, realm_id: RealmId | None, authorization: str | None) -> Actor:
    """Return the active user with this email and API key.

    Raises a DomainError of status 401.
    """
    email, api_key = _credentials(authorization)
    if realm_id is None:
        raise InvalidApiKeyError(_("Account is not associated with this subdomain"))
    realm_cache = app.realm_caches.of(realm_id)
    row = await realm_cache.user_by_email(email)
    if is_named(api_key):
        return await _by_named_key(app, realm_cache, row, api_key)
    known = row.api_key if row is not None else "-" * API_KEY_LENGTH
    matches = hmac.compare_digest(known.encode(), api_key.encode())
    if row is None or not matches:
        raise InvalidApiKeyError(_("Invalid API key"))
    return await _active_actor(realm_cache, row)


async def _by_named_key(
    app: App, realm_cache: RealmCache, row: UserRow | None, api_key: str
) -> Actor:
    """Return the user of this row, if the key is theirs.

    The database is queried each time, so that a revocation takes effect everywhere at once.
    """
    async with app.database.connection() as connection:
        key = await api_keys.used(connection, realm_cache.realm_id, digest_of(api_key))
        if row is None or key is None or key.user_id != row.user_id:
            raise InvalidApiKeyError(_("Invalid API key"))
        if not key.is_noted:
            await api_keys.note_use(connection, realm_cache.realm_id, key.key_id)
    actor, scopes = await _active_actor(realm_cache, row), scopes_of(key.scopes)
    if actor.scopes is not None:
        scopes = frozenset(scope for scope in actor.scopes if reaches(scopes, scope))
    return replace(actor, scopes=scopes)


async def user_by_api_key(app: App, realm_id: RealmId | None, api_key: str | None) -> Actor:
    """Return the active user of a key, without an address.

    Raises a DomainError of status 401.
    """
    if not api_key or realm_id is None:
        raise UnauthorizedError(_("Missing 'api_key' in the address"))
    realm_cache = app.realm_caches.of(realm_id)
    digest = digest_of(api_key)
    if is_named(api_key):
        async with app.database.connection() as connection:
            key = await api_keys.used(connection, realm_id, digest)
        user_id = None if key is None else key.user_id
    else:
        # It may be of an earlier key: the row decides.
        user_id = await realm_cache.derived(
            ("api key", digest),
            lambda connection: credentials.user_of_key(connection, realm_id, digest),
        )
    row = None if user_id is None else await realm_cache.user(user_id)
    if row is None:
        raise InvalidApiKeyError(_("Invalid API key"))
    if is_named(api_key):
        return await _by_named_key(app, realm_cache, row, api_key)
    if not hmac.compare_digest(row.api_key.encode(), api_key.encode()):
        raise InvalidApiKeyError(_("Invalid API key"))
    return await _active_actor(realm_cache, row)


async def webhook_caller(
    app: App, realm_id: RealmId | None, authorization: str | None, api_key: str | None
) -> Actor:
    """Return the user of the credentials, or of the key in a webhook's address.

    Services that authenticate themselves send the secret of an incoming webhook bot in the header,
    which is no key. Raises a DomainError of status 401.
    """
    if authorization is None:
        return await user_by_api_key(app, realm_id, api_key)
    try:
        return await authenticate(app, realm_id, authorization)
    except (InvalidApiKeyError, UnauthorizedError) as refusal:
        if api_key is None:
            raise
        caller = await user_by_api_key(app, realm_id, api_key)
        if caller.row.bot_type != INCOMING_WEBHOOK:
            raise refusal from None
        return caller


async def user_of_session(app: App, realm_id: RealmId, session: Session) -> Actor:
    """Return the active user of the session. Raises a DomainError of status 401."""
    realm_cache = app.realm_caches.of(realm_id)
    row = await realm_cache.user(session.user_id)
    if row is None:
        raise UnauthorizedError(NO_CREDENTIALS)
    return await _active_actor(realm_cache, row)


async def _active_actor(realm_cache: RealmCache, row: UserRow) -> Actor:
    if (await realm_cache.realm()).deactivated:
        raise RealmDeactivatedError(_("This organization has been deactivated"))
    if not row.is_active:
        raise UserDeactivatedError(_("Account is deactivated"))
    # Their keys are part of URLs, which many get to see.
    narrow = frozenset({Scope.MESSAGES}) if row.bot_type == INCOMING_WEBHOOK else None
    return Actor(realm_cache.realm_id, row, scopes=narrow)


async def spectator_or_user(app: App, realm_id: RealmId | None, authorization: str | None) -> Actor:
    """Authenticate; without credentials return a spectator if the realm allows it."""
    if authorization is None and realm_id is not None and app.settings.web_public_channels:
        realm_cache = app.realm_caches.of(realm_id)
        settings = await realm_cache.settings()
        if settings.enable_spectator_access and not (await realm_cache.realm()).deactivated:
            return spectator(realm_id, settings.user_settings_defaults, app.clock.now())
    return await authenticate(app, realm_id, authorization)


def _credentials(authorization: str | None) -> tuple[str, str]:
    if not authorization:
        raise UnauthorizedError(NO_CREDENTIALS)
    scheme, _blank, encoded = authorization.partition(" ")
    if scheme.lower() != "basic":
        raise UnauthorizedError(_("This endpoint requires HTTP basic authentication."))
    try:
        email, colon, api_key = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise UnauthorizedError(_("Invalid authorization header for basic auth")) from None
    if not colon or not email or "\0" in email:
        raise UnauthorizedError(NO_CREDENTIALS)
    return email, api_key


def address_in(authorization: str | None) -> str:
    """Return the address in a header of basic authentication; empty if there is none."""
    try:
        return _credentials(authorization)[0]
    except UnauthorizedError:
        return ""


def named_key(authorization: str | None) -> str | None:
    """Return the key, if the credentials are a named key.

    Raises a DomainError of status 401.
    """
    _, api_key = _credentials(authorization)
    return api_key if is_named(api_key) else None


def client_name(parameter: str | None, user_agent: str | None) -> str:
    """Return the client's name: the parameter `client`, else the product in User-Agent.

    Raises InvalidParameterError for an invalid name.
    """
    if parameter and "\0" in parameter:
        raise InvalidParameterError("client", _("client must not contain null characters"))
    if parameter:
        return parameter.strip()[:MAX_CLIENT_NAME_LENGTH] or "Unspecified"
    product = _PRODUCT.match(user_agent or "")
    return product[1][:MAX_CLIENT_NAME_LENGTH] if product else "Unspecified"
