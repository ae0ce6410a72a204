"""Sockets that send and read a byte at a time, and those who are served beside them."""

import asyncio
from dataclasses import dataclass
from typing import Final, cast

from typing_extensions import override

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowds.crowd import CONNECTING, SOURCES
from benchmarks.crowds.waiting import settled
from benchmarks.server import Server
from benchmarks.world import World

SLOW: Final = 10_000
DRIP_SECONDS: Final = 10.0
"""Each slow client sends a byte as often."""
ASKED: Final = 2_000


@dataclass(slots=True)
class Beside:
    """The seconds of a user's requests without slow sockets beside, and with them."""

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
    """Ask and send as a user does, alone and beside slow heads, slow bodies, slow readers."""
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
