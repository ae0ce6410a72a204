"""Endpoints of saved snippets."""

from server.actions import saved_snippets as actions
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.events.saved_snippets import ShownSnippet
from storage import saved_snippets
from storage.ids import SavedSnippetId


class CreateParams(Params):
    title: str
    """Title of the snippet."""
    content: str
    """Text, in Markdown."""


class SnippetParams(Params):
    saved_snippet_id: SavedSnippetId
    """Id of the snippet."""


class EditParams(SnippetParams):
    title: str | None = None
    """New title."""
    content: str | None = None
    """New text."""


class Snippets(Result):
    saved_snippets: list[ShownSnippet]


class CreatedSnippet(Result):
    saved_snippet_id: SavedSnippetId


async def get_all(request: Request, params: NoParams) -> Snippets:
    del params
    async with request.read() as connection:
        rows = await saved_snippets.of_user(
            connection, request.actor.realm_id, request.actor.user_id
        )
    return Snippets(saved_snippets=[ShownSnippet.of(row) for row in rows])


async def create(request: Request, params: CreateParams) -> CreatedSnippet:
    snippet_id = await request.write(
        actions.create_snippet, params.title, params.content, now=request.app.clock.now()
    )
    return CreatedSnippet(saved_snippet_id=snippet_id)


async def edit(request: Request, params: EditParams) -> Empty:
    await request.write(actions.edit_snippet, params.saved_snippet_id, params.title, params.content)
    return Empty()


async def delete(request: Request, params: SnippetParams) -> Empty:
    await request.write(actions.delete_snippet, params.saved_snippet_id)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/saved_snippets",
        Access.USER,
        NoParams,
        get_all,
        Snippets,
        summary="List your saved snippets",
    ),
    Endpoint(
        "POST",
        "/saved_snippets",
        Access.USER,
        CreateParams,
        create,
        CreatedSnippet,
        summary="Save a snippet",
    ),
    Endpoint(
        "PATCH",
        "/saved_snippets/{saved_snippet_id}",
        Access.USER,
        EditParams,
        edit,
        summary="Change a saved snippet",
        description="What is left out stays.",
    ),
    Endpoint(
        "DELETE",
        "/saved_snippets/{saved_snippet_id}",
        Access.USER,
        SnippetParams,
        delete,
        summary="Delete a saved snippet",
    ),
)
