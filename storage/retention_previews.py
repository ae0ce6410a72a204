"""Previews of retention: what a rule would delete now."""

from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import ChannelId, RealmId


@dataclass(frozen=True, slots=True)
class ExpiringPlace:
    """Messages that would go from one channel; from direct conversations without one."""

    channel_id: ChannelId | None
    messages: int
    oldest_at: datetime


@dataclass(frozen=True, slots=True)
class RetentionPreview:
    places: list[ExpiringPlace]
    files: int
    """Files that no other message holds."""
    is_complete: bool
    """Whether all messages were counted."""


async def preview(
    connection: Connection,
    realm_id: RealmId,
    *,
    before: datetime,
    channel_id: ChannelId | None,
    limit: int,
) -> RetentionPreview:
    """Return what a retention until `before` would delete of the channel.

    Without a channel: of direct messages, and of channels without a retention of their own. Held
    messages stay. At most `limit` messages are counted.
    """
    rows = await connection.tuples(
        """
        WITH ends AS (
            SELECT s.first_id, coalesce(f.first_id - 1, s.last_id) AS last_id
              FROM message_stretches(%(realm_id)s) s
              LEFT JOIN first_messages_since(%(realm_id)s, %(before)s) f ON f.last_id = s.last_id
        ), gone AS MATERIALIZED (
            SELECT m.id, m.channel_id, m.sent_at
              FROM ends e
              JOIN messages m ON m.realm_id = %(realm_id)s AND m.id BETWEEN e.first_id AND e.last_id
             WHERE CASE WHEN %(channel_id)s::bigint IS NOT NULL
                        THEN m.channel_id = %(channel_id)s::bigint
                        ELSE m.channel_id IS NULL OR m.channel_id = ANY (ARRAY(
                             SELECT c.channel_id FROM channels c
                              WHERE c.realm_id = %(realm_id)s
                                AND c.message_retention_days IS NULL)) END
               AND m.sent_at < %(before)s
               AND (NOT (SELECT has_holds(%(realm_id)s)) OR NOT is_held(m))
             LIMIT %(limit)s + 1
        ), files AS (
            SELECT count(*) AS count
              FROM (SELECT DISTINCT l.attachment_id FROM gone g
                      JOIN attachment_messages l ON l.realm_id = %(realm_id)s
                           AND l.message_id = g.id) f
              JOIN attachments a ON a.realm_id = %(realm_id)s
                   AND a.attachment_id = f.attachment_id
             WHERE NOT EXISTS (
                   SELECT FROM attachment_messages l
                    WHERE l.realm_id = %(realm_id)s AND l.attachment_id = f.attachment_id
                      AND NOT EXISTS (SELECT FROM gone g WHERE g.id = l.message_id))
               AND NOT is_file_held(a)
        )
        SELECT g.channel_id, count(*), min(g.sent_at), (SELECT f.count FROM files f)
          FROM gone g GROUP BY g.channel_id ORDER BY count(*) DESC, g.channel_id
        """,
        realm_id=realm_id,
        before=before,
        channel_id=channel_id,
        limit=limit,
    )
    places = [ExpiringPlace(*row[:3]) for row in rows]
    return RetentionPreview(
        places=places,
        files=rows[0][3] if rows else 0,
        is_complete=sum(place.messages for place in places) <= limit,
    )
