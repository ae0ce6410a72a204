"""Move many messages in steps.

Messages sent to the topic after the move began stay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from server.actions.locked_realm import lock_realm_context
from server.actions.messages.audience import (
    Crossing,
    MessageRecipients,
    activity_statements,
    by_place,
    of_channel,
    of_crossing,
    readers_of,
)
from server.actions.messages.edit import PreparedEdit, write_edit
from server.actions.messages.emptied_topics import LeftTopic, transfer
from server.actions.messages.notices import Notice, deliver, drafts
from server.actions.stepped_work import Step, SteppedWorkKind, put_off
from server.events.base import NO_AUDIENCE, Entry
from server.events.log import Tick
from server.events.message_changes import (
    MessagesChanged,
    MessagesGone,
    PropagateMode,
    Relocation,
)
from server.transactions import Tx
from storage import channels, message_edits, message_moves, pins, realms, user_topics
from storage.channels import ChannelRow
from storage.database import Statement
from storage.ids import ChannelId, MessageId, TopicId, UserId
from storage.message_moves import TopicMove

MESSAGES_PER_STEP: Final = 1_000
"""Number of messages per transaction: as many as one event holds."""


class MovePlan(msgspec.Struct, frozen=True, kw_only=True):
    """A permitted move that takes several steps."""

    actor_id: UserId
    message_id: MessageId
    """The message that stands for all of them."""
    mode: PropagateMode
    old_channel_id: ChannelId
    old_topic_id: TopicId
    old_topic: str
    new_channel_id: ChannelId
    new_topic_id: TopicId
    new_topic: str
    since: MessageId
    until: MessageId
    only_given: bool = msgspec.field(name="only_received")
    """Whether to move only messages that the actor was given: they may not read the rest."""
    moved_at: datetime
    target_was_empty: bool = True
    notices: list[Notice] = []

    @property
    def crosses(self) -> bool:
        return self.old_channel_id != self.new_channel_id

    def history_entry(self) -> dict[str, Any]:
        entry: dict[str, Any] = {
            "user_id": self.actor_id,
            "timestamp": int(self.moved_at.timestamp()),
        }
        if self.new_topic != self.old_topic:
            entry |= {"prev_topic": self.old_topic, "topic": self.new_topic}
        if self.crosses:
            entry |= {"prev_stream": self.old_channel_id, "stream": self.new_channel_id}
        return entry

    def topic_move(self, previous_content: Mapping[str, str]) -> TopicMove:
        """Return what is written of it; an edit in the same write adds the previous content."""
        entry = self.history_entry() | {**previous_content}
        return TopicMove(self.old_topic_id, self.new_topic_id, entry)


def policy_body(
    channel_id: ChannelId, topic: str, now: datetime, display_name: str
) -> dict[str, Any]:
    """Return the body of a user's visibility policy event, without the policy."""
    return {
        "stream_id": channel_id,
        "topic_name": topic,
        "last_updated": int(now.timestamp()),
        "empty_topic_display_name": display_name,
    }


async def begin_plan(
    tx: Tx, plan: MovePlan, messages_per_step: int, edit: PreparedEdit | None = None
) -> str | None:
    """Take the first step with locked topics; return the id of the remaining work, if any.

    An edit of the plan's message is written with its move, in the first step.
    """
    done = await _move_some(tx, plan, plan.since, messages_per_step, edit)
    if edit is not None:
        edit.enqueue_jobs(tx)
    return await put_off(tx, MOVING, plan, done=done)


async def _take(tx: Tx, plan: MovePlan, step: Step) -> int | None:
    """Move the next messages. All up to the message `step.done` have been moved."""
    await _lock_place(tx, plan)
    return await _move_some(tx, plan, MessageId(step.done + 1), step.size)


MOVING: Final = SteppedWorkKind(
    "finish_moving", MovePlan, MESSAGES_PER_STEP, _take, drafts, deliver
)


async def _lock_place(tx: Tx, plan: MovePlan) -> None:
    await tx.lock(realms.locking(tx.realm_id).shared())
    wanted = sorted({plan.old_channel_id, plan.new_channel_id})
    await tx.lock(channels.locking(tx.realm_id, wanted))
    await tx.lock(message_moves.topics(tx.realm_id, [plan.old_topic_id, plan.new_topic_id]))


