"""Sends while the recipients mark each message as read."""

import asyncio
import json
import time

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.figures import Figures, milliseconds
from benchmarks.server import Server, running

SECONDS = 5.0


def marking() -> Figures:
    """Sends at 5/s while 200 people mark each message as read."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=201)
            channel_id = worlds.channel(database, world, "marking", 201)
        return milliseconds(
            "send while 200 mark as read", uvloop.run(_send_and_mark(server, world, channel_id))
        )


async def _send_and_mark(server: Server, world: worlds.World, channel_id: int) -> list[float]:
    sender, *readers = clients(server, world, 201)
    wanted = int(5 * SECONDS)
    taken: list[float] = []

    async def read(client: Client) -> None:
        queue_id = await client.register(event_types=["message"], fetch_event_types=[])
        last, got = -1, 0
        ready.release()
        while got < wanted:
            answer = await client.get("/events", queue_id=queue_id, last_event_id=last)
            for event in json.loads(answer)["events"]:
                last = event["id"]
                if event["type"] == "message":
                    got += 1
                    await client.post(
                        "/messages/flags", messages=[event["message"]["id"]], op="add", flag="read"
                    )

    ready = asyncio.Semaphore(0)
    reading = [asyncio.create_task(read(client)) for client in readers]
    for _ in readers:
        await ready.acquire()
    begin = time.perf_counter()
    for number in range(wanted):
        await asyncio.sleep(max(0.0, begin + number / 5 - time.perf_counter()))
        taken.append(await sender.timed(sender.send_request(channel_id, "benchmark", f"m{number}")))
    async with asyncio.timeout(60):
        await asyncio.gather(*reading)
    return taken
