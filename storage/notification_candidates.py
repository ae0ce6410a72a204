"""Users who may want to be notified of messages, with what decides whether they are."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, LiteralString

from storage.database import Connection
from storage.ids import MessageId, RealmId, UserId

Pair = tuple[UserId, MessageId]

START: Final[Pair] = (UserId(0), MessageId(0))


@dataclass(frozen=True, slots=True)
class FactsRow:
    """Everything except presence that decides whether a user is notified of a message."""

    user_id: UserId
    message_id: MessageId
    settings: dict[str, Any]
    is_direct: bool
    is_mentioned: bool
    topic_wildcard: bool
    """Whether it mentions a topic in which the user has taken part."""
    channel_wildcard: bool
    has_alert_word: bool
    channel_muted: bool
    own_push: bool | None
    own_email: bool | None
    own_wildcards: bool | None
    """Setting for this channel; None for the user's general setting."""
    policy: int
    """Visibility policy of the topic, as in server/domain/topic_policies.py; 0 if the message
    itself made the user follow it, which is no reason to notify them of it.
    """
    mutes_sender: bool
    is_unread: bool
    """Whether the user received it, may read it now, and has not."""

    @property
    def pair(self) -> Pair:
        return (self.user_id, self.message_id)


_ASKED: Final[LiteralString] = """
    WITH asked AS MATERIALIZED (
        -- Each by its key: planned while the table was empty, a join would read the whole realm.
        SELECT m.*
          FROM (SELECT DISTINCT unnest(%(ids)s::bigint[]) AS id) i
         CROSS JOIN LATERAL (
               SELECT m.id, m.sender_id, m.channel_id, m.conversation_id, m.traits, m.sent_at
                 FROM messages m
                WHERE m.realm_id = %(realm_id)s AND m.id = i.id LIMIT 1) m
         WHERE NOT (SELECT r.deactivated FROM realms r WHERE r.realm_id = %(realm_id)s)
    ),
"""
_OF_PEOPLE: Final[LiteralString] = """
               AND x.user_id >= %(after_user_id)s
               AND EXISTS (SELECT FROM users u
                            WHERE u.realm_id = %(realm_id)s AND u.user_id = x.user_id
                              AND u.is_active AND u.bot_type IS NULL)
"""
_OF_ALL: Final[LiteralString] = _OF_PEOPLE + "ORDER BY x.user_id LIMIT %(limit)s::bigint + 2"
"""Two more: the sender of all of the messages and the last row of the previous page may be
skipped."""
_OF_EACH: Final[LiteralString] = _OF_PEOPLE + (
    "AND x.user_id <> a.sender_id AND (x.user_id, a.id) > (%(after_user_id)s, %(after_id)s)"
    " ORDER BY x.user_id LIMIT %(limit)s"
)
# One branch per kind of setting: each uses an index of the few users who have it, by user, and
# reads no more than a page. Users excluded by `page` must not take up room there. Settings of a
# channel or a topic are read once, however many messages it got.
_WHO_MAY_WANT: Final[LiteralString] = """
    hearers AS MATERIALIZED (
        SELECT c.channel_id, w.user_id
          FROM (SELECT DISTINCT a.channel_id FROM asked a WHERE a.channel_id IS NOT NULL) c
         CROSS JOIN LATERAL ((
            SELECT x.user_id FROM subscriptions x
             WHERE x.realm_id = %(realm_id)s AND x.channel_id = c.channel_id
               AND x.active AND (x.push_notifications OR x.email_notifications) @of_all
         ) UNION (
            SELECT x.user_id FROM users x
             WHERE x.realm_id = %(realm_id)s
               AND (x.settings @> '{"enable_stream_push_notifications": true}'
                    OR x.settings @> '{"enable_stream_email_notifications": true}')
               AND EXISTS (SELECT FROM subscriptions s
                            WHERE s.realm_id = %(realm_id)s AND s.user_id = x.user_id
                              AND s.channel_id = c.channel_id AND s.active) @of_all
         )) w
    ), followers AS MATERIALIZED (
        SELECT t.conversation_id, w.user_id
          FROM (SELECT DISTINCT a.conversation_id FROM asked a WHERE a.channel_id IS NOT NULL) t
         CROSS JOIN LATERAL (
            SELECT x.user_id FROM user_topics x
             WHERE x.realm_id = %(realm_id)s AND x.topic_id = t.conversation_id
               AND x.visibility_policy = 3 @of_all
         ) w
    ), wanting AS (
        SELECT a.id, unnest(g.user_ids) AS user_id
          FROM asked a
          JOIN dm_groups g ON g.realm_id = %(realm_id)s AND g.dm_group_id = a.conversation_id
         WHERE a.channel_id IS NULL
         UNION
        SELECT a.id, h.user_id FROM asked a JOIN hearers h ON h.channel_id = a.channel_id
         UNION
        SELECT a.id, f.user_id
          FROM asked a JOIN followers f ON f.conversation_id = a.conversation_id
         WHERE a.channel_id IS NOT NULL
         UNION
        SELECT a.id, w.user_id FROM asked a CROSS JOIN LATERAL (
            SELECT x.user_id FROM message_flags x
             WHERE x.realm_id = %(realm_id)s AND x.message_id = a.id
               AND x.flags & {MENTIONED | HAS_ALERT_WORD | TOPIC_WILDCARD_MENTIONED} <> 0 @of_each
         ) w
         UNION
        SELECT a.id, w.user_id FROM asked a CROSS JOIN LATERAL (
            SELECT x.user_id FROM subscriptions x
             WHERE x.realm_id = %(realm_id)s AND x.channel_id = a.channel_id
               AND x.active AND a.traits & {CHANNEL_WILDCARD} <> 0 @of_each
         ) w
""".replace("@of_all", _OF_ALL).replace("@of_each", _OF_EACH)
_THESE: Final[LiteralString] = """
    wanting AS (
        SELECT DISTINCT p.id, p.user_id
          FROM unnest(%(ids)s::bigint[], %(user_ids)s::bigint[]) AS p(id, user_id)
"""
_FACTS: Final[LiteralString] = """
    ), page AS MATERIALIZED (
        SELECT w.id, w.user_id, a.sender_id, a.channel_id, a.conversation_id, a.traits, a.sent_at,
               u.settings
          FROM wanting w
          JOIN asked a ON a.id = w.id AND a.sender_id <> w.user_id
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = w.user_id
               AND u.is_active AND u.bot_type IS NULL
         WHERE (w.user_id, w.id) > (%(after_user_id)s, %(after_id)s)
         ORDER BY w.user_id, w.id LIMIT %(limit)s
    ), states AS (
        SELECT s.user_id, s.id, s.flags, s.received AND s.unread AS unread
          FROM (SELECT array_agg(p.user_id) AS user_ids, array_agg(p.id) AS ids FROM page p) p
         CROSS JOIN LATERAL reader_states(%(realm_id)s, p.user_ids, p.ids) s
    )
    SELECT p.user_id, p.id AS message_id, p.settings, p.channel_id IS NULL AS is_direct,
           s.flags & {MENTIONED} <> 0 AS is_mentioned,
           s.flags & {TOPIC_WILDCARD_MENTIONED} <> 0 AS topic_wildcard,
           p.traits & {CHANNEL_WILDCARD} <> 0 AS channel_wildcard,
           s.flags & {HAS_ALERT_WORD} <> 0 AS has_alert_word,
           coalesce(here.is_muted, false) AS channel_muted, here.push_notifications AS own_push,
           here.email_notifications AS own_email,
           here.wildcard_mentions_notify AS own_wildcards,
           -- A send gives mentioned users the policy at the time of its message.
           CASE WHEN t.visibility_policy = 3 AND t.last_updated = p.sent_at THEN 0
                ELSE coalesce(t.visibility_policy, 0) END::integer AS policy,
           EXISTS (SELECT FROM muted_users x
                    WHERE x.realm_id = %(realm_id)s AND x.user_id = p.user_id
                      AND x.muted_user_id = p.sender_id AND x.muted_at IS NOT NULL)
               AS mutes_sender,
           s.unread AS is_unread
      FROM page p
      JOIN states s ON s.user_id = p.user_id AND s.id = p.id
      LEFT JOIN subscriptions here ON here.realm_id = %(realm_id)s AND here.user_id = p.user_id
           AND here.channel_id = p.channel_id AND here.active
      LEFT JOIN user_topics t ON t.realm_id = %(realm_id)s AND t.user_id = p.user_id
           AND t.topic_id = p.conversation_id AND p.channel_id IS NOT NULL
     ORDER BY p.user_id, p.id
"""


