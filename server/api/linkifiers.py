"""Endpoints of linkifiers and playgrounds."""

from server.actions import linkifiers
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.events.linkifiers import ShownLinkifier
from storage import linkifiers as rows
from storage.ids import LinkifierId, PlaygroundId


class LinkifierParams(Params):
    pattern: str
    """Regular expression in RE2's syntax, with named groups such as `(?P<id>[0-9]+)`."""
    url_template: str
    """Address as a URI template (RFC 6570) with the groups of the pattern as its variables."""
    example_input: str | None = None
    """Text that the pattern matches, as an example; empty for none."""
    reverse_template: str | None = None
    """Template of the text that becomes a link, with the same variables: clients turn a pasted
    address into it. Empty for none."""
    alternative_url_templates: list[str] | None = None
    """Other addresses that clients turn into that text as well, as URI templates."""

    def extras(self) -> linkifiers.LinkifierExtras:
        """Return what clients need besides the pattern and its URL."""
        return linkifiers.LinkifierExtras(
            example_input=self.example_input,
            reverse_template=self.reverse_template,
            alternative_url_templates=self.alternative_url_templates,
        )


class ChangeParams(LinkifierParams):
    filter_id: int
    """Id of the linkifier."""


class OneParams(Params):
    filter_id: int
    """Id of the linkifier."""


class OrderParams(Params):
    ordered_linkifier_ids: list[int]
    """Ids of all linkifiers, in the new order."""


class PlaygroundParams(Params):
    name: str
    """Name of the playground, as users see it."""
    pygments_language: str
    """Language of the blocks of code, by its name in Pygments."""
    url_template: str
    """Address as a URI template (RFC 6570) with the one variable `code`."""


class OnePlaygroundParams(Params):
    playground_id: int
    """Id of the playground."""


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
    added = await request.write(
        linkifiers.add_linkifier, params.pattern, params.url_template, params.extras()
    )
    return IdResult(id=added)


async def change(request: Request, params: ChangeParams) -> Empty:
    await request.write(
        linkifiers.change_linkifier,
        LinkifierId(params.filter_id),
        params.pattern,
        params.url_template,
        params.extras(),
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
    Endpoint(
        "GET",
        "/realm/linkifiers",
        Access.USER,
        NoParams,
        list_all,
        LinkifiersResult,
        summary="List linkifiers",
        description=(
            "Patterns that turn text such as `#123` into links, in the order in which they are"
            " tried."
        ),
    ),
    Endpoint(
        "PATCH",
        "/realm/linkifiers",
        Access.ADMIN,
        OrderParams,
        order,
        summary="Reorder linkifiers",
        description="Where two match the same text, the earlier one wins.",
    ),
    Endpoint(
        "POST",
        "/realm/filters",
        Access.ADMIN,
        LinkifierParams,
        add,
        IdResult,
        summary="Create a linkifier",
    ),
    Endpoint(
        "PATCH",
        "/realm/filters/{filter_id}",
        Access.ADMIN,
        ChangeParams,
        change,
        summary="Change a linkifier",
        description=(
            "Messages sent before keep the links that they have. The three optional fields stay as"
            " they are if they are left out."
        ),
    ),
    Endpoint(
        "DELETE",
        "/realm/filters/{filter_id}",
        Access.ADMIN,
        OneParams,
        remove,
        summary="Delete a linkifier",
        description="Messages sent before keep the links that they have.",
    ),
    Endpoint(
        "POST",
        "/realm/playgrounds",
        Access.ADMIN,
        PlaygroundParams,
        add_playground,
        IdResult,
        summary="Create a code playground",
        description="Clients offer to open blocks of code in this language there.",
    ),
    Endpoint(
        "DELETE",
        "/realm/playgrounds/{playground_id}",
        Access.ADMIN,
        OnePlaygroundParams,
        remove_playground,
        summary="Delete a code playground",
    ),
)
