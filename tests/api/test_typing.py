"""POST /typing: told at once to connected clients, and kept nowhere."""

import asyncio

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

CAPABLE = {"stream_typing_notifications": True}


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel("general", subscribers=people[:2])


@pytest_asyncio.fixture
async def clients(log_in, people, channel):
    return [await log_in(person) for person in people]


@pytest_asyncio.fixture
async def queues(clients):
    """Those of Alice, Bob and Carol, known to the server: each has been polled once."""
    queues = [
        await each.register(event_types=["typing"], client_capabilities=CAPABLE) for each in clients
    ]
    for queue in queues:
        await queue.poll(dont_block=True)
    return queues


async def heard(queues):
    """What is in each of the queues now."""
    return [await queue.poll(dont_block=True) for queue in queues]


async def test_typing_directly_is_told_to_the_people(clients, queues, people):
    alice = clients[0]
    for op in ("start", "stop"):
        await alice.post("/typing", op=op, to=[people[1].user_id])
        mine, theirs, others = await heard(queues)
        assert others == []
        for [event] in (mine, theirs):
            assert (event["op"], event["message_type"]) == (op, "direct")
            assert event["sender"]["user_id"] == people[0].user_id
            named = [each["user_id"] for each in event["recipients"]]
            assert named == [people[0].user_id, people[1].user_id]


async def test_the_kinds_of_direct_messages_have_three_names(clients, queues, people):
    for kind in ("direct", "private", None):
        await clients[0].post("/typing", op="start", to=[people[1].user_id], type=kind)
        assert [len(events) for events in await heard(queues)] == [1, 1, 0]


async def test_a_waiting_poll_is_answered(clients, queues, people):
    waiting = asyncio.create_task(queues[1].poll())
    while not clients[1].server.app.realtime.waiting():  # noqa: ASYNC110 - nothing tells it
        await asyncio.sleep(0.01)
    await clients[0].post("/typing", op="start", to=[people[1].user_id])
    [event] = await waiting
    assert event["type"] == "typing"


async def test_typing_in_a_channel_is_told_to_its_subscribers(clients, queues, channel):
    where = {"stream_id": channel.channel_id, "topic": "t"}
    for kind in ("channel", "stream"):
        await clients[0].post("/typing", op="start", type=kind, **where)
        mine, theirs, others = await heard(queues)
        assert others == []
        for [event] in (mine, theirs):
            assert event["message_type"] == "stream"
            assert (event["stream_id"], event["topic"]) == (channel.channel_id, "t")
            assert "recipients" not in event


async def test_the_empty_topic_has_its_names_here_too(clients, queues, channel):
    where = {"type": "channel", "stream_id": channel.channel_id}
    capable = CAPABLE | {"empty_topic_name": True}
    new = await clients[1].register(event_types=["typing"], client_capabilities=capable)
    await new.poll(dont_block=True)
    for topic in ("", "(no topic)", "general chat"):
        await clients[0].post("/typing", op="start", topic=topic, **where)
        _, [event], _ = await heard(queues)
        assert event["topic"] == "general chat"
        assert [told["topic"] for told in await new.poll(dont_block=True)] == [""]


async def test_clients_that_do_not_show_it_are_not_told_of_channels(clients, people, channel):
    queue = await clients[1].register(event_types=["typing"])
    await queue.poll(dont_block=True)
    where = {"type": "channel", "stream_id": channel.channel_id, "topic": "t"}
    await clients[0].post("/typing", op="start", **where)
    await clients[0].post("/typing", op="start", to=[people[1].user_id])
    [event] = await queue.poll(dont_block=True)
    assert event["message_type"] == "direct"


async def test_people_who_do_not_want_to_know_are_not_told(log_in, make, clients, queues, channel):
    quiet = await make.user(settings={"receives_typing_notifications": False})
    await make.subscribe(channel, [quiet])
    client = await log_in(quiet)
    queue = await client.register(event_types=["typing"], client_capabilities=CAPABLE)
    await queue.poll(dont_block=True)
    await clients[0].post("/typing", op="start", to=[quiet.user_id])
    where = {"type": "channel", "stream_id": channel.channel_id, "topic": "t"}
    await clients[0].post("/typing", op="start", **where)
    assert await queue.poll(dont_block=True) == []
    assert [len(events) for events in await heard(queues)] == [2, 1, 0]


