"""PATCH /messages/{id} for topic and channel: who may move what, and what is told."""

from datetime import timedelta
from html import escape
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import GUEST, MODERATOR
from server.domain.markdown.links import narrow_href
from server.domain.messages import LARGE_AUDIENCE
from storage import user_topics
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

RESOLVED = "\N{HEAVY CHECK MARK} "


@pytest_asyncio.fixture
async def people(make: Make):
    await make.notification_bot()
    return [await make.user(name) for name in ("Alice", "Bob")]


async def send(client, topic="t", to="general", content="hello"):
    body = await client.post("/messages", type="channel", to=to, topic=topic, content=content)
    return body["id"]


def move(client, message_id, /, **fields):
    return client.call("PATCH", f"/messages/{message_id}", **fields)


async def quietly(client, message_id, /, **fields):
    fields = {"send_notification_to_new_thread": False, **fields}
    (await move(client, message_id, **fields)).succeeded()


async def topic_of(client, message_id):
    return (await client.get(f"/messages/{message_id}"))["message"]["subject"]


def link(channel, topic):
    return rf"[\#general \> {topic}](/#narrow/channel/{channel.channel_id}-general/topic/{topic})"


async def contents(client, channel, topic, *, apply_markdown=False):
    narrow = [["channel", channel.channel_id], ["topic", topic]]
    body = await client.get(
        "/messages",
        anchor="newest",
        num_before=100,
        num_after=0,
        narrow=narrow,
        apply_markdown=apply_markdown,
    )
    return [message["content"] for message in body["messages"]]


@pytest.mark.parametrize(
    ("mode", "moved"), [("change_one", [1]), ("change_later", [1, 2]), ("change_all", [0, 1, 2])]
)
@pytest.mark.parametrize("target_exists", [False, True])
async def test_each_mode_moves_its_messages(alice, bob, mode, moved, target_exists):
    sent = [await send(alice) for _ in range(3)]
    if target_exists:
        await send(alice, topic="other")
    queue = await bob.register(event_types=["update_message"])

    await quietly(alice, sent[1], topic="other", propagate_mode=mode)

    [event] = await queue.poll()
    assert event["message_ids"] == [sent[i] for i in moved]
    assert event["message_id"] == sent[1]
    assert (event["orig_subject"], event["subject"]) == ("t", "other")
    assert event["propagate_mode"] == mode
    assert "content" not in event
    for index, message_id in enumerate(sent):
        shown = (await bob.get(f"/messages/{message_id}"))["message"]
        is_moved = index in moved
        assert shown["subject"] == ("other" if is_moved else "t")
        assert ("last_moved_timestamp" in shown) is is_moved
        history = shown.get("edit_history", [])
        assert [(e["prev_topic"], e["topic"]) for e in history] == [("t", "other")] * is_moved


async def test_history_survives_renames_and_moves_in_any_order(alice, bob):
    first, second = await send(alice), await send(alice)
    await quietly(alice, first, topic="u", propagate_mode="change_all")
    await quietly(alice, first, topic="v", propagate_mode="change_one")
    await quietly(alice, first, topic="w", propagate_mode="change_all")
    third = await send(alice, topic="w")
    await quietly(alice, third, topic="u", propagate_mode="change_all")
    await quietly(alice, second, topic="x", propagate_mode="change_all")

    async def trail(message_id):
        history = (await bob.get(f"/messages/{message_id}"))["message"].get("edit_history", [])
        return [(e["prev_topic"], e["topic"]) for e in history]

    assert await trail(first) == [("u", "x"), ("w", "u"), ("v", "w"), ("u", "v"), ("t", "u")]
    assert await trail(second) == [("u", "x"), ("t", "u")]
    assert await trail(third) == [("u", "x"), ("w", "u")]


async def test_resolving_tells_so_in_the_topic(alice, bob, channel):
    message_id = await send(alice)
    await quietly(alice, message_id, topic=f"{RESOLVED}t", propagate_mode="change_all")
    assert await topic_of(bob, message_id) == f"{RESOLVED}t"
    *_, notice = await contents(bob, channel, f"{RESOLVED}t")
    assert notice == f"@_**Alice|{alice.user.user_id}** marked this topic as resolved."
    await quietly(bob, message_id, topic="t", propagate_mode="change_all")
    *_, notice = await contents(alice, channel, "t")
    assert notice == f"@_**Bob|{bob.user.user_id}** marked this topic as unresolved."
    message = (await bob.get(f"/messages/{message_id}"))["message"]
    assert "last_moved_timestamp" not in message


