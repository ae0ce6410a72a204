"""API reference, in English: an index with a search, and a page for each operation."""

import asyncio
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from server.api.endpoint import Access, Request
from server.api.pages import PageRoute
from server.domain.errors import NotFoundError
from server.i18n import SOURCE, _
from server.runtime.pages import Page
from server.web.reference import MAX_QUERY, read_reference
from server.web.rendering import fragment, show

if TYPE_CHECKING:
    from markupsafe import Markup

INDEX: Final = "/api"
ONE: Final = "/api/{operation}"
EXAMPLE_SITE: Final = "https://chat.example.com"
_CODE: Final = re.compile(r"`([^`]+)`")


async def index(request: Request) -> Page:
    """Return all operations by area, or the results of a search."""
    query = " ".join(request.query.get("q", "")[:MAX_QUERY].split())
    body = await asyncio.to_thread(_found, query) if query else await asyncio.to_thread(_areas)
    request.language = SOURCE
    return await show(
        request,
        "api.html",
        query=query,
        body=body,
        introduction=[] if query else read_reference().introduction,
        site=await _site(request),
        email=request.caller.row.email if request.caller else "you@example.com",
        prose=prose,
    )


async def one(request: Request) -> Page:
    """Return an operation with its parameters, an example, and the other ones of its area."""
    reference = await asyncio.to_thread(read_reference)
    operation = reference.by_name.get(request.path_params["operation"])
    if operation is None:
        raise NotFoundError(_("There is no such operation."))
    body = await asyncio.to_thread(_body_of, operation.name)
    request.language = SOURCE
    return await show(request, "api_operation.html", operation=operation, body=body)


# Parts without personal data are rendered in a thread: the organization's settings take 12 ms.


@lru_cache(maxsize=1)
def _areas() -> "Markup":
    reference = read_reference()
    return fragment("api_areas.html", areas=reference.areas, count=len(reference.by_name))


def _found(query: str) -> "Markup":
    return fragment("api_found.html", found=read_reference().find(query))


@lru_cache(maxsize=256)
def _body_of(name: str) -> "Markup":
    reference = read_reference()
    operation = reference.by_name[name]
    area = reference.area_of(operation)
    return fragment("api_operation_body.html", operation=operation, area=area, prose=prose)


async def _site(request: Request) -> str:
    if request.realm_id is None:
        return EXAMPLE_SITE
    return (await request.realm_cache.address()).url


def prose(text: str) -> "Markup":
    """Return the text as HTML, with code for text in backquotes."""
    from markupsafe import Markup  # with the templates: see server/runtime/templates.py

    parts = _CODE.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if number % 2 else part
        for number, part in enumerate(parts)
    )


PAGES = (
    PageRoute("GET", INDEX, Access.ANONYMOUS, index, is_of_server=True),
    PageRoute("GET", ONE, Access.ANONYMOUS, one, is_of_server=True),
)
