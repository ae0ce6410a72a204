"""Polls that are held for longer than networks let silence last, as clients wait on a quiet day."""

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from benchmarks.world import World

PEOPLE = 200
SECONDS = 95.0
"""A heartbeat is due after 55 at most: so some hold through two."""


@dataclass(slots=True)
class Held:
    beats: list[float] = field(default_factory=list)
    """How long each heartbeat was waited for."""
    delivered: list[float] = field(default_factory=list)
    """From the send that ends it all to each client that has it."""
    strange: int = 0
    """Answers that are neither a heartbeat alone nor that one message; and cut connections."""


def measure(server: Server, database: psycopg.Connection[Any]) -> Held:
    """All clients wait so long in a channel without messages; then one message is sent."""
    world = worlds.fill(database, people=PEOPLE + 1)
    channel_id = worlds.channel(database, world, "quiet", PEOPLE + 1)
    return uvloop.run(_measure(server, world, channel_id))


async def _measure(server: Server, world: World, channel_id: int) -> Held:
    held, sent_at = Held(), asyncio.get_running_loop().create_future()

    async def hold(number: int) -> None:
        client = Client(server.port, world.email(number), worlds.API_KEY)
        queue_id, last_event_id = await client.register(apply_markdown=True), -1
        while True:
            began = time.perf_counter()
            try:
                answer = await client.get("/events", queue_id=queue_id, last_event_id=last_event_id)
            except (OSError, asyncio.IncompleteReadError):
                held.strange += 1
                return
            events = [e for e in json.loads(answer)["events"] if e["type"] != "presence"]
            kinds = [event["type"] for event in events]
            if kinds == ["message"]:
                held.delivered.append(time.perf_counter() - await sent_at)
                client.close()
                return
            if kinds == ["heartbeat"]:
                held.beats.append(time.perf_counter() - began)
            elif kinds:
                held.strange += 1
            last_event_id = max([last_event_id, *(event["id"] for event in events)])

    waiting = [asyncio.create_task(hold(number)) for number in range(1, PEOPLE + 1)]
    await asyncio.sleep(SECONDS)
    writer = Client(server.port, world.email(PEOPLE + 1), worlds.API_KEY)
    sent_at.set_result(time.perf_counter())
    await writer.post("/messages", type="channel", to=channel_id, topic="t", content="at last")
    await asyncio.gather(*waiting)
    writer.close()
    return held
