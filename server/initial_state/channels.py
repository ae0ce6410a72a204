"""Channels as the user may see them; register's `stream` and `default_streams`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypedDict

from server.domain.access import GroupGraph
from server.domain.channels import Standing
from server.domain.permission_settings import OWN_PERMISSIONS
from server.events.channels import ChannelInfo, permissions_of
from server.initial_state.base import Snapshot, StateSection
from server.realm_cache import RealmCache
from storage import channels, subscriptions
from storage.channels import ActivityRow, ChannelRow
from storage.database import Connection
from storage.ids import ChannelId
from storage.subscriptions import SubscriptionRow


class ChannelFields(TypedDict):
    streams: list[ChannelInfo]


class DefaultChannelFields(TypedDict):
    realm_default_streams: list[ChannelId]


_ROWS: Final = ("channel rows",)
_PERMISSIONS: Final = ("channel permissions",)


async def read_channels(connection: Connection, realm_cache: RealmCache) -> list[ChannelRow]:
    """Return all channels of the realm, archived or not, by id, in the connection's snapshot.

    Rows are cached between registers: a changed one has another version, or another number of
    subscribers, in the snapshot.
    """
    versions = await channels.versions(connection, realm_cache.realm_id)
    kept: Mapping[ChannelId, ChannelRow] = realm_cache.recall(_ROWS) or {}
    changed = [
        each.channel_id
        for each in versions
        if each.channel_id not in kept or kept[each.channel_id].changed_at != each.changed_at
    ]
    if changed:
        fresh = await channels.by_ids(connection, realm_cache.realm_id, changed)
        kept = {**kept, **{row.channel_id: row for row in fresh}}
        realm_cache.remember(_ROWS, kept)
    return [_with_subscribers(kept[each.channel_id], each.subscriber_count) for each in versions]


def _with_subscribers(row: ChannelRow, count: int) -> ChannelRow:
    return row if row.subscriber_count == count else replace(row, subscriber_count=count)


class Permissions:
    """Cache of channel permissions in wire form, valid as long as the groups are the same."""

    def __init__(self, graph: GroupGraph) -> None:
        self.graph = graph
        self._shown: dict[tuple[ChannelId, bool], tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        """Keyed by channel, and whether with OWN_PERMISSIONS, beside the row's stored values, which
        validate the cached ones.
        """

    @classmethod
    def kept(cls, realm_cache: RealmCache, graph: GroupGraph) -> "Permissions":
        found = realm_cache.recall(_PERMISSIONS)
        if not isinstance(found, cls) or found.graph is not graph:
            found = cls(graph)
            realm_cache.remember(_PERMISSIONS, found)
        return found

    def of(self, row: ChannelRow, *, pins: bool) -> Mapping[str, Any]:
        """Return the permission fields of ChannelInfo, for clients with this capability or not."""
        key = row.channel_id, pins
        said, shown = self._shown.get(key, (None, {}))
        if said is not row.permissions:
            shown = permissions_of(row, self.graph)
            if not pins:
                shown = {name: shown[name] for name in shown if name not in OWN_PERMISSIONS}
            self._shown[key] = row.permissions, shown
        return shown


@dataclass(frozen=True, slots=True)
class VisibleChannels:
    """The channels that a user may know, archived ones too, with their subscriptions."""

    standing: Standing
    rows: Sequence[ChannelRow]
    own: Mapping[ChannelId, SubscriptionRow]
    activity: Mapping[ChannelId, ActivityRow]
    permissions: "Permissions"

    @classmethod
    async def of(
        cls, connection: Connection, realm_cache: RealmCache, standing: Standing
    ) -> "VisibleChannels":
        realm_id = realm_cache.realm_id
        every, subscribed = await connection.together(
            read_channels(connection, realm_cache),
            subscriptions.of_user(connection, realm_id, standing.person.user_id),
        )
        own = {row.channel_id: row for row in subscribed}
        active = {channel_id for channel_id, row in own.items() if row.active}
        rows = [row for row in every if standing.sees(row, subscribed=row.channel_id in active)]
        activity = await channels.activity(connection, realm_id, [row.channel_id for row in rows])
        by_channel = {row.channel_id: row for row in activity}
        return cls(standing, rows, own, by_channel, Permissions.kept(realm_cache, standing.graph))

    def is_in(self, channel_id: ChannelId) -> bool:
        row = self.own.get(channel_id)
        return row is not None and row.active

    def info(self, row: ChannelRow, *, pins: bool = False) -> ChannelInfo:
        """Return a channel in its wire form, for clients with the capability `pins` or not."""
        graph = self.standing.graph
        return ChannelInfo.of(
            row,
            self.activity.get(row.channel_id),
            graph,
            now=graph.clock.now(),
            permissions=self.permissions.of(row, pins=pins),
        )


async def sight_of(snapshot: Snapshot) -> tuple[VisibleChannels, dict[ChannelId, ChannelInfo]]:
    """Return what the registering user sees, and each channel in its wire form."""
    return await snapshot.once("sight", lambda: _read_sight(snapshot))


async def _read_sight(snapshot: Snapshot) -> tuple[VisibleChannels, dict[ChannelId, ChannelInfo]]:
    standing = Standing(snapshot.actor.person, snapshot.graph, snapshot.settings)
    sight = await VisibleChannels.of(snapshot.connection, snapshot.realm_cache, standing)
    infos = {
        row.channel_id: sight.info(row, pins=snapshot.view.pins)
        for row in sight.rows
        if snapshot.view.archived_channels or not row.is_archived
    }
    return sight, infos


async def fetch_channels(snapshot: Snapshot) -> dict[str, Any]:
    _, infos = await sight_of(snapshot)
    return {"streams": list(infos.values())}


async def fetch_defaults(snapshot: Snapshot) -> dict[str, Any]:
    if snapshot.actor.is_guest:
        return {"realm_default_streams": []}
    ids = await channels.default_ids(snapshot.connection, snapshot.realm_id)
    return {"realm_default_streams": ids}


SECTIONS = (
    StateSection("stream", fetch_channels, (ChannelFields,)),
    StateSection("default_streams", fetch_defaults, (DefaultChannelFields,)),
)
