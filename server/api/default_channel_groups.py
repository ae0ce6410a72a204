"""Endpoints of default channel groups."""

from typing import Final, Literal

from server.actions import default_channel_groups as actions
from server.api.endpoint import Access, Empty, Endpoint, Request
from server.api.params import Field, Params
from server.domain.default_channel_groups import MAX_CHANNELS
from server.domain.errors import BadRequestError
from server.i18n import _
from storage.ids import ChannelGroupId

PATH: Final = "/default_stream_groups"


class AddParams(Params):
    group_name: str
    """Name of the group."""
    description: str
    """Description that new users read."""
    stream_names: list[str] = Field(max_length=MAX_CHANNELS)
    """Names of its channels."""


class OneParams(Params):
    group_id: ChannelGroupId
    """Id of the group of default channels."""


class ChangeParams(OneParams):
    new_group_name: str | None = None
    """New name."""
    new_description: str | None = None
    """New description."""


class ChannelsParams(OneParams):
    op: Literal["add", "remove"]
    """Whether to add or to remove the channels."""
    stream_names: list[str] = Field(max_length=MAX_CHANNELS)
    """Names of the channels."""


async def add(request: Request, params: AddParams) -> Empty:
    await request.write(
        actions.add_group, params.group_name, params.description, params.stream_names
    )
    return Empty()


async def change(request: Request, params: ChangeParams) -> Empty:
    name, description = params.new_group_name, params.new_description
    if name is None and description is None:
        raise BadRequestError(_('You must pass "new_description" or "new_group_name".'))
    await request.write(actions.change_group, params.group_id, name, description)
    return Empty()


async def remove(request: Request, params: OneParams) -> Empty:
    await request.write(actions.remove_group, params.group_id)
    return Empty()


async def change_channels(request: Request, params: ChannelsParams) -> Empty:
    action = actions.add_channels if params.op == "add" else actions.remove_channels
    await request.write(action, params.group_id, params.stream_names)
    return Empty()


ENDPOINTS = (
    Endpoint(
        "POST",
        f"{PATH}/create",
        Access.ADMIN,
        AddParams,
        add,
        summary="Create a group of default channels",
        description=(
            "New users choose among these groups, and are subscribed to the channels of those"
            " that they choose."
        ),
    ),
    Endpoint(
        "PATCH",
        f"{PATH}/{{group_id}}",
        Access.ADMIN,
        ChangeParams,
        change,
        summary="Change a group of default channels",
        description="Name and description; what is left out stays.",
    ),
    Endpoint(
        "DELETE",
        f"{PATH}/{{group_id}}",
        Access.ADMIN,
        OneParams,
        remove,
        summary="Delete a group of default channels",
        description="The channels themselves stay.",
    ),
    Endpoint(
        "PATCH",
        f"{PATH}/{{group_id}}/streams",
        Access.ADMIN,
        ChannelsParams,
        change_channels,
        summary="Add or remove channels of a group of default channels",
    ),
)
