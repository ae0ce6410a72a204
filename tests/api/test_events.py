"""Event queues: polls that wait, repeat, are cut, and move between processes."""

import asyncio

import pytest
import pytest_asyncio

from server.realtime import poll as polls
from server.realtime import queue as queues
from server.realtime.queue import FIRST_EPHEMERAL_K, K_BITS, LAST_K
from testkit.clients.api import PATIENCE_SECONDS

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def clients(server, make, people, channel, connect):
    return [await connect(server, make.realm_id, person) for person in people]


async def say(client, content="hello", topic="t"):
    body = await client.post(
        "/messages", type="stream", to='"general"', topic=topic, content=content
    )
    return body["id"]


async def a_poll_waits(server):
    """Return once a poll has come and found nothing."""
    while not server.app.realtime.waiting():  # noqa: ASYNC110 - there is no callback
        await asyncio.sleep(0.01)


def contents(events):
    return [e["message"]["content"] for e in events if e["type"] == "message"]


async def test_a_poll_says_what_its_client_has(clients):
    queue = await clients[1].register(event_types=["message"])
    for more in ({}, {"dont_block": True}):
        answer = await clients[1].call("GET", "/events", queue_id=queue.queue_id, **more)
        assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == "last_event_id"
    await say(clients[0])
    assert contents(await queue.poll()) == ["hello"]


async def test_a_poll_waits_for_the_next_message(clients):
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    waiting = asyncio.create_task(queue.poll())
    await say(alice, "first")
    assert contents(await waiting) == ["first"]


async def test_a_repeated_poll_gives_the_same_events_with_the_same_ids(clients):
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    for word in ("one", "two"):
        await say(alice, word)
    asked = {"queue_id": queue.queue_id, "last_event_id": -1, "dont_block": True}
    first = await bob.get("/events", **asked)
    again = await bob.get("/events", **asked)
    assert contents(first["events"]) == ["one", "two"]
    assert first == again


async def test_an_answer_that_was_lost_is_given_again(clients):
    """The poll was answered while it waited, and the client never got it."""
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    lost = asyncio.create_task(bob.get("/events", queue_id=queue.queue_id, last_event_id=-1))
    await asyncio.sleep(0)
    await say(alice, "once")
    assert contents((await lost)["events"]) == ["once"]
    assert contents(await queue.poll()) == ["once"]


async def test_what_is_acknowledged_is_not_given_again(clients):
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    await say(alice, "one")
    assert contents(await queue.poll()) == ["one"]
    await say(alice, "two")
    assert contents(await queue.poll()) == ["two"]
    assert await queue.poll(dont_block=True) == []


async def test_the_older_of_two_polls_is_released(clients):
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    older = asyncio.create_task(bob.get("/events", queue_id=queue.queue_id, last_event_id=-1))
    await a_poll_waits(bob.server)
    newer = asyncio.create_task(bob.get("/events", queue_id=queue.queue_id, last_event_id=-1))
    released = await asyncio.wait_for(older, PATIENCE_SECONDS)
    assert [e["type"] for e in released["events"]] == ["heartbeat"]
    await say(alice, "for the newer")
    assert contents((await newer)["events"]) == ["for the newer"]


async def test_a_queue_is_served_by_any_process(clients, serving_with, make, people, connect):
    """Another process takes the queue over; the poll that waited at the first is released."""
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    await say(alice, "one")
    assert contents(await queue.poll()) == ["one"]
    waiting = asyncio.create_task(
        bob.get("/events", queue_id=queue.queue_id, last_event_id=queue.last_event_id)
    )
    await a_poll_waits(bob.server)
    async with serving_with() as other:
        elsewhere = await connect(other, make.realm_id, people[1])
        moved = asyncio.create_task(
            elsewhere.get("/events", queue_id=queue.queue_id, last_event_id=queue.last_event_id)
        )
        released = await asyncio.wait_for(waiting, PATIENCE_SECONDS)
        assert [e["type"] for e in released["events"]] == ["heartbeat"]
        await say(alice, "two")
        assert contents((await asyncio.wait_for(moved, PATIENCE_SECONDS))["events"]) == ["two"]


async def test_a_restarted_process_goes_on_where_the_client_is(
    clients, serving_with, make, people, connect
):
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    for number in range(5):
        await say(alice, str(number))
    async with serving_with() as fresh:
        elsewhere = await connect(fresh, make.realm_id, people[1])
        body = await elsewhere.get("/events", queue_id=queue.queue_id, last_event_id=-1)
        assert contents(body["events"]) == ["0", "1", "2", "3", "4"]
        third = body["events"][2]["id"]
        rest = await elsewhere.get("/events", queue_id=queue.queue_id, last_event_id=third)
        assert contents(rest["events"]) == ["3", "4"]