@pytest.mark.parametrize("length", [57, 58, 59, 60])
@pytest.mark.parametrize("cuts", [False, True])
async def test_a_topic_of_any_length_is_resolved_and_unresolved_without_loss(
    make, server, alice, bob, channel, length, cuts
):
    nobody = (await make.role_groups())["role:nobody"]
    await make.change_settings(can_move_messages_between_topics_group=nobody)
    server.forget(make.realm_id)
    name = "\N{WHITE HEAVY CHECK MARK}" * length
    message_id = await send(alice, topic=name)
    for other in (RESOLVED + name[:-1], RESOLVED + name[:-3], name[:-1]):
        if other != (RESOLVED + name)[:60]:
            (await move(alice, message_id, topic=other, propagate_mode="change_all")).refused()

    requested = (RESOLVED + name)[:60] if cuts else RESOLVED + name
    await quietly(alice, message_id, topic=requested, propagate_mode="change_all")
    assert await topic_of(bob, message_id) == RESOLVED + name
    *_, notice = await contents(bob, channel, RESOLVED + name)
    assert notice == f"@_**Alice|{alice.user.user_id}** marked this topic as resolved."
    await send(bob, topic=RESOLVED + name)
    await quietly(alice, message_id, topic=name, propagate_mode="change_all")
    assert await topic_of(bob, message_id) == name
    *_, notice = await contents(bob, channel, name)
    assert notice == f"@_**Alice|{alice.user.user_id}** marked this topic as unresolved."


async def test_beyond_the_mark_a_topic_has_60_characters_wherever_it_is_named(alice, channel):
    message_id = await send(alice)
    longest, longer = RESOLVED + "t" * 60, RESOLVED + "t" * 61
    place = {"stream_id": channel.channel_id}
    draft = {"type": "stream", "to": [channel.channel_id], "content": "x"}
    later = {"type": "channel", "to": channel.channel_id, "content": "x"}
    later["scheduled_delivery_timestamp"] = 4_000_000_000
    calls: list[tuple[str, str, str, dict[str, Any]]] = [
        ("POST", "/messages", "topic", {"type": "channel", "to": "general", "content": "x"}),
        ("PATCH", f"/messages/{message_id}", "topic", {}),
        ("POST", "/scheduled_messages", "topic", later),
        ("POST", "/user_topics", "topic", place | {"visibility_policy": 3}),
        ("POST", "/typing", "topic", place | {"type": "stream", "op": "start"}),
        ("POST", "/mark_topic_as_read", "topic_name", place),
    ]
    for method, path, field, fields in calls:
        (await alice.call(method, path, **fields, **{field: longer})).refused("BAD_REQUEST")
        (await alice.call(method, path, **fields, **{field: longest})).succeeded()
    (await alice.call("POST", "/drafts", drafts=[draft | {"topic": longer}])).refused("BAD_REQUEST")
    (await alice.call("POST", "/drafts", drafts=[draft | {"topic": longest}])).succeeded()


@pytest.mark.parametrize("empty", ["", "(no topic)", "general chat"])
async def test_the_empty_topic_cannot_be_resolved(alice, bob, channel, empty):
    message_id = await send(alice, topic=empty)
    for mark in (RESOLVED, RESOLVED * 2):
        fields = {"topic": mark + empty, "propagate_mode": "change_all"}
        (await move(alice, message_id, **fields)).refused("BAD_REQUEST")
        body = {"type": "channel", "to": "general", "topic": mark + empty, "content": "x"}
        (await alice.call("POST", "/messages", **body)).refused("BAD_REQUEST")
    assert len(await contents(bob, channel, "")) == 1


async def test_a_topic_is_marked_once(alice, bob, channel):
    message_id = await send(alice)
    await quietly(alice, message_id, topic=f"{RESOLVED}t", propagate_mode="change_all")
    queue = await bob.register(event_types=["message", "update_message"])
    for again in (RESOLVED, RESOLVED * 2, RESOLVED * 3):
        fields = {"topic": f"{again}t", "propagate_mode": "change_all"}
        (await move(alice, message_id, **fields)).refused("BAD_REQUEST")
    assert await queue.poll(dont_block=True) == []
    assert await topic_of(bob, message_id) == f"{RESOLVED}t"


