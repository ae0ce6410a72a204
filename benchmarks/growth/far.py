"""The axes of growth with more clients than one process serves: how far one installation goes."""

import asyncio
import time
from bisect import bisect_right
from typing import Final

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.crowds import waiting
from benchmarks.crowds.masses import come_at_once, masses
from benchmarks.crowds.waking import longest
from benchmarks.figures import Figures, percentile
from benchmarks.growth.cost import TEXT, Measured, Operation, costs
from benchmarks.probe import Answer, Probe
from benchmarks.server import Server, running
from benchmarks.serving import Processes, processes
from benchmarks.world import World

SUBSCRIBERS: Final = 100_000
QUEUE_PROCESSES: Final = 8
LISTENER_PROCESSES: Final = 2
"""One for each processor: more of them would hold up each other."""
REGISTER_PROCESSES: Final = 2
MESSAGES: Final = 5
DIRECT_MESSAGES: Final = 400
FOLLOWED_SECONDS: Final = 20.0
BETWEEN_SECONDS: Final = 6.0
"""From one message to all listeners to the next."""


def queues(sizes: tuple[int, ...]) -> Measured:
    """A growing number of clients that poll, and a direct message between two.

    One process may not have as many files open as there are clients in the largest.
    """
    with running() as server:
        with server.database() as database:
            world, _, queue_ids = waiting.fill(database, max(sizes))
        with processes(server, QUEUE_PROCESSES) as serving, masses(serving.port) as crowd:
            requests = waiting.polls(serving.port, world, queue_ids)
            client = Client(serving.port, world.email(1), worlds.API_KEY)
            to_other = client.request(
                "POST", "/messages", type="direct", to=[world.first_user_id + 1], content=TEXT
            )
            sent = Operation("direct message", to_other, DIRECT_MESSAGES)
            uvloop.run(waiting.settled(serving))
            there, before = 0, serving.pss_mib()
            for size in sizes:
                crowd.come(requests[there:size])
                there = size
                uvloop.run(waiting.settled(serving))
                memory = serving.pss_mib()
                figures = {"a waiting queue, KiB": (memory - before) * 1024 / size}
                figures |= uvloop.run(costs(serving, client, [sent]))
                client.close()
                yield size, figures | {"all processes MiB": memory}


def listeners(sizes: tuple[int, ...]) -> Measured:
    """A message to a channel of 100,000 subscribers, a growing number of which wait for it."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=SUBSCRIBERS)
            channel_id = worlds.channel(database, world, "crowd", SUBSCRIBERS)
            queue_ids = worlds.queues(database, world, max(sizes))
        begun: dict[int, list[float]] = {}
        held: dict[int, list[Answer]] = {}
        with processes(server, LISTENER_PROCESSES) as serving, masses(serving.port) as crowd:
            requests = waiting.polls(serving.port, world, queue_ids)
            there = 0
            for size in sizes:
                crowd.come(requests[there:size])
                there = size
                uvloop.run(waiting.settled(serving))
                probe = Probe(serving.port)
                begun[size] = uvloop.run(_send_to_all(serving, world, channel_id))
                held[size] = probe.answers()
            arrived = sorted(crowd.leave().arrived)
    for size, begins in begun.items():
        spans = [(begin, _last(arrived, begin, size)) for begin in begins]
        taken = [end - begin for begin, end in spans]
        yield (
            size,
            {
                "the last one, median ms": percentile(taken, 0.5) * 1000,
                "longest hold of others, median ms": percentile(longest(held[size], spans), 0.5)
                * 1000,
            },
        )


def _last(arrived: list[float], begin: float, count: int) -> float:
    """When the last of so many deliveries since then was there."""
    return arrived[bisect_right(arrived, begin) + count - 1]


async def _send_to_all(serving: Processes, world: World, channel_id: int) -> list[float]:
    """When each of some messages was sent; all clients have polled again before the next."""
    sender = Client(serving.port, world.email(1), worlds.API_KEY)
    begun: list[float] = []
    await asyncio.sleep(BETWEEN_SECONDS)
    for number in range(MESSAGES):
        begun.append(time.perf_counter())
        await sender.timed(sender.send_request(channel_id, "topic", f"message {number}"))
        await asyncio.sleep(BETWEEN_SECONDS)
    sender.close()
    return begun


def followed(sizes: tuple[int, ...]) -> Measured:
    """Events a second that one process writes, and what they take another one without clients."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=100)
            channel_id = worlds.channel(database, world, "growth", 100)
        with processes(server, 1) as following:
            for size in sizes:
                yield size, uvloop.run(_follow(server, following, world, channel_id, size))


async def _follow(
    server: Server, following: Processes, world: World, channel_id: int, rate: int
) -> Figures:
    sender = Client(server.port, world.email(1), worlds.API_KEY)
    # An organization is followed where it has been asked for.
    reader = Client(following.port, world.email(2), worlds.API_KEY)
    await reader.get("/users/me")
    reader.close()
    await waiting.settled(following)
    request = sender.send_request(channel_id, "growth", TEXT)
    spent, begin = following.cpu_seconds(), time.perf_counter()
    for number in range(int(rate * FOLLOWED_SECONDS)):
        await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
        await sender.timed(request)
    seconds = time.perf_counter() - begin
    sender.close()
    return {"of a core, %": (following.cpu_seconds() - spent) / seconds * 100}


def registering(sizes: tuple[int, ...]) -> Measured:
    """So many clients that all register within a second, as bots do: for messages alone."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=max(sizes))
            worlds.channel(database, world, "growth", max(sizes))
        with processes(server, REGISTER_PROCESSES) as serving:
            requests = [
                Client(serving.port, world.email(number), worlds.API_KEY).request(
                    "POST", "/register", event_types=["message"]
                )
                for number in range(1, max(sizes) + 1)
            ]
            for size in sizes:
                uvloop.run(waiting.settled(serving))
                spent = serving.cpu_seconds(), serving.database_cpu_seconds()
                answers = come_at_once(serving.port, requests[:size])
                of_server, of_database = serving.cpu_seconds(), serving.database_cpu_seconds()
                yield (
                    size,
                    {
                        "register, p50 ms": percentile(answers.seconds, 0.5) * 1000,
                        "register, p99 ms": percentile(answers.seconds, 0.99) * 1000,
                        "register, server CPU ms": (of_server - spent[0]) / size * 1000,
                        "register, database CPU ms": (of_database - spent[1]) / size * 1000,
                        "refused or lost": answers.refused + answers.lost,
                    },
                )
