"""Publish channels to users who gain metadata access, and remove them from users who lose it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from server.actions.access.diff import AccessDiff, AccessState, Pair
from server.actions.channel_audiences import by_channels
from server.events.base import to_users
from server.events.channels import ChannelInfo, ChannelsCreated, ChannelsDeleted
from server.events.subscriptions import PeersAdded
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
    """
    joined = set(diff.joined)
    gained = [(user_id, i) for user_id, ids in diff.metadata_gained.items() for i in ids]
    others = [pair for pair in gained if pair not in joined]
    if not gained:
        return
    infos = await channel_infos(connection, tx.realm_id, after, sorted({i for _, i in gained}))
    for channel_ids, user_ids in by_channels(diff.metadata_gained):
        streams = [infos[channel_id] for channel_id in channel_ids]
        tx.append(ChannelsCreated(streams=streams), to_users(*user_ids))
    if others:
        await _publish_subscribers(tx, connection, after, others)


async def _publish_subscribers(
    tx: Tx, connection: Connection, after: AccessState, pairs: Iterable[Pair]
) -> None:
    by_channel: dict[ChannelId, list[UserId]] = defaultdict(list)
    for user_id, channel_id in pairs:
        by_channel[channel_id].append(user_id)
    for row in await subscriptions.subscribers(connection, tx.realm_id, sorted(by_channel)):
        subscriber_ids: list[UserId] = msgspec.json.decode(row.user_ids)
        if subscriber_ids:
            event = PeersAdded(
                stream_ids=[row.channel_id],
                user_ids=subscriber_ids,
                archived=archived(after.channels, [row.channel_id]),
            )
            tx.append(event, to_users(*by_channel[row.channel_id]))


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
