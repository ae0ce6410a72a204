"""What a poll that waits keeps in memory, and what is left of it: there are thousands."""

import gc
import tracemalloc
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

import server as parley
from server.realtime.poll import WaitingPoll
from server.transport import acceptor_pool
from server.transport.reading import RequestReader
from testkit.clients.api import basic
from testkit.clients.raw_sockets import connected, request, until
from testkit.factories import Make
from tests.transport.exchanges import ASK, serving

pytestmark = pytest.mark.asyncio

POLLS = 50
"""Few enough that, on a slow machine, none gets its heartbeat before the last one waits."""
MAX_ROUNDS = 3
BYTES = 1_150
"""Our own objects for each: a connection, what answers on it, the poll, and its queue."""
OURS = f"{Path(parley.__file__).parent}/*"


def kept() -> int:
    """Bytes that were allocated by our own code and are still there."""
    gc.collect()
    ours = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, OURS)])
    return sum(each.size for each in ours.statistics("filename"))


async def test_a_poll_that_waits_keeps_little(serving_with, make: Make, connect, monkeypatch):
    monkeypatch.setattr(
        acceptor_pool, "BURST_CONNECTIONS", POLLS * 10
    )  # what is kept for a crowd goes with it
    async with serving_with(transport="httptools") as server, AsyncExitStack() as stack:
        alice = await make.user("Alice")
        client = await connect(server, make.realm_id, alice)
        host = await server.host_of(make.realm_id)
        authorization = basic(alice.email, alice.api_key)

        async def wait_with(count: int) -> None:
            before = server.app.realtime.waiting()
            for _ in range(count):
                queue = await client.register(event_types=["message"], fetch_event_types=[])
                path = f"/events?queue_id={queue.queue_id}&last_event_id=-1"
                poll = await stack.enter_async_context(connected(server.port))
                await poll.send(request("GET", path, host=host, Authorization=authorization))
            await until(lambda: server.app.realtime.waiting() == before + count)

        await wait_with(10)
        taken: list[float] = []
        tracemalloc.start()
        try:
            # What else the server does meanwhile, on a slow machine more of it, is in some rounds.
            while len(taken) < MAX_ROUNDS and min(taken, default=BYTES) >= BYTES:
                before = kept()
                await wait_with(POLLS)
                taken.append((kept() - before) / POLLS)
        finally:
            tracemalloc.stop()
        assert 300 < min(taken) < BYTES, taken


async def test_a_poll_that_is_over_is_no_garbage(serving_with, make: Make, connect):
    async with serving_with(transport="httptools") as server:
        alice = await make.user("Alice")
        client = await connect(server, make.realm_id, alice)
        queue = await client.register(event_types=["message"], fetch_event_types=[])
        host = await server.host_of(make.realm_id)
        path = f"/events?queue_id={queue.queue_id}&last_event_id=-1"
        authorization = basic(alice.email, alice.api_key)
        poll = request("GET", path, host=host, Authorization=authorization)
        gc.collect()
        gc.disable()
        try:
            async with connected(server.port) as answered, connected(server.port) as gone:
                await answered.send(poll)
                await until(lambda: server.app.realtime.waiting() == 1)
                await gone.send(poll)
                assert (await answered.answer()).status == 200
                await until(lambda: server.app.realtime.waiting() == 1)
            await until(lambda: server.app.realtime.waiting() == 0)
            assert not [each for each in gc.get_objects() if isinstance(each, WaitingPoll)]
        finally:
            gc.enable()


async def test_what_has_read_a_request_is_no_garbage():
    gc.collect()
    gc.disable()
    try:
        async with serving() as (_, port, _), connected(port) as client:
            for _ in range(3):
                await client.send(ASK)
                await client.answer()
        assert not [each for each in gc.get_objects() if type(each) is RequestReader]
    finally:
        gc.enable()
