"""Cookies, the sessions that they identify, and protection against cross-site request forgery."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from tornado.httputil import parse_cookie

from server.app import App
from server.domain.errors import CsrfFailedError
from server.domain.sessions import (
    MAX_TOKEN_LENGTH,
    SECURE_PREFIX,
    SESSION,
    Session,
    digest_of,
    is_form_token,
)
from server.i18n import _
from storage import sessions
from storage.ids import RealmId

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""They change nothing, so they need no CSRF protection."""
SAME_SITE: Final = frozenset({"same-origin", "none"})
TOKEN_HEADER: Final = "X-CSRFToken"  # noqa: S105 - a name
TOKEN_FIELD: Final = "csrfmiddlewaretoken"  # noqa: S105 - a name


def is_over_tls(app: App) -> bool:
    """Return whether browsers reach this server over TLS, which its cookies then require."""
    return app.settings.public_url.startswith("https:")


def comes_from_same_site(headers: Mapping[str, str]) -> bool:
    """Return whether a page of this very origin sent the form, as far as the browser reports it."""
    site = headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in SAME_SITE
    origin = headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == headers.get("Host")


def cookie_value(headers: Mapping[str, str], name: str) -> str:
    """Return the value of a cookie; empty if there is none."""
    return parse_cookie(headers.get("Cookie", "")).get(name, "")


def set_cookie(
    name: str,
    value: str,
    *,
    path: str = "/",
    same_site: str = "Lax",
    seconds: int | None = None,
    is_http_only: bool = True,
    is_secure: bool,
) -> str:
    """Return a value of `Set-Cookie`. Without `seconds` it lasts until the browser is closed."""
    parts = [f"{name}={value}", f"Path={path}", f"SameSite={same_site}"]
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    if is_http_only:
        parts.append("HttpOnly")
    if is_secure:
        parts.append("Secure")
    return "; ".join(parts)


def read_cookie(
    app: App, headers: Mapping[str, str], name: str, *, longest: int = MAX_TOKEN_LENGTH
) -> str | None:
    """Return the value of a cookie made by `cookie`; None if it is missing, empty or too long."""
    value = cookie_value(headers, _full_name(app, name))
    return value if 0 < len(value) <= longest else None


def cookie(
    app: App,
    name: str,
    value: str,
    *,
    seconds: int | None = None,
    scripts_may: bool = False,
    others_may_post: bool = False,
) -> str:
    """Return a `Set-Cookie` value for so long, or until the browser is closed.

    0 deletes the cookie.

    `others_may_post`: it is sent along with a form of another site, too, if there is TLS.
    """
    is_secure = is_over_tls(app)
    return set_cookie(
        _full_name(app, name),
        value,
        same_site="None" if others_may_post and is_secure else "Lax",
        seconds=seconds,
        is_http_only=not scripts_may,
        is_secure=is_secure,
    )


def _full_name(app: App, name: str) -> str:
    return SECURE_PREFIX + name if is_over_tls(app) else name


async def session_of(
    app: App, realm_id: RealmId | None, headers: Mapping[str, str]
) -> Session | None:
    """Return the session of the request's cookie; None if it has ended.

    The database is queried each time, so that it ends everywhere at once.
    """
    token = read_cookie(app, headers, SESSION)
    if token is None or realm_id is None:
        return None
    async with app.database.connection() as connection:
        user_id = await sessions.user_of(connection, realm_id, digest_of(token))
    return None if user_id is None else Session(token, user_id)


def check_form(token: str, given: str) -> None:
    """Raise CsrfFailedError unless the form was rendered for the holder of the token."""
    if not is_form_token(given, token):
        raise CsrfFailedError(_("CSRF check failed: this form is too old, or none of ours."))
