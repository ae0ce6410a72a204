"""Batches of missed messages to be mailed, and addresses that accept no mail."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from storage.address_folding import fold_address
from storage.database import Connection
from storage.ids import ChannelId, MessageId, RealmId, UserId


async def close(connection: Connection, realm_id: RealmId, user_id: UserId, batch_id: int) -> float:
    """Close the batch if it is due; return the seconds until it is, 0 for a closed one."""
    closed = await connection.execute(
        """
        DELETE FROM email_batches
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND batch_id = %(batch_id)s
           AND due_at <= now()
        """,
        realm_id=realm_id,
        user_id=user_id,
        batch_id=batch_id,
    )
    if closed:
        return 0.0
    seconds: float | None = await connection.value(
        """
        SELECT extract(epoch FROM due_at - now())::float8 FROM email_batches
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND batch_id = %(batch_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        batch_id=batch_id,
    )
    return max(seconds or 0.0, 0.0)


async def in_batch(
    connection: Connection, realm_id: RealmId, user_id: UserId, batch_id: int
) -> list[MessageId]:
    """Return the messages still to be mailed in the batch, oldest first."""
    return await connection.values(
        """
        SELECT message_id FROM notifications
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND email_batch_id = %(batch_id)s
         ORDER BY message_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        batch_id=batch_id,
    )


async def take_out(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_ids: Iterable[MessageId]
) -> None:
    """Remove messages from the batch that were mailed, or need not be."""
    await connection.execute(
        """
        UPDATE notifications SET email_batch_id = NULL
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND message_id = ANY (%(message_ids)s::bigint[]) AND email_batch_id IS NOT NULL
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_ids=list(message_ids),
    )


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """The messages of one conversation."""

    conversation_id: int
    message_ids: list[MessageId]
    """Oldest first."""


async def conversations_of(
    connection: Connection, realm_id: RealmId, ids: Iterable[MessageId]
) -> list[ConversationRow]:
    """Return the conversations of these messages, the newest message's first."""
    return await connection.many(
        ConversationRow,
        """
        SELECT conversation_id, array_agg(id ORDER BY id) AS message_ids
          FROM messages WHERE realm_id = %(realm_id)s AND id = ANY (%(ids)s::bigint[])
         GROUP BY conversation_id ORDER BY max(id) DESC
        """,
        realm_id=realm_id,
        ids=list(ids),
    )


@dataclass(frozen=True, slots=True)
class MissedRow:
    """A message in the form that emails need."""

    id: MessageId
    channel_id: ChannelId | None
    conversation_id: int
    channel_name: str | None
    topic: str | None
    user_ids: list[UserId] | None
    """All users of a direct message."""
    sender_id: UserId
    sent_at: datetime
    content: str
    rendered_content: str


async def missed(
    connection: Connection, realm_id: RealmId, ids: Iterable[MessageId]
) -> list[MissedRow]:
    """Return these messages, oldest first."""
    return await connection.many(
        MissedRow,
        """
        SELECT m.id, m.channel_id, m.conversation_id, c.name AS channel_name, t.name AS topic,
               g.user_ids, m.sender_id, m.sent_at, m.content, m.rendered_content
          FROM messages m
          LEFT JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = m.channel_id
          LEFT JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = m.conversation_id
               AND m.channel_id IS NOT NULL
          LEFT JOIN dm_groups g ON g.realm_id = %(realm_id)s AND m.channel_id IS NULL
               AND g.dm_group_id = m.conversation_id
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY (%(ids)s::bigint[])
         ORDER BY m.id
        """,
        realm_id=realm_id,
        ids=list(ids),
    )


async def is_elsewhere_too(connection: Connection, realm_id: RealmId, address: str) -> bool:
    """Return whether a user of another realm of this server has the same address."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (
               SELECT FROM realms r
                 JOIN users u ON u.realm_id = r.realm_id AND u.folded_email = %(folding)s
                      AND u.is_active
                WHERE r.realm_id <> %(realm_id)s AND NOT r.deactivated)
        """,
        realm_id=realm_id,
        folding=fold_address(address),
    )
    return found


async def refused(
    connection: Connection, realm_id: RealmId, user_id: UserId, address: str, reason: str
) -> None:
    """Record that a mail server refused this address."""
    await connection.execute(
        """
        INSERT INTO undeliverable_addresses AS a (realm_id, user_id, address, reason)
        VALUES (%(realm_id)s, %(user_id)s, %(address)s, %(reason)s)
        ON CONFLICT (realm_id, user_id) DO UPDATE
           SET times = CASE WHEN a.address = excluded.address THEN a.times + 1 ELSE 1 END,
               address = excluded.address, reason = excluded.reason, refused_at = now()
        """,
        realm_id=realm_id,
        user_id=user_id,
        address=address,
        reason=reason,
    )


async def taken(connection: Connection, realm_id: RealmId, user_id: UserId) -> None:
    """Record that mail to the user is accepted again."""
    await connection.execute(
        """
        DELETE FROM undeliverable_addresses
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


async def is_undeliverable(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    address: str,
    *,
    times: int,
    within: timedelta,
) -> bool:
    """Return whether the address was refused `times` times, the last time within `within`."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (
               SELECT FROM undeliverable_addresses
                WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
                  AND address = %(address)s AND times >= %(times)s
                  AND refused_at > now() - %(within)s)
        """,
        realm_id=realm_id,
        user_id=user_id,
        address=address,
        times=times,
        within=within,
    )
    return found
