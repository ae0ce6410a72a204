"""A client's event queue: one small row, inserted at register and touched once a minute.

Statements that change several rows lock them in the order of their keys, so that no two of them
wait for each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from storage.database import Connection
from storage.ids import Position, QueueId, RealmId, UserId

UNBOUNDED: Final = 2**31


@dataclass(frozen=True, slots=True)
class NewQueue:
    queue_id: QueueId
    user_id: UserId
    params: dict[str, Any]
    lifespan_seconds: int


@dataclass(frozen=True, slots=True)
class EventQueueRow:
    queue_id: QueueId
    user_id: UserId
    epoch: int
    base: Position
    params: dict[str, Any]
    lifespan_seconds: int


async def insert(
    connection: Connection,
    realm_id: RealmId,
    queues: Sequence[NewQueue],
    *,
    most: int = UNBOUNDED,
) -> dict[UserId, list[QueueId]]:
    """Insert queues at the clock's position, in a transaction of its own.

    A user keeps at most `most` queues, and gets no more than that here: the least recently polled
    are deleted and returned.

    The clock is locked meanwhile: every later write sees the queues, and so publishes their users'
    flags. The commit is not waited for: a crash may lose the queues until `begin` has found them.
    """
    ended = await connection.tuples(
        """
        WITH new AS MATERIALIZED (
            SELECT * FROM jsonb_to_recordset(%(queues)s)
                AS n (queue_id text, user_id bigint, params jsonb, lifespan_seconds integer)
        ), oldest AS MATERIALIZED (
            SELECT o.queue_id
              FROM (SELECT user_id, count(*) AS number FROM new GROUP BY user_id) added
             CROSS JOIN LATERAL (
                   SELECT queue_id FROM event_queues
                    WHERE realm_id = %(realm_id)s AND user_id = added.user_id
                    ORDER BY last_seen_at DESC, queue_id OFFSET %(most)s - added.number) o
        ), free AS MATERIALIZED (
            SELECT queue_id FROM event_queues
             WHERE realm_id = %(realm_id)s AND queue_id IN (SELECT queue_id FROM oldest)
               FOR UPDATE SKIP LOCKED
        ), ended AS (
            DELETE FROM event_queues
             WHERE realm_id = %(realm_id)s AND queue_id IN (SELECT queue_id FROM free)
            RETURNING user_id, queue_id
        ), made AS (
            INSERT INTO event_queues (realm_id, queue_id, user_id, epoch, base, params,
                                      lifespan_seconds, last_seen_at)
            SELECT %(realm_id)s, n.queue_id, n.user_id, c.r_epoch, c.r_position, n.params,
                   n.lifespan_seconds, now()
              FROM clock_lock(%(realm_id)s) c CROSS JOIN new n
             WHERE set_config('synchronous_commit', 'off', true) = 'off'
        )
        SELECT user_id, queue_id FROM ended
        """,
        most=most,
        realm_id=realm_id,
        queues=connection.json(list(queues)),
    )
    by_user: dict[UserId, list[QueueId]] = {}
    for user_id, queue_id in ended:
        by_user.setdefault(user_id, []).append(queue_id)
    return by_user


async def begin(
    connection: Connection,
    realm_id: RealmId,
    params: Mapping[QueueId, dict[str, Any]],
    *,
    epoch: int,
    base: Position,
) -> set[QueueId]:
    """Set the position after which these queues begin, and return those that still exist.

    The others were deleted meanwhile, or lost with a crash of the database. `params` are merged
    into those that they were inserted with.
    """
    begun = await connection.values(
        """
        WITH own AS MATERIALIZED (
            SELECT queue_id FROM event_queues
             WHERE realm_id = %(realm_id)s AND queue_id = ANY(%(queue_ids)s)
             ORDER BY queue_id FOR NO KEY UPDATE
        )
        UPDATE event_queues q
           SET epoch = %(epoch)s, base = %(base)s,
               params = q.params || (%(params)s::jsonb -> q.queue_id)
          FROM own WHERE q.realm_id = %(realm_id)s AND q.queue_id = own.queue_id
        RETURNING q.queue_id
        """,
        realm_id=realm_id,
        epoch=epoch,
        base=base,
        queue_ids=list(params),
        params=connection.json(params),
    )
    return set(begun)


async def live(
    connection: Connection, realm_id: RealmId, queue_ids: Sequence[QueueId]
) -> list[EventQueueRow]:
    """Return the live queues: not deleted, not expired, and of the clock's epoch."""
    return await connection.many(
        EventQueueRow,
        """
        SELECT q.queue_id, q.user_id, q.epoch, q.base, q.params, q.lifespan_seconds
          FROM clocks_now(ARRAY[%(realm_id)s::bigint]) c
          JOIN event_queues q ON q.epoch = c.epoch
         WHERE q.realm_id = %(realm_id)s AND q.queue_id = ANY(%(queue_ids)s)
           AND q.last_seen_at + make_interval(secs => q.lifespan_seconds) > now()
        """,
        realm_id=realm_id,
        queue_ids=list(queue_ids),
    )


async def delete(connection: Connection, realm_id: RealmId, queue_ids: Sequence[QueueId]) -> None:
    """Delete those of the queues that exist."""
    await _delete(connection, realm_id, " AND queue_id = ANY(%(ids)s)", list(queue_ids))


async def delete_of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> None:
    await _delete(connection, realm_id, " AND user_id = ANY(%(ids)s)", list(user_ids))


async def delete_all(connection: Connection, realm_id: RealmId) -> set[UserId]:
    """Delete all queues of the realm; return their users."""
    return set(await _delete(connection, realm_id))


_LOCKED: Final[LiteralString] = """
    WITH own AS MATERIALIZED (
        SELECT queue_id FROM event_queues WHERE realm_id = %(realm_id)s"""
_DELETED: Final[LiteralString] = """ ORDER BY queue_id FOR UPDATE
    )
    DELETE FROM event_queues q USING own
     WHERE q.realm_id = %(realm_id)s AND q.queue_id = own.queue_id
    RETURNING q.user_id
"""


async def _delete(
    connection: Connection, realm_id: RealmId, condition: LiteralString = "", ids: object = None
) -> list[UserId]:
    """Delete the queues of the realm that meet the condition; return the user of each."""
    return await connection.values(_LOCKED + condition + _DELETED, realm_id=realm_id, ids=ids)


async def touch(
    connection: Connection, realm_ids: Sequence[RealmId], queue_ids: Sequence[QueueId]
) -> int:
    """Record that these queues (pairwise with their realms) were polled.

    It takes no lock that others wait for.
    """
    return await connection.execute(
        """
        WITH own AS MATERIALIZED (
            SELECT q.realm_id, q.queue_id
              FROM unnest(%(realm_ids)s::bigint[], %(queue_ids)s::text[])
                   AS seen(realm_id, queue_id)
              JOIN event_queues q ON q.realm_id = seen.realm_id AND q.queue_id = seen.queue_id
             ORDER BY q.realm_id, q.queue_id FOR NO KEY UPDATE OF q
        )
        UPDATE event_queues q SET last_seen_at = now()
          FROM own WHERE q.realm_id = own.realm_id AND q.queue_id = own.queue_id
        """,
        realm_ids=list(realm_ids),
        queue_ids=list(queue_ids),
    )


async def delete_expired(connection: Connection) -> int:
    """Delete the rows of queues that were not polled within their lifespan; return how many."""
    return await connection.execute(
        """
        DELETE FROM event_queues
         WHERE last_seen_at < now() - interval '1 minute'
           AND last_seen_at + make_interval(secs => lifespan_seconds) < now()
        """
    )
