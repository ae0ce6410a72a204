"""Policies for topics: set by hand, in the words of now and of old, and gained by taking part."""

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

EVENTS = ["user_topic", "muted_topics"]
NEVER = {
    "automatically_follow_topics_policy": 4,
    "automatically_unmute_topics_in_muted_streams_policy": 4,
    "automatically_follow_topics_where_mentioned": False,
}
MUTED, UNMUTED, FOLLOWED = 1, 2, 3


@pytest_asyncio.fixture
async def alice(log_in, make: Make):
    return await log_in(await make.user("Alice", settings=NEVER))


@pytest_asyncio.fixture
async def bob(log_in, make: Make):
    return await log_in(await make.user("Bob", settings=NEVER))


@pytest_asyncio.fixture
async def channel(make: Make, alice, bob):
    return await make.channel("general", subscribers=[alice.user, bob.user])


def set_policy(client, channel, topic, policy):
    return client.call(
        "POST",
        "/user_topics",
        stream_id=channel.channel_id,
        topic=topic,
        visibility_policy=policy,
    )


async def policies(client):
    """What register says, by topic."""
    state = await client.post("/register", fetch_event_types=["user_topic"])
    return {each["topic_name"]: each["visibility_policy"] for each in state["user_topics"]}


async def muted(client, **fields):
    """What register tells clients of old."""
    state = await client.post("/register", fetch_event_types=["muted_topics"], **fields)
    return [(name, topic) for name, topic, _ in state["muted_topics"]]


async def prefers(make: Make, client, **settings):
    """Give the user other personal settings."""
    await make.connection.execute(
        "UPDATE users SET settings = settings || %(new)s"
        " WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s",
        new=make.connection.json(settings),
        realm_id=make.realm_id,
        user_id=client.user.user_id,
    )
    client.server.forget(make.realm_id)


async def send(client, topic="t", content="x", channel="general"):
    sent = {"type": "channel", "to": channel, "topic": topic, "content": content}
    return await client.post("/messages", **sent)


# -- by hand


async def test_each_policy_is_set_told_and_taken_off(alice, channel):
    await send(alice)
    queue = await alice.register(event_types=["user_topic"])
    for policy in (MUTED, UNMUTED, FOLLOWED, 0):
        (await set_policy(alice, channel, "T", policy)).succeeded()
        [event] = await queue.poll()
        assert (event["stream_id"], event["topic_name"]) == (channel.channel_id, "t")
        assert event["visibility_policy"] == policy
        assert await policies(alice) == ({"t": policy} if policy else {})


async def test_what_is_set_already_is_not_told(alice, channel):
    (await set_policy(alice, channel, "t", FOLLOWED)).succeeded()
    queue = await alice.register(event_types=EVENTS)
    (await set_policy(alice, channel, "t", FOLLOWED)).succeeded()
    (await set_policy(alice, channel, "other", 0)).succeeded()
    assert await queue.poll(dont_block=True) == []


async def test_a_topic_without_messages_may_have_a_policy(alice, bob, make, channel):
    (await set_policy(alice, channel, "to come", MUTED)).succeeded()
    assert await policies(alice) == {"to come": MUTED}
    listed = await bob.get(f"/users/me/{channel.channel_id}/topics")
    assert listed["topics"] == []
    await prefers(make, bob, automatically_follow_topics_policy=3)
    assert (await send(bob, "to come"))["automatic_new_visibility_policy"] == FOLLOWED


async def test_the_empty_topic_has_its_names(alice, channel):
    old = await alice.register(event_types=["user_topic"])
    for name, policy in (("", MUTED), ("(no topic)", UNMUTED), ("general chat", FOLLOWED)):
        (await set_policy(alice, channel, name, policy)).succeeded()
        [event] = await old.poll()
        assert event["topic_name"] == "general chat"
    new = await alice.post("/register", client_capabilities={"empty_topic_name": True})
    assert [each["topic_name"] for each in new["user_topics"]] == [""]


async def test_channels_that_one_may_not_read_are_not_there(alice, bob, log_in, make, channel):
    closed = await make.channel(subscribers=[alice.user], invite_only=True)
    archived = await make.channel(subscribers=[bob.user], is_archived=True)
    guest = await log_in(role=GUEST)
    for client, place in ((bob, closed), (guest, channel)):
        for policy in (0, FOLLOWED):
            answer = await set_policy(client, place, "t", policy)
            assert answer.refused()["msg"] == "Invalid channel ID"
    (await set_policy(bob, archived, "t", FOLLOWED)).refused()
    (await set_policy(bob, archived, "t", 0)).succeeded()


