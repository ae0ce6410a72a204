"""The page of the browser client, and what browsers need to install it."""

import hashlib
from http import HTTPStatus
from typing import Any, Final

import orjson

from server.api.endpoint import Access, Request
from server.api.files import is_known
from server.api.languages import page_language
from server.api.pages import PageRoute
from server.domain.avatars import icon_key_in
from server.domain.emoji import picture_url
from server.domain.realm_settings import RealmSettings
from server.domain.user_settings import UserSettings
from server.i18n import catalogue_language
from server.runtime.pages import HEADERS, Page
from server.web.build import Build, build_of
from server.web.clients import clients
from server.web.conversations import has_spectators
from server.web.places import HOME, sign_in_first
from server.web.rendering import go, render, static_file, static_url
from storage import channels

THEME: Final = {"light": "#f5f6f8", "dark": "#12161d"}
"""Colours of the window's frame, as of the page's ground (server/static/base.css)."""
GRAVATAR_HOST: Final = "https://secure.gravatar.com"
SHARED: Final = {"title": "share_title", "text": "share_text", "url": "share_url"}
"""Query parameters of the page, by what another app shares with this one."""
ICONS: Final = (
    ("icon.svg", "any", "image/svg+xml", "any"),
    ("icon-192.png", "192x192", "image/png", "any"),
    ("icon-512.png", "512x512", "image/png", "any"),
    ("icon-maskable-512.png", "512x512", "image/png", "maskable"),
)
"""File, size, type and purpose of the product's own icons."""
SMALL_ICON: Final = 100
"""Width and height of an uploaded icon, of which there are larger ones since a later release."""
A_DAY: Final = "public, max-age=86400"


async def first_page(request: Request) -> Page:
    """Return the browser client for users, and for visitors where channels are web-public.

    Other visitors are sent to sign in. Without a build of the client, users get the page that
    tells how to connect others.
    """
    build = build_of(request.app)
    if build is None:
        return await clients(request) if request.caller else go(request, sign_in_first(request))
    if request.caller is None and not await _is_open(request):
        return go(request, sign_in_first(request))
    return await _client(request, build)


async def _is_open(request: Request) -> bool:
    """Return whether visitors find a channel to read."""
    if not await has_spectators(request):
        return False
    async with request.read() as connection:
        return await channels.has_web_public(connection, request.realm_cache.realm_id)


async def _client(request: Request, build: Build) -> Page:
    if request.caller is None:
        language = await page_language(request)
    else:
        language = UserSettings.of(request.caller.row.settings).default_language
    # The client compares it with the settings, and has catalogues of its own.
    request.language = catalogue_language(language)
    body = await render(
        request,
        "app.html",
        build=build,
        language=language,
        theme=THEME,
        csrf_token="" if request.session is None else request.session.form_token,
    )
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {
        **HEADERS,
        "Cache-Control": "private, no-cache",
        "Content-Security-Policy": await _policy(request),
        "ETag": etag,
        "Vary": "Cookie, Accept-Language",
    }
    if is_known(request.headers.get("If-None-Match"), etag):
        return Page(HTTPStatus.NOT_MODIFIED, b"", headers=headers, cookies=request.cookies)
    return Page(HTTPStatus.OK, body, headers=headers, cookies=request.cookies)


async def _policy(request: Request) -> str:
    """Return the Content-Security-Policy: nothing is loaded from other hosts unless set so."""
    address = await request.realm_cache.address()
    hosts = sorted(f"https://{host}" for host in request.app.settings.media_hosts)
    pictures = [*([GRAVATAR_HOST] if address.gravatars else []), *hosts]
    directives = {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:", *pictures],
        "connect-src": ["'self'"],
        "worker-src": ["'self'"],
        "manifest-src": ["'self'"],
        "media-src": ["'self'", *hosts],
        "font-src": ["'self'"],
        "require-trusted-types-for": ["'script'"],
        "trusted-types": ["parley-parse", "parley-message", "parley-script"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
    }
    return "; ".join(f"{name} {' '.join(sources)}" for name, sources in directives.items())


async def manifest(request: Request) -> Page:
    """Return what the system shows of the installed client, and what apps may share with it."""
    name, icons = "Parley", _product_icons()
    if request.realm_id is not None:
        realm = await request.realm_cache.realm()
        name = realm.name
        icons = _own_icons(RealmSettings.of(realm.settings)) or icons
    described: dict[str, Any] = {
        "id": HOME,
        "name": name,
        "short_name": name,
        "start_url": HOME,
        "scope": HOME,
        "display": "standalone",
        "background_color": THEME["light"],
        "theme_color": THEME["light"],
        "icons": icons,
        "share_target": {"action": HOME, "method": "GET", "params": SHARED},
    }
    headers = {**HEADERS, "Cache-Control": "no-cache"}
    return Page(HTTPStatus.OK, orjson.dumps(described), "application/manifest+json", headers)


def _product_icons() -> list[dict[str, str]]:
    return [
        {"src": static_url(file), "sizes": size, "type": kind, "purpose": purpose}
        for file, size, kind, purpose in ICONS
    ]


def _own_icons(settings: RealmSettings) -> list[dict[str, str]]:
    """Return the organization's icon in its sizes, the product's beside one that is only small."""
    if settings.icon_key is None:
        return []
    keys = {SMALL_ICON: settings.icon_key}
    keys |= {size: icon_key_in(size, settings.icon_key) for size in settings.icon_sizes}
    own = [
        {"src": picture_url(key), "sizes": f"{size}x{size}", "type": "image/png", "purpose": "any"}
        for size, key in keys.items()
    ]
    return own if settings.icon_sizes else [*own, *_product_icons()]


async def favicon(request: Request) -> Page:
    """Return the icon for what asks at the common place: the organization's, if it has one."""
    if request.realm_id is not None:
        key = (await request.realm_cache.settings()).icon_key
        if key is not None:
            headers = {**HEADERS, "Location": picture_url(key), "Cache-Control": A_DAY}
            return Page(HTTPStatus.FOUND, b"", headers=headers)
    found = static_file("favicon.ico")
    assert found is not None, "it is packaged"
    return Page(found.status, found.body, found.kind, {**found.headers, "Cache-Control": A_DAY})


PAGES = (
    PageRoute("GET", HOME, Access.ANONYMOUS, first_page),
    PageRoute("GET", "/manifest.webmanifest", Access.ANONYMOUS, manifest, is_rate_limited=False),
    PageRoute("GET", "/favicon.ico", Access.ANONYMOUS, favicon, is_rate_limited=False),
)
