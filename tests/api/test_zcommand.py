"""POST /zcommand."""

import pytest

pytestmark = pytest.mark.asyncio


async def test_ping(log_in):
    alice = await log_in()
    await alice.post("/zcommand", command="/ping")


async def test_what_is_no_command_is_refused(log_in):
    alice = await log_in()
    for command in ("ping", "/", "/dance", ""):
        (await alice.call("POST", "/zcommand", command=command)).refused()
    (await alice.call("POST", "/zcommand")).refused("REQUEST_VARIABLE_MISSING")
