"""PATCH /messages and POST /messages/delete: all of the messages, or none."""

import asyncio
import time
from datetime import timedelta

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

RESOLVED = "\N{HEAVY CHECK MARK} "
MANY = 1_000
BULK = {"bulk_message_deletion": True}


@pytest_asyncio.fixture
async def people(make: Make):
    await make.notification_bot()
    return [await make.user(name) for name in ("Alice", "Bob")]


@pytest_asyncio.fixture
async def admin(make, log_in, channel):
    row = await make.user(role=ADMINISTRATOR)
    await make.subscribe(channel, [row])
    return await log_in(row)


async def send(client, topic="t", to="general", content="hello"):
    kind = "channel" if isinstance(to, str) else "direct"
    body = await client.post("/messages", type=kind, to=to, topic=topic, content=content)
    return body["id"]


def move(client, ids, /, **fields):
    fields = {"send_notification_to_new_thread": False, **fields}
    return client.call("PATCH", "/messages", message_ids=ids, **fields)


def delete(client, ids):
    return client.call("POST", "/messages/delete", message_ids=ids)


async def topics_of(client, ids):
    shown = [(await client.get(f"/messages/{each}"))["message"] for each in ids]
    return [each["subject"] for each in shown]


async def are_there(client, ids):
    page = await client.get("/messages", message_ids=ids)
    return sorted(each["id"] for each in page["messages"])


async def contents(client, channel, topic):
    narrow = [["channel", channel.channel_id], ["topic", topic]]
    page = {"anchor": "newest", "num_before": 100, "num_after": 0, "apply_markdown": False}
    body = await client.get("/messages", **page, narrow=narrow)
    return [message["content"] for message in body["messages"]]


FIRST = 1_000_000
"""Ids of messages that are written without a server begin above those of its clock."""


async def write(make, sender, topic, count):
    """Write messages of a topic, as many as no test sends one by one."""
    rows = await make.connection.values(
        """
        INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                              origin_channel_id, origin_conversation_id, sent_at, client,
                              content, rendered_content)
        SELECT %(realm_id)s, i, %(sender_id)s, %(channel_id)s, %(topic_id)s, %(channel_id)s,
               %(topic_id)s, now(), 'website', 'hello', '<p>hello</p>'
          FROM (SELECT greatest(%(first)s::bigint, (SELECT max(id) + 1 FROM messages
                                           WHERE realm_id = %(realm_id)s)) AS first) f
         CROSS JOIN generate_series(f.first, f.first + %(count)s::bigint - 1) AS i
        RETURNING id
        """,
        realm_id=make.realm_id,
        sender_id=sender.user_id,
        channel_id=topic.channel_id,
        topic_id=topic.topic_id,
        first=FIRST,
        count=count,
    )
    return sorted(rows)


# -- moving


async def test_messages_of_several_topics_move_with_one_event_each(alice, bob, channel):
    first, second = [[await send(alice, topic=name) for _ in range(2)] for name in ("a", "b")]
    kept = await send(alice, topic="b")
    queue = await bob.register(event_types=["update_message"])

    (await move(alice, [*first, *second], topic="c")).succeeded()

    events = await queue.poll()
    assert [(e["orig_subject"], e["subject"], e["message_ids"]) for e in events] == [
        ("a", "c", first),
        ("b", "c", second),
    ]
    assert [e["message_id"] for e in events] == [first[0], second[0]]
    assert [e["propagate_mode"] for e in events] == ["change_all", "change_one"]
    assert await topics_of(bob, [*first, *second, kept]) == ["c"] * 4 + ["b"]
    for message_id, old in zip([first[0], second[0]], "ab", strict=True):
        [entry] = (await bob.get(f"/messages/{message_id}"))["message"]["edit_history"]
        assert (entry["prev_topic"], entry["topic"]) == (old, "c")


