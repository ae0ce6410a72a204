"""Our own server's connections: clients that send garbage or no more still get their answers."""

import asyncio
from functools import partial
from unittest.mock import MagicMock

import pytest

from server.api.exchanges import _DeferredExchange
from server.transport.limits import MAX_AHEAD_BYTES
from testkit.clients.api import basic
from testkit.clients.raw_sockets import connected, request, until
from tests.transport.exchanges import ASK, Echo, Patient, Silent, Slow, begun, grown, serving

pytestmark = pytest.mark.asyncio

GARBAGE = b"\0\0\0\r\n\r\n"


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_garbage_is_refused_behind_the_answers_to_what_is_sound(is_at_once):
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(*[ASK * 3 + GARBAGE] if is_at_once else [ASK * 3, GARBAGE])
        for number in range(3):
            await until(partial(begun, exchanges, number))
            Echo.finish(exchanges[number])
            assert (await client.answer()).status == 200
        assert (await client.answer()).status == 400
        assert await client.is_closed()
        assert [each.is_gone for each in exchanges] == [False] * 3


async def test_garbage_in_a_request_is_refused_in_its_place():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        post = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        await client.send(ASK + post + b"garbage\r\n")
        await until(lambda: exchanges)
        Echo.finish(exchanges[0])
        assert (await client.answer()).status == 200
        assert (await client.answer()).status == 400
        assert await client.is_closed()
        assert len(exchanges) == 1


async def test_behind_the_last_request_anything_may_come():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" + GARBAGE)
        await until(lambda: exchanges)
        await client.send(GARBAGE, ASK)
        Echo.finish(exchanges[0])
        assert (await client.answer()).status == 200
        assert await client.is_closed()
        assert len(exchanges) == 1


@pytest.mark.parametrize("is_at_once", [True, False])
async def test_a_poll_that_waits_ends_without_an_answer_when_garbage_comes(is_at_once):
    async with serving(Patient) as (_, port, exchanges), connected(port) as client:
        await client.send(*[ASK + GARBAGE] if is_at_once else [ASK, GARBAGE])
        assert await client.is_closed()
        assert exchanges[0].later.is_gone


async def test_garbage_behind_a_request_waits_for_an_answer_that_is_under_way():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        writer = exchanges[0].writer
        await writer.start(200, {"Content-Length": "6"})
        await writer.send(b"abc")
        await client.send(GARBAGE)
        await client.head()
        await writer.send(b"def")
        writer.finish()
        assert (await client.rest()).startswith(b"abcdefHTTP/1.1 400 ")
        assert not exchanges[0].is_gone


async def test_garbage_in_a_body_ends_an_answer_that_is_under_way():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        await until(lambda: exchanges)
        await exchanges[0].writer.start(200, {"Content-Length": "1000"})
        await exchanges[0].writer.send(b"abc")
        await client.head()
        await client.send(GARBAGE)
        assert await client.rest() == b"abc"
        assert exchanges[0].is_gone


# -- clients that send nothing more


async def test_after_its_eof_a_client_gets_the_answers_and_then_the_end():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        post = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"
        count = 2 * MAX_AHEAD_BYTES // len(post)
        await client.send(post * count)
        client.writer.write_eof()
        for number in range(count):
            await until(partial(begun, exchanges, number))
            await asyncio.sleep(0)
            Echo.finish(exchanges[number])
            assert (await client.answer()).content == b"abc"
        assert await client.is_closed()
        assert not any(each.is_gone for each in exchanges)


async def test_what_was_asked_before_the_end_is_done_and_told(serving_with, log_in):
    async with serving_with(transport="httptools") as server, connected(server.port) as connection:
        client = await log_in()
        authorization = basic(client.email, client.api_key)
        typed = {"Content_Type": "application/x-www-form-urlencoded"}
        asked = [
            request(
                "POST",
                "/users/me/status",
                host=client.host,
                body=b"status_text=%d" % number,
                Authorization=authorization,
                **typed,
            )
            for number in range(3)
        ]
        await connection.send(*asked)
        connection.writer.write_eof()
        for _ in asked:
            assert (await connection.answer()).status == 200
        assert await connection.is_closed()
        status = await client.call("GET", f"/users/{client.user.user_id}/status")
        assert status.body["status"]["status_text"] == "2"


