"""Additional acceptors during a burst of connections, one otherwise, and none while yielding."""

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
        self.is_ahead = False
        self.has_room = True
        self.acceptors = AcceptorPool(
            self._listen,
            self.adopted.append,
            has_room=lambda: self.has_room,
            is_ahead=lambda: self.is_ahead,
        )
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


@pytest.mark.parametrize("decided", ["pause", "close", "_yield"])
async def test_an_acceptor_that_is_being_opened_closes_if_none_is_wanted_any_more(decided):
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


@contextmanager
def two_processes() -> Iterator[tuple[Listener, Listener, socket.socket]]:
    """One that has more connections than another one, and their socket."""
    ahead, behind = Listener(), Listener()
    ahead.is_ahead = True
    with socket.create_server(("127.0.0.1", 0), backlog=CLIENTS) as opened:
        try:
            yield ahead, behind, opened
        finally:
            ahead.close()
            behind.close()


async def yielding(listener: Listener, opened: socket.socket) -> socket.socket:
    """Let it accept the connection that is returned, after which it yields."""
    await listener.acceptors.open([opened.dup()])
    client = socket.create_connection(opened.getsockname())
    await until(lambda: listener.accepted == 1 and listener.open == 0)
    return client


async def accepted(listener: Listener, count: int) -> None:
    await until(lambda: listener.accepted == count)


async def adopted(listener: Listener, count: int) -> None:
    await until(lambda: len(listener.adopted) == count)


async def test_connections_go_to_the_process_that_has_fewer():
    with two_processes() as (ahead, behind, opened):
        with await yielding(ahead, opened):
            await behind.acceptors.open([opened.dup()])
            for number in range(1, 21):
                with socket.create_connection(opened.getsockname()):
                    await accepted(behind, number)
        assert (ahead.accepted, ahead.adopted) == (1, [])


async def test_what_no_other_process_takes_is_taken_late():
    with two_processes() as (ahead, _, opened):
        with await yielding(ahead, opened):
            for number in range(1, 4):
                with socket.create_connection(opened.getsockname()):
                    await adopted(ahead, number)
        assert (ahead.accepted, ahead.open) == (1, 0)


async def test_a_process_that_is_no_longer_ahead_accepts_again():
    with two_processes() as (ahead, _, opened):
        with await yielding(ahead, opened):
            ahead.is_ahead = False
            for number in range(2, 5):
                with socket.create_connection(opened.getsockname()):
                    await accepted(ahead, number)
        assert (ahead.adopted, ahead.open) == ([], 1)


async def test_a_full_process_that_yields_takes_nothing_until_there_is_room(monkeypatch):
    monkeypatch.setattr(acceptor_pool, "CHECK_SECONDS", 0.01)
    with two_processes() as (ahead, _, opened), await yielding(ahead, opened):
        ahead.has_room = False
        ahead.acceptors.pause()
        with socket.create_connection(opened.getsockname()):
            await asyncio.sleep(10 * acceptor_pool.YIELD_SECONDS)
            assert (ahead.accepted, ahead.adopted) == (1, [])
            ahead.has_room = True
            await until(lambda: ahead.accepted == 2)


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_process_that_yields_and_stops_takes_what_is_in_the_backlog(is_late):
    with two_processes() as (ahead, _, opened), await yielding(ahead, opened):
        with socket.create_connection(opened.getsockname()):
            if is_late:
                await until(lambda: ahead.acceptors._taking is not None or ahead.adopted)
            ahead.acceptors.close()
            await until(lambda: len(ahead.adopted) == 1)
        await asyncio.sleep(2 * acceptor_pool.LAST_ACCEPT_SECONDS)
        with socket.create_connection(opened.getsockname()):
            await asyncio.sleep(10 * acceptor_pool.YIELD_SECONDS)
            assert len(ahead.adopted) == 1