async def test_a_repeated_move_changes_nothing(alice, bob, channel):
    sent = [await send(alice) for _ in range(3)]
    (await move(alice, sent[:2], topic="u", send_notification_to_new_thread=True)).succeeded()
    queue = await bob.register(event_types=["message", "update_message"])
    fields = {"topic": "u", "send_notification_to_new_thread": True}
    (await move(alice, sent[:2], **fields)).succeeded()
    assert await queue.poll(dont_block=True) == []
    (await move(alice, [*sent, sent[0]], topic="u")).succeeded()
    [event] = await queue.poll()
    assert event["message_ids"] == sent[2:]


async def test_a_whole_topic_is_spelled_otherwise_and_a_part_is_not(alice, bob, channel):
    sent = [await send(alice, topic="abc") for _ in range(3)]
    beside = await send(alice, topic="beside")
    queue = await bob.register(event_types=["message", "update_message"])
    answer = await move(alice, sent[:2], topic="ABC")
    assert answer.refused()["msg"] == "Nothing to change"
    (await move(alice, sent, topic="ABC")).succeeded()
    (await move(alice, sent, topic="ABC")).succeeded()
    (await move(alice, sent[1:], topic="ABC")).succeeded()
    [event] = await queue.poll()
    assert (event["orig_subject"], event["subject"]) == ("abc", "ABC")
    assert (event["message_ids"], event["propagate_mode"]) == (sent, "change_all")
    assert await topics_of(bob, sent) == ["ABC"] * 3
    # Others join a topic under the name that it has, as one message does.
    (await move(alice, [*sent, beside], topic="Abc")).succeeded()
    assert await topics_of(bob, [*sent, beside]) == ["ABC"] * 4


async def test_without_a_topic_each_message_keeps_its_own(make, alice, bob, channel):
    other = await make.channel("other", subscribers=[alice.user, bob.user])
    sent = [await send(alice, topic=name) for name in ("a", "b")]
    (await move(alice, sent, stream_id=other.channel_id)).succeeded()
    assert await topics_of(bob, sent) == ["a", "b"]
    shown = [(await bob.get(f"/messages/{each}"))["message"] for each in sent]
    assert {each["stream_id"] for each in shown} == {other.channel_id}


async def test_notices_name_the_topics_that_messages_came_from(make, alice, bob, channel):
    who = f"@_**Alice|{alice.user.user_id}**"
    sent = [await send(alice, topic=f"topic {number}") for number in range(12)]
    both = {"send_notification_to_new_thread": True, "send_notification_to_old_thread": True}
    (await move(alice, sent[:2], topic="few", **both)).succeeded()
    *_, notice = await contents(bob, channel, "few")
    assert notice.startswith(f"{who} moved 2 messages here from ")
    assert [f"topic {number}]" in notice for number in range(3)] == [True, True, False]
    for number in range(2):
        [notice] = await contents(bob, channel, f"topic {number}")
        assert notice.startswith(f"{who} moved this topic from here to ")
    (await move(alice, sent, topic="many", **both)).succeeded()
    *_, notice = await contents(bob, channel, "many")
    assert notice.startswith(f"{who} moved 12 messages here from ")
    assert notice.endswith(" and 1 other topic.")
    single = [await send(alice, topic="one") for _ in range(2)][:1]
    (await move(alice, single, topic="few", **both)).succeeded()
    *_, notice = await contents(bob, channel, "few")
    assert "moved [1 message]" in notice


async def test_all_messages_of_a_topic_resolve_it(alice, bob, channel):
    sent = [await send(alice) for _ in range(2)]
    fields = {"topic": f"{RESOLVED}t", "send_notification_to_new_thread": True}
    (await move(alice, sent, **fields)).succeeded()
    *_, notice = await contents(bob, channel, f"{RESOLVED}t")
    assert notice == f"@_**Alice|{alice.user.user_id}** marked this topic as resolved."