async def test_a_name_with_several_marks_is_unresolved_like_any(make, alice, bob, channel):
    row = await make.topic(channel, RESOLVED * 2 + "t")
    message_id = await make.message(alice.user, row)
    await quietly(alice, message_id, topic="t", propagate_mode="change_all")
    *_, notice = await contents(bob, channel, "t")
    assert notice == f"@_**Alice|{alice.user.user_id}** marked this topic as unresolved."


@pytest.mark.parametrize("tells", [True, False])
async def test_a_rename_that_removes_the_mark_says_so(alice, bob, channel, tells):
    message_id = await send(alice, topic=f"{RESOLVED}t")
    fields = {"topic": "u", "propagate_mode": "change_all"}
    (await move(alice, message_id, send_notification_to_new_thread=tells, **fields)).succeeded()
    [_, notice] = await contents(bob, channel, "u")
    assert notice.endswith(
        "marked it as unresolved." if tells else "marked this topic as unresolved."
    )
    assert ("moved this topic here" in notice) is tells


async def test_a_message_that_leaves_a_resolved_topic_does_not_unresolve_it(alice, bob, channel):
    message_id, _ = await send(alice, topic=f"{RESOLVED}t"), await send(alice, topic=f"{RESOLVED}t")
    (await move(alice, message_id, topic="t", propagate_mode="change_one")).succeeded()
    [_, notice] = await contents(bob, channel, "t")
    assert "moved [1 message]" in notice


@pytest.mark.parametrize(
    ("old", "new"), [("topic", "Topic"), ("ΘΕΜΑ ά", "θεμα ά"), (f"{RESOLVED}t", f"{RESOLVED}T")]
)
async def test_a_name_in_another_case_is_no_move(alice, bob, channel, old, new):
    message_id = await send(alice, topic=old)
    queue = await bob.register(event_types=["message", "update_message"])
    fields = {"topic": new, "propagate_mode": "change_all"}
    told = {"send_notification_to_old_thread": True, "send_notification_to_new_thread": True}
    (await move(alice, message_id, **fields, **told)).succeeded()
    [event] = await queue.poll()
    assert (event["type"], event["subject"]) == ("update_message", new)
    assert await contents(bob, channel, new) == ["hello"]


async def test_resolving_and_renaming_in_case_tells_of_resolving_only(alice, bob, channel):
    message_id = await send(alice)
    fields = {"topic": f"{RESOLVED}t", "propagate_mode": "change_all"}
    (await move(alice, message_id, **fields)).succeeded()
    [_, notice] = await contents(bob, channel, f"{RESOLVED}t")
    assert "moved" not in notice


@pytest.mark.parametrize("mode", ["change_one", "change_later", "change_all"])
async def test_content_and_topic_in_one_edit_are_one_event_and_one_entry(alice, bob, channel, mode):
    sent = [await send(alice) for _ in range(3)]
    moved = {"change_one": sent[1:2], "change_later": sent[1:], "change_all": sent}[mode]
    queues = [await who.register(event_types=["update_message"]) for who in (alice, bob)]
    fields = {"topic": "u", "content": "new @**Bob**", "propagate_mode": mode}
    await quietly(alice, sent[1], **fields)
    told = [await queue.poll() for queue in queues]
    for [event] in told:
        assert (event["message_id"], event["message_ids"]) == (sent[1], moved)
        assert (event["content"], event["orig_content"]) == ("new @**Bob**", "hello")
        assert (event["subject"], event["orig_subject"]) == ("u", "t")
        assert event["propagate_mode"] == mode
    [[_], [of_bob]] = told
    assert "mentioned" in of_bob["flags"]
    shown = (await bob.get(f"/messages/{sent[1]}", apply_markdown=False))["message"]
    [entry] = shown["edit_history"]
    assert (entry["prev_content"], entry["prev_topic"], entry["topic"]) == ("hello", "t", "u")
    assert (shown["content"], shown["subject"]) == ("new @**Bob**", "u")
    for other in {*moved} - {sent[1]}:
        [entry] = (await bob.get(f"/messages/{other}"))["message"]["edit_history"]
        assert "prev_content" not in entry
    states = (await bob.get(f"/messages/{sent[1]}/history"))["message_history"]
    assert [(s["content"], s["topic"]) for s in states] == [("hello", "t"), ("new @**Bob**", "u")]


