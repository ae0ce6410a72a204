"""Endpoints of channel folders."""

from server.actions import channel_folders
from server.actions.channel_folders import FolderWish
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import Params
from server.events.channel_folders import ShownFolder
from storage import channel_folders as rows
from storage.ids import FolderId


class ListParams(Params):
    include_archived: bool = False
    """Whether to return archived folders, too."""


class ListResult(Result):
    channel_folders: list[ShownFolder]


class AddParams(Params):
    name: str
    """Name of the folder, which no other active folder may have."""
    description: str = ""
    """Description of the folder, in Markdown."""


class AddResult(Result):
    channel_folder_id: FolderId


class ChangeParams(Params):
    channel_folder_id: FolderId
    """Id of the folder."""
    name: str | None = None
    """New name."""
    description: str | None = None
    """New description, in Markdown."""
    is_archived: bool | None = None
    """true archives the folder, false brings it back."""


class OrderParams(Params):
    order: list[int]
    """Ids of all folders, in the new order."""


async def list_all(request: Request, params: ListParams) -> ListResult:
    async with request.read() as connection:
        found = await rows.of_realm(connection, request.actor.realm_id)
    shown = [ShownFolder.of(row) for row in found if params.include_archived or not row.is_archived]
    return ListResult(channel_folders=shown)


async def add(request: Request, params: AddParams) -> AddResult:
    folder_id = await request.write(
        channel_folders.add_folder, params.name, params.description, now=request.app.clock.now()
    )
    return AddResult(channel_folder_id=folder_id)


async def change(request: Request, params: ChangeParams) -> Empty:
    wish = FolderWish(
        name=params.name, description=params.description, is_archived=params.is_archived
    )
    await request.write(channel_folders.change_folder, params.channel_folder_id, wish)
    return Empty()


async def order(request: Request, params: OrderParams) -> Empty:
    ids = [FolderId(each) for each in params.order]
    await request.write(channel_folders.order_folders, ids)
    return Empty()


PATH = "/channel_folders"

ENDPOINTS = (
    Endpoint(
        "GET",
        PATH,
        Access.USER,
        ListParams,
        list_all,
        ListResult,
        summary="List channel folders",
        description="In the order that administrators gave them.",
    ),
    Endpoint(
        "PATCH",
        PATH,
        Access.ADMIN,
        OrderParams,
        order,
        summary="Reorder channel folders",
    ),
    Endpoint(
        "POST",
        f"{PATH}/create",
        Access.ADMIN,
        AddParams,
        add,
        AddResult,
        summary="Create a channel folder",
        description="The new folder comes last.",
    ),
    Endpoint(
        "PATCH",
        f"{PATH}/{{channel_folder_id}}",
        Access.ADMIN,
        ChangeParams,
        change,
        summary="Change a channel folder",
        description="What is left out stays. Channels in an archived folder stay in it.",
    ),
)
