"""The channels that newcomers join, over HTTP."""

import pytest
import pytest_asyncio

from server.actions.users import NewUser, create_users
from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, MODERATOR

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


async def defaults(client):
    state = await client.post("/register", fetch_event_types=["default_streams"])
    return state["realm_default_streams"]


async def test_channels_become_default_ones_and_cease_to_be(boss, log_in, make):
    member, guest = await log_in(), await log_in(role=GUEST)
    one, two = await make.channel("one"), await make.channel("two")
    events = await member.register(event_types=["default_streams"])

    for channel in (one, two):
        await boss.post("/default_streams", stream_id=channel.channel_id)
    await boss.post("/default_streams", stream_id=one.channel_id)
    await boss.delete("/default_streams", stream_id=one.channel_id)
    await boss.delete("/default_streams", stream_id=one.channel_id)

    assert await defaults(member) == [two.channel_id]
    # They are no guest's to know of.
    assert await defaults(guest) == []
    told: list[list[int]] = []
    while len(told) < 3:
        told += [event["default_streams"] for event in await events.poll()]
    assert told == [[one.channel_id], [one.channel_id, two.channel_id], [two.channel_id]]
    log = (await boss.get("/realm/audit_log"))["entries"]
    assert [entry["after"] for entry in log] == [
        {"is_default": False},
        {"is_default": True},
        {"is_default": True},
    ]


async def test_newcomers_get_them(boss, server, make):
    channel = await make.channel("welcome")
    await boss.post("/default_streams", stream_id=channel.channel_id)
    now = server.app.clock.now()
    new = [
        NewUser(email="new@example.com", full_name="Newcomer", role=MEMBER),
        NewUser(email="visitor@example.com", full_name="Visitor", role=GUEST),
    ]

    writer = server.app.writers.of(make.realm_id)
    newcomer, _ = await writer.write(lambda tx: create_users(tx, new, now=now))

    body = await boss.get(f"/streams/{channel.channel_id}/members")
    assert body["subscribers"] == [newcomer.user_id]


async def test_by_the_channel_itself(boss, make):
    channel = await make.channel("welcome")
    for is_default in (True, False):
        await boss.patch(f"/streams/{channel.channel_id}", is_default_stream=is_default)
        assert (await make.again(channel)).is_default is is_default


async def test_what_cannot_be_one(boss, make):
    secret = await make.channel("secret", invite_only=True, subscribers=[boss.user])
    closed = await make.channel("closed", is_archived=True)
    for channel_id in (secret.channel_id, closed.channel_id, 10**9):
        (await boss.call("POST", "/default_streams", stream_id=channel_id)).refused()
    (await boss.call("POST", "/default_streams")).refused("REQUEST_VARIABLE_MISSING")
    (await boss.call("DELETE", "/default_streams", stream_id=10**9)).refused()
    assert await defaults(boss) == []


async def test_only_administrators_choose(log_in, make):
    moderator = await log_in(role=MODERATOR)
    channel = await make.channel("plans", creator=moderator.user)
    for client in (moderator, await log_in(), await log_in(role=GUEST)):
        for method in ("POST", "DELETE"):
            answer = await client.call(method, "/default_streams", stream_id=channel.channel_id)
            answer.refused()
    path = f"/streams/{channel.channel_id}"
    (await moderator.call("PATCH", path, is_default_stream=True)).refused()
    assert not (await make.again(channel)).is_default
