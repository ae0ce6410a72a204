"""Many who each have a queue in one channel, and what they ask."""

import asyncio
import time
from collections.abc import Iterable
from typing import Any, Final, Protocol

import psycopg

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
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
    server: Server, world: World, queue_ids: Iterable[str], last_ids: dict[int, int]
) -> list[bytes]:
    """The bytes of everybody's next poll."""
    return [
        Client(server.port, world.email(number + 1), worlds.API_KEY).request(
            "GET", "/events", queue_id=queue_id, last_event_id=last_ids.get(number, -1)
        )
        for number, queue_id in enumerate(queue_ids)
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
