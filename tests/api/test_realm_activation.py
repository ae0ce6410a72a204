"""An organization is closed, by its owner or by an operator, and opened again."""

import asyncio

import pytest

from server.domain.access import ADMINISTRATOR, OWNER
from storage import audit_log
from testkit.clients.api import PATIENCE_SECONDS
from testkit.clients.commands import run

pytestmark = pytest.mark.asyncio


async def test_within_a_second_all_are_signed_out_and_kept_out(server, log_in, make, database):
    olga, alice = await log_in(role=OWNER), await log_in()
    queue = await alice.register()
    waiting = asyncio.create_task(queue.poll())
    while not server.app.state()["polls_waiting"]:
        await olga.get("/users/me")
    await olga.post("/realm/deactivate")

    async with asyncio.timeout(PATIENCE_SECONDS):
        [event] = await waiting
    assert event == {
        "id": event["id"],
        "type": "realm",
        "op": "deactivated",
        "realm_id": make.realm_id,
    }
    for client in (olga, alice):
        for path in ("/users/me", "/messages?anchor=newest&num_before=1&num_after=0"):
            (await client.call("GET", path)).refused("REALM_DEACTIVATED", 401)
    poll = await alice.call("GET", "/events", queue_id=queue.queue_id, last_event_id=event["id"])
    poll.refused("REALM_DEACTIVATED", 401)
    (await alice.call("POST", "/realm/deactivate")).refused("REALM_DEACTIVATED", 401)
    async with database.connection() as connection:
        for table in ("event_queues", "sessions"):
            assert await connection.value(f"SELECT count(*) FROM {table}") == 0
        [row] = await audit_log.newest(connection, make.realm_id, limit=1)
    assert (row.action, row.actor_id) == ("realm_deactivated", olga.user.user_id)


async def test_only_owners_close_it(log_in):
    for role in (ADMINISTRATOR, 400, 600):
        client = await log_in(role=role)
        (await client.call("POST", "/realm/deactivate")).refused()


async def test_an_operator_opens_it_again_and_all_is_as_it_was(server, log_in, make):
    olga, alice = await log_in(role=OWNER), await log_in()
    channel = await make.channel("general", subscribers=[alice.user])
    to = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "x"}
    sent = (await alice.post("/messages", **to))["id"]
    await olga.post("/realm/deactivate")
    realm = (await server.app.realm_caches.of(make.realm_id).realm()).subdomain
    assert "is active again" in await run(server, "realm", "reactivate", "--realm", realm)
    assert "already" in await run(server, "realm", "reactivate", "--realm", realm)
    server.forget(make.realm_id)
    page = await alice.get("/messages", anchor="newest", num_before=5, num_after=0)
    assert [each["id"] for each in page["messages"]] == [sent]
    queue = await alice.register()
    closed = await run(server, "realm", "deactivate", "--realm", realm)
    assert f"at the subdomain `{realm}`, is deactivated." in closed
    async with asyncio.timeout(20):
        while (await alice.call("GET", "/users/me")).status == 200:
            pass
    (await alice.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)).refused(
        "REALM_DEACTIVATED", 401
    )


async def test_what_is_scheduled_rests(server, log_in, make):
    """See tests/processors/test_due_items.py for how; here: it is there afterwards."""
    olga = await log_in(role=OWNER)
    channel = await make.channel("general", subscribers=[olga.user])
    later = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "x"}
    await olga.post("/scheduled_messages", **later, scheduled_delivery_timestamp=4_000_000_000)
    await olga.post("/realm/deactivate")
    realm = (await server.app.realm_caches.of(make.realm_id).realm()).subdomain
    await run(server, "realm", "reactivate", "--realm", realm)
    server.forget(make.realm_id)
    assert len((await olga.get("/scheduled_messages"))["scheduled_messages"]) == 1
