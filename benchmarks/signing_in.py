"""Measure how sign-ins with passwords slow down concurrent sends."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from benchmarks.world import World

PEOPLE = 200
CONNECTIONS = 8
SENDS_A_SECOND = 100.0
SIGN_INS_A_SECOND = 4.0
SECONDS = 5.0
"""Of each turn: runs with and without sign-ins alternate, so that noise affects both."""
TURNS = 6
PASSWORD = "correct horse battery staple"


@dataclass
class Measured:
    """Seconds from when each was due to its answer."""

    alone: list[float] = field(default_factory=list)
    beside: list[float] = field(default_factory=list)
    """Sends while people sign in."""
    sign_ins: list[float] = field(default_factory=list)


def measure(server: Server, database: psycopg.Connection) -> Measured:
    """Sends at a steady rate, without and with people who sign in."""
    world = worlds.fill(database, people=PEOPLE)
    channel_id = worlds.channel(database, world, "busy", PEOPLE)
    worlds.give_password(database, PASSWORD)
    return uvloop.run(_measure(server, world, channel_id))


async def _measure(server: Server, world: World, channel_id: int) -> Measured:
    measured = Measured()
    people = [
        Client(server.port, world.email(n), worlds.API_KEY) for n in range(1, CONNECTIONS + 1)
    ]
    send = people[0].send_request(channel_id, "benchmark", "A message of an ordinary length.")
    who = [
        people[0].request("POST", "/fetch_api_key", username=world.email(n), password=PASSWORD)
        for n in range(1, PEOPLE + 1)
    ]
    await people[0].timed(send)
    free, doors = asyncio.Queue[Client](), asyncio.Queue[Client]()
    for each in people:
        free.put_nowait(each)
        doors.put_nowait(Client(server.port, "", ""))

    async def one_send(_: int) -> None:
        connection = await free.get()
        await connection.timed(send)
        free.put_nowait(connection)

    async def one_sign_in(number: int) -> None:
        door = await doors.get()
        await door.timed(who[number % PEOPLE])
        doors.put_nowait(door)

    for _ in range(TURNS):
        measured.alone += await _steadily(SENDS_A_SECOND, one_send)
        beside, sign_ins = await asyncio.gather(
            _steadily(SENDS_A_SECOND, one_send), _steadily(SIGN_INS_A_SECOND, one_sign_in)
        )
        measured.beside += beside
        measured.sign_ins += sign_ins
    return measured


async def _steadily(rate: float, ask: Callable[[int], Awaitable[None]]) -> list[float]:
    """Ask at this rate, whatever the answers take; how long each took from when it was due."""
    latencies: list[float] = []

    async def one(number: int, due: float) -> None:
        await ask(number)
        latencies.append(time.perf_counter() - due)

    begin = time.perf_counter()
    async with asyncio.TaskGroup() as asking:
        for number in range(int(SECONDS * rate)):
            due = begin + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            asking.create_task(one(number, due))
    return latencies
