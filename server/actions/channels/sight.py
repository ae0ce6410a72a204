"""People come to know of channels, or know of them no longer, without joining or leaving."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from server.actions.locked_realm import LockedRealm
from server.actions.subscriptions.audiences import alike
from server.actions.subscriptions.membership import activity_of
from server.events.base import Entry, to_users
from server.events.channels import ChannelInfo, ChannelsCreated, ChannelsDeleted
from server.events.subscriptions import PeersAdded
from server.transactions import Tx
from storage import subscriptions
from storage.channels import ChannelRow
from storage.database import Connection
from storage.ids import ChannelId, UserId


@dataclass(frozen=True, slots=True)
class SightChange:
    """For some people, the channels of which they now may know, and those that are gone."""

    gained: Mapping[UserId, tuple[ChannelId, ...]]
    lost: Mapping[UserId, tuple[ChannelId, ...]]

    def still_known(
        self, pairs: Iterable[tuple[UserId, ChannelId]]
    ) -> set[tuple[UserId, ChannelId]]:
        """Those of these, who could read the channel, who may know of it from now on, too."""
        return {pair for pair in pairs if pair[1] not in self.lost.get(pair[0], ())}


def sight_change(
    before: LockedRealm,
    after: LockedRealm,
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
    context: LockedRealm,
    channels: Mapping[ChannelId, ChannelRow],
    change: SightChange,
) -> Entry | None:
    """Show people what they may now know of, with who is in it, and take away what they may not.

    The last entry that shows something, if there is any: what is told of that goes behind it.
    """
    for channel_ids, user_ids in alike(change.lost):
        archived = tuple(i for i in channel_ids if channels[i].is_archived)
        gone = ChannelsDeleted(stream_ids=channel_ids, archived=archived)
        tx.append(gone, to_users(*user_ids))
    shown = sorted({i for ids in change.gained.values() for i in ids})
    if not shown:
        return None
    activity = await activity_of(connection, tx.realm_id, shown)
    now = context.graph.clock.now()
    people: dict[ChannelId, list[UserId]] = {
        row.channel_id: msgspec.json.decode(row.user_ids)
        for row in await subscriptions.subscribers(connection, tx.realm_id, shown)
    }
    last: Entry | None = None
    for channel_ids, user_ids in alike(change.gained):
        infos = [
            ChannelInfo.of(channels[i], activity.get(i), context.graph, now=now)
            for i in channel_ids
        ]
        last = tx.append(ChannelsCreated(streams=infos), to_users(*user_ids))
        for channel_id in channel_ids:
            if there := people[channel_id]:
                is_archived = channels[channel_id].is_archived
                peers = PeersAdded(
                    stream_ids=[channel_id],
                    user_ids=there,
                    archived=(channel_id,) if is_archived else (),
                )
                last = tx.append(peers, to_users(*user_ids))
    return last


@dataclass(frozen=True, slots=True)
class ReadingChange:
    """Those for whom a channel's content is from now on, and those for whom it is no longer."""

    gaining: list[UserId]
    """Of those who could read some of it already, for whom its history is from now on, too."""
    losing: list[UserId]
    """None of them is subscribed: whoever is may read it."""


def reading_change(
    before: LockedRealm,
    after: LockedRealm,
    old: ChannelRow,
    new: ChannelRow,
    subscribed: Collection[UserId],
) -> ReadingChange:
    """What the people of both grounds may read otherwise, their subscriptions being the same."""
    change = ReadingChange([], [])
    for user_id, row in after.people.items():
        is_in = user_id in subscribed
        standing_before, standing_after = before.standing(user_id), after.standing_of(row)
        if standing_after.reads(new, subscribed=is_in):
            read = standing_before.reads(old, subscribed=is_in)
            had_history = standing_before.reads_history(old, subscribed=is_in)
            has_history = standing_after.reads_history(new, subscribed=is_in)
            if not read or (has_history and not had_history):
                change.gaining.append(user_id)
        elif standing_before.reads(old, subscribed=is_in):
            change.losing.append(user_id)
    return change