async def test_what_is_unread_and_followed_goes_along(alice, bob, channel):
    sent = [await send(alice, topic=name) for name in ("a", "b", "c")]
    place = {"stream_id": channel.channel_id}
    await bob.post("/user_topics", **place, topic="a", visibility_policy=3)
    await bob.post("/user_topics", **place, topic="b", visibility_policy=1)
    await bob.post("/messages/flags", messages=sent[1:2], op="add", flag="read")
    queue = await bob.register(event_types=["user_topic"])

    (await move(alice, sent, topic="d")).succeeded()

    policies = {(e["topic_name"], e["visibility_policy"]) for e in await queue.poll()}
    assert policies == {("a", 0), ("b", 0), ("d", 3)}
    state = (await bob.register()).state
    [unread] = state["unread_msgs"]["streams"]
    assert (unread["topic"], unread["unread_message_ids"]) == ("d", [sent[0], sent[2]])
    assert [(e["topic_name"], e["visibility_policy"]) for e in state["user_topics"]] == [("d", 3)]
    narrow = [["channel", channel.channel_id], ["topic", "d"]]
    page = {"anchor": "first_unread", "num_before": 0, "num_after": 9, "narrow": narrow}
    shown = await bob.get("/messages", **page)
    assert (shown["anchor"], [m["id"] for m in shown["messages"]]) == (sent[0], sent)


async def test_moved_messages_are_found_in_their_new_place(alice, bob, channel):
    sent = [await send(alice, topic=name, content="octopus") for name in ("a", "b")]
    (await move(alice, sent, topic="sea")).succeeded()
    for narrow in ([["search", "octopus"], ["topic", "sea"]], [["search", "sea"]]):
        page = {"anchor": "newest", "num_before": 9, "num_after": 0, "narrow": narrow}
        assert [m["id"] for m in (await bob.get("/messages", **page))["messages"]] == sent


async def test_a_private_channel_takes_them_from_those_who_are_not_in_it(make, alice, bob, channel):
    secret = await make.channel("secret", invite_only=True, subscribers=[alice.user])
    sent = [await send(alice, topic=name) for name in ("a", "a", "b")]
    old = await bob.register(event_types=["delete_message", "update_message"])
    new = await bob.register(
        event_types=["delete_message", "update_message"], client_capabilities=BULK
    )
    (await move(alice, sent, stream_id=secret.channel_id, topic="c")).succeeded()
    events = await old.poll()
    assert [(e["type"], e["topic"], e["message_id"]) for e in events] == [
        ("delete_message", name, each) for name, each in zip("aab", sent, strict=True)
    ]
    events = await new.poll()
    assert [(e["topic"], e["message_ids"]) for e in events] == [("a", sent[:2]), ("b", sent[2:])]
    assert await are_there(bob, sent) == []


async def test_who_received_them_sees_them_alone_where_history_is_protected(
    make, log_in, alice, bob
):
    other = await log_in(await make.user("Carol"))
    secret = await make.channel(
        "secret", invite_only=True, shares_history=False, subscribers=[alice.user, bob.user]
    )
    early = [await send(alice, to="secret", topic=name) for name in ("a", "b")]
    await make.subscribe(secret, [other.user])
    late = await send(alice, to="secret", topic="b")
    queues = [await each.register(event_types=["update_message"]) for each in (bob, other)]
    (await move(alice, [*early, late], topic="c")).succeeded()
    events = [
        [(e["orig_subject"], e["message_ids"]) for e in await queue.poll()] for queue in queues
    ]
    assert events == [[("a", early[:1]), ("b", [early[1], late])], [("b", [late])]]
    refused = (await move(other, [*early, late], topic="d")).refused("MESSAGES_REFUSED")
    assert [each["message_ids"] for each in refused["refused"]] == [early]


