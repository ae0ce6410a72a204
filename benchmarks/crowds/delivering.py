"""How long a delivery takes, and how many a second there are before the last comes late."""

import asyncio
import re
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowds.crowd import Crowd, Waiter
from benchmarks.crowds.waiting import polls, settled
from benchmarks.figures import percentile
from benchmarks.server import Server
from benchmarks.world import World

QUEUES: Final = 100
RATES: Final = (100, 200, 400, 600, 800, 1_000, 1_500)
"""Messages a second; each is delivered to every queue."""
SECONDS: Final = 4.0
LATE_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 60.0
SENDING_CONNECTIONS: Final = 64

_CONTENT: Final = re.compile(rb'"content":"m(\d+)"')
_NEWEST: Final = b"last_event_id=-1"


class Readers(Crowd):
    """Each asks again as soon as it has an answer."""

    def __init__(self, requests: list[bytes]) -> None:
        super().__init__()
        self._requests = requests
        self.sent: dict[int, float] = {}
        self.taken: list[float] = []
        """Seconds from each send to each of its deliveries."""

    @override
    def answered(self, waiter: Waiter, status: int, body: bytes) -> None:
        super().answered(waiter, status, body)
        now = time.perf_counter()
        self.taken += [now - self.sent[int(number)] for number in _CONTENT.findall(body)]
        last = b"last_event_id=%d" % self.last_ids.get(waiter.number, -1)
        waiter.ask(self._requests[waiter.number].replace(_NEWEST, last))


@dataclass(frozen=True, slots=True)
class Delivered:
    """The messages sent in a while, and delivered to all queues."""

    seconds: list[float]
    """From each send to each of its deliveries."""
    a_second: float
    """Deliveries, from the first send to the last of them."""
    cpu_seconds: float
    """Of the server, for each delivery: with its share of the send, and with the next poll."""


async def deliveries_at(
    server: Server,
    world: World,
    channel_id: int,
    queue_ids: Sequence[str],
    rates: Sequence[float],
    seconds: float = SECONDS,
) -> AsyncGenerator[Delivered]:
    """All clients wait while one sends for so many seconds, at one rate after another."""
    readers = Readers(polls(server.port, world, queue_ids))
    await readers.come(server.port, polls(server.port, world, queue_ids))
    await settled(server)
    free: asyncio.Queue[Client] = asyncio.Queue()
    for _ in range(SENDING_CONNECTIONS):
        free.put_nowait(Client(server.port, world.email(1), worlds.API_KEY))
    try:
        for rate in rates:
            readers.taken.clear()
            begin, cpu_before = time.perf_counter(), server.cpu_seconds()
            sent = int(rate * seconds)
            await _send(readers, free, channel_id, sent, rate)
            async with asyncio.timeout(PATIENCE_SECONDS):
                while len(readers.taken) < sent * len(queue_ids):  # noqa: ASYNC110 - nothing tells
                    await asyncio.sleep(0.01)
            a_second = len(readers.taken) / (time.perf_counter() - begin)
            cpu_seconds = (server.cpu_seconds() - cpu_before) / len(readers.taken)
            yield Delivered([*readers.taken], a_second, cpu_seconds)
    finally:
        readers.leave()


async def most_deliveries(
    server: Server, world: World, channel_id: int, queue_ids: Sequence[str]
) -> tuple[float, float]:
    """The most deliveries a second, from the first send to the last delivery; and their p99."""
    most = 0.0, 0.0
    at_rates = deliveries_at(server, world, channel_id, queue_ids, RATES)
    async with aclosing(at_rates) as each:
        async for delivered in each:
            late = percentile(delivered.seconds, 0.99)
            if late >= LATE_SECONDS:
                break
            most = max(most, (delivered.a_second, late))
    return most


async def _send(
    readers: Readers, free: "asyncio.Queue[Client]", channel_id: int, count: int, rate: float
) -> None:
    """Send `count` messages at `rate`, as evenly as free connections permit."""

    async def one(client: Client) -> None:
        number = len(readers.sent)
        readers.sent[number] = time.perf_counter()
        await client.timed(client.send_request(channel_id, "benchmark", f"m{number}"))
        free.put_nowait(client)

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as sending:
        for number in range(count):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            sending.create_task(one(await free.get()))
