"""Job queues of the embedded mode: waiting, in progress and dead jobs."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection

CHANNEL = "parley_jobs"
"""Channel of NOTIFY: the payload is a queue with jobs to hand out."""


LAST_REALM = 2**63 - 1
REALMS_AT_A_TIME = 100
OVERFETCH_FACTOR = 4
"""Factor of rows to look at: concurrent claims hold some of the first."""


@dataclass(frozen=True, slots=True)
class NewJob:
    queue: str
    key: str
    body: bytes
    after_seconds: float = 0.0
    realm_id: int = 0
    asked_at: float = 0.0
    """Seconds since 1970; 0 for now."""


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job that was handed out. `fence` distinguishes this delivery from all others."""

    id: int
    key: str
    realm_id: int
    body: bytes
    enqueued_at: datetime
    attempts: int
    fence: int


@dataclass(frozen=True, slots=True)
class WaitingJobRow:
    """A job as operators see it."""

    id: str
    key: str
    realm_id: int
    body: bytes
    enqueued_at: datetime
    attempts: int


@dataclass(frozen=True, slots=True)
class DeadJobRow:
    id: str
    queue: str
    key: str
    realm_id: int
    body: bytes
    enqueued_at: datetime
    attempts: int
    reason: str
    trace: str
    died_at: datetime


@dataclass(frozen=True, slots=True)
class QueueStats:
    """Figures of a queue for operators."""

    queue: str
    waiting: int
    """Jobs due, or delayed."""
    in_hand: int
    oldest_seconds: float
    """Age of the oldest job that waits or is in progress, since it was requested.

    A postponed job that is not due yet does not count.
    """
    dead: int


async def insert(connection: Connection, jobs: Sequence[NewJob]) -> None:
    await connection.execute(
        """
        INSERT INTO jobs (queue, key, realm_id, body, enqueued_at, due_at)
        SELECT queue, key, realm_id, body,
               coalesce(to_timestamp(nullif(asked_at, 0)), clock_timestamp()),
               clock_timestamp() + make_interval(secs => after_seconds)
          FROM unnest(%(queues)s::text[], %(keys)s::text[], %(realm_ids)s::bigint[],
                      %(bodies)s::bytea[], %(asked_at)s::float8[], %(delays)s::float8[])
               WITH ORDINALITY
               AS new (queue, key, realm_id, body, asked_at, after_seconds, place)
         ORDER BY place
        """,
        queues=[job.queue for job in jobs],
        keys=[job.key for job in jobs],
        realm_ids=[job.realm_id for job in jobs],
        asked_at=[float(job.asked_at) for job in jobs],
        bodies=[job.body for job in jobs],
        delays=[float(job.after_seconds) for job in jobs],
    )


async def announce(connection: Connection, queues: Sequence[str]) -> None:
    """Notify the consumers of these queues, after the commit that inserted the jobs."""
    await connection.execute(
        "SELECT pg_notify(%(channel)s, queue) FROM unnest(%(queues)s::text[]) AS queue",
        channel=CHANNEL,
        queues=list(queues),
    )


