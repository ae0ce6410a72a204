"""Delete messages for good: from the tables, and from the log."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from server.actions.attachments import before_letting_go, let_go
from server.actions.locked_realm import LockedRealm, lock_context
from server.actions.messages.audience import activity_statements, of_messages, protects_history
from server.actions.messages.subject import Subject, is_subscribed, lock_subject
from server.domain.actor import Actor
from server.domain.archived_channels import check_messages_may_change
from server.domain.channels import Standing
from server.domain.errors import BadRequestError, UnauthorizedPrincipalError
from server.domain.messages import clean_topic
from server.events.base import Entry
from server.events.message_changes import MAX_GONE, MessagesGone
from server.i18n import _
from server.transactions import Tx
from storage import (
    channels,
    conversations,
    event_log,
    message_edits,
    message_moves,
    submessages,
)
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.ids import ChannelId, MessageId, Position
from storage.message_edits import ChangingRow, LockedRow

LOG_RETENTION: Final = timedelta(days=30)
"""Longer than the log's retention: older messages are not in it any more."""
NOT_PERMITTED: Final = _("You don't have permission to delete this message")


async def delete_message(tx: Tx, actor: Actor, message_id: MessageId, now: datetime) -> None:
    """Delete a message for good; publish it to all who could read it."""
    subject = await lock_subject(tx, actor, message_id)
    _check_permitted(subject, now)
    await delete_locked(tx, subject.context, subject.channel, subject.topic, [subject.row], now)


def _check_permitted(subject: Subject, now: datetime) -> None:
    standing = subject.standing
    if standing.realm_permits("can_delete_any_message_group") or subject.channel_permits(
        "can_delete_any_message_group"
    ):
        return
    may_own = standing.realm_permits("can_delete_own_message_group") or subject.channel_permits(
        "can_delete_own_message_group"
    )
    if not subject.is_own or not may_own:
        raise BadRequestError(NOT_PERMITTED)
    limit = subject.context.settings.message_content_delete_limit_seconds
    if limit is not None and (now - subject.row.sent_at).total_seconds() > limit:
        raise BadRequestError(_("The time limit for deleting this message has passed"))


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
    name = clean_topic(topic_name, context.settings.empty_topic_display_name)
    channel, topic = await _lock_topic(tx, actor, standing, channel_id, name)
    some = await message_moves.newest_in_topic(
        await tx.connection(),
        tx.realm_id,
        topic.topic_id,
        limit=MAX_GONE + 1,
        given_to=actor.user_id if protects_history(channel) else None,
    )
    rows = await tx.lock(message_edits.locking(tx.realm_id, sorted(some[:MAX_GONE])))
    if rows:
        await delete_locked(tx, context, channel, topic, rows, now)
    return len(some) > MAX_GONE


async def _lock_topic(
    tx: Tx, actor: Actor, standing: Standing, channel_id: ChannelId, name: str
) -> tuple[ChannelRow, TopicRow]:
    """Lock and return the topic of a channel that the actor may read. Raises BadRequestError.

    Concurrent writes move nothing in or out of the channel until the commit.
    """
    locked = await tx.lock(channels.locking(tx.realm_id, [channel_id]).shared())
    is_in = await is_subscribed(tx, actor, channel_id)
    if not locked or not standing.sees(locked[0], subscribed=is_in):
        raise BadRequestError(_("Invalid channel ID"))
    [channel] = locked
    connection = await tx.connection()
    topic = await conversations.topic_named(connection, tx.realm_id, channel_id, name)
    reads = is_in or await message_edits.readers(
        connection, tx.realm_id, channel_id, [], outsiders_only=True, also=[actor.user_id]
    )
    if topic is None or not reads:
        raise BadRequestError(_("There is no topic '{name}'", name=name))
    check_messages_may_change(is_archived=channel.is_archived)
    return channel, topic


async def delete_locked(
    tx: Tx,
    context: LockedRealm,
    channel: ChannelRow | None,
    topic: TopicRow | None,
    rows: Sequence[ChangingRow | LockedRow],
    now: datetime,
) -> Entry:
    """Delete locked messages of one conversation, and blank their log entries.

    The channel is locked too. Returns the last entry that publishes it.
    """
    ids = [row.id for row in rows]
    all_recipients = await of_messages(tx, channel, rows[0].conversation_id, ids)
    used = await submessages.positions_of(await tx.connection(), tx.realm_id, ids)
    entries = sorted({p for row in rows for p in _entries(row, now)} | {*used})
    held = await before_letting_go(tx, ids, now)
    activity = [] if channel is None else await activity_statements(tx, context, [channel], now)
    await event_log.blank(await tx.changing(), tx.realm_id, entries)
    last = None
    for recipients in all_recipients:
        event = MessagesGone(
            message_ids=tuple(recipients.message_ids),
            channel_id=None if channel is None else channel.channel_id,
            topic="" if topic is None else topic.name,
            empty_topic_display_name=context.settings.empty_topic_display_name,
            entries=tuple(entries) if last is None else (),
        )
        last = tx.append(event, recipients.audience)
    assert last is not None
    for statement in (message_moves.delete(tx.realm_id, ids), *activity):
        tx.at_position(last, statement)
    if held:
        let_go(tx, ids)
    return last


def _entries(row: ChangingRow | LockedRow, now: datetime) -> list[Position]:
    """Return the log entries that may hold the message's content."""
    edits = row.entry_positions or []
    own = [Position(row.id)] if now - row.sent_at < LOG_RETENTION else []
    return [*own, *edits]
