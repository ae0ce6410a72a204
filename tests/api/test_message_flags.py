"""POST /messages/flags: who may set what on which messages, and what is told."""

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


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
    for flag in ("read", "starred", "collapsed", "hide_link_previews"):
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
    for flag in ("read", "starred", "collapsed", "hide_link_previews"):
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


async def test_flags_are_each_users_own(bob, log_in, people, sent):
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


# -- the empty topic


async def test_unread_names_the_empty_topic_as_each_client_knows_it(bob, make, people, channel):
    sent = await make.message(people[0], await make.topic(channel, ""))
    await change(bob, messages=[sent])
    kinds = {"event_types": ["update_message_flags"]}
    old = await bob.register(**kinds)
    new = await bob.register(**kinds, client_capabilities={"empty_topic_name": True})
    (await change(bob, messages=[sent], op="remove")).succeeded()
    [[shown_old], [shown_new]] = [await old.poll(), await new.poll()]
    assert shown_old["message_details"][str(sent)]["topic"] == "general chat"
    assert shown_new["message_details"][str(sent)]["topic"] == ""
    assert "empty_topic_display_name" not in shown_old | shown_new


# -- a narrow of them


def change_narrow(client, /, **fields):
    """A call that marks the newest hundred as read, unless the fields say something else."""
    said = {"anchor": "newest", "num_before": 100, "num_after": 0, "narrow": []}
    return client.call(
        "POST", "/messages/flags/narrow", **{**said, "op": "add", "flag": "read", **fields}
    )


@pytest_asyncio.fixture
async def many(make: Make, people, channel):
    """Ten messages of a topic, beside those of another one."""
    topic = await make.topic(channel, "many")
    return [await make.message(people[0], topic) for _ in range(10)]


async def test_a_window_of_a_narrow_is_changed(bob, sent, many):
    narrow = [["channel", "general"], ["topic", "many"]]
    body = (
        await change_narrow(bob, anchor=many[4], num_before=2, num_after=3, narrow=narrow)
    ).succeeded()
    assert body["processed_count"] == body["updated_count"] == 6
    assert (body["first_processed_id"], body["last_processed_id"]) == (many[2], many[7])
    assert (body["found_oldest"], body["found_newest"]) == (False, False)
    assert "read" in await flags(bob, many[2])
    assert "read" not in await flags(bob, many[8])
    assert "read" not in await flags(bob, sent[0])

    body = (await change_narrow(bob, num_before=9, narrow=narrow)).succeeded()
    assert (body["processed_count"], body["updated_count"]) == (9, 3)
    assert (body["found_oldest"], body["found_newest"]) == (False, True)


async def test_the_anchor_is_left_out_where_that_is_asked(bob, many):
    fields = {"num_before": 1, "num_after": 1, "narrow": [["topic", "many"]], "flag": "starred"}
    body = (await change_narrow(bob, anchor=many[4], include_anchor=False, **fields)).succeeded()
    assert (body["first_processed_id"], body["last_processed_id"]) == (many[3], many[5])
    assert body["processed_count"] == 2
    assert "starred" not in await flags(bob, many[4])
    assert "ignored_because_not_subscribed_channels" not in body


async def test_anchors_have_names(bob, many):
    narrow = [["topic", "many"]]
    await change(bob, messages=many[:3])
    for anchor, first in {"oldest": many[0], "first_unread": many[3], "newest": None}.items():
        fields = {"num_before": 0, "num_after": 1, "narrow": narrow, "flag": "collapsed"}
        body = (await change_narrow(bob, anchor=anchor, **fields)).succeeded()
        assert body["first_processed_id"] == first
        assert body["processed_count"] == (0 if first is None else 1 + (anchor == "first_unread"))


async def test_a_narrow_of_nothing_changes_nothing(bob, sent):
    body = (await change_narrow(bob, narrow=[["topic", "no such"]])).succeeded()
    assert (body["processed_count"], body["updated_count"]) == (0, 0)
    assert (body["first_processed_id"], body["last_processed_id"]) == (None, None)
    assert (body["found_oldest"], body["found_newest"]) == (True, True)


async def test_a_narrow_of_unread_is_read_through_step_by_step(bob, many):
    narrow = [["is", "unread"], ["topic", "many"]]
    seen = 0
    while True:
        body = (
            await change_narrow(bob, anchor="oldest", num_before=0, num_after=4, narrow=narrow)
        ).succeeded()
        seen += body["updated_count"]
        if body["found_newest"]:
            break
    assert seen == len(many)


