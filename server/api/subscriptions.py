"""Endpoints of subscriptions."""

from typing import Literal

from msgspec import UNSET, UnsetType

from server.actions import stepped_work
from server.actions.channels.create import ChannelSpec
from server.actions.subscriptions import subscribe as subscribing
from server.actions.subscriptions import unsubscribe as unsubscribing
from server.actions.subscriptions.news import MAX_NOTIFIED_USERS
from server.actions.subscriptions.settings import (
    COLOR,
    change_properties,
    checked_change,
    checked_color,
)
from server.actions.subscriptions.steps import SUBSCRIBING
from server.actions.subscriptions.subscribe import SubscriptionRequest
from server.actions.subscriptions.update import update_subscriptions
from server.api.channel_access import seen_channel, standing_of
from server.api.channel_terms import TermsParams
from server.api.endpoint import Access, Empty, Endpoint, Request, Result
from server.api.params import JsonOrBareStr, Params, Part
from server.api.people import known_user
from server.domain.channels import clean_name
from server.domain.errors import BadRequestError
from server.events.subscriptions import SubscriptionInfo
from server.i18n import _
from server.initial_state.channels import VisibleChannels
from server.initial_state.subscriptions import lists
from storage import subscriptions
from storage.ids import ChannelId, UserId

Principals = list[int] | list[str]


class WantedParam(Part):
    """A channel to subscribe to."""

    name: str
    """Name of the channel."""
    description: str = ""
    """Description, if the channel is created."""


class SubscribeParams(TermsParams):
    subscriptions: list[WantedParam]
    """The channels, each an object with `name` and, for new channels, `description`."""
    principals: Principals | None = None
    """User ids, or email addresses, of those concerned. Default: the caller."""
    authorization_errors_fatal: bool = True
    """Whether one channel that the caller may not join refuses the whole request; otherwise such
    channels are listed as `unauthorized`."""
    announce: bool = False
    """Whether to announce new channels in the organization's channel for announcements."""
    send_new_subscription_messages: bool = True
    """Whether to notify other users that the caller subscribes by a direct message."""


class SubscribeResult(Result):
    subscribed: dict[UserId, list[str]]
    already_subscribed: dict[UserId, list[str]]
    unauthorized: list[str] | UnsetType = UNSET
    new_subscription_messages_sent: bool | UnsetType = UNSET


async def subscribe(request: Request, params: SubscribeParams) -> SubscribeResult:
    wanted = [ChannelSpec(clean_name(each.name), each.description) for each in params.subscriptions]
    done = await request.write(
        subscribing.subscribe,
        SubscriptionRequest(
            wanted=wanted,
            principals=params.principals,
            authorization_errors_fatal=params.authorization_errors_fatal,
            terms=params.terms(),
            announce=params.announce,
            notify=params.send_new_subscription_messages,
        ),
        web_public_enabled=request.app.settings.web_public_channels,
    )
    await stepped_work.finish(request.realm_services, SUBSCRIBING, done.work_id)
    notified = len(done.subscribed | done.already_subscribed) <= MAX_NOTIFIED_USERS
    return SubscribeResult(
        subscribed=done.subscribed,
        already_subscribed=done.already_subscribed,
        unauthorized=UNSET if params.authorization_errors_fatal else done.unauthorized,
        new_subscription_messages_sent=notified if params.send_new_subscription_messages else UNSET,
    )


class UnsubscribeParams(Params):
    subscriptions: list[str]
    """Names of the channels."""
    principals: Principals | None = None
    """User ids, or email addresses, of those concerned. Default: the caller."""


class UnsubscribeResult(Result):
    removed: list[str]
    not_removed: list[str]


async def unsubscribe(request: Request, params: UnsubscribeParams) -> UnsubscribeResult:
    done = await request.write(unsubscribing.unsubscribe, params.subscriptions, params.principals)
    return UnsubscribeResult(removed=done.removed, not_removed=done.not_removed)


class AddParam(WantedParam):
    """A channel to subscribe to, with its color."""

    color: str | None = None
    """Color of the channel, such as `#c2c2c2`. Default: chosen by the server."""


class UpdateParams(Params):
    add: list[AddParam] | None = None
    """Channels to subscribe to, each an object with `name` and, if wanted, `color` and
    `description`."""
    delete: list[str] | None = None
    """Names of channels to unsubscribe from."""


class UpdateResult(SubscribeResult, kw_only=True):
    """The results of subscribing and unsubscribing."""

    removed: list[str]
    not_removed: list[str]


async def update(request: Request, params: UpdateParams) -> UpdateResult:
    if not params.add and not params.delete:
        raise BadRequestError(_("Nothing to do. Name channels to 'add' or to 'delete'."))
    add = params.add or []
    wanted = [ChannelSpec(clean_name(each.name), each.description) for each in add]
    colors = {
        each.name: color
        for each, given in zip(wanted, add, strict=True)
        if (color := given.color) is not None
    }
    for color in colors.values():
        checked_color(color)
    done, left = await request.write(
        update_subscriptions,
        SubscriptionRequest(wanted=wanted, notify=True),
        params.delete or [],
        colors,
        web_public_enabled=request.app.settings.web_public_channels,
    )
    await stepped_work.finish(request.realm_services, SUBSCRIBING, done.work_id)
    return UpdateResult(
        subscribed=done.subscribed,
        already_subscribed=done.already_subscribed,
        new_subscription_messages_sent=True,
        removed=left.removed,
        not_removed=left.not_removed,
    )


