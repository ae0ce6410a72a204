"""Thousands who have waited ask in the same instant: some in each round of the loop."""

import asyncio
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import pairwise

import pytest
from typing_extensions import override

from server.transport.connection import HttpConnection
from server.transport.read_throttle import MAX_PER_ITERATION
from testkit.clients.raw_sockets import PATIENCE_SECONDS, connected, until
from tests.transport.exchanges import ASK, Echo, Patient, serving

pytestmark = pytest.mark.asyncio

PEOPLE = 10 * MAX_PER_ITERATION
NOW = ASK.replace(b"/", b"/now", 1)


class Asked(Patient):
    """A poll, or what is answered at once."""

    @override
    def finish(self):
        (Echo.finish if self.target == "/now" else Patient.finish)(self)


@asynccontextmanager
async def crowded(people=PEOPLE, tls=None):
    """So many who have asked, and wait for the answer."""
    context = None if tls is None else tls.server
    async with serving(Asked, context) as (server, port, exchanges), AsyncExitStack() as stack:
        clients = []
        for _ in range(people):
            client = await stack.enter_async_context(connected(port, tls and tls.client))
            clients.append(client)
            await client.send(ASK)
        await until(lambda: len(exchanges) == people)
        yield server, port, clients, exchanges


async def answer(clients, exchanges):
    """Send all clients the answer, and forget what had been asked."""
    answered = exchanges.copy()
    exchanges.clear()
    for exchange in answered:
        Echo.finish(exchange)
    for client in clients:
        assert (await client.answer()).status == 200


async def in_each_round(count, all_of_them):
    """How many there are more after each round of the loop, until all are there."""
    counted = [count()]
    async with asyncio.timeout(PATIENCE_SECONDS):
        while counted[-1] < all_of_them:
            await asyncio.sleep(0)
            counted.append(count())
    return [after - before for before, after in pairwise(counted)]


@pytest.mark.parametrize("is_encrypted", [False, True])
async def test_of_a_crowd_that_asks_again_some_are_read_in_each_round(certificate, is_encrypted):
    tls = certificate if is_encrypted else None
    async with crowded(tls=tls) as (_, _, clients, exchanges):
        for _ in range(3):
            await answer(clients, exchanges)
            for client in clients:
                client.writer.write(ASK)
            rounds = await in_each_round(lambda: len(exchanges), PEOPLE)
            assert max(rounds) == MAX_PER_ITERATION


async def test_others_are_read_between():
    async with crowded() as (_, port, clients, exchanges), connected(port) as other:
        await other.send(NOW)
        await other.answer()
        del exchanges[-1]
        await answer(clients, exchanges)
        for client in clients:
            client.writer.write(ASK)
        other.writer.write(NOW)
        await until(lambda: len(exchanges) == PEOPLE + 1)
        assert [each.target for each in exchanges].index("/now") <= MAX_PER_ITERATION


async def test_who_waits_is_not_held(monkeypatch):
    """However many they are: answered ones are held, and no others."""
    async with crowded() as (_, _, clients, exchanges):
        answered = 3 * MAX_PER_ITERATION
        left, held, hold = exchanges[answered:], [], HttpConnection.hold

        def noted(connection):
            held.append(connection)
            return hold(connection)

        monkeypatch.setattr(HttpConnection, "hold", noted)
        del exchanges[answered:]
        await answer(clients[:answered], exchanges)
        for client in clients[:answered]:
            client.writer.write(ASK)
        await until(lambda: len(exchanges) == answered)
        assert held
        assert not {exchange.writer for exchange in left}.intersection(held)
        for exchange in left:
            Echo.finish(exchange)
        for client in clients[answered:]:
            assert (await client.answer()).status == 200


async def test_newcomers_are_read_some_at_a_time_too():
    async with serving(Asked) as (_, port, exchanges), AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(connected(port)) for _ in range(PEOPLE)]
        for client in clients:
            client.writer.write(ASK)
        rounds = await in_each_round(lambda: len(exchanges), PEOPLE)
        assert max(rounds) == MAX_PER_ITERATION


async def test_of_who_has_left_nothing_is_expected():
    async with crowded() as (server, _, clients, exchanges):
        await answer(clients, exchanges)
        assert len(server.read_throttle._expected) == PEOPLE
        for client in clients:
            client.reset()
        await until(lambda: not server._connections)
        assert not server.read_throttle._expected


async def test_who_leaves_while_held_is_let_go():
    async with crowded() as (server, _, clients, exchanges):
        await answer(clients, exchanges)
        for client in clients:
            client.writer.write(ASK)
            client.reset()
        await until(lambda: not server._connections and not server.read_throttle._held)
        assert all(each.later.is_gone for each in exchanges)


async def test_few_are_not_held():
    async with crowded(MAX_PER_ITERATION - 1) as (server, _, clients, exchanges):
        await answer(clients, exchanges)
        for client in clients:
            client.writer.write(ASK)
        rounds = await in_each_round(lambda: len(exchanges), MAX_PER_ITERATION - 1)
        assert max(rounds) == MAX_PER_ITERATION - 1
        assert not server.read_throttle._held


async def test_who_is_held_is_read_again_only_where_there_is_room():
    async with crowded() as (server, _, clients, exchanges):
        await answer(clients, exchanges)
        for client in clients:
            client.writer.write(ASK * 3)
        await until(lambda: len(exchanges) == PEOPLE and not server.read_throttle._held)
        assert not any(each._transport.is_reading() for each in server._connections)
        for left in (PEOPLE, PEOPLE, 0):
            await answer(clients, exchanges)
            assert len(exchanges) == left
        assert all(each._transport.is_reading() for each in server._connections)


async def test_a_crowd_is_closed_while_it_is_held():
    async with crowded() as (server, _, clients, exchanges):
        await answer(clients, exchanges)
        for client in clients:
            client.writer.write(ASK)
        await in_each_round(lambda: len(server.read_throttle._held), 1)  # it is soon over
        await server.close()
        for client in clients:
            await client.is_closed()
        await until(lambda: not server.read_throttle._held)
