"""More doors for a crowd, and one for those who come by themselves."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from typing_extensions import override

from server.transport import acceptor_pool
from server.transport.acceptor_pool import BURST_CONNECTIONS, EXTRA_ACCEPTORS, AcceptorPool
from testkit.clients.raw_sockets import until

pytestmark = pytest.mark.asyncio

CLIENTS = 5 * BURST_CONNECTIONS


class Hall:
    """Counts the doors that are open, and who has come."""

    def __init__(self) -> None:
        self._opened: list[asyncio.Server] = []
        self.adopted: list[socket.socket] = []
        self.acceptors = AcceptorPool(self._listen, self.adopted.append)
        self.came = 0

    def close(self) -> None:
        self.acceptors.close()
        self.acceptors.finish()
        for each in self.adopted:
            each.close()

    @property
    def open(self) -> int:
        return sum(each.is_serving() for each in self._opened)

    async def _listen(self, door: socket.socket) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._protocol, sock=door, backlog=CLIENTS)
        self._opened.append(server)
        return server

    def _protocol(self) -> asyncio.Protocol:
        self.came += 1
        self.acceptors.connection_accepted()
        return asyncio.Protocol()


class Unhurried(Hall):
    """Its doors take a moment to open."""

    @override
    async def _listen(self, door: socket.socket) -> asyncio.Server:
        server = await super()._listen(door)
        for _ in range(3):
            await asyncio.sleep(0)
        return server


@contextmanager
def waiting_outside(count: int) -> Iterator[socket.socket]:
    """A socket at which so many wait."""
    opened = socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)
    opened.setblocking(False)
    clients = [socket.create_connection(opened.getsockname()) for _ in range(count)]
    try:
        yield opened
    finally:
        for each in clients:
            each.close()


async def test_a_crowd_is_in_when_the_loop_has_gone_round_a_few_times():
    hall = Hall()
    with waiting_outside(CLIENTS) as opened:
        await hall.acceptors.open([opened])
        rounds = 0
        while hall.came < CLIENTS:
            await asyncio.sleep(0)
            rounds += 1
        assert rounds < 2 * BURST_CONNECTIONS
        assert hall.open == 1 + EXTRA_ACCEPTORS
        hall.close()
        assert hall.open == 0


async def test_when_nobody_comes_any_more_one_door_stays_open(monkeypatch):
    monkeypatch.setattr(acceptor_pool, "CHECK_SECONDS", 0.01)
    hall = Hall()
    with waiting_outside(CLIENTS) as opened:
        await hall.acceptors.open([opened])
        await until(lambda: hall.came == CLIENTS and hall.open == 1)
        with socket.create_connection(opened.getsockname()):
            await until(lambda: hall.came == CLIENTS + 1)
        hall.close()


async def test_who_come_by_themselves_open_no_more():
    hall = Hall()
    with waiting_outside(BURST_CONNECTIONS - 1) as opened:
        await hall.acceptors.open([opened])
        await until(lambda: hall.came == BURST_CONNECTIONS - 1)
        await asyncio.sleep(0)
        assert hall.open == 1
        hall.close()


async def test_closed_while_more_are_opened_all_are_closed():
    hall = Hall()
    with waiting_outside(BURST_CONNECTIONS) as opened:
        await hall.acceptors.open([opened])
        await until(lambda: hall.came == BURST_CONNECTIONS)
        hall.close()
        for _ in range(3 * EXTRA_ACCEPTORS):
            await asyncio.sleep(0)
        assert hall.open == 0


@pytest.mark.parametrize("decided", ["pause", "close"])
async def test_a_door_that_is_being_opened_does_not_stay_open_when_it_is_decided_otherwise(decided):
    hall = Unhurried()
    with waiting_outside(0) as opened:
        opening = asyncio.ensure_future(hall.acceptors.open([opened]))
        await asyncio.sleep(0)
        getattr(hall.acceptors, decided)()
        await opening
        await asyncio.sleep(0)
        assert hall.open == 0
        hall.close()


async def test_what_is_in_the_backlog_when_the_doors_close_is_still_accepted():
    hall = Hall()
    with waiting_outside(0) as opened:
        await hall.acceptors.open([opened])
        place = opened.getsockname()
        hall.acceptors.close()
        with socket.create_connection(place) as client:
            client.sendall(b"POST")
            await until(lambda: hall.adopted)
            [accepted] = hall.adopted
            with accepted:
                assert accepted.recv(4) == b"POST"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)
