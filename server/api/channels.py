"""Endpoints of channels."""

from typing import Annotated

import msgspec
from msgspec import UNSET, UnsetType

from server.actions import stepped_work
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.channels.change import change_channel
from server.actions.channels.create import ChannelSpec
from server.actions.messages.decide import check_may_post
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
from server.events.base import ClientView
from server.events.channels import ChannelInfo, channel_for
from server.i18n import _
from server.initial_state.channels import VisibleChannels
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.ids import ChannelId, UserId


class CreateParams(TermsParams):
    name: str
    """Name of the channel, at most 60 characters."""
    description: str = ""
    """Description, in Markdown."""
    subscribers: list[UserId]
    """User ids of those to subscribe."""
    announce: bool = False
    """Whether to announce the channel in the organization's channel for announcements."""
    send_new_subscription_messages: bool = True
    """Whether to notify new subscribers by a direct message."""


class CreateResult(Result):
    id: ChannelId


async def create(request: Request, params: CreateParams) -> CreateResult:
    channel, work_id = await request.write(
        subscribing.create_channel,
        ChannelSpec(clean_name(params.name), params.description),
        params.subscribers,
        params.terms(),
        announce=params.announce,
        notify=params.send_new_subscription_messages,
        web_public_enabled=request.app.settings.web_public_channels,
    )
    await stepped_work.finish(request.realm_services, SUBSCRIBING, work_id)
    return CreateResult(id=channel.channel_id)


class ListedChannel(ChannelInfo, frozen=True, kw_only=True):
    """A channel in a list that may include whether it is a default channel."""

    is_default: bool | UnsetType = UNSET


class ListParams(Params):
    include_public: bool = True
    """Select public channels."""
    include_web_public: bool = False
    """Select web-public channels."""
    include_subscribed: bool = True
    """Select channels that the caller is subscribed to."""
    exclude_archived: bool = True
    """Leave archived channels out."""
    include_all: bool = False
    """Select every channel that the caller may know of."""
    include_all_active: Annotated[bool, Field(json_schema_extra={"deprecated": True})] = False
    """Older name of `include_all` together with `exclude_archived`."""
    include_can_access_content: bool = False
    """Select channels in which the caller may read messages."""
    include_default: bool = False
    """Say of each channel whether new users are subscribed to it."""
    include_owner_subscribed: bool = False
    """For bots: select channels that the bot's owner is subscribed to."""


class ListResult(Result):
    streams: list[ListedChannel]


async def list_channels(request: Request, params: ListParams) -> ListResult:
    """Return the requested kinds of channels that the caller may know."""
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        sight = await VisibleChannels.of(
            connection, request.realm_cache, await standing_of(request)
        )
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


def _is_wanted(sight: VisibleChannels, row: ChannelRow, params: ListParams) -> bool:
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


def _listed(sight: VisibleChannels, row: ChannelRow, *, says_default: bool) -> ListedChannel:
    return ListedChannel(
        **msgspec.structs.asdict(sight.info(row)),
        is_default=row.is_default if says_default else UNSET,
    )


class NameParams(Params):
    stream: str
    """Name of the channel."""


class IdResult(Result):
    stream_id: ChannelId


async def find_id(request: Request, params: NameParams) -> IdResult:
    name = composed(params.stream)
    unknown = BadRequestError(_("Invalid channel name '{name}'", name=name))
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
    """Id of the channel."""


class ChannelResult(Result):
    stream: ChannelInfo


async def show(request: Request, params: ChannelParams) -> ChannelResult:
    async with request.read() as connection:
        row, standing, _ = await seen_channel(request, connection, params.stream_id)
        activity = await channels.activity(connection, request.actor.realm_id, [row.channel_id])
    now = request.app.clock.now()
    info = ChannelInfo.of(row, activity[0], standing.graph, now=now)
    return ChannelResult(stream=channel_for(ClientView(), info))


