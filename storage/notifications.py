"""Candidates for notifications of messages, and the decisions that were recorded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, LiteralString

from storage.database import Connection
from storage.ids import GroupId, MessageId, RealmId, UserId

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


# -- recorded decisions


@dataclass(frozen=True, slots=True, kw_only=True)
class NewNotification:
    user_id: UserId
    message_id: MessageId
    email_reason: str | None
    push_reason: str | None
    group_id: GroupId | None
    batching_seconds: int
    """How long their emails wait to be batched."""


async def insert(
    connection: Connection, realm_id: RealmId, decided: Sequence[NewNotification]
) -> None:
    """Record decisions; existing ones stay.

    Users to be emailed get an open batch, which their next messages join.
    """
    await connection.execute(
        """
        WITH decided AS MATERIALIZED (
            SELECT d.* FROM unnest(%(user_ids)s::bigint[], %(message_ids)s::bigint[],
                                   %(email_reasons)s::text[], %(push_reasons)s::text[],
                                   %(group_ids)s::bigint[], %(seconds)s::integer[])
                   AS d(user_id, message_id, email_reason, push_reason, group_id, seconds)
        ), opened AS (
            INSERT INTO email_batches AS b (realm_id, user_id, opened_by, due_at)
            SELECT DISTINCT ON (d.user_id) %(realm_id)s, d.user_id, d.message_id,
                   now() + make_interval(secs => d.seconds)
              FROM decided d
             WHERE d.email_reason IS NOT NULL
               -- Not as a join: planned while the table was empty, it would read all of it.
               AND (SELECT n.email_reason FROM notifications n
                     WHERE n.realm_id = %(realm_id)s AND n.user_id = d.user_id
                       AND n.message_id = d.message_id) IS NULL
             ORDER BY d.user_id, d.message_id
            -- Locked, so that it is not closed before the messages are in it.
            ON CONFLICT (realm_id, user_id) DO UPDATE SET opened_by = b.opened_by
            RETURNING b.user_id, b.batch_id)
        INSERT INTO notifications AS n (realm_id, user_id, message_id, email_reason, push_reason,
                                        group_id, email_batch_id)
        SELECT %(realm_id)s, d.user_id, d.message_id, d.email_reason, d.push_reason, d.group_id,
               CASE WHEN d.email_reason IS NOT NULL THEN o.batch_id END
          FROM decided d LEFT JOIN opened o ON o.user_id = d.user_id
         ORDER BY d.user_id, d.message_id
        ON CONFLICT (realm_id, user_id, message_id) DO UPDATE
           SET email_reason = coalesce(n.email_reason, excluded.email_reason),
               email_batch_id = CASE WHEN n.email_reason IS NULL THEN excluded.email_batch_id
                                     ELSE n.email_batch_id END,
               push_reason = coalesce(n.push_reason, excluded.push_reason),
               group_id = coalesce(n.group_id, excluded.group_id)
         WHERE (n.email_reason IS NULL AND excluded.email_reason IS NOT NULL)
            OR (n.push_reason IS NULL AND excluded.push_reason IS NOT NULL)
        """,
        realm_id=realm_id,
        user_ids=[each.user_id for each in decided],
        message_ids=[each.message_id for each in decided],
        email_reasons=[each.email_reason for each in decided],
        push_reasons=[each.push_reason for each in decided],
        group_ids=[each.group_id for each in decided],
        seconds=[each.batching_seconds for each in decided],
    )


@dataclass(frozen=True, slots=True)
class PushRow:
    user_id: UserId
    message_id: MessageId
    reason: str
    group_id: GroupId | None


async def unhanded_pushes(
    connection: Connection,
    realm_id: RealmId,
    message_ids: Iterable[MessageId],
    *,
    kinds: Iterable[str],
    limit: int,
) -> list[PushRow]:
    """Return pushes of these messages that may not be in their queue yet.

    Users without a device of these kinds are left out.
    """
    return await connection.many(
        PushRow,
        """
        SELECT n.user_id, n.message_id, n.push_reason AS reason, n.group_id
          FROM notifications n
         WHERE n.realm_id = %(realm_id)s AND n.message_id = ANY (%(message_ids)s::bigint[])
           AND n.push_reason IS NOT NULL AND NOT n.push_handed
           AND EXISTS (SELECT FROM push_devices d
                        WHERE d.realm_id = %(realm_id)s AND d.user_id = n.user_id
                          AND d.kind = ANY (%(kinds)s::text[]))
         ORDER BY n.message_id, n.user_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        kinds=list(kinds),
        limit=limit,
    )


async def pushes_handed(
    connection: Connection, realm_id: RealmId, pushes: Sequence[PushRow]
) -> None:
    """Mark pushes as enqueued."""
    await connection.execute(
        """
        UPDATE notifications n SET push_handed = true
          FROM unnest(%(user_ids)s::bigint[], %(message_ids)s::bigint[])
               AS h(user_id, message_id)
         WHERE n.realm_id = %(realm_id)s AND n.user_id = h.user_id
           AND n.message_id = h.message_id
        """,
        realm_id=realm_id,
        user_ids=[each.user_id for each in pushes],
        message_ids=[each.message_id for each in pushes],
    )


