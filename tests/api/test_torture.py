"""Connections that misbehave: they are refused or closed, and all others are served."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import pytest_asyncio

from server.api.bodies import BODIES_AT_ONCE
from server.main import TRANSPORTS
from testkit.clients.api import Client, basic
from testkit.clients.raw_sockets import connected, request, until
from testkit.clients.server import Server

pytestmark = pytest.mark.asyncio

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TURNS = 20
SLOWEST_SECONDS = 20.0
"""Of an ordinary request beside an attack, on a busy machine."""


@pytest_asyncio.fixture(params=TRANSPORTS)
async def server(serving_with, request):
    async with serving_with(max_body_bytes=65_536, transport=request.param) as server:
        yield server


@pytest_asyncio.fixture
async def client(log_in) -> Client:
    client: Client = await log_in()
    return client


@asynccontextmanager
async def others_are_served(client: Client) -> AsyncIterator[None]:
    """While the block runs, and after it, an ordinary client gets its answers."""
    finished = asyncio.Event()

    async def go_on() -> None:
        while not finished.is_set():
            await ask_once(client)

    async with asyncio.TaskGroup() as group:
        group.create_task(go_on())
        yield
        finished.set()
    await ask_once(client)


async def ask_once(client: Client) -> None:
    async with asyncio.timeout(SLOWEST_SECONDS):
        await client.get("/users/me")


def ask(client: Client, path: str = "/users/me", **headers: str) -> bytes:
    return request("GET", path, host=client.host, Authorization=auth(client), **headers)


def auth(client: Client) -> str:
    return basic(client.email or "", client.api_key or "")


GARBAGE = [
    b"\0" * 100 + b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)) + b"\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /api/v1/users/me\r\n\r\n",
    b"GET /api/v1/users/me HTTP/9.9\r\n\r\n",
    b"G\xc3\x84T / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    b"GET / HTTP/1.1\r\n: empty\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost : x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nA: \x00\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 6\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1e3\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\nhello\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 100 + b"\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\nhello",
]


@pytest.mark.parametrize("garbage", GARBAGE, ids=range(len(GARBAGE)))
async def test_garbage_is_told_in_the_envelope_and_closed(server, client, garbage):
    async with connected(server.port) as connection:
        await connection.send(garbage)
        answer = await connection.answer()
        assert answer.status in (400, 404)
        assert answer.body["result"] == "error"
        assert answer.body["code"] == "BAD_REQUEST"
        if answer.status == 400:
            assert answer.headers["Connection"] == "close"
            assert await connection.is_closed()
    await ask_once(client)


async def test_random_bytes_harm_no_other_client(server, client):
    chance = random.Random(7)
    async with others_are_served(client):
        for _ in range(100):
            async with connected(server.port) as connection:
                await connection.send(chance.randbytes(chance.randrange(1, 2000)), b"\r\n\r\n")
                if chance.random() < 0.5:
                    await connection.rest()


@pytest.mark.parametrize(
    "head",
    [
        b"GET /api/v1/users/me HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 70_000 + b"\r\n\r\n",
        b"GET /api/v1/users/me HTTP/1.1\r\n" + b"A: b\r\n" * 200_000 + b"\r\n",
        b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        b"x" * 3_000_000,
    ],
    ids=["one", "many", "path", "endless"],
)
async def test_a_huge_head_is_told_to_be_too_large(server, client, head):
    async with others_are_served(client), connected(server.port) as connection:
        sending = asyncio.create_task(connection.send(head))
        answer = await connection.answer()
        # What cannot become a request is malformed as soon as that is seen.
        statuses = (431,) if head.startswith(b"GET") else (400, 431)
        assert answer.status in statuses
        assert answer.body["code"] == "BAD_REQUEST"
        assert await connection.is_closed()
        await asyncio.gather(sending, return_exceptions=True)


async def test_a_head_that_just_fits_is_served(server, client):
    async with connected(server.port) as connection:
        await connection.send(ask(client, X_Padding="x" * 60_000))
        assert (await connection.answer()).status == 200


async def test_heads_that_come_byte_by_byte_do_not_block_others(server, client):
    async with AsyncExitStack() as stack, others_are_served(client):
        slow = [await stack.enter_async_context(connected(server.port)) for _ in range(200)]
        text = ask(client)
        for position in range(TURNS):
            await asyncio.gather(*(c.send(text[position : position + 1]) for c in slow))
        await asyncio.gather(*(c.send(text[TURNS:]) for c in slow))
        answers = await asyncio.gather(*(c.answer() for c in slow))
    assert {answer.status for answer in answers} == {200}


async def test_bodies_that_never_come_do_not_block_others(server, client):
    async with AsyncExitStack() as stack, others_are_served(client):
        for number in range(100):
            slow = await stack.enter_async_context(connected(server.port))
            await slow.send(
                request("POST", "/messages", host=client.host, Content_Length="1000"), b"a" * number
            )


async def test_bodies_take_no_more_than_their_room_and_the_newest_are_heard(server, client):
    room = server.api.handler_context.body_budget
    whole = room.left
    size = room.max_body_bytes
    async with AsyncExitStack() as stack:
        slow = []
        for _ in range(3 * BODIES_AT_ONCE):
            each = await stack.enter_async_context(connected(server.port))
            slow.append(each)
            await each.send(
                request("POST", "/messages", host=client.host, Content_Length=str(size)),
                b"x" * (size - 1),
            )
        await until(lambda: 0 <= room.left < size)
        async with others_are_served(client):
            await client.post("/messages/flags", messages=[], op="add", flag="read")
            first, last = slow[0], slow[-1]
            for each in (first, last):
                await each.send(b"x")
            assert (await first.answer()).status == 503
            assert (await last.answer()).status == 401
    await until(lambda: room.left == whole)


async def test_a_half_closed_connection_is_let_go(server, client):
    async with others_are_served(client):
        for text in (b"", b"GET /api/v1/users/me HTT", ask(client)):
            async with connected(server.port) as connection:
                await connection.send(text)
                connection.writer.write_eof()
                await connection.rest()
    await until(lambda: not server.api.in_progress)


async def test_a_connection_that_is_cut_within_its_body_is_let_go(server, client):
    async with others_are_served(client):
        for _ in range(50):
            async with connected(server.port) as connection:
                await connection.send(
                    request("POST", "/messages", host=client.host, Content_Length="100"), b"abc"
                )


async def test_hundreds_of_requests_at_once_on_one_connection_are_answered_in_turn(server, client):
    async with others_are_served(client), connected(server.port) as connection:
        sending = asyncio.create_task(
            connection.send(*(ask(client, f"/users/me?n{n}=1") for n in range(300)))
        )
        for number in range(300):
            answer = await connection.answer()
            assert answer.body["ignored_parameters_unsupported"] == [f"n{number}"]
        await sending


async def test_who_asks_before_sending_is_told_to_go_on(server, client):
    async with connected(server.port) as connection:
        form = b"op=add&flag=starred&messages=[]"
        await connection.send(
            request(
                "POST",
                "/messages/flags",
                host=client.host,
                Authorization=auth(client),
                Content_Type="application/x-www-form-urlencoded",
                Content_Length=str(len(form)),
                Expect="100-continue",
            )
        )
        assert (await connection.head()).status == 100
        await connection.send(form)
        assert (await connection.answer()).status == 200


async def test_trailers_that_come_too_late_are_refused_and_change_nothing(server, client):
    async with connected(server.port) as connection:
        await connection.send(
            request(
                "POST",
                "/messages/flags",
                host=client.host,
                Authorization=auth(client),
                Content_Type="application/x-www-form-urlencoded",
                Transfer_Encoding="chunked",
            ),
            b"1f\r\nop=add&flag=starred&messages=[]\r\n0\r\nAuthorization: Basic eA==\r\n\r\n",
        )
        answer = await connection.answer()
        assert (answer.status, answer.body["result"]) == (400, "error")
        assert await connection.is_closed()


async def test_a_client_that_does_not_read_holds_only_itself_up(server, client, make):
    members = await make.users(1000)
    assert members
    async with AsyncExitStack() as stack, others_are_served(client):
        for _ in range(5):
            deaf = await stack.enter_async_context(connected(server.port))
            deaf.writer.transport.pause_reading()  # type: ignore[attr-defined]
            await deaf.send(*[ask(client, "/users")] * 5)


async def test_attackers_leave_nothing_behind(server: Server, client: Client):
    tasks = len(asyncio.all_tasks())
    async with AsyncExitStack() as stack:
        for number in range(50):
            attacker = await stack.enter_async_context(connected(server.port))
            await attacker.send(GARBAGE[number % len(GARBAGE)])
            await attacker.answer()
    await ask_once(client)
    await until(lambda: len(asyncio.all_tasks()) <= tasks + 2)