async def who_may_want(
    connection: Connection,
    realm_id: RealmId,
    message_ids: Iterable[MessageId],
    *,
    after: Pair = START,
    limit: int,
) -> list[FactsRow]:
    """Return users who may want to be notified of the messages, by user and message, past `after`.

    Fewer than `limit` means the last page. Active users, never the sender; bots are never notified.
    The cost is proportional to the result, not to the channels' subscribers.
    """
    return await connection.many(
        FactsRow,
        _ASKED + _WHO_MAY_WANT + _FACTS,
        realm_id=realm_id,
        ids=list(message_ids),
        after_user_id=after[0],
        after_id=after[1],
        limit=limit,
    )


async def facts_of(
    connection: Connection, realm_id: RealmId, pairs: Sequence[Pair]
) -> list[FactsRow]:
    """Return the same for these users and messages, regardless of settings."""
    return await connection.many(
        FactsRow,
        _ASKED + _THESE + _FACTS,
        realm_id=realm_id,
        ids=[message_id for _, message_id in pairs],
        user_ids=[user_id for user_id, _ in pairs],
        after_user_id=0,
        after_id=0,
        limit=len(pairs),
    )


async def present(
    connection: Connection, realm_id: RealmId, user_ids: Iterable[UserId], *, within: timedelta
) -> set[UserId]:
    """Return those of the users who are present: active, or polled by a client, so lately.

    Clients that report their user as idle do not count.
    """
    return set(
        await connection.values(
            """
            SELECT u.user_id
              FROM unnest(%(user_ids)s::bigint[]) AS u(user_id)
              LEFT JOIN presences p ON p.realm_id = %(realm_id)s AND p.user_id = u.user_id
             WHERE coalesce(p.active_at > now() - %(within)s, false)
                OR (NOT coalesce(p.seen_at > now() - %(within)s, false)
                    AND EXISTS (SELECT FROM event_queues q
                                 WHERE q.realm_id = %(realm_id)s AND q.user_id = u.user_id
                                   AND q.last_seen_at > now() - %(within)s))
            """,
            realm_id=realm_id,
            user_ids=list(user_ids),
            within=within,
        )
    )
