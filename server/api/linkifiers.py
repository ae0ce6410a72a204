"""Linkifiers and playgrounds over HTTP."""

from server.actions import linkifiers
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.events.linkifiers import ShownLinkifier
from storage import linkifiers as rows
from storage.ids import LinkifierId, PlaygroundId


class LinkifierParams(Params):
    pattern: str
    url_template: str


class ChangeParams(LinkifierParams):
    filter_id: int


class OneParams(Params):
    filter_id: int


class OrderParams(Params):
    ordered_linkifier_ids: list[int]


class PlaygroundParams(Params):
    name: str
    pygments_language: str
    url_template: str


class OnePlaygroundParams(Params):
    playground_id: int


class LinkifiersResult(Result):
    linkifiers: list[ShownLinkifier]


class IdResult(Result):
    id: int


async def list_all(request: Request, params: NoParams) -> LinkifiersResult:
    del params
    async with request.read() as connection:
        found = await rows.of_realm(connection, request.actor.realm_id)
    return LinkifiersResult(linkifiers=[ShownLinkifier.of(row) for row in found])


async def add(request: Request, params: LinkifierParams) -> IdResult:
    added = await request.write(linkifiers.add_linkifier, params.pattern, params.url_template)
    return IdResult(id=added)


async def change(request: Request, params: ChangeParams) -> Empty:
    await request.write(
        linkifiers.change_linkifier,
        LinkifierId(params.filter_id),
        params.pattern,
        params.url_template,
    )
    return Empty()


async def remove(request: Request, params: OneParams) -> Empty:
    await request.write(linkifiers.remove_linkifier, LinkifierId(params.filter_id))
    return Empty()


async def order(request: Request, params: OrderParams) -> Empty:
    ids = [LinkifierId(each) for each in params.ordered_linkifier_ids]
    await request.write(linkifiers.order_linkifiers, ids)
    return Empty()


async def add_playground(request: Request, params: PlaygroundParams) -> IdResult:
    added = await request.write(
        linkifiers.add_playground, params.name, params.pygments_language, params.url_template
    )
    return IdResult(id=added)


async def remove_playground(request: Request, params: OnePlaygroundParams) -> Empty:
    await request.write(linkifiers.remove_playground, PlaygroundId(params.playground_id))
    return Empty()


ENDPOINTS = (
    Endpoint("GET", "/realm/linkifiers", Access.USER, NoParams, list_all, LinkifiersResult),
    Endpoint("PATCH", "/realm/linkifiers", Access.ADMIN, OrderParams, order),
    Endpoint("POST", "/realm/filters", Access.ADMIN, LinkifierParams, add, IdResult),
    Endpoint("PATCH", "/realm/filters/{filter_id}", Access.ADMIN, ChangeParams, change),
    Endpoint("DELETE", "/realm/filters/{filter_id}", Access.ADMIN, OneParams, remove),
    Endpoint(
        "POST", "/realm/playgrounds", Access.ADMIN, PlaygroundParams, add_playground, IdResult
    ),
    Endpoint(
        "DELETE",
        "/realm/playgrounds/{playground_id}",
        Access.ADMIN,
        OnePlaygroundParams,
        remove_playground,
    ),
)
