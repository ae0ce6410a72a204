"""Publish channels to users who gain metadata access, and remove them from users who lose it."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from server.actions.access.diff import AccessDiff, AccessState, Pair
from server.actions.channel_audiences import by_channels
from server.events.base import to_users
from server.events.channels import ChannelInfo, ChannelsCreated, ChannelsDeleted
from server.events.subscriptions import PeersAdded
from server.runtime.grouping import grouped
from server.transactions import Tx
from storage import channels, subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def publish_channels(
    tx: Tx, connection: Connection, after: AccessState, diff: AccessDiff
) -> None:
    """Append the channels for users who gain metadata access.

    Subscribers are included, except for users who join: they get them with their subscription.
    Channels come without the subscribers that follow: clients count those.
    """
    if not diff.metadata_gained:
        return
    ids = sorted({channel_id for _, channel_id in diff.metadata_gained})
    infos = await channel_infos(connection, tx.realm_id, after, ids)
    others = grouped((i, u) for u, i in sorted(set(diff.metadata_gained).difference(diff.joined)))
    rows = await subscriptions.subscribers(connection, tx.realm_id, list(others)) if others else []
    peers: dict[ChannelId, list[UserId]] = {
        row.channel_id: msgspec.json.decode(row.user_ids) for row in rows
    }
    for channel_id, user_ids in peers.items():
        info = infos[channel_id]
        count = info.subscriber_count - len(user_ids)
        infos[channel_id] = msgspec.structs.replace(info, subscriber_count=count)
    for channel_ids, user_ids in by_channels(diff.metadata_gained):
        tx.append(ChannelsCreated(streams=[infos[i] for i in channel_ids]), to_users(*user_ids))
    for channel_id, user_ids in sorted(others.items()):
        if peers[channel_id]:
            event = PeersAdded(
                stream_ids=[channel_id],
                user_ids=peers[channel_id],
                archived=archived(after.channels, [channel_id]),
            )
            tx.append(event, to_users(*user_ids))


def remove_channels(tx: Tx, after: AccessState, pairs: Iterable[Pair]) -> None:
    """Append the removal of these channels for each of these users."""
    for channel_ids, user_ids in by_channels(pairs):
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
