"""POST /messages/flags: who may set what on which messages, and what is told."""

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from tests.factories import Make

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob")]


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel("general", subscribers=people)


@pytest_asyncio.fixture
async def sent(make: Make, people, channel):
    """The ids of three messages of Alice."""
    topic = await make.topic(channel, "t")
    return [await make.message(people[0], topic) for _ in range(3)]


@pytest_asyncio.fixture
async def bob(log_in, people, sent):
    return await log_in(people[1])


def change(client, /, **fields):
    """A call that marks as read, unless the fields say something else."""
    return client.call("POST", "/messages/flags", **{"op": "add", "flag": "read", **fields})


async def flags(client, message_id):
    return {*(await client.get(f"/messages/{message_id}"))["message"]["flags"]}


async def test_each_flag_is_set_and_taken_off(bob, sent):
    queue = await bob.register(event_types=["update_message_flags"])
    for flag in ("read", "starred", "collapsed"):
        for op in ("add", "remove"):
            body = (await change(bob, messages=sent[:2], op=op, flag=flag)).succeeded()
            assert body["messages"] == sent[:2]
            assert (flag in await flags(bob, sent[0])) is (op == "add")
            [event] = await queue.poll()
            assert (event["op"], event["operation"]) == (op, op)
            assert (event["flag"], event["messages"]) == (flag, sent[:2])
            assert event["all"] is False


async def test_channels_that_were_left_out_are_listed_for_unread_alone(bob, sent):
    listing = "ignored_because_not_subscribed_channels"
    for flag in ("read", "starred"):
        for op in ("add", "remove"):
            body = (await change(bob, messages=sent, op=op, flag=flag)).succeeded()
            assert body.get(listing) == ([] if (flag, op) == ("read", "remove") else None)


async def test_what_one_is_not_subscribed_to_stays_read(bob, make, people, channel, sent):
    other = await make.channel(subscribers=people)
    inside = await make.message(people[0], await make.topic(other, "t"))
    await bob.post("/messages/flags", messages=[*sent, inside], op="add", flag="read")
    await make.unsubscribe(channel, [people[1]])
    bob.server.forget(make.realm_id)
    body = (await change(bob, messages=[*sent, inside], op="remove")).succeeded()
    assert body["messages"] == [inside]
    assert body["ignored_because_not_subscribed_channels"] == [channel.channel_id]
    assert "read" in await flags(bob, sent[0])


async def test_unread_says_where_the_messages_are(bob, people, channel, sent):
    direct = await bob.post("/messages", type="direct", to=[people[0].user_id], content="x")
    everything = [*sent, direct["id"]]
    await bob.post("/messages/flags", messages=everything, op="add", flag="read")
    queue = await bob.register(event_types=["update_message_flags"])
    await bob.post("/messages/flags", messages=everything, op="remove", flag="read")
    events = await queue.poll()
    details = {key: value for event in events for key, value in event["message_details"].items()}
    in_channel = details[str(sent[0])]
    assert (in_channel["type"], in_channel["stream_id"]) == ("stream", channel.channel_id)
    assert in_channel["topic"] == "t"
    in_direct = details[str(direct["id"])]
    assert (in_direct["type"], in_direct["user_ids"]) == ("private", [people[0].user_id])
    assert set(details) == {str(each) for each in everything}


async def test_only_what_changed_is_named(bob, sent):
    assert (await change(bob, messages=[sent[1], sent[1]])).succeeded()["messages"] == [sent[1]]
    queue = await bob.register(event_types=["update_message_flags"])
    assert (await change(bob, messages=sent)).succeeded()["messages"] == [sent[0], sent[2]]
    assert (await change(bob, messages=sent)).succeeded()["messages"] == []
    [event] = await queue.poll()
    assert event["messages"] == [sent[0], sent[2]]
    assert await queue.poll(dont_block=True) == []


async def test_no_messages_change_nothing(bob, sent):
    assert (await change(bob, messages=[])).succeeded()["messages"] == []


async def test_what_one_may_not_read_is_passed_over(bob, log_in, make, people, sent):
    closed = await make.channel(subscribers=people[:1], invite_only=True)
    hidden = await make.message(people[0], await make.topic(closed, "t"))
    for flag in ("read", "starred", "collapsed"):
        body = (await change(bob, messages=[hidden, 10**9, -1, 0], flag=flag)).succeeded()
        assert body["messages"] == []
    guest = await log_in(role=GUEST)
    assert (await change(guest, messages=sent, flag="starred")).succeeded()["messages"] == []
    assert (await guest.post("/register"))["starred_messages"] == []


async def test_starring_makes_what_one_did_not_receive_history(log_in, sent):
    stranger = await log_in()
    body = (await change(stranger, messages=sent[:1], flag="starred")).succeeded()
    assert body["messages"] == sent[:1]
    assert await flags(stranger, sent[0]) == {"read", "starred", "historical"}
    fields = {"anchor": "newest", "num_before": 9, "num_after": 0}
    page = await stranger.get("/messages", narrow=[["is", "starred"]], **fields)
    assert [each["id"] for each in page["messages"]] == sent[:1]
    assert (await stranger.post("/register"))["starred_messages"] == sent[:1]


async def test_flags_are_everybodys_own(bob, log_in, people, sent):
    alice = await log_in(people[0])
    queue = await alice.register(event_types=["update_message_flags"])
    await bob.post("/messages/flags", messages=sent, op="add", flag="starred")
    assert "starred" not in await flags(alice, sent[0])
    assert await queue.poll(dont_block=True) == []


async def test_flags_that_the_server_alone_sets_are_refused(bob, sent):
    for flag in (
        "mentioned",
        "wildcard_mentioned",
        "stream_wildcard_mentioned",
        "topic_wildcard_mentioned",
        "has_alert_word",
        "historical",
        "unread",
        "Read",
        "",
    ):
        (await change(bob, messages=sent, flag=flag)).refused("BAD_REQUEST")


async def test_what_is_wrong_is_named(bob, sent):
    for name, values in {
        "messages": (str(sent[0]), "{}", '["1"]', "[true]", "[1.0]", f"[{2**63}]", "null"),
        "op": ("set", "", '"add"'),
    }.items():
        for value in values:
            answer = await change(bob, **{"messages": sent, name: value})
            assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    (await change(bob, messages="1,2")).refused("INVALID_JSON")
    for name in ("messages", "op", "flag"):
        answer = await change(bob, **{"messages": sent, name: None})
        assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == name


async def test_too_many_at_once_are_refused(bob, sent):
    (await change(bob, messages=[*range(10_001)])).refused("BAD_REQUEST")
    assert (await change(bob, messages=[*range(9_000)])).succeeded()["messages"] == sent
