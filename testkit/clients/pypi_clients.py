"""A serving process, the two people of its small organization, and their clients from PyPI."""

import random
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
import zulip

from testkit.faults import world as worlds
from testkit.faults.processes import Servers
from testkit.faults.world import World

PATIENCE_SECONDS = 60


@pytest.fixture
def world() -> World:
    """Two users, Alice and Bob, and their channels."""
    return worlds.imagine(random.Random(1), users=2, public=1, private=0)


@pytest.fixture
def servers(database_url: str, world: World, tmp_path: Path) -> Iterator[Servers]:
    """One process of `parley serve`, with that world in the module's database."""
    worlds.create(database_url, world)
    servers = Servers(
        command=(sys.executable, "-m", "scripts.cli.main", "serve"),
        environment={"DATABASE_URL": database_url, "PARLEY_DATA": str(tmp_path)},
        count=1,
        log=tmp_path / "log",
    )
    try:
        servers.start_missing()
        yield servers
    finally:
        servers.close()


@pytest.fixture
def clients(servers: Servers, world: World) -> Iterator[list[zulip.Client]]:
    """One for each of the people."""
    site = f"http://127.0.0.1:{servers.port}"
    with ExitStack() as stack:
        found = []
        for user in world.users:
            client = zulip.Client(email=user.email, api_key=user.api_key, site=site)
            stack.callback(_hang_up, client)
            found.append(client)
        yield found


def _hang_up(client: zulip.Client) -> None:
    if client.session is not None:
        client.session.close()


def say(client: zulip.Client, content: str, **place: object) -> None:
    """Send a message: to this place, or to a topic that all users read."""
    place = place or {"type": "stream", "to": "everyone", "topic": "greetings"}
    assert client.send_message({**place, "content": content})["result"] == "success"


def queues_of(database_url: str, user_id: int) -> list[str]:
    """The ids of the user's event queues."""
    with psycopg.connect(database_url) as database:
        rows = database.execute(
            "SELECT queue_id FROM event_queues WHERE user_id = %s", [user_id]
        ).fetchall()
    return [queue_id for (queue_id,) in rows]


def wait_for_queue(database_url: str, user_id: int) -> None:
    """Wait until the user has an event queue, which gets what is sent from now on."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not queues_of(database_url, user_id):
        assert time.monotonic() < deadline
        time.sleep(0.02)
