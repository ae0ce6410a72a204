"""Additional acceptors during a burst of connections, and one otherwise."""

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


class Listener:
    """Counts open acceptors and accepted connections."""

    def __init__(self) -> None:
        self._opened: list[asyncio.Server] = []
        self.adopted: list[socket.socket] = []
        self.acceptors = AcceptorPool(self._listen, self.adopted.append)
        self.accepted = 0

    def close(self) -> None:
        self.acceptors.close()
        self.acceptors.finish()
        for each in self.adopted:
            each.close()

    @property
    def open(self) -> int:
        return sum(each.is_serving() for each in self._opened)

    async def _listen(self, opened: socket.socket) -> asyncio.Server:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(self._protocol, sock=opened, backlog=CLIENTS)
        self._opened.append(server)
        return server

    def _protocol(self) -> asyncio.Protocol:
        self.accepted += 1
        self.acceptors.connection_accepted()
        return asyncio.Protocol()


class SlowListener(Listener):
    """Its acceptors take a moment to open."""

    @override
    async def _listen(self, opened: socket.socket) -> asyncio.Server:
        server = await super()._listen(opened)
        for _ in range(3):
            await asyncio.sleep(0)
        return server


@contextmanager
def waiting_clients(count: int) -> Iterator[socket.socket]:
    """A socket with so many connections in its backlog."""
    opened = socket.create_server(("127.0.0.1", 0), backlog=CLIENTS)
    opened.setblocking(False)
    clients = [socket.create_connection(opened.getsockname()) for _ in range(count)]
    try:
        yield opened
    finally:
        for each in clients:
            each.close()


async def test_a_burst_is_accepted_within_a_few_iterations_of_the_loop():
    listener = Listener()
    with waiting_clients(CLIENTS) as opened:
        await listener.acceptors.open([opened])
        rounds = 0
        while listener.accepted < CLIENTS:
            await asyncio.sleep(0)
            rounds += 1
        assert rounds < 2 * BURST_CONNECTIONS
        assert listener.open == 1 + EXTRA_ACCEPTORS
        listener.close()
        assert listener.open == 0


async def test_after_a_burst_one_acceptor_stays_open(monkeypatch):
    monkeypatch.setattr(acceptor_pool, "CHECK_SECONDS", 0.01)
    listener = Listener()
    with waiting_clients(CLIENTS) as opened:
        await listener.acceptors.open([opened])
        await until(lambda: listener.accepted == CLIENTS and listener.open == 1)
        with socket.create_connection(opened.getsockname()):
            await until(lambda: listener.accepted == CLIENTS + 1)
        listener.close()


async def test_fewer_connections_open_no_additional_acceptors():
    listener = Listener()
    with waiting_clients(BURST_CONNECTIONS - 1) as opened:
        await listener.acceptors.open([opened])
        await until(lambda: listener.accepted == BURST_CONNECTIONS - 1)
        await asyncio.sleep(0)
        assert listener.open == 1
        listener.close()


async def test_closing_during_a_burst_closes_all_acceptors():
    listener = Listener()
    with waiting_clients(BURST_CONNECTIONS) as opened:
        await listener.acceptors.open([opened])
        await until(lambda: listener.accepted == BURST_CONNECTIONS)
        listener.close()
        for _ in range(3 * EXTRA_ACCEPTORS):
            await asyncio.sleep(0)
        assert listener.open == 0


@pytest.mark.parametrize("decided", ["pause", "close"])
async def test_an_acceptor_that_is_being_opened_closes_if_the_pool_is_paused_or_closed(decided):
    listener = SlowListener()
    with waiting_clients(0) as opened:
        opening = asyncio.ensure_future(listener.acceptors.open([opened]))
        await asyncio.sleep(0)
        getattr(listener.acceptors, decided)()
        await opening
        await asyncio.sleep(0)
        assert listener.open == 0
        listener.close()


async def test_what_is_in_the_backlog_at_closing_is_still_accepted():
    listener = Listener()
    with waiting_clients(0) as opened:
        await listener.acceptors.open([opened])
        place = opened.getsockname()
        listener.acceptors.close()
        with socket.create_connection(place) as client:
            client.sendall(b"POST")
            await until(lambda: listener.adopted)
            [accepted] = listener.adopted
            with accepted:
                assert accepted.recv(4) == b"POST"
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place)
