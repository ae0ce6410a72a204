"""Widgets over HTTP: sent, shown, voted upon, told to the readers of the message."""

import json

import pytest
import pytest_asyncio

from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio

VOTE = json.dumps({"type": "vote", "key": "canned,0", "vote": 1})
QUESTION = json.dumps({"type": "question", "question": "Dinner?"})


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob", "Carol")]


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel(subscribers=people[:2], invite_only=True)


async def poll_of(client, channel, content="/poll Lunch?\nSoup\nSalad"):
    sent = await client.post(
        "/messages", type="channel", to=channel.channel_id, topic="t", content=content
    )
    return sent["id"]


def attach(client, message_id, content=VOTE, msg_type="widget"):
    return client.call(
        "POST", "/submessage", message_id=message_id, msg_type=msg_type, content=content
    )


async def attached(client, message_id):
    message = (await client.get(f"/messages/{message_id}"))["message"]
    return message["submessages"]


async def test_a_poll_is_sent_and_voted_upon(alice, bob, channel, people):
    queue = await bob.register(event_types=["message", "submessage"])
    message_id = await poll_of(alice, channel)
    event = await queue.until("message")
    [widget] = event["message"]["submessages"]
    assert (widget["id"], widget["message_id"]) == (message_id, message_id)
    assert (widget["msg_type"], widget["sender_id"]) == ("widget", people[0].user_id)
    assert json.loads(widget["content"]) == {
        "widget_type": "poll",
        "extra_data": {"question": "Lunch?", "options": ["Soup", "Salad"]},
    }
    assert await attached(bob, message_id) == [widget]

    (await attach(bob, message_id)).succeeded()
    voted = await queue.until("submessage")
    assert (voted["message_id"], voted["sender_id"]) == (message_id, people[1].user_id)
    assert (voted["msg_type"], voted["content"]) == ("widget", VOTE)
    assert voted["submessage_id"] > message_id
    [first, second] = await attached(alice, message_id)
    assert first == widget
    assert second == {
        "id": voted["submessage_id"],
        "message_id": message_id,
        "sender_id": people[1].user_id,
        "msg_type": "widget",
        "content": VOTE,
    }


async def test_the_same_vote_again_is_attached_again(alice, bob, channel):
    message_id = await poll_of(alice, channel)
    for _ in range(2):
        (await attach(bob, message_id)).succeeded()
    assert len(await attached(bob, message_id)) == 3


async def test_a_poll_sent_again_with_its_key_is_one_poll(alice, channel):
    fields = {"type": "channel", "to": channel.channel_id, "topic": "t", "content": "/poll A?"}
    key = {"Idempotency-Key": "one"}
    ids = {
        (await alice.call("POST", "/messages", headers=key, **fields)).succeeded()["id"]
        for _ in range(2)
    }
    assert len(ids) == 1
    assert len(await attached(alice, ids.pop())) == 1


async def test_a_direct_message_may_be_a_list_of_tasks(alice, bob, people):
    sent = await alice.post(
        "/messages", type="direct", to=[people[1].user_id], content="/todo Move\npack: all"
    )
    task = {"type": "new_task", "key": 2, "task": "rest", "desc": "", "completed": False}
    (await attach(bob, sent["id"], json.dumps(task))).succeeded()
    assert len(await attached(alice, sent["id"])) == 2


async def test_only_the_author_changes_the_question(alice, bob, channel):
    message_id = await poll_of(alice, channel)
    (await attach(bob, message_id, QUESTION)).refused()
    (await attach(alice, message_id, QUESTION)).succeeded()


async def test_who_does_not_see_the_message_is_refused_and_not_told(
    alice, channel, people, log_in, make, connect, server
):
    message_id = await poll_of(alice, channel)
    carol = await log_in(people[2])
    queue = await carol.register(event_types=["submessage"])
    (await attach(carol, message_id)).refused()
    (await attach(alice, message_id)).succeeded()
    assert await queue.poll(dont_block=True) == []
    elsewhere = await new_realm(make.connection)
    stranger = await connect(server, elsewhere.realm_id, await elsewhere.user())
    (await attach(stranger, message_id)).refused()


@pytest.mark.parametrize(
    "fields", [{"content": "x"}, {"content": "[]"}, {"msg_type": "other"}, {"content": ""}]
)
async def test_bad_input_attaches_nothing(alice, channel, fields):
    message_id = await poll_of(alice, channel)
    (await attach(alice, message_id, **fields)).refused()
    assert len(await attached(alice, message_id)) == 1


async def test_what_is_no_widget_is_refused(alice, channel):
    message_id = await poll_of(alice, channel, "a /poll")
    assert await attached(alice, message_id) == []
    (await attach(alice, message_id)).refused()
    (await attach(alice, 10**12)).refused()
    (await alice.call("POST", "/submessage", msg_type="widget", content=VOTE)).refused(
        "REQUEST_VARIABLE_MISSING"
    )
