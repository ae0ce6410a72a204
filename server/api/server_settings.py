"""Endpoint of settings that a client needs before sign-in."""

from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from server.api.endpoint import Access, Endpoint, NoParams, Request, Result
from server.domain.avatars import icon_url
from server.domain.providers import OAUTH2, OIDC, SAML
from server.domain.realm_settings import DEFAULTS, RealmSettings
from server.domain.sign_in import (
    BROWSER,
    LDAP,
    LOGIN_PATH,
    METHODS,
    PASSWORDS,
    is_too_old,
    takes_passwords,
)
from server.realm_cache import RealmCache
from server.runtime.version import announced
from storage import channels


class ExternalMethod(msgspec.Struct, kw_only=True):
    """A sign-in method at another site."""

    name: str
    display_name: str
    display_icon: str | None
    login_url: str
    signup_url: str


class ServerSettings(Result):
    authentication_methods: dict[str, bool]
    external_authentication_methods: list[ExternalMethod]
    service_feature_level: int
    service_version: str
    service_merge_base: str
    zulip_feature_level: int
    zulip_version: str
    zulip_merge_base: str
    push_notifications_enabled: bool
    is_incompatible: bool
    email_auth_enabled: bool
    require_email_format_usernames: bool
    realm_url: str | UnsetType = UNSET
    realm_uri: str | UnsetType = UNSET
    realm_name: str | UnsetType = UNSET
    realm_icon: str | UnsetType = UNSET
    realm_description: str | UnsetType = UNSET
    realm_web_public_access_enabled: bool | UnsetType = UNSET


BY_BROWSER: Final = ExternalMethod(
    name=BROWSER,
    display_name="your browser",
    display_icon=None,
    login_url=LOGIN_PATH,
    signup_url="/register/",
)
"""The server's own pages in a browser: the way of accounts with a second factor."""


async def get(request: Request, params: NoParams) -> ServerSettings:
    del params
    settings = DEFAULTS
    of_realm: dict[str, Any] = {}
    if request.realm_id is not None:
        realm_cache = request.app.realm_caches.of(request.realm_id)
        settings = await realm_cache.settings()
        of_realm = await _of_realm(request, realm_cache)
    available = request.app.settings.sign_in_methods
    by_password = settings.wants_method(PASSWORDS)
    by_ldap = LDAP in available and settings.wants_method(LDAP)
    elsewhere, providers = _elsewhere(request, settings), request.app.settings.sign_in_providers
    takes = request.realm_id is not None and takes_passwords(settings, available)
    by_browser = [BY_BROWSER] if takes else []
    usable = {
        "dev": request.app.settings.development,
        "password": takes_passwords(settings, available),
        "email": by_password,
        "ldap": by_ldap,
        **{providers.method_of(name).lower(): True for name in elsewhere},
    }
    return ServerSettings(
        authentication_methods={name: usable.get(name, False) for name in METHODS},
        external_authentication_methods=[*elsewhere.values(), *by_browser],
        push_notifications_enabled=request.app.pushes is not None,
        is_incompatible=is_too_old(request.headers.get("User-Agent") or ""),
        email_auth_enabled=by_password,
        require_email_format_usernames=not by_ldap,
        **announced(),
        **of_realm,
    )


def _elsewhere(request: Request, settings: RealmSettings) -> dict[str, ExternalMethod]:
    """Return the realm's external sign-in methods, in the order of the settings."""
    providers = request.app.settings.sign_in_providers
    return {
        name: ExternalMethod(
            name=_wire_name(name, providers.kind_of(name)),
            display_name=providers.label_of(name),
            display_icon=None,
            login_url=f"/accounts/login/social/{name}",
            signup_url=f"/accounts/register/social/{name}",
        )
        for name in providers
        if request.realm_id is not None and settings.wants_method(providers.method_of(name))
    }


def _wire_name(name: str, kind: str) -> str:
    """Return the wire name: if there may be several of a kind, the kind is part of it."""
    return f"{kind}:{name}" if kind in {OAUTH2, OIDC, SAML} else name


async def _of_realm(request: Request, realm_cache: RealmCache) -> dict[str, Any]:
    """Return the public settings of the realm at this address."""
    realm, settings = await realm_cache.realm(), await realm_cache.settings()
    address = realm_cache.address_of(realm)
    opened = request.app.settings.web_public_channels and settings.enable_spectator_access
    if opened:
        async with request.read() as connection:
            opened = await channels.has_web_public(connection, realm.realm_id)
    return {
        "realm_url": address.url,
        "realm_uri": address.url,
        "realm_name": realm.name,
        "realm_icon": icon_url(realm, address),
        "realm_description": realm.rendered_description,
        "realm_web_public_access_enabled": opened,
    }


ENDPOINTS = (
    Endpoint(
        "GET",
        "/server_settings",
        Access.ANONYMOUS,
        NoParams,
        get,
        ServerSettings,
        summary="Get what clients need before sign-in",
        description=(
            "Version, ways to sign in, and name, icon and description of the organization at"
            " this address. Needs no credentials."
        ),
    ),
)