async def test_notices_are_in_the_places_that_were_asked_for(make, alice, bob, channel):
    other = await make.channel("other", subscribers=[alice.user, bob.user])
    who = f"@_**Alice|{alice.user.user_id}**"
    sent = [await send(alice) for _ in range(3)]

    (await move(alice, sent[0], topic="u", send_notification_to_old_thread=True)).succeeded()
    single = f"[1 message]({narrow_href(channel.channel_id, 'general', 'u', sent[0])})"
    assert (await contents(bob, channel, "t"))[-1] == (
        f"{who} moved {single} from here to {link(channel, 'u')}."
    )
    assert (await contents(bob, channel, "u"))[-1] == (
        f"{who} moved {single} here from {link(channel, 't')}."
    )
    fields = {"stream_id": other.channel_id, "propagate_mode": "change_all"}
    (await move(alice, sent[0], **fields)).succeeded()
    assert (await contents(bob, other, "u"))[-1] == (
        f"{who} moved this topic here from {link(channel, 'u')}."
    )
    assert await contents(bob, channel, "u") == []
    await quietly(alice, sent[1], stream_id=other.channel_id, topic="quiet")
    assert await contents(bob, other, "quiet") == ["hello"]
    some = [await send(alice, topic="some") for _ in range(3)]
    (await move(alice, some[1], topic="w", propagate_mode="change_later")).succeeded()
    assert (await contents(bob, channel, "w"))[-1] == (
        f"{who} moved 2 messages here from {link(channel, 'some')}."
    )


async def test_who_moves_messages_has_read_the_notices(make, alice, bob, channel):
    other = await make.channel("other", subscribers=[alice.user, bob.user])
    sent = await send(alice)
    await send(alice)
    queues = [await each.register(event_types=["message"]) for each in (alice, bob)]
    fields = {"stream_id": other.channel_id, "send_notification_to_old_thread": True}
    (await move(alice, sent, **fields)).succeeded()
    for queue, flags in zip(queues, (["read"], []), strict=True):
        for _ in range(2):
            assert (await queue.until("message"))["flags"] == flags
    for client, flags in ((alice, ["read"]), (bob, [])):
        page = await client.get("/messages", anchor="newest", num_before=2, num_after=0)
        notices = [m for m in page["messages"] if m["sender_full_name"] == "Notification Bot"]
        assert [each["flags"] for each in notices] == [flags, flags]


@pytest.mark.parametrize(
    "topic", ["x** @**all** @*cooks* y", "@*cooks*", "[x]", "`", "$$", "<b>", ""]
)
async def test_a_notice_shows_a_topic_and_notifies_no_user(make, alice, bob, channel, topic):
    await make.group("cooks", members=[bob.user])
    await make.subscribe(channel, await make.users(LARGE_AUDIENCE))
    message_id = await send(alice, topic=topic)
    (await move(alice, message_id, topic="new")).succeeded()
    [_, notice] = await contents(bob, channel, "new", apply_markdown=True)
    shown = f"#general > {topic or 'general chat'}"
    href = narrow_href(channel.channel_id, "general", topic)
    assert notice.endswith(f' here from <a href="{href}">{escape(shown, quote=False)}</a>.</p>')
    assert "group-mention" not in notice


async def test_who_loses_access_sees_the_messages_leave(make, log_in, alice, bob, channel):
    secret = await make.channel("secret", invite_only=True, subscribers=[alice.user])
    message_id = await send(alice)
    old = await bob.register(event_types=["delete_message", "update_message"])
    new = await bob.register(
        event_types=["delete_message", "update_message"],
        client_capabilities={"bulk_message_deletion": True, "notification_settings_null": True},
    )
    mine = await alice.register(event_types=["delete_message", "update_message"])

    await quietly(alice, message_id, stream_id=secret.channel_id)

    [gone] = await old.poll()
    assert (gone["type"], gone["message_id"], gone["topic"]) == ("delete_message", message_id, "t")
    assert (gone["message_type"], gone["stream_id"]) == ("stream", channel.channel_id)
    [gone] = await new.poll()
    assert gone["message_ids"] == [message_id]
    [moved] = await mine.poll()
    assert (moved["stream_id"], moved["new_stream_id"]) == (channel.channel_id, secret.channel_id)
    assert "subject" not in moved
    (await bob.call("GET", f"/messages/{message_id}")).refused()


