"""Pins and descriptions of topics that lose their last messages.

They end with messages that are deleted, and go along with messages that move. Each channel gets one
event of either kind.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from server.events.base import Entry
from server.transactions import Tx
from storage import message_moves, pins, topic_attributes, topic_descriptions
from storage.ids import ChannelId, MessageId, TopicId, UserId
from storage.topic_attributes import TopicAttributes

Place = tuple[ChannelId, TopicId]


@dataclass(frozen=True, slots=True)
class LeftTopic:
    """A locked topic that messages leave."""

    place: Place
    readers: Sequence[UserId]
    """Users who could read these messages. Those who read all of the channel need not be there."""
    new_place: Place | None = None
    """Where the messages are now, also locked; None if they are deleted."""


async def end_with_messages(
    tx: Tx, entry: Entry, topics: Sequence[LeftTopic], message_ids: Sequence[MessageId]
) -> None:
    """Remove pins and descriptions of topics that have no message but these, which are deleted."""
    found = await _attributes_of(tx, topics)
    having = [each for each in topics if _has_any(found[each.place[1]])]
    if not having:
        return
    kept = await message_moves.topics_with_messages(
        await tx.connection(),
        tx.realm_id,
        [each.place[1] for each in having],
        besides=message_ids,
    )
    await _transfer(tx, entry, [each for each in having if each.place[1] not in kept], found)


async def transfer(tx: Tx, entry: Entry, topics: Sequence[LeftTopic]) -> None:
    """Transfer pins and descriptions of emptied topics to where their messages are.

    Of two pins the earlier one stays, of two descriptions that of the topic that stays.
    """
    found = await _attributes_of(tx, topics)
    having = [each for each in topics if _has_any(found[each.place[1]])]
    await _transfer(tx, entry, having, found)


async def _attributes_of(tx: Tx, topics: Iterable[LeftTopic]) -> Mapping[TopicId, TopicAttributes]:
    places = [each.place for each in topics]
    places += [each.new_place for each in topics if each.new_place is not None]
    ids = sorted({topic_id for _channel_id, topic_id in places})
    return await topic_attributes.of_topics(await tx.connection(), tx.realm_id, ids)


def _has_any(row: TopicAttributes) -> bool:
    return row.pinned_at is not None or row.description is not None


async def _transfer(
    tx: Tx,
    entry: Entry,
    emptied: Sequence[LeftTopic],
    before: Mapping[TopicId, TopicAttributes],
) -> None:
    if not emptied:
        return
    after = dict(before)
    for each in emptied:
        brought = after[each.place[1]]
        after[brought.topic_id] = _without_any(brought)
        if each.new_place is not None:
            target = after[each.new_place[1]]
            after[target.topic_id] = _merged(target, brought)
    changed = [row for topic_id, row in after.items() if row != before[topic_id]]
    await topic_attributes.set_attributes(await tx.changing(), tx.realm_id, changed)
    targets = {each.new_place for each in emptied if each.new_place is not None}
    for channel_id in sorted({each for each, _topic_id in targets.union(e.place for e in emptied)}):
        left = [(before[e.place[1]], e.readers) for e in emptied if e.place[0] == channel_id]
        came = sorted(topic_id for each, topic_id in targets if each == channel_id)
        _publish_pins(
            tx,
            entry,
            channel_id,
            [each for each in left if each[0].pinned_at is not None],
            [each for each in came if before[each].pinned_at != after[each].pinned_at],
        )
        _publish_descriptions(
            tx,
            entry,
            channel_id,
            [each for each in left if each[0].description is not None],
            [each for each in came if before[each].description != after[each].description],
        )


def _without_any(row: TopicAttributes) -> TopicAttributes:
    return replace(row, pinned_at=None, description=None, rendered_description=None)


def _merged(target: TopicAttributes, brought: TopicAttributes) -> TopicAttributes:
    pinned = [row.pinned_at for row in (target, brought) if row.pinned_at is not None]
    described = brought if target.description is None else target
    return replace(
        target,
        pinned_at=min(pinned, default=None),
        description=described.description,
        rendered_description=described.rendered_description,
    )


_Left = Sequence[tuple[TopicAttributes, Sequence[UserId]]]
"""What topics had that lost all their messages, and the readers of these."""


def _publish_pins(
    tx: Tx, entry: Entry, channel_id: ChannelId, left: _Left, came: Sequence[TopicId]
) -> None:
    if left or came:
        also = sorted({user_id for _row, readers in left for user_id in readers})
        changed = pins.append_topics(tx.realm_id, channel_id, came, also=also, write_id=tx.write_id)
        tx.at_position(entry, changed)


def _publish_descriptions(
    tx: Tx, entry: Entry, channel_id: ChannelId, left: _Left, came: Sequence[TopicId]
) -> None:
    if left or came:
        gone = {row.name: readers for row, readers in left}
        changed = topic_descriptions.append_changed(
            tx.realm_id, channel_id, came, gone=gone, write_id=tx.write_id
        )
        tx.at_position(entry, changed)
