"""The `zulip` package from PyPI, unmodified: it sends, receives, and outlives its server."""

import queue
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest
import zulip

from benchmarks.faults import world as worlds
from benchmarks.faults.processes import Servers
from benchmarks.faults.world import World

PATIENCE_SECONDS = 40
LAST = "that is all"


class EnoughError(Exception):
    """Ends a client that would listen for ever."""


class Listener:
    """A client in a thread, and the messages that it has been called with."""

    def __init__(self, client: zulip.Client) -> None:
        self._client = client
        self._heard: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def next(self) -> str:
        return self._heard.get(timeout=PATIENCE_SECONDS)

    def join(self) -> None:
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive()

    def _listen(self) -> None:
        try:
            self._client.call_on_each_message(self._hear)
        except EnoughError:
            return

    def _hear(self, message: dict[str, object]) -> None:
        self._heard.put(str(message["content"]))
        if message["content"] == LAST:
            raise EnoughError


@pytest.fixture
def world() -> World:
    return worlds.imagine(random.Random(1), users=2, public=1, private=0)


@pytest.fixture
def servers(database_url: str, world: World, tmp_path: Path) -> Iterator[Servers]:
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
    with ExitStack() as stack:
        yield [stack.enter_context(connected(servers, user)) for user in world.users]


@contextmanager
def connected(servers: Servers, user: worlds.User) -> Iterator[zulip.Client]:
    site = f"http://127.0.0.1:{servers.port}"
    client = zulip.Client(email=user.email, api_key=user.api_key, site=site)
    try:
        yield client
    finally:
        if client.session is not None:
            client.session.close()


def say(client: zulip.Client, content: str) -> None:
    message = {"type": "stream", "to": "everybody", "topic": "greetings", "content": content}
    assert client.send_message(message)["result"] == "success"


def queues_of(database_url: str, user_id: int) -> list[str]:
    with psycopg.connect(database_url) as database:
        rows = database.execute(
            "SELECT queue_id FROM event_queues WHERE user_id = %s", [user_id]
        ).fetchall()
    return [queue_id for (queue_id,) in rows]


def wait_for_queue(database_url: str, user_id: int) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not queues_of(database_url, user_id):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_client_sends_receives_and_survives_a_kill_of_the_server(
    servers, clients, world, database_url
):
    alice, bob = clients
    assert alice.get_profile()["email"] == world.users[0].email
    listener = Listener(bob)
    wait_for_queue(database_url, world.users[1].user_id)
    say(alice, "before")
    assert listener.next() == "before"

    [process] = servers.processes
    process.send_signal(signal.SIGKILL)
    process.wait()
    servers.start_missing()
    for content in ("after", "and again", LAST):
        say(alice, content)

    assert [listener.next() for _ in range(3)] == ["after", "and again", LAST]
    listener.join()
    assert len(queues_of(database_url, world.users[1].user_id)) == 1
