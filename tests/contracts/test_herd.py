"""All clients return at once after a restart: those equally far behind share what is read."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from server.domain.errors import BadEventQueueError
from server.events.base import EVERYONE, to_users
from server.events.user_topics import UserTopicChanged
from server.realtime import log_page_cache
from server.realtime.log_page_cache import LogPageCache
from server.realtime.poll import poll
from server.realtime.queue import K_BITS
from server.writer import WriteTx
from storage import event_log, event_queues
from storage.database import Database, DatabaseUnavailableError
from storage.ids import ChannelId, Position, QueueId, RealmId, UserId
from testkit.clients.raw_sockets import until
from testkit.factories import Make
from tests.contracts.test_live_delivery import Process, process

pytestmark = pytest.mark.asyncio

QUEUES = 200
USERS = 20
ENTRIES = 700
BEHIND = 100
LogReader = Callable[..., Awaitable[list[event_log.LogRow]]]


class Herd:
    """Queues of many users, and a log in which some entries are for all and most for one."""

    def __init__(self, make: Make, user_ids: list[UserId]) -> None:
        self.make = make
        self.user_ids = user_ids
        self.base = Position(0)
        self.cursors: dict[QueueId, Position] = {}

    def user_of(self, queue_id: QueueId) -> UserId:
        return self.user_ids[int(queue_id) % USERS]

    async def register(self, database: Database) -> None:
        self.base = await self.make.position()
        for number in range(QUEUES):
            queue_id = QueueId(str(number))
            async with database.connection() as connection:
                await event_queues.insert(
                    connection,
                    self.make.realm_id,
                    [
                        event_queues.NewQueue(
                            queue_id,
                            self.user_ids[number % USERS],
                            {"event_types": ["user_topic"]},
                            600,
                        )
                    ],
                )
            spread = random.Random(number).randint(-50, 50)
            self.cursors[queue_id] = Position(self.base + ENTRIES - BEHIND - spread)

    async def happen(self, process: Process, *, name: str = "t") -> None:
        async def action(tx: WriteTx) -> None:
            for number in range(1, ENTRIES + 1):
                event = UserTopicChanged(
                    stream_id=ChannelId(self.base + number),
                    topic_name=name,
                    last_updated=0,
                    visibility_policy=1,
                )
                tx.append(event, self.audience(number))

        await process.writers.of(self.make.realm_id).write(action)

    def audience(self, number: int) -> Any:
        return to_users(self.user_ids[number % USERS]) if number % 3 else EVERYONE

    def expected(self, queue_id: QueueId) -> list[int]:
        """Positions of what the queue has yet to receive."""
        return [
            self.base + number
            for number in range(self.cursors[queue_id] - self.base + 1, ENTRIES + 1)
            if number % 3 == 0 or self.user_ids[number % USERS] == self.user_of(queue_id)
        ]

    async def come_back(self, process: Process, queue_id: QueueId) -> list[int]:
        """Poll until the end of the log; the positions received."""
        received: list[int] = []
        last_id = (self.cursors[queue_id] - self.base) << K_BITS
        while events := await poll(
            process.realtime,
            realm_id=self.make.realm_id,
            user_id=self.user_of(queue_id),
            queue_id=queue_id,
            last_event_id=last_id,
            dont_block=True,
        ):
            for event_id, body in events:
                assert event_id > last_id
                last_id = event_id
                event = msgspec.json.decode(body)
                if event["type"] == "user_topic":
                    received.append(event["stream_id"])
        return received

    async def all_come_back(self, process: Process) -> dict[QueueId, list[int]]:
        answers = await asyncio.gather(*[self.come_back(process, each) for each in self.cursors])
        return dict(zip(self.cursors, answers, strict=True))

    def all_expected(self) -> dict[QueueId, list[int]]:
        return {queue_id: self.expected(queue_id) for queue_id in self.cursors}


@pytest_asyncio.fixture
async def herd(make: Make, database: Database) -> Herd:
    herd = Herd(make, [(await make.user()).user_id for _ in range(USERS)])
    await herd.register(database)
    return herd


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Position]:
    """The cursors from which the log was read."""
    cursors: list[Position] = []
    read: LogReader = event_log.after

    async def counted(*args: Any, cursor: Position, **kwargs: Any) -> list[event_log.LogRow]:
        cursors.append(cursor)
        return await read(*args, cursor=cursor, **kwargs)

    monkeypatch.setattr(event_log, "after", counted)
    return cursors


@pytest.fixture
def start(database: Database, amqp_url: str) -> Callable[[], Any]:
    return lambda: process("postgres", database.url, amqp_url, loss=0.0, seed=0)


async def test_a_herd_after_a_restart_reads_the_log_a_few_times(
    herd: Herd, start: Callable[[], Any], reads: list[Position]
):
    async with start() as before:
        await herd.happen(before)
    reads.clear()
    async with start() as fresh:
        assert await herd.all_come_back(fresh) == herd.all_expected()
        assert 1 <= len(reads) <= 4, reads
        assert await herd.all_come_back(fresh) == herd.all_expected()
        assert len(reads) <= 4, "what was read is remembered for those who come later"


async def test_others_hear_of_a_herd_in_a_few_pieces_of_news(
    herd: Herd, start: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
):
    told: list[list[QueueId]] = []

    def note(_realm_id: RealmId, body: bytes) -> None:
        news = msgspec.json.decode(body)
        told.append([news["queue_id"], *news["more"]])

    async with start() as before:
        await herd.happen(before)
    async with start() as fresh, start() as other:
        await herd.all_come_back(other)
        assert other.realtime.live() == QUEUES
        monkeypatch.setattr(fresh.realtime._bus, "publish_ephemeral", note)
        await herd.all_come_back(fresh)
        await until(lambda: sum(map(len, told)) == QUEUES)
        assert sorted(queue_id for some in told for queue_id in some) == sorted(herd.cursors)
        assert len(told) < QUEUES / 5
        monkeypatch.undo()
        await herd.all_come_back(other)  # which has them still, as it has not been told
        for some in told:
            news = {"type": "adopted", "queue_id": some[0], "more": some[1:]}
            other.realtime.on_ephemeral(herd.make.realm_id, msgspec.json.encode(news))
        assert other.realtime.live() == 0


async def test_memory_is_bounded_and_no_client_misses_anything(
    herd: Herd,
    start: Callable[[], Any],
    reads: list[Position],
    monkeypatch: pytest.MonkeyPatch,
):
    """Entries so large that a stretch ends long before the next round position."""
    monkeypatch.setattr(log_page_cache, "PAGE_BYTES", 40_000)
    monkeypatch.setattr(log_page_cache, "CACHE_BYTES", 300_000)
    async with start() as before:
        await herd.happen(before, name="x" * 3_000)
    reads.clear()
    async with start() as fresh:
        assert await herd.all_come_back(fresh) == herd.all_expected()
        follower = await fresh.realtime.follower(herd.make.realm_id)
        held = sum(page.size for page in follower.log_pages._pages.values())
        assert 0 < held <= 300_000
    behind = [herd.base + ENTRIES - cursor for cursor in herd.cursors.values()]
    alone = sum(entries // (40_000 // 3_000) for entries in behind)
    assert len(reads) < alone / 2, "what can be shared is shared, even so"


async def test_a_queue_that_is_gone_does_not_end_what_others_wait_for(
    herd: Herd, start: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
):
    read: LogReader = event_log.after
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def held_up(*args: Any, **kwargs: Any) -> list[event_log.LogRow]:
        begun.set()
        await go_on.wait()
        return await read(*args, **kwargs)

    async with start() as before:
        await herd.happen(before)
    async with start() as fresh:
        monkeypatch.setattr(event_log, "after", held_up)
        first, second, ended = list(herd.cursors)[:3]
        leaving = asyncio.create_task(herd.come_back(fresh, first))
        await begun.wait()
        staying = asyncio.create_task(herd.come_back(fresh, second))
        leaving.cancel()
        await asyncio.wait([leaving])
        await fresh.realtime.delete_queue(herd.make.realm_id, herd.user_of(ended), ended)
        go_on.set()
        assert await staying == herd.expected(second)
        with pytest.raises(BadEventQueueError):
            await herd.come_back(fresh, ended)


async def test_what_is_deleted_while_it_is_read_is_not_remembered(
    herd: Herd, start: Callable[[], Any], database: Database, monkeypatch: pytest.MonkeyPatch
):
    async with start() as before:
        await herd.happen(before)
    read: LogReader = event_log.after
    known = LogPageCache(database, herd.make.realm_id)
    first, second, third = (Position(herd.base + number) for number in (1, 2, 3))

    async def deleted_meanwhile(*args: Any, **kwargs: Any) -> list[event_log.LogRow]:
        rows = await read(*args, **kwargs)
        known.blank([second])
        return rows

    monkeypatch.setattr(event_log, "after", deleted_meanwhile)
    await known.after(herd.base)
    known.blank([first])
    kinds = {entry.position: entry.event.kind for entry in await known.after(herd.base)}
    assert (kinds[first], kinds[second], kinds[third]) == ("tick", "tick", "user_topic")


async def test_a_read_that_fails_fails_for_all_who_waited_and_is_tried_again(
    herd: Herd, start: Callable[[], Any], database: Database, monkeypatch: pytest.MonkeyPatch
):
    async with start() as before:
        await herd.happen(before)
    read: LogReader = event_log.after
    attempts = 0

    async def away_at_first(*args: Any, **kwargs: Any) -> list[event_log.LogRow]:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise DatabaseUnavailableError("away")
        return await read(*args, **kwargs)

    monkeypatch.setattr(event_log, "after", away_at_first)
    known = LogPageCache(database, herd.make.realm_id)
    waiting = [known.after(Position(herd.base + number)) for number in range(5)]
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(answer) for answer in answers] == [DatabaseUnavailableError] * 5
    assert attempts == 1
    [entry, *_] = await known.after(herd.base)
    assert entry.position == herd.base + 1
