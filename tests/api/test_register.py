"""POST /register: its parameters, what each kind of client gets, and how long queues live."""

import json
from datetime import timedelta

import pytest

from server.domain.access import GUEST
from testkit.clients.api import Events
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

ALWAYS = {
    "queue_id",
    "last_event_id",
    "position",
    "idle_queue_timeout_secs",
    "zulip_version",
    "zulip_feature_level",
    "zulip_merge_base",
}


async def told(client, **fields):
    """What register answers beside what it always does."""
    body = await client.post("/register", **fields)
    assert body.keys() >= ALWAYS
    return {
        name for name in body.keys() - ALWAYS - {"result", "msg"} if not name.startswith("service_")
    }


async def test_a_fresh_queue(alice):
    body = await alice.post("/register")
    contract.validate_register(body, "all")
    assert body["last_event_id"] == -1
    assert body["zulip_feature_level"] == body["service_feature_level"] == 500
    assert body["idle_queue_timeout_secs"] == 24 * 3600


async def test_every_register_has_a_queue_of_its_own(alice):
    queue_ids = {(await alice.post("/register"))["queue_id"] for _ in range(3)}
    assert len(queue_ids) == 3


# -- what is fetched


async def test_types_of_events_are_also_those_that_are_fetched(alice):
    assert await told(alice, event_types=["message"]) == {"max_message_id"}
    assert await told(alice, event_types=[]) == set()
    assert "subscriptions" in await told(alice)


async def test_what_is_fetched_may_be_chosen_apart(alice):
    chosen = {"event_types": ["message"], "fetch_event_types": ["starred_messages"]}
    assert await told(alice, **chosen) == {"starred_messages"}
    assert await told(alice, event_types=["message"], fetch_event_types=[]) == set()


async def test_unread_messages_need_both_of_their_types(alice):
    assert "unread_msgs" not in await told(alice, fetch_event_types=["message"])
    both = ["message", "update_message_flags"]
    assert "unread_msgs" in await told(alice, fetch_event_types=both)


async def test_unknown_types_bring_nothing(alice):
    assert await told(alice, fetch_event_types=["nonsense", ""]) == set()


async def test_each_type_brings_its_fields_and_no_others(alice):
    table = contract.table("register").get("by_fetch_event_type", {})
    for fetch_type in sorted(table):
        body = await alice.post("/register", event_types=[], fetch_event_types=[fetch_type])
        contract.validate_register(body, [fetch_type])


# -- subscribers


async def test_subscribers_are_listed_on_request(alice, people, channel):
    everyone = sorted(person.user_id for person in people)
    for value, key in (("true", "subscribers"), ("partial", "partial_subscribers")):
        body = await alice.post(
            "/register", fetch_event_types=["subscription"], include_subscribers=value
        )
        [row] = body["subscriptions"]
        assert sorted(row.get("subscribers", row.get(key))) == everyone
    for fields in ({"include_subscribers": "false"}, {}):
        body = await alice.post("/register", fetch_event_types=["subscription"], **fields)
        [row] = body["subscriptions"]
        assert not row.keys() & {"subscribers", "partial_subscribers"}


# -- what clients can do


async def test_a_client_says_whether_it_knows_the_empty_topic(alice, bob):
    await alice.post("/messages", type="channel", to="general", topic="", content="x")
    both = ["message", "update_message_flags"]
    for knows, name in ((True, ""), (False, "general chat")):
        body = await bob.post(
            "/register", fetch_event_types=both, client_capabilities={"empty_topic_name": knows}
        )
        [unread] = body["unread_msgs"]["streams"]
        assert unread["topic"] == name


async def test_a_client_says_how_messages_come(alice, bob):
    queues = [
        await bob.register(event_types=["message"], **view)
        for view in (
            {"apply_markdown": True, "client_gravatar": True},
            {"apply_markdown": False, "client_gravatar": False},
            {},
        )
    ]
    await alice.post("/messages", type="channel", to="general", topic="t", content="*x*")
    messages = [(await queue.poll())[0]["message"] for queue in queues]
    assert [m["content"] for m in messages] == ["<p><em>x</em></p>", "*x*", "*x*"]
    assert [m["avatar_url"] is None for m in messages] == [True, False, True]


async def test_archived_channels_are_for_clients_that_know_them(alice, make, people):
    await make.channel("old", subscribers=people, is_archived=True)
    for knows in (True, False):
        body = await alice.post(
            "/register",
            fetch_event_types=["subscription", "stream"],
            client_capabilities={"archived_channels": knows},
        )
        rows = body["subscriptions"] + body["unsubscribed"] + body["never_subscribed"]
        assert ("old" in [row["name"] for row in rows]) is knows


async def test_unknown_capabilities_mean_nothing(alice):
    odd = {"fly": True, "apply_markdown": True, "x": {"y": [1]}}
    queue = await alice.register(event_types=["message"], client_capabilities=odd)
    await alice.post("/messages", type="channel", to="general", topic="", content="*x*")
    [event] = await queue.poll()
    assert event["message"]["content"] == "*x*"
    assert event["message"]["subject"] == "general chat"


# -- what the queue listens to


async def test_a_narrow_filters_messages_alone(alice, bob):
    queue = await bob.register(
        event_types=["message", "reaction"], narrow=[["is", "dm"], ["sender", alice.email]]
    )
    sent = await alice.post("/messages", type="channel", to="general", topic="t", content="x")
    await alice.post(f"/messages/{sent['id']}/reactions", emoji_name="tada")
    await alice.post("/messages", type="direct", to=[bob.user.user_id], content="x")
    await bob.post("/messages", type="direct", to=[alice.user.user_id], content="x")
    assert [event["type"] for event in await queue.poll()] == ["reaction", "message"]


