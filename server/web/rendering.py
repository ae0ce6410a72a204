"""Render templates into pages, with security headers."""

import hashlib
from datetime import timedelta
from functools import cache, lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from server.api.browsers import TOKEN_FIELD, cookie
from server.api.endpoint import Request
from server.domain.avatars import icon_key_in
from server.domain.emoji import picture_url
from server.domain.errors import DomainError, RateLimitedError
from server.domain.realm_settings import RealmSettings
from server.domain.sessions import VISITOR, form_token, new_token
from server.i18n import SOURCE, _, translated
from server.runtime.pages import HEADERS, Page, static_content
from server.runtime.templates import templates_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

STATIC: Final = {
    "desktop-app.js": "text/javascript; charset=utf-8",
    "desktop-token.js": "text/javascript; charset=utf-8",
    "favicon.ico": "image/x-icon",
    "icon-192.png": "image/png",
    "icon-512.png": "image/png",
    "icon-maskable-512.png": "image/png",
    "icon-touch-180.png": "image/png",
    "icon.svg": "image/svg+xml",
    "passkeys.js": "text/javascript; charset=utf-8",
    "sign-in-link.js": "text/javascript; charset=utf-8",
    "sign-in.js": "text/javascript; charset=utf-8",
    "style.css": "text/css; charset=utf-8",
}
STATIC_PATH: Final = "/static/{name}"
A_YEAR: Final = 365 * 24 * 3600


async def show(
    request: Request,
    template: str,
    *,
    error: DomainError | None = None,
    form_leads_to: str = "",
    has_script: bool = False,
    **values: Any,
) -> Page:
    """Return a page with the organization's name and icon.

    The template's variables are those of `render`, `token` for its forms, and `problem`, the
    message of `error`, whose status the page has. `form_leads_to`: another origin to which the
    response to its form may redirect. `has_script`: it has a script among the static files.
    """
    body = await render(
        request,
        template,
        token=_token_for(request),
        problem="" if error is None else translated(said(error), request.language),
        **values,
    )
    policy = _policy(form_leads_to, has_script=has_script)
    headers = {**HEADERS, "Content-Security-Policy": policy}
    status = HTTPStatus.OK if error is None else error.status
    return Page(status, body, headers=headers, cookies=request.cookies)


async def render(request: Request, template: str, **values: Any) -> bytes:
    """Render a template with `values`, the realm with its icon, and the caller.

    It is in the language of the request.
    """
    realm, icon, touch_icon = None, None, None
    if request.realm_id is not None:
        realm = await request.realm_cache.realm()
        settings = RealmSettings.of(realm.settings)
        key = settings.icon_key
        icon = None if key is None else picture_url(key)
        if key is not None and settings.icon_sizes:
            touch_icon = picture_url(icon_key_in(settings.icon_sizes[0], key))
    known = {"realm": realm, "icon": icon, "touch_icon": touch_icon, "caller": request.caller}
    environment = _environment(request.language)
    return environment.get_template(template).render({**known, **values}).encode()


def fragment(template: str, **values: Any) -> "Markup":
    """Render a part of a page in English and without personal data.

    It may run in a thread and be cached.
    """
    from markupsafe import Markup  # with the templates: see server/runtime/templates.py

    rendered = _environment(SOURCE).get_template(template).render(values)
    return Markup(rendered)  # noqa: S704 - the template has escaped what it was given


def said(error: DomainError) -> str:
    """Return the message for an error."""
    if isinstance(error, RateLimitedError):
        time = timedelta(seconds=error.details["retry-after"])
        return _("Too many tries. Try again in {time}.", time=time)
    return error.message


def refusal(status: int, sentence: str, language: str) -> Page:
    """Return an error page without any personal data."""
    values = {"realm": None, "icon": None, "caller": None, "sentence": sentence}
    body = _environment(language).get_template("refusal.html").render(values)
    headers = {**HEADERS, "Content-Security-Policy": _policy("")}
    return Page(status, body.encode(), headers=headers)


def go(request: Request, place: str) -> Page:
    """Redirect the browser."""
    return Page(
        HTTPStatus.SEE_OTHER, b"", headers={"Location": place, **HEADERS}, cookies=request.cookies
    )


def static_file(name: str) -> Page | None:
    """Return a static file; None if there is none of this name."""
    return _static(name) if name in STATIC else None


@lru_cache
def _static(name: str) -> Page:
    headers = {**HEADERS, "Cache-Control": f"public, max-age={A_YEAR}, immutable"}
    return Page(HTTPStatus.OK, _content(name), STATIC[name], headers)


def _content(name: str) -> bytes:
    return static_content("server.web", name)


@lru_cache
def static_url(name: str) -> str:
    """Return the URL of a static file, which changes with its content, since browsers cache it."""
    version = hashlib.sha256(_content(name)).hexdigest()[:12]
    return f"{STATIC_PATH.format(name=name)}?v={version}"


def _policy(form_leads_to: str, *, has_script: bool = False) -> str:
    script = " script-src 'self';" if has_script else ""
    return (
        f"default-src 'none'; style-src 'self'; img-src 'self';{script}"
        f" form-action 'self'{form_leads_to and f' {form_leads_to}'};"
        " frame-ancestors 'none'; base-uri 'none'"
    )


def _token_for(request: Request) -> str:
    """Return the token for the page's forms; a visitor without a cookie for it gets one."""
    if request.session is not None:
        return request.session.form_token
    if request.visitor_token is None:
        request.visitor_token = new_token()
        request.cookies.append(cookie(request.app, VISITOR, request.visitor_token))
    return form_token(request.visitor_token)


@cache
def _environment(language: str) -> "Environment":
    environment = templates_of("server.web", language)
    environment.globals |= {"static": static_url, "token_field": TOKEN_FIELD}
    return environment
