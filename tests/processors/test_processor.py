"""One delivery in, one answer out, whatever happens in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, ClassVar

import msgspec
import pytest
import pytest_asyncio

from queue_processors.processor import (
    MAX_RETRY_DELAY_SECONDS,
    PermanentError,
    Processor,
    RetryLaterError,
    pause_after,
)
from server.jobs import Job, outgoing
from server.messaging.job_broker import JobBroker, OutgoingJob
from storage import jobs
from storage.ids import RealmId
from storage.jobs import DeadJobRow
from testkit.services.job_brokers import Place

REALM = RealmId(1)


class Greet(Job, frozen=True, kw_only=True):
    queue: ClassVar[str] = "greet"

    name: str


class Guests:
    """An app with a handler that does what the name of the guest asks for."""

    def __init__(self) -> None:
        self.seen: asyncio.Queue[str] = asyncio.Queue()
        self.may_leave = asyncio.Event()

    async def welcome(self, name: str) -> None:
        self.seen.put_nowait(name)
        match name:
            case "slow":
                await self.may_leave.wait()
            case "broken":
                raise LookupError("broken")
            case "banned":
                raise PermanentError("banned")
            case "patient":
                raise RetryLaterError("later", after_seconds=3000)

    async def next(self) -> str:
        async with asyncio.timeout(60):
            return await self.seen.get()


async def greet(app: Guests, job: Greet) -> None:
    await app.welcome(job.name)


def at_once(_attempt: int) -> float:
    return 0.01


ONE_BY_ONE = Processor(Greet, greet, prefetch=5, max_attempts=3, pause_after=at_once)


@pytest_asyncio.fixture
async def broker(place: Place) -> AsyncIterator[JobBroker]:
    async with place.open_directly() as broker:
        yield broker


async def publish(broker: JobBroker, *names: str) -> None:
    await broker.publish(*[outgoing(Greet(realm_id=REALM, name=name), key=name) for name in names])


@asynccontextmanager
async def working(
    processor: Processor[Any, Any], app: Guests, broker: JobBroker
) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(processor.run(app, broker))
    try:
        yield task
    finally:
        app.may_leave.set()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def left(place: Place) -> int:
    """How many jobs wait, now or for later."""
    return sum(one.waiting + one.in_hand for one in await place.desk.stats(["greet"]))


async def dead(place: Place) -> list[DeadJobRow]:
    return await place.desk.dead("greet", limit=100)


async def die_with_one(place: Place) -> int:
    """Take a job, and die. Which attempt it was."""
    if place.kind == "postgres":
        async with place.database.connection() as connection:
            (row,) = await jobs.claim(connection, "greet", limit=1, lease_seconds=0)
        return row.attempts
    async with place.open() as dying:
        async with asyncio.timeout(60), dying.consume("greet", prefetch=1) as deliveries:
            attempt = (await anext(deliveries)).attempt
            place.proxy.refuse()
        await place.proxy.allow()
    return attempt


async def until_dead(place: Place, count: int) -> list[DeadJobRow]:
    async with asyncio.timeout(60):
        while len(rows := await dead(place)) < count:
            pass
    return rows


@pytest.mark.asyncio
async def test_a_job_that_is_done_is_gone(broker: JobBroker, place: Place):
    app = Guests()
    async with working(ONE_BY_ONE, app, broker):
        await publish(broker, "ann")
        assert await app.next() == "ann"
    assert await left(place) == 0
    assert await dead(place) == []


@pytest.mark.asyncio
async def test_an_unreadable_job_is_dead_at_once(broker: JobBroker, place: Place):
    app = Guests()
    async with working(ONE_BY_ONE, app, broker):
        await broker.publish(
            OutgoingJob(queue="greet", body=b"{", key="a"),
            OutgoingJob(queue="greet", body=b'{"realm_id":1,"name":1}', key="b"),
        )
        await publish(broker, "ann")
        assert await app.next() == "ann"
        rows = await until_dead(place, 2)
    assert {row.key: row.attempts for row in rows} == {"a": 1, "b": 1}
    assert all("cannot be read" in row.reason for row in rows)
    assert await left(place) == 0


@pytest.mark.asyncio
async def test_a_permanent_error_is_dead_at_once(broker: JobBroker, place: Place):
    async with working(ONE_BY_ONE, Guests(), broker):
        await publish(broker, "banned")
        (row,) = await until_dead(place, 1)
    assert (row.attempts, row.reason) == (1, "PermanentError('banned')")
    assert msgspec.json.decode(row.body) == {"realm_id": REALM, "name": "banned"}
    assert "in welcome" in row.trace


@pytest.mark.asyncio
async def test_any_other_error_is_retried_up_to_the_limit(broker: JobBroker, place: Place):
    async with working(ONE_BY_ONE, Guests(), broker):
        await publish(broker, "broken")
        (row,) = await until_dead(place, 1)
    assert (row.attempts, row.reason) == (3, "gave up: LookupError('broken')")


@pytest.mark.asyncio
async def test_a_job_that_outlives_its_workers_is_dead_after_the_limit(
    broker: JobBroker, place: Place
):
    await publish(broker, "killer")
    for attempt in (1, 2, 3):
        assert await die_with_one(place) == attempt
    app = Guests()
    async with working(ONE_BY_ONE, app, broker):
        (row,) = await until_dead(place, 1)
    assert app.seen.empty()
    assert "too often" in row.reason


def test_the_pauses_between_attempts_grow_to_a_limit():
    for attempt in range(1, 10):
        assert 0.75 * 2**attempt <= pause_after(attempt) <= 2**attempt
    assert 0.75 * MAX_RETRY_DELAY_SECONDS <= pause_after(40) <= MAX_RETRY_DELAY_SECONDS


@pytest.mark.asyncio
async def test_work_in_hand_is_finished_when_the_processor_stops(broker: JobBroker, place: Place):
    app = Guests()
    async with working(ONE_BY_ONE, app, broker) as task:
        await publish(broker, "slow")
        assert await app.next() == "slow"
        task.cancel()
        await publish(broker, "late")
        app.may_leave.set()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await left(place) == 1  # "late" is for the next one
    assert await dead(place) == []


@pytest.mark.asyncio
async def test_what_is_not_finished_in_time_is_given_back(broker: JobBroker, place: Place):
    app = Guests()
    hasty = replace(ONE_BY_ONE, finish_seconds=0.05)
    async with working(hasty, app, broker) as task:
        await publish(broker, "slow")
        await app.next()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with asyncio.timeout(60), broker.consume("greet", prefetch=1) as deliveries:
        assert (await anext(deliveries)).attempt == 1


@pytest.mark.asyncio
async def test_a_job_that_fails_again_and_again_holds_nothing_up(broker: JobBroker, place: Place):
    app = Guests()
    patient = replace(ONE_BY_ONE, pause_after=lambda _: 3000)
    async with working(patient, app, broker):
        await publish(broker, *["broken"] * 8)
        await publish(broker, *[f"guest {number}" for number in range(20)])
        seen: set[str] = set()
        while not seen >= {f"guest {number}" for number in range(20)}:
            seen.add(await app.next())
    assert await dead(place) == []
    assert await left(place) == 8


@pytest.mark.asyncio
async def test_what_wants_to_be_left_alone_is_not_tried_before(broker: JobBroker, place: Place):
    app = Guests()
    async with working(ONE_BY_ONE, app, broker):
        await publish(broker, "patient")
        assert await app.next() == "patient"
        for number in range(5):
            await publish(broker, f"guest {number}")
            assert await app.next() == f"guest {number}"
    assert (await dead(place), await left(place)) == ([], 1)


@pytest.mark.asyncio
async def test_a_slow_job_does_not_hold_up_the_others(broker: JobBroker):
    app = Guests()
    async with working(ONE_BY_ONE, app, broker):
        await publish(broker, "slow", "ann", "bob")
        assert {await app.next() for _ in range(3)} == {"slow", "ann", "bob"}