async def test_who_has_lost_a_channel_may_still_take_a_policy_off(alice, bob, make):
    closed = await make.channel(subscribers=[alice.user, bob.user], invite_only=True)
    (await set_policy(bob, closed, "t", MUTED)).succeeded()
    await make.unsubscribe(closed, [bob.user])
    bob.server.forget(make.realm_id)
    (await set_policy(bob, closed, "t", FOLLOWED)).refused()
    (await set_policy(bob, closed, "t", 0)).succeeded()
    (await set_policy(bob, closed, "t", 0)).refused()


async def test_what_is_wrong_is_named(alice, channel):
    for policy in (4, -1, "x"):
        answer = await set_policy(alice, channel, "t", policy)
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "visibility_policy"
    (await set_policy(alice, channel, "x" * 61, MUTED)).refused()
    answer = await alice.call("POST", "/user_topics", topic="t", visibility_policy=1)
    assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == "stream_id"


async def test_policies_are_each_users_own(alice, bob, channel):
    queue = await bob.register(event_types=EVENTS)
    (await set_policy(alice, channel, "t", MUTED)).succeeded()
    assert await policies(bob) == {}
    assert await queue.poll(dont_block=True) == []


# -- for clients of old


async def test_clients_of_old_mute_by_name_or_id_and_get_the_whole_list(alice, channel):
    path = "/users/me/subscriptions/muted_topics"
    queue = await alice.register(event_types=["muted_topics"])
    await alice.patch(path, op="add", stream="General", topic="one")
    await alice.patch(path, op="add", stream_id=channel.channel_id, topic="two")
    lists = [event["muted_topics"] for event in await queue.poll()]
    if len(lists) < 2:
        lists += [event["muted_topics"] for event in await queue.poll()]
    assert [[row[:2] for row in each] for each in lists] == [
        [["general", "one"]],
        [["general", "one"], ["general", "two"]],
    ]
    assert await muted(alice) == [("general", "one"), ("general", "two")]
    await alice.patch(path, op="remove", stream="general", topic="one")
    assert [row[1] for row in (await queue.poll())[0]["muted_topics"]] == ["two"]
    assert await policies(alice) == {"two": MUTED}


async def test_the_list_of_old_changes_only_with_what_is_muted(alice, channel):
    queue = await alice.register(event_types=["muted_topics"])
    (await set_policy(alice, channel, "t", FOLLOWED)).succeeded()
    assert await queue.poll(dont_block=True) == []
    (await set_policy(alice, channel, "t", MUTED)).succeeded()
    (await set_policy(alice, channel, "t", UNMUTED)).succeeded()
    await queue.until("muted_topics")
    assert await muted(alice) == []


async def test_the_list_of_old_leaves_out_what_one_may_not_read(alice, bob, make):
    closed = await make.channel("closed", subscribers=[alice.user, bob.user], invite_only=True)
    (await set_policy(bob, closed, "", MUTED)).succeeded()
    assert await muted(bob) == [("closed", "general chat")]
    assert await muted(bob, client_capabilities={"empty_topic_name": True}) == [("closed", "")]
    await make.unsubscribe(closed, [bob.user])
    assert await muted(bob) == []


async def test_what_clients_of_old_get_wrong_is_refused(alice, bob, make, channel):
    path = "/users/me/subscriptions/muted_topics"
    closed = await make.channel("hidden", subscribers=[alice.user], invite_only=True)
    for fields in (
        {},
        {"stream": "general", "stream_id": channel.channel_id},
        {"stream": "no such channel"},
        {"stream": "hidden"},
        {"stream_id": closed.channel_id},
    ):
        (await bob.call("PATCH", path, op="add", topic="t", **fields)).refused()
    answer = await bob.call(
        "PATCH", "/users/me/subscriptions/muted_topics", op="mute", topic="t", stream="general"
    )
    answer.refused("REQUEST_VARIABLE_INVALID")


# -- by taking part


@pytest.mark.parametrize(
    ("follow", "starts", "sends", "reacts"),
    [(1, FOLLOWED, FOLLOWED, FOLLOWED), (2, FOLLOWED, FOLLOWED, None), (3, FOLLOWED, None, None),
     (4, None, None, None)],
)  # fmt: skip
async def test_taking_part_follows_as_the_setting_says(
    alice, bob, make, channel, follow, starts, sends, reacts
):
    await prefers(make, bob, automatically_follow_topics_policy=follow)
    target = (await send(alice, "seen"))["id"]
    await send(alice, "others")
    begun, joined = await send(bob, "begun"), await send(bob, "others")
    assert begun.get("automatic_new_visibility_policy") == starts
    assert joined.get("automatic_new_visibility_policy") == sends
    await bob.post(f"/messages/{target}/reactions", emoji_name="tada")
    expected = {"begun": starts, "others": sends, "seen": reacts}
    assert await policies(bob) == {topic: p for topic, p in expected.items() if p}