async def test_a_heartbeat_has_an_id_above_what_was_given(clients, monkeypatch):
    monkeypatch.setattr(polls, "HEARTBEAT_SECONDS", 0.01)
    monkeypatch.setattr(polls, "HEARTBEAT_PERIOD_SECONDS", 0.001)
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    await say(alice)
    [message] = await queue.poll()
    beats = []
    for _ in range(3):
        asked = {"queue_id": queue.queue_id, "last_event_id": queue.last_event_id}
        [beat] = (await bob.get("/events", **asked))["events"]
        assert beat["type"] == "heartbeat"
        beats.append(beat["id"])
        queue.last_event_id = beat["id"]
    assert message["id"] < beats[0] < beats[1] < beats[2]
    assert beats[0] & LAST_K >= FIRST_EPHEMERAL_K
    assert beats[0] >> K_BITS >= message["id"] >> K_BITS
    await say(alice, "after")
    assert contents(await queue.poll()) == ["after"]


async def test_when_a_position_has_no_ids_left_a_new_one_is_made(clients, monkeypatch):
    """More heartbeats than ids in a realm where nothing happens: the clock takes an empty step."""
    monkeypatch.setattr(queues, "FIRST_EPHEMERAL_K", LAST_K - 3)
    monkeypatch.setattr(polls, "HEARTBEAT_SECONDS", 0.0)
    monkeypatch.setattr(polls, "HEARTBEAT_PERIOD_SECONDS", 0.001)
    _, bob = clients
    queue = await bob.register(event_types=["message"])
    last = -1
    for _ in range(8):
        asked = {"queue_id": queue.queue_id, "last_event_id": last}
        for event in (await bob.get("/events", **asked))["events"]:
            assert event["id"] > last
            last = event["id"]
    assert last >> K_BITS >= 1


async def test_a_deleted_queue_is_gone_everywhere(clients, serving_with, make, people, connect):
    _, bob = clients
    # The other process ends a poll that waits when it hears of the end: by a heartbeat.
    queue = await bob.register(event_types=["message"])
    async with serving_with() as other:
        elsewhere = await connect(other, make.realm_id, people[1])
        await elsewhere.get("/events", queue_id=queue.queue_id, last_event_id=-1, dont_block=True)
        await bob.delete("/events", queue_id=queue.queue_id)
        for client in (bob, elsewhere):
            asked = {"queue_id": queue.queue_id, "last_event_id": -1}
            answer = await client.call("GET", "/events", **asked)
            if answer.status == 200:
                assert [each["type"] for each in answer.body["events"]] == ["heartbeat"]
                answer = await client.call("GET", "/events", **asked)
            assert answer.status == 400
            assert answer.body["code"] == "BAD_EVENT_QUEUE_ID"
            assert answer.body["queue_id"] == queue.queue_id


async def test_a_queue_is_polled_and_deleted_by_its_owner_alone(clients):
    alice, bob = clients
    queue = await bob.register()
    for method in ("GET", "DELETE"):
        asked = {"last_event_id": -1} if method == "GET" else {}
        answer = await alice.call(method, "/events", queue_id=queue.queue_id, **asked)
        assert answer.body["code"] == "BAD_EVENT_QUEUE_ID"
    assert await queue.poll(dont_block=True) == []


async def test_a_queue_that_is_gone_is_told_so_in_the_words_that_clients_look_for(clients):
    answer = await clients[0].call("GET", "/events", queue_id="gone", last_event_id=-1)
    assert answer.refused("BAD_EVENT_QUEUE_ID")["msg"] == "Bad event queue id: gone"


async def test_an_id_from_the_future_is_refused(clients):
    _, bob = clients
    queue = await bob.register()
    answer = await bob.call(
        "GET", "/events", queue_id=queue.queue_id, last_event_id=10**12, dont_block=True
    )
    assert answer.status == 400


async def test_a_queue_not_polled_for_its_lifespan_has_ended(clients, database):
    _, bob = clients
    queue = await bob.register(event_types=["message"])
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE event_queues SET last_seen_at = now() - interval '25 hours'"
        )
    answer = await bob.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)
    assert answer.body["code"] == "BAD_EVENT_QUEUE_ID"


