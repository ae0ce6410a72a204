"""The axes of growth, and the measurements at each size: one server for all sizes of an axis."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.figures import Figures, percentile
from benchmarks.growth import far
from benchmarks.growth.cost import TEXT, Measured, Operation, Serving, costs
from benchmarks.server import Server, running
from benchmarks.serving import processes
from benchmarks.world import World
from server.actions.realms import create_realm
from server.actions.users import NewUser
from storage.database import open_database

CAPABILITIES: Final = {"user_settings_object": True, "empty_topic_name": True}
ROOT_DOMAIN: Final = "growth.test"
AROUND: Final = 400
"""Sends to organizations, and at most as many of these."""
SENDERS: Final = 8
APART_SECONDS: Final = 0.02
SENDING_SECONDS: Final = 4.0


@dataclass(frozen=True, slots=True)
class Axis:
    """One thing that grows."""

    name: str
    sizes: tuple[int, ...]
    measure: Callable[[tuple[int, ...]], Measured]
    """Figures at each size, smallest first."""


def _first(server: Server, world: World) -> Client:
    return Client(server.port, world.email(1), worlds.API_KEY)


def _register(client: Client, times: int = 40) -> Operation:
    request = client.request("POST", "/register", client_capabilities=CAPABILITIES)
    return Operation("register", request, times)


def _history(client: Client, name: str, *narrow: tuple[str, object]) -> Operation:
    terms = [{"operator": operator, "operand": operand} for operator, operand in narrow]
    request = client.request(
        "GET", "/messages", anchor="newest", num_before=100, num_after=0, narrow=terms
    )
    return Operation(f"newest 100 of {name}", request, 60)


def _measure(server: Serving, client: Client, *operations: Operation) -> Figures:
    async def ask() -> Figures:
        try:
            return await costs(server, client, operations)
        finally:
            client.close()

    return uvloop.run(ask())


def subscribers(sizes: tuple[int, ...]) -> Measured:
    """Sends to channels of so many."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=max(sizes))
            places = {n: worlds.channel(database, world, f"of {n}", n) for n in sizes}
        for size, channel_id in places.items():
            client = _first(server, world)
            request = client.send_request(channel_id, "growth", TEXT)
            yield size, _measure(server, client, Operation("send", request))


def users(sizes: tuple[int, ...]) -> Measured:
    """Realms of so many people."""
    for size in sizes:
        with running() as server:
            with server.database() as database:
                world = worlds.fill(database, people=size)
                channel_id = worlds.channel(database, world, "growth", min(size, 100))
            client = _first(server, world)
            send = Operation("send", client.send_request(channel_id, "growth", TEXT))
            yield size, _measure(server, client, send, _register(client))


def channels(sizes: tuple[int, ...]) -> Measured:
    """A growing number of channels; every measured user is in all of them."""
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=20)
        made: list[int] = []
        for size in sizes:
            made += [
                worlds.channel(database, world, f"growth {n}", 20) for n in range(len(made), size)
            ]
            client = _first(server, world)
            send = Operation("send", client.send_request(made[0], "growth", TEXT))
            yield (
                size,
                _measure(server, client, send, _register(client), _history(client, "all")),
            )


def messages(sizes: tuple[int, ...]) -> Measured:
    """A growing number of messages, in 100 channels of 7 topics."""
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1_000)
        places = [worlds.channel(database, world, f"growth {n}", 1_000) for n in range(100)]
        there = 0
        for size in sizes:
            _say(database, world, places, size - there, first=there == 0)
            there = size
            client = _first(server, world)
            in_channel = ("channel", places[50])
            yield (
                size,
                _measure(
                    server,
                    client,
                    Operation("send", client.send_request(places[0], "growth", TEXT)),
                    _register(client, 20),
                    _history(client, "all"),
                    _history(client, "a channel", in_channel),
                    _history(client, "a topic", in_channel, ("topic", "topic 3")),
                ),
            )


def _say(
    database: psycopg.Connection[Any], world: World, places: list[int], count: int, *, first: bool
) -> None:
    topics = 7 if first else 0
    worlds.messages(database, world, places, count=count, topics_a_channel=topics)


def realms(sizes: tuple[int, ...]) -> Measured:
    """A growing number of organizations, each of which has been asked for something."""
    with running(environment={"PARLEY_ROOT_DOMAIN": ROOT_DOMAIN}) as server:
        there, before = 0, server.rss_kib()
        for size in sizes:
            uvloop.run(_found(server, range(there, size)))
            there = size
            client = _owner(server, 0)
            me = client.request("GET", "/users/me")
            figures = _measure(server, client, Operation("who am I", me), _register(client))
            figures |= uvloop.run(_send_around(server, size))
            figures["idle, server CPU ms a second"] = uvloop.run(_idle(server))
            figures["memory of one, KiB"] = (server.rss_kib() - before) / size
            yield size, figures


