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
    peers = await _subscribers(connection, tx.realm_id, sorted({i for _, i in others}))
    for channel_ids, user_ids in by_channels(diff.metadata_gained):
        streams = [_before_peers(infos[i], peers.get(i, [])) for i in channel_ids]
        tx.append(ChannelsCreated(streams=streams), to_users(*user_ids))
    _publish_subscribers(tx, after, others, peers)


async def _subscribers(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId]
) -> dict[ChannelId, list[UserId]]:
    if not channel_ids:
        return {}
    rows = await subscriptions.subscribers(connection, realm_id, channel_ids)
    return {row.channel_id: msgspec.json.decode(row.user_ids) for row in rows}


def _before_peers(info: ChannelInfo, subscriber_ids: Sequence[UserId]) -> ChannelInfo:
    """Return the channel without subscribers that follow: clients count them as they come."""
    count = info.subscriber_count - len(subscriber_ids)
    return msgspec.structs.replace(info, subscriber_count=count)


def _publish_subscribers(
    tx: Tx,
    after: AccessState,
    pairs: Iterable[Pair],
    subscribers: Mapping[ChannelId, Sequence[UserId]],
) -> None:
    by_channel: dict[ChannelId, list[UserId]] = defaultdict(list)
    for user_id, channel_id in pairs:
        by_channel[channel_id].append(user_id)
    for channel_id, user_ids in sorted(by_channel.items()):
        if subscribers[channel_id]:
            event = PeersAdded(
                stream_ids=[channel_id],
                user_ids=list(subscribers[channel_id]),
                archived=archived(after.channels, [channel_id]),
            )
            tx.append(event, to_users(*user_ids))


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