async def test_one_message_that_may_not_be_moved_keeps_all(make, log_in, alice, bob, channel):
    topic = await make.topic(channel, "old")
    week = timedelta(days=8)
    now = alice.server.app.clock.now()
    old = await make.message(alice.user, topic, sent_at=now - week)
    sent = [await send(alice), await send(alice, to=[bob.user.user_id])]
    queue = await bob.register(event_types=["update_message"])

    refused = (await move(alice, [*sent, old, 999_999], topic="u")).refused("MESSAGES_REFUSED")

    assert {tuple(each["message_ids"]) for each in refused["refused"]} == {
        (old,),
        (sent[1],),
        (999_999,),
    }
    assert all(each["msg"] for each in refused["refused"])
    assert await topics_of(bob, sent[:1]) == ["t"]
    assert await queue.poll(dont_block=True) == []
    refused = (await move(alice, [sent[0], old], topic="u")).refused("MESSAGES_REFUSED")
    assert refused["msg"].endswith(refused["refused"][0]["msg"])


async def test_messages_of_one_channel_move_together(make, alice, bob, channel):
    other = await make.channel("other", subscribers=[alice.user, bob.user])
    sent = [await send(alice), await send(alice, to="other")]
    (await move(alice, sent, topic="u")).refused()
    assert await topics_of(bob, sent) == ["t", "t"]
    # Also if some are there already.
    (await move(alice, sent, stream_id=other.channel_id, topic="t")).refused()
    assert await topics_of(bob, sent) == ["t", "t"]


async def test_places_are_refused_as_for_one_message(make, log_in, alice, bob, channel, server):
    archived = await make.channel("archived", subscribers=[alice.user])
    hidden = await make.channel("hidden", invite_only=True, subscribers=[bob.user])
    sent = [await send(alice), await send(alice, to="archived")]
    await make.archive(archived)
    server.forget(make.realm_id)
    (await move(alice, sent[:1], stream_id=archived.channel_id)).refused()
    (await move(alice, sent[:1], stream_id=hidden.channel_id)).refused()
    (await move(alice, sent[:1])).refused()
    refused = (await move(alice, sent[1:], topic="u")).refused("MESSAGES_REFUSED")
    assert refused["refused"][0]["message_ids"] == sent[1:]
    (await delete(alice, sent)).refused("MESSAGES_REFUSED")
    for ids in ([], list(range(1, MANY + 2)), ["1"], 7):
        (await move(alice, ids, topic="u")).refused("REQUEST_VARIABLE_INVALID")
        (await delete(alice, ids)).refused("REQUEST_VARIABLE_INVALID")


async def test_permissions_hold_for_each_message(make, log_in, alice, channel, server):
    groups = await make.role_groups()
    sent = [await send(alice) for _ in range(2)]
    await make.change_settings(can_move_messages_between_topics_group=groups["role:nobody"])
    server.forget(make.realm_id)
    for name in ("u", "T"):
        refused = (await move(alice, sent, topic=name)).refused("MESSAGES_REFUSED")
        assert refused["refused"][0]["message_ids"] == sent
    (await move(alice, sent, topic=f"{RESOLVED}t")).succeeded()


# -- deleting


async def test_messages_of_any_conversations_are_deleted(alice, bob, channel):
    sent = [await send(alice, topic=name) for name in ("a", "b", "a")]
    direct = await send(alice, to=[bob.user.user_id])
    kept = await send(alice, topic="a")
    old = await bob.register(event_types=["delete_message"])
    new = await bob.register(event_types=["delete_message"], client_capabilities=BULK)

    body = (await delete(alice, [*sent, direct])).succeeded()

    assert body["message_ids"] == [*sent, direct]
    events = await new.poll()
    assert {(e.get("topic"), *e["message_ids"]) for e in events} == {
        ("a", sent[0], sent[2]),
        ("b", sent[1]),
        (None, direct),
    }
    assert {e["message_id"] for e in await old.poll()} == {*sent, direct}
    assert await are_there(bob, [*sent, direct, kept]) == [kept]