async def test_a_narrow_names_people_and_channels_by_their_numbers_too(alice, bob, channel):
    people = [alice.user.user_id, bob.user.user_id]
    for narrow, count in (
        ([["channel", channel.channel_id]], 1),
        ([{"operator": "stream", "operand": channel.channel_id, "negated": False}], 1),
        ([["channel", channel.channel_id + 1]], 0),
        ([["dm", people]], 1),
        ([["dm", people[0]]], 1),
        ([["dm", people[1]]], 0),  # which is what he writes to himself
        ([["dm", [people[0]]], ["sender", people[0]]], 1),
        ([["sender", people[1]]], 0),
        ([["is", "dm"]] * 100, 1),
    ):
        queue = await bob.register(event_types=["message"], narrow=narrow)
        await alice.post("/messages", type="channel", to="general", topic="t", content="x")
        await alice.post("/messages", type="direct", to=[people[1]], content="x")
        assert len(await queue.poll(dont_block=True)) == count, narrow


async def test_a_narrow_that_means_nothing_is_refused(alice):
    for narrow in (
        [["nonsense", "x"]],
        [["is", "nonsense"]],
        [["is", "followed"]],
        [["has", "link"]],
        [["", ""]],
        [["is"]],
        [["is", "dm", "x"]],
        [["-is", "dm"]],
        [{"operator": "is", "operand": "dm", "negated": True}],
        [["topic", 5]],
        [["is", "dm"]] * 101,
    ):
        (await alice.call("POST", "/register", narrow=narrow)).refused("BAD_NARROW")


async def test_all_public_channels_are_not_for_guests(alice, log_in, make, people, channel):
    guest = await make.user(role=GUEST)
    queue = await (await log_in(guest)).register(event_types=["message"], all_public_streams=True)
    await alice.post("/messages", type="channel", to="general", topic="t", content="x")
    assert await queue.poll(dont_block=True) == []


# -- how long it lives


async def test_a_queue_lives_as_long_as_it_was_asked_to(alice):
    for asked, seconds in (
        ({}, 24 * 3600),
        ({"idle_queue_timeout": 0}, 24 * 3600),
        ({"idle_queue_timeout": -5}, 24 * 3600),
        ({"idle_queue_timeout": 1}, 600),
        ({"idle_queue_timeout": 3600}, 3600),
        ({"idle_queue_timeout": 10**9}, 7 * 24 * 3600),
        ({"idle_queue_timeout": "mobile"}, 12 * 3600),
        ({"idle_queue_timeout": '"mobile"'}, 12 * 3600),
        ({"queue_lifespan_secs": 7200}, 7200),
        ({"queue_lifespan_secs": 7200, "idle_queue_timeout": 3600}, 3600),
    ):
        body = await alice.post("/register", event_types=[], **asked)
        assert body["idle_queue_timeout_secs"] == seconds, asked


async def test_a_queue_ends_when_its_time_is_over(alice, database):
    short = Events(alice, await alice.post("/register", event_types=[], idle_queue_timeout=600))
    long = Events(alice, await alice.post("/register", event_types=[], idle_queue_timeout=86400))
    async with database.connection() as connection:
        await connection.execute(
            "UPDATE event_queues SET last_seen_at = now() - %(ago)s", ago=timedelta(minutes=11)
        )
    answer = await alice.call("GET", "/events", queue_id=short.queue_id, last_event_id=-1)
    answer.refused("BAD_EVENT_QUEUE_ID")
    assert await long.poll(dont_block=True) == []


# -- what is refused


async def test_what_is_wrong_is_named(alice, database):
    for name, values in {
        "apply_markdown": ("yes", "1", "[]"),
        "client_gravatar": ("no",),
        "slim_presence": ('"true"',),
        "all_public_streams": ("2",),
        "include_subscribers": ("yes", "", "True"),
        "event_types": ("1", "{}", "[1]", "[[]]", '"message"'),
        "fetch_event_types": ("{}", "[null]"),
        "client_capabilities": ("[]", "1", '"x"', '{"notification_settings_null": 5}'),
        "narrow": ("{}", "[1]", '[["channel", null]]', '[["channel", 1.5]]', '"x"'),
        "idle_queue_timeout": ("desktop", "1.5", "[]", "true"),
        "queue_lifespan_secs": ("x", "1.5"),
        "presence_history_limit_days": ("-1", "x"),
    }.items():
        for value in values:
            answer = await alice.call("POST", "/register", **{name: value})
            assert answer.status == 400, (name, value)
            assert answer.body["code"] == "REQUEST_VARIABLE_INVALID", (name, value)
            assert answer.body["var_name"] == name
    for name in ("event_types", "client_capabilities", "narrow"):
        (await alice.call("POST", "/register", **{name: "{x"})).refused("INVALID_JSON")
    async with database.connection() as connection:
        assert await connection.value("SELECT count(*) FROM event_queues") == 0


async def test_deep_and_long_parameters_are_refused(alice):
    deep = "[" * 500 + "]" * 500
    for name in ("client_capabilities", "narrow", "event_types"):
        answer = await alice.call("POST", "/register", **{name: deep})
        answer.refused("REQUEST_VARIABLE_INVALID")
    many = json.dumps([["is", "dm"]] * 20_000)
    (await alice.call("POST", "/register", narrow=many)).refused("REQUEST_VARIABLE_INVALID")


async def test_spectators_cannot_register(spectator, channel):
    (await (await spectator()).call("POST", "/register")).refused("UNAUTHORIZED", 401)