async def claim(
    connection: Connection, queue: str, *, limit: int, lease_seconds: float, after_realm: int = -1
) -> list[JobRow]:
    """Claim up to `limit` due jobs; each is due again when its lease ends.

    Round-robin over realms, beginning with the one after `after_realm`: first the oldest due job of
    each, then the next of each, and so on. It takes one index step per realm with jobs, up to
    REALMS_AT_A_TIME.
    """
    return await connection.many(
        JobRow,
        """
        WITH waiting AS MATERIALIZED (
            SELECT realm_id, place
              FROM realms_with_jobs(%(queue)s, %(after_realm)s, %(last_realm)s, %(realms)s)
            UNION ALL
            SELECT realm_id, place + %(realms)s
              FROM realms_with_jobs(%(queue)s, -1, %(after_realm)s, %(realms)s)),
        turns AS MATERIALIZED (
            SELECT due.id, due.turn, waiting.place
              FROM waiting
             CROSS JOIN LATERAL (
                   SELECT j.id, row_number() OVER (ORDER BY j.due_at, j.id) AS turn
                     FROM jobs j
                    WHERE j.queue = %(queue)s AND j.realm_id = waiting.realm_id
                      AND j.due_at <= clock_timestamp()
                    ORDER BY j.due_at, j.id LIMIT %(candidates)s) AS due
             ORDER BY due.turn, waiting.place LIMIT %(candidates)s),
        taken AS MATERIALIZED (
            SELECT jobs.id, turns.turn, turns.place
              FROM turns JOIN jobs ON jobs.id = turns.id
             WHERE jobs.due_at <= clock_timestamp()
             ORDER BY turns.turn, turns.place LIMIT %(limit)s
               FOR UPDATE OF jobs SKIP LOCKED),
        claimed AS (
            UPDATE jobs
               SET claimed = true, attempts = attempts + 1, fence = fence + 1,
                   due_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
              FROM taken WHERE jobs.id = taken.id
            RETURNING jobs.id, key, realm_id, body, enqueued_at, attempts, fence, turn, place)
        SELECT id, key, realm_id, body, enqueued_at, attempts, fence
          FROM claimed ORDER BY turn, place
        """,
        queue=queue,
        after_realm=after_realm,
        last_realm=LAST_REALM,
        realms=REALMS_AT_A_TIME,
        candidates=limit * OVERFETCH_FACTOR,
        limit=limit,
        lease_seconds=lease_seconds,
    )


async def seconds_until_due(connection: Connection, queue: str) -> float | None:
    """Return the seconds until the queue's next job is due; None for an empty queue."""
    seconds: float | None = await connection.value(
        """
        SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8
          FROM jobs WHERE queue = %(queue)s
        """,
        queue=queue,
    )
    return seconds


async def extend(connection: Connection, jobs: Sequence[JobRow], *, lease_seconds: float) -> None:
    """Extend the leases of jobs that are still in progress."""
    await connection.execute(
        """
        UPDATE jobs SET due_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
          FROM unnest(%(ids)s::bigint[], %(fences)s::integer[]) AS held (id, fence)
         WHERE jobs.id = held.id AND jobs.fence = held.fence AND jobs.claimed
        """,
        lease_seconds=lease_seconds,
        ids=[job.id for job in jobs],
        fences=[job.fence for job in jobs],
    )


async def delete(connection: Connection, job: JobRow) -> bool:
    """Delete a finished job. Return False if it has been handed out again since."""
    deleted = await connection.execute(
        "DELETE FROM jobs WHERE id = %(id)s AND fence = %(fence)s",
        id=job.id,
        fence=job.fence,
    )
    return deleted == 1


async def postpone(connection: Connection, job: JobRow, *, after_seconds: float) -> bool:
    """Schedule the job again after that long.

    Return False if it has been handed out again since.
    """
    updated = await connection.execute(
        """
        UPDATE jobs SET claimed = false,
                        due_at = clock_timestamp() + make_interval(secs => %(after_seconds)s)
         WHERE id = %(id)s AND fence = %(fence)s
        """,
        after_seconds=after_seconds,
        id=job.id,
        fence=job.fence,
    )
    return updated == 1


async def give_back(connection: Connection, jobs: Sequence[JobRow]) -> None:
    """Release jobs that were not started: due at once, without counting the attempt."""
    await connection.execute(
        """
        UPDATE jobs SET claimed = false, attempts = jobs.attempts - 1, due_at = clock_timestamp()
          FROM unnest(%(ids)s::bigint[], %(fences)s::integer[]) AS held (id, fence)
         WHERE jobs.id = held.id AND jobs.fence = held.fence AND jobs.claimed
        """,
        ids=[job.id for job in jobs],
        fences=[job.fence for job in jobs],
    )


async def dead_letter(connection: Connection, job: JobRow, *, reason: str, trace: str = "") -> bool:
    """Move the job to the dead jobs. Return False if it has been handed out again since."""
    moved = await connection.execute(
        """
        WITH dead AS (
            DELETE FROM jobs WHERE id = %(id)s AND fence = %(fence)s
            RETURNING id, queue, key, realm_id, body, enqueued_at, attempts)
        INSERT INTO dead_jobs
               (id, queue, key, realm_id, body, enqueued_at, attempts, reason, trace)
        SELECT id, queue, key, realm_id, body, enqueued_at, attempts, %(reason)s, %(trace)s
          FROM dead
        """,
        trace=trace,
        id=job.id,
        fence=job.fence,
        reason=reason,
    )
    return moved == 1


