"""Delete messages older than their channel's or realm's retention."""

from datetime import datetime, timedelta

from server.actions import audit
from server.actions.locked_realm import lock_realm_context
from server.actions.messages.audience import LockedConversation
from server.actions.messages.delete import delete_locked
from server.transactions import Tx
from storage import channels, legal_holds, message_edits, message_moves, retention
from storage.channels import ChannelRow
from storage.conversations import TopicRow
from storage.ids import TopicId
from storage.retention import Expired


async def expire(tx: Tx, found: Expired, now: datetime) -> int:
    """Archive and delete those that are still too old; return how many.

    Publishes the deletion to all who could read them. Newer ones and held ones stay, and all of
    them if the retention was changed meanwhile, or they were moved.
    """
    tx.must_be_exact()
    context = await lock_realm_context(tx, [])
    channel, topic, days = None, None, context.settings.message_retention_days
    if found.channel_id is not None:
        place = await _place(tx, found)
        if place is None:
            return 0
        channel, topic = place
        if channel.message_retention_days is not None:
            days = channel.message_retention_days
    if days <= 0:
        return 0
    locked = await tx.lock(message_edits.locking(tx.realm_id, found.message_ids))
    held = await legal_holds.held_messages(await tx.connection(), tx.realm_id, found.message_ids)
    rows = [
        row
        for row in locked
        if row.conversation_id == found.conversation_id
        and row.sent_at < now - timedelta(days=days)
        and row.id not in held
    ]
    if not rows:
        return 0
    ids = [row.id for row in rows]
    await retention.set_aside(await tx.changing(), tx.realm_id, ids, now=now)
    entry = await delete_locked(tx, context, [LockedConversation(channel, topic, rows)], now)
    after = {"count": len(rows), "conversation_id": found.conversation_id, "days": days}
    audit.record(
        tx, entry, None, "messages_expired", subject_id=found.channel_id, before={}, after=after
    )
    return len(rows)


async def _place(tx: Tx, found: Expired) -> tuple[ChannelRow, TopicRow] | None:
    """Lock the channel against moves and the topic, and return them if they exist."""
    assert found.channel_id is not None
    rows = await tx.lock(channels.locking(tx.realm_id, [found.channel_id]).shared())
    topics = await tx.lock(message_moves.topics(tx.realm_id, [TopicId(found.conversation_id)]))
    if not rows or not topics or topics[0].channel_id != found.channel_id:
        return None
    return rows[0], topics[0]
