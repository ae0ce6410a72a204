"""Onboarding steps over HTTP."""

import asyncio
from typing import Any

import pytest

from server.domain.onboarding_steps import NEVER_DUE, NOTICES
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio


async def due(client):
    state = await client.post("/register", fetch_event_types=["onboarding_steps"])
    contract.validate_register(state, ["onboarding_steps"])
    assert state["navigation_tour_video_url"] is None
    return [step["name"] for step in state["onboarding_steps"]]


async def test_each_is_due_until_one_client_has_shown_it(log_in):
    user, other = await log_in(), await log_in()
    assert await due(user) == list(NOTICES)
    queue = await user.register(event_types=["onboarding_steps"])
    await user.post("/users/me/onboarding_steps", onboarding_step=NOTICES[1])
    event = await queue.until("onboarding_steps")
    rest = [NOTICES[0], *NOTICES[2:]]
    assert [step["name"] for step in event["onboarding_steps"]] == rest
    await user.post("/users/me/onboarding_steps", onboarding_step=NOTICES[1])
    assert await queue.poll(dont_block=True) == []
    assert await due(user) == rest
    assert await due(other) == list(NOTICES)


async def test_all_at_once_are_all_marked(log_in):
    user = await log_in()
    queue = await user.register(event_types=["onboarding_steps"])
    steps = [*NOTICES, *NEVER_DUE, *NOTICES]
    await asyncio.gather(
        *(user.post("/users/me/onboarding_steps", onboarding_step=step) for step in steps)
    )
    assert await due(user) == []
    seen: list[dict[str, Any]] = []
    while len(seen) < len({*steps}):
        seen += await queue.poll()
    assert seen[-1]["onboarding_steps"] == []
    assert await queue.poll(dont_block=True) == []


async def test_what_is_no_step_is_refused(log_in):
    user = await log_in()
    answer = await user.call("POST", "/users/me/onboarding_steps", onboarding_step="nonsense")
    assert answer.refused()["msg"] == "Unknown onboarding_step: nonsense"
    (await user.call("POST", "/users/me/onboarding_steps")).refused("REQUEST_VARIABLE_MISSING")
    assert await due(user) == list(NOTICES)


async def test_bots_and_spectators_are_shown_nothing(log_in, make, spectator):
    bot = await log_in(bot_type=1)
    assert await due(bot) == []
    (await bot.call("POST", "/users/me/onboarding_steps", onboarding_step=NOTICES[0])).refused()
    anonymous = await spectator()
    (
        await anonymous.call("POST", "/users/me/onboarding_steps", onboarding_step=NOTICES[0])
    ).refused("UNAUTHORIZED", 401)