async def test_taking_part_unmutes_in_a_muted_channel(alice, bob, make, channel):
    await prefers(make, bob, automatically_unmute_topics_in_muted_streams_policy=1)
    target = (await send(alice, "reacted"))["id"]
    assert "automatic_new_visibility_policy" not in await send(bob, "before")
    await make.connection.execute(
        "UPDATE subscriptions SET is_muted = true"
        " WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s",
        realm_id=make.realm_id,
        user_id=bob.user.user_id,
    )
    bob.server.forget(make.realm_id)
    queue = await bob.register(event_types=EVENTS)
    assert (await send(bob, "sent"))["automatic_new_visibility_policy"] == UNMUTED
    await bob.post(f"/messages/{target}/reactions", emoji_name="tada")
    assert await policies(bob) == {"sent": UNMUTED, "reacted": UNMUTED}
    assert (await queue.until("user_topic"))["topic_name"] == "sent"
    await bob.post(f"/messages/{target}/reactions", emoji_name="heart")
    assert "automatic_new_visibility_policy" not in await send(bob, "sent")


async def test_a_policy_is_only_ever_raised_and_muting_gives_way_to_sending(
    alice, bob, make, channel
):
    await prefers(make, bob, automatically_follow_topics_policy=2)
    await send(alice, "t")
    (await set_policy(bob, channel, "t", MUTED)).succeeded()
    queue = await bob.register(event_types=EVENTS)
    assert (await send(bob, "t"))["automatic_new_visibility_policy"] == FOLLOWED
    [old, new] = [await queue.until("muted_topics"), await queue.until("user_topic")]
    assert (old["muted_topics"], new["visibility_policy"]) == ([], FOLLOWED)
    assert "automatic_new_visibility_policy" not in await send(bob, "t")


async def test_who_is_mentioned_follows_unless_they_muted_the_topic(alice, bob, make, channel):
    await prefers(make, bob, automatically_follow_topics_where_mentioned=True)
    queue = await bob.register(event_types=["user_topic"])
    answer = await send(alice, "t", "@**Bob** @**Alice** hello")
    assert "automatic_new_visibility_policy" not in answer
    assert (await queue.poll())[0]["visibility_policy"] == FOLLOWED
    assert await policies(alice) == {}
    (await set_policy(bob, channel, "t", MUTED)).succeeded()
    await send(alice, "t", "@**Bob** again")
    assert await policies(bob) == {"t": MUTED}
    await send(alice, "silent", "@_**Bob** said")
    await send(alice, "wildcard", "@**all** look")
    assert await policies(bob) == {"t": MUTED}


async def test_who_mentions_themselves_is_told_with_the_answer(bob, make, channel):
    await prefers(make, bob, automatically_follow_topics_where_mentioned=True)
    answer = await send(bob, "t", "@**Bob** remember")
    assert answer["automatic_new_visibility_policy"] == FOLLOWED


async def test_a_mention_that_is_not_received_follows_nothing(alice, bob, make):
    await prefers(make, bob, automatically_follow_topics_where_mentioned=True)
    await make.channel("elsewhere", subscribers=[alice.user])
    alice.server.forget(make.realm_id)
    await send(alice, "t", "@**Bob** not here", channel="elsewhere")
    assert await policies(bob) == {}


async def test_who_cannot_see_what_was_before_starts_the_topic(alice, bob, make):
    kept = {"invite_only": True, "shares_history": False}
    place = await make.channel("kept", subscribers=[alice.user], **kept)
    alice.server.forget(make.realm_id)
    await send(alice, "t", channel="kept")
    await make.subscribe(place, [bob.user])
    await prefers(make, bob, automatically_follow_topics_policy=3)
    assert (await send(bob, "t", channel="kept"))["automatic_new_visibility_policy"] == FOLLOWED


async def test_direct_messages_have_no_policies(alice, bob, make):
    await prefers(make, bob, automatically_follow_topics_policy=1)
    sent = await bob.post("/messages", type="direct", to=[alice.user.user_id], content="@**Bob**")
    assert "automatic_new_visibility_policy" not in sent
    await bob.post(f"/messages/{sent['id']}/reactions", emoji_name="tada")
    assert await policies(bob) == {}
