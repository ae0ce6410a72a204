"""The measurements with thousands of clients."""

import asyncio

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.crowds.delivering import QUEUES, Delivered, deliveries_at, most_deliveries
from benchmarks.crowds.masses import come_back, wait_in_thousands
from benchmarks.crowds.slow_sockets import stand
from benchmarks.crowds.waiting import fill
from benchmarks.crowds.waking import WAITING, wake
from benchmarks.figures import Figures, milliseconds, percentile
from benchmarks.server import Server, running


def queue_memory() -> Figures:
    """KiB (RSS) of the serving process for each of 5,000 waiting queues with their connections."""
    count = 5_000
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=count)
            worlds.channel(database, world, "memory", count)
        uvloop.run(_wait_with(server, world, 50))
        before = server.rss_kib()
        after = uvloop.run(_wait_with(server, world, count))
    return {"waiting queue KiB": (after - before) / count}


async def _wait_with(server: Server, world: worlds.World, count: int) -> int:
    people = clients(server, world, count)
    limit = asyncio.Semaphore(20)
    registered = 0

    async def wait(client: Client) -> None:
        nonlocal registered
        async with limit:
            queue_id = await client.register(event_types=["message"], fetch_event_types=[])
        registered += 1
        await client.get("/events", queue_id=queue_id, last_event_id=-1)

    waiting = [asyncio.create_task(wait(client)) for client in people]
    while registered < count:  # noqa: ASYNC110 - a look now and then is enough here
        await asyncio.sleep(0.1)
    await asyncio.sleep(3)
    memory = server.rss_kib()
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    for client in people:
        client.close()
    return memory


def waking() -> Figures:
    """One message to 2,000 queues that wait, and how long it holds up others."""
    with running() as server:
        with server.database() as database:
            world, channel_id, queue_ids = fill(database, WAITING)
        woken = uvloop.run(wake(server, world, channel_id, queue_ids))
    return {
        "waking 2,000, the last one, median ms": percentile(woken.last, 0.5) * 1000,
        "waking 2,000, longest hold, median ms": percentile(woken.held, 0.5) * 1000,
        "2,000 ask again, longest hold, median ms": percentile(woken.held_again, 0.5) * 1000,
        **milliseconds("beside, when no client is woken", woken.idle),
    }


def delivery() -> Figures:
    """From a send to its delivery in 200 queues, at 5, 20 and 200 messages a second."""
    rates = 5, 20, 200
    with running() as server:
        with server.database() as database:
            world, channel_id, queue_ids = fill(database, 200)

        async def deliver() -> list[Delivered]:
            at_rates = deliveries_at(server, world, channel_id, queue_ids, rates, seconds=5)
            return [each async for each in at_rates]

        delivered = uvloop.run(deliver())
    figures: Figures = {}
    for rate, each in zip(rates, delivered, strict=True):
        name = f"delivery to 200 queues at {rate}/s"
        figures |= milliseconds(name, each.seconds)
        figures[f"{name}, deliveries a second"] = each.a_second
        figures[f"{name}, CPU ms of the server each"] = each.cpu_seconds * 1000
    return figures


def deliveries() -> Figures:
    """The most deliveries a second to 100 queues that come within a second."""
    with running() as server:
        with server.database() as database:
            world, channel_id, queue_ids = fill(database, QUEUES)
        a_second, late = uvloop.run(most_deliveries(server, world, channel_id, queue_ids))
    return {
        "most deliveries a second to 100 queues": a_second,
        "most deliveries, p99 ms": late * 1000,
    }


def slow_sockets() -> Figures:
    """Sends and fetches, alone and beside 10,000 slow sockets."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=100)
            channel_id = worlds.channel(database, world, "slow", 100)
        beside = uvloop.run(stand(server, world, channel_id))
    before, meanwhile = (percentile(each, 0.99) for each in (beside.before, beside.meanwhile))
    return {
        **milliseconds("without slow sockets", beside.before),
        **milliseconds("beside 10,000 slow sockets", beside.meanwhile),
        "beside 10,000 slow sockets, times the p99": meanwhile / before,
    }


def reconnecting() -> Figures:
    """20,000 clients come back within a second after a restart, to two processes."""
    people = 20_000
    with running() as server:
        answers, of_server, of_database = come_back(server, people, 2)
    return {
        **milliseconds("reconnect of 20,000", answers.seconds),
        "reconnect, 5xx": answers.refused,
        "reconnect, lost": answers.lost,
        "reconnect, clients late by at most ms": answers.late_seconds * 1000,
        "reconnect, server, processor ms each": of_server / people * 1000,
        "reconnect, database, processor ms each": of_database / people * 1000,
        "reconnect, clients, processor ms each": answers.processor_seconds / people * 1000,
    }


def masses() -> Figures:
    """Direct messages while 50,000 clients wait at four processes, and the memory of these."""
    with running() as server:
        taken, mib, answers = wait_in_thousands(server, 50_000, 4)
    return {
        **milliseconds("direct message among 50,000", taken),
        "50,000 waiting MiB": mib,
        "50,000 waiting, refused or cut": answers.lost + answers.refused,
    }