async def pushed(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_ids: Sequence[MessageId]
) -> None:
    """Record that the messages were pushed to the user's devices."""
    await connection.execute(
        """
        UPDATE notifications SET pushed = true
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND message_id = ANY (%(message_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_ids=list(message_ids),
    )


@dataclass(frozen=True, slots=True)
class BatchRow:
    """A batch of missed messages to be mailed together when it is due."""

    user_id: UserId
    batch_id: int
    due_in_seconds: float


async def unhanded_batches(
    connection: Connection, realm_id: RealmId, message_ids: Iterable[MessageId], *, limit: int
) -> list[BatchRow]:
    """Return batches opened by these messages that may not be in their queue yet."""
    return await connection.many(
        BatchRow,
        """
        SELECT user_id, batch_id,
               extract(epoch FROM due_at - now())::float8 AS due_in_seconds
          FROM email_batches
         WHERE realm_id = %(realm_id)s AND opened_by = ANY (%(message_ids)s::bigint[])
           AND NOT handed
         ORDER BY user_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        limit=limit,
    )


async def batches_handed(
    connection: Connection, realm_id: RealmId, batches: Iterable[BatchRow]
) -> None:
    """Mark batches as enqueued."""
    await connection.execute(
        """
        UPDATE email_batches SET handed = true
         WHERE realm_id = %(realm_id)s AND batch_id = ANY (%(batch_ids)s::bigint[]) AND NOT handed
        """,
        realm_id=realm_id,
        batch_ids=[batch.batch_id for batch in batches],
    )


async def late_batches(
    connection: Connection, *, late: timedelta, limit: int
) -> list[tuple[RealmId, BatchRow]]:
    """Return batches that are overdue, so that their job must have been lost.

    They are rescheduled to now, so they are not returned again until they are as late again.
    """
    rows = await connection.tuples(
        """
        UPDATE email_batches b SET due_at = now(), handed = true
          FROM (SELECT realm_id, user_id FROM email_batches
                 WHERE due_at < now() - %(late)s
                 ORDER BY due_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED) l
         WHERE b.realm_id = l.realm_id AND b.user_id = l.user_id
        RETURNING b.realm_id, b.user_id, b.batch_id
        """,
        late=late,
        limit=limit,
    )
    return [(realm_id, BatchRow(user_id, batch_id, 0.0)) for realm_id, user_id, batch_id in rows]


# -- withdrawal


@dataclass(frozen=True, slots=True)
class StaleRow:
    """A notification of a message that has been read, or that the user cannot see any more."""

    user_id: UserId
    message_id: MessageId
    is_pushed: bool


async def stale(
    connection: Connection,
    realm_id: RealmId,
    *,
    pairs: Sequence[Pair] = (),
    user_ids: Iterable[UserId] = (),
    message_ids: Iterable[MessageId] = (),
    limit: int,
) -> list[StaleRow]:
    """Return stale notifications among these, all of these users, and all of these messages."""
    return await connection.many(
        StaleRow,
        """
        WITH mine AS MATERIALIZED (
            SELECT n.user_id, n.message_id, n.push_handed
              FROM unnest(%(pair_users)s::bigint[], %(pair_messages)s::bigint[])
                   AS p(user_id, message_id)
              JOIN notifications n ON n.realm_id = %(realm_id)s AND n.user_id = p.user_id
                   AND n.message_id = p.message_id
             UNION
            SELECT n.user_id, n.message_id, n.push_handed FROM notifications n
             WHERE n.realm_id = %(realm_id)s AND n.user_id = ANY (%(user_ids)s::bigint[])
             UNION
            SELECT n.user_id, n.message_id, n.push_handed FROM notifications n
             WHERE n.realm_id = %(realm_id)s AND n.message_id = ANY (%(message_ids)s::bigint[]))
        SELECT m.user_id, m.message_id, m.push_handed AS is_pushed
          FROM mine m
          LEFT JOIN (
               SELECT s.user_id, s.id, s.unread
                 FROM (SELECT array_agg(m.user_id) AS user_ids,
                              array_agg(m.message_id) AS ids FROM mine m) a
                CROSS JOIN LATERAL reader_states(%(realm_id)s, a.user_ids, a.ids) s) s
               ON s.user_id = m.user_id AND s.id = m.message_id
         WHERE s.unread IS NOT TRUE
         ORDER BY m.user_id, m.message_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        pair_users=[user_id for user_id, _ in pairs],
        pair_messages=[message_id for _, message_id in pairs],
        user_ids=list(user_ids),
        message_ids=list(message_ids),
        limit=limit,
    )


async def delete(connection: Connection, realm_id: RealmId, pairs: Sequence[Pair]) -> None:
    """Delete these; they are left out of emails."""
    await connection.execute(
        """
        DELETE FROM notifications n
         USING unnest(%(user_ids)s::bigint[], %(message_ids)s::bigint[]) AS p(user_id, message_id)
         WHERE n.realm_id = %(realm_id)s AND n.user_id = p.user_id
           AND n.message_id = p.message_id
        """,
        realm_id=realm_id,
        user_ids=[user_id for user_id, _ in pairs],
        message_ids=[message_id for _, message_id in pairs],
    )


async def forget(connection: Connection, *, older_than: timedelta) -> int:
    """Delete old decisions, whatever became of them; return how many."""
    return await connection.execute(
        "DELETE FROM notifications WHERE decided_at < now() - %(age)s", age=older_than
    )
