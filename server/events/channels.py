"""Events of channels, and channels in their wire form."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, NotRequired, Self, TypedDict, TypeVar

import msgspec
from msgspec import UNSET, Raw, UnsetType
from typing_extensions import override

from server.domain.access import GroupGraph, GroupValue
from server.domain.channels import (
    ADMINISTRATORS_POST,
    post_policy,
    setting_of,
    weekly_traffic,
)
from server.domain.permission_settings import CHANNEL_PERMISSIONS, OWN_PERMISSIONS
from server.events.base import ClientView, Event
from server.realm_cache import Touch, channel_key
from storage.channels import ActivityRow, ChannelRow
from storage.ids import ChannelId, Position

RECENTLY: Final = timedelta(days=180)
"""A channel without messages for so long counts as inactive."""

UserIds = Annotated[
    Raw, msgspec.Meta(extra_json_schema={"type": "array", "items": {"type": "integer"}})
]
"""A list of user ids as JSON."""


class ChannelInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A channel, in the form for every user with access to its metadata."""

    stream_id: ChannelId
    name: str
    description: str
    rendered_description: str
    date_created: int
    creator_id: int | None
    invite_only: bool
    is_web_public: bool
    history_public_to_subscribers: bool
    is_archived: bool
    topics_policy: str
    folder_id: int | None
    message_retention_days: int | None
    default_push_notifications: bool | UnsetType = UNSET
    """Whether first-time subscribers get push notifications, whatever their own default is. Unset
    only in events of the previous release."""
    first_message_id: int | None
    is_recently_active: bool
    stream_weekly_traffic: int | None
    """None: too young for an average."""
    subscriber_count: int
    stream_post_policy: int
    is_announcement_only: bool
    can_add_subscribers_group: GroupValue
    can_administer_channel_group: GroupValue
    can_create_topic_group: GroupValue | UnsetType = UNSET
    """Unset only in events of the previous release."""
    can_delete_any_message_group: GroupValue
    can_delete_own_message_group: GroupValue
    can_move_messages_out_of_channel_group: GroupValue
    can_move_messages_within_channel_group: GroupValue
    can_pin_group: GroupValue | UnsetType = UNSET
    """Unset for clients without the capability `pins`, and in events of the previous release."""
    can_remove_subscribers_group: GroupValue
    can_resolve_topics_group: GroupValue
    can_send_message_group: GroupValue
    can_subscribe_group: GroupValue

    @classmethod
    def of(
        cls,
        row: ChannelRow,
        activity: ActivityRow | None,
        graph: GroupGraph,
        *,
        now: datetime,
        permissions: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Self:
        """Build it from a row; `activity` is None for a channel without messages.

        `permissions` is the result of `permissions_of`, if it is known already.
        """
        last = row.created_at
        if activity is not None and activity.last_sent_at is not None:
            last = max(last, activity.last_sent_at)
        return cls(
            stream_id=row.channel_id,
            name=row.name,
            description=row.description,
            rendered_description=row.rendered_description,
            date_created=int(row.created_at.timestamp()),
            creator_id=row.creator_id,
            invite_only=row.invite_only,
            is_web_public=row.is_web_public,
            history_public_to_subscribers=row.history_public_to_subscribers,
            is_archived=row.is_archived,
            topics_policy=row.topics_policy,
            folder_id=row.folder_id,
            message_retention_days=row.message_retention_days,
            default_push_notifications=row.default_push_notifications,
            first_message_id=None if activity is None else activity.first_message_id,
            is_recently_active=now - last < RECENTLY,
            stream_weekly_traffic=weekly_traffic(
                0 if activity is None else activity.recent_messages,
                created_at=row.created_at,
                now=now,
            ),
            subscriber_count=row.subscriber_count,
            **(permissions_of(row, graph) if permissions is None else permissions),
            **more,
        )


Channel = TypeVar("Channel", bound=ChannelInfo)


def channel_for(view: ClientView, channel: Channel) -> Channel:
    """Return the channel without permissions that the client has not asked for."""
    if view.pins or channel.can_pin_group is UNSET:
        return channel
    return msgspec.structs.replace(channel, can_pin_group=UNSET)


def permissions_of(row: ChannelRow, graph: GroupGraph) -> Mapping[str, Any]:
    """Return the permission fields of ChannelInfo."""
    post = post_policy(row, graph)
    return {
        "stream_post_policy": post,
        "is_announcement_only": post == ADMINISTRATORS_POST,
        **{name: _permission(row, name, graph) for name in CHANNEL_PERMISSIONS},
    }


def _permission(row: ChannelRow, name: str, graph: GroupGraph) -> GroupValue:
    """Return the wire value of `setting_of`, with a shortcut for values that need no change.

    Register returns thousands of them.
    """
    value: GroupValue | None = row.permissions.get(name)
    if isinstance(value, int):
        return value
    if value is not None and graph.gone.isdisjoint(value["direct_members"]):
        return value
    default = graph.ids_by_name.get(CHANNEL_PERMISSIONS[name].default)
    if value is None and default is not None:
        return default
    return setting_of(row, name, graph).as_json()


class ChannelsCreatedWire(TypedDict):
    """Channels that the user may know from now on."""

    type: Literal["stream"]
    op: Literal["create"]
    streams: list[ChannelInfo]


class DeletedChannel(TypedDict):
    stream_id: ChannelId


class ChannelsDeletedWire(TypedDict):
    """Channels that the user may no longer know."""

    type: Literal["stream"]
    op: Literal["delete"]
    stream_ids: list[ChannelId]
    streams: list[DeletedChannel]


class ChannelUpdatedWire(TypedDict):
    """A changed property of a channel."""

    type: Literal["stream"]
    op: Literal["update"]
    stream_id: ChannelId
    name: str
    """Its name before the change."""
    property: str
    value: GroupValue | bool | str | None
    rendered_description: NotRequired[str]
    """With a new description."""
    history_public_to_subscribers: NotRequired[bool]
    is_web_public: NotRequired[bool]


class DefaultChannelsWire(TypedDict):
    """The new list of default channels."""

    type: Literal["default_streams"]
    default_streams: list[ChannelId]


class ChannelsCreated(Event, frozen=True, kw_only=True):
    """Channels that the audience may know from now on: new ones, or newly accessible ones."""

    kind: ClassVar[str] = "stream/create"
    wire_type: ClassVar[str] = "stream"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels", "pins")
    wires: ClassVar[tuple[type, ...]] = (ChannelsCreatedWire,)

    streams: list[ChannelInfo]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        shown = [
            channel_for(view, s)
            for s in self.streams
            if view.archived_channels or not s.is_archived
        ]
        return [{"type": "stream", "op": "create", "streams": shown}] if shown else []

    @override
    def touches(self) -> Sequence[Touch]:
        return [channel_key(s.stream_id) for s in self.streams]


class ChannelsDeleted(Event, frozen=True, kw_only=True):
    """Channels that the audience may no longer know."""

    kind: ClassVar[str] = "stream/delete"
    wire_type: ClassVar[str] = "stream"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels",)
    wires: ClassVar[tuple[type, ...]] = (ChannelsDeletedWire,)

    stream_ids: list[ChannelId]
    archived: tuple[ChannelId, ...] = ()
    """Those that clients without the capability do not know anyway, because they are archived."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        hidden = () if view.archived_channels else self.archived
        return deleted([i for i in self.stream_ids if i not in hidden])

    @override
    def touches(self) -> Sequence[Touch]:
        return [channel_key(channel_id) for channel_id in self.stream_ids]


def deleted(channel_ids: Sequence[ChannelId]) -> Sequence[Any]:
    """Return the wire events of deleted channels; empty if there are none."""
    if not channel_ids:
        return []
    streams = [{"stream_id": channel_id} for channel_id in channel_ids]
    return [{"type": "stream", "op": "delete", "stream_ids": channel_ids, "streams": streams}]


class ChannelUpdated(Event, frozen=True, kw_only=True):
    """A changed property of a channel."""

    kind: ClassVar[str] = "stream/update"
    wire_type: ClassVar[str] = "stream"
    varies_by: ClassVar[tuple[str, ...]] = ("archived_channels", "pins")
    wires: ClassVar[tuple[type, ...]] = (
        ChannelUpdatedWire,
        ChannelsCreatedWire,
        ChannelsDeletedWire,
    )

    stream_id: ChannelId
    name: str
    """Its name before the change."""
    property: str
    value: Any
    rendered_description: str | UnsetType = UNSET
    history_public_to_subscribers: bool | UnsetType = UNSET
    is_web_public: bool | UnsetType = UNSET
    archived: bool = False
    """Whether it is archived, so that clients without the capability do not know it."""
    channel: ChannelInfo | None = None
    """The whole channel if it is unarchived."""

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        if self.property in OWN_PERMISSIONS and not view.pins:
            return []
        if not view.archived_channels:
            if self.property == "is_archived":
                return self._for_clients_without_archive(view)
            if self.archived:
                return []
        optional = {
            "rendered_description": self.rendered_description,
            "history_public_to_subscribers": self.history_public_to_subscribers,
            "is_web_public": self.is_web_public,
        }
        return [
            {
                "type": "stream",
                "op": "update",
                "stream_id": self.stream_id,
                "name": self.name,
                "property": self.property,
                "value": self.value,
            }
            | {name: value for name, value in optional.items() if value is not UNSET}
        ]

    def _for_clients_without_archive(self, view: ClientView) -> Sequence[Any]:
        if self.channel is None:
            return deleted([self.stream_id])
        shown = [channel_for(view, self.channel)]
        return [{"type": "stream", "op": "create", "streams": shown}]

    @override
    def touches(self) -> Sequence[Touch]:
        return [channel_key(self.stream_id)]


class ChannelsUpdated(Event, frozen=True, kw_only=True):
    """Changed properties of several channels together; at most MAX_WIRE_EVENTS of them."""

    kind: ClassVar[str] = "stream/updates"
    wire_type: ClassVar[str] = "stream"
    varies_by: ClassVar[tuple[str, ...]] = ChannelUpdated.varies_by
    wires: ClassVar[tuple[type, ...]] = ChannelUpdated.wires

    updates: list[ChannelUpdated]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return [event for update in self.updates for event in update.wire(position, view)]

    @override
    def touches(self) -> Sequence[Touch]:
        return [channel_key(update.stream_id) for update in self.updates]


class DefaultChannelsChanged(Event, frozen=True, kw_only=True):
    """The new list of default channels."""

    kind: ClassVar[str] = "default_streams"
    wire_type: ClassVar[str] = "default_streams"
    wires: ClassVar[tuple[type, ...]] = (DefaultChannelsWire,)

    default_streams: list[ChannelId]

    @override
    def wire(self, position: Position, view: ClientView) -> Sequence[Any]:
        return [{"type": "default_streams", "default_streams": self.default_streams}]
