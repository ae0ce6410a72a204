"""The queues of the embedded mode: jobs that wait, are in hand, or have died."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection

CHANNEL = "parley_jobs"
"""Where a queue's name is notified when it has something to hand out."""


@dataclass(frozen=True, slots=True)
class NewJob:
    queue: str
    key: str
    body: bytes
    after_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class JobRow:
    """A job handed out. `fence` tells this hand-out from all others."""

    id: int
    key: str
    body: bytes
    attempts: int
    fence: int


@dataclass(frozen=True, slots=True)
class DeadJobRow:
    id: int
    queue: str
    key: str
    body: bytes
    enqueued_at: datetime
    attempts: int
    reason: str
    died_at: datetime


@dataclass(frozen=True, slots=True)
class QueueStats:
    """What an operator wants to see of a queue."""

    queue: str
    waiting: int
    """Due, or delayed until later."""
    in_hand: int
    oldest_seconds: float
    """Since the oldest job that waits or is in hand was put in."""
    dead: int


async def insert(connection: Connection, jobs: Sequence[NewJob]) -> None:
    await connection.execute(
        """
        INSERT INTO jobs (queue, key, body, due_at)
        SELECT queue, key, body, clock_timestamp() + make_interval(secs => after_seconds)
          FROM unnest(%(queues)s::text[], %(keys)s::text[], %(bodies)s::bytea[],
                      %(delays)s::float8[])
               WITH ORDINALITY AS new (queue, key, body, after_seconds, place)
         ORDER BY place
        """,
        queues=[job.queue for job in jobs],
        keys=[job.key for job in jobs],
        bodies=[job.body for job in jobs],
        delays=[job.after_seconds for job in jobs],
    )


async def announce(connection: Connection, queues: Sequence[str]) -> None:
    """Wake the consumers of these queues: after the commit that put jobs into them."""
    await connection.execute(
        "SELECT pg_notify(%(channel)s, queue) FROM unnest(%(queues)s::text[]) AS queue",
        channel=CHANNEL,
        queues=list(queues),
    )


async def claim(
    connection: Connection, queue: str, *, limit: int, lease_seconds: float
) -> list[JobRow]:
    """Hand out up to `limit` due jobs; each is due again when its lease ends."""
    rows = await connection.many(
        JobRow,
        """
        UPDATE jobs
           SET claimed = true, attempts = attempts + 1, fence = fence + 1,
               due_at = clock_timestamp() + make_interval(secs => %(lease_seconds)s)
         WHERE id = ANY(ARRAY(
               SELECT id FROM jobs
                WHERE queue = %(queue)s AND due_at <= clock_timestamp()
                ORDER BY due_at, id LIMIT %(limit)s
                  FOR UPDATE SKIP LOCKED))
        RETURNING id, key, body, attempts, fence
        """,
        queue=queue,
        limit=limit,
        lease_seconds=lease_seconds,
    )
    return sorted(rows, key=lambda row: row.id)


async def seconds_until_due(connection: Connection, queue: str) -> float | None:
    """How long until the queue's next job may be handed out; None for an empty queue."""
    seconds: float | None = await connection.value(
        """
        SELECT extract(epoch FROM min(due_at) - clock_timestamp())::float8
          FROM jobs WHERE queue = %(queue)s
        """,
        queue=queue,
    )
    return seconds


async def extend(connection: Connection, jobs: Sequence[JobRow], *, lease_seconds: float) -> None:
    """Lengthen the leases of jobs that are still in hand."""
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
    """Forget a job that is done. False if it has been handed out again since."""
    deleted = await connection.execute(
        "DELETE FROM jobs WHERE id = %(id)s AND fence = %(fence)s",
        id=job.id,
        fence=job.fence,
    )
    return deleted == 1


async def postpone(connection: Connection, job: JobRow, *, after_seconds: float) -> bool:
    """Let the job be due again after that long. False if it has been handed out again since."""
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
    """Let jobs that nobody has worked on be due at once; the attempt does not count."""
    await connection.execute(
        """
        UPDATE jobs SET claimed = false, attempts = jobs.attempts - 1, due_at = clock_timestamp()
          FROM unnest(%(ids)s::bigint[], %(fences)s::integer[]) AS held (id, fence)
         WHERE jobs.id = held.id AND jobs.fence = held.fence AND jobs.claimed
        """,
        ids=[job.id for job in jobs],
        fences=[job.fence for job in jobs],
    )


async def bury(connection: Connection, job: JobRow, *, reason: str) -> bool:
    """Move the job to the dead ones. False if it has been handed out again since."""
    moved = await connection.execute(
        """
        WITH dead AS (
            DELETE FROM jobs WHERE id = %(id)s AND fence = %(fence)s
            RETURNING id, queue, key, body, enqueued_at, attempts)
        INSERT INTO dead_jobs (id, queue, key, body, enqueued_at, attempts, reason)
        SELECT id, queue, key, body, enqueued_at, attempts, %(reason)s FROM dead
        """,
        id=job.id,
        fence=job.fence,
        reason=reason,
    )
    return moved == 1


async def dead(connection: Connection, queue: str, *, limit: int) -> list[DeadJobRow]:
    """The queue's dead jobs, the latest first."""
    return await connection.many(
        DeadJobRow,
        """
        SELECT id, queue, key, body, enqueued_at, attempts, reason, died_at
          FROM dead_jobs WHERE queue = %(queue)s ORDER BY died_at DESC, id DESC LIMIT %(limit)s
        """,
        queue=queue,
        limit=limit,
    )


async def stats(connection: Connection) -> list[QueueStats]:
    """All queues that hold anything."""
    return await connection.many(
        QueueStats,
        """
        SELECT queue, coalesce(waiting, 0) AS waiting, coalesce(in_hand, 0) AS in_hand,
               coalesce(oldest_seconds, 0) AS oldest_seconds, coalesce(dead, 0) AS dead
          FROM (SELECT queue,
                       count(*) FILTER (WHERE NOT held) AS waiting,
                       count(*) FILTER (WHERE held) AS in_hand,
                       extract(epoch FROM clock_timestamp() - min(enqueued_at))::float8
                           AS oldest_seconds
                  FROM (SELECT queue, enqueued_at, claimed AND due_at > clock_timestamp() AS held
                          FROM jobs) AS marked
                 GROUP BY queue) AS live
          FULL JOIN (SELECT queue, count(*) AS dead FROM dead_jobs GROUP BY queue) AS lost
          USING (queue)
         ORDER BY queue
        """,
    )
