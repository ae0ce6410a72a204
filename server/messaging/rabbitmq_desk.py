"""The operator's view of the queues of jobs on RabbitMQ."""

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from msgspec.structs import replace

from server.messaging.amqp import LinkLostError
from server.messaging.browsing import GOES, STAYS, BrowsedMessage, Browser, Fate
from server.messaging.confirms import Message
from server.messaging.job_broker import BrokerUnavailableError
from server.messaging.job_desk import ScheduledJobs
from server.messaging.job_topology import dead_letter_queue_of, lanes_of
from server.messaging.rabbitmq_jobs import Publisher
from storage import workers
from storage.database import Database, DatabaseUnavailableError
from storage.jobs import DeadJobRow, QueueStats, WaitingJobRow
from storage.workers import QueueAtWork

LATER = "later"
"""Stands for the jobs of all queues that wait for their time."""


class RabbitJobDesk:
    """A JobDesk on the broker. What is in hand, it knows from what the workers write down."""

    def __init__(self, url: str, database: Database) -> None:
        self._url = url
        self._database = database

    async def stats(self, queues: Sequence[str]) -> list[QueueStats]:
        known: dict[str, QueueAtWork] = {}
        with suppress(DatabaseUnavailableError):
            async with self._database.connection() as connection:
                known = await workers.queues_at_work(connection)
        found = []
        async with self._publisher(*queues) as publisher:
            for queue in sorted({*queues, *known} - {LATER}):
                ready, dead = await publisher.topology.counts(queue)
                work = known.get(queue, QueueAtWork(queue))
                oldest = work.oldest_seconds(is_waiting=ready > 0)
                found.append(QueueStats(queue, ready, work.in_hand, oldest, dead))
            later = await publisher.topology.delayed()
        return [*found, QueueStats(LATER, sum(later.values()), 0, 0.0, 0)]

    async def waiting(self, queue: str, *, limit: int) -> list[WaitingJobRow]:
        async with self._publisher(queue) as publisher:
            browser = Browser(self._url, publisher.topology)
            found: list[BrowsedMessage] = []
            for lane in lanes_of(queue):
                found += await browser.go_through(
                    lane, lambda each: each.job.message(), limit=limit - len(found)
                )
        return [_waiting(each) for each in found]

    async def later(self, queue: str) -> ScheduledJobs:
        del queue  # reading them would count as a delivery
        async with self._publisher() as publisher:
            counts = await publisher.topology.delayed()
        return ScheduledJobs(sum(counts.values()), is_of_all_queues=True)

    async def dead(self, queue: str, *, limit: int) -> list[DeadJobRow]:
        async with self._publisher(queue) as publisher:
            found = await Browser(self._url, publisher.topology).go_through(
                dead_letter_queue_of(queue), lambda each: _dead_letter_again(queue, each)
            )
        rows = [_dead(queue, each) for each in found]
        return sorted(rows, key=lambda row: row.died_at, reverse=True)[:limit]

    async def retry(self, queue: str) -> int:
        lanes = lanes_of(queue)

        def becomes(found: BrowsedMessage) -> Fate:
            return found.job.message() if found.job.lane in lanes else STAYS

        async with self._publisher(queue) as publisher:
            browser = Browser(self._url, publisher.topology)
            found: list[BrowsedMessage] = []
            for name in await publisher.topology.delayed():
                found += await browser.go_through(name, becomes)
        return sum(each.job.lane in lanes for each in found)

    async def replay(self, queue: str, ids: Collection[str] | None) -> int:
        return await self._exhume(
            queue,
            ids,
            lambda each: replace(
                each.job, attempts=0, died_at=0.0, lane=lanes_of(queue)[0]
            ).message(),
        )

    async def drop(self, queue: str, ids: Collection[str] | None) -> int:
        return await self._exhume(queue, ids, lambda _: GOES)

    async def _exhume(
        self, queue: str, ids: Collection[str] | None, becomes: Callable[[BrowsedMessage], Fate]
    ) -> int:
        """Take these out of the graveyard; how many."""

        def is_wanted(found: BrowsedMessage) -> bool:
            return ids is None or found.job.id in ids

        async with self._publisher(queue) as publisher:
            found = await Browser(self._url, publisher.topology).go_through(
                dead_letter_queue_of(queue),
                lambda each: becomes(each) if is_wanted(each) else _dead_letter_again(queue, each),
            )
        return sum(map(is_wanted, found))

    @asynccontextmanager
    async def _publisher(self, *queues: str) -> AsyncIterator[Publisher]:
        """A link for the time of one call; what it took and did not settle goes back."""
        try:
            publisher = await Publisher.open(self._url, "look at queues")
            try:
                await publisher.topology.ensure_queues(queues)  # they may be unused yet
                yield publisher
            finally:
                await publisher.link.close()
        except LinkLostError as lost:
            raise BrokerUnavailableError(str(lost)) from lost


def _dead_letter_again(queue: str, found: BrowsedMessage) -> Message:
    """The same dead job again: a broker drops what is taken and given back too often."""
    return found.job.message(routing_key=dead_letter_queue_of(queue))


def _waiting(found: BrowsedMessage) -> WaitingJobRow:
    job = found.job
    return WaitingJobRow(
        job.id, job.key, job.realm_id, job.body, _moment(job.enqueued_at), job.attempts
    )


def _dead(queue: str, found: BrowsedMessage) -> DeadJobRow:
    job = found.job
    return DeadJobRow(
        id=job.id,
        queue=queue,
        key=job.key,
        realm_id=job.realm_id,
        body=job.body,
        enqueued_at=_moment(job.enqueued_at),
        attempts=job.attempts,
        reason=job.reason,
        trace=job.trace,
        died_at=_moment(job.died_at),
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
