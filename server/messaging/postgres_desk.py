"""The operator's view of the table of jobs."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

from server.messaging.job_broker import BrokerUnavailableError
from server.messaging.job_desk import ScheduledJobs
from storage import jobs
from storage.database import RETRYABLE_ERRORS, Connection, Database
from storage.jobs import DeadJobRow, QueueStats, WaitingJobRow


class PostgresJobDesk:
    """A JobDesk on the table."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def stats(self, queues: Sequence[str]) -> list[QueueStats]:
        async with self._reachable() as connection:
            found = {each.queue: each for each in await jobs.stats(connection)}
        for queue in queues:
            found.setdefault(queue, QueueStats(queue, 0, 0, 0.0, 0))
        return [found[queue] for queue in sorted(found)]

    async def waiting(self, queue: str, *, limit: int) -> list[WaitingJobRow]:
        async with self._reachable() as connection:
            return await jobs.waiting(connection, queue, limit=limit)

    async def later(self, queue: str) -> ScheduledJobs:
        async with self._reachable() as connection:
            return ScheduledJobs(await jobs.count_later(connection, queue), is_of_all_queues=False)

    async def dead(self, queue: str, *, limit: int) -> list[DeadJobRow]:
        async with self._reachable() as connection:
            return await jobs.dead(connection, queue, limit=limit)

    async def retry(self, queue: str) -> int:
        async with self._reachable() as connection:
            count = await jobs.hurry(connection, queue)
            await jobs.announce(connection, [queue])
        return count

    async def replay(self, queue: str, ids: Collection[str] | None) -> int:
        async with self._reachable() as connection:
            count = await jobs.replay(connection, queue, ids)
            await jobs.announce(connection, [queue])
        return count

    async def drop(self, queue: str, ids: Collection[str] | None) -> int:
        async with self._reachable() as connection:
            return await jobs.forget_dead(connection, queue, ids)

    @asynccontextmanager
    async def _reachable(self) -> AsyncIterator[Connection]:
        try:
            async with self._database.connection() as connection:
                yield connection
        except RETRYABLE_ERRORS as lost:
            raise BrokerUnavailableError(str(lost)) from lost