async def dead(connection: Connection, queue: str, *, limit: int) -> list[DeadJobRow]:
    """Return the queue's dead jobs, latest first."""
    return await connection.many(
        DeadJobRow,
        """
        SELECT id::text, queue, key, realm_id, body, enqueued_at, attempts, reason, trace, died_at
          FROM dead_jobs WHERE queue = %(queue)s
         ORDER BY died_at DESC, dead_jobs.id DESC LIMIT %(limit)s
        """,
        queue=queue,
        limit=limit,
    )


async def waiting(connection: Connection, queue: str, *, limit: int) -> list[WaitingJobRow]:
    """Return the queue's jobs that are due, first ones first."""
    return await connection.many(
        WaitingJobRow,
        """
        SELECT id::text, key, realm_id, body, enqueued_at, attempts
          FROM jobs WHERE queue = %(queue)s AND due_at <= clock_timestamp()
         ORDER BY due_at, jobs.id LIMIT %(limit)s
        """,
        queue=queue,
        limit=limit,
    )


async def count_later(connection: Connection, queue: str) -> int:
    """Return how many of the queue's jobs are delayed."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM jobs
         WHERE queue = %(queue)s AND NOT claimed AND due_at > clock_timestamp()
        """,
        queue=queue,
    )
    return count


async def hurry(connection: Connection, queue: str) -> int:
    """Make all delayed jobs of the queue due now; return how many."""
    return await connection.execute(
        """
        UPDATE jobs SET due_at = clock_timestamp()
         WHERE queue = %(queue)s AND NOT claimed AND due_at > clock_timestamp()
        """,
        queue=queue,
    )


async def replay(connection: Connection, queue: str, ids: Collection[str] | None) -> int:
    """Move these of the queue's dead jobs, or all, back to the queue; return how many."""
    return await connection.execute(
        """
        WITH risen AS (
            DELETE FROM dead_jobs
             WHERE queue = %(queue)s
               AND (%(ids)s::text[] IS NULL OR id::text = ANY(%(ids)s::text[]))
            RETURNING id, queue, key, realm_id, body, enqueued_at)
        INSERT INTO jobs (id, queue, key, realm_id, body, enqueued_at, due_at)
        OVERRIDING SYSTEM VALUE
        SELECT id, queue, key, realm_id, body, enqueued_at, clock_timestamp() FROM risen
        """,
        queue=queue,
        ids=None if ids is None else list(ids),
    )


async def forget_dead(connection: Connection, queue: str, ids: Collection[str] | None) -> int:
    """Delete these of the queue's dead jobs, or all; return how many."""
    return await connection.execute(
        """
        DELETE FROM dead_jobs
         WHERE queue = %(queue)s
           AND (%(ids)s::text[] IS NULL OR id::text = ANY(%(ids)s::text[]))
        """,
        queue=queue,
        ids=None if ids is None else list(ids),
    )


async def stats(connection: Connection) -> list[QueueStats]:
    """Return figures of all queues that have jobs."""
    return await connection.many(
        QueueStats,
        """
        SELECT queue, coalesce(waiting, 0) AS waiting, coalesce(in_hand, 0) AS in_hand,
               coalesce(oldest_seconds, 0) AS oldest_seconds, coalesce(dead, 0) AS dead
          FROM (SELECT queue,
                       count(*) FILTER (WHERE NOT held) AS waiting,
                       count(*) FILTER (WHERE held) AS in_hand,
                       extract(epoch FROM clock_timestamp()
                               - min(enqueued_at) FILTER (WHERE begun))::float8 AS oldest_seconds
                  FROM (SELECT queue, enqueued_at, claimed AND due_at > clock_timestamp() AS held,
                               attempts > 0 OR due_at <= clock_timestamp() AS begun
                          FROM jobs) AS marked
                 GROUP BY queue) AS live
          FULL JOIN (SELECT queue, count(*) AS dead FROM dead_jobs GROUP BY queue) AS lost
          USING (queue)
         ORDER BY queue
        """,
    )
