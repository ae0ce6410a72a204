"""Cookies of browsers, and the sessions that they stand for."""

from collections.abc import Mapping
from typing import Final

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
from storage import sessions
from storage.ids import RealmId

SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
"""They change nothing, so any user may lead a browser to them."""
TOKEN_HEADER: Final = "X-CSRFToken"  # noqa: S105 - a name
TOKEN_FIELD: Final = "csrfmiddlewaretoken"  # noqa: S105 - a name


def is_over_tls(app: App) -> bool:
    """Whether people reach this server over TLS: what their browsers keep then stays there."""
    return app.settings.public_url.startswith("https:")


def read_cookie(
    app: App, headers: Mapping[str, str], name: str, *, longest: int = MAX_TOKEN_LENGTH
) -> str | None:
    """The cookie of this name, as `cookie` makes it; None if there is none worth looking at."""
    value = parse_cookie(headers.get("Cookie", "")).get(_full_name(app, name), "")
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
    """Return what a browser is to keep, for so long or until it is closed; 0: it is to forget it.

    `others_may_post`: it is sent along with a form of another site, too, where there is TLS.
    """
    same_site = "None" if others_may_post and is_over_tls(app) else "Lax"
    parts = [f"{_full_name(app, name)}={value}", "Path=/", f"SameSite={same_site}"]
    if seconds is not None:
        parts.append(f"Max-Age={seconds}")
    if not scripts_may:
        parts.append("HttpOnly")
    if is_over_tls(app):
        parts.append("Secure")
    return "; ".join(parts)


def _full_name(app: App, name: str) -> str:
    return SECURE_PREFIX + name if is_over_tls(app) else name


async def session_of(
    app: App, realm_id: RealmId | None, headers: Mapping[str, str]
) -> Session | None:
    """Return the session whose cookie the request has; None if it has ended.

    The database is asked each time, so that it ends everywhere at once.
    """
    token = read_cookie(app, headers, SESSION)
    if token is None or realm_id is None:
        return None
    async with app.database.connection() as connection:
        user_id = await sessions.user_of(connection, realm_id, digest_of(token))
    return None if user_id is None else Session(token, user_id)


def check_form(token: str, given: str) -> None:
    """Raise CsrfFailedError unless what was sent was shown to the holder of the token."""
    if not is_form_token(given, token):
        raise CsrfFailedError("CSRF check failed: this form is too old, or none of ours.")
