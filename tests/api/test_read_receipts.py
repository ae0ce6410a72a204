"""GET /messages/{message_id}/read_receipts: who has read a message and lets others know."""

import pytest
import pytest_asyncio

from testkit.factories import Make

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def people(make: Make):
    await make.change_settings(enable_read_receipts=True)
    shy = {"send_read_receipts": False}
    return [
        await make.user("Alice"),
        await make.user("Bob"),
        await make.user("Carol"),
        await make.user("Shy", settings=shy),
    ]


@pytest_asyncio.fixture
async def clients(log_in, people, make):
    await make.channel("general", subscribers=people)
    return [await log_in(each) for each in people]


async def readers(client, message_id):
    return (await client.get(f"/messages/{message_id}/read_receipts"))["user_ids"]


async def mark(client, message_id, op="add"):
    await client.post("/messages/flags", messages=[message_id], op=op, flag="read")


async def test_those_who_have_read_a_channel_message(clients, people):
    alice, bob, carol, shy = clients
    fields = {"type": "channel", "to": "general", "topic": "t", "content": "x"}
    message_id = (await alice.post("/messages", **fields))["id"]
    assert await readers(alice, message_id) == []
    for client in (alice, bob, shy):
        await mark(client, message_id)
    assert await readers(alice, message_id) == [people[1].user_id]
    await mark(carol, message_id)
    assert await readers(bob, message_id) == [people[1].user_id, people[2].user_id]
    await mark(bob, message_id, op="remove")
    assert await readers(alice, message_id) == [people[2].user_id]


async def test_those_who_have_read_and_left(clients, people, make):
    alice, bob, *_ = clients
    fields = {"type": "channel", "to": "general", "topic": "t", "content": "x"}
    message_id = (await alice.post("/messages", **fields))["id"]
    await mark(bob, message_id)
    await bob.delete("/users/me/subscriptions", subscriptions=["general"])
    assert await readers(alice, message_id) == [people[1].user_id]


async def test_direct_messages(clients, people):
    alice, bob, carol, _ = clients
    to = [each.user_id for each in people[:3]]
    message_id = (await alice.post("/messages", type="direct", to=to, content="x"))["id"]
    await mark(bob, message_id)
    assert await readers(carol, message_id) == [people[1].user_id]


async def test_a_message_that_one_may_not_read(clients, people):
    alice, _, carol, _ = clients
    to = [people[1].user_id]
    message_id = (await alice.post("/messages", type="direct", to=to, content="x"))["id"]
    for number in (message_id, 10**9):
        (await carol.call("GET", f"/messages/{number}/read_receipts")).refused()


async def test_an_organization_without_receipts(clients, make):
    alice, *_ = clients
    fields = {"type": "channel", "to": "general", "topic": "t", "content": "x"}
    message_id = (await alice.post("/messages", **fields))["id"]
    await make.change_settings(enable_read_receipts=False)
    alice.server.forget(make.realm_id)
    (await alice.call("GET", f"/messages/{message_id}/read_receipts")).refused()


async def test_muting_hides_both_from_each_other(clients, people):
    alice, bob, carol, _ = clients
    fields = {"type": "channel", "to": "general", "topic": "t", "content": "x"}
    message_id = (await alice.post("/messages", **fields))["id"]
    for client in (bob, carol):
        await mark(client, message_id)
    await bob.post(f"/users/me/muted_users/{people[2].user_id}")
    assert await readers(bob, message_id) == [people[1].user_id]
    assert await readers(carol, message_id) == [people[2].user_id]
    assert await readers(alice, message_id) == [people[1].user_id, people[2].user_id]
    await bob.delete(f"/users/me/muted_users/{people[2].user_id}")
    assert await readers(bob, message_id) == [people[1].user_id, people[2].user_id]
