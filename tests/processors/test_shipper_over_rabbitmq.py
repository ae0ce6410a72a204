"""The log is the truth: a broker that is away costs its jobs time, and nothing else."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from queue_processors.shipper import Shipper, through
from server.messaging.job_broker import Delivery, JobBroker
from storage.database import Database
from testkit.factories import Make
from testkit.services.job_brokers import Place
from testkit.stage import Stage
from tests.processors.test_shipper import QUEUE, ask, cursor_of

pytestmark = pytest.mark.parametrize("place", ["rabbitmq"], indirect=True)


@asynccontextmanager
async def shipping_to(database: Database, broker: JobBroker) -> AsyncIterator[None]:
    task = asyncio.create_task(Shipper(database, through(broker)).run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def take(deliveries: AsyncIterator[Delivery], count: int) -> list[tuple[str, int, bytes]]:
    taken: list[tuple[str, int, bytes]] = []
    async with asyncio.timeout(60):
        while len(taken) < count:
            delivery = await anext(deliveries)
            taken.append((delivery.key, delivery.realm_id, delivery.body))
            await delivery.ack()
    return taken


@pytest.mark.asyncio
async def test_jobs_reach_the_broker_with_their_position_and_realm(
    stage: Stage, make: Make, database: Database, place: Place
):
    realm_id = make.realm_id
    await ask(stage, realm_id, 1, 2)
    async with (
        place.open() as broker,
        shipping_to(database, broker),
        broker.consume(QUEUE, prefetch=5) as deliveries,
    ):
        taken = await take(deliveries, 2)
    assert taken == [
        (f"{realm_id}:1", realm_id, b'{"realm_id":%d,"number":1}' % realm_id),
        (f"{realm_id}:2", realm_id, b'{"realm_id":%d,"number":2}' % realm_id),
    ]


@pytest.mark.asyncio
async def test_what_is_asked_for_while_the_broker_is_away_is_shipped_when_it_is_back(
    stage: Stage, make: Make, database: Database, place: Place
):
    realm_id = make.realm_id
    async with place.open() as broker, shipping_to(database, broker):
        async with broker.consume(QUEUE, prefetch=5) as deliveries:
            await ask(stage, realm_id, 0)
            await take(deliveries, 1)
            place.proxy.refuse()
            for number in range(1, 6):
                await ask(stage, realm_id, number)
            assert (await cursor_of(database, realm_id)).position <= 1
            await place.proxy.allow()
            taken = await take(deliveries, 5)
        assert [key for key, _, _ in taken] == [
            f"{realm_id}:{number + 1}" for number in range(1, 6)
        ]


@pytest.mark.asyncio
async def test_nothing_is_lost_by_connections_that_are_cut_at_any_moment(
    stage: Stage, make: Make, database: Database, place: Place
):
    realm_id = make.realm_id
    numbers = range(30)
    seen: set[str] = set()
    async with (
        place.open() as broker,
        shipping_to(database, broker),
        broker.consume(QUEUE, prefetch=5) as deliveries,
    ):
        for number in numbers:
            await ask(stage, realm_id, number)
            if number % 5 == 0:
                place.proxy.cut()
        async with asyncio.timeout(60):
            while len(seen) < len(numbers):
                delivery = await anext(deliveries)
                seen.add(delivery.key)
                with suppress(Exception):  # cut off once more: it comes again
                    await delivery.ack()
    assert seen == {f"{realm_id}:{number + 1}" for number in numbers}
