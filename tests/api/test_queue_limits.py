"""An account has so many event queues at most."""

import asyncio

import pytest

from server.initial_state.register import MAX_QUEUES

pytestmark = pytest.mark.asyncio


async def registered(client, count):
    asked = [client.post("/register", event_types=["message"]) for _ in range(count)]
    return [answer["queue_id"] for answer in await asyncio.gather(*asked)]


async def poll(client, queue_id):
    return await client.call("GET", "/events", queue_id=queue_id, last_event_id=-1, dont_block=True)


async def test_the_queue_that_was_polled_least_recently_ends(log_in, make):
    ada, bob = await log_in(), await log_in()
    [of_bob] = await registered(bob, 1)
    [oldest, served] = await registered(ada, 2)
    await make.connection.execute(
        "UPDATE event_queues SET last_seen_at = now() - interval '2 hours' WHERE queue_id = %(id)s",
        id=oldest,
    )
    await make.connection.execute(
        "UPDATE event_queues SET last_seen_at = now() - interval '1 hour' WHERE queue_id = %(id)s",
        id=served,
    )
    for _ in range(0, MAX_QUEUES - 2, 33):
        (await poll(ada, served)).succeeded()
        await registered(ada, 33)
    (await poll(ada, oldest)).succeeded()
    await make.connection.execute(
        "UPDATE event_queues SET last_seen_at = now() - interval '2 hours' WHERE queue_id = %(id)s",
        id=oldest,
    )
    await registered(ada, 1)
    assert (await poll(ada, oldest)).body["code"] == "BAD_EVENT_QUEUE_ID"
    (await poll(bob, of_bob)).succeeded()
    left = await make.connection.values(
        "SELECT count(*) FROM event_queues WHERE user_id = %(user_id)s", user_id=ada.user.user_id
    )
    assert left == [MAX_QUEUES]


async def test_a_queue_that_ends_does_so_where_it_is_served(log_in, make):
    ada = await log_in()
    [first] = await registered(ada, 1)
    (await poll(ada, first)).succeeded()  # it is in memory now
    await make.connection.execute(
        "UPDATE event_queues SET last_seen_at = now() - interval '1 hour' WHERE queue_id = %(id)s",
        id=first,
    )
    for _ in range(8):
        await registered(ada, MAX_QUEUES // 8)
    assert (await poll(ada, first)).body["code"] == "BAD_EVENT_QUEUE_ID"