async def _move_some(
    tx: Tx, plan: MovePlan, since: MessageId, limit: int, edit: PreparedEdit | None = None
) -> MessageId | None:
    """Move the next messages and publish it.

    Return the last of them, or None if no more are left.
    """
    connection = await tx.connection()
    some = await message_moves.ids_in_topic(
        connection,
        tx.realm_id,
        plan.old_topic_id,
        since=since,
        until=plan.until,
        limit=limit + 1,
        given_to=plan.actor_id if plan.only_given else None,
    )
    now, is_last = some[:limit], len(some) <= limit
    wanted = now if edit is None else sorted({*now, plan.message_id})
    locked = await tx.lock(message_edits.locking(tx.realm_id, wanted))
    ids = [row.id for row in locked if row.conversation_id == plan.old_topic_id]
    if ids:
        await move_planned(tx, [PlannedMove(plan, ids, is_last=is_last)], edit)
    return None if is_last else now[-1]


@dataclass(frozen=True, slots=True)
class PlannedMove:
    """Locked messages of a topic, to be moved now."""

    plan: MovePlan
    message_ids: Sequence[MessageId]
    is_last: bool
    """Whether none of the plan's messages are left after these."""


async def move_planned(
    tx: Tx, moves: Sequence[PlannedMove], edit: PreparedEdit | None = None
) -> None:
    """Move messages of several topics of one locked channel to another or the same, and publish it.

    An edit of a plan's message is written with its move: then there is one.
    """
    plan = moves[0].plan
    ids = sorted(message_id for each in moves for message_id in each.message_ids)
    wanted = [plan.old_channel_id, plan.new_channel_id]
    found = await channels.by_ids(await tx.connection(), tx.realm_id, wanted)
    by_id = {row.channel_id: row for row in found}
    old, new = by_id[plan.old_channel_id], by_id[plan.new_channel_id]
    context = await lock_realm_context(tx, [plan.actor_id])
    display_name = context.settings.empty_topic_display_name
    crossing = await _crossing(tx, plan, old, new, ids)
    affected = [old, new] if plan.crosses else []
    after = await activity_statements(tx, context, affected, plan.moved_at)
    await _write_moves(tx, moves, edit)
    last = await _append_move_events(tx, moves, old, crossing, display_name, edit) or tx.append(
        Tick(), NO_AUDIENCE
    )
    for statement in after:
        tx.at_position(last, statement)
    if crossing.regained:
        statement = message_moves.append_regained_unread(
            tx.realm_id,
            crossing.regained,
            ids,
            empty_topic_display_name=display_name,
            write_id=tx.write_id,
        )
        tx.at_position(last, statement)
    if plan.crosses:
        arrived = pins.append_moved_messages(
            tx.realm_id, plan.new_channel_id, ids, write_id=tx.write_id
        )
        tx.at_position(last, arrived)
    done = [each for each in moves if each.is_last]
    await _leave_topics(tx, done, new, last, crossing, display_name)


async def _write_moves(tx: Tx, moves: Sequence[PlannedMove], edit: PreparedEdit | None) -> None:
    """Write the messages' new place, and the content of the one that is edited with the move."""
    plan = moves[0].plan
    edited = set() if edit is None else {plan.message_id}
    ids = {message_id for each in moves for message_id in each.message_ids}
    previous = {} if edit is None else edit.previous_content
    for some, content in ((ids - edited, {}), (edited, previous)):
        if some:
            await message_moves.move(
                await tx.changing(),
                tx.realm_id,
                sorted(some),
                [each.plan.topic_move(content) for each in moves],
                channel_id=plan.new_channel_id,
                moved_at=plan.moved_at,
            )
    if edit is not None:
        await write_edit(tx, edit, with_history=False)


async def _crossing(
    tx: Tx, plan: MovePlan, old: ChannelRow, new: ChannelRow, ids: Sequence[MessageId]
) -> Crossing:
    if plan.crosses:
        return await of_crossing(tx, old, new, ids)
    return Crossing(await of_channel(tx, old, ids), [], [])


async def _append_move_events(
    tx: Tx,
    moves: Sequence[PlannedMove],
    old: ChannelRow,
    crossing: Crossing,
    display_name: str,
    edit: PreparedEdit | None,
) -> Entry | None:
    """Append the events, those of each topic by themselves; return the last entry, if any."""
    last = None
    plans = {TopicId(each.plan.old_topic_id): each.plan for each in moves}
    places = {
        message_id: each.plan.old_topic_id for each in moves for message_id in each.message_ids
    }
    for all_recipients in crossing.lost:
        for topic_id, recipients in by_place(all_recipients, places).items():
            gone = MessagesGone(
                message_ids=tuple(recipients.message_ids),
                channel_id=old.channel_id,
                topic=plans[TopicId(topic_id)].old_topic,
                empty_topic_display_name=display_name,
            )
            for part in gone.in_parts():
                last = tx.append(part, recipients.audience)
    flags = None if edit is None else edit.set_flags()
    for all_recipients in crossing.gained:
        for topic_id, recipients in by_place(all_recipients, places).items():
            plan = plans[TopicId(topic_id)]
            event = await _moved(tx, plan, old, recipients, display_name, edit)
            last = tx.append(event, recipients.audience)
            if event.content is not None:
                tx.at_position(last, message_edits.holds_content(tx.realm_id, event.message_id))
            if flags is not None:
                tx.at_position(last, flags)
                flags = None
            tx.at_position(last, message_edits.add_reader_flags(tx.realm_id, event.message_id))
    return last


