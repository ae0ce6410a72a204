"""People come to know of channels, or know of them no longer, without joining or leaving."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from server.actions.ground import Ground
from server.actions.subscriptions.audiences import alike
from server.actions.subscriptions.membership import activity_of
from server.events.base import Tx, to_users
from server.events.channels import ChannelInfo, ChannelsCreated, ChannelsDeleted
from server.events.subscriptions import PeersAdded
from storage import subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, UserId


@dataclass(frozen=True, slots=True)
class SightChange:
    """For some people, the channels of which they now may know, and those that are gone."""

    gained: Mapping[UserId, tuple[ChannelId, ...]]
    lost: Mapping[UserId, tuple[ChannelId, ...]]


def sight_change(
    before: Ground,
    after: Ground,
    old: Sequence[ChannelRow],
    new: Mapping[ChannelId, ChannelRow],
    subscribed: set[tuple[UserId, ChannelId]],
) -> SightChange:
    """What the people of both grounds see otherwise, their subscriptions being the same."""
    gained: dict[UserId, list[ChannelId]] = defaultdict(list)
    lost: dict[UserId, list[ChannelId]] = defaultdict(list)
    for user_id, row in after.people.items():
        standing_before = before.standing(user_id)
        standing_after = after.standing_of(row)
        for channel in old:
            channel_id = channel.channel_id
            is_in = (user_id, channel_id) in subscribed
            saw = standing_before.sees(channel, subscribed=is_in)
            sees = standing_after.sees(new[channel_id], subscribed=is_in)
            if sees and not saw:
                gained[user_id].append(channel_id)
            elif saw and not sees:
                lost[user_id].append(channel_id)
    return SightChange(
        {user_id: tuple(ids) for user_id, ids in gained.items()},
        {user_id: tuple(ids) for user_id, ids in lost.items()},
    )


async def tell_of_sight(
    tx: Tx,
    connection: Connection,
    ground: Ground,
    channels: Mapping[ChannelId, ChannelRow],
    change: SightChange,
) -> None:
    """Show people what they may now know of, with who is in it, and take away what they may not."""
    for channel_ids, user_ids in alike(change.lost):
        archived = tuple(i for i in channel_ids if channels[i].is_archived)
        gone = ChannelsDeleted(stream_ids=channel_ids, archived=archived)
        tx.append(gone, to_users(*user_ids))
    shown = sorted({i for ids in change.gained.values() for i in ids})
    if not shown:
        return
    activity = await activity_of(connection, tx.realm_id, shown)
    now = ground.graph.clock.now()
    people: dict[ChannelId, list[UserId]] = {
        row.channel_id: msgspec.json.decode(row.user_ids)
        for row in await subscriptions.subscribers(connection, tx.realm_id, shown)
    }
    for channel_ids, user_ids in alike(change.gained):
        infos = [
            ChannelInfo.of(channels[i], activity.get(i), ground.graph, now=now) for i in channel_ids
        ]
        tx.append(ChannelsCreated(streams=infos), to_users(*user_ids))
        for channel_id in channel_ids:
            if there := people[channel_id]:
                is_archived = channels[channel_id].is_archived
                peers = PeersAdded(
                    stream_ids=[channel_id],
                    user_ids=there,
                    archived=(channel_id,) if is_archived else (),
                )
                tx.append(peers, to_users(*user_ids))


def who_reads_no_more(
    before: Ground,
    after: Ground,
    old: ChannelRow,
    new: ChannelRow,
    subscribed: Collection[UserId],
) -> list[UserId]:
    """Those of the people of both grounds for whom the channel's content was, and is no longer."""
    gone = []
    for user_id, row in after.people.items():
        is_in = user_id in subscribed
        if before.standing(user_id).reads(old, subscribed=is_in) and not after.standing_of(
            row
        ).reads(new, subscribed=is_in):
            gone.append(user_id)
    return gone
