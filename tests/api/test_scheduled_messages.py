"""Scheduled messages: kept, shown to their sender alone, changed, dropped, and sent in time."""

from typing import Any

import pytest

from server.domain.access import GUEST
from storage import users
from testkit.factories import Make, new_realm
from testkit.timers import due_item_runner_at, soon

pytestmark = pytest.mark.asyncio

LIST = "/scheduled_messages"


def wanted(client, channel, **fields):
    """A message to the channel's topic `lunch`, unless the fields say something else."""
    return {
        "type": "channel",
        "to": channel.channel_id,
        "topic": "lunch",
        "content": "**later**",
        "scheduled_delivery_timestamp": soon(client),
    } | fields


async def schedule(client, channel, **fields) -> int:
    body = await client.post("/scheduled_messages", **wanted(client, channel, **fields))
    return int(body["scheduled_message_id"])


async def listed(client):
    """What the list holds: the same as register."""
    shown = (await client.get("/scheduled_messages"))["scheduled_messages"]
    state = await client.post(
        "/register",
        fetch_event_types=["scheduled_messages"],
        client_capabilities={"empty_topic_name": True},
    )
    assert state["scheduled_messages"] == shown
    return shown


async def passes(client, seconds=3_600):
    """So much time goes by, and the due-item runner looks."""
    return await due_item_runner_at(client.server.app, soon(client, seconds)).catch_up()


async def messages(client, *narrow):
    body = await client.get(
        "/messages",
        anchor="newest",
        num_before=100,
        num_after=0,
        narrow=list(narrow),
        apply_markdown=False,
        allow_empty_topic_name=True,
    )
    return body["messages"]


# -- scheduling


async def test_a_message_is_scheduled_shown_and_sent_at_its_time(alice, bob, channel):
    queue = await alice.register(event_types=["scheduled_messages", "message"])
    others = await bob.register(event_types=["scheduled_messages", "message"])
    at = soon(alice)
    message_id = await schedule(alice, channel, scheduled_delivery_timestamp=at)
    [added] = await queue.poll()
    assert (added["type"], added["op"]) == ("scheduled_messages", "add")
    shown = {
        "scheduled_message_id": message_id,
        "type": "stream",
        "to": channel.channel_id,
        "topic": "lunch",
        "content": "**later**",
        "rendered_content": "<p><strong>later</strong></p>",
        "scheduled_delivery_timestamp": at,
        "failed": False,
    }
    assert added["scheduled_messages"] == [shown]
    assert await listed(alice) == [shown]
    assert await listed(bob) == []

    assert await due_item_runner_at(alice.server.app, at - 1).catch_up() == 0
    assert await messages(bob) == []
    assert await due_item_runner_at(alice.server.app, at).catch_up() == 1
    sent = await queue.until("message")
    removed = await queue.until("scheduled_messages", "remove")
    assert removed["scheduled_message_id"] == message_id
    assert sent["message"]["id"] != message_id
    assert sent["message"]["sender_id"] == alice.user.user_id
    assert (sent["message"]["subject"], sent["message"]["content"]) == ("lunch", "**later**")
    [heard] = await others.poll()
    assert (heard["type"], heard["message"]["id"]) == ("message", sent["message"]["id"])
    assert await listed(alice) == []
    [kept] = await messages(bob)
    assert kept["id"] == sent["message"]["id"]
    assert await due_item_runner_at(alice.server.app, at + 9).catch_up() == 0


@pytest.mark.parametrize(
    ("kind", "shown"),
    [("channel", "stream"), ("stream", "stream"), ("direct", "private"), ("private", "private")],
)
async def test_both_names_of_each_type_are_known(alice, bob, channel, kind, shown):
    to = channel.channel_id if shown == "stream" else [bob.user.user_id]
    await schedule(alice, channel, type=kind, to=to)
    [kept] = await listed(alice)
    assert (kept["type"], kept["to"]) == (shown, to)


