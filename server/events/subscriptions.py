"""Events of subscriptions, for the subscribers and for others."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, TypedDict

import msgspec
from msgspec import UNSET, UnsetType
from typing_extensions import override

from server.domain.user_settings import UserSettings
from server.events.base import MAX_WIRE_EVENTS, ClientView, Event
from server.events.channels import ChannelInfo, UserIds, channel_for
from server.realm_cache import Touch, channel_key, subscription_key
from storage.ids import ChannelId, Position, UserId
from storage.subscriptions import SubscriptionRow
from storage.users import UserRow

NOTIFICATIONS: Final = {
    "desktop_notifications": "enable_stream_desktop_notifications",
    "audible_notifications": "enable_stream_audible_notifications",
    "push_notifications": "enable_stream_push_notifications",
    "email_notifications": "enable_stream_email_notifications",
    "wildcard_mentions_notify": "wildcard_mentions_notify",
}
"""Subscription settings that may be unset, and the user's setting that applies then."""


class SubscriptionInfo(ChannelInfo, frozen=True, kw_only=True):
    """A channel with a subscriber's settings."""

    color: str
    is_muted: bool
    in_home_view: bool
    pin_to_top: bool
    desktop_notifications: bool | None
    audible_notifications: bool | None
    push_notifications: bool | None
    email_notifications: bool | None
    wildcard_mentions_notify: bool | None
    subscribers: UserIds | UnsetType = UNSET
    partial_subscribers: UserIds | UnsetType = UNSET

    @classmethod
    def of_subscriber(
        cls, channel: ChannelInfo, row: SubscriptionRow, **subscribers: Any
    ) -> "SubscriptionInfo":
        """Build it from the channel and the subscription's row."""
        return cls(**msgspec.structs.asdict(channel), **personal(row), **subscribers)

    def settled(self, defaults: Mapping[str, bool]) -> "SubscriptionInfo":
        """Return it with unset settings resolved, for clients that do not support them."""
        left_open = {name: value for name, value in defaults.items() if getattr(self, name) is None}
        return msgspec.structs.replace(self, **left_open) if left_open else self


def personal(row: SubscriptionRow) -> dict[str, Any]:
    """Return the subscriber's part of SubscriptionInfo."""
    return {
        "color": row.color,
        "is_muted": row.is_muted,
        "in_home_view": not row.is_muted,
        "pin_to_top": row.pin_to_top,
        "desktop_notifications": row.desktop_notifications,
        "audible_notifications": row.audible_notifications,
        "push_notifications": row.push_notifications,
        "email_notifications": row.email_notifications,
        "wildcard_mentions_notify": row.wildcard_mentions_notify,
    }


class SubscriptionsAddedWire(TypedDict):
    """New subscriptions of the user."""

    type: Literal["subscription"]
    op: Literal["add"]
    subscriptions: list[SubscriptionInfo]


class SubscriptionsAdded(Event, frozen=True, kw_only=True):
    """New subscriptions of these users with the same settings, delivered to them."""

    kind: ClassVar[str] = "subscription/add"
    wire_type: ClassVar[str] = "subscription"
    varies_by: ClassVar[tuple[str, ...]] = (
        "archived_channels",
        "notification_settings_null",
        "pins",
    )
    wires: ClassVar[tuple[type, ...]] = (SubscriptionsAddedWire,)

    user_ids: list[UserId]
    subscriptions: list[SubscriptionInfo]
    defaults: dict[str, bool]
    """Values for these users' unset settings."""
    is_return: bool = False
    """Whether the channels are unarchived: there are no new subscribers, and other clients know
    already.
    """

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.is_return and view.archived_channels:
            return []
        shown = [
            channel_for(view, s)
            for s in self.subscriptions
            if view.archived_channels or not s.is_archived
        ]
        if not view.notification_settings_null:
            shown = [s.settled(self.defaults) for s in shown]
        return [{"type": "subscription", "op": "add", "subscriptions": shown}] if shown else []

    @override
    def touches(self) -> Sequence[Touch]:
        return _touched(self.user_ids, [s.stream_id for s in self.subscriptions])

    @override
    def membership(self) -> Sequence[tuple[UserId, ChannelId, bool]]:
        if self.is_return:
            return ()
        return [(u, s.stream_id, True) for u in self.user_ids for s in self.subscriptions]


UPDATES_PER_ENTRY: Final = MAX_WIRE_EVENTS // 2
"""Maximum number of updates per entry: some become two events, for older clients too."""


class ChannelName(msgspec.Struct, frozen=True, kw_only=True):
    """A channel without subscribers of its own: enough fields to find it."""

    stream_id: ChannelId
    name: str


class SubscriptionsRemovedWire(TypedDict):
    """Ended subscriptions of the user."""

    type: Literal["subscription"]
    op: Literal["remove"]
    subscriptions: list[ChannelName]


