"""Muting people: who is muted, and what they send is read at once."""

from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def alice(log_in):
    return await log_in(full_name="Alice")


@pytest_asyncio.fixture
async def bob(log_in):
    return await log_in(full_name="Bob")


@pytest_asyncio.fixture
async def channel(make: Make, alice, bob):
    return await make.channel("general", subscribers=[alice.user, bob.user])


def mute(client, user, method="POST"):
    return client.call(method, f"/users/me/muted_users/{user.user_id}")


async def send(client, content="x", topic="t"):
    sent = {"type": "channel", "to": "general", "topic": topic, "content": content}
    return (await client.post("/messages", **sent))["id"]


async def unread(client):
    state = await client.post("/register", fetch_event_types=["message", "update_message_flags"])
    found = state["unread_msgs"]
    return sorted(i for each in found["streams"] + found["pms"] for i in each["unread_message_ids"])


async def muted(client):
    state = await client.post("/register", fetch_event_types=["muted_users"])
    return [each["id"] for each in state["muted_users"]]


async def test_muting_is_told_and_kept(bob, alice):
    queue = await bob.register(event_types=["muted_users"])
    (await mute(bob, alice.user)).succeeded()
    [event] = await queue.poll()
    assert [each["id"] for each in event["muted_users"]] == [alice.user.user_id]
    assert await muted(bob) == [alice.user.user_id]
    assert await muted(alice) == []
    (await mute(bob, alice.user, "DELETE")).succeeded()
    assert (await queue.poll())[0]["muted_users"] == []
    assert await muted(bob) == []


async def test_what_there_is_becomes_read_and_what_comes_is_read(alice, bob, channel):
    before = await send(alice)
    queue = await bob.register(event_types=["message", "muted_users", "update_message_flags"])
    (await mute(bob, alice.user)).succeeded()
    during = await send(alice, "@**Bob** listen")
    direct = await alice.post("/messages", type="direct", to=[bob.user.user_id], content="please")
    events: list[dict[str, Any]] = []
    while len(events) < 4:
        events += await queue.poll()
    assert [each["type"] for each in events[:2]] == ["muted_users", "update_message_flags"]
    assert (events[1]["flag"], events[1]["op"], events[1]["messages"]) == ("read", "add", [before])
    assert [each["message"]["id"] for each in events[2:]] == [during, direct["id"]]
    assert set(events[2]["flags"]) == {"read", "mentioned"}
    assert events[3]["flags"] == ["read"]
    assert await unread(bob) == []


async def test_what_comes_after_unmuting_is_unread_and_what_came_before_is_not(alice, bob, channel):
    (await mute(bob, alice.user)).succeeded()
    quiet = await send(alice)
    queue = await bob.register(event_types=["message"])
    (await mute(bob, alice.user, "DELETE")).succeeded()
    heard = await send(alice)
    [event] = await queue.poll()
    assert (event["message"]["id"], event["flags"]) == (heard, [])
    assert await unread(bob) == [heard]
    flags = (await bob.get(f"/messages/{quiet}"))["message"]["flags"]
    assert flags == ["read"]
    (await mute(bob, alice.user)).succeeded()
    assert await unread(bob) == []


async def test_others_are_heard_and_others_hear(alice, bob, log_in, make, channel):
    carol = await log_in(full_name="Carol")
    await make.subscribe(channel, [carol.user])
    (await mute(bob, alice.user)).succeeded()
    first, second = await send(alice), await send(carol)
    assert await unread(bob) == [second]
    assert first in await unread(carol)


async def test_a_muted_persons_message_may_be_marked_as_unread(alice, bob, channel):
    (await mute(bob, alice.user)).succeeded()
    sent = await send(alice)
    await bob.post("/messages/flags", messages=[sent], op="remove", flag="read")
    assert await unread(bob) == [sent]
    await bob.post("/mark_topic_as_read", stream_id=channel.channel_id, topic_name="t")
    assert await unread(bob) == []


async def test_marking_as_unread_does_not_outlast_muting(alice, bob, channel):
    sent = await send(alice)
    await bob.post("/messages/flags", messages=[sent], op="add", flag="read")
    await bob.post("/messages/flags", messages=[sent], op="remove", flag="read")
    (await mute(bob, alice.user)).succeeded()
    assert await unread(bob) == []


async def test_who_is_muted_already_or_not_is_refused(alice, bob):
    (await mute(bob, alice.user, "DELETE")).refused()
    (await mute(bob, alice.user)).succeeded()
    (await mute(bob, alice.user)).refused()
    assert await muted(bob) == [alice.user.user_id]


async def test_muting_oneself_or_an_unknown_user_is_refused(bob, make):
    (await mute(bob, bob.user)).refused()
    (await bob.call("POST", "/users/me/muted_users/999999999")).refused()
    (await bob.call("DELETE", "/users/me/muted_users/999999999")).refused()


async def test_deactivated_people_and_bots_may_be_muted(bob, make):
    gone = await make.user(is_active=False)
    bot = await make.user(bot_type=1, bot_owner=bob.user)
    (await mute(bob, gone)).succeeded()
    (await mute(bob, bot)).succeeded()
    assert await muted(bob) == sorted([gone.user_id, bot.user_id])


async def test_guests_mute_whom_they_may_know(log_in, make, alice):
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    guest = await log_in(role=GUEST)
    guest.server.forget(make.realm_id)
    (await mute(guest, alice.user)).refused()
    await make.channel(subscribers=[alice.user, guest.user])
    (await mute(guest, alice.user)).succeeded()


async def test_a_user_of_another_organization_cannot_be_muted(bob, server, connect, database):
    async with database.connection() as connection:
        stranger = await (await new_realm(connection)).user()
    (await mute(bob, stranger)).refused()
