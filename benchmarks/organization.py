"""A large organization: registering, subscribing many at once, and permissions by nested groups."""

import json
from typing import Any

from psycopg.types.json import Jsonb

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server
from server.domain.channel_creation import default_permissions
from storage.ids import UserId

PEOPLE = 10_000
CHANNELS = 1_000
OWN_CHANNELS = 200
"""Large channels in which the benchmark's own user is subscribed."""
FEW = 50
SUBSCRIBED = 1_000
PLACES = 10
"""Channels to which people are subscribed in one request."""
NESTED = 20
ROUNDS = 5
SENDS = 200


def fill(database: Any) -> worlds.World:
    """That many people and channels; the first of them administers the organization."""
    world = worlds.fill(database, people=PEOPLE)
    database.execute(
        """
        INSERT INTO channels
               (realm_id, name, created_at, creator_id, subscriber_count, permissions)
        SELECT %s, 'large ' || g, now(), %s, %s, %s FROM generate_series(1, %s) AS g
        """,
        [world.realm_id, world.first_user_id, FEW, _permissions(database, world), CHANNELS],
    )
    database.execute(
        """
        INSERT INTO subscriptions (realm_id, user_id, channel_id, active, spans, color)
        SELECT c.realm_id, %s + CASE WHEN g = 0 THEN 0 ELSE (c.n * 7 + g) %% %s + 1 END,
               c.channel_id, true, '{[1,)}', '#76ce90'
          FROM (SELECT realm_id, channel_id, row_number() OVER (ORDER BY channel_id) AS n
                  FROM channels WHERE realm_id = %s AND name LIKE 'large %%') AS c
         CROSS JOIN generate_series(0, %s) AS g
         WHERE g > 0 OR c.n <= %s
        """,
        [world.first_user_id, PEOPLE - 1, world.realm_id, FEW, OWN_CHANNELS],
    )
    database.execute(
        "UPDATE users SET role = 200 WHERE realm_id = %s AND user_id = %s",
        [world.realm_id, world.first_user_id],
    )
    database.execute("ANALYZE users, channels, subscriptions")
    return world


def _permissions(database: Any, world: worlds.World) -> Jsonb:
    """The permissions that the server stores for a channel made by name only by the first user."""
    rows = database.execute(
        "SELECT name, group_id FROM user_groups WHERE realm_id = %s AND is_system_group",
        [world.realm_id],
    )
    defaults = default_permissions(dict(rows.fetchall()), UserId(world.first_user_id))
    return Jsonb({name: value.as_json() for name, value in defaults.items()})


async def measure(server: Server, world: worlds.World) -> dict[str, list[float]]:
    """Seconds of each kind of request."""
    client = Client(server.port, world.email(1), worlds.API_KEY)
    nested, plain = await _two_channels(client, world)
    taken: dict[str, list[float]] = {
        "register": await _register(client),
        "subscribing": await _subscribe(client, world),
        "plain": [],
        "nested": [],
    }
    other = Client(server.port, world.email(2), worlds.API_KEY)
    # In turns, so that both meet the same moments.
    for number in range(SENDS):
        for name, channel_id in (("plain", plain), ("nested", nested)):
            request = other.send_request(channel_id, "topic", f"message {number}")
            taken[name].append(await other.timed(request))
    return taken


async def _register(client: Client) -> list[float]:
    fields = {"client_capabilities": {"user_settings_object": True, "empty_topic_name": True}}
    request = client.request("POST", "/register", **fields)
    for _ in range(3):
        await client.timed(request)
    return [await client.timed(request) for _ in range(20)]


async def _subscribe(client: Client, world: worlds.World) -> list[float]:
    taken = []
    people = [world.first_user_id + n for n in range(1, SUBSCRIBED + 1)]
    for turn in range(ROUNDS):
        names = [{"name": f"new {turn} {place}"} for place in range(PLACES)]
        await client.post("/users/me/subscriptions", subscriptions=names)
        request = client.request(
            "POST", "/users/me/subscriptions", subscriptions=names, principals=people
        )
        taken.append(await client.timed(request))
    return taken


async def _two_channels(client: Client, world: worlds.World) -> tuple[int, int]:
    """A channel in which members of a group within many groups may send, and one open to all."""
    members = [world.first_user_id + n for n in range(SUBSCRIBED)]
    group_id = await _group(client, "group 0", members, [])
    for depth in range(1, NESTED):
        group_id = await _group(client, f"group {depth}", [], [group_id])
    ids = []
    for name, more in (("nested", {"can_send_message_group": group_id}), ("plain", {})):
        subscribers = members[:FEW]
        await client.post(
            "/channels/create", name=name, subscribers=subscribers, topics_policy="inherit", **more
        )
        ids.append(json.loads(await client.get("/get_stream_id", stream=name))["stream_id"])
    return ids[0], ids[1]


async def _group(client: Client, name: str, members: list[int], subgroups: list[int]) -> int:
    answer = await client.post(
        "/user_groups/create", name=name, description="", members=members, subgroups=subgroups
    )
    return int(json.loads(answer)["group_id"])