async def test_recipients_come_as_one_id_or_as_a_list(alice, bob, channel, make):
    other, own = await make.user(), alice.user.user_id
    given = {
        "channel": [channel.channel_id],
        "person": bob.user.user_id,
        "people": [other.user_id, bob.user.user_id, own],
        "oneself": [own],
    }
    for name, to in given.items():
        kind = "channel" if name == "channel" else "direct"
        await schedule(alice, channel, type=kind, to=to, content=name)
    kept = {each["content"]: (each["to"], each.get("topic")) for each in await listed(alice)}
    assert kept == {
        "channel": (channel.channel_id, "lunch"),
        "person": ([bob.user.user_id], None),
        "people": (sorted([other.user_id, bob.user.user_id]), None),
        "oneself": ([own], None),
    }
    assert await passes(alice) == 4
    sent = {each["content"]: each["display_recipient"] for each in await messages(alice)}
    assert {each["id"] for each in sent["people"]} == {other.user_id, bob.user.user_id, own}
    assert {each["id"] for each in sent["person"]} == {bob.user.user_id, own}
    assert {each["id"] for each in sent["oneself"]} == {own}


async def test_the_list_is_in_the_order_of_the_times(alice, channel):
    for seconds in (300, 100, 200):
        at = soon(alice, seconds)
        await schedule(alice, channel, content=str(seconds), scheduled_delivery_timestamp=at)
    assert [each["content"] for each in await listed(alice)] == ["100", "200", "300"]


async def test_the_same_request_twice_is_two_messages(alice, channel):
    first, second = await schedule(alice, channel), await schedule(alice, channel)
    assert [each["scheduled_message_id"] for each in await listed(alice)] == [first, second]
    assert await passes(alice) == 2
    assert len(await messages(alice)) == 2


async def test_an_id_is_never_that_of_a_message(alice, bob, channel):
    ids = [await schedule(alice, channel, content=str(n)) for n in range(3)]
    direct = {"type": "direct", "to": [bob.user.user_id], "content": "now"}
    ids += [(await alice.post("/messages", **direct))["id"]]
    await passes(alice)
    sent = [each["id"] for each in await messages(alice)]
    assert len(sent) == 4
    assert len({*sent, *ids}) == 7


# -- bad input: nothing is stored


async def test_what_is_missing_or_of_another_type_is_named(alice, channel):
    for name in ("type", "to", "content", "scheduled_delivery_timestamp", "topic"):
        fields = wanted(alice, channel)
        del fields[name]
        body = (await alice.call("POST", LIST, **fields)).refused("REQUEST_VARIABLE_MISSING")
        assert body["var_name"] == name
    wrong: dict[str, list[Any]] = {
        "type": ["", "personal"],
        "to": ["general", [], ["general"], {"id": 1}, True, 1.5],
        "scheduled_delivery_timestamp": ["tomorrow", 1.5, True, 10**12, 2**63, None],
        "read_by_sender": ["maybe", 1],
    }
    for name, values in wrong.items():
        for value in values:
            given = wanted(alice, channel, **{name: value})
            answer = await alice.call("POST", "/scheduled_messages", **given)
            assert answer.status == 400, (name, value)
            assert answer.body["result"] == "error"
    assert await listed(alice) == []


async def test_the_time_has_to_be_in_the_future(alice, channel):
    for at in (soon(alice, 0), soon(alice, -1), 0, -1, -(2**62)):
        given = wanted(alice, channel, scheduled_delivery_timestamp=at)
        (await alice.call("POST", "/scheduled_messages", **given)).refused()
    assert await listed(alice) == []
    await schedule(alice, channel, scheduled_delivery_timestamp=253_402_300_799)
    assert len(await listed(alice)) == 1


async def test_content_and_topic_keep_to_the_limits_of_messages(alice, channel):
    for wrong in ({"content": " \n"}, {"content": "x" * 10_001}, {"topic": "x" * 61}):
        (await alice.call("POST", LIST, **wanted(alice, channel, **wrong))).refused()
    assert await listed(alice) == []
    await schedule(alice, channel, content="x" * 10_000 + " ", topic="x" * 60)
    [kept] = await listed(alice)
    assert (kept["content"], kept["topic"]) == ("x" * 10_000, "x" * 60)
    # The topic of a direct message is ignored, whatever it holds.
    await schedule(alice, channel, type="direct", to=[alice.user.user_id], topic="x" * 99)


