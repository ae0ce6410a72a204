"""Delete messages for good: from the tables, and from the log."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from server.actions.attachments import before_letting_go, let_go
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.messages.audience import (
    LockedConversation,
    activity_statements,
    of_conversations,
    protects_history,
    readers_of,
)
from server.actions.messages.emptied_topics import LeftTopic, end_with_messages
from server.actions.messages.subject import Placement, lock_subject, lock_topic
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, UnauthorizedPrincipalError
from server.events.base import Entry
from server.events.message_changes import MAX_GONE, MessagesGone
from server.i18n import _
from server.transactions import Tx
from storage import (
    event_log,
    legal_holds,
    message_edits,
    message_moves,
    submessages,
)
from storage.ids import ChannelId, MessageId, Position, UserId
from storage.message_edits import ChangingRow, LockedRow

LOG_RETENTION: Final = timedelta(days=30)
"""Longer than the log's retention: older messages are not in it any more."""
NOT_PERMITTED: Final = _("You don't have permission to delete this message")


async def delete_message(tx: Tx, actor: Actor, message_id: MessageId, now: datetime) -> None:
    """Delete a message for good; publish it to its readers, and to the actor."""
    subject = await lock_subject(tx, actor, message_id)
    refusal = refusal_to_delete(subject, subject.row, now)
    if refusal is not None:
        raise BadRequestError(refusal)
    locked = LockedConversation(subject.channel, subject.topic, [subject.row])
    await delete_locked(tx, subject.context, [locked], now, by=[actor.user_id])


def refusal_to_delete(
    placement: Placement, row: ChangingRow | LockedRow, now: datetime
) -> str | None:
    """Return why the actor may not delete a message there, if so."""
    if _permits(placement, "can_delete_any_message_group"):
        return None
    if not placement.is_own(row) or not _permits(placement, "can_delete_own_message_group"):
        return NOT_PERMITTED
    limit = placement.context.settings.message_content_delete_limit_seconds
    if limit is not None and (now - row.sent_at).total_seconds() > limit:
        return _("The time limit for deleting this message has passed")
    return None


def _permits(placement: Placement, name: str) -> bool:
    return placement.standing.realm_permits(name) or placement.channel_permits(name)


async def delete_from_topic(
    tx: Tx, actor: Actor, channel_id: ChannelId, topic_name: str, now: datetime
) -> bool:
    """Delete the newest messages of a topic that the actor may read; return whether any are left.

    For administrators only.
    """
    tx.must_be_exact()
    context = await lock_context(tx, actor)
    standing = context.standing(actor.user_id)
    if not standing.person.is_administrator:
        raise UnauthorizedPrincipalError(_("Must be an organization administrator"))
    channel, topic = await lock_topic(tx, actor, context, channel_id, topic_name)
    some = await message_moves.newest_in_topic(
        await tx.connection(),
        tx.realm_id,
        topic.topic_id,
        limit=MAX_GONE + 1,
        given_to=actor.user_id if protects_history(channel) else None,
    )
    rows = await tx.lock(message_edits.locking(tx.realm_id, sorted(some[:MAX_GONE])))
    if rows:
        found = [LockedConversation(channel, topic, rows)]
        await delete_locked(tx, context, found, now, by=[actor.user_id])
    return len(some) > MAX_GONE


async def delete_locked(
    tx: Tx,
    context: LockedRealm,
    found: Sequence[LockedConversation],
    now: datetime,
    *,
    by: Sequence[UserId] = (),
) -> Entry:
    """Delete locked messages, and blank their log entries; a copy of what is held is kept.

    It is published to those who read the messages, and to `by`, the actor, as far as they may read
    them. Returns the last entry that publishes it.
    """
    rows = [row for each in found for row in each.rows]
    ids = sorted(row.id for row in rows)
    all_recipients = await of_conversations(tx, found, also=by)
    await legal_holds.keep_messages(
        await tx.changing(), tx.realm_id, ids, actor_id=next(iter(by), None), now=now
    )
    used = await submessages.positions_of(await tx.connection(), tx.realm_id, ids)
    entries = sorted({p for row in rows for p in _entries(row, now)} | {*used})
    held = await before_letting_go(tx, ids, now)
    changed = [each.channel for each in found if each.channel is not None]
    activity = await activity_statements(tx, context, changed, now) if changed else []
    await event_log.blank(await tx.changing(), tx.realm_id, entries)
    last = None
    for place, recipients in all_recipients:
        event = MessagesGone(
            message_ids=tuple(recipients.message_ids),
            channel_id=None if place.channel is None else place.channel.channel_id,
            topic="" if place.topic is None else place.topic.name,
            empty_topic_display_name=context.settings.empty_topic_display_name,
            entries=tuple(entries) if last is None else (),
        )
        for part in event.in_parts():
            last = tx.append(part, recipients.audience)
    assert last is not None
    for statement in (message_moves.delete(tx.realm_id, ids), *activity):
        tx.at_position(last, statement)
    left = [
        LeftTopic(
            (each.channel.channel_id, each.topic.topic_id),
            readers_of(recipients for place, recipients in all_recipients if place is each),
        )
        for each in found
        if each.channel is not None and each.topic is not None
    ]
    if left:
        await end_with_messages(tx, last, left, ids)
    if held:
        let_go(tx, ids)
    return last


def _entries(row: ChangingRow | LockedRow, now: datetime) -> list[Position]:
    """Return the log entries that may hold the message's content."""
    edits = row.entry_positions or []
    own = [Position(row.id)] if now - row.sent_at < LOG_RETENTION else []
    return [*own, *edits]
