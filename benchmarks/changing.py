"""Moving and deleting topics of a thousand messages, in channels of a thousand people."""

import json
from typing import Any

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server

CHANNELS = 4
TOPICS = 25
MESSAGES = 1_000
"""In each topic."""


def fill(database: Any) -> tuple[worlds.World, list[int]]:
    """An organization in which the first user may delete topics; and its channels."""
    world = worlds.fill(database, people=1_000)
    channels = [worlds.channel(database, world, f"changing {n}", 1_000) for n in range(CHANNELS)]
    count = CHANNELS * TOPICS * MESSAGES
    worlds.messages(database, world, channels, count=count, topics_a_channel=TOPICS)
    database.execute(
        "UPDATE users SET role = 200 WHERE realm_id = %s AND user_id = %s",
        [world.realm_id, world.first_user_id],
    )
    return world, channels


async def change(
    server: Server, world: worlds.World, channels: list[int]
) -> dict[str, list[float]]:
    """Seconds of each kind of change."""
    client = Client(server.port, world.email(1), worlds.API_KEY)
    taken: dict[str, list[float]] = {"renaming": [], "merging": [], "moving": [], "deleting": []}
    first, second = channels[:2]
    for number in range(1, 6):
        topic = f"topic {number}"
        message_id = await _message_in(client, first, topic)
        taken["renaming"].append(await _move(client, message_id, topic=f"{topic} renamed"))
        taken["merging"].append(await _move(client, message_id, topic=f"topic {number + 10}"))
        message_id = await _message_in(client, first, f"topic {number + 15}")
        taken["moving"].append(await _move(client, message_id, stream_id=second))
        request = client.request("POST", f"/streams/{channels[2]}/delete_topic", topic_name=topic)
        taken["deleting"].append(await client.timed(request))
        assert await _message_in(client, channels[2], topic) is None, "nothing is left"
    return taken


async def _move(client: Client, message_id: int | None, **target: Any) -> float:
    """All of the message's topic."""
    return await client.timed(
        client.request(
            "PATCH",
            f"/messages/{message_id}",
            propagate_mode="change_all",
            send_notification_to_new_thread=False,
            **target,
        )
    )


async def _message_in(client: Client, channel_id: int, topic: str) -> int | None:
    narrow = [["channel", channel_id], ["topic", topic]]
    answer = await client.get(
        "/messages", anchor="newest", num_before=1, num_after=0, narrow=narrow
    )
    found = json.loads(answer)["messages"]
    return int(found[-1]["id"]) if found else None
