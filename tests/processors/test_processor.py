"""One delivery in, one answer out, whatever happens in between."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar

import msgspec
import pytest
import pytest_asyncio

from queue_processors.processor import BatchProcessor, PermanentError, Processor
from server.jobs import Job, outgoing
from server.messaging.job_broker import JobBroker, OutgoingJob
from server.messaging.postgres import open_postgres_jobs
from storage import jobs
from storage.database import Database
from storage.jobs import DeadJobRow, QueueStats


class Greet(Job, frozen=True, kw_only=True):
    queue: ClassVar[str] = "greet"

    name: str


class Guests:
    """An app whose handler does what the name of the guest asks for."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[list[str]] = asyncio.Queue()
        self.may_leave = asyncio.Event()

    async def welcome(self, *names: str) -> None:
        self.seen.put_nowait(list(names))
        if "slow" in names:
            await self.may_leave.wait()
        if "broken" in names:
            raise LookupError("broken")
        if "banned" in names:
            raise PermanentError("banned")

    async def next(self) -> list[str]:
        async with asyncio.timeout(10):
            return await self.seen.get()


async def greet(app: Guests, job: Greet) -> None:
    await app.welcome(job.name)


async def greet_all(app: Guests, batch: Sequence[Greet]) -> None:
    await app.welcome(*[job.name for job in batch])


ONE_BY_ONE = Processor(Greet, greet, prefetch=5, max_attempts=3)
TOGETHER = BatchProcessor(Greet, greet_all, max_size=4, max_wait_seconds=0.2, max_attempts=3)
EITHER = pytest.mark.parametrize("processor", [ONE_BY_ONE, TOGETHER], ids=["single", "batch"])


@pytest_asyncio.fixture
async def broker(database: Database) -> AsyncIterator[JobBroker]:
    async with open_postgres_jobs(database) as broker:
        yield broker


async def publish(broker: JobBroker, *names: str) -> None:
    await broker.publish(*[outgoing(Greet(name=name), key=name) for name in names])


@asynccontextmanager
async def working(
    processor: Processor[Any, Any] | BatchProcessor[Any, Any], app: Guests, broker: JobBroker
) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(processor.run(app, broker))
    try:
        yield task
    finally:
        app.may_leave.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def stats(database: Database) -> QueueStats:
    async with database.connection() as connection:
        found = await jobs.stats(connection)
    return found[0] if found else QueueStats("greet", 0, 0, 0, 0)


async def dead(database: Database) -> list[DeadJobRow]:
    async with database.connection() as connection:
        return await jobs.dead(connection, "greet", limit=100)


async def let_all_be_due(database: Database) -> None:
    async with database.connection() as connection:
        await connection.execute("UPDATE jobs SET due_at = now() WHERE NOT claimed")


async def until_over(database: Database) -> None:
    """Wait until no job waits or is in hand; retries are not waited for."""
    async with asyncio.timeout(10):
        while (now := await stats(database)).waiting or now.in_hand:
            await let_all_be_due(database)


@EITHER
@pytest.mark.asyncio
async def test_a_job_that_is_done_is_gone(processor, broker: JobBroker, database: Database):
    app = Guests()
    async with working(processor, app, broker):
        await publish(broker, "ann")
        assert await app.next() == ["ann"]
        await until_over(database)
    assert await dead(database) == []


@EITHER
@pytest.mark.asyncio
async def test_an_unreadable_job_is_dead_at_once(processor, broker: JobBroker, database: Database):
    app = Guests()
    async with working(processor, app, broker):
        await broker.publish(
            OutgoingJob(queue="greet", body=b"{", key="a"),
            OutgoingJob(queue="greet", body=b'{"name":1}', key="b"),
        )
        await publish(broker, "ann")
        assert await app.next() == ["ann"]
        await until_over(database)
    assert {row.key: row.attempts for row in await dead(database)} == {"a": 1, "b": 1}
    assert all("cannot be read" in row.reason for row in await dead(database))