async def test_a_queue_hears_only_what_it_asked_for(clients):
    alice, bob = clients
    topic = await bob.register(
        event_types=["message"], narrow=[["stream", "general"], ["topic", "x"]]
    )
    none = await bob.register(event_types=["reaction"])
    await say(alice, "elsewhere", topic="y")
    await say(alice, "here", topic="X")
    assert contents(await topic.poll()) == ["here"]
    assert await none.poll(dont_block=True) == []


async def test_a_bad_narrow_is_refused(clients):
    _, bob = clients
    answer = await bob.call("POST", "/register", narrow=[["nonsense", "x"]])
    assert answer.body["code"] == "BAD_NARROW"


async def test_all_public_channels_but_no_private_ones(clients, make, people):
    alice, bob = clients
    await make.channel("open", subscribers=[people[0]])
    await make.channel("closed", subscribers=[people[0]], invite_only=True)
    queue = await bob.register(event_types=["message"], all_public_streams=True)
    for name in ("closed", "open"):
        await alice.post("/messages", type="stream", to=name, topic="t", content=name)
    assert contents(await queue.poll()) == ["open"]


async def test_a_bounded_answer_and_the_rest_with_the_next_poll(clients, monkeypatch):
    monkeypatch.setattr(polls, "MAX_EVENTS", 3)
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    for number in range(7):
        await say(alice, str(number))
    sizes: list[int] = []
    got: list[str] = []
    while len(got) < 7:
        events = contents(await queue.poll())
        sizes.append(len(events))
        got.extend(events)
    assert got == [str(n) for n in range(7)]
    assert max(sizes) <= 3


async def test_old_events_come_from_the_log_when_memory_is_short(
    clients, serving_with, make, people, connect, monkeypatch
):
    monkeypatch.setattr("server.realtime.follower.TAIL_BYTES", 2_000)
    monkeypatch.setattr("server.realtime.log_page_cache.PAGE_ENTRIES", 2)
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    for number in range(20):
        await say(alice, str(number))
    got: list[str] = []
    while len(got) < 20:
        got.extend(contents(await queue.poll()))
    assert got == [str(n) for n in range(20)]


async def test_membership_decides_at_the_position(clients, make, people, channel):
    """Who leaves gets what came before, who joins gets what comes after, however late they poll."""
    alice, bob = clients
    queue = await bob.register(event_types=["message"])
    await say(alice, "in")
    await make.unsubscribe(channel, [people[1]])
    alice.server.forget(make.realm_id)
    await say(alice, "out")
    await make.subscribe(channel, [people[1]])
    alice.server.forget(make.realm_id)
    await say(alice, "in again")
    got: list[str] = []
    while "in again" not in got:
        got.extend(contents(await queue.poll()))
    assert got == ["in", "in again"]


async def test_the_local_id_goes_to_the_sending_queue_alone(clients):
    alice, _ = clients
    sending = await alice.register(event_types=["message"])
    other = await alice.register(event_types=["message"])
    await alice.post(
        "/messages",
        type="stream",
        to="general",
        topic="t",
        content="mine",
        queue_id=sending.queue_id,
        local_id="17.01",
    )
    [mine] = await sending.poll()
    [elsewhere] = await other.poll()
    assert mine["local_message_id"] == "17.01"
    assert "local_message_id" not in elsewhere


async def test_a_send_that_is_tried_again_is_one_message(clients):
    alice, _ = clients
    fields = {"type": "stream", "to": "general", "topic": "t", "content": "once"}
    headers = {"Idempotency-Key": "abc"}
    first = await alice.call("POST", "/messages", headers=headers, **fields)
    again = await alice.call("POST", "/messages", headers=headers, **fields)
    assert first.body == again.body
    form = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    changed_body = b"type=stream&to=general&topic=t&content=two"
    other = await alice.send("POST", "/messages", body=changed_body, headers=form)
    assert (other.status, other.body["result"]) == (422, "error")
    own = {"queue_id": "q", "local_id": "1"}
    one = await alice.post("/messages", **fields, **own)
    assert await alice.post("/messages", **fields, **own) == one
    changed = await alice.post("/messages", **{**fields, "content": "two"}, **own)
    assert changed["id"] != one["id"]


async def test_open_polls_are_answered_when_the_server_stops(
    serving_with, make, people, channel, connect
):
    async with serving_with() as stopping:
        bob = await connect(stopping, make.realm_id, people[1])
        queue = await bob.register()
        waiting = asyncio.create_task(bob.get("/events", queue_id=queue.queue_id, last_event_id=-1))
        await a_poll_waits(stopping)
    assert [e["type"] for e in (await waiting)["events"]] == ["heartbeat"]
