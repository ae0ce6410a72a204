"""Register's `subscription`: present and past subscriptions, and other visible channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from msgspec import UNSET, Raw, UnsetType, structs

from server.domain.user_settings import UserSettings
from server.events.channels import ChannelInfo, UserIds
from server.events.subscriptions import NOTIFICATIONS, SubscriptionInfo
from server.initial_state.base import Snapshot, StateSection
from server.initial_state.channels import VisibleChannels, sight_of
from storage import subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId

IncludeSubscribers = Literal["true", "false", "partial"]


PARTIAL_THRESHOLD: Final = 250
"""With "partial", channels with more subscribers list only some of them."""
PARTIAL_SIZE: Final = 100


class NeverSubscribedInfo(ChannelInfo, frozen=True, kw_only=True):
    """A visible channel that the user has never been subscribed to."""

    subscribers: UserIds | UnsetType = UNSET
    partial_subscribers: UserIds | UnsetType = UNSET


class SubscriptionFields(TypedDict):
    subscriptions: list[SubscriptionInfo]
    unsubscribed: list[SubscriptionInfo]
    """Channels that the user has left."""
    never_subscribed: list[NeverSubscribedInfo]


@dataclass(frozen=True, slots=True)
class Lists:
    """Partition of the channels that a user may know."""

    subscriptions: list[SubscriptionInfo]
    unsubscribed: list[SubscriptionInfo]
    never_subscribed: list[NeverSubscribedInfo]


async def lists(
    connection: Connection,
    realm_id: RealmId,
    sight: VisibleChannels,
    infos: Mapping[ChannelId, ChannelInfo],
    include: IncludeSubscribers,
) -> Lists:
    """Return the channels of `infos`, with subscribers if requested."""
    rows = [row for row in sight.rows if row.channel_id in infos]
    shown = await _subscribers(connection, realm_id, rows, include)
    found = Lists([], [], [])
    for channel_id, info in infos.items():
        people = shown.get(channel_id, {})
        own = sight.own.get(channel_id)
        if own is None:
            never = NeverSubscribedInfo(**structs.asdict(info), **people)
            found.never_subscribed.append(never)
        else:
            kind = found.subscriptions if own.active else found.unsubscribed
            kind.append(SubscriptionInfo.of_subscriber(info, own, **people))
    return found


async def _subscribers(
    connection: Connection,
    realm_id: RealmId,
    rows: Sequence[ChannelRow],
    include: IncludeSubscribers,
) -> dict[ChannelId, dict[str, Any]]:
    """Return for each channel the field of its subscribers; empty if not requested."""
    if include == "false":
        return {}
    few = [
        r.channel_id for r in rows if include == "true" or r.subscriber_count <= PARTIAL_THRESHOLD
    ]
    many = [
        r.channel_id
        for r in rows
        if include == "partial" and r.subscriber_count > PARTIAL_THRESHOLD
    ]
    shown: dict[ChannelId, dict[str, Any]] = {}
    for row in await subscriptions.subscribers(connection, realm_id, few):
        shown[row.channel_id] = {"subscribers": Raw(row.user_ids.encode())}
    if many:
        for row in await subscriptions.subscribers(
            connection, realm_id, many, at_most=PARTIAL_SIZE
        ):
            shown[row.channel_id] = {"partial_subscribers": Raw(row.user_ids.encode())}
    return shown


async def fetch(snapshot: Snapshot) -> dict[str, Any]:
    sight, infos = await sight_of(snapshot)
    found = await lists(
        snapshot.connection, snapshot.realm_id, sight, infos, snapshot.include_subscribers
    )
    mine, former = found.subscriptions, found.unsubscribed
    if not snapshot.view.notification_settings_null:
        settings = UserSettings.of(snapshot.actor.row.settings)
        defaults = {name: getattr(settings, own) for name, own in NOTIFICATIONS.items()}
        mine = [each.settled(defaults) for each in mine]
        former = [each.settled(defaults) for each in former]
    return {
        "subscriptions": mine,
        "unsubscribed": former,
        "never_subscribed": found.never_subscribed,
    }


SECTION = StateSection("subscription", fetch, (SubscriptionFields,))