async def test_a_missing_channel_is_told_by_its_id(alice, log_in, make, channel):
    hidden = await make.channel("hidden", invite_only=True)
    for channel_id in (10**9, hidden.channel_id):
        given = wanted(alice, channel, to=channel_id)
        body = (await alice.call("POST", LIST, **given)).refused("STREAM_DOES_NOT_EXIST")
        assert body["stream_id"] == channel_id
    (await alice.call("POST", LIST, **wanted(alice, channel, to=[1, 2]))).refused()
    guest = await log_in(role=GUEST)
    given = wanted(guest, channel)
    (await guest.call("POST", LIST, **given)).refused("STREAM_DOES_NOT_EXIST")
    assert await listed(alice) == await listed(guest) == []


async def test_invalid_recipients_are_refused(alice, make, channel, server):
    gone = await make.user(is_active=False)
    abroad = await new_realm(make.connection)
    stranger = await abroad.user()
    server.forget(make.realm_id)
    for to in ([10**9], [gone.user_id], [stranger.user_id], 10**9, []):
        (await alice.call("POST", LIST, **wanted(alice, channel, type="direct", to=to))).refused()
    assert await listed(alice) == []


async def test_only_what_could_be_sent_now_can_be_scheduled(alice, make, channel, server):
    nobody = (await make.role_groups())["role:nobody"]
    quiet = await make.channel("quiet", subscribers=[alice.user], can_send_message_group=nobody)
    (await alice.call("POST", LIST, **wanted(alice, quiet))).refused()
    crowd = await make.users(16)
    await make.subscribe(channel, crowd)
    await make.change_settings(can_mention_many_users_group=nobody)
    server.forget(make.realm_id)
    given = wanted(alice, channel, content="@**all** lunch")
    (await alice.call("POST", LIST, **given)).refused("STREAM_WILDCARD_MENTION_NOT_ALLOWED")
    given = wanted(alice, channel, content="@*role:members* lunch")
    (await alice.call("POST", LIST, **given)).refused()
    assert await listed(alice) == []


# -- the empty topic


async def test_the_empty_topic_has_three_names(alice, channel):
    old = await alice.register(event_types=["scheduled_messages"])
    new = await alice.register(
        event_types=["scheduled_messages"], client_capabilities={"empty_topic_name": True}
    )
    name = new.state.get("realm_empty_topic_display_name", "general chat")
    for topic in ("", "(no topic)", name):
        await schedule(alice, channel, topic=topic)
        [told] = await old.poll()
        assert told["scheduled_messages"][0]["topic"] == name
        [told] = await new.poll()
        assert told["scheduled_messages"][0]["topic"] == ""
    assert [each["topic"] for each in await listed(alice)] == [""] * 3
    again = await alice.register(fetch_event_types=["scheduled_messages"])
    assert {each["topic"] for each in again.state["scheduled_messages"]} == {name}
    await passes(alice)
    assert [each["subject"] for each in await messages(alice)] == [""] * 3


async def test_where_a_topic_is_required_the_empty_one_is_refused(alice, make, channel, server):
    await make.change_settings(topics_policy="disable_empty_topic")
    server.forget(make.realm_id)
    for topic in ("", "(no topic)", "general chat", " "):
        (await alice.call("POST", LIST, **wanted(alice, channel, topic=topic))).refused()
    assert await listed(alice) == []


# -- who has read it