async def _moved(
    tx: Tx,
    plan: MovePlan,
    old: ChannelRow,
    recipients: MessageRecipients,
    display_name: str,
    edit: PreparedEdit | None,
) -> MessagesChanged:
    """Return the event for one audience, with the new content if it may read the edited message."""
    ids = tuple(recipients.message_ids)
    reads_message = plan.message_id in ids
    linkifiers = await (await tx.realm_cache()).linkifiers()
    return MessagesChanged(
        message_id=plan.message_id if reads_message else ids[0],
        message_ids=ids,
        user_id=plan.actor_id,
        edit_timestamp=int(plan.moved_at.timestamp()),
        channel_id=old.channel_id,
        channel_name=old.name,
        content=edit.change if edit is not None and reads_message else None,
        move=Relocation(
            orig_topic=plan.old_topic,
            topic=plan.new_topic,
            new_channel_id=plan.new_channel_id if plan.crosses else None,
            propagate_mode=plan.mode,
            topic_links=tuple(linkifiers.topic_links(plan.new_topic)),
        ),
        empty_topic_display_name=display_name,
    )


async def _leave_topics(
    tx: Tx,
    moves: Sequence[PlannedMove],
    new: ChannelRow,
    last: Entry,
    crossing: Crossing,
    display_name: str,
) -> None:
    """Transfer pins, descriptions and policies of emptied topics along with their messages."""
    if not moves:
        return
    old_ids = [each.plan.old_topic_id for each in moves]
    left = await message_moves.topics_with_messages(await tx.connection(), tx.realm_id, old_ids)
    emptied = [each for each in moves if each.plan.old_topic_id not in left]
    if emptied:
        await transfer(tx, last, [_left_topic(each, crossing) for each in emptied])
    await _move_policies(tx, [each.plan for each in emptied], new, last, display_name)


def _left_topic(move: PlannedMove, crossing: Crossing) -> LeftTopic:
    """Return the topic with the readers of the moved messages, before or after."""
    plan, ids = move.plan, {*move.message_ids}
    recipients = [
        each for each in (*crossing.lost, *crossing.gained) if not ids.isdisjoint(each.message_ids)
    ]
    return LeftTopic(
        (plan.old_channel_id, plan.old_topic_id),
        readers_of(recipients),
        (plan.new_channel_id, plan.new_topic_id),
    )


async def _move_policies(
    tx: Tx, emptied: Sequence[MovePlan], new: ChannelRow, last: Entry, display_name: str
) -> None:
    """Transfer visibility policies of emptied topics along with their messages."""
    connection = await tx.connection()
    topic_ids = {each for plan in emptied for each in (plan.old_topic_id, plan.new_topic_id)}
    wanting = await user_topics.user_ids_of(connection, tx.realm_id, sorted(topic_ids))
    coming = {user for plan in emptied for user in wanting.get(plan.old_topic_id, ())}
    losers: set[UserId] = set()
    if coming and emptied[0].crosses:
        rows = await message_edits.readers(
            connection, tx.realm_id, new.channel_id, [], outsiders_only=False, also=sorted(coming)
        )
        losers = coming - {row.user_id for row in rows}
    filled: set[TopicId] = set()
    for plan in emptied:
        was_empty = plan.target_was_empty and plan.new_topic_id not in filled
        filled.add(plan.new_topic_id)
        if plan.old_topic_id in wanting or (was_empty and plan.new_topic_id in wanting):
            statement = _policies_moved(tx, plan, sorted(losers), display_name, was_empty=was_empty)
            tx.at_position(last, statement)


def _policies_moved(
    tx: Tx, plan: MovePlan, losers: Sequence[UserId], display_name: str, *, was_empty: bool
) -> Statement:
    now = plan.moved_at
    return message_moves.move_user_topics(
        tx.realm_id,
        old=plan.old_topic_id,
        new=plan.new_topic_id,
        was_empty=was_empty,
        losers=losers,
        now=now,
        old_body=policy_body(plan.old_channel_id, plan.old_topic, now, display_name),
        new_body=policy_body(plan.new_channel_id, plan.new_topic, now, display_name),
        write_id=tx.write_id,
    )
