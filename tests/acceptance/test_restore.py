"""A restored or promoted database begins a new epoch: nothing is given out twice."""

import asyncio

import pytest

from server.realtime.queue import K_BITS
from testkit.clients.api import PATIENCE_SECONDS
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def become_another(database, *, timeline: int = 7) -> None:
    """The database is what a backup of another time, or of another cluster, would be."""
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE database_identity SET timeline = %(timeline)s", timeline=timeline
        )


async def test_after_a_restore_old_queues_end_and_ids_go_on_far_above(
    make: Make, database, serving_with, connect
):
    alice = await make.user()
    channel = await make.channel("general", subscribers=[alice])
    message = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "x"}
    async with serving_with() as before:
        client = await connect(before, make.realm_id, alice)
        queue = await client.register()
        old_id = (await client.post("/messages", **message))["id"]
        assert await queue.poll()
    await become_another(database)
    async with serving_with() as after:
        client = await connect(after, make.realm_id, alice)
        answer = await client.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)
        assert answer.body["code"] == "BAD_EVENT_QUEUE_ID"
        new_id = (await client.post("/messages", **message))["id"]
        assert new_id > old_id + 1_000_000
        fresh = await client.register()
        await client.post("/messages", **message)
        [event, *_] = await fresh.poll()
        assert event["id"] >> K_BITS == 1


async def test_a_process_that_was_running_meets_the_new_epoch(
    make: Make, database, serving_with, connect
):
    """The other process knows of it first; the one with a waiting poll learns from the clock."""
    alice = await make.user()
    channel = await make.channel("general", subscribers=[alice])
    async with serving_with() as running:
        client = await connect(running, make.realm_id, alice)
        queue = await client.register()
        asked = {"queue_id": queue.queue_id, "last_event_id": -1}
        waiting = asyncio.create_task(client.call("GET", "/events", **asked))
        await become_another(database)
        async with serving_with():
            await asyncio.wait_for(waiting, PATIENCE_SECONDS)
        # The waiting poll may have ended with the connection, before the process knew.
        async with asyncio.timeout(PATIENCE_SECONDS):
            while "code" not in (again := await client.call("GET", "/events", **asked)).body:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert again.body["code"] == "BAD_EVENT_QUEUE_ID"
        sent = await client.post(
            "/messages", type="channel", to=channel.channel_id, topic="t", content="x"
        )
        assert sent["id"] > 1_000_000


async def test_the_same_database_stays_in_its_epoch(make: Make, serving_with, connect):
    alice = await make.user()
    async with serving_with() as first:
        queue = await (await connect(first, make.realm_id, alice)).register()
    async with serving_with() as second:
        client = await connect(second, make.realm_id, alice)
        await client.get("/events", queue_id=queue.queue_id, last_event_id=-1, dont_block=True)
