"""What answers where people look: every page, and the way to one."""

from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

from typing_extensions import override

from server.api.auth import holder_of
from server.api.browsers import SAFE_METHODS, TOKEN_FIELD, TOKEN_HEADER, read_cookie, session_of
from server.api.endpoint import Access
from server.api.routes import Router
from server.api.visits import PageRoute, Pages, Visit
from server.domain.addresses import API_PREFIX
from server.domain.errors import (
    BadRequestError,
    CsrfFailedError,
    DomainError,
    RealmDeactivatedError,
    UserDeactivatedError,
)
from server.domain.sessions import VISITOR, is_form_token
from server.runtime.pages import Page
from server.web.places import FIND, sign_in_first
from server.web.rendering import go, refusal
from server.web.routes import PAGES

SAME_SITE: Final = frozenset({"same-origin", "none"})


class Site(Pages):
    """The pages. Their paths may end with a slash, or not."""

    def __init__(self, routes: Sequence[PageRoute] = PAGES) -> None:
        self._router = Router(routes)

    @override
    def serves(self, path: str) -> bool:
        # What begins as paths of the API do is for programs, which read JSON.
        return not path.startswith(API_PREFIX) and self._router.knows(_plain(path))

    @override
    def find(self, method: str, path: str) -> tuple[PageRoute, dict[str, str]]:
        return self._router.find(method, _plain(path))

    @override
    async def answer(self, route: PageRoute, visit: Visit) -> Page:
        _refuse_nulls(visit)
        if visit.realm_id is None and not (route.is_of_server or not route.is_rate_limited):
            return go(visit, FIND)
        visit.session = await session_of(visit.app, visit.realm_id, visit.headers)
        visit.visitor = read_cookie(visit.app, visit.headers, VISITOR)
        await _recognize(visit)
        await _count(route, visit)
        if visit.method not in SAFE_METHODS and not route.takes_foreign_forms:
            _check_form(visit)
        if route.access is Access.ANONYMOUS:
            return await route.view(visit)
        if visit.caller is None:
            return go(visit, sign_in_first(visit))
        if route.access is Access.ADMIN and not visit.caller.person.is_administrator:
            raise BadRequestError("Must be an organization administrator")
        return await route.view(visit)

    @override
    def refusal(self, error: DomainError) -> Page:
        return refusal(error.status, error.message)


def _refuse_nulls(visit: Visit) -> None:
    """Raise BadRequestError for text that no database takes."""
    given = (*visit.place.values(), *visit.query.values(), *visit.form.values())
    if any("\0" in text for text in given):
        raise BadRequestError("Text cannot hold null characters.")


async def _recognize(visit: Visit) -> None:
    """Know whoever has signed in. Whose account is closed has no session any more."""
    if visit.session is None or visit.realm_id is None:
        return
    try:
        visit.caller = await holder_of(visit.app, visit.realm_id, visit.session)
    except (RealmDeactivatedError, UserDeactivatedError):
        visit.session = None


async def _count(route: PageRoute, visit: Visit) -> None:
    if not route.is_rate_limited:
        return
    if visit.caller is None:
        await visit.limits.count_address(visit.remote_address, visit.limit_headers)
    else:
        actor = visit.caller
        await visit.limits.count_user(actor.realm_id, actor.user_id, visit.limit_headers)


def _check_form(visit: Visit) -> None:
    """Raise CsrfFailedError unless a page of ours has shown the form, to this very browser."""
    token = visit.visitor if visit.session is None else visit.session.token
    given = visit.headers.get(TOKEN_HEADER) or visit.sent(TOKEN_FIELD)
    if token is None or not _comes_from_here(visit) or not is_form_token(given, token):
        raise CsrfFailedError(
            "This form is too old, or your browser keeps no cookies. Go back, reload the page,"
            " and try again."
        )


def _comes_from_here(visit: Visit) -> bool:
    """Whether a form was sent by a page of ours, as far as the browser tells."""
    site = visit.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site in SAME_SITE
    origin = visit.headers.get("Origin")
    return origin is None or urlsplit(origin).netloc == visit.host


def _plain(path: str) -> str:
    return path.rstrip("/") or "/"
