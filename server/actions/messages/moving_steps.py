"""Move many messages in steps.

Messages sent to the topic after the move began stay.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from server.actions.locked_realm import lock_realm_context
from server.actions.messages.audience import (
    Crossing,
    MessageRecipients,
    activity_statements,
    of_crossing,
    of_messages,
)
from server.actions.messages.edit import PreparedEdit, write_edit
from server.actions.messages.notices import Notice, deliver, drafts
from server.actions.stepped_work import SteppedWorkKind, put_off
from server.events.base import NO_AUDIENCE, Entry
from server.events.log import Tick
from server.events.message_changes import (
    MAX_GONE,
    MessagesChanged,
    MessagesGone,
    PropagateMode,
    Relocation,
)
from server.transactions import Tx
from storage import channels, message_edits, message_moves, realms, user_topics
from storage.channels import ChannelRow
from storage.ids import ChannelId, MessageId, TopicId, UserId

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


async def _take(tx: Tx, plan: MovePlan, done: int, messages_per_step: int) -> int | None:
    """Move the next messages. All up to the message `done` have been moved."""
    await _lock_place(tx, plan)
    return await _move_some(tx, plan, MessageId(done + 1), messages_per_step)


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
        await _move_these(tx, plan, ids, edit, is_last=is_last)
    return None if is_last else now[-1]


async def _move_these(
    tx: Tx, plan: MovePlan, ids: Sequence[MessageId], edit: PreparedEdit | None, *, is_last: bool
) -> None:
    connection = await tx.connection()
    by_id = {
        row.channel_id: row
        for row in await channels.by_ids(
            connection, tx.realm_id, [plan.old_channel_id, plan.new_channel_id]
        )
    }
    old, new = by_id[plan.old_channel_id], by_id[plan.new_channel_id]
    context = await lock_realm_context(tx, [plan.actor_id])
    display_name = context.settings.empty_topic_display_name
    crossing = await _crossing(tx, plan, old, new, ids)
    affected = [old, new] if plan.crosses else []
    after = await activity_statements(tx, context, affected, plan.moved_at)
    await _write_move(tx, plan, ids, edit)
    last = await _append_move_events(tx, plan, old, crossing, display_name, edit) or tx.append(
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
    if is_last and await message_moves.is_empty(connection, tx.realm_id, plan.old_topic_id):
        await _move_policies(tx, plan, new, last, display_name)


async def _write_move(
    tx: Tx, plan: MovePlan, ids: Sequence[MessageId], edit: PreparedEdit | None
) -> None:
    """Write the messages' new place, and the content of the one that is edited with the move."""
    edited = [] if edit is None else [plan.message_id]
    previous = {} if edit is None else edit.previous_content
    for some, content in ((sorted({*ids} - {*edited}), {}), (edited, previous)):
        if some:
            await message_moves.move(
                await tx.changing(),
                tx.realm_id,
                some,
                old_topic_id=plan.old_topic_id,
                channel_id=plan.new_channel_id,
                topic_id=plan.new_topic_id,
                moved_at=plan.moved_at,
                history_entry=plan.history_entry() | content,
            )
    if edit is not None:
        await write_edit(tx, edit, with_history=False)


async def _crossing(
    tx: Tx, plan: MovePlan, old: ChannelRow, new: ChannelRow, ids: Sequence[MessageId]
) -> Crossing:
    if plan.crosses:
        return await of_crossing(tx, old, new, ids)
    return Crossing(await of_messages(tx, old, plan.old_topic_id, ids), [], [])


async def _append_move_events(
    tx: Tx,
    plan: MovePlan,
    old: ChannelRow,
    crossing: Crossing,
    display_name: str,
    edit: PreparedEdit | None,
) -> Entry | None:
    """Append the events; return the last entry, if there is any."""
    last = None
    for recipients in crossing.lost:
        for start in range(0, len(recipients.message_ids), MAX_GONE):
            gone = MessagesGone(
                message_ids=tuple(recipients.message_ids[start : start + MAX_GONE]),
                channel_id=old.channel_id,
                topic=plan.old_topic,
                empty_topic_display_name=display_name,
            )
            last = tx.append(gone, recipients.audience)
    flags = None if edit is None else edit.set_flags()
    for recipients in crossing.gained:
        if recipients.message_ids:
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


async def _move_policies(
    tx: Tx, plan: MovePlan, new: ChannelRow, last: Entry, display_name: str
) -> None:
    """Transfer visibility policies of an emptied topic along with its messages."""
    connection = await tx.connection()
    wanting = await user_topics.user_ids_of(connection, tx.realm_id, plan.old_topic_id)
    losers: list[UserId] = []
    if plan.crosses:
        rows = await message_edits.readers(
            connection, tx.realm_id, new.channel_id, [], outsiders_only=False, also=wanting
        )
        losers = sorted({*wanting} - {row.user_id for row in rows})
    now = plan.moved_at
    statement = message_moves.move_user_topics(
        tx.realm_id,
        old=plan.old_topic_id,
        new=plan.new_topic_id,
        was_empty=plan.target_was_empty,
        losers=losers,
        now=now,
        old_body=policy_body(plan.old_channel_id, plan.old_topic, now, display_name),
        new_body=policy_body(plan.new_channel_id, plan.new_topic, now, display_name),
        write_id=tx.write_id,
    )
    tx.at_position(last, statement)
