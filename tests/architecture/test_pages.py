"""Pages: each says who may see it, and is looked at by a test."""

import re
from functools import lru_cache

import pytest

from server.api.endpoint import Access, Request
from server.api.handler import BROWSER_PREFIX
from server.api.pages import PageRoute
from server.api.routes import ROUTES, RoutesError
from server.domain.addresses import API_PREFIX
from server.runtime.pages import Page
from server.web import Site
from server.web.api_pages import INDEX, ONE
from server.web.routes import PAGES
from testkit.sources import ROOT

CALL = {"GET": r"(?:look|go)\(", "POST": r"(?:submit|post)\("}


async def nothing(request: Request) -> Page:
    return Page(200, b"")


def name_of(route: PageRoute) -> str:
    return f"{route.method} {route.path}"


def test_a_page_without_access_is_refused():
    with pytest.raises(RoutesError, match="GET /x does not say who may call it"):
        Site([PageRoute("GET", "/x", None, nothing)])  # type: ignore[arg-type]


def test_no_page_is_where_an_endpoint_is():
    endpoints = {(route.method, route.full_path) for route in ROUTES}
    assert endpoints.isdisjoint((page.method, page.path) for page in PAGES)
    for page in PAGES:
        # Below these nothing is looked for among the pages.
        assert not page.path.startswith((f"{API_PREFIX}/", f"{BROWSER_PREFIX}/")), page.path
        # A path of the API of which there is nothing must not be that of a page.
        assert page.path in {INDEX, ONE} or not page.path.startswith("/api"), page.path
    assert ONE.count("/") == API_PREFIX.count("/")


def test_pages_that_take_forms_of_other_sites_are_few():
    assert {name_of(page) for page in PAGES if page.takes_foreign_forms} == {
        "POST /complete/{provider}"
    }


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_page_is_looked_at_by_a_test(page):
    place, opened, _ = page.path.partition("{")
    # Where a link in a mail leads is not written in a test, but how it begins.
    call = "" if opened else CALL[page.method]
    pattern = re.compile(rf'{call}\s*f?"{place}' + ("" if opened else '/?["?]'))
    assert pattern.search(sources()), name_of(page)


@lru_cache(maxsize=1)
def sources() -> str:
    return "\n".join(path.read_text() for path in sorted((ROOT / "tests" / "web").glob("*.py")))


def test_actions_need_a_session_unless_the_page_is_public():
    assert {page.access for page in PAGES} <= {Access.ANONYMOUS, Access.USER, Access.ADMIN}