@pytest.mark.parametrize("public", [True, False])
async def test_who_is_in_the_new_channel_is_told(make, log_in, alice, public):
    newcomer = await make.user()
    other = await make.channel(
        "other",
        invite_only=not public,
        shares_history=True,
        subscribers=[alice.user, newcomer],
    )
    private = await make.channel("private", invite_only=True, subscribers=[alice.user])
    message_id = await send(alice, to="private")
    client = await log_in(newcomer)
    queue = await client.register(event_types=["update_message", "delete_message"])
    await quietly(alice, message_id, stream_id=other.channel_id)
    [event] = await queue.poll()
    assert (event["type"], event["stream_id"]) == ("update_message", private.channel_id)
    shown = (await client.get(f"/messages/{message_id}"))["message"]
    assert {*shown["flags"]} == {"read", "historical"}


async def test_times_run_out_for_members(make, log_in, alice, server, channel):
    now = server.app.clock.now()
    topic = await make.topic(channel, "old")
    days = [10, 9, 1]
    sent = [
        await make.message(alice.user, topic, sent_at=now - timedelta(days=age)) for age in days
    ]
    (await move(alice, sent[0], topic="x")).refused()
    (await move(alice, sent[0], topic="x", propagate_mode="change_later")).refused()
    for message_id in sent:  # 505: also if the message itself is too old
        refusal = (await move(alice, message_id, topic="x", propagate_mode="change_all")).refused(
            "MOVE_MESSAGES_TIME_LIMIT_EXCEEDED"
        )
        assert refusal["first_message_id_allowed_to_move"] == sent[2]
        assert (refusal["total_messages_in_topic"], refusal["total_messages_allowed_to_move"]) == (
            3,
            1,
        )
    ancient = await make.topic(channel, "ancient")
    forgotten = await make.message(alice.user, ancient, sent_at=now - timedelta(days=10))
    answer = await move(alice, forgotten, topic="x", propagate_mode="change_all")
    assert answer.refused("BAD_REQUEST")["msg"] == (
        "The time limit for moving this message has passed"
    )
    (await move(alice, sent[0], topic=f"{RESOLVED}old", propagate_mode="change_all")).succeeded()
    (await move(alice, sent[0], topic="old", propagate_mode="change_all")).succeeded()
    moderator = await make.user(role=MODERATOR)
    await make.subscribe(channel, [moderator])
    client = await log_in(moderator)
    await quietly(client, sent[2], topic="x", propagate_mode="change_all")
    assert await topic_of(alice, sent[0]) == "x"


async def test_the_empty_topic_is_where_the_channel_has_it(make, alice):
    closed = await make.channel(
        "closed", topics_policy="disable_empty_topic", subscribers=[alice.user]
    )
    only = await make.channel("only", topics_policy="empty_topic_only", subscribers=[alice.user])
    message_id = await send(alice)
    for fields in (
        {"stream_id": closed.channel_id, "topic": ""},
        {"stream_id": only.channel_id},
        {"stream_id": only.channel_id, "topic": "x"},
    ):
        answer = await move(alice, message_id, **fields)
        assert "empty_topic_display_name" in answer.refused()
    await quietly(alice, message_id, topic="(no topic)")
    assert await topic_of(alice, message_id) == "general chat"
    await quietly(alice, message_id, stream_id=only.channel_id)


async def test_content_and_topic_change_together_or_not_at_all(make, alice, bob, channel):
    other = await make.channel("other", subscribers=[alice.user])
    message_id = await send(alice)
    (await move(alice, message_id, content="x", stream_id=other.channel_id)).refused()
    (await move(bob, message_id, content="x", topic="u")).refused()
    assert await contents(alice, channel, "t") == ["hello"]
    await quietly(alice, message_id, content="x", topic="u", propagate_mode="change_all")
    assert await contents(alice, channel, "u") == ["x"]


