"""What somebody sees of the realm's channels; register's `stream` and `default_streams`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from server.domain.channels import Standing
from server.events.channels import ChannelInfo
from server.initial_state.base import Section, Snapshot
from storage import channels, subscriptions
from storage.channels import ActivityRow, ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId
from storage.subscriptions import SubscriptionRow


@dataclass(frozen=True, slots=True)
class Sight:
    """The channels that somebody may know of, archived ones too, and what they had there."""

    standing: Standing
    rows: Sequence[ChannelRow]
    own: Mapping[ChannelId, SubscriptionRow]
    activity: Mapping[ChannelId, ActivityRow]

    @classmethod
    async def of(cls, connection: Connection, realm_id: RealmId, standing: Standing) -> "Sight":
        user_id = standing.person.user_id
        subscribed, every = await connection.together(
            subscriptions.of_user(connection, realm_id, user_id),
            channels.all_of_realm(connection, realm_id),
        )
        own = {row.channel_id: row for row in subscribed}
        active = {channel_id for channel_id, row in own.items() if row.active}
        rows = [row for row in every if standing.sees(row, subscribed=row.channel_id in active)]
        activity = await channels.activity(connection, realm_id, [row.channel_id for row in rows])
        return cls(standing, rows, own, {row.channel_id: row for row in activity})

    def is_in(self, channel_id: ChannelId) -> bool:
        row = self.own.get(channel_id)
        return row is not None and row.active

    def info(self, row: ChannelRow) -> ChannelInfo:
        graph = self.standing.graph
        return ChannelInfo.of(row, self.activity.get(row.channel_id), graph, now=graph.clock.now())


async def sight_of(snapshot: Snapshot) -> tuple[Sight, dict[ChannelId, ChannelInfo]]:
    """What the one who registers sees, and each channel as their client is shown it."""
    return await snapshot.once("sight", lambda: _read_sight(snapshot))


async def _read_sight(snapshot: Snapshot) -> tuple[Sight, dict[ChannelId, ChannelInfo]]:
    standing = Standing(snapshot.actor.person, snapshot.graph, snapshot.settings)
    sight = await Sight.of(snapshot.connection, snapshot.realm_id, standing)
    infos = {
        row.channel_id: sight.info(row)
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


SECTIONS = (Section("stream", fetch_channels), Section("default_streams", fetch_defaults))
