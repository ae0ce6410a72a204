"""The message that an actor wants to change, and the rows that depends on: all locked."""

from dataclasses import dataclass

from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.messages.audience import protects_history
from server.domain.actor import Actor
from server.domain.archived_channels import check_messages_may_change
from server.domain.channels import Standing
from server.domain.errors import BadRequestError
from server.domain.messages import MAX_TOPIC_LENGTH, clean_topic
from server.domain.resolved_topics import renamed
from server.i18n import _
from server.transactions import StaleDecisionError, Tx
from storage import (
    channels,
    conversations,
    message_edits,
    message_moves,
    message_places,
    subscriptions,
)
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.ids import ChannelId, MessageId, TopicId
from storage.message_edits import ChangingRow, LockedRow
from storage.message_places import MessagePlace

INVALID_MESSAGE = _("Invalid message(s)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """A place of messages about to change, and the one requested for them."""

    actor: Actor
    context: LockedRealm
    standing: Standing
    channel: ChannelRow | None
    topic: TopicRow | None
    new_channel: ChannelRow | None
    """The channel of the requested place, if it exists."""
    new_topic: TopicRow | None
    """The topic of that place, if there is one of this name."""
    new_topic_name: str
    """The name that the topic of that place has or gets."""

    @property
    def names_its_place(self) -> bool:
        """Whether the requested place is the messages' own: some clients always name it."""
        topic, new = self.topic, self.new_topic
        return topic is not None and new is not None and new.topic_id == topic.topic_id

    @property
    def reads_only_given(self) -> bool:
        """Whether the actor may read only what they were given of the channel."""
        return self.channel is not None and protects_history(self.channel)

    def is_own(self, row: ChangingRow | LockedRow) -> bool:
        """Return whether the actor, or a bot of theirs, sent the message."""
        if row.sender_id == self.actor.user_id:
            return True
        sender = self.context.people.get(row.sender_id)
        return sender is not None and sender.bot_owner_id == self.actor.user_id

    def channel_permits(self, name: str) -> bool:
        return self.channel is not None and self.standing.channel_permits(self.channel, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject(Placement):
    """A locked message that the actor may read, and its place."""

    row: ChangingRow


@dataclass(frozen=True, slots=True)
class MoveTarget:
    """Another place for messages; None leaves a field as it is."""

    channel_id: ChannelId | None = None
    topic: str | None = None


async def lock_subject(
    tx: Tx, actor: Actor, message_id: MessageId, target: MoveTarget | None = None
) -> Subject:
    """Lock the message, and before it the channels and topics. Raises BadRequestError.

    Runs alone, on exact rows: subscriptions that change in the same transaction have no position
    yet. Moves lock the channels exclusively: so once these are locked, places do not change any
    more.
    """
    tx.must_be_exact()
    seen = await _seen(tx, actor, message_id)
    context = await lock_context(tx, actor, [seen.sender_id])
    old, new = seen.channel_id, seen.channel_id
    if target is not None and target.channel_id is not None:
        new = target.channel_id
    wanted = sorted({each for each in (old, new) if each is not None})
    locking = channels.locking(tx.realm_id, wanted)
    locked = await tx.lock(locking if target is not None else locking.shared())
    found = {row.channel_id: row for row in locked}
    seen = await _seen(tx, actor, message_id)
    if seen.channel_id != old:
        raise StaleDecisionError
    topics = await _lock_topics(tx, seen, target, new if new in found else None)
    rows = await tx.lock(message_edits.lock_visible(tx.realm_id, actor.user_id, message_id))
    if not rows:
        raise BadRequestError(INVALID_MESSAGE)
    if old is not None:
        check_messages_may_change(is_archived=found[old].is_archived)
    return Subject(
        actor=Actor(actor.realm_id, context.people[actor.user_id], actor.client),
        context=context,
        standing=context.standing(actor.user_id),
        row=rows[0],
        channel=None if old is None else found[old],
        topic=topics.own,
        new_channel=None if new is None else found.get(new),
        new_topic=topics.new,
        new_topic_name=topics.new_name,
    )


async def lock_place(tx: Tx, actor: Actor, message_id: MessageId) -> MessagePlace:
    """Lock a message that the actor may read, to attach something to it. Raises BadRequestError.

    Its channel is locked too: a user who has just been removed from it adds nothing.
    """
    here = (tx.realm_id, actor.user_id, message_id)
    seen = await message_places.visible(await tx.connection(), *here)
    if seen is None:
        raise BadRequestError(INVALID_MESSAGE)
    if seen.channel_id is not None:
        await tx.lock(channels.locking(tx.realm_id, [seen.channel_id]).shared())
    locked = await tx.lock(message_places.lock_visible(*here))
    if not locked:
        raise BadRequestError(INVALID_MESSAGE)
    [place] = locked
    if place.channel_id != seen.channel_id:
        tx.must_be_exact()
        raise StaleDecisionError
    check_messages_may_change(is_archived=place.is_archived)
    return place


async def lock_topic(
    tx: Tx,
    actor: Actor,
    context: LockedRealm,
    channel_id: ChannelId,
    name: str,
    *,
    alone: bool = False,
) -> tuple[ChannelRow, TopicRow]:
    """Lock and return the topic of a channel that the actor may read.

    Concurrent writes move nothing in or out of the channel until the commit; with `alone` none
    locks it at all. Raises BadRequestError.
    """
    locking = channels.locking(tx.realm_id, [channel_id])
    locked = await tx.lock(locking if alone else locking.shared())
    is_in = await is_subscribed(tx, actor, channel_id)
    if not locked or not context.standing(actor.user_id).sees(locked[0], subscribed=is_in):
        raise BadRequestError(_("Invalid channel ID"))
    [channel] = locked
    connection = await tx.connection()
    name = clean_topic(name, context.settings.empty_topic_display_name)
    topic = await conversations.topic_named(connection, tx.realm_id, channel_id, name)
    reads = is_in or await message_edits.readers(
        connection, tx.realm_id, channel_id, [], outsiders_only=True, also=[actor.user_id]
    )
    if topic is None or not reads:
        raise BadRequestError(_("There is no topic '{name}'", name=name))
    check_messages_may_change(is_archived=channel.is_archived)
    await tx.lock(message_moves.topics(tx.realm_id, [topic.topic_id]))
    return channel, topic


async def lock_shown_topic(
    tx: Tx, actor: Actor, channel_id: ChannelId, name: str
) -> tuple[LockedRealm, ChannelRow, TopicRow]:
    """Lock the topic, which has a message that the actor may read, alone: no other write has it.

    Raises BadRequestError.
    """
    tx.must_be_exact()
    context = await lock_context(tx, actor)
    channel, topic = await lock_topic(tx, actor, context, channel_id, name, alone=True)
    if not await message_moves.newest_in_topic(
        await tx.connection(),
        tx.realm_id,
        topic.topic_id,
        limit=1,
        given_to=actor.user_id if protects_history(channel) else None,
    ):
        raise BadRequestError(_("There is no topic '{name}'", name=name))
    return context, channel, topic


async def _seen(tx: Tx, actor: Actor, message_id: MessageId) -> ChangingRow:
    connection = await tx.connection()
    row = await message_edits.visible(connection, tx.realm_id, actor.user_id, message_id)
    if row is None:
        raise BadRequestError(INVALID_MESSAGE)
    return row


@dataclass(frozen=True, slots=True)
class _Topics:
    """The topic of a message and the one of a target, as far as they exist; both are locked."""

    own: TopicRow | None = None
    new: TopicRow | None = None
    new_name: str = ""


async def _lock_topics(
    tx: Tx, seen: ChangingRow, target: MoveTarget | None, channel_id: ChannelId | None
) -> _Topics:
    if seen.channel_id is None:
        return _Topics()
    connection = await tx.connection()
    own_id = TopicId(seen.conversation_id)
    [own] = await conversations.topics_by_ids(connection, tx.realm_id, [own_id])
    new, name = None, own.name
    if target is not None and target.topic is not None:
        name = renamed(own.name, target.topic, max_length=MAX_TOPIC_LENGTH)
    if target is not None and channel_id is not None:
        new = await conversations.topic_named(connection, tx.realm_id, channel_id, name)
    ids = {own_id} if new is None else {own_id, new.topic_id}
    await tx.lock(message_moves.topics(tx.realm_id, [*ids]))
    return _Topics(own, new, name)


async def is_subscribed(tx: Tx, actor: Actor, channel_id: ChannelId) -> bool:
    own = await subscriptions.of_user_in(
        await tx.connection(), tx.realm_id, actor.user_id, channel_id
    )
    return own is not None and own.active