async def test_content_changes_where_the_place_is_named_as_it_is(make, alice, bob, channel):
    """As some clients do with each edit, also of people who may move nothing."""
    message_id = await send(alice)
    groups = await make.role_groups()
    await make.change_settings(
        can_move_messages_between_topics_group=groups["role:nobody"],
        can_move_messages_between_channels_group=groups["role:nobody"],
    )
    places: list[dict[str, Any]] = [
        {"topic": "t"},
        {"stream_id": channel.channel_id},
        {"topic": " t ", "stream_id": channel.channel_id, "propagate_mode": "change_all"},
    ]
    for place in places:
        await quietly(alice, message_id, content=f"as {place}", **place)
        assert await contents(alice, channel, "t") == [f"as {place}"]
        assert (await move(alice, message_id, **place)).refused()["msg"] == "Nothing to change"
        (await move(bob, message_id, content="x", **place)).refused()
    assert await contents(alice, channel, "t") == [f"as {places[-1]}"]


async def test_a_channel_that_a_message_is_in_already_is_no_move_to_it(
    make, server, alice, channel
):  # 509
    groups = await make.role_groups()
    await make.change_settings(
        can_move_messages_between_channels_group=groups["role:nobody"],
        move_messages_between_streams_limit_seconds=3600,
    )
    topic = await make.topic(channel, "t")
    yesterday = server.app.clock.now() - timedelta(days=1)
    message_id = await make.message(alice.user, topic, sent_at=yesterday)
    queue = await alice.register(event_types=["update_message"])
    for name in ("u", f"{RESOLVED}u"):
        there = {"stream_id": channel.channel_id, "topic": name}
        await quietly(alice, message_id, propagate_mode="change_all", **there)
        event = await queue.until("update_message")
        assert (event["subject"], event["stream_id"]) == (name, channel.channel_id)
        assert "new_stream_id" not in event
    [last, first] = (await alice.get(f"/messages/{message_id}/history"))["message_history"][:0:-1]
    assert (last["topic"], first["topic"]) == (f"{RESOLVED}u", "u")
    assert not {"stream", "prev_stream"} & {*last, *first}
    other = await make.channel("other", subscribers=[alice.user])
    (await move(alice, message_id, stream_id=other.channel_id)).refused()


PERMISSIONS = [
    ("can_move_messages_between_topics_group", "can_move_messages_within_channel_group", "x"),
    ("can_resolve_topics_group", "can_resolve_topics_group", f"{RESOLVED}t"),
    (
        "can_move_messages_between_channels_group",
        "can_move_messages_out_of_channel_group",
        None,
    ),
]


@pytest.mark.parametrize(("of_realm", "of_channel", "topic"), PERMISSIONS)
async def test_realm_or_channel_permits(make, log_in, server, alice, of_realm, of_channel, topic):
    groups = await make.role_groups()
    await make.change_settings(**{of_realm: groups["role:nobody"]})
    server.app.realm_caches.of(make.realm_id).forget_everything()
    strict = await make.channel("strict", subscribers=[alice.user])
    kind = await make.channel("kind", subscribers=[alice.user], **{of_channel: [alice.user]})
    target = await make.channel("target", subscribers=[alice.user])
    fields = {"topic": topic} if topic else {"stream_id": target.channel_id}
    for channel, is_permitted in ((strict, False), (kind, True)):
        message_id = await send(alice, to=channel.name)
        answer = await move(alice, message_id, propagate_mode="change_all", **fields)
        assert (answer.status == 200) is is_permitted


async def test_moving_to_where_one_may_not_send_is_refused(make, log_in, alice, channel):
    groups = await make.role_groups()
    hidden = await make.channel("hidden", invite_only=True)
    silent = await make.channel("silent", can_send_message_group=groups["role:nobody"])
    archived = await make.channel("archived", is_archived=True, subscribers=[alice.user])
    message_id = await send(alice)
    for target in (hidden, silent, archived):
        (await move(alice, message_id, stream_id=target.channel_id)).refused()
    guest = await make.user(role=GUEST)
    await make.subscribe(channel, [guest])
    client = await log_in(guest)
    open_channel = await make.channel("open", subscribers=[guest])
    (await move(client, message_id, stream_id=open_channel.channel_id)).refused()
    (await move(client, message_id, topic="by a guest")).succeeded()


