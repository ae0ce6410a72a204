"""Publish channels to users who gain metadata access, and remove them from users who lose it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from server.actions.access.diff import AccessDiff, AccessState
from server.actions.channel_audiences import by_channels
from server.events.base import Entry, to_users
from server.events.channels import ChannelInfo, ChannelsCreated, ChannelsDeleted
from server.events.subscriptions import PeersAdded
from server.transactions import Tx
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def publish_metadata(
    tx: Tx, connection: Connection, after: AccessState, diff: AccessDiff
) -> Entry | None:
    """Append the events for metadata access that was lost and gained, with subscribers.

    Returns the last entry that publishes a channel, if there is one: what clients learn about
    that channel has to come after it.
    """
    remove_channels(tx, after, diff.metadata_lost)
    gained = sorted({i for ids in diff.metadata_gained.values() for i in ids})
    if not gained:
        return None
    infos = await channel_infos(connection, tx.realm_id, after, gained)
    subscribers: dict[ChannelId, list[UserId]] = {
        row.channel_id: msgspec.json.decode(row.user_ids)
        for row in await subscriptions.subscribers(connection, tx.realm_id, gained)
    }
    last: Entry | None = None
    for channel_ids, user_ids in by_channels(diff.metadata_gained):
        streams = [infos[channel_id] for channel_id in channel_ids]
        last = tx.append(ChannelsCreated(streams=streams), to_users(*user_ids))
        for channel_id in channel_ids:
            if subscribers[channel_id]:
                event = PeersAdded(
                    stream_ids=[channel_id],
                    user_ids=subscribers[channel_id],
                    archived=archived(after.channels, [channel_id]),
                )
                last = tx.append(event, to_users(*user_ids))
    return last


def remove_channels(
    tx: Tx, after: AccessState, by_user: Mapping[UserId, tuple[ChannelId, ...]]
) -> None:
    """Append the removal of these channels for each of these users."""
    for channel_ids, user_ids in by_channels(by_user):
        gone = ChannelsDeleted(
            stream_ids=channel_ids, archived=archived(after.channels, channel_ids)
        )
        tx.append(gone, to_users(*user_ids))


def archived(
    rows: Mapping[ChannelId, ChannelRow], channel_ids: Iterable[ChannelId]
) -> tuple[ChannelId, ...]:
    """Return those of the channels that are archived."""
    return tuple(i for i in channel_ids if rows[i].is_archived)


async def channel_infos(
    connection: Connection, realm_id: RealmId, state: AccessState, channel_ids: Sequence[ChannelId]
) -> dict[ChannelId, ChannelInfo]:
    """Return the channels as clients get them."""
    rows = await channels.activity(connection, realm_id, channel_ids)
    activity = {row.channel_id: row for row in rows}
    graph = state.context.graph
    now = graph.clock.now()
    return {
        channel_id: ChannelInfo.of(
            state.channels[channel_id], activity.get(channel_id), graph, now=now
        )
        for channel_id in channel_ids
    }
