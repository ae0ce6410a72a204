"""State of the installation, for `parley status` and the operator pages."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

import msgspec

from server.messaging.job_broker import BrokerUnavailableError
from server.messaging.job_desk import JobDesk
from server.runtime.formatting import span
from server.runtime.version import VERSION
from storage import health, workers
from storage.database import Connection, Database, DatabaseUnavailableError, StatementTimeoutError
from storage.health import Contents, Facts, Migrations
from storage.migrate import MigrationError
from storage.reasons import reason_of
from storage.rights import RightMissingError
from storage.workers import QueueAtWork, WorkerRow

SHARD: Final = 0
"""So far, all realms are one shard."""
LAG_SECONDS: Final = 30.0
"""Lag of a shipper that is reported as a problem."""
AWAY: Final = (
    BrokerUnavailableError,
    DatabaseUnavailableError,
    StatementTimeoutError,
    TimeoutError,
)
"""Errors of an unavailable broker or database."""


QUEUES_NAMED: Final = 3


class ProcessView(msgspec.Struct, frozen=True, kw_only=True):
    """A process that serves clients, takes mail or consumes queues."""

    host: str
    pid: int
    version: str
    started_at: datetime
    seen_seconds: float
    """Since its last heartbeat."""
    serves: bool
    takes_mail: bool = False
    """Whether it receives the email that becomes messages."""
    leads: bool
    """Whether it ships jobs from the logs."""
    queues: list[str]
    state: dict[str, float]
    """As in the metric `parley_state`."""

    @property
    def does(self) -> str:
        """Its tasks; more than a few queues are counted."""
        parts = ["serves"] if self.serves else []
        parts += ["takes mail"] if self.takes_mail else []
        parts += ["ships"] if self.leads else []
        few = len(self.queues) <= QUEUES_NAMED
        parts += self.queues if few else [f"works on {len(self.queues)} queues"]
        return ", ".join(parts) or "stands by to ship"


class ShardView(msgspec.Struct, frozen=True, kw_only=True):
    """Realms whose jobs one shipper ships."""

    shard: int
    leader: str | None
    """Host and process; None without a shipper."""
    lag_seconds: float | None

    @property
    def problem(self) -> str | None:
        """The problem with it, as a sentence."""
        if self.leader is None or self.lag_seconds is None:
            return "No worker ships the jobs of the log: start one."
        if self.lag_seconds < LAG_SECONDS:
            return None
        return f"{self.leader}, ships and is {span(self.lag_seconds)} behind the log."


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """A queue of jobs."""

    queue: str
    waiting: int
    in_hand: int
    oldest_seconds: float
    """At most."""
    dead: int
    attempts: int
    """Finished attempts of the current workers."""
    retried: int
    """Of these, attempts that failed and are retried."""
    workers: int
    paused: bool


class Overview(msgspec.Struct, kw_only=True):
    """The result; None or empty where something was unavailable."""

    version: str = VERSION
    database: Facts | None = None
    migrations: Migrations | None = None
    contents: Contents | None = None
    shards: list[ShardView] = []
    processes: list[ProcessView] = []
    queues: list[QueueView] = []
    problems: list[str] = []
    """Sentences."""


async def look(
    database: Database, desk: JobDesk, queues: Sequence[str], *, patience_seconds: float
) -> Overview:
    """Collect the state of the installation; `queues` are listed even if they are empty.

    A service without a response for `patience_seconds` is reported as unavailable.
    """
    found = Overview()
    found.problems += [str(error) for error in database.connector.refused.values()]
    async with _noting(found, patience_seconds), asyncio.timeout(patience_seconds):
        async with database.connection() as connection:
            await _look_at_database(connection, found)
        if found.contents is not None:
            await _look_for_room(database, found)
            found.queues = await queue_views(database, desk, queues)
    return found


async def queue_views(database: Database, desk: JobDesk, queues: Sequence[str]) -> list[QueueView]:
    """The state of the queues. Raises BrokerUnavailableError, DatabaseUnavailableError."""
    stats = await desk.stats(queues)
    async with database.connection() as connection:
        known = await workers.queues_at_work(connection)
    views = []
    for one in stats:
        work = known.get(one.queue, QueueAtWork(one.queue))
        views.append(
            QueueView(
                queue=one.queue,
                waiting=one.waiting,
                in_hand=one.in_hand,
                oldest_seconds=round(one.oldest_seconds, 1),
                dead=one.dead,
                attempts=work.attempts,
                retried=work.retried,
                workers=work.workers,
                paused=work.paused,
            )
        )
    return views


async def _look_at_database(connection: Connection, found: Overview) -> None:
    found.database = await health.facts(connection)
    if found.database.reads_only:
        found.problems.append("The database takes no writes: it is a standby, or set to read only.")
    found.migrations = migrations = await health.migrations(connection)
    if migrations.pending:
        found.problems.append("The database lacks migrations: run `parley migrate`.")
        return
    found.contents = await health.contents(connection)
    rows = await workers.at_work(connection)
    found.processes = [_process(row) for row in rows]
    found.shards = [_shard(rows)]
    found.problems += [problem for shard in found.shards if (problem := shard.problem)]
    found.problems += [
        f"{process.host}, process {process.pid}, hears nothing of the others: its broker is away."
        for process in found.processes
        if process.state.get("broker_connected") == 0
    ]


async def _look_for_room(database: Database, found: Overview) -> None:
    """Whether there is space for writes, which reads do not need."""
    try:
        async with database.connection() as connection:
            await health.has_room(connection)
    except DatabaseUnavailableError as error:
        reason = reason_of(error.__cause__ or error)
        found.problems.append(f"The database takes no writes: {reason}.")


@asynccontextmanager
async def _noting(found: Overview, patience_seconds: float) -> AsyncIterator[None]:
    """Turn the error of an unavailable service into a problem; keep other results."""
    try:
        yield
    except BrokerUnavailableError as lost:
        found.problems.append(f"The broker does not answer: {lost}.")
    except (DatabaseUnavailableError, StatementTimeoutError) as lost:
        found.problems.append(f"The database does not answer: {lost}.")
    except TimeoutError:
        silent = "broker" if found.contents is not None else "database"
        found.problems.append(
            f"The {silent} does not answer within {patience_seconds:.0f} seconds."
        )
    except (MigrationError, RightMissingError) as error:
        found.problems.append(str(error))


def _process(row: WorkerRow) -> ProcessView:
    return ProcessView(
        host=row.host,
        pid=row.pid,
        version=row.version,
        started_at=row.started_at,
        seen_seconds=round(row.seen_seconds, 1),
        serves=row.serves,
        takes_mail=row.takes_mail,
        leads=row.ship_lag_seconds is not None,
        queues=sorted(row.queues),
        state=dict(row.state),
    )


def _shard(rows: Sequence[WorkerRow]) -> ShardView:
    """The shard, led by the worker with the latest report."""
    leaders = [row for row in rows if row.ship_lag_seconds is not None]
    if not leaders:
        return ShardView(shard=SHARD, leader=None, lag_seconds=None)
    leader = min(leaders, key=lambda row: row.seen_seconds)
    return ShardView(
        shard=SHARD,
        leader=f"{leader.host}, process {leader.pid}",
        lag_seconds=leader.ship_lag_seconds,
    )
