"""Calls of outgoing webhooks: messages that trigger bots, and the outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from storage.database import Connection
from storage.ids import MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class CallRow:
    """A call that has not ended."""

    message_id: MessageId
    bot_id: UserId
    trigger: str
    failures: int


async def ask(connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]) -> None:
    """Record calls of the bots that these messages trigger; existing ones stay.

    Bots that get a direct message, and bots that are mentioned by name, not silently. Messages of
    bots trigger none: two of them would never end.
    """
    # Whatever a cached plan believes about sizes of tables, messages are read at most once, and
    # not at all in organizations without such bots.
    await connection.execute(
        """
        WITH m AS MATERIALIZED (
            SELECT realm_id, id, sender_id, channel_id, conversation_id, rendered_content
              FROM messages WHERE realm_id = %(realm_id)s AND id = ANY (%(message_ids)s::bigint[])
        )
        INSERT INTO webhook_calls (realm_id, message_id, bot_id, trigger)
        SELECT m.realm_id, m.id, b.bot_id,
               CASE WHEN m.channel_id IS NULL THEN 'direct_message' ELSE 'mention' END
          FROM m
          JOIN users s ON s.realm_id = m.realm_id AND s.user_id = m.sender_id
               AND s.bot_type IS NULL
          JOIN bot_services b ON b.realm_id = m.realm_id
          JOIN users u ON u.realm_id = b.realm_id AND u.user_id = b.bot_id AND u.is_active
          LEFT JOIN dm_groups g ON g.realm_id = m.realm_id AND m.channel_id IS NULL
               AND g.dm_group_id = m.conversation_id
         WHERE EXISTS (SELECT FROM bot_services WHERE realm_id = %(realm_id)s)
           AND CASE WHEN m.channel_id IS NULL THEN b.bot_id = ANY (g.user_ids)
                    ELSE position('<span class="user-mention" data-user-id="' || b.bot_id || '">'
                                  IN m.rendered_content) > 0 END
        ON CONFLICT DO NOTHING
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )


async def unhanded(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> list[CallRow]:
    """Return calls for these messages that are not enqueued yet."""
    return await connection.many(
        CallRow,
        """
        SELECT message_id, bot_id, trigger, failures FROM webhook_calls
         WHERE realm_id = %(realm_id)s AND message_id = ANY (%(message_ids)s::bigint[])
           AND NOT is_handed
         ORDER BY message_id, bot_id
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )


async def handed(connection: Connection, realm_id: RealmId, calls: Sequence[CallRow]) -> None:
    """Mark calls as enqueued."""
    await connection.execute(
        """
        UPDATE webhook_calls c SET is_handed = true
          FROM unnest(%(message_ids)s::bigint[], %(bot_ids)s::bigint[]) AS h(message_id, bot_id)
         WHERE c.realm_id = %(realm_id)s AND c.message_id = h.message_id AND c.bot_id = h.bot_id
        """,
        realm_id=realm_id,
        message_ids=[call.message_id for call in calls],
        bot_ids=[call.bot_id for call in calls],
    )


async def of_bot(
    connection: Connection, realm_id: RealmId, message_id: MessageId, bot_id: UserId
) -> CallRow | None:
    """Return the call, if it has not ended."""
    return await connection.one(
        CallRow,
        """
        SELECT message_id, bot_id, trigger, failures FROM webhook_calls
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND bot_id = %(bot_id)s
           AND outcome IS NULL
        """,
        realm_id=realm_id,
        message_id=message_id,
        bot_id=bot_id,
    )


async def failed(connection: Connection, realm_id: RealmId, call: CallRow) -> None:
    """Record a failed attempt; the call is retried."""
    await connection.execute(
        """
        UPDATE webhook_calls SET failures = %(failures)s + 1
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND bot_id = %(bot_id)s
           AND failures <= %(failures)s
        """,
        realm_id=realm_id,
        message_id=call.message_id,
        bot_id=call.bot_id,
        failures=call.failures,
    )


async def end(connection: Connection, realm_id: RealmId, call: CallRow, outcome: str) -> None:
    """Record the call's outcome; it is not retried."""
    await connection.execute(
        """
        UPDATE webhook_calls SET outcome = %(outcome)s
         WHERE realm_id = %(realm_id)s AND message_id = %(message_id)s AND bot_id = %(bot_id)s
           AND outcome IS NULL
        """,
        realm_id=realm_id,
        message_id=call.message_id,
        bot_id=call.bot_id,
        outcome=outcome,
    )


async def forget(connection: Connection, *, older_than: timedelta) -> int:
    """Delete old calls; return how many."""
    return await connection.execute(
        "DELETE FROM webhook_calls WHERE asked_at < now() - %(age)s", age=older_than
    )