async def test_a_narrow_becomes_unread_where_one_is_subscribed(bob, make, people, channel, many):
    await make.unsubscribe(channel, [people[1]])
    bob.server.forget(make.realm_id)
    fields = {"narrow": [["channel", channel.channel_id]], "op": "remove"}
    body = (await change_narrow(bob, **fields)).succeeded()
    assert (body["processed_count"], body["updated_count"]) == (3 + len(many), 0)
    assert body["ignored_because_not_subscribed_channels"] == [channel.channel_id]


async def test_a_narrow_holds_only_what_one_may_read(bob, log_in, make, people, sent):
    closed = await make.channel(subscribers=people[:1], invite_only=True)
    hidden = await make.message(people[0], await make.topic(closed, "t"))
    body = (await change_narrow(bob, narrow=[["id", hidden]], flag="starred")).succeeded()
    assert body["processed_count"] == 0
    narrow = [["channel", closed.channel_id]]
    (await change_narrow(bob, narrow=narrow)).refused("BAD_NARROW")
    guest = await log_in(role=GUEST)
    assert (await change_narrow(guest)).succeeded()["processed_count"] == 0


async def test_what_is_wrong_with_a_narrow_is_named(bob, sent):
    for name, value in {
        "anchor": "yesterday?",
        "num_before": -1,
        "num_after": "x",
        "include_anchor": "maybe",
        "op": "set",
    }.items():
        answer = await change_narrow(bob, **{name: value})
        assert answer.refused("REQUEST_VARIABLE_INVALID")["var_name"] == name
    for name in ("anchor", "num_before", "num_after", "narrow", "op", "flag"):
        answer = await change_narrow(bob, **{name: None})
        assert answer.refused("REQUEST_VARIABLE_MISSING")["var_name"] == name
    (await change_narrow(bob, flag="mentioned")).refused("BAD_REQUEST")
    (await change_narrow(bob, num_before=5_000, num_after=1)).refused("BAD_REQUEST")
    (await change_narrow(bob, narrow=[["near-by", "x"]])).refused("BAD_NARROW")
    assert "read" not in await flags(bob, sent[0])


# -- whole places


async def unread(client):
    """What register says is unread, by topic."""
    state = await client.post("/register", fetch_event_types=["message", "update_message_flags"])
    return {each["topic"]: each["unread_message_ids"] for each in state["unread_msgs"]["streams"]}


async def test_everything_is_marked_as_read(bob, sent, many):
    queue = await bob.register(event_types=["update_message_flags"])
    assert (await bob.post("/mark_all_as_read"))["complete"] is True
    assert await unread(bob) == {}
    [event] = await queue.poll()
    assert (event["op"], event["flag"], event["all"]) == ("add", "read", True)
    assert event["messages"] == sorted([*sent, *many])
    assert (await bob.post("/mark_all_as_read"))["complete"] is True
    assert await queue.poll(dont_block=True) == []


async def test_a_channel_or_a_topic_is_marked_as_read(bob, make, people, channel, sent, many):
    other = await make.channel(subscribers=people)
    beside = await make.message(people[0], await make.topic(other, "beside"))
    queue = await bob.register(event_types=["update_message_flags"])
    await bob.post("/mark_topic_as_read", stream_id=channel.channel_id, topic_name="MANY")
    assert await unread(bob) == {"t": sent, "beside": [beside]}
    await bob.post("/mark_stream_as_read", stream_id=channel.channel_id)
    assert await unread(bob) == {"beside": [beside]}
    first = (await queue.poll())[0]
    assert (first["messages"], first["all"]) == (many, False)


async def test_places_that_one_may_not_read_are_not_there(bob, log_in, make, people, channel, sent):
    closed = await make.channel(subscribers=people[:1], invite_only=True)
    await make.message(people[0], await make.topic(closed, "secret"))
    guest = await log_in(role=GUEST)
    for client, channel_id in ((bob, closed.channel_id), (guest, channel.channel_id), (bob, 10**9)):
        for path, topic in (("/mark_stream_as_read", None), ("/mark_topic_as_read", "t")):
            answer = await client.call("POST", path, stream_id=channel_id, topic_name=topic)
            assert answer.refused("BAD_REQUEST")["msg"] == "Invalid channel ID"


async def test_a_topic_of_which_one_may_read_nothing_is_not_there(bob, make, people, channel):
    kept = await make.channel(subscribers=people[:1], invite_only=True, shares_history=False)
    await make.message(people[0], await make.topic(kept, "before"))
    await make.subscribe(kept, people[1:])
    bob.server.forget(make.realm_id)
    for channel_id, topic in (
        (kept.channel_id, "before"),
        (kept.channel_id, "never"),
        (channel.channel_id, "never"),
    ):
        answer = await bob.call(
            "POST", "/mark_topic_as_read", stream_id=channel_id, topic_name=topic
        )
        answer.refused("BAD_REQUEST")
