"""A queue that an operator stops is left alone until it is resumed."""

import asyncio

import pytest

from queue_processors.queue_pauses import Pauses, work_unless_paused
from storage import workers
from storage.database import Database
from testkit.services.job_brokers import Place
from tests.processors.test_processor import ONE_BY_ONE, Guests, left, publish

TURNS = 50
"""Of the event loop, after which a processor has heard that its queue is stopped: a few suffice."""


@pytest.mark.asyncio
async def test_no_worker_takes_jobs_of_a_stopped_queue(place: Place, database: Database):
    app, pauses = Guests(), Pauses(database)
    async with place.open_directly() as broker:
        work = asyncio.create_task(work_unless_paused(ONE_BY_ONE, app, broker, pauses))
        await publish(broker, "slow")
        assert await app.next() == "slow"
        async with database.connection() as connection:
            await workers.pause(connection, "greet")
            await workers.pause(connection, "greet")
            assert await workers.paused(connection) == ["greet"]
        await pauses.look()
        for _ in range(TURNS):
            await asyncio.sleep(0)
        await publish(broker, "ann")
        app.may_leave.set()  # what was in hand is finished
        async with asyncio.timeout(60):
            while await left(place) != 1:
                pass
        assert app.seen.empty()
        async with database.connection() as connection:
            assert await workers.resume(connection, "greet")
            assert not await workers.resume(connection, "greet")
        await pauses.look()
        assert await app.next() == "ann"
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
    assert await left(place) == 0
