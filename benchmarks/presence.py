"""The cost of pings, with full responses or none: in sequence, all at once, at a steady rate."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from benchmarks.world import World

PEOPLE = 2_500
PRESENT = 1_000
"""The people present at first: a response holds so many."""
CONNECTIONS = 8
PINGS = 1_000
RATE = 10_000 / 60
FORMS: dict[str, dict[str, Any]] = {
    "ping alone": {"ping_only": True},
    "full answer": {"last_update_id": -1},
    "full legacy answer": {},
}


@dataclass(frozen=True, slots=True)
class Measured:
    """Some pings: what they took."""

    cpu_seconds: float
    """Processor time of the server for each ping."""
    latencies: list[float]
    crowded: list[float]
    """Latencies where all connections ask at once: each waits for the answers to the others, so
    they say how many are answered in a second and nothing of one."""


def measure(server: Server, database: psycopg.Connection[Any]) -> dict[str, Measured]:
    """Pings by kind; the last are 10,000 a minute, each of a user who was not there before.

    Their answers hold the 1,000 who were, and those who have come meanwhile.
    """
    world = worlds.fill(database, people=PEOPLE)
    return uvloop.run(_measure(server, world))


async def _measure(server: Server, world: World) -> dict[str, Measured]:
    people = [Client(server.port, world.email(n), worlds.API_KEY) for n in range(1, PEOPLE + 1)]
    present, absent = people[:PRESENT], people[PRESENT:]
    connections = people[:CONNECTIONS]
    # Who they are is known from their first request on.
    await _all(server, connections, [each.request("GET", "/users/me") for each in absent])
    await _all(server, connections, _pings(present, ping_only=True))
    await asyncio.sleep(1.5)
    measured = {}
    for name, fields in FORMS.items():
        pings = _pings(present[:PINGS], **fields)
        alone = await _all(server, connections[:1], pings)
        crowded = await _all(server, connections, pings)
        measured[name] = Measured(crowded.cpu_seconds, alone.latencies, crowded.latencies)
    coming = _pings(absent, last_update_id=0)
    measured["ping of 10,000 a minute"] = await _at_rate(server, connections, coming)
    return measured


def _pings(people: Iterable[Client], **fields: Any) -> list[bytes]:
    fields = {"status": "active", **fields}
    return [each.request("POST", "/users/me/presence", **fields) for each in people]


async def _all(server: Server, connections: Sequence[Client], pings: Sequence[bytes]) -> Measured:
    """One after another on each connection."""
    latencies: list[float] = []
    before = server.cpu_seconds()

    async def send(number: int) -> None:
        connection = connections[number]
        latencies.extend(
            [await connection.timed(ping) for ping in pings[number :: len(connections)]]
        )

    await asyncio.gather(*[send(number) for number in range(len(connections))])
    return Measured((server.cpu_seconds() - before) / len(pings), latencies, [])


async def _at_rate(
    server: Server, connections: Sequence[Client], pings: Sequence[bytes]
) -> Measured:
    """At 10,000 a minute, whatever the answers take."""
    latencies: list[float] = []
    free: asyncio.Queue[Client] = asyncio.Queue()
    for each in connections:
        free.put_nowait(each)

    async def send(ping: bytes, due: float) -> None:
        connection = await free.get()
        await connection.timed(ping)
        latencies.append(time.perf_counter() - due)
        free.put_nowait(connection)

    before, begin = server.cpu_seconds(), time.perf_counter()
    async with asyncio.TaskGroup() as sending:
        for number, ping in enumerate(pings):
            due = begin + number / RATE
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sending.create_task(send(ping, due))
    return Measured((server.cpu_seconds() - before) / len(pings), latencies, [])
