"""The terminal client from PyPI, unmodified: its user reads, writes, edits and reacts."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
import zulip

from testkit.clients.pypi_clients import say
from testkit.clients.terminal import (
    PATIENCE_SECONDS,
    ProgramFailedError,
    Terminal,
    terminal_client,
    without,
)
from testkit.faults import world as worlds
from testkit.faults.processes import Servers

TURNS: Final = 5
SETTLED_SECONDS: Final = 5
COMPOSE: Final = "# everyone +▶ greetings"
CONVERSATION: Final = "Private conversation +Search"
EDIT: Final = "Also change later messages"


Start = Callable[[], Terminal]


@pytest.fixture
def start(servers: Servers, world: worlds.World, tmp_path: Path) -> Start:
    """Starts the client where Alice sits."""
    alice, config = world.users[0], tmp_path / "zuliprc"
    config.touch(mode=0o600)
    config.write_text(
        f"[api]\nemail={alice.email}\nkey={alice.api_key}\nsite=http://127.0.0.1:{servers.port}\n"
    )
    return lambda: terminal_client(config, tmp_path)


def newest(client: zulip.Client) -> dict[str, Any]:
    page = {"anchor": "newest", "num_before": 1, "num_after": 0, "apply_markdown": False}
    message: dict[str, Any] = client.get_messages(page)["messages"][-1]
    return message


def react(client: zulip.Client, message_id: int) -> None:
    reaction = {"message_id": message_id, "emoji_name": "octopus"}
    assert client.add_reaction(reaction)["result"] == "success"


def name_of(client: zulip.Client) -> str:
    name: str = client.get_profile()["full_name"]
    return name


def test_a_user_reads_writes_edits_and_reacts_in_a_terminal(start, clients, world):
    """Its threads trip over each other now and then, which it says: then it starts anew."""
    _, bob = clients
    for turn in range(TURNS):
        # The client does not start in an organization without messages.
        say(bob, f"hello {turn} from **Bob**")
        react(bob, newest(bob)["id"])
        with suppress(ProgramFailedError), start() as terminal:
            live(terminal, bob, world.users[0].user_id, turn)
            return
    pytest.fail(f"the client has failed {TURNS} times by itself")


def live(terminal: Terminal, bob: zulip.Client, alice_id: int, turn: int) -> None:
    """What a user does in it, and sees."""
    terminal.until(f"▒ hello {turn} from Bob")
    terminal.until(f":octopus: {name_of(bob)}")

    terminal.press_until(COMPOSE, "Right", "G", "r")
    terminal.write(f"sent {turn} from a terminal")
    terminal.press_until(f"▒ sent {turn} from a terminal", "C-d")
    sent = newest(bob)
    assert (sent["content"], sent["subject"]) == (f"sent {turn} from a terminal", "greetings")
    terminal.press_until(without(COMPOSE), "Escape")

    terminal.press_until(EDIT, "G", "e")
    terminal.press("C-e")
    terminal.write(", and edited")
    terminal.press_until(f"EDITED ▒ sent {turn} from a terminal, and edited", "C-d")
    terminal.until_gone(EDIT)

    terminal.press_until(":thumbs_up: You", "G", "+", patience=PATIENCE_SECONDS)
    edited = newest(bob)
    assert edited["id"] == sent["id"]
    assert edited["content"] == f"sent {turn} from a terminal, and edited"
    [reaction] = edited["reactions"]
    assert (reaction["user_id"], reaction["emoji_name"]) == (alice_id, "thumbs_up")

    say(bob, f"and {turn} comes live")
    terminal.until(f"▒ and {turn} comes live")
    say(bob, f"{turn} only for you", type="private", to=[alice_id])
    terminal.until(f"▒ {turn} only for you")
    terminal.press_until(CONVERSATION, "G", "s")
    terminal.until(f"▒ {turn} only for you")
    # Messages that it was still loading when it opened the conversation, it may show there.
    if not terminal.comes(without(f"hello {turn} from Bob"), SETTLED_SECONDS):
        raise ProgramFailedError(terminal.shown())