async def test_a_repeated_deletion_deletes_nothing(make, alice, bob, admin, channel):
    sent = [await send(alice) for _ in range(2)]
    assert (await delete(alice, sent[:1])).succeeded()["message_ids"] == sent[:1]
    assert (await delete(alice, sent)).succeeded()["message_ids"] == sent[1:]
    queue = await bob.register(event_types=["delete_message"])
    assert (await delete(alice, sent)).succeeded()["message_ids"] == []
    assert await queue.poll(dont_block=True) == []
    # What cannot be read is not deleted, and looks like what is gone.
    await make.channel("secret", invite_only=True, subscribers=[alice.user])
    secret = await send(alice, to="secret")
    assert (await delete(admin, [secret])).succeeded()["message_ids"] == []
    assert await are_there(alice, [secret]) == [secret]


async def test_one_message_that_may_not_be_deleted_keeps_all(make, alice, bob, channel, server):
    topic = await make.topic(channel, "old")
    now = server.app.clock.now()
    old = await make.message(alice.user, topic, sent_at=now - timedelta(days=1))
    sent = [await send(alice), await send(bob)]
    refused = (await delete(alice, [*sent, old])).refused("MESSAGES_REFUSED")
    assert {tuple(each["message_ids"]) for each in refused["refused"]} == {(sent[1],), (old,)}
    assert await are_there(alice, [*sent, old]) == sorted([*sent, old])


async def test_a_guest_deletes_and_moves_what_a_guest_may(make, log_in, alice, channel):
    row = await make.user(role=GUEST)
    await make.subscribe(channel, [row])
    guest = await log_in(row)
    sent = [await send(guest), await send(alice)]
    refused = (await delete(guest, sent)).refused("MESSAGES_REFUSED")
    assert [each["message_ids"] for each in refused["refused"]] == [sent[1:]]
    (await delete(guest, sent[:1])).succeeded()


async def test_nothing_is_left_of_deleted_messages(make, alice, bob, channel):
    sent = [await send(alice, content=f"canary-{number}") for number in range(3)]
    await bob.post(f"/messages/{sent[0]}/reactions", emoji_name="tada")
    (await delete(alice, sent)).succeeded()
    rows = await make.connection.tuples("SELECT m::text FROM messages m")
    bodies = await make.connection.tuples("SELECT convert_from(body, 'UTF8') FROM event_log")
    assert "canary" not in str(rows) + str(bodies)
    assert await make.connection.tuples("SELECT FROM reactions") == []


# -- many, and at once


async def test_changes_at_once_leave_each_message_in_one_place(alice, bob, admin, channel):
    sent = [await send(alice, topic=f"t{number % 3}") for number in range(30)]
    answers = await asyncio.gather(
        move(alice, sent, topic="x"),
        move(bob, sent[::-1], topic="y"),
        delete(admin, sent[10:20]),
        move(admin, sent[20:], topic="z"),
        delete(alice, sent[15:]),
    )
    assert {each.status for each in answers} <= {200, 400}
    left = await are_there(bob, sent)
    assert left == sent[:10]
    is_moved = 200 in {each.status for each in answers[:2]}
    topics = {*await topics_of(bob, left)}
    assert topics in ({"x"}, {"y"}) if is_moved else topics == {"t0", "t1", "t2"}


async def test_a_thousand_messages_are_changed_at_once(make, alice, bob, channel, capsys):
    topics = [await make.topic(channel, f"topic {number}") for number in range(4)]
    ids = [each for topic in topics for each in await write(make, alice.user, topic, MANY // 4)]
    queue = await bob.register(event_types=["update_message", "delete_message"])
    seconds = []
    for change in (move(alice, ids, topic="all"), delete(alice, ids)):
        begun = time.monotonic()
        (await change).succeeded()
        seconds.append(time.monotonic() - begun)
    with capsys.disabled():
        print(f"\n1,000 messages: moved in {seconds[0]:.2f} s, deleted in {seconds[1]:.2f} s")
    events = [await queue.until("update_message") for _ in range(4)]
    assert sorted(each for event in events for each in event["message_ids"]) == ids
    assert await are_there(bob, ids[:100]) == []
