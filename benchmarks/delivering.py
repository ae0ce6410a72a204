"""From a send to those who wait for it, and what they do with it."""

import asyncio
import json
import time

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.figures import Figures, milliseconds
from benchmarks.server import Server, running

SECONDS = 5.0
SENDING_CONNECTIONS = 64


def delivery() -> Figures:
    """From a send to its delivery in 200 queues, at 5, 20 and 200 messages a second."""
    figures: Figures = {}
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=201)
            channel_id = worlds.channel(database, world, "delivery", 201)
        for rate in (5, 20, 200):
            latencies, sent = uvloop.run(_deliver(server, world, channel_id, rate))
            name = f"delivery to 200 queues at {rate}/s"
            figures |= milliseconds(name, latencies)
            figures[f"{name}, deliveries a second"] = len(latencies) / SECONDS
            assert len(latencies) == 200 * sent, "every message reaches every queue"
    return figures


async def _deliver(
    server: Server, world: worlds.World, channel_id: int, rate: int
) -> tuple[list[float], int]:
    readers = clients(server, world, 201)[1:]
    latencies: list[float] = []
    wanted = int(rate * SECONDS)
    started: dict[str, float] = {}

    async def read(client: Client) -> None:
        queue_id = await client.register(event_types=["message"], fetch_event_types=[])
        last, got = -1, 0
        ready.release()
        while got < wanted:
            answer = await client.get("/events", queue_id=queue_id, last_event_id=last)
            now = time.perf_counter()
            for event in json.loads(answer)["events"]:
                last = event["id"]
                if event["type"] == "message":
                    latencies.append(now - started[event["message"]["content"]])
                    got += 1

    ready = asyncio.Semaphore(0)
    reading = [asyncio.create_task(read(client)) for client in readers]
    for _ in readers:
        await ready.acquire()
    await asyncio.sleep(1)
    free: asyncio.Queue[Client] = asyncio.Queue()
    for _ in range(SENDING_CONNECTIONS):
        free.put_nowait(Client(server.port, world.email(1), worlds.API_KEY))

    async def send(content: str) -> None:
        connection = await free.get()
        started[content] = time.perf_counter()
        await connection.timed(connection.send_request(channel_id, "benchmark", content))
        free.put_nowait(connection)

    begin = time.perf_counter()
    async with asyncio.timeout(SECONDS + 60), asyncio.TaskGroup() as sending:
        for number in range(wanted):
            await asyncio.sleep(max(0.0, begin + number / rate - time.perf_counter()))
            sending.create_task(send(f"m{number}"))
    async with asyncio.timeout(60):
        await asyncio.gather(*reading)
    for client in readers:
        client.close()
    return latencies, wanted


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
