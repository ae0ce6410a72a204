"""The terminal client from PyPI, unmodified: somebody reads, writes, edits and reacts in it."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import zulip

from benchmarks.faults import world as worlds
from benchmarks.faults.processes import Servers
from scripts.test_services import TERMINAL_CLIENT
from tests.acceptance.test_zulip_client import connected
from tests.fixtures.terminal import Terminal

COMPOSE: Final = "# everybody +▶ greetings"
EDIT: Final = "Also change later messages"


@pytest.fixture
def world() -> worlds.World:
    return worlds.imagine(random.Random(1), users=2, public=1, private=0)


@pytest.fixture
def servers(database_url: str, world: worlds.World, tmp_path: Path) -> Iterator[Servers]:
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
def bob(servers: Servers, world: worlds.World) -> Iterator[zulip.Client]:
    with connected(servers, world.users[1]) as client:
        yield client


@pytest.fixture
def terminal(servers: Servers, world: worlds.World, tmp_path: Path) -> Iterator[Terminal]:
    """Where Alice sits."""
    alice, config = world.users[0], tmp_path / "zuliprc"
    config.touch(mode=0o600)
    config.write_text(
        f"[api]\nemail={alice.email}\nkey={alice.api_key}\nsite=http://127.0.0.1:{servers.port}\n"
    )
    command = [str(TERMINAL_CLIENT / "bin" / "zulip-term"), "--config-file", str(config)]
    with Terminal(command, {"HOME": str(tmp_path), "LANG": "C.UTF-8"}) as terminal:
        yield terminal


def say(client: zulip.Client, content: str, **place: Any) -> None:
    place = place or {"type": "stream", "to": "everybody", "topic": "greetings"}
    assert client.send_message({**place, "content": content})["result"] == "success"


def newest(client: zulip.Client) -> dict[str, Any]:
    page = {"anchor": "newest", "num_before": 1, "num_after": 0, "apply_markdown": False}
    message: dict[str, Any] = client.get_messages(page)["messages"][-1]
    return message


@pytest.fixture
def greeted(bob: zulip.Client) -> None:
    """There is something to read: the client does not start in an organization without messages."""
    say(bob, "hello from **Bob**")


@pytest.mark.usefixtures("greeted")
def test_somebody_reads_writes_edits_and_reacts_in_a_terminal(terminal, bob, world):
    terminal.until("▒ hello from Bob")

    terminal.press_until(COMPOSE, "Right", "r")
    terminal.write("sent from a terminal")
    terminal.press("C-d")
    terminal.until("▒ sent from a terminal")
    sent = newest(bob)
    assert (sent["content"], sent["subject"]) == ("sent from a terminal", "greetings")
    terminal.press("Escape")
    terminal.until_gone(COMPOSE)

    terminal.press_until(EDIT, "G", "e")
    terminal.press("C-e")
    terminal.write(", and edited")
    terminal.press("C-d")
    terminal.until("EDITED ▒ sent from a terminal, and edited")
    terminal.until_gone(EDIT)

    terminal.press_until(":thumbs_up: You", "G", "+")
    edited = newest(bob)
    assert (edited["id"], edited["content"]) == (sent["id"], "sent from a terminal, and edited")
    [reaction] = edited["reactions"]
    assert (reaction["user_id"], reaction["emoji_name"]) == (world.users[0].user_id, "thumbs_up")

    say(bob, "and this comes live")
    terminal.until("▒ and this comes live")
    say(bob, "only for you", type="private", to=[world.users[0].user_id])
    terminal.until("▒ only for you")
    terminal.press("G")
    terminal.press("s")
    terminal.until_gone("hello from Bob")
    terminal.until("▒ only for you")
