"""What `parley top` shows: rates between two looks, and what Postgres executes."""

import asyncio

import pytest

from server.telemetry.load import LoadMeter
from server.telemetry.overview import Overview, QueueView
from storage.database import Database
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


def seen(attempts: int) -> Overview:
    queue = QueueView(
        queue="greet",
        waiting=0,
        in_hand=0,
        oldest_seconds=0.0,
        dead=0,
        attempts=attempts,
        retried=0,
        workers=1,
        paused=False,
    )
    return Overview(queues=[queue])


async def test_rates_are_those_between_two_looks(server: Server, make: Make, log_in):
    ada = await make.user()
    client: Client = await log_in(ada)
    channel = await make.channel("engines", subscribers=[ada])
    meter = LoadMeter(server.app.database)
    first = await meter.sample(seen(7))
    assert not first.attempts_per_second["greet"]
    assert not any(realm.events_per_second for realm in first.realms)
    await client.post("/messages", type="channel", to=channel.channel_id, topic="t", content="a")
    await client.post("/register", event_types=["message"])
    second = await meter.sample(seen(9))
    assert second.attempts_per_second["greet"] > 0
    [busy] = [realm for realm in second.realms if realm.events_per_second]
    assert busy.event_queues == 1
    # The count starts anew with the worker.
    assert (await meter.sample(seen(1))).attempts_per_second == {"greet": 0}


async def test_statements_are_shown_while_they_run(database: Database):
    async with database.connection() as other:
        sleeping = asyncio.create_task(other.value("SELECT pg_sleep(30)"))
        try:
            meter = LoadMeter(database)
            async with asyncio.timeout(20):
                while not (found := (await meter.sample(Overview())).running):
                    pass
        finally:
            sleeping.cancel()
            await asyncio.gather(sleeping, return_exceptions=True)
    [statement] = found
    assert statement.statement == "SELECT pg_sleep(30)"
    assert statement.waits_for == "Timeout: PgSleep"
    assert statement.connection


async def test_statements_are_measured_where_postgres_does(database: Database):
    meter = LoadMeter(database)
    assert (await meter.sample(Overview())).slowest is None
    async with database.connection() as connection:
        await connection.execute("CREATE EXTENSION pg_stat_statements")
        try:
            # It is there and not loaded.
            assert (await meter.sample(Overview())).slowest is None
        finally:
            await connection.execute("DROP EXTENSION pg_stat_statements")