@pytest.mark.parametrize("is_under_way", [True, False])
async def test_a_stream_ends_after_the_clients_eof(is_under_way):
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        writer = exchanges[0].writer
        if is_under_way:
            await writer.start(200, {})
        client.writer.write_eof()
        if not is_under_way:
            await until(lambda: writer._heard_all)
            await writer.start(200, {})
        assert (await client.rest()).endswith(b"chunked\r\n\r\n")
        assert exchanges[0].is_gone


async def test_after_its_eof_a_client_gets_all_of_an_answer_in_pieces():
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        client.writer.write_eof()
        await until(lambda: exchanges)
        writer = exchanges[0].writer
        await writer.start(200, {"Content-Length": "2000000"})
        for _ in range(20):
            await writer.send(b"x" * 100_000)
        writer.finish()
        assert len((await client.answer()).content) == 2_000_000
        assert await client.is_closed()


async def test_a_body_that_waits_here_is_taken_although_nothing_more_comes():
    async with serving(Slow) as (_, port, exchanges), connected(port) as client:
        size = 10 * MAX_AHEAD_BYTES
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size
        await client.send(head, b"x" * size, ASK)
        client.writer.write_eof()
        await until(lambda: exchanges and exchanges[0].body)
        while len(exchanges[0].body) < size:
            taken, held = exchanges[0].taken, len(exchanges[0].body)
            taken.set_result(None)
            await until(partial(grown, exchanges[0], held))
        exchanges[0].taken.set_result(None)
        assert len((await client.answer()).content) == size
        assert (await client.answer()).content == b""
        assert await client.is_closed()


async def test_a_poll_ends_after_the_clients_eof():
    async with serving(Patient) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK)
        await until(lambda: exchanges)
        client.writer.write_eof()
        assert await client.is_closed()
        assert exchanges[0].later.is_gone


async def test_a_poll_that_comes_to_wait_after_the_clients_eof_ends():
    async with serving(Silent) as (server, port, exchanges), connected(port) as client:
        await client.send(ASK)
        client.writer.write_eof()
        await until(lambda: exchanges)
        [connection] = server._connections
        await until(lambda: connection._heard_all)
        later = Echo(exchanges[0].writer)
        exchanges[0].writer.hand_over(later)
        assert await client.is_closed()
        assert later.is_gone


@pytest.mark.parametrize(
    "sent",
    [
        b"Content-Length: 9\r\n\r\nabc",
        b"Transfer-Encoding: chunked\r\n\r\n9\r\nabc",
        b"Expect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    ],
)
async def test_half_a_request_before_the_clients_eof_is_none(sent):
    async with serving(Silent) as (_, port, exchanges), connected(port) as client:
        await client.send(ASK, b"POST / HTTP/1.1\r\nHost: x\r\n" + sent)
        client.writer.write_eof()
        await until(lambda: exchanges)
        Echo.finish(exchanges[0])
        assert (await client.answer()).status == 200
        rest = await client.rest()
        assert rest in (b"", b"HTTP/1.1 100 Continue\r\n\r\n")
        assert all(each.is_gone for each in exchanges[1:])


async def test_an_answer_to_a_connection_that_closes_is_the_end_of_waiting_once():
    """Under TLS a client may have ended its half, and the connection not be lost yet."""
    server, later = MagicMock(waiting=0), MagicMock()
    for ends in (["take"], ["close"], ["take", "close"], ["close", "take"]):
        waiting = _DeferredExchange(server, MagicMock(), MagicMock(), 0.0, {}, later, None)
        assert server.waiting == 1
        for end in ends:
            if end == "take":
                waiting.deliver(b"{}")
            else:
                waiting.on_connection_close()
        assert server.waiting == 0
    assert server.respond.call_count == 2
    assert later.give_up.call_count == 2
