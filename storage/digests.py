"""Digest emails: which users get one, and what it contains."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from storage.database import Connection
from storage.ids import ChannelId, MessageId, RealmId, UserId

MAX_SCANNED_MESSAGES = 20_000
"""Number of a realm's newest messages that are searched for active topics."""


async def due(
    connection: Connection, realm_id: RealmId, *, day: date, away_since: datetime, limit: int
) -> list[UserId]:
    """Return users who want digests, have been away since then, and have none for this day yet."""
    return await connection.values(
        """
        SELECT u.user_id FROM users u
         WHERE u.realm_id = %(realm_id)s AND u.is_active AND u.bot_type IS NULL
           AND NOT u.is_system_bot AND u.date_joined < %(away_since)s
           AND coalesce((u.settings ->> 'enable_digest_emails')::boolean, true)
           AND NOT EXISTS (SELECT FROM presences p
                            WHERE p.realm_id = u.realm_id AND p.user_id = u.user_id
                              AND p.seen_at > %(away_since)s)
           AND NOT EXISTS (SELECT FROM user_activity a
                            WHERE a.realm_id = u.realm_id AND a.user_id = u.user_id
                              AND a.last_at > %(away_since)s)
           AND NOT EXISTS (SELECT FROM digests d
                            WHERE d.realm_id = u.realm_id AND d.user_id = u.user_id
                              AND d.day >= %(day)s)
         ORDER BY u.user_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        day=day,
        away_since=away_since,
        limit=limit,
    )


async def begin(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], day: date
) -> None:
    """Mark the digest of this day as begun for these users.

    The caller has locked the realm's row exclusively.
    """
    await connection.execute(
        """
        INSERT INTO digests (realm_id, user_id, day)
        SELECT %(realm_id)s, unnest(%(user_ids)s::bigint[]), %(day)s
            ON CONFLICT (realm_id, user_id) DO UPDATE SET day = excluded.day, done = false
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        day=day,
    )


async def undone(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId], day: date
) -> list[UserId]:
    """Return those of the users with an unfinished digest of this day."""
    return await connection.values(
        """
        SELECT user_id FROM digests
         WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s::bigint[])
           AND day = %(day)s AND NOT done
         ORDER BY user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        day=day,
    )


async def finish(connection: Connection, realm_id: RealmId, user_id: UserId, day: date) -> None:
    """Mark the digest as finished: it was sent, or had no content."""
    await connection.execute(
        """
        UPDATE digests SET done = true
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND day = %(day)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        day=day,
    )


@dataclass(frozen=True, slots=True)
class HotTopic:
    """A topic with much activity."""

    topic_id: int
    channel_id: ChannelId
    channel: str
    topic: str
    people: int
    count: int
    message_ids: list[MessageId]
    """Its first messages."""


async def hot_topics(
    connection: Connection, realm_id: RealmId, *, since: datetime, limit: int, shown: int
) -> list[HotTopic]:
    """Return the topics with the most senders and messages since then, most first."""
    return await connection.many(
        HotTopic,
        """
        SELECT t.topic_id, t.channel_id, c.name AS channel, t.name AS topic, h.people, h.count,
               h.ids[:%(shown)s] AS message_ids
          FROM (SELECT m.conversation_id, count(DISTINCT m.sender_id)::integer AS people,
                       count(*)::integer AS count, array_agg(m.id ORDER BY m.id) AS ids
                  FROM message_stretches(%(realm_id)s) s
                 -- What was imported has been read.
                 CROSS JOIN LATERAL (
                       SELECT n.id, n.conversation_id, n.channel_id, n.sender_id, n.sent_at
                         FROM messages n
                        WHERE n.realm_id = %(realm_id)s AND NOT s.is_imported
                          AND n.id BETWEEN s.first_id AND s.last_id
                        ORDER BY n.id DESC LIMIT %(read)s) m
                 WHERE m.channel_id IS NOT NULL AND m.sent_at > %(since)s
                 GROUP BY m.conversation_id
                 ORDER BY people DESC, count DESC LIMIT %(limit)s) h
          JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = h.conversation_id
          JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = t.channel_id
         WHERE NOT c.is_archived
         ORDER BY h.people DESC, h.count DESC, t.topic_id
        """,
        realm_id=realm_id,
        since=since,
        limit=limit,
        shown=shown,
        read=MAX_SCANNED_MESSAGES,
    )


async def loud_for(
    connection: Connection, realm_id: RealmId, user_id: UserId, topic_ids: Sequence[int]
) -> set[int]:
    """Return those of the topics that are in the user's channels and not muted."""
    return set(
        await connection.values(
            """
            SELECT t.topic_id FROM topics t
              JOIN subscriptions s ON s.realm_id = t.realm_id AND s.user_id = %(user_id)s
                   AND s.channel_id = t.channel_id AND s.active
              LEFT JOIN user_topics u ON u.realm_id = t.realm_id AND u.user_id = %(user_id)s
                   AND u.topic_id = t.topic_id
             WHERE t.realm_id = %(realm_id)s AND t.topic_id = ANY(%(topic_ids)s::bigint[])
               AND CASE coalesce(u.visibility_policy, 0)
                   WHEN 0 THEN NOT s.is_muted WHEN 1 THEN false ELSE true END
            """,
            realm_id=realm_id,
            user_id=user_id,
            topic_ids=list(topic_ids),
        )
    )


@dataclass(frozen=True, slots=True)
class DigestMessage:
    """An unread message that the user may read."""

    id: MessageId
    sender_id: UserId
    sender_name: str
    sent_at: datetime
    content: str
    rendered_content: str


async def unread_of(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_ids: Sequence[MessageId]
) -> list[DigestMessage]:
    """Return those of the messages that the user may read, has not read, and has not muted."""
    return await connection.many(
        DigestMessage,
        """
        SELECT m.id, m.sender_id, u.full_name AS sender_name, m.sent_at, m.content,
               m.rendered_content
          FROM message_states(%(realm_id)s, %(user_id)s, %(message_ids)s::bigint[]) s
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = s.id
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = m.sender_id
         WHERE s.accessible AND s.unread
           AND NOT EXISTS (SELECT FROM muted_users x
                            WHERE x.realm_id = %(realm_id)s AND x.user_id = %(user_id)s
                              AND x.muted_user_id = m.sender_id)
         ORDER BY m.id
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_ids=list(message_ids),
    )


async def new_public_channels(
    connection: Connection, realm_id: RealmId, *, since: datetime, limit: int
) -> list[str]:
    """Return the names of public channels created since then, newest first."""
    return await connection.values(
        """
        SELECT name FROM channels
         WHERE realm_id = %(realm_id)s AND NOT invite_only AND NOT is_archived
           AND created_at > %(since)s
         ORDER BY created_at DESC, channel_id DESC LIMIT %(limit)s
        """,
        realm_id=realm_id,
        since=since,
        limit=limit,
    )