@pytest.mark.parametrize(
    ("user_agent", "to_self", "given", "is_read"),
    [
        ("ZulipMobile/1.0", False, None, True),
        ("ZulipMobile/1.0", True, None, False),
        ("ZulipMobile/1.0", True, True, True),
        ("ZulipMobile/1.0", False, False, False),
        ("curl/8", False, None, False),
        ("curl/8", True, None, False),
        ("curl/8", False, True, True),
    ],
)
async def test_whether_it_starts_read_for_its_sender(
    log_in, people, channel, user_agent, to_self, given, is_read
):
    client, other = await log_in(people[0]), await log_in(people[1])
    object.__setattr__(client, "user_agent", user_agent)
    place = {"type": "direct", "to": [client.user.user_id]} if to_self else {}
    await schedule(client, channel, read_by_sender=given, **place)
    queue = await client.register(event_types=["message"])
    await passes(client)
    event = await queue.until("message")
    assert ("read" in event["flags"]) is is_read
    [sent] = await messages(client)
    assert ("read" in sent["flags"]) is is_read
    if not to_self:
        [sent] = await messages(other)
        assert "read" not in sent["flags"]


async def test_it_is_sent_by_the_client_that_scheduled_it(log_in, people, channel):
    client = await log_in(people[0])
    object.__setattr__(client, "user_agent", "ZulipTerminal/0.7")
    await schedule(client, channel)
    await passes(client)
    [sent] = await messages(client)
    assert sent["client"] == "ZulipTerminal"


# -- changing


async def test_each_part_can_be_changed(alice, bob, channel, make):
    other = await make.channel("other", subscribers=[alice.user])
    queue = await alice.register(event_types=["scheduled_messages"])
    message_id = await schedule(alice, channel)
    await queue.poll()
    path = f"/scheduled_messages/{message_id}"
    at = soon(alice, 7_200)
    [before] = await listed(alice)
    steps = [
        ({"content": "*new*"}, {"content": "*new*", "rendered_content": "<p><em>new</em></p>"}),
        ({"topic": "dinner"}, {"topic": "dinner"}),
        ({"to": other.channel_id}, {"to": other.channel_id}),
        ({"scheduled_delivery_timestamp": at}, {"scheduled_delivery_timestamp": at}),
        (
            {"type": "direct", "to": [bob.user.user_id]},
            {"type": "private", "to": [bob.user.user_id], "topic": None},
        ),
        ({"to": [alice.user.user_id]}, {"to": [alice.user.user_id]}),
        (
            {"type": "stream", "to": channel.channel_id, "topic": "tea"},
            {"type": "stream", "to": channel.channel_id, "topic": "tea"},
        ),
    ]
    for given, changed in steps:
        await alice.patch(path, **given)
        before = {k: v for k, v in (before | changed).items() if v is not None}
        [told] = await queue.poll()
        assert (told["op"], told["scheduled_message"]) == ("update", before)
        assert await listed(alice) == [before]
    await alice.patch(path, content="*new*")
    assert await queue.poll(dont_block=True) == []
    assert await passes(alice, 3_600) == 0
    assert await passes(alice, 7_200) == 1
    [sent] = await messages(bob)
    assert (sent["subject"], sent["content"]) == ("tea", "*new*")


async def test_a_change_is_checked_like_a_new_one(alice, channel, make):
    hidden = await make.channel("hidden", invite_only=True)
    message_id = await schedule(alice, channel)
    path, [before] = f"/scheduled_messages/{message_id}", await listed(alice)
    for wrong in (
        {},
        {"type": "direct"},
        {"content": ""},
        {"content": "x" * 10_001},
        {"topic": "x" * 61},
        {"scheduled_delivery_timestamp": soon(alice, 0)},
        {"type": "direct", "to": [10**9]},
        {"type": "direct", "to": []},
    ):
        (await alice.call("PATCH", path, **wrong)).refused()
    for channel_id in (hidden.channel_id, 10**9):
        body = (await alice.call("PATCH", path, to=channel_id)).refused("STREAM_DOES_NOT_EXIST")
        assert body["stream_id"] == channel_id
    assert await listed(alice) == [before]

    direct = await schedule(alice, channel, type="direct", to=[alice.user.user_id])
    given = {"type": "channel", "to": channel.channel_id}
    body = (await alice.call("PATCH", f"/scheduled_messages/{direct}", **given)).refused(
        "REQUEST_VARIABLE_MISSING"
    )
    assert body["var_name"] == "topic"


