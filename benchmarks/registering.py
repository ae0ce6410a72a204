"""Measure register."""

import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.figures import Figures, milliseconds
from benchmarks.server import Server, running


def register() -> Figures:
    """Register with everything, in realms of 1,000 and 10,000 people."""
    figures: Figures = {}
    for people in (1_000, 10_000):
        with running() as server:
            with server.database() as database:
                world = worlds.fill(database, people=people)
                channels = [
                    worlds.channel(database, world, f"register {n}", people) for n in range(20)
                ]
            nothing = uvloop.run(_register_often(server, world))
            figures |= milliseconds(f"register, {people} people, nothing unread", nothing)
            with server.database() as database:
                worlds.messages(database, world, channels, count=9_000, topics_a_channel=5)
            much = uvloop.run(_register_often(server, world))
            figures |= milliseconds(f"register, {people} people, 9,000 unread", much)
    return figures


async def _register_often(server: Server, world: worlds.World) -> list[float]:
    client = Client(server.port, world.email(1), worlds.API_KEY)
    fields = {"client_capabilities": {"user_settings_object": True, "empty_topic_name": True}}
    request = client.request("POST", "/register", **fields)
    for _ in range(3):
        await client.timed(request)
    return [await client.timed(request) for _ in range(50)]
