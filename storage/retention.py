"""Retention: expired messages, and the archive that keeps them before they are gone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import ChannelId, MessageId, RealmId


@dataclass(frozen=True, slots=True)
class Expired:
    """The oldest expired messages of one conversation, by id."""

    channel_id: ChannelId | None
    """None for direct messages."""
    conversation_id: int
    message_ids: list[MessageId]


async def in_channels(
    connection: Connection,
    realm_id: RealmId,
    *,
    realm_days: int,
    now: datetime,
    limit: int,
    without: Sequence[int] = (),
) -> list[Expired]:
    """Return messages older than their channel's retention, or else `realm_days` (-1: for ever).

    Those that are held are left out. At most `limit` per channel, the oldest that are in none of
    the conversations `without`; a channel with no message old enough costs no more than that one.
    """
    return await connection.many(
        Expired,
        """
        SELECT c.channel_id, m.conversation_id, array_agg(m.id ORDER BY m.id) AS message_ids
          FROM (SELECT channel_id, coalesce(message_retention_days, %(realm_days)s) AS days
                  FROM channels ch WHERE realm_id = %(realm_id)s
                   -- All of them are held: no need to look at each.
                   AND NOT EXISTS (SELECT FROM legal_holds h
                                    WHERE h.realm_id = %(realm_id)s AND h.released_at IS NULL
                                      AND h.sent_from IS NULL AND h.sent_until IS NULL
                                      AND (h.is_realm_wide OR ch.channel_id = ANY (h.channel_ids)))
               ) c
         -- Imported messages may have been moved to other channels.
         CROSS JOIN message_stretches(%(realm_id)s) s
         CROSS JOIN LATERAL (
               SELECT f.sent_at FROM messages f
                WHERE f.realm_id = %(realm_id)s AND f.channel_id = c.channel_id
                  AND f.id BETWEEN s.first_id AND s.last_id
                ORDER BY f.id LIMIT 1) first
         CROSS JOIN LATERAL (
               SELECT o.id, o.conversation_id, o.sent_at FROM messages o
                WHERE o.realm_id = %(realm_id)s AND o.channel_id = c.channel_id
                  AND o.id BETWEEN s.first_id AND s.last_id
                  AND o.conversation_id <> ALL (%(without)s::bigint[])
                  AND first.sent_at < %(now)s - make_interval(days => c.days)
                  AND (NOT (SELECT has_holds(%(realm_id)s)) OR NOT is_held(o))
                ORDER BY o.id LIMIT %(limit)s) m
         WHERE c.days > 0 AND m.sent_at < %(now)s - make_interval(days => c.days)
         GROUP BY c.channel_id, m.conversation_id
         ORDER BY c.channel_id, m.conversation_id
        """,
        realm_id=realm_id,
        realm_days=realm_days,
        now=now,
        limit=limit,
        without=list(without),
    )


async def directly(
    connection: Connection,
    realm_id: RealmId,
    *,
    before: datetime,
    limit: int,
    without: Sequence[int] = (),
) -> list[Expired]:
    """Return the oldest direct messages sent before `before`.

    At most `limit` of each stretch of ids that rise with time, in none of the conversations
    `without`, and none that is held.
    """
    return await connection.many(
        Expired,
        """
        SELECT NULL::bigint AS channel_id, m.conversation_id,
               array_agg(m.id ORDER BY m.id) AS message_ids
          FROM message_stretches(%(realm_id)s) s
         CROSS JOIN LATERAL (
               SELECT o.id, o.conversation_id, o.sent_at FROM messages o
                WHERE o.realm_id = %(realm_id)s AND o.channel_id IS NULL
                  AND o.id BETWEEN s.first_id AND s.last_id
                  AND o.conversation_id <> ALL (%(without)s::bigint[])
                  AND (NOT (SELECT has_holds(%(realm_id)s)) OR NOT is_held(o))
                ORDER BY o.id LIMIT %(limit)s) m
         WHERE m.sent_at < %(before)s
         GROUP BY m.conversation_id ORDER BY m.conversation_id
        """,
        realm_id=realm_id,
        before=before,
        limit=limit,
        without=list(without),
    )


async def set_aside(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId], *, now: datetime
) -> None:
    """Copy locked messages, which are about to be deleted, to the archive."""
    await connection.execute(
        """
        INSERT INTO expired_messages (realm_id, id, expired_at, message)
        SELECT m.realm_id, m.id, %(now)s, to_jsonb(m) FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        now=now,
    )


async def forget(connection: Connection, *, before: datetime, limit: int) -> int:
    """Delete up to `limit` archived messages from before then; return how many.

    Those that are held stay, and so do those that were kept for a hold.
    """
    return await connection.execute(
        """
        DELETE FROM expired_messages e
         USING (SELECT realm_id, id FROM expired_messages x
                 WHERE expired_at < %(before)s AND NOT x.is_kept_for_hold
                   AND NOT is_held_in_archive(x)
                 ORDER BY expired_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED) AS gone
         WHERE e.realm_id = gone.realm_id AND e.id = gone.id
        """,
        before=before,
        limit=limit,
    )