async def test_people_who_do_not_tell_are_not_betrayed(log_in, make, people, queues, channel):
    shy = await make.user(
        settings={
            "send_private_typing_notifications": False,
            "send_stream_typing_notifications": False,
        }
    )
    await make.subscribe(channel, [shy])
    client = await log_in(shy)
    await client.post("/typing", op="start", to=[people[1].user_id])
    where = {"type": "channel", "stream_id": channel.channel_id, "topic": "t"}
    await client.post("/typing", op="start", **where)
    assert await heard(queues) == [[], [], []]


async def test_an_archived_channel_refuses_typing(make, clients, queues, channel):
    message_id = (
        await clients[0].post("/messages", type="channel", to="general", topic="t", content="x")
    )["id"]
    await make.connection.execute(
        "UPDATE channels SET is_archived = true WHERE channel_id = %(id)s", id=channel.channel_id
    )
    clients[0].server.forget(make.realm_id)
    for op in ("start", "stop"):
        where = {"type": "channel", "stream_id": channel.channel_id, "topic": "t", "op": op}
        (await clients[0].call("POST", "/typing", **where)).refused("BAD_REQUEST")
        path = f"/messages/{message_id}/typing"
        (await clients[0].call("POST", path, op=op)).refused("BAD_REQUEST")
    assert await heard(queues) == [[], [], []]


async def test_large_channels_send_no_event(log_in, make):
    crowd = await make.users(101)
    large = await make.channel(subscribers=crowd)
    client = await log_in(crowd[0])
    queue = await client.register(event_types=["typing"], client_capabilities=CAPABLE)
    await queue.poll(dont_block=True)
    where = {"type": "channel", "stream_id": large.channel_id, "topic": "t"}
    await client.post("/typing", op="start", **where)
    assert await queue.poll(dont_block=True) == []


async def test_one_types_where_one_may_read(log_in, make, clients, channel):
    closed = await make.channel("closed", invite_only=True)
    fields = {"op": "start", "type": "channel", "topic": "t"}
    guest = await log_in(role=GUEST)
    for client, number in (
        (clients[0], closed.channel_id),
        (clients[0], 10**9),
        (guest, channel.channel_id),
    ):
        answer = await client.call("POST", "/typing", stream_id=number, **fields)
        assert answer.refused("STREAM_DOES_NOT_EXIST")["stream_id"] == number


async def test_people_who_are_not_there_are_refused(clients, make):
    gone = await make.user(is_active=False)
    for to in ([10**9], [0], [gone.user_id]):
        (await clients[0].call("POST", "/typing", op="start", to=to)).refused("BAD_REQUEST")


async def test_what_is_wrong_or_missing_is_named(clients, people, channel):
    direct = {"op": "start", "to": [people[1].user_id]}
    in_channel = {
        "op": "start",
        "type": "channel",
        "stream_id": channel.channel_id,
        "topic": "t",
    }
    for fields, name in (
        (direct, "op"),
        (direct, "to"),
        (in_channel, "stream_id"),
        (in_channel, "topic"),
    ):
        answer = await clients[0].call("POST", "/typing", **{**fields, name: None})
        assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == name
    for fields, name, value in (
        (direct, "op", "pause"),
        (direct, "type", "huddle"),
        (direct, "to", "[]"),
        (direct, "to", "{}"),
        (direct, "to", '["a@example.com"]'),
        (in_channel, "stream_id", '"1"'),
        (in_channel, "stream_id", "general"),
    ):
        answer = await clients[0].call("POST", "/typing", **{**fields, name: value})
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    answer = await clients[0].call("POST", "/typing", **{**in_channel, "topic": "x" * 61})
    answer.refused("BAD_REQUEST")


async def test_nothing_of_it_is_kept(clients, queues, people, make):
    before = await make.position()
    await clients[0].post("/typing", op="start", to=[people[1].user_id])
    assert await make.position() == before


async def test_what_is_told_before_the_first_poll_waits_for_it(clients):
    """A queue that has just been registered misses nothing, though no log keeps it."""
    alice, bob = clients[:2]
    queue = await bob.register(event_types=["typing"])
    while not bob.server.app.realtime.serves(queue.queue_id):  # noqa: ASYNC110 - no callback
        await asyncio.sleep(0.01)
    await alice.post("/typing", op="start", to=[bob.user.user_id])
    [event] = await queue.poll()
    assert (event["type"], event["op"]) == ("typing", "start")
