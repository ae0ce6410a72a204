"""Many who each have a queue in one channel, and what they ask."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final, Protocol

import psycopg

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.world import World

CHANNEL: Final = "crowd"
SETTLED: Final = 0.05
"""A server that uses no more than this share of a processor has done what there was."""


def fill(database: psycopg.Connection[Any], people: int) -> tuple[World, int, list[str]]:
    """People in one channel, each with a queue."""
    world = worlds.fill(database, people=people)
    channel_id = worlds.channel(database, world, CHANNEL, people)
    return world, channel_id, worlds.queues(database, world, people)


def polls(
    port: int,
    world: World,
    queue_ids: Iterable[str],
    *,
    first: int = 1,
    dont_block: bool = False,
) -> list[bytes]:
    """The bytes of each client's first poll; the first queue is of the person of this number."""
    return [
        Client(port, world.email(number), worlds.API_KEY).request(
            "GET", "/events", queue_id=queue_id, last_event_id=-1, dont_block=dont_block
        )
        for number, queue_id in enumerate(queue_ids, first)
    ]


class Busy(Protocol):
    def cpu_seconds(self) -> float: ...


async def settled(server: Busy) -> None:
    """Wait until the server has done what there was to do."""
    while True:
        before, begin = server.cpu_seconds(), time.perf_counter()
        await asyncio.sleep(0.5)
        if server.cpu_seconds() - before < SETTLED * (time.perf_counter() - begin):
            return
