"""Endpoints of navigation views."""

from server.actions import navigation_views
from server.api.endpoint import Access, Empty, Endpoint, NoParams, Request, Result
from server.api.params import Params
from server.events.navigation_views import ShownView
from storage import navigation_views as rows
from storage.navigation_views import NavigationViewRow


class AddParams(Params):
    fragment: str
    """Part of the client's address after `#` that the view shows, such as `narrow/is/starred`."""
    is_pinned: bool
    """Whether the view is shown at once, or below a menu."""
    name: str | None = None
    """Name, for views that are not built in."""


class ChangeParams(Params):
    fragment: str
    """Part of the client's address after `#` that the view shows, such as `narrow/is/starred`."""
    is_pinned: bool | None = None
    """Whether the view is shown at once, or below a menu."""
    name: str | None = None
    """New name."""


class OneParams(Params):
    fragment: str
    """Part of the client's address after `#` that the view shows, such as `narrow/is/starred`."""


class ViewsResult(Result):
    navigation_views: list[ShownView]


async def list_all(request: Request, params: NoParams) -> ViewsResult:
    del params
    actor = request.actor
    async with request.read() as connection:
        found = await rows.of_user(connection, actor.realm_id, actor.user_id)
    return ViewsResult(navigation_views=[ShownView.of(row) for row in found])


async def add(request: Request, params: AddParams) -> Empty:
    view = NavigationViewRow(params.fragment, params.is_pinned, params.name)
    await request.write(navigation_views.add_view, view)
    return Empty()


async def change(request: Request, params: ChangeParams) -> Empty:
    await request.write(
        navigation_views.change_view,
        params.fragment,
        is_pinned=params.is_pinned,
        name=params.name,
    )
    return Empty()


async def remove(request: Request, params: OneParams) -> Empty:
    await request.write(navigation_views.remove_view, params.fragment)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "GET",
        "/navigation_views",
        Access.USER,
        NoParams,
        list_all,
        ViewsResult,
        summary="List your navigation views",
        description="Views of the sidebar that the user has pinned, hidden, or added.",
    ),
    Endpoint(
        "POST",
        "/navigation_views",
        Access.USER,
        AddParams,
        add,
        summary="Add a navigation view",
        description="Refused if there is one with this fragment.",
    ),
    Endpoint(
        "PATCH",
        "/navigation_views/{fragment}",
        Access.USER,
        ChangeParams,
        change,
        summary="Change a navigation view",
        description="What is left out stays.",
    ),
    Endpoint(
        "DELETE",
        "/navigation_views/{fragment}",
        Access.USER,
        OneParams,
        remove,
        summary="Remove a navigation view",
    ),
)