def _owner(server: Server, number: int) -> Client:
    host = f"growth-{number}.{ROOT_DOMAIN}"
    return Client(server.port, f"owner{number}@example.com", worlds.API_KEY, host)


async def _found(server: Server, numbers: range) -> None:
    async with open_database(server.database_url, min_size=1, max_size=1) as database:
        for number in numbers:
            owner = NewUser(email=f"owner{number}@example.com", full_name=f"Owner {number}")
            async with database.transaction() as connection:
                await create_realm(
                    connection,
                    name=f"Growth {number}",
                    owner=owner,
                    now=datetime.now(UTC),  # noqa: TID251 - a real clock is wanted here
                    subdomain=f"growth-{number}",
                )
    with server.database() as database_of_all:
        database_of_all.execute(
            "UPDATE users SET api_key = %s WHERE email LIKE 'owner%%'", [worlds.API_KEY]
        )
    for number in numbers:
        client = _owner(server, number)
        await client.get("/users/me")
        client.close()


async def _send_around(server: Server, organizations: int) -> Figures:
    """The cost of sends, one after the other in many organizations."""
    clients = [
        _owner(server, number) for number in range(0, organizations, -(-organizations // AROUND))
    ]
    requests = []
    for client in clients:
        user_id = json.loads(await client.get("/users/me"))["user_id"]
        request = client.request("POST", "/messages", type="direct", to=[user_id], content=TEXT)
        await client.timed(request)
        requests.append(request)
    taken, spent = list[float](), server.cpu_seconds()
    for _ in range(AROUND // len(clients)):
        for client, request in zip(clients, requests, strict=True):
            taken.append(await client.timed(request))
    for client in clients:
        client.close()
    return {
        "send, in one after the other, server CPU ms": (server.cpu_seconds() - spent)
        / len(taken)
        * 1000,
        "send, in one after the other, p50 ms": percentile(taken, 0.5) * 1000,
    }


async def _idle(server: Server) -> float:
    await asyncio.sleep(2)
    before = server.cpu_seconds()
    await asyncio.sleep(4)
    return (server.cpu_seconds() - before) / 4 * 1000


def server_processes(sizes: tuple[int, ...]) -> Measured:
    """Sends by several at once to so many processes."""
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=100)
            channel_id = worlds.channel(database, world, "growth", 100)
        for size in sizes:
            with processes(server, size) as serving:
                before = serving.cpu_seconds()
                taken = uvloop.run(_send_together(serving.port, world, channel_id))
                spent = serving.cpu_seconds() - before
            yield (
                size,
                {
                    f"sends a second by {SENDERS}": len(taken) / SENDING_SECONDS,
                    "send, server CPU ms": spent / len(taken) * 1000,
                    "send, p50 ms": percentile(taken, 0.5) * 1000,
                },
            )


async def _send_together(port: int, world: World, channel_id: int) -> list[float]:
    loop, taken = asyncio.get_running_loop(), list[float]()
    clients = [Client(port, world.email(n), worlds.API_KEY) for n in range(1, SENDERS + 1)]
    for client in clients:
        # Connections that come at once would all be of the same process.
        await client.get("/users/me")
        await asyncio.sleep(APART_SECONDS)
    end = loop.time() + SENDING_SECONDS

    async def one(client: Client) -> None:
        request = client.send_request(channel_id, "growth", TEXT)
        while loop.time() < end:
            taken.append(await client.timed(request))
        client.close()

    await asyncio.gather(*map(one, clients))
    return taken


AXES: Final = (
    Axis("subscribers", (10, 100, 1_000, 10_000), subscribers),
    Axis("users", (100, 1_000, 10_000, 30_000), users),
    Axis("channels", (10, 100, 1_000, 3_000), channels),
    Axis("messages", (10_000, 100_000, 1_000_000, 10_000_000), messages),
    Axis("queues", (100, 1_000, 10_000, 50_000, 100_000), far.queues),
    Axis("listeners", (100, 1_000, 5_000, 20_000), far.listeners),
    Axis("followed", (10, 40, 160), far.followed),
    Axis("registering", (1_000, 5_000, 20_000), far.registering),
    Axis("realms", (1, 10, 100, 1_000), realms),
    Axis("processes", (1, 2, 3, 4), server_processes),
)
