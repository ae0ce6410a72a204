"""Several messages that an actor wants to change at once, with what that depends on: all locked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.messages.subject import MoveTarget, Placement
from server.domain.actor import Actor
from server.domain.errors import MessagesRefusedError
from server.domain.messages import MAX_TOPIC_LENGTH
from server.domain.resolved_topics import renamed
from server.transactions import StaleDecisionError, Tx
from storage import channels, conversations, message_edits, message_moves
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.ids import ChannelId, MessageId, TopicId
from storage.message_edits import LockedRow
from storage.name_folding import fold_name


class Refusals:
    """Messages that hinder a change, by the reason."""

    def __init__(self) -> None:
        self._by_reason: dict[str, list[MessageId]] = {}

    def add(self, reason: str, message_ids: Iterable[MessageId]) -> None:
        for message_id in message_ids:
            self._by_reason.setdefault(reason, []).append(message_id)

    def check(self) -> None:
        """Raise MessagesRefusedError if there are any."""
        if self._by_reason:
            raise MessagesRefusedError(self._by_reason)


@dataclass(frozen=True, slots=True)
class PlacedMessages:
    """Locked messages of one conversation."""

    placement: Placement
    rows: Sequence[LockedRow]

    @property
    def ids(self) -> list[MessageId]:
        return [row.id for row in self.rows]


@dataclass(frozen=True, slots=True)
class BulkSubject:
    """Locked messages, by their places."""

    context: LockedRealm
    placed: Sequence[PlacedMessages]
    missing: Sequence[MessageId]
    """Those that do not exist, or that the actor may not read."""


async def lock_messages(
    tx: Tx, actor: Actor, message_ids: Sequence[MessageId], target: MoveTarget | None = None
) -> BulkSubject:
    """Lock the messages that the actor may read, and before them their channels and topics.

    Like `lock_subject`, with as many statements for many messages as for one.
    """
    tx.must_be_exact()
    seen = await _seen(tx, actor, message_ids)
    context = await lock_context(tx, actor, {row.sender_id for row in seen})
    old = {row.channel_id for row in seen if row.channel_id is not None}
    wanted = set(old)
    if target is not None and target.channel_id is not None:
        wanted.add(target.channel_id)
    locking = channels.locking(tx.realm_id, sorted(wanted))
    locked = await tx.lock(locking if target is not None else locking.shared())
    found = {row.channel_id: row for row in locked}
    seen = await _seen(tx, actor, message_ids)
    if not {row.channel_id for row in seen if row.channel_id is not None} <= old:
        raise StaleDecisionError
    topics = await _lock_topics(tx, seen, target, found)
    ids = [row.id for row in seen]
    rows = await tx.lock(message_edits.locking_visible(tx.realm_id, actor.user_id, ids))
    by_place: dict[int, list[LockedRow]] = {}
    for row in rows:
        by_place.setdefault(row.conversation_id, []).append(row)
    acting = Actor(actor.realm_id, context.people[actor.user_id], actor.client)
    placed = [
        PlacedMessages(_placement(acting, context, some[0], target, found, topics), some)
        for some in by_place.values()
    ]
    missing = sorted({*message_ids} - {row.id for row in rows})
    return BulkSubject(context, placed, missing)


async def _seen(tx: Tx, actor: Actor, message_ids: Sequence[MessageId]) -> list[LockedRow]:
    connection = await tx.connection()
    return await message_edits.all_visible(connection, tx.realm_id, actor.user_id, message_ids)


@dataclass(frozen=True, slots=True)
class _LockedTopics:
    """The topics of messages, and those of their target that exist; all are locked."""

    own: Mapping[TopicId, TopicRow]
    new: Mapping[tuple[ChannelId, str], TopicRow]
    """By channel and folded name."""


async def _lock_topics(
    tx: Tx,
    seen: Sequence[LockedRow],
    target: MoveTarget | None,
    found: Mapping[ChannelId, ChannelRow],
) -> _LockedTopics:
    connection = await tx.connection()
    ids = sorted({TopicId(row.conversation_id) for row in seen if row.channel_id is not None})
    own = {
        row.topic_id: row for row in await conversations.topics_by_ids(connection, tx.realm_id, ids)
    }
    names: dict[ChannelId, set[str]] = {}
    for topic in own.values() if target is not None else ():
        channel_id = _target_channel(topic.channel_id, target)
        if channel_id in found:
            names.setdefault(channel_id, set()).add(_target_name(topic, target))
    new = {
        (channel_id, name): row
        for channel_id, some in names.items()
        for name, row in (
            await conversations.topics_named(connection, tx.realm_id, channel_id, sorted(some))
        ).items()
    }
    wanted = {*own, *(row.topic_id for row in new.values())}
    await tx.lock(message_moves.topics(tx.realm_id, sorted(TopicId(each) for each in wanted)))
    return _LockedTopics(own, new)


def _target_channel(channel_id: ChannelId, target: MoveTarget | None) -> ChannelId:
    if target is None or target.channel_id is None:
        return channel_id
    return target.channel_id


def _target_name(topic: TopicRow, target: MoveTarget | None) -> str:
    if target is None or target.topic is None:
        return topic.name
    return renamed(topic.name, target.topic, max_length=MAX_TOPIC_LENGTH)


def _placement(
    actor: Actor,
    context: LockedRealm,
    row: LockedRow,
    target: MoveTarget | None,
    found: Mapping[ChannelId, ChannelRow],
    topics: _LockedTopics,
) -> Placement:
    topic = None if row.channel_id is None else topics.own[TopicId(row.conversation_id)]
    new_channel_id = None if topic is None else _target_channel(topic.channel_id, target)
    name = "" if topic is None else _target_name(topic, target)
    new_topic = None
    if new_channel_id is not None:
        new_topic = topics.new.get((new_channel_id, fold_name(name)))
    return Placement(
        actor=actor,
        context=context,
        standing=context.standing(actor.user_id),
        channel=None if row.channel_id is None else found[row.channel_id],
        topic=topic,
        new_channel=None if new_channel_id is None else found.get(new_channel_id),
        new_topic=new_topic,
        new_topic_name=name,
    )
