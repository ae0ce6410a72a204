"""A process that is stopped while the bus carries hints: the broker's memory stays bounded.

When it goes on it has missed hints, and no event: a gap shows, and the log is read.
"""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass

import msgspec
import pytest
import pytest_asyncio

from server.messaging.event_bus import Hint
from server.messaging.rabbitmq import open_rabbitmq_bus
from storage.database import Database
from storage.ids import Position
from testkit.factories import Make
from testkit.services.rabbitmq import Recorder
from tests.contracts.test_live_delivery import Reader, new_reader, order_in_the_log, process, tell

pytestmark = pytest.mark.asyncio

QUEUE_MESSAGES, QUEUE_BYTES = 10_000, 64 << 20
EVENTS = 60
FLOOD = 12_000
"""More hints than the queue of a process may hold."""
CARGO = 6_000
"""Bytes of each, so that all of them are more than the bytes that it may hold, too."""

FOLLOWER = """
import asyncio, json, sys
from storage.ids import QueueId, RealmId, UserId
from tests.contracts.test_live_delivery import Reader, process

async def main(database_url, amqp_url, realm_id, user_id, queue_id, count):
    reader = Reader(RealmId(int(realm_id)), UserId(int(user_id)), QueueId(queue_id))
    async with process("rabbitmq", database_url, amqp_url, loss=0.0, seed=0) as own:
        await own.realtime.queue(reader.realm_id, reader.user_id, reader.queue_id)
        print(own.realtime._bus.queue, flush=True)
        print(json.dumps(await reader.read([own], 0, int(count))), flush=True)

asyncio.run(main(*sys.argv[1:]))
"""

LISTENER = """
import asyncio, sys
import structlog
from server.messaging.postgres import open_postgres_bus
from storage import wakeups
from storage.database import open_database
from testkit.services.rabbitmq import Recorder

async def main(database_url):
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    wakeups.STALLED_MILLISECONDS = 1_000
    heard = Recorder()
    async with open_database(database_url, max_size=1) as own, open_postgres_bus(own, heard):
        print("listening", flush=True)
        await heard._gaps.get()
        print("gap", flush=True)

asyncio.run(main(*sys.argv[1:]))
"""
UNREAD = 4_000
"""More notifications, of nearly 8 kB each, than all the buffers on the way can hold."""


@dataclass
class Stopped:
    """A process of its own that follows the realm, polls one queue, and can be stopped."""

    child: asyncio.subprocess.Process
    queue: str
    """Of the broker."""

    async def read_line(self) -> str:
        assert self.child.stdout is not None
        async with asyncio.timeout(60):
            return (await self.child.stdout.readline()).decode().strip()

    def signal(self, number: int) -> None:
        os.kill(self.child.pid, number)


@contextlib.asynccontextmanager
async def stoppable(program: str, *arguments: str) -> AsyncIterator[Stopped]:
    """Run the program, which says first that it is ready."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program, *arguments), stdout=subprocess.PIPE
    )
    stopped = Stopped(child, "")
    try:
        stopped.queue = await stopped.read_line()
        yield stopped
    finally:
        with contextlib.suppress(ProcessLookupError):
            stopped.signal(signal.SIGCONT)
            child.kill()
        await child.wait()


def following(
    database_url: str, amqp_url: str, reader: Reader
) -> contextlib.AbstractAsyncContextManager[Stopped]:
    return stoppable(
        FOLLOWER,
        *(database_url, amqp_url),
        *(str(reader.realm_id), str(reader.user_id), reader.queue_id, str(EVENTS)),
    )


@pytest_asyncio.fixture
async def reader(database: Database, make: Make) -> Reader:
    return await new_reader(database, make)


async def flood(amqp_url: str, reader: Reader) -> None:
    """Old hints, more than a queue may hold; they are there when another has heard the end."""
    heard = Recorder()
    entry = {"position": 0, "kind": "tick", "audience": "", "body": "x" * CARGO}
    old = msgspec.json.encode(entry)
    hint = Hint(reader.realm_id, 1, Position(0), Position(0), (old,))
    async with (
        open_rabbitmq_bus(amqp_url, heard) as other,
        open_rabbitmq_bus(amqp_url, Recorder()) as speaker,
    ):
        await other.follow(reader.realm_id)
        for _ in range(FLOOD):
            speaker.publish(hint)
            await heard_as_much(heard)
        speaker.publish_ephemeral(reader.realm_id, b'{"type":"adopted","queue_id":"end"}')
        async with asyncio.timeout(60):
            await heard.ephemeral()


async def heard_as_much(heard: Recorder) -> None:
    """Let what was published go out: neither side keeps all of it."""
    await asyncio.sleep(0)
    while not heard._hints.empty():
        heard._hints.get_nowait()


async def held_by_the_broker(amqp_url: str, queue: str) -> tuple[int, int]:
    """(messages, their bytes) in the queue; nothing if the broker has ended it."""
    vhost = amqp_url.rsplit("/", 1)[1]
    asked = await asyncio.create_subprocess_exec(
        *("rabbitmqctl", "-q", "-p", vhost, "list_queues", "--no-table-headers"),
        *("name", "messages", "message_bytes"),
        stdout=subprocess.PIPE,
    )
    told, _ = await asked.communicate()
    assert asked.returncode == 0
    rows = [line.split("\t") for line in told.decode().splitlines()]
    return next(((int(n), int(size)) for name, n, size in rows if name == queue), (0, 0))


async def test_the_broker_keeps_little_for_a_stopped_process_which_misses_nothing(
    database: Database, database_url: str, amqp_url: str, make: Make, reader: Reader
):
    async with (
        process("rabbitmq", database_url, amqp_url, loss=0.0, seed=1) as speaker,
        following(database_url, amqp_url, reader) as stopped,
    ):
        await tell(speaker, make.realm_id, range(EVENTS // 3))
        stopped.signal(signal.SIGSTOP)
        await tell(speaker, make.realm_id, range(100, 100 + EVENTS // 3))
        await flood(amqp_url, reader)
        messages, held = await held_by_the_broker(amqp_url, stopped.queue)
        await tell(speaker, make.realm_id, range(200, 200 + EVENTS // 3))
        stopped.signal(signal.SIGCONT)
        read = msgspec.json.decode(await stopped.read_line())

    assert messages <= QUEUE_MESSAGES
    assert held <= QUEUE_BYTES
    assert read == await order_in_the_log(database, make.realm_id)
    assert len(read) == EVENTS


async def test_postgres_ends_the_connection_of_a_stopped_listener(database: Database):
    """What it has not read would be kept for all the others, too."""
    listeners = """
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND query LIKE 'LISTEN%%'
    """
    async with stoppable(LISTENER, database.url) as stopped:
        stopped.signal(signal.SIGSTOP)
        async with database.connection() as connection:
            assert await connection.value(listeners) == 1
            await connection.value(
                """
                SELECT count(pg_notify('parley_events', 'other e 999 ' || n || repeat('x', 7900)))
                  FROM generate_series(1, %(count)s) AS n
                """,
                count=UNREAD,
            )
            async with asyncio.timeout(60):
                while await connection.value(listeners):
                    pass
        stopped.signal(signal.SIGCONT)
        assert await stopped.read_line() == "gap"
