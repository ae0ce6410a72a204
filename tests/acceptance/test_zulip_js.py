"""The client in JavaScript from npm, unmodified: all that it can do, and events."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from testkit.clients.pypi_clients import say, wait_for_queue
from testkit.test_services import NODE_CLIENTS

pytestmark = pytest.mark.asyncio

SCRIPT = Path(__file__).parent / "zulip_js.cjs"
PATIENCE_SECONDS = 60
PLACE = {"type": "stream", "to": "everyone", "topic": "from script"}


async def told(process: asyncio.subprocess.Process) -> tuple[str, Any]:
    assert process.stdout is not None
    async with asyncio.timeout(PATIENCE_SECONDS):
        name, answer = json.loads(await process.stdout.readline())
    return name, answer


async def test_a_script_does_all_that_its_client_can(servers, clients, world, database_url):
    _, bob = clients
    address = f"http://127.0.0.1:{servers.port}"
    user = world.users[0]
    process = await asyncio.create_subprocess_exec(
        *("node", str(SCRIPT), str(NODE_CLIENTS), address, user.email, user.api_key),
        stdout=asyncio.subprocess.PIPE,
        limit=2**22,
    )
    found: dict[str, Any] = {}
    while "refused" not in found:
        name, found[name] = await told(process)
    failed = {name for name, answer in found.items() if answer["result"] != "success"}
    assert failed == {"refused"}
    assert found["profile"]["email"] == user.email
    assert found["rendered"]["rendered"] == "<p><strong>bold</strong></p>"
    [message] = found["page"]["messages"]
    assert message["id"] == found["sent"]["id"]
    assert message["content"] == "<p>this &amp; that, é</p>"
    assert [each["emoji_name"] for each in message["reactions"]] == ["tada"]
    assert "starred" in message["flags"]
    assert "from script" in [each["name"] for each in found["topics"]["topics"]]

    await asyncio.to_thread(wait_for_queue, database_url, user.user_id)
    say(bob, "one more", **PLACE)
    bob.add_reaction({"message_id": message["id"], "emoji_name": "smile"})
    say(bob, "the last one", **PLACE)
    heard = [(await told(process))[1] for _ in range(3)]
    assert [each["type"] for each in heard] == ["message", "reaction", "message"]
    assert heard[0]["message"]["content"] == "one more"
    assert await process.wait() == 0
