"""The site: routing, sessions, rate limits and CSRF protection of all pages."""

from collections.abc import Sequence
from dataclasses import replace

from typing_extensions import override

from server.api.auth import user_of_session
from server.api.browsers import (
    SAFE_METHODS,
    TOKEN_FIELD,
    TOKEN_HEADER,
    comes_from_same_site,
    read_cookie,
    session_of,
)
from server.api.endpoint import Access, Request
from server.api.languages import language_of
from server.api.pages import PageRoute, Pages
from server.api.routes import Router
from server.domain.addresses import API_PREFIX
from server.domain.errors import (
    BadRequestError,
    CsrfFailedError,
    DomainError,
    RealmDeactivatedError,
    UserDeactivatedError,
)
from server.domain.sessions import VISITOR, is_form_token
from server.i18n import _
from server.runtime.pages import Page
from server.web.places import FIND, sign_in_first
from server.web.rendering import go, refusal
from server.web.routes import PAGES


class Site(Pages):
    """Serve the pages. A trailing slash in a path is ignored."""

    def __init__(self, routes: Sequence[PageRoute] = PAGES) -> None:
        self._router = Router([replace(route, path=_plain(route.path)) for route in routes])

    @override
    def serves(self, path: str) -> bool:
        # Paths below the API's prefix are for programs, which read JSON.
        return not path.startswith(API_PREFIX) and self._router.knows(_plain(path))

    @override
    def find(self, method: str, path: str) -> tuple[PageRoute, dict[str, str]]:
        return self._router.find(method, _plain(path))

    @override
    async def answer(self, route: PageRoute, request: Request) -> Page:
        _refuse_nulls(request)
        if not route.is_rate_limited:
            return await route.view(request)
        if request.realm_id is None and not route.is_of_server:
            return go(request, FIND)
        request.session = await session_of(request.app, request.realm_id, request.headers)
        request.visitor_token = read_cookie(request.app, request.headers, VISITOR)
        await _recognize(request)
        if request.caller is not None:
            request.language = language_of(request.caller)
        await _count(route, request)
        if request.method not in SAFE_METHODS and not route.takes_foreign_forms:
            _check_form(request)
        if route.access is Access.ANONYMOUS:
            return await route.view(request)
        if request.caller is None:
            return go(request, sign_in_first(request))
        if route.access is Access.ADMIN and not request.caller.person.is_administrator:
            raise BadRequestError(_("Must be an organization administrator"))
        return await route.view(request)

    @override
    def refusal(self, error: DomainError, language: str) -> Page:
        return refusal(error.status, error.message, language)


def _refuse_nulls(request: Request) -> None:
    """Raise BadRequestError for null characters, which the database does not accept."""
    given = (*request.path_params.values(), *request.query.values(), *request.form.values())
    if any("\0" in text for text in given):
        raise BadRequestError(_("Text cannot hold null characters."))


async def _recognize(request: Request) -> None:
    """Set the caller of a request with a session; sessions of deactivated accounts are invalid."""
    if request.session is None or request.realm_id is None:
        return
    try:
        request.caller = await user_of_session(request.app, request.realm_id, request.session)
    except (RealmDeactivatedError, UserDeactivatedError):
        request.session = None


async def _count(route: PageRoute, request: Request) -> None:
    if not route.is_rate_limited:
        return
    if request.caller is None:
        await request.limits.count_address(request.remote_address, request.response_headers)
    else:
        actor = request.caller
        await request.limits.count_user(actor.realm_id, actor.user_id, request.response_headers)


def _check_form(request: Request) -> None:
    """Raise CsrfFailedError unless a page of this site showed the form to this very browser."""
    token = request.visitor_token if request.session is None else request.session.token
    given = request.headers.get(TOKEN_HEADER) or request.form_value(TOKEN_FIELD)
    if (
        token is None
        or not comes_from_same_site(request.headers)
        or not is_form_token(given, token)
    ):
        raise CsrfFailedError(
            _(
                "This form is too old, or your browser keeps no cookies. Go back, reload the"
                " page, and try again."
            )
        )


def _plain(path: str) -> str:
    return path.rstrip("/") or "/"