class ListParams(Params):
    include_subscribers: Literal["true", "false", "partial"] = "false"
    """Whether channels list their subscribers: all, none, or with `partial` only some of large
    channels."""


class ListResult(Result):
    subscriptions: list[SubscriptionInfo]


async def list_own(request: Request, params: ListParams) -> ListResult:
    async with request.read() as connection:
        sight = await VisibleChannels.of(
            connection, request.realm_cache, await standing_of(request)
        )
        infos = {
            row.channel_id: sight.info(row)
            for row in sight.rows
            if sight.is_in(row.channel_id) and not row.is_archived
        }
        found = await lists(
            connection, request.actor.realm_id, sight, infos, params.include_subscribers
        )
    return ListResult(subscriptions=found.subscriptions)


class PropertyParam(Part):
    """One setting of one's subscription to a channel."""

    stream_id: int
    """Id of the channel."""
    property: str
    """Setting, such as `color`, `is_muted`, `pin_to_top`, or `push_notifications`."""
    value: bool | str
    """true or false; for `color` the color."""


class PropertiesParams(Params):
    subscription_data: list[PropertyParam]
    """Changes, each an object with `stream_id`, `property` and `value`."""


async def change_many(request: Request, params: PropertiesParams) -> Empty:
    changes = [
        checked_change(ChannelId(each.stream_id), each.property, each.value)
        for each in params.subscription_data
    ]
    await request.write(change_properties, changes)
    return Empty()


class PropertyParams(Params):
    stream_id: ChannelId
    """Id of the channel."""
    property: str
    """Setting, such as `color`, `is_muted`, `pin_to_top`, or `push_notifications`."""
    value: JsonOrBareStr
    """true or false; for `color` the color."""


async def change_one(request: Request, params: PropertyParams) -> Empty:
    value: bool | str = params.value
    if params.property != COLOR and value in ("true", "false"):
        value = value == "true"
    change = checked_change(params.stream_id, params.property, value)
    await request.write(change_properties, [change])
    return Empty()


class OfUserParams(Params):
    user_id: UserId
    """Id of the user."""


class InChannelParams(OfUserParams):
    stream_id: ChannelId
    """Id of the channel."""


class StatusResult(Result):
    is_subscribed: bool


async def is_subscribed(request: Request, params: InChannelParams) -> StatusResult:
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        user = await known_user(request, connection, params.user_id)
        channel, _, _ = await seen_channel(request, connection, params.stream_id)
        row = await subscriptions.of_user_in(connection, realm_id, user.user_id, channel.channel_id)
    return StatusResult(is_subscribed=row is not None and row.active)


class ChannelsOfUserResult(Result):
    subscribed_channel_ids: list[ChannelId]


async def channels_of_user(request: Request, params: OfUserParams) -> ChannelsOfUserResult:
    """Return the user's channels that the caller may know."""
    realm_id = request.actor.realm_id
    async with request.read() as connection:
        user = await known_user(request, connection, params.user_id)
        sight = await VisibleChannels.of(
            connection, request.realm_cache, await standing_of(request)
        )
        rows = await subscriptions.of_user(connection, realm_id, user.user_id)
    there = {row.channel_id for row in rows if row.active}
    ids = [row.channel_id for row in sight.rows if row.channel_id in there and not row.is_archived]
    return ChannelsOfUserResult(subscribed_channel_ids=ids)


PATH = "/users/me/subscriptions"

ENDPOINTS = (
    Endpoint(
        "POST",
        PATH,
        Access.USER,
        SubscribeParams,
        subscribe,
        SubscribeResult,
        summary="Subscribe to channels",
        description=(
            "Channels that do not exist are created, with the parameters below; for existing"
            " channels those are ignored. Others can be subscribed with `principals`, where the"
            " caller may do that."
        ),
    ),
    Endpoint(
        "DELETE",
        PATH,
        Access.USER,
        UnsubscribeParams,
        unsubscribe,
        UnsubscribeResult,
        summary="Unsubscribe from channels",
    ),
    Endpoint(
        "PATCH",
        PATH,
        Access.USER,
        UpdateParams,
        update,
        UpdateResult,
        summary="Subscribe and unsubscribe in one request",
    ),
    Endpoint(
        "GET",
        PATH,
        Access.USER,
        ListParams,
        list_own,
        ListResult,
        summary="List your subscriptions",
        description="Channels with the caller's personal settings of them.",
    ),
    Endpoint(
        "POST",
        f"{PATH}/properties",
        Access.USER,
        PropertiesParams,
        change_many,
        summary="Change personal settings of subscriptions",
    ),
    Endpoint(
        "PATCH",
        f"{PATH}/{{stream_id}}",
        Access.USER,
        PropertyParams,
        change_one,
        summary="Change one personal setting of a subscription",
        description="Older form of `POST /users/me/subscriptions/properties`.",
    ),
    Endpoint(
        "GET",
        "/users/{user_id}/subscriptions/{stream_id}",
        Access.USER,
        InChannelParams,
        is_subscribed,
        StatusResult,
        summary="Check whether a user is subscribed to a channel",
    ),
    Endpoint(
        "GET",
        "/users/{user_id}/channels",
        Access.USER,
        OfUserParams,
        channels_of_user,
        ChannelsOfUserResult,
        summary="List the channels that a user is subscribed to",
        description="Those that the caller may know of.",
    ),
)
