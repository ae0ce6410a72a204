"""What is due is sent by the workers of a server, on either broker, and by those that are left."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from queue_processors.main import run
from server.app import open_app
from server.messaging.background import running
from server.settings import load_settings
from storage import timers as storage_timers
from storage.database import Connection, Database
from testkit import fork_server
from testkit.factories import Make
from testkit.stage import Stage
from testkit.timers import HOUR, Timers, soon

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS = 300
COUNT = 150


@pytest.fixture(params=["postgres", "rabbitmq"])
def brokers(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of a server with this broker."""
    if request.param == "postgres":
        return {}
    return {"amqp_url": request.getfixturevalue("amqp_url")}


@asynccontextmanager
async def worker(database_url: str, brokers: dict[str, str]) -> AsyncIterator[fork_server.Popen]:
    environment = {"DATABASE_URL": database_url, "PATH": os.defpath}
    environment |= {name.upper(): value for name, value in brokers.items()}
    process = fork_server.Popen(
        (sys.executable, "-m", "scripts.cli.main", "worker", "deferred_work"),
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


async def sent(connection: Connection, make: Make) -> list[str]:
    return await connection.values(
        """
        SELECT m.content FROM messages m JOIN users u USING (realm_id)
         WHERE realm_id = %(r)s AND u.user_id = m.sender_id AND NOT u.is_system_bot ORDER BY id
        """,
        r=make.realm_id,
    )


async def left(connection: Connection, make: Make) -> int:
    count: int = await connection.value(
        """
        SELECT (SELECT count(*) FROM scheduled_messages WHERE realm_id = %(r)s)
             + (SELECT count(*) FROM reminders WHERE realm_id = %(r)s)
        """,
        r=make.realm_id,
    )
    return count


async def test_workers_that_are_killed_lose_and_double_nothing(
    stage: Stage, make: Make, database: Database, database_url: str, brokers: dict[str, str]
):
    """One after the other is killed in the middle of it; the last one goes on."""
    async with database.connection() as connection:
        now = await storage_timers.now(connection)
    stage.clock.step(now - stage.clock.now() - timedelta(days=1))
    people = await make.users(4)
    await make.notification_bot()
    timers = Timers(stage, make.realm_id)
    for number in range(COUNT):
        content = f"{number:04}"
        await timers.schedule(people[0], [people[number % 4].user_id], content, seconds=HOUR)
        await timers.remind(people[0], None, content)
    async with (
        AsyncExitStack() as stack,
        asyncio.timeout(PATIENCE_SECONDS),
        database.connection() as connection,
    ):
        workers = [await stack.enter_async_context(worker(database_url, brokers)) for _ in range(3)]
        for killed, goal in ((workers[0], 2 * COUNT - 50), (workers[1], COUNT - 50)):
            while await left(connection, make) > goal:
                pass
            killed.send_signal(signal.SIGKILL)
            await asyncio.to_thread(killed.wait)
        while await left(connection, make):
            pass
        contents = await sent(connection, make)
        total = await connection.value(
            "SELECT count(*) FROM messages WHERE realm_id = %(r)s", r=make.realm_id
        )
    assert sorted(contents) == [f"{number:04}" for number in range(COUNT)]
    assert total == 2 * COUNT


@pytest.mark.parametrize("is_embedded", [True, False], ids=["inside", "beside"])
async def test_clients_hear_of_it_wherever_it_is_sent(
    serving_with: Any,
    make: Make,
    connect: Any,
    database_url: str,
    brokers: dict[str, str],
    is_embedded: bool,  # noqa: FBT001 - a parameter of the test
):
    """By workers inside the server's process, or in another one."""
    await make.notification_bot()
    user = await make.user()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serving_with(**brokers))
        app = server.app
        if not is_embedded:
            overrides = {"database_url": database_url, "data": Path("/nonexistent"), **brokers}
            settings = load_settings(environ={}, overrides=overrides)
            app = await stack.enter_async_context(open_app(settings))
        await stack.enter_async_context(running(run(app, (), with_shipper=True)))
        client = await connect(server, make.realm_id, user)
        queue = await client.register(event_types=["message", "scheduled_messages", "reminders"])
        direct = {"type": "direct", "to": [user.user_id], "content": "later"}
        for table, fields in (("scheduled_messages", direct), ("reminders", {"note": "later"})):
            at = soon(client)
            await client.post(f"/{table}", scheduled_delivery_timestamp=at, **fields)
            await queue.until(table, "add")
            await make.connection.execute(DUE_NOW[table], r=make.realm_id)
            sent = await queue.until("message")
            await queue.until(table, "remove")
            assert "later" in sent["message"]["content"]


DUE_NOW: Any = {
    "scheduled_messages": """
        UPDATE scheduled_messages SET due_at = clock_timestamp() WHERE realm_id = %(r)s""",
    "reminders": "UPDATE reminders SET due_at = clock_timestamp() WHERE realm_id = %(r)s",
}
