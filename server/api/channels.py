"""Channels over HTTP."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from server.actions import stepped_work
from server.actions.channels.aftermath import AFTERMATH
from server.actions.channels.change import change_channel
from server.actions.channels.create import Wanted
from server.actions.subscriptions import subscribe as subscribing
from server.actions.subscriptions.steps import SUBSCRIBING
from server.api.channel_access import seen_channel, standing_of
from server.api.channel_terms import TermsParams, TopicsPolicy
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.group_values import GroupUpdateParam, permission_change
from server.api.params import Field, Params, declare
from server.api.people import known_user
from server.api.setting_descriptions import CHANNEL_PERMISSION_CHANGES
from server.domain.api_keys import Scope, Secret
from server.domain.channel_changes import ChannelChange
from server.domain.channels import clean_name
from server.domain.errors import BadRequestError
from server.domain.mail_addresses import ToChannel
from server.domain.names import composed
from server.domain.permission_settings import CHANNEL_PERMISSIONS
from server.domain.system_bots import EMAIL_GATEWAY
from server.events.channels import ChannelInfo
from server.initial_state.channels import Sight
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.ids import ChannelId, UserId


class CreateParams(TermsParams):
    name: str
    description: str = ""
    subscribers: list[UserId]
    announce: bool = False
    send_new_subscription_messages: bool = True


class CreateResult(Result):
    id: ChannelId


async def create(request: Request, params: CreateParams) -> CreateResult:
    channel, work_id = await request.write(
        subscribing.create_channel,
        Wanted(clean_name(params.name), params.description),
        params.subscribers,
        params.terms(),
        announce=params.announce,
        tell=params.send_new_subscription_messages,
        web_public_enabled=request.app.settings.web_public_channels,
    )
    await stepped_work.finish(request.workbench, SUBSCRIBING, work_id)
    return CreateResult(id=channel.channel_id)


class ListedChannel(ChannelInfo, frozen=True, kw_only=True):
    """A channel in a list that may say which ones new people join."""

    is_default: bool | UnsetType = UNSET


class ListParams(Params):
    include_public: bool = True
    include_web_public: bool = False
    include_subscribed: bool = True
    exclude_archived: bool = True
    include_all: bool = False
    include_all_active: Annotated[bool, Field(json_schema_extra={"deprecated": True})] = False
    include_can_access_content: bool = False
    include_default: bool = False
    include_owner_subscribed: bool = False


class ListResult(Result):
    streams: list[ListedChannel]


async def list_channels(request: Request, params: ListParams) -> ListResult:
    """The channels that the caller may know of, of the kinds that they ask for."""
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        sight = await Sight.of(connection, request.directory, await standing_of(request))
        of_owner: set[ChannelId] = set()
        if params.include_owner_subscribed and request.actor.row.bot_owner_id is not None:
            rows = await subscriptions.of_user(connection, realm_id, request.actor.row.bot_owner_id)
            of_owner = {row.channel_id for row in rows if row.active}
    hides_archived = params.exclude_archived or params.include_all_active
    return ListResult(
        streams=[
            _listed(sight, row, says_default=params.include_default)
            for row in sight.rows
            if not (hides_archived and row.is_archived)
            and (row.channel_id in of_owner or _is_wanted(sight, row, params))
        ]
    )


def _is_wanted(sight: Sight, row: ChannelRow, params: ListParams) -> bool:
    if params.include_all or params.include_all_active:
        return True
    is_in = sight.is_in(row.channel_id)
    if params.include_can_access_content and sight.standing.reads(row, subscribed=is_in):
        return True
    if params.include_public and not row.invite_only and not sight.standing.person.is_guest:
        return True
    if params.include_web_public and row.is_web_public:
        return True
    return params.include_subscribed and is_in


def _listed(sight: Sight, row: ChannelRow, *, says_default: bool) -> ListedChannel:
    return ListedChannel(
        **msgspec.structs.asdict(sight.info(row)),
        is_default=row.is_default if says_default else UNSET,
    )


class NameParams(Params):
    stream: str


class IdResult(Result):
    stream_id: ChannelId


async def find_id(request: Request, params: NameParams) -> IdResult:
    name = composed(params.stream)
    unknown = BadRequestError(f"Invalid channel name '{name}'")
    async with request.read() as connection:
        [found] = await channels.named(connection, request.actor.realm_id, [name])
        if found.channel_id is None:
            raise unknown
        try:
            await seen_channel(request, connection, found.channel_id)
        except BadRequestError:
            raise unknown from None
    return IdResult(stream_id=found.channel_id)


class ChannelParams(Params):
    stream_id: ChannelId


class ChannelResult(Result):
    stream: ChannelInfo


async def show(request: Request, params: ChannelParams) -> ChannelResult:
    async with request.read() as connection:
        row, standing, _ = await seen_channel(request, connection, params.stream_id)
        activity = await channels.activity(connection, request.actor.realm_id, [row.channel_id])
    now = request.app.clock.now()
    info = ChannelInfo.of(row, activity[0], standing.graph, now=now)
    return ChannelResult(stream=info)


class FactsParams(ChannelParams):
    """What a channel may be changed to, its permissions aside. What is left out stays."""

    new_name: str | None = None
    description: str | None = None
    is_private: bool | None = None
    is_web_public: bool | None = None
    history_public_to_subscribers: bool | None = None
    is_archived: bool | None = None
    is_default_stream: bool | None = None
    message_retention_days: int | str | None = None
    topics_policy: TopicsPolicy | None = None
    folder_id: int | None = None
    """null: in no folder."""


ChangeParams = declare(
    "ChangeParams",
    FactsParams,
    CHANNEL_PERMISSION_CHANGES,
    **dict.fromkeys(CHANNEL_PERMISSIONS, GroupUpdateParam),
)


async def change(request: Request, params: Params) -> Empty:
    assert isinstance(params, FactsParams)
    given = params.model_fields_set
    wanted = ChannelChange(
        name=params.new_name,
        description=params.description,
        invite_only=params.is_private,
        is_web_public=params.is_web_public,
        history_public_to_subscribers=params.history_public_to_subscribers,
        is_archived=params.is_archived,
        is_default=params.is_default_stream,
        message_retention_days=params.message_retention_days,
        topics_policy=params.topics_policy,
        folder_id=params.folder_id if "folder_id" in given else UNSET,
        permissions={
            name: permission_change(getattr(params, name))
            for name in given & CHANNEL_PERMISSIONS.keys()
        },
    )
    return await _change(request, params.stream_id, wanted)


async def make_default(request: Request, params: ChannelParams) -> Empty:
    return await _change(request, params.stream_id, ChannelChange(is_default=True))


async def make_no_default(request: Request, params: ChannelParams) -> Empty:
    return await _change(request, params.stream_id, ChannelChange(is_default=False))


async def archive(request: Request, params: ChannelParams) -> Empty:
    return await _change(request, params.stream_id, ChannelChange(is_archived=True))


async def _change(request: Request, channel_id: ChannelId, wanted: ChannelChange) -> Empty:
    web_public_enabled = request.app.settings.web_public_channels
    work_id = await request.write(
        change_channel, channel_id, wanted, web_public_enabled=web_public_enabled
    )
    await stepped_work.finish(request.workbench, AFTERMATH, work_id)
    return Empty()


class SubscribersResult(Result):
    subscribers: list[UserId]


async def list_subscribers(request: Request, params: ChannelParams) -> SubscribersResult:
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        row, _, _ = await seen_channel(request, connection, params.stream_id)
        user_ids = await subscriptions.active_user_ids(connection, realm_id, row.channel_id)
    return SubscribersResult(subscribers=user_ids)


class AddressParams(ChannelParams):
    sender_id: UserId | None = None
    """Who is to be the sender of what arrives: oneself, a bot of one's own, or the server's."""


class AddressResult(Result):
    email: Secret


async def show_address(request: Request, params: AddressParams) -> AddressResult:
    """Where mail to the channel goes; an empty address says that the server takes none."""
    async with request.read() as connection:
        channel, standing, is_in = await seen_channel(request, connection, params.stream_id)
        if channel.is_archived or not standing.reads(channel, subscribed=is_in):
            raise BadRequestError("Invalid channel ID")
        sender_id = None
        if params.sender_id is not None:
            sender = await known_user(request, connection, params.sender_id)
            own = request.actor.user_id in (sender.user_id, sender.bot_owner_id)
            if not sender.is_active or not (own or sender.email == EMAIL_GATEWAY.email):
                raise BadRequestError("Invalid sender ID")
            sender_id = sender.user_id if own else None
    addresses = request.app.mail_addresses
    if addresses is None:
        return AddressResult(email="")
    actor = request.actor
    target = ToChannel(actor.realm_id, channel.channel_id, actor.user_id, sender_id)
    return AddressResult(email=addresses.of_channel(channel.name, target))


ENDPOINTS = (
    Endpoint("POST", "/channels/create", Access.USER, CreateParams, create, CreateResult),
    Endpoint("GET", "/streams", Access.USER, ListParams, list_channels, ListResult),
    Endpoint("GET", "/get_stream_id", Access.USER, NameParams, find_id, IdResult),
    Endpoint("GET", "/streams/{stream_id}", Access.USER, ChannelParams, show, ChannelResult),
    Endpoint("PATCH", "/streams/{stream_id}", Access.USER, ChangeParams, change),
    Endpoint("DELETE", "/streams/{stream_id}", Access.USER, ChannelParams, archive),
    Endpoint(
        "GET",
        "/streams/{stream_id}/email_address",
        Access.USER,
        AddressParams,
        show_address,
        AddressResult,
        scope=Scope.EVERYTHING,  # by the address one writes there, for as long as it is good
    ),
    Endpoint("POST", "/default_streams", Access.ADMIN, ChannelParams, make_default),
    Endpoint("DELETE", "/default_streams", Access.ADMIN, ChannelParams, make_no_default),
    Endpoint(
        "GET",
        "/streams/{stream_id}/members",
        Access.USER,
        ChannelParams,
        list_subscribers,
        SubscribersResult,
    ),
)