async def test_policies_follow_a_whole_topic(make, alice, bob, channel):
    message_id = await send(alice)
    other = await make.channel("other", subscribers=[alice.user, bob.user])
    target = await send(alice, to="other", topic="u")
    await set_policy(make, alice, channel, "t", 3)
    await set_policy(make, bob, channel, "t", 1)
    await set_policy(make, bob, other, "u", 2)
    queue = await bob.register(event_types=["user_topic"])

    await quietly(alice, message_id, topic="v", propagate_mode="change_all")
    told = [(e["topic_name"], e["visibility_policy"]) for e in await queue.poll()]
    assert told == [("t", 0), ("v", 1)]
    await quietly(
        alice, message_id, topic="u", stream_id=other.channel_id, propagate_mode="change_all"
    )

    [event] = await queue.poll()
    assert (event["topic_name"], event["visibility_policy"]) == ("v", 0)
    assert await policies(make, alice) == {("u", 3)}
    assert await policies(make, bob) == {("u", 2)}
    assert await topic_of(alice, target) == "u"


async def set_policy(make, client, channel, topic, policy):
    await make.connection.execute(
        """
        INSERT INTO user_topics (realm_id, user_id, topic_id, visibility_policy, last_updated)
        SELECT realm_id, %(user_id)s, topic_id, %(policy)s, now() FROM topics
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s AND name = %(topic)s
        ON CONFLICT (realm_id, user_id, topic_id)
        DO UPDATE SET visibility_policy = excluded.visibility_policy
        """,
        realm_id=make.realm_id,
        user_id=client.user.user_id,
        channel_id=channel.channel_id,
        topic=topic,
        policy=policy,
    )


async def policies(make, client):
    rows = await user_topics.of_user(make.connection, make.realm_id, client.user.user_id)
    return {(row.name, row.visibility_policy) for row in rows}


async def test_a_send_goes_to_where_the_topic_is_now(alice, bob, channel):
    message_id = await send(alice)
    await send(bob)
    await quietly(alice, message_id, topic="u", propagate_mode="change_all")
    await send(bob, content="to the old name")
    await send(bob, topic="u", content="to the new name")
    assert await contents(alice, channel, "t") == ["to the old name"]
    assert (await contents(alice, channel, "u"))[-1] == "to the new name"


async def test_a_change_of_case_is_a_rename(alice, channel):
    message_id = await send(alice)
    await send(alice)
    await quietly(alice, message_id, topic="T", propagate_mode="change_all")
    assert await topic_of(alice, message_id) == "T"


@pytest.mark.parametrize("mode", ["change_one", "change_later"])
async def test_a_part_of_a_topic_is_not_written_otherwise(alice, bob, channel, mode):
    sent = [await send(alice) for _ in range(3)]
    queue = await bob.register(event_types=["update_message", "message"])

    answer = await move(alice, sent[1], topic="T", propagate_mode=mode)
    assert answer.refused()["msg"] == "Nothing to change"
    await quietly(alice, sent[1], topic="T", propagate_mode=mode, content="x")
    assert await contents(alice, channel, "t") == ["hello", "x", "hello"]
    [event] = await queue.poll()
    assert "orig_subject" not in event
    assert await topic_of(alice, sent[1]) == "t"

    for message_id in sent[1:] if mode == "change_one" else sent[:1]:
        await alice.call("DELETE", f"/messages/{message_id}")
    left = sent[0] if mode == "change_one" else sent[1]
    await quietly(alice, left, topic="T", propagate_mode=mode)
    assert await topic_of(alice, left) == "T"


async def test_who_has_left_a_private_channel_hears_no_more_of_its_topics(alice, bob, people, make):
    secret = await make.channel("secret", subscribers=people, invite_only=True)
    message_id = await send(alice, to="secret", topic="old")
    await set_policy(make, bob, secret, "old", 3)
    queue = await bob.register(event_types=["user_topic"])
    await bob.delete("/users/me/subscriptions", subscriptions=["secret"])

    await quietly(alice, message_id, topic="new", propagate_mode="change_all")

    assert await queue.poll(dont_block=True) == []
    assert await policies(make, bob) == {("new", 3)}
