"""What people run their bots with, unmodified."""

import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zulip

from testkit.clients.pypi_clients import say, wait_for_queue
from testkit.test_services import PYTHON_CLIENTS

PATIENCE_SECONDS = 60
Run = Callable[[str], dict[str, Any]]


@pytest.fixture
def run(servers, clients, database_url, tmp_path: Path) -> Iterator[Run]:
    """Makes a bot of Alice's and runs it, until the test ends; who it is."""
    running = []

    def run(name: str) -> dict[str, Any]:
        made = clients[0].call_endpoint("bots", request={"full_name": name, "short_name": name})
        path = f"users/{made['user_id']}"
        bot: dict[str, Any] = clients[0].call_endpoint(path, method="GET")["user"]
        config = tmp_path / f"{name}.zuliprc"
        config.touch(mode=0o600)
        config.write_text(
            f"[api]\nemail={bot['email']}\nkey={made['api_key']}\n"
            f"site=http://127.0.0.1:{servers.port}\n"
        )
        program = str(PYTHON_CLIENTS / "bin" / "zulip-run-bot")
        command = [program, name, "--config-file", str(config)]
        running.append(subprocess.Popen(command))
        wait_for_queue(database_url, bot["user_id"])
        return bot

    yield run
    for process in running:
        process.terminate()
        process.wait()


def answer(client: zulip.Client, bot: dict[str, Any], number: int) -> str:
    """The bot's message of this number, counted from its first."""
    narrow = [{"operator": "sender", "operand": bot["email"]}]
    page = {"anchor": "oldest", "num_before": 0, "num_after": 9, "apply_markdown": False}
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        found = client.get_messages({**page, "narrow": narrow})["messages"]
        if len(found) > number:
            return str(found[number]["content"])
        time.sleep(0.05)
    pytest.fail("the bot does not answer")


def test_bots_answer_where_they_are_mentioned_and_who_writes_to_them(run, clients):
    """They are in no channel. One keeps what it knows on the server, and edits what it said."""
    alice, _ = clients
    echo, counter = run("helloworld"), run("incrementor")
    say(alice, "@**helloworld** hi")
    assert answer(alice, echo, 0) == "beep boop"
    say(alice, "hi", type="private", to=[echo["email"]])
    assert answer(alice, echo, 1) == "beep boop"

    say(alice, "@**incrementor**")
    assert answer(alice, counter, 0) == "1"
    say(alice, "@**incrementor**")
    deadline = time.monotonic() + PATIENCE_SECONDS
    while answer(alice, counter, 0) != "2":
        assert time.monotonic() < deadline
        time.sleep(0.05)
