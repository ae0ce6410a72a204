"""POST /zcommand."""

import pytest

pytestmark = pytest.mark.asyncio


async def run(client, command):
    """What the server says to it."""
    answer = await client.call("POST", "/zcommand", command=command)
    assert answer.status == 200, answer.body
    assert set(answer.body) == {"result", "msg"}
    return answer.body["msg"]


async def settings_of(client):
    queue = await client.register(fetch_event_types=["user_settings"], event_types=[])
    return queue.state["user_settings"]


async def test_ping(log_in):
    alice = await log_in()
    assert await run(alice, "/ping") == ""


@pytest.mark.parametrize(
    ("command", "setting", "value", "way_back"),
    [
        ("/dark", "color_scheme", 2, "/light"),
        ("/night", "color_scheme", 2, "/light"),
        ("/light", "color_scheme", 3, "/dark"),
        ("/day ", "color_scheme", 3, "/dark"),
        ("/fluid-width", "fluid_layout_width", True, "/fixed-width"),
    ],
)
async def test_a_command_changes_ones_own_setting(log_in, command, setting, value, way_back):
    alice, bob = await log_in(), await log_in()
    queue = await alice.register(event_types=["user_settings"])
    others = await bob.register(event_types=["user_settings"])

    said = await run(alice, command)

    assert said.endswith(f"To go back, type {way_back}.")
    [event] = await queue.poll()
    assert (event["property"], event["value"]) == (setting, value)
    assert (await settings_of(alice))[setting] == value
    assert (await settings_of(bob))[setting] != value
    assert await others.poll(dont_block=True) == []
    assert "already" in await run(alice, command)
    assert await queue.poll(dont_block=True) == []


async def test_the_way_back_goes_back(log_in):
    alice = await log_in()
    for there, setting in (("/light", "color_scheme"), ("/fluid-width", "fluid_layout_width")):
        way_back = (await run(alice, there)).rpartition(" ")[2].rstrip(".")
        changed = (await settings_of(alice))[setting]
        assert (await run(alice, way_back)).endswith(f"type {there}.")
        assert (await settings_of(alice))[setting] != changed


async def test_parameters_that_mean_nothing_are_named_beside_what_is_said(log_in):
    alice = await log_in()
    body = (await alice.call("POST", "/zcommand", command="/dark", loud="true")).body
    assert body["ignored_parameters_unsupported"] == ["loud"]
    assert body["msg"]


async def test_what_is_no_command_is_refused(log_in):
    alice = await log_in()
    for command in ("ping", "/", "/dance", "", "/darkness", "/dark light", "dark"):
        (await alice.call("POST", "/zcommand", command=command)).refused()
    (await alice.call("POST", "/zcommand")).refused("REQUEST_VARIABLE_MISSING")
