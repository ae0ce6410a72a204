"""Our own server's connections: how long they may be silent, how many there may be."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from itertools import pairwise
from typing import Any, cast

import pytest
from typing_extensions import override

from server.transport import connection as connections
from server.transport import response_side
from server.transport.limits import MAX_AHEAD_BYTES
from server.transport.writing import CHUNKS_END, as_chunk
from testkit.clients.raw_sockets import connected, until
from testkit.wire_fuzz import Paper
from tests.transport.exchanges import ASK, Echo, Patient, Silent, Slow, begun, grown, serving

pytestmark = pytest.mark.asyncio


async def pour(writer):
    await writer.start(200, {})
    while True:
        await writer.send(b"x" * 100_000)


@pytest.mark.parametrize(
    ("limit", "sent"),
    [
        ("IDLE_SECONDS", b""),
        ("IDLE_SECONDS", ASK),
        ("HEAD_SECONDS", b"GET / HT"),
        ("HEAD_SECONDS", ASK + b"GET / HT"),
    ],
)
async def test_who_is_silent_for_too_long_is_let_go(monkeypatch, limit, sent):
    monkeypatch.setattr(connections, limit, 0.2)
    async with serving() as (_, port, _), connected(port) as client:
        await client.send(sent)
        if sent.startswith(ASK):
            await client.answer()
        assert await client.is_closed()


@pytest.mark.parametrize("limit", ["BODY_SECONDS", "PIECE_SECONDS"])
async def test_a_client_that_stalls_in_a_body_is_told_and_disconnected(monkeypatch, limit):
    monkeypatch.setattr(connections, limit, 0.2)
    async with serving() as (_, port, exchanges), connected(port) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc")
        answer = await client.answer()
        assert (answer.status, answer.headers["Connection"]) == (408, "close")
        assert await client.is_closed()
        assert exchanges[0].is_gone


async def test_a_body_that_comes_slowly_goes_on_as_long_as_it_may(monkeypatch):
    monkeypatch.setattr(connections, "PIECE_SECONDS", 2)
    async with serving() as (server, port, exchanges), connected(port) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        await until(lambda: exchanges)
        [connection] = server._connections
        first = connection.due
        for number in range(9):
            await client.send(b"a")
            await until(partial(grown, exchanges[0], number))
            await asyncio.sleep(0.3)
        assert (await client.answer()).content == b"a" * 9
        assert connection.due > first


async def test_while_a_body_waits_here_no_client_is_disconnected(monkeypatch):
    monkeypatch.setattr(connections, "PIECE_SECONDS", 0.1)
    async with serving(Slow) as (_, port, exchanges), connected(port) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")
        await until(lambda: exchanges and exchanges[0].body)
        await asyncio.sleep(2.5)
        await client.send(b"def")
        exchanges[0].taken.set_result(None)
        await until(partial(grown, exchanges[0], 3))
        exchanges[0].taken.set_result(None)
        assert (await client.answer()).content == b"abcdef"


async def test_a_slow_head_gains_no_time(monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    async with serving() as (_, port, _), connected(port) as client:
        sending = asyncio.create_task(drip(client, b"GET / HTTP/1.1\r\nA: " + b"x" * 10_000))
        assert await client.is_closed()
        sending.cancel()
        await asyncio.gather(sending, return_exceptions=True)


async def drip(client, data):
    for number in range(len(data)):
        await client.send(data[number : number + 1])
        await asyncio.sleep(0.05)


async def test_a_client_waiting_for_an_answer_may_be_silent(monkeypatch):
    for limit in ("IDLE_SECONDS", "HEAD_SECONDS", "BODY_SECONDS"):
        monkeypatch.setattr(connections, limit, 0.2)
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        await asyncio.sleep(2.5)
        Echo.finish(exchanges[0])
        assert (await client.answer()).status == 200


async def test_a_client_that_reads_nothing_is_disconnected(monkeypatch):
    monkeypatch.setattr(response_side, "STALLED_SECONDS", 0.2)
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        writer = exchanges[0].writer
        with pytest.raises(ConnectionError):
            await pour(writer)
        assert exchanges[0].is_gone


async def test_a_client_that_reads_something_is_kept(monkeypatch):
    monkeypatch.setattr(response_side, "STALLED_SECONDS", 0.2)
    piece, pieces = 512 * 1024, 32
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        length = [("Content-Length", str(piece * pieces))]
        exchanges[0].writer.respond(200, length, bytes(piece * pieces), is_last=True)
        await client.head()
        for _ in range(pieces):
            await client.reader.readexactly(piece)
            await asyncio.sleep(0.1)  # in all it takes several times as long as nothing may


async def test_many_small_chunks_do_not_keep_others_from_their_turn():
    async with serving(Silent) as (server, port, exchanges):
        del port
        connection = server.connection()
        connection.connection_made(cast(Any, Paper()))
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.data_received(head + b"1\r\na\r\n" * 40_000 + b"0\r\n\r\n")
        sizes = [len(exchanges[0].body)]
        while sizes[-1] < 40_000:
            await asyncio.sleep(0)
            sizes.append(len(exchanges[0].body))
        steps = [after - before for before, after in pairwise(sizes)]
        assert sizes[0] < 1_000
        assert max(steps) < 40_000 / 2, "it was read all at once"
        connection.connection_lost(None)


async def test_a_client_that_goes_away_while_it_waits_is_seen():
    async with serving(Patient) as (_, port, exchanges):
        async with connected(port) as client:
            await client.send(ASK)
            await until(lambda: exchanges)
        await until(lambda: exchanges[0].later.is_gone)
        exchanges[0].later.finish()  # what is written to a closed connection is dropped


async def test_requests_that_come_before_their_turn_are_answered_in_it():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        post = b"POST /%d HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        await client.send(*[post % number for number in range(50)])
        for number in range(50):
            await until(partial(begun, exchanges, number))
            await asyncio.sleep(0)
            assert len(exchanges) == number + 1
            assert (exchanges[number].target, exchanges[number].body) == (f"/{number}", b"abc")
            Echo.finish(exchanges[number])
            assert (await client.answer()).content == b"abc"


async def test_what_is_asked_ahead_is_kept_as_it_came():
    async with serving(Silent) as (server, port, exchanges), connected(port) as client:
        await client.send(ASK * 20_000)
        await until(lambda: exchanges)
        [connection] = server._connections
        await until(lambda: connection._backlog)
        assert (len(connection._backlog) - 1) * len(ASK) <= MAX_AHEAD_BYTES
        for number in range(1_000):
            await until(partial(begun, exchanges, number))
            Echo.finish(exchanges[number])
            assert (await client.answer()).status == 200
            assert (len(connection._backlog or ()) - 1) * len(ASK) <= MAX_AHEAD_BYTES


@pytest.mark.parametrize("size", [1, 3_000, 100_000])
async def test_a_body_in_chunks_of_any_size_is_read(size):
    async with serving() as (_, port, _), connected(port) as client:
        body = bytes(range(256)) * 1_024
        chunks = [body[at : at + size] for at in range(0, len(body), size)]
        head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        await client.send(head + b"".join(map(as_chunk, chunks)) + CHUNKS_END + ASK)
        assert (await client.answer()).content == body
        assert (await client.answer()).content == b""


async def test_behind_a_body_no_more_is_read_ahead():
    async with serving(Silent) as (server, port, exchanges), connected(port) as client:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n"
        await client.send(head, b"x" * 200_000 + ASK * 20_000)
        await until(lambda: exchanges and len(exchanges[0].body) == 200_000)
        [connection] = server._connections
        await until(lambda: connection._backlog)
        assert (len(connection._backlog) - 1) * len(ASK) <= MAX_AHEAD_BYTES
        Echo.finish(exchanges[0])
        assert len((await client.answer()).content) == 200_000


class Talkative(Echo):
    """One that says much, at once."""

    @override
    def finish(self):
        self.body = b"x" * 100_000
        super().finish()


async def test_no_more_requests_are_read_from_a_client_that_reads_no_answer():
    async with serving(Talkative) as (_, port, exchanges), connected(port) as client:
        client.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await client.send(ASK * 1_000)
        await until(lambda: exchanges)
        count = 0
        while count < len(exchanges):  # until no more of them is taken up
            count = len(exchanges)
            await asyncio.sleep(0.2)
        assert 0 < count < 500
        client.writer.transport.resume_reading()  # type: ignore[attr-defined]
        for _ in range(1_000):
            assert len((await client.answer()).content) == 100_000
        assert len(exchanges) == 1_000


async def test_what_comes_behind_an_expectation_is_its_body():
    async with serving() as (_, port, exchanges), connected(port) as client:
        post = b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: %d\r\n\r\n"
        await client.send(post % len(ASK), ASK, ASK)
        assert (await client.answer()).status == 100
        assert (await client.answer()).content == ASK
        assert (await client.answer()).content == b""
        assert len(exchanges) == 2


async def test_a_body_waits_for_its_reader():
    async with serving(Slow) as (_, port, exchanges), connected(port) as client:
        body = bytes(range(256)) * 8_192
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        sending = asyncio.create_task(client.send(head, body, ASK))
        await until(lambda: exchanges and exchanges[0].body)
        await asyncio.sleep(0.1)
        first = len(exchanges[0].body)
        assert first < len(body)
        while len(exchanges[0].body) < len(body):
            taken, held = exchanges[0].taken, len(exchanges[0].body)
            taken.set_result(None)
            await until(partial(grown, exchanges[0], held))
        exchanges[0].taken.set_result(None)
        assert (await client.answer()).content == body
        assert (await client.answer()).content == b""
        await sending


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_an_answer_in_pieces_ends_where_its_client_can_see_it(version):
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(f"GET / HTTP/{version}\r\nHost: x\r\nConnection: keep-alive\r\n\r\n")
        await until(lambda: exchanges)
        writer = exchanges[0].writer
        await writer.start(200, {"Content-Type": "text/plain"})
        for piece in (b"one", b"", b"two"):
            await writer.send(piece)
        writer.finish()
        answer = await client.head()
        if version == "1.1":
            assert [await client.chunk() for _ in range(3)] == [b"one", b"two", b""]
            await client.send(ASK)
            await until(lambda: len(exchanges) == 2)
        else:
            assert answer.headers["Connection"] == "close"
            assert await client.rest() == b"onetwo"


@pytest.mark.parametrize("version", ["1.0", "1.1"])
async def test_behind_what_a_client_has_already_stands_the_next_answer(version):
    ask = f"GET / HTTP/{version}\r\nHost: x\r\nConnection: keep-alive\r\n\r\n"
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        for number in range(2):
            await client.send(ask)
            await until(partial(begun, exchanges, number))
            writer = exchanges[number].writer
            await writer.start(304, {"ETag": '"1"'})
            writer.finish()
            answer = await client.head()
            assert answer.status == 304
            assert "Transfer-Encoding" not in answer.headers


async def test_an_old_client_is_told_that_its_connection_stays():
    async with serving() as (_, port, _), connected(port) as client:
        for _ in range(2):
            await client.send(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            assert (await client.answer()).headers["Connection"] == "keep-alive"
        await client.send(b"GET / HTTP/1.0\r\n\r\n")
        assert (await client.answer()).headers["Connection"] == "close"
        assert await client.is_closed()


async def test_no_header_smuggles_another():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        for value in ("a\r\nSet-Cookie: b", "a\nb"):
            with pytest.raises(ValueError, match="line break"):
                exchanges[0].writer.respond(200, [("A", value)], b"", is_last=False)


async def test_there_are_no_more_connections_than_there_is_room_for():
    async with serving() as (server, port, _), AsyncExitStack() as stack:
        server._room = 3
        clients = [await stack.enter_async_context(connected(port)) for _ in range(4)]
        assert (await clients[3].answer()).status == 503
        assert await clients[3].is_closed()
        await clients[0].send(ASK)
        assert (await clients[0].answer()).status == 200
