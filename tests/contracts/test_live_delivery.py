"""Three serving processes on one bus: each queue gets each event once, whatever the bus loses."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

import msgspec
import pytest

from server.domain.clock import SystemClock
from server.events.base import EVERYONE
from server.events.log import Tick
from server.events.user_topics import UserTopicChanged
from server.messaging.background import running
from server.messaging.postgres import open_postgres_bus
from server.messaging.rabbitmq import open_rabbitmq_bus
from server.realm_cache import RealmCaches
from server.realtime.poll import poll
from server.realtime.queues import Realtime
from server.writer import Writers, WriteTx
from storage import event_queues
from storage.database import Database, open_database
from storage.ids import ChannelId, QueueId, RealmId, UserId
from testkit.factories import Make
from testkit.services.rabbitmq import LossyListener

PROCESSES = 3
EVENTS_OF_EACH = 40
PATIENCE_SECONDS = 60


@dataclass(frozen=True)
class Process:
    """What a serving process has of the live system; HTTP is not needed to poll."""

    realtime: Realtime
    writers: Writers
    deaf_to: LossyListener


@asynccontextmanager
async def process(
    bus_kind: str, database_url: str, amqp_url: str, *, loss: float, seed: int
) -> AsyncIterator[Process]:
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        database = await stack.enter_async_context(open_database(database_url, max_size=4))
        realm_caches = RealmCaches(database, clock)
        realtime = Realtime(database, realm_caches, clock)
        writers = Writers(database, realm_caches, realtime.committed)
        stack.push_async_callback(writers.drain)
        listener = LossyListener(realtime, loss, seed)
        if bus_kind == "rabbitmq":
            realtime.connect(await stack.enter_async_context(open_rabbitmq_bus(amqp_url, listener)))
        else:
            realtime.connect(await stack.enter_async_context(open_postgres_bus(database, listener)))
        await stack.enter_async_context(running(realtime.run()))
        yield Process(realtime, writers, listener)


@dataclass(frozen=True)
class Reader:
    """A client of one queue that goes to another process with every poll."""

    realm_id: RealmId
    user_id: UserId
    queue_id: QueueId

    async def read(self, processes: list[Process], first: int, count: int) -> list[int]:
        """The numbers of the events in the order in which they came, until there are so many."""
        numbers: list[int] = []
        last_id = -1
        for turn in itertools.count(first):
            events = await poll(
                processes[turn % len(processes)].realtime,
                realm_id=self.realm_id,
                user_id=self.user_id,
                queue_id=self.queue_id,
                last_event_id=last_id,
            )
            for event_id, body in events:
                assert event_id > last_id
                last_id = event_id
                event = msgspec.json.decode(body)
                if event["type"] == "user_topic":
                    numbers.append(event["stream_id"])
            if len(numbers) >= count:
                break
        return numbers


async def new_reader(database: Database, make: Make) -> Reader:
    user = await make.user()
    queue_id = QueueId(f"queue-{user.user_id}")
    async with database.connection() as connection:
        await event_queues.insert(
            connection,
            make.realm_id,
            [event_queues.NewQueue(queue_id, user.user_id, {"event_types": ["user_topic"]}, 600)],
        )
    return Reader(make.realm_id, user.user_id, queue_id)


async def tell(process: Process, realm_id: RealmId, numbers: range) -> None:
    """One write after another, as a client does that waits for each response."""
    for number in numbers:

        async def action(tx: WriteTx, number: int = number) -> None:
            event = UserTopicChanged(
                stream_id=ChannelId(number), topic_name="t", last_updated=0, visibility_policy=1
            )
            tx.append(event, EVERYONE)

        await process.writers.of(realm_id).write(action)


async def order_in_the_log(database: Database, realm_id: RealmId) -> list[int]:
    async with database.connection() as connection:
        bodies = await connection.values(
            """
            SELECT body FROM event_log
             WHERE realm_id = %(realm_id)s AND kind = 'user_topic' ORDER BY position
            """,
            realm_id=realm_id,
        )
    return [msgspec.json.decode(body)["stream_id"] for body in bodies]


@pytest.mark.parametrize("loss", [0.0, 0.1, 1.0], ids=["all", "most", "none"])
@pytest.mark.parametrize("bus_kind", ["postgres", "rabbitmq"])
@pytest.mark.asyncio
async def test_every_queue_gets_every_event_once_and_in_order(
    bus_kind: str, loss: float, database: Database, database_url: str, amqp_url: str, make: Make
):
    readers = [await new_reader(database, make) for _ in range(PROCESSES)]
    async with AsyncExitStack() as stack:
        processes = [
            await stack.enter_async_context(
                process(bus_kind, database_url, amqp_url, loss=loss, seed=seed)
            )
            for seed in range(PROCESSES)
        ]
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            reading = [
                group.create_task(reader.read(processes, first, count=PROCESSES * EVENTS_OF_EACH))
                for first, reader in enumerate(readers)
            ]
            for number, each in enumerate(processes):
                numbers = range(1000 * number, 1000 * number + EVENTS_OF_EACH)
                group.create_task(tell(each, make.realm_id, numbers))
        lost = sum(each.deaf_to.lost for each in processes)

    expected = await order_in_the_log(database, make.realm_id)
    assert len(expected) == PROCESSES * EVENTS_OF_EACH
    for read in reading:
        assert read.result() == expected
    assert (lost > 0) == (loss > 0)


@pytest.mark.asyncio
async def test_one_comparison_of_clocks_finds_the_last_event_that_no_hint_told(
    database: Database, make: Make
):
    """No later one shows the gap; this process hears nothing, and compares when it is told to."""
    clock = SystemClock()
    deaf = Realtime(database, RealmCaches(database, clock), clock)
    reader = await new_reader(database, make)
    reading = asyncio.create_task(
        poll(
            deaf,
            realm_id=reader.realm_id,
            user_id=reader.user_id,
            queue_id=reader.queue_id,
            last_event_id=-1,
        )
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not deaf.waiting():  # noqa: ASYNC110 - there is no callback
            await asyncio.sleep(0)
        speaking = Writers(database, RealmCaches(database, clock), lambda *_: None)

        async def action(tx: WriteTx) -> None:
            tx.append(Tick(), EVERYONE)
            event = UserTopicChanged(
                stream_id=ChannelId(7), topic_name="t", last_updated=0, visibility_policy=1
            )
            tx.append(event, EVERYONE)

        await speaking.of(make.realm_id).write(action)
        assert deaf.waiting() == 1
        assert await deaf._guard.compare()
        [(_, body)] = await reading
        await speaking.drain()
    assert msgspec.json.decode(body)["stream_id"] == 7
