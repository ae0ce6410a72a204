"""Wildcard mentions where a user has muted: read like any message, without a notification."""

from typing import Any

import pytest
import pytest_asyncio

from server.domain.topic_policies import FOLLOWED, MUTED, NONE, UNMUTED
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

WILDCARDS = ("@**all**", "@**topic**")
PLACES = {
    (False, NONE): True,
    (False, MUTED): False,
    (False, UNMUTED): True,
    (False, FOLLOWED): True,
    (True, NONE): False,
    (True, MUTED): False,
    (True, UNMUTED): True,
    (True, FOLLOWED): True,
}
"""Whether a wildcard counts, by whether the channel is muted and by the topic's policy."""


@pytest_asyncio.fixture
async def people(make: Make):
    settings = {"automatically_follow_topics_where_mentioned": False}
    return [await make.user(name, settings=settings) for name in ("Alice", "Bob")]


@pytest_asyncio.fixture
async def alice(log_in, people):
    return await log_in(people[0])


@pytest_asyncio.fixture
async def bob(log_in, people):
    return await log_in(people[1])


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel("general", subscribers=people)


async def mentions(client) -> list[int]:
    state = await client.post("/register", fetch_event_types=["message", "update_message_flags"])
    found: list[int] = state["unread_msgs"]["mentions"]
    return found


async def send(alice, content: str) -> int:
    sent = {"type": "channel", "to": "general", "topic": "t", "content": content}
    return int((await alice.post("/messages", **sent))["id"])


async def settle(bob, channel, *, is_muted: bool, policy: int) -> None:
    change: dict[str, Any] = {"property": "is_muted", "value": is_muted}
    await bob.post(
        "/users/me/subscriptions/properties",
        subscription_data=[change | {"stream_id": channel.channel_id}],
    )
    where = {"stream_id": channel.channel_id, "topic": "T"}
    await bob.post("/user_topics", **where, visibility_policy=policy)


@pytest.mark.parametrize(("is_muted", "policy"), PLACES)
async def test_a_wildcard_counts_where_its_reader_listens(alice, bob, channel, is_muted, policy):
    await bob.post("/messages", type="channel", to="general", topic="t", content="taking part")
    await settle(bob, channel, is_muted=is_muted, policy=policy)
    by_name = await send(alice, "@**Bob** @**all**")
    wildcards = [await send(alice, content) for content in WILDCARDS]

    counted = sorted([by_name, *(wildcards if PLACES[is_muted, policy] else [])])
    assert await mentions(bob) == counted
    ids = [by_name, *wildcards]
    await bob.post("/messages/flags", messages=ids, op="add", flag="read")
    queue = await bob.register(event_types=["update_message_flags"])
    await bob.post("/messages/flags", messages=ids, op="remove", flag="read")
    [event] = await queue.poll()
    details = event["message_details"]
    assert [i for i in ids if details[str(i)].get("mentioned")] == counted
    assert await mentions(bob) == counted
    shown = await bob.get(f"/messages/{wildcards[0]}")
    assert "wildcard_mentioned" in shown["message"]["flags"]


async def test_what_counts_follows_the_muting(alice, bob, channel):
    wildcard = await send(alice, "@**all**")
    for (is_muted, policy), counts in PLACES.items():
        await settle(bob, channel, is_muted=is_muted, policy=policy)
        expected = [wildcard] if counts else []
        assert await mentions(bob) == expected, (is_muted, policy)


async def test_a_wildcard_in_a_direct_message_always_counts(alice, bob, channel, people):
    await settle(bob, channel, is_muted=True, policy=MUTED)
    others = [person.user_id for person in people]
    body = await alice.post("/messages", type="direct", to=others, content="@**all**")
    assert await mentions(bob) == [body["id"]]
