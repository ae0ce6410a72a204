"""Recorded decisions to notify users of messages."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from storage.database import Connection
from storage.ids import GroupId, MessageId, RealmId, UserId
from storage.notification_candidates import Pair


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