class FactsParams(ChannelParams):
    """Changed fields of a channel, except permissions. Missing ones stay."""

    new_name: str | None = None
    """New name."""
    description: str | None = None
    """New description, in Markdown."""
    is_private: bool | None = None
    """true makes the channel private, false public."""
    is_web_public: bool | None = None
    """true lets visitors read the channel without an account."""
    history_public_to_subscribers: bool | None = None
    """Whether new subscribers see messages sent before they joined."""
    is_archived: bool | None = None
    """true archives the channel, false brings it back."""
    is_default_stream: bool | None = None
    """Whether new users are subscribed to it."""
    message_retention_days: int | str | None = None
    """Days after which its messages are deleted: a number, `realm_default`, or `unlimited`. Only
    owners may set it."""
    topics_policy: TopicsPolicy | None = None
    """Whether its messages may or must go without a topic; `inherit` follows the organization."""
    folder_id: int | None = None
    """Id of the folder that the channel is in; null for none."""
    default_push_notifications: bool | None = None
    """Whether first-time subscribers get push notifications of all its messages, whatever their own
    default is. Only administrators may set it."""


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
        default_push_notifications=params.default_push_notifications,
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
    await stepped_work.finish(request.realm_services, ACCESS_CHANGE, work_id)
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
    """Sender of what arrives, by user id: the caller, one of the caller's bots, or the server's
    email bot, which is the default."""


class AddressResult(Result):
    email: Secret


async def show_address(request: Request, params: AddressParams) -> AddressResult:
    """Return the channel's email address; empty if the server accepts no mail."""
    async with request.read() as connection:
        channel, standing, is_in = await seen_channel(request, connection, params.stream_id)
        if channel.is_archived or not standing.reads(channel, subscribed=is_in):
            raise BadRequestError(_("Invalid channel ID"))
        sender_id = None
        if params.sender_id is not None:
            sender = await known_user(request, connection, params.sender_id)
            own = request.actor.user_id in (sender.user_id, sender.bot_owner_id)
            if not sender.is_active or not (own or sender.email == EMAIL_GATEWAY.email):
                raise BadRequestError(_("Invalid sender ID"))
            sender_id = sender.user_id if own else None
    actor, addresses = request.actor, request.app.mail_addresses
    await check_may_post(request.realm_cache, actor, channel, standing, subscribed=is_in)
    if addresses is None:
        return AddressResult(email="")
    target = ToChannel(actor.realm_id, channel.channel_id, actor.user_id, sender_id)
    return AddressResult(email=addresses.of_channel(channel.name, target))


ENDPOINTS = (
    Endpoint(
        "POST",
        "/channels/create",
        Access.USER,
        CreateParams,
        create,
        CreateResult,
        summary="Create a channel",
        description=(
            "Refused if the name is taken. The caller needs the permission to create channels of"
            " this kind, and is subscribed only if listed."
        ),
    ),
    Endpoint(
        "GET",
        "/streams",
        Access.USER,
        ListParams,
        list_channels,
        ListResult,
        summary="List channels",
        description=(
            "Returns the channels that the caller may know of and that one of the `include_`"
            " parameters selects."
        ),
    ),
    Endpoint(
        "GET",
        "/get_stream_id",
        Access.USER,
        NameParams,
        find_id,
        IdResult,
        summary="Find a channel's id by its name",
    ),
    Endpoint(
        "GET",
        "/streams/{stream_id}",
        Access.USER,
        ChannelParams,
        show,
        ChannelResult,
        summary="Get a channel",
    ),
    Endpoint(
        "PATCH",
        "/streams/{stream_id}",
        Access.USER,
        ChangeParams,
        change,
        summary="Change a channel",
        description="Needs the permission to administer the channel. What is left out stays.",
    ),
    Endpoint(
        "DELETE",
        "/streams/{stream_id}",
        Access.USER,
        ChannelParams,
        archive,
        summary="Archive a channel",
        description="Its messages stay readable for its subscribers; no new ones can be sent.",
    ),
    Endpoint(
        "GET",
        "/streams/{stream_id}/email_address",
        Access.USER,
        AddressParams,
        show_address,
        AddressResult,
        scope=Scope.EVERYTHING,  # its holder may send there while it is valid
        summary="Get a channel's email address",
        description=(
            "Mail sent there becomes a message in the channel. Only users who may send messages"
            " to the channel get it. The address is empty where the server takes no mail."
        ),
    ),
    Endpoint(
        "POST",
        "/default_streams",
        Access.ADMIN,
        ChannelParams,
        make_default,
        summary="Make a channel a default channel",
        description="New users are subscribed to it.",
    ),
    Endpoint(
        "DELETE",
        "/default_streams",
        Access.ADMIN,
        ChannelParams,
        make_no_default,
        summary="Make a channel no default channel",
        description="Subscriptions of existing users stay.",
    ),
    Endpoint(
        "GET",
        "/streams/{stream_id}/members",
        Access.USER,
        ChannelParams,
        list_subscribers,
        SubscribersResult,
        summary="List a channel's subscribers",
        description="User ids of its active subscribers.",
    ),
)
