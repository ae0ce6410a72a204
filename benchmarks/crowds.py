"""Crowds: one message to many who wait, sockets that are slow, everybody at once, and very many."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

import psycopg
from typing_extensions import override

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowd import CONNECTING, SOURCES, Crowd, after
from benchmarks.probe import Probe
from benchmarks.server import Server
from benchmarks.world import World

WAITING: Final = 2_000
MESSAGES: Final = 10
PAUSE_SECONDS: Final = 3.0
"""Between two messages: everybody asks anew."""
CHANNEL: Final = "crowd"
PATIENCE_SECONDS: Final = 60.0
SETTLED: Final = 0.05
"""A server that uses no more than this share of a processor has done what there was."""


@dataclass(slots=True)
class Woken:
    """Some messages to a crowd that waits."""

    last: list[float] = field(default_factory=list)
    """Seconds from each send to the last one who has it."""
    held: list[float] = field(default_factory=list)
    """The longest that a request beside had to wait while each was delivered."""
    idle: list[float] = field(default_factory=list)
    """What such requests take when nothing is delivered."""


def fill(database: psycopg.Connection[Any], people: int) -> tuple[World, int, list[str]]:
    """People in one channel, each with a queue."""
    world = worlds.fill(database, people=people)
    channel_id = worlds.channel(database, world, CHANNEL, people)
    return world, channel_id, worlds.queues(database, world, people)


def polls(
    server: Server, world: World, queue_ids: Iterable[str], last_ids: dict[int, int]
) -> list[bytes]:
    """The bytes of everybody's next poll."""
    return [
        Client(server.port, world.email(number + 1), worlds.API_KEY).request(
            "GET", "/events", queue_id=queue_id, last_event_id=last_ids.get(number, -1)
        )
        for number, queue_id in enumerate(queue_ids)
    ]


async def wake(server: Server, world: World, channel_id: int, queue_ids: list[str]) -> Woken:
    """Some messages to everybody, with a probe beside."""
    crowd, woken = Crowd(), Woken()
    await crowd.come(server.port, polls(server, world, queue_ids, {}))
    await settled(server)
    sender = Client(server.port, world.email(1), worlds.API_KEY)
    await sender.timed(sender.request("GET", "/users/me"))
    probe = Probe(server.port)
    spans: list[tuple[float, float]] = []
    for number in range(MESSAGES):
        await asyncio.sleep(PAUSE_SECONDS)
        request = sender.send_request(channel_id, "topic", f"message {number}")
        crowd.expect(len(queue_ids))
        begin = time.perf_counter()
        await sender.timed(request)
        await crowd.all_there(PATIENCE_SECONDS)
        spans.append((begin, max(crowd.arrived)))
        woken.last.append(max(after(begin, crowd.arrived)))
        for waiter in crowd.waiters:
            waiter.ask(polls_again(server, world, queue_ids, crowd, waiter.number))
    answers = await asyncio.to_thread(probe.answers)
    for begin, end in spans:
        woken.held.append(
            max(a.seconds for a in answers if a.at > begin and a.at - a.seconds < end)
        )
    woken.idle = [a.seconds for a in answers if not any(b < a.at < e + 0.5 for b, e in spans)]
    crowd.leave()
    return woken


def polls_again(
    server: Server, world: World, queue_ids: list[str], crowd: Crowd, number: int
) -> bytes:
    """The next poll of one of them."""
    client = Client(server.port, world.email(number + 1), worlds.API_KEY)
    return client.request(
        "GET", "/events", queue_id=queue_ids[number], last_event_id=crowd.last_ids.get(number, -1)
    )


class Busy(Protocol):
    def cpu_seconds(self) -> float: ...


async def settled(server: Busy) -> None:
    """Wait until the server has done what there was to do."""
    while True:
        before, begin = server.cpu_seconds(), time.perf_counter()
        await asyncio.sleep(0.5)
        if server.cpu_seconds() - before < SETTLED * (time.perf_counter() - begin):
            return


SLOW: Final = 10_000
DRIP_SECONDS: Final = 10.0
"""Each slow client sends a byte as often."""
ASKED: Final = 2_000


@dataclass(slots=True)
class Beside:
    """What somebody's requests take without slow sockets beside, and with them."""

    before: list[float]
    meanwhile: list[float]
    refused: int


class Slow(asyncio.Protocol):
    """Sends what it has a byte at a time, and reads nothing."""

    __slots__ = ("_at_once", "_rest", "_transport", "is_cut")

    def __init__(self, request: bytes, at_once: int) -> None:
        self._rest = request
        self._transport: asyncio.Transport | None = None
        self.is_cut = False
        self._at_once = at_once

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.drip(self._at_once)
        self._transport.pause_reading()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self.is_cut = True

    def drip(self, size: int = 1) -> None:
        if self._transport is not None and not self.is_cut and self._rest:
            self._transport.write(self._rest[:size])
            self._rest = self._rest[size:]

    def leave(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def stand(server: Server, world: World, channel_id: int) -> Beside:
    """Ask and send as somebody does, alone and beside slow heads, slow bodies, slow readers."""
    client = Client(server.port, world.email(1), worlds.API_KEY)
    requests = [
        client.send_request(channel_id, "topic", "A message of an ordinary length."),
        client.request("GET", "/messages", anchor="newest", num_before=20, num_after=0),
    ]
    for request in requests * 50:
        await client.timed(request)
    before = [await client.timed(requests[n % 2]) for n in range(ASKED)]
    slow = await _slow_ones(server, world)
    await settled(server)
    dripping = asyncio.create_task(_drip(slow))
    meanwhile = [await client.timed(requests[n % 2]) for n in range(ASKED)]
    dripping.cancel()
    for each in slow:
        each.leave()
    return Beside(before, meanwhile, sum(each.is_cut for each in slow))


async def _slow_ones(server: Server, world: World) -> list[Slow]:
    client = Client(server.port, world.email(2), worlds.API_KEY)
    body = client.request("POST", "/messages", type="channel", to=1, topic="t", content="x" * 900)
    large = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"GET /api/v1/users HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 1_000
    kinds = [(head, 20), (body, body.index(b"\r\n\r\n") + 10), (large * 3, len(large) * 3)]
    at_once, loop = asyncio.Semaphore(CONNECTING), asyncio.get_running_loop()

    async def one(number: int) -> Slow:
        request, begin = kinds[number % 3]
        async with at_once:
            _, slow = await loop.create_connection(
                lambda: Slow(request, begin),
                "127.0.0.1",
                server.port,
                local_addr=(f"127.0.1.{1 + number % SOURCES}", 0),
            )
        return slow

    return await asyncio.gather(*[one(number) for number in range(SLOW)])


async def _drip(slow: list[Slow]) -> None:
    """A byte of each, evenly over the time."""
    turns = int(DRIP_SECONDS * 100)
    while True:
        for turn in range(turns):
            for each in slow[turn::turns]:
                each.drip()
            await asyncio.sleep(0.01)