# -- dropping, and others


async def test_what_is_dropped_is_not_sent(alice, channel):
    queue = await alice.register(event_types=["scheduled_messages"])
    message_id = await schedule(alice, channel)
    await queue.poll()
    await alice.delete(f"/scheduled_messages/{message_id}")
    [told] = await queue.poll()
    assert (told["op"], told["scheduled_message_id"]) == ("remove", message_id)
    (await alice.call("DELETE", f"/scheduled_messages/{message_id}")).refused(status=404)
    assert await listed(alice) == []
    assert await passes(alice) == 0
    assert await messages(alice) == []


async def test_what_was_sent_can_no_longer_be_changed_or_dropped(alice, channel):
    message_id = await schedule(alice, channel)
    await passes(alice)
    path = f"/scheduled_messages/{message_id}"
    (await alice.call("PATCH", path, content="other")).refused(status=404)
    (await alice.call("DELETE", path)).refused(status=404)
    assert len(await messages(alice)) == 1


async def test_those_of_others_and_of_other_realms_are_not_there(
    alice, bob, channel, make: Make, connect, server
):
    abroad = await new_realm(make.connection)
    foreigner = await connect(server, abroad.realm_id, await abroad.user())
    message_id = await schedule(alice, channel)
    for client in (bob, foreigner):
        assert await listed(client) == []
        for unknown in (message_id, 10**9):
            path = f"/scheduled_messages/{unknown}"
            (await client.call("PATCH", path, content="mine")).refused(status=404)
            (await client.call("DELETE", path)).refused(status=404)
    assert len(await listed(alice)) == 1


async def test_without_credentials_nothing_is_scheduled(spectator, alice, channel):
    anonymous = await spectator()
    for method, path in (("GET", LIST), ("POST", LIST), ("DELETE", LIST + "/1")):
        assert (await anonymous.call(method, path)).status == 401


# -- failing


async def test_what_cannot_be_sent_fails_is_told_and_can_be_tried_again(
    alice, bob, make, channel, server
):
    bot = await make.notification_bot()
    server.forget(make.realm_id)
    queue = await alice.register(event_types=["scheduled_messages", "message"])
    message_id = await schedule(alice, channel)
    [added] = await queue.poll()
    await make.archive(channel)
    server.forget(make.realm_id)

    assert await passes(alice) == 1
    failed = added["scheduled_messages"][0] | {"failed": True}
    told = await queue.until("message")
    assert told["message"]["sender_id"] == bot.user_id
    assert "Not authorized to send to channel" in told["message"]["content"]
    assert "read" not in told["flags"]
    updated = await queue.until("scheduled_messages", "update")
    assert updated["scheduled_message"] == failed
    assert await listed(alice) == [failed]
    assert await passes(alice, 9_000) == 0
    assert len(await messages(alice)) == 1

    path = f"/scheduled_messages/{message_id}"
    later = soon(alice, 7_200)
    await alice.patch(
        path, type="direct", to=[bob.user.user_id], scheduled_delivery_timestamp=later
    )
    [kept] = await listed(alice)
    assert (kept["failed"], kept["scheduled_delivery_timestamp"]) == (False, later)
    assert await passes(alice, 7_200) == 1
    [sent] = await messages(bob)
    assert (sent["content"], sent["sender_id"]) == ("**later**", alice.user.user_id)
    assert await listed(alice) == []


async def test_a_deactivated_sender_sends_nothing_and_finds_it_failed(
    alice, bob, make, channel, server
):
    await make.notification_bot()
    await schedule(alice, channel)
    await users.update_active(make.connection, make.realm_id, [alice.user.user_id], active=False)
    server.forget(make.realm_id)
    assert await passes(bob) == 1
    assert await messages(bob) == []
    await users.update_active(make.connection, make.realm_id, [alice.user.user_id], active=True)
    server.forget(make.realm_id)
    [kept] = await listed(alice)
    assert kept["failed"]
    assert await messages(alice) == []
