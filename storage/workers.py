"""Processes, the queues that they work on, and queues that an operator has paused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from storage.database import Connection

LIVENESS_TIMEOUT_SECONDS = 30
"""A process that has not reported for so long is gone."""


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """The report of a process."""

    id: str
    host: str
    pid: int
    version: str
    started_at: datetime
    ship_lag_seconds: float | None
    """Lag of the shipper; None if another process leads it."""
    queues: Mapping[str, Any]
    """Queues that it works on."""
    serves: bool = False
    """Whether it serves requests."""
    takes_mail: bool = False
    """Whether it receives incoming email."""
    state: Mapping[str, float] = field(default_factory=dict)
    """Gauges of its buffers and caches, by name."""
    seen_seconds: float = 0.0
    """Age of the report."""


@dataclass(frozen=True, slots=True)
class QueueAtWork:
    """State of a queue beyond the broker's figures. Times are seconds before now."""

    queue: str
    paused: bool = False
    workers: int = 0
    in_hand: int = 0
    attempts: int = 0
    """Finished attempts, of the processes that are alive."""
    retried: int = 0
    """Failed attempts that will be retried."""
    oldest_in_hand_seconds: float | None = None
    newest_handed_seconds: float | None = None
    """Seconds since the request of the job that was handed out last."""
    seen_empty_seconds: float | None = None

    def oldest_seconds(self, *, is_waiting: bool) -> float:
        """Return an upper bound for the age of the queue's oldest job.

        Waiting jobs were requested after the one handed out last, and after the queue was last seen
        empty.
        """
        bounds = [self.newest_handed_seconds, self.seen_empty_seconds]
        waiting = min((b for b in bounds if b is not None), default=0.0) if is_waiting else 0.0
        return max(waiting, self.oldest_in_hand_seconds or 0.0)


async def report(connection: Connection, row: WorkerRow) -> None:
    """Record the report of a living process."""
    await connection.execute(
        """
        INSERT INTO workers (id, host, pid, version, started_at, ship_lag_seconds, queues, serves,
                             takes_mail, state)
        VALUES (%(id)s, %(host)s, %(pid)s, %(version)s, %(started_at)s, %(lag)s, %(queues)s,
                %(serves)s, %(takes_mail)s, %(state)s)
            ON CONFLICT (id) DO UPDATE
               SET seen_at = clock_timestamp(), ship_lag_seconds = excluded.ship_lag_seconds,
                   queues = excluded.queues, state = excluded.state
        """,
        id=row.id,
        host=row.host,
        pid=row.pid,
        version=row.version,
        started_at=row.started_at,
        lag=row.ship_lag_seconds,
        queues=Connection.json(row.queues),
        serves=row.serves,
        takes_mail=row.takes_mail,
        state=Connection.json(row.state),
    )


async def leave(connection: Connection, worker_id: str) -> None:
    """Remove a process that ends, and those that have long been silent."""
    await connection.execute(
        """
        DELETE FROM workers
         WHERE id = %(id)s OR seen_at < clock_timestamp() - interval '1 hour'
        """,
        id=worker_id,
    )


async def at_work(connection: Connection) -> list[WorkerRow]:
    """Return the processes that are alive."""
    return await connection.many(
        WorkerRow,
        """
        SELECT id, host, pid, version, started_at, ship_lag_seconds, queues, serves,
               takes_mail, state,
               extract(epoch FROM clock_timestamp() - seen_at)::float8 AS seen_seconds
          FROM workers
         WHERE seen_at > clock_timestamp() - make_interval(secs => %(silent)s)
         ORDER BY started_at, id
        """,
        silent=LIVENESS_TIMEOUT_SECONDS,
    )


async def queues_at_work(connection: Connection) -> dict[str, QueueAtWork]:
    """Return all queues that a process works on, or that were paused or observed."""
    rows = await connection.many(
        QueueAtWork,
        """
        WITH reports AS (
            SELECT queue, count(*) AS workers, sum((work ->> 'in_hand')::int)::int AS in_hand,
                   sum((work ->> 'done')::int + (work ->> 'retried')::int
                       + (work ->> 'dead')::int + (work ->> 'lost')::int)::int AS attempts,
                   sum((work ->> 'retried')::int)::int AS retried,
                   min((work ->> 'oldest_at')::float8) AS oldest_at,
                   max((work ->> 'newest_at')::float8) AS newest_at
              FROM workers, jsonb_each(queues) AS each (queue, work)
             WHERE seen_at > clock_timestamp() - make_interval(secs => %(silent)s)
             GROUP BY queue),
        moment AS (SELECT extract(epoch FROM clock_timestamp())::float8 AS now)
        SELECT queue, coalesce(known.paused_at IS NOT NULL, false) AS paused,
               coalesce(reports.workers, 0) AS workers, coalesce(reports.in_hand, 0) AS in_hand,
               coalesce(reports.attempts, 0) AS attempts, coalesce(reports.retried, 0) AS retried,
               greatest(0, now - reports.oldest_at) AS oldest_in_hand_seconds,
               greatest(0, now - reports.newest_at) AS newest_handed_seconds,
               greatest(0, now - extract(epoch FROM known.seen_empty_at)::float8)
                   AS seen_empty_seconds
          FROM moment CROSS JOIN (reports FULL JOIN job_queues AS known USING (queue))
        """,
        silent=LIVENESS_TIMEOUT_SECONDS,
    )
    return {row.queue: row for row in rows}


async def saw_empty(connection: Connection, queues: Sequence[str]) -> None:
    """Record that these queues are empty now."""
    await connection.execute(
        """
        INSERT INTO job_queues AS known (queue, seen_empty_at)
        SELECT queue, clock_timestamp() FROM unnest(%(queues)s::text[]) AS queue
            ON CONFLICT (queue) DO UPDATE SET seen_empty_at = excluded.seen_empty_at
        """,
        queues=sorted(queues),
    )


async def pause(connection: Connection, queue: str) -> None:
    """Pause the queue: no process starts a job on it until it is resumed."""
    await connection.execute(
        """
        INSERT INTO job_queues AS known (queue, paused_at) VALUES (%(queue)s, clock_timestamp())
            ON CONFLICT (queue)
            DO UPDATE SET paused_at = coalesce(known.paused_at, excluded.paused_at)
        """,
        queue=queue,
    )


async def resume(connection: Connection, queue: str) -> bool:
    """Resume the queue. Return False if it was not paused."""
    resumed = await connection.execute(
        "UPDATE job_queues SET paused_at = NULL WHERE queue = %(queue)s AND paused_at IS NOT NULL",
        queue=queue,
    )
    return resumed == 1


async def paused(connection: Connection) -> list[str]:
    """Return the paused queues."""
    return await connection.values("SELECT queue FROM job_queues WHERE paused_at IS NOT NULL")


async def ship_lag(connection: Connection) -> float | None:
    """Return the lag of the shipper in seconds; None if none has reported lately."""
    lag: float | None = await connection.value(
        """
        SELECT max(ship_lag_seconds) FROM workers
         WHERE seen_at > clock_timestamp() - make_interval(secs => %(silent)s)
        """,
        silent=LIVENESS_TIMEOUT_SECONDS,
    )
    return lag