@EITHER
@pytest.mark.asyncio
async def test_a_permanent_error_is_dead_at_once(processor, broker: JobBroker, database: Database):
    async with working(processor, Guests(), broker):
        await publish(broker, "banned")
        await until_over(database)
    (row,) = await dead(database)
    assert (row.attempts, row.reason) == (1, "PermanentError('banned')")
    assert msgspec.json.decode(row.body) == {"name": "banned"}


@EITHER
@pytest.mark.asyncio
async def test_any_other_error_is_retried_up_to_the_limit(
    processor, broker: JobBroker, database: Database
):
    async with working(processor, Guests(), broker):
        await publish(broker, "broken")
        await until_over(database)
    (row,) = await dead(database)
    assert (row.attempts, row.reason) == (3, "gave up: LookupError('broken')")


@EITHER
@pytest.mark.asyncio
async def test_a_job_that_nobody_lives_to_answer_is_dead_after_the_limit(
    processor, broker: JobBroker, database: Database
):
    await publish(broker, "killer")
    for _ in range(3):  # each time its process dies
        async with database.connection() as connection:
            assert await jobs.claim(connection, "greet", limit=1, lease_seconds=0)
    app = Guests()
    async with working(processor, app, broker):
        await until_over(database)
    assert app.seen.empty()
    assert "too often" in (await dead(database))[0].reason


@EITHER
@pytest.mark.asyncio
async def test_the_pauses_between_attempts_grow(processor, broker: JobBroker, database: Database):
    app = Guests()
    pauses = []
    async with working(processor, app, broker):
        await publish(broker, "broken")
        for _ in range(2):
            await app.next()
            async with asyncio.timeout(10):
                while (await stats(database)).in_hand:
                    pass
            async with database.connection() as connection:
                pauses.append(await jobs.seconds_until_due(connection, "greet") or 0)
            await let_all_be_due(database)
            while not app.seen.empty():
                app.seen.get_nowait()
    assert 1 < pauses[0] <= 2 < pauses[1] <= 4


@EITHER
@pytest.mark.asyncio
async def test_work_in_hand_is_finished_when_the_processor_stops(
    processor, broker: JobBroker, database: Database
):
    app = Guests()
    async with working(processor, app, broker) as task:
        await publish(broker, "slow")
        assert await app.next() == ["slow"]
        task.cancel()
        await publish(broker, "late")
        app.may_leave.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    left = await stats(database)
    assert (left.waiting, left.in_hand, left.dead) == (1, 0, 0)  # "late" is for the next one


@EITHER
@pytest.mark.asyncio
async def test_what_is_not_finished_in_time_is_given_back(
    processor, broker: JobBroker, database: Database
):
    app = Guests()
    hasty = replace(processor, finish_seconds=0.05)
    async with working(hasty, app, broker) as task:
        await publish(broker, "slow")
        await app.next()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with database.connection() as connection:
        (again,) = await jobs.claim(connection, "greet", limit=1, lease_seconds=9)
    assert again.attempts == 1


@pytest.mark.asyncio
async def test_a_slow_job_does_not_hold_up_the_others(broker: JobBroker):
    app = Guests()
    async with working(ONE_BY_ONE, app, broker):
        await publish(broker, "slow", "ann", "bob")
        assert sorted([*await app.next(), *await app.next(), *await app.next()]) == [
            "ann",
            "bob",
            "slow",
        ]


@pytest.mark.asyncio
async def test_a_batch_takes_what_comes_soon_and_no_more_than_its_size(broker: JobBroker):
    app = Guests()
    await publish(broker, *"abcdef")
    async with working(TOGETHER, app, broker):
        assert await app.next() == ["a", "b", "c", "d"]
        assert await app.next() == ["e", "f"]


@pytest.mark.asyncio
async def test_a_bad_job_of_a_batch_harms_no_other(broker: JobBroker, database: Database):
    app = Guests()
    await publish(broker, "a", "banned", "b")
    async with working(TOGETHER, app, broker):
        await until_over(database)
    assert [row.key for row in await dead(database)] == ["banned"]
    assert app.seen.get_nowait() == ["a", "banned", "b"]
    assert [app.seen.get_nowait() for _ in range(3)] == [["a"], ["banned"], ["b"]]
