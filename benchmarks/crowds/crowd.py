"""Thousands of clients in one process, each as little as a client can be."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, cast

from typing_extensions import override

_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_EVENT_ID: Final = re.compile(rb'[\[,]\{"id":(\d+),"type"')
FIRST_POLL: Final = b"last_event_id=-1"
SOURCES: Final = 100
"""Loopback addresses that connections come from: each has its own ports."""
CONNECTING: Final = 100
"""Connections that are being made at once."""


class Waiter(asyncio.Protocol):
    """Asks once, or again and again, and notes when it has the answer."""

    __slots__ = ("_buffer", "_crowd", "_request", "_transport", "number")

    def __init__(self, crowd: "Crowd", number: int, request: bytes) -> None:
        self._crowd = crowd
        self._request = request
        self._buffer = b""
        self._transport: asyncio.Transport | None = None
        self.number = number

    def ask(self, request: bytes) -> None:
        """Ask again, on the same connection."""
        assert self._transport is not None
        self._transport.write(request)

    def poll_on(self, last_id: int) -> None:
        """Ask for what comes after this event."""
        self.ask(self._request.replace(FIRST_POLL, b"last_event_id=%d" % last_id))

    def leave(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.ask(self._request)

    @override
    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, end, body = self._buffer.partition(b"\r\n\r\n")
        length = _LENGTH.search(head) if end else None
        if length is not None and len(body) >= int(length[1]):
            self._buffer = b""
            self._crowd.answered(self, int(head.split(b" ", 2)[1]), body)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._crowd.cut += 1


class Crowd:
    """Connections that wait, and when their answers came."""

    def __init__(self, *, polls_on: bool = False) -> None:
        """`polls_on`: as clients do, each polls again when it has its answer."""
        self._polls_on = polls_on
        self.waiters: list[Waiter] = []
        self.arrived: list[float] = []
        """When each answer since the last `expect` was there."""
        self.statuses: Counter[int] = Counter()
        self.last_ids: dict[int, int] = {}
        """The last event that each has got, by its number."""
        self.cut = 0
        self._wanted = 0
        self._all_there = asyncio.Event()

    async def come(self, port: int, requests: Sequence[bytes]) -> None:
        """Connect, and let each ask."""
        at_once = asyncio.Semaphore(CONNECTING)

        async def one(number: int, request: bytes) -> None:
            async with at_once:
                self.waiters.append(await self.connect(port, number, request))

        await asyncio.gather(*[one(n, request) for n, request in enumerate(requests)])

    async def connect(self, port: int, number: int, request: bytes) -> Waiter:
        source = (f"127.0.1.{1 + number % SOURCES}", 0)
        _, waiter = await asyncio.get_running_loop().create_connection(
            lambda: Waiter(self, number, request), "127.0.0.1", port, local_addr=source
        )
        return waiter

    def expect(self, answers: int) -> None:
        """From now on count answers, up to this many."""
        self.arrived.clear()
        self._wanted = answers
        self._all_there.clear()

    async def all_there(self, patience_seconds: float) -> None:
        """Wait until as many have come."""
        async with asyncio.timeout(patience_seconds):
            await self._all_there.wait()

    def answered(self, waiter: Waiter, status: int, body: bytes) -> None:
        self.arrived.append(time.perf_counter())
        self.statuses[status] += 1
        ids = _EVENT_ID.findall(body)
        if ids:
            self.last_ids[waiter.number] = int(ids[-1])
            if self._polls_on:
                waiter.poll_on(int(ids[-1]))
        if len(self.arrived) >= self._wanted:
            self._all_there.set()

    def leave(self) -> None:
        for each in self.waiters:
            each.leave()


def after(begin: float, moments: Iterable[float]) -> list[float]:
    """How long after the beginning each was."""
    return [moment - begin for moment in moments]