class SubscriptionsRemoved(Event, frozen=True, kw_only=True):
    """Ended subscriptions of these users, delivered to them."""

    kind: ClassVar[str] = "subscription/remove"
    wire_type: ClassVar[str] = "subscription"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels",)
    wires: ClassVar[tuple[type, ...]] = (SubscriptionsRemovedWire,)

    user_ids: list[UserId]
    subscriptions: list[ChannelName]
    archived: tuple[ChannelId, ...] = ()
    """Those that clients without the capability do not know, because they are archived."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        hidden = () if view.archived_channels else self.archived
        shown = [s for s in self.subscriptions if s.stream_id not in hidden]
        return [{"type": "subscription", "op": "remove", "subscriptions": shown}] if shown else []

    @override
    def touches(self) -> Sequence[Touch]:
        return _touched(self.user_ids, [s.stream_id for s in self.subscriptions])

    @override
    def membership(self) -> Sequence[tuple[UserId, ChannelId, bool]]:
        return [(u, s.stream_id, False) for u in self.user_ids for s in self.subscriptions]


class PeersAddedWire(TypedDict):
    """New subscribers of channels."""

    type: Literal["subscription"]
    op: Literal["peer_add"]
    stream_ids: list[ChannelId]
    user_ids: list[UserId]


class PeersRemovedWire(TypedDict):
    """Subscribers who have left channels."""

    type: Literal["subscription"]
    op: Literal["peer_remove"]
    stream_ids: list[ChannelId]
    user_ids: list[UserId]


class _PeersChanged(Event, frozen=True, kw_only=True):
    """Changed subscribers of these channels, delivered to users with metadata access."""

    op: ClassVar[str]
    wire_type: ClassVar[str] = "subscription"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels",)

    stream_ids: list[ChannelId]
    user_ids: list[UserId]
    archived: tuple[ChannelId, ...] = ()
    """Those that clients without the capability do not know, because they are archived."""
    is_return: bool = False
    """Whether the channels are unarchived: other clients have known it all the time."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.is_return and view.archived_channels:
            return []
        hidden = () if view.archived_channels else self.archived
        shown = [channel_id for channel_id in self.stream_ids if channel_id not in hidden]
        if not shown:
            return []
        event = {"type": "subscription", "op": self.op, "stream_ids": shown}
        return [event | {"user_ids": self.user_ids}]

    @override
    def touches(self) -> Sequence[Touch]:
        return [channel_key(channel_id) for channel_id in self.stream_ids]


class PeersAdded(_PeersChanged, frozen=True, kw_only=True):
    kind: ClassVar[str] = "subscription/peer_add"
    op: ClassVar[str] = "peer_add"
    wires: ClassVar[tuple[type, ...]] = (PeersAddedWire,)


class PeersRemoved(_PeersChanged, frozen=True, kw_only=True):
    kind: ClassVar[str] = "subscription/peer_remove"
    op: ClassVar[str] = "peer_remove"
    wires: ClassVar[tuple[type, ...]] = (PeersRemovedWire,)


class PropertyUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A changed setting of a subscription."""

    stream_id: ChannelId
    property: str
    value: bool | int | str | None
    archived: bool = False
    """Whether the channel is archived, so that clients without the capability do not know it."""


class SubscriptionUpdatedWire(TypedDict):
    """A changed setting of a subscription."""

    type: Literal["subscription"]
    op: Literal["update"]
    stream_id: ChannelId
    property: str
    value: bool | int | str | None


class SubscriptionsUpdated(Event, frozen=True, kw_only=True):
    """Changed settings of subscriptions, delivered to the subscriber only, one event each."""

    kind: ClassVar[str] = "subscription/update"
    wire_type: ClassVar[str] = "subscription"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels",)
    wires: ClassVar[tuple[type, ...]] = (SubscriptionUpdatedWire,)

    user_id: UserId
    updates: list[PropertyUpdate]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        events = []
        for update in self.updates:
            if update.archived and not view.archived_channels:
                continue
            values = [(update.property, update.value)]
            if update.property == "is_muted":
                values.append(("in_home_view", not update.value))
            event = {"type": "subscription", "op": "update", "stream_id": update.stream_id}
            events += [event | {"property": name, "value": value} for name, value in values]
        return events

    @override
    def touches(self) -> Sequence[Touch]:
        ids = dict.fromkeys(update.stream_id for update in self.updates)
        return [subscription_key(self.user_id, channel_id) for channel_id in ids]


def settings_events(
    user_id: UserId, updates: Sequence[PropertyUpdate]
) -> list[SubscriptionsUpdated]:
    """Return as few events as can hold the updates."""
    starts = range(0, len(updates), UPDATES_PER_ENTRY)
    return [
        SubscriptionsUpdated(
            user_id=user_id, updates=list(updates[start : start + UPDATES_PER_ENTRY])
        )
        for start in starts
    ]


def _touched(user_ids: Sequence[UserId], channel_ids: Sequence[ChannelId]) -> Sequence[Touch]:
    keys: list[Touch] = [channel_key(channel_id) for channel_id in channel_ids]
    keys.extend(subscription_key(u, c) for u in user_ids for c in channel_ids)
    return keys


def notification_defaults(row: UserRow) -> dict[str, bool]:
    """Return what applies to the user where a subscription leaves a setting unset."""
    settings = UserSettings.of(row.settings)
    return {name: getattr(settings, default) for name, default in NOTIFICATIONS.items()}
