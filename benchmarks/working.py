"""A team at work: some write and read, all wait for news and say that they are there.

What a minute of a busy user holds: they open a conversation and read it, mark as read what
has come, type, and send one message. Clients ping once a minute, and poll all the time.
"""

import asyncio
import json
import random
import time
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from benchmarks.world import World

PEOPLE: Final = 200
BUSY: Final = 80
TEAM: Final = 20
"""Each is in the channel of their team, and in that of all."""
TO_ALL: Final = 0.25
"""Share of the messages that go to the channel of all."""
MINUTE: Final = 60.0
WARM_UP_SECONDS: Final = 30.0
MEASURED_SECONDS: Final = 120.0
TYPING_SECONDS: Final = 5.0
NOTICED_SECONDS: Final = 3.0
"""The time after which the server has noticed the clock set forward, and begun anew."""
TEXT: Final = "A message of an *ordinary* length, as people write them to their colleagues."


@dataclass(slots=True)
class Worked:
    """The costs while all were at work."""

    server_cores: float
    database_cores: float
    asked: int
    """Requests, but for polls."""
    polls: int


@dataclass(slots=True)
class Person:
    """One person with a client: a connection that polls, and one for all else."""

    number: int
    places: tuple[int, int]
    """The channel of the team, and that of all."""
    polling: Client
    asking: Client
    unread: list[int] = field(default_factory=list)
    polls: int = 0
    asked: int = 0
    presence_id: int = -1

    async def poll(self, begun: asyncio.Semaphore) -> None:
        registered = json.loads(await self.asking.post("/register", apply_markdown=True))
        queue_id, last = registered["queue_id"], registered["last_event_id"]
        begun.release()
        while True:
            answer = await self.polling.get("/events", queue_id=queue_id, last_event_id=last)
            self.polls += 1
            for event in json.loads(answer)["events"]:
                last = max(last, event["id"])
                if event["type"] == "message":
                    self.unread.append(event["message"]["id"])

    async def ping(self) -> None:
        answer = await self._ask(
            "POST", "/users/me/presence", status="active", last_update_id=self.presence_id
        )
        self.presence_id = answer["presence_last_update_id"]

    async def work(self, chance: random.Random) -> None:
        """One busy minute's worth."""
        channel_id = self.places[chance.random() < TO_ALL]
        narrow = [{"operator": "channel", "operand": channel_id}]
        await self._ask(
            "GET", "/messages", anchor="newest", num_before=50, num_after=0, narrow=narrow
        )
        if self.unread:
            seen, self.unread = self.unread, []
            await self._ask("POST", "/messages/flags", messages=seen, op="add", flag="read")
        place = {"type": "channel", "stream_id": channel_id, "topic": f"topic {self.number % 5}"}
        await self._ask("POST", "/typing", op="start", **place)
        await asyncio.sleep(TYPING_SECONDS)
        place = {"type": "channel", "to": channel_id, "topic": f"topic {self.number % 5}"}
        await self._ask("POST", "/messages", content=TEXT, **place)

    async def _ask(self, method: str, path: str, **fields: Any) -> Any:
        self.asked += 1
        ask = self.asking.get if method == "GET" else self.asking.post
        return json.loads(await ask(path, **fields))


def measure(server: Server, database: psycopg.Connection[Any]) -> Worked:
    """Two minutes of work, once all have been at it for a while."""
    world = worlds.fill(database, people=PEOPLE)
    of_all = worlds.channel(database, world, "everyone", PEOPLE)
    of_teams = [
        worlds.channel(database, world, f"team {first // TEAM}", TEAM, first=first)
        for first in range(0, PEOPLE, TEAM)
    ]
    worlds.messages(database, world, [of_all, *of_teams], count=10_000, topics_a_channel=5)
    time.sleep(NOTICED_SECONDS)
    people = [
        Person(number, (of_teams[number // TEAM], of_all), *_clients(server, world, number))
        for number in range(PEOPLE)
    ]
    return uvloop.run(_measure(server, people))


def _clients(server: Server, world: World, number: int) -> tuple[Client, Client]:
    email = world.email(number + 1)
    return Client(server.port, email, worlds.API_KEY), Client(server.port, email, worlds.API_KEY)


async def _measure(server: Server, people: list[Person]) -> Worked:
    chance, begun = random.Random(1), asyncio.Semaphore(0)
    async with asyncio.TaskGroup() as group:
        polling = []
        for person in people:
            polling.append(group.create_task(person.poll(begun)))
            await begun.acquire()
        busy = set(chance.sample(range(PEOPLE), BUSY))
        working = [
            group.create_task(_live(person, chance, is_busy=person.number in busy))
            for person in people
        ]
        await asyncio.sleep(WARM_UP_SECONDS)
        before = _counted(server, people)
        await asyncio.sleep(MEASURED_SECONDS)
        cpu, database_cpu, asked, polls = (
            now - then for now, then in zip(_counted(server, people), before, strict=True)
        )
        for task in [*polling, *working]:
            task.cancel()
    return Worked(cpu / MEASURED_SECONDS, database_cpu / MEASURED_SECONDS, int(asked), int(polls))


async def _live(person: Person, chance: random.Random, *, is_busy: bool) -> None:
    """Minute after minute, each in their own rhythm."""
    await asyncio.sleep(chance.uniform(0, MINUTE))
    while True:
        begin = asyncio.get_running_loop().time()
        await person.ping()
        if is_busy:
            await asyncio.sleep(chance.uniform(0, MINUTE / 2))
            await person.work(chance)
        await asyncio.sleep(begin + MINUTE - asyncio.get_running_loop().time())


def _counted(server: Server, people: list[Person]) -> tuple[float, float, int, int]:
    return (
        server.cpu_seconds(),
        server.database_cpu_seconds(),
        sum(person.asked for person in people),
        sum(person.polls for person in people),
    )
