"""PATCH /messages/{id} for content: who may, until when, and what all clients are told."""

import hashlib
from datetime import timedelta

import pytest
from psycopg import errors

from server.domain.access import GUEST, OWNER
from server.initial_state import register
from server.initial_state.base import StateSection
from server.initial_state.registry import SECTIONS
from storage import event_queues
from storage.ids import QueueId

pytestmark = pytest.mark.asyncio


async def send(client, content="before", to="general", topic="t", kind="channel"):
    body = await client.post("/messages", type=kind, to=to, topic=topic, content=content)
    return body["id"]


def edit(client, message_id, /, **fields):
    return client.call("PATCH", f"/messages/{message_id}", **fields)


async def message(client, message_id, /, **fields):
    return (await client.get(f"/messages/{message_id}", **fields))["message"]


async def history(client, message_id):
    return (await client.get(f"/messages/{message_id}/history"))["message_history"]


async def test_an_edit_is_told_and_kept(alice, bob):
    message_id = await send(alice)
    queue = await bob.register(event_types=["update_message"])

    body = (await edit(alice, message_id, content="*after*")).succeeded()

    assert body["detached_uploads"] == []
    [event] = await queue.poll()
    assert (event["message_id"], event["message_ids"]) == (message_id, [message_id])
    assert (event["orig_content"], event["content"]) == ("before", "*after*")
    assert event["rendered_content"] == "<p><em>after</em></p>"
    assert (event["rendering_only"], event["flags"]) == (False, [])
    assert "orig_subject" not in event
    shown = await message(bob, message_id)
    assert shown["content"] == "<p><em>after</em></p>"
    assert shown["last_edit_timestamp"] == event["edit_timestamp"]
    assert "last_moved_timestamp" not in shown
    [entry] = shown["edit_history"]
    assert (entry["prev_content"], entry["prev_rendered_content"]) == ("before", "<p>before</p>")


async def test_an_edit_that_changes_nothing_is_told_and_kept_as_any_other(alice, bob):
    message_id = await send(alice)
    queue = await bob.register(event_types=["update_message"])

    (await edit(alice, message_id, content="before")).succeeded()

    [event] = await queue.poll()
    assert (event["message_ids"], event["content"]) == ([message_id], "before")
    shown = await message(bob, message_id)
    assert shown["last_edit_timestamp"] == event["edit_timestamp"]
    assert [entry["prev_content"] for entry in shown["edit_history"]] == ["before"]
    assert [state["content"] for state in await history(bob, message_id)] == ["before"] * 2


async def test_history_holds_every_state_oldest_first(alice, bob):
    message_id = await send(alice, "one")
    (await edit(alice, message_id, content="two")).succeeded()
    (await edit(alice, message_id, topic="other")).succeeded()
    (await edit(alice, message_id, content="three")).succeeded()

    states = await history(bob, message_id)

    assert [(s["content"], s["topic"]) for s in states] == [
        ("one", "t"),
        ("two", "t"),
        ("two", "other"),
        ("three", "other"),
    ]
    assert [s.get("prev_content") for s in states] == [None, "one", None, "two"]
    assert [s.get("prev_topic") for s in states] == [None, None, "t", None]


async def test_history_shows_what_each_edit_has_changed(alice, bob):
    message_id = await send(alice, "one two three four five <b>")
    (await edit(alice, message_id, content="one two 3 four five <b>")).succeeded()
    (await edit(alice, message_id, topic="other")).succeeded()

    differences = [state.get("content_html_diff") for state in await history(bob, message_id)]

    new = '<span class="highlight_text_inserted">3</span>'
    gone = '<span class="highlight_text_deleted">three</span>'
    assert differences == [None, f"<p>one two {new} {gone} four five &lt;b&gt;</p>", None]


@pytest.mark.parametrize(("policy", "entries"), [("all", 2), ("moves", 1), ("none", 0)])
async def test_the_organization_says_how_much_of_the_history_is_shown(
    make, alice, bob, policy, entries
):
    message_id = await send(alice)
    (await edit(alice, message_id, content="after")).succeeded()
    (await edit(alice, message_id, topic="other")).succeeded()
    await make.change_settings(message_edit_history_visibility_policy=policy)
    bob.server.app.realm_caches.of(make.realm_id).forget_everything()
    events = await bob.register(event_types=["update_message"])
    (await edit(alice, await send(alice), content="after")).succeeded()
    told = await events.until("update_message")
    original = (told["orig_content"], told["orig_rendered_content"])
    assert original == (("before", "<p>before</p>") if policy == "all" else ("", ""))
    assert ("before" in str(told)) is (policy == "all")

    shown = await message(bob, message_id)

    assert len(shown.get("edit_history", [])) == entries
    assert {"last_edit_timestamp", "last_moved_timestamp"} <= {*shown}
    if policy == "none":
        (await bob.call("GET", f"/messages/{message_id}/history")).refused()
    else:
        assert len(await history(bob, message_id)) == entries + 1
        told = str(await history(bob, message_id))
        assert ("before" in told) is (policy == "all")


async def test_only_its_author_changes_what_a_message_says(make, log_in, alice, channel):
    owner = await make.user(role=OWNER)
    await make.subscribe(channel, [owner])
    message_id = await send(alice)
    (await edit(await log_in(owner), message_id, content="after")).refused()
    assert (await message(alice, message_id, apply_markdown=False))["content"] == "before"


async def test_what_one_may_not_read_is_not_there(make, log_in, alice):
    private = await make.channel("private", invite_only=True)
    stranger = await make.user(role=GUEST)
    await make.subscribe(private, [alice.user])
    message_id = await send(alice, to="private")
    for number in (message_id, message_id + 1000, 2**62):
        client = await log_in(stranger)
        (await edit(client, number, content="x")).refused()
        (await client.call("DELETE", f"/messages/{number}")).refused()
        (await client.call("GET", f"/messages/{number}/history")).refused()
        (await client.call("POST", f"/messages/{number}/typing", op="start")).refused()


async def test_a_client_that_saw_something_else_is_refused(alice):
    message_id = await send(alice)
    digest = hashlib.sha256(b"before").hexdigest()
    wrong = await edit(alice, message_id, content="x", prev_content_sha256="0" * 64)
    assert wrong.refused("EXPECTATION_MISMATCH")["field_name"] == "prev_content_sha256"
    (await edit(alice, message_id, content="x", prev_content_sha256=digest.upper())).succeeded()


async def test_time_runs_out(make, alice, server):
    message_id = await send(alice)
    topic = await make.topic(await make.channel("old", subscribers=[alice.user]), "t")
    now = server.app.clock.now()
    for age, is_refused in ((610, False), (640, True)):  # of ten minutes, and some grace
        old = await make.message(alice.user, topic, sent_at=now - timedelta(seconds=age))
        answer = await edit(alice, old, content="after")
        assert (answer.status == 400) is is_refused
    (await edit(alice, message_id, content="after")).succeeded()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"content": "x" * 10_001},
        {"content": "a\0b"},
        {"propagate_mode": "change_all"},
        {"propagate_mode": "change_all", "content": "x"},
        {"propagate_mode": "some", "topic": "x"},
        {"topic": "x" * 61},
        {"topic": "t"},
        {"topic": "a\nb"},
        {"stream_id": 10**9},
        {"stream_id": "general"},
        {"send_notification_to_new_thread": "perhaps", "topic": "x"},
    ],
)
async def test_nonsense_is_refused_and_changes_nothing(alice, fields):
    message_id = await send(alice)
    answer = await edit(alice, message_id, **fields)
    assert answer.status == 400
    shown = await message(alice, message_id, apply_markdown=False)
    assert (shown["content"], shown["subject"]) == ("before", "t")
    assert "edit_history" not in shown


async def test_a_message_without_content_says_that_it_is_deleted(alice):
    message_id = await send(alice)
    (await edit(alice, message_id, content="  ")).succeeded()
    assert (await message(alice, message_id, apply_markdown=False))["content"] == "(deleted)"


async def test_mentions_come_and_go_with_an_edit(alice, bob):
    message_id = await send(alice)
    queue = await bob.register(event_types=["update_message"])
    for content, is_mentioned in ((f"hi @**{bob.user.full_name}**", True), ("hi", False)):
        (await edit(alice, message_id, content=content)).succeeded()
        [event] = await queue.poll()
        assert ("mentioned" in event["flags"]) is is_mentioned
        assert ("mentioned" in (await message(bob, message_id))["flags"]) is is_mentioned


async def test_wildcards_need_a_permission_in_an_edit_too(make, alice, channel):
    await make.subscribe(channel, await make.users(20))
    message_id = await send(alice)
    answer = await edit(alice, message_id, content="@**all** x")
    answer.refused("STREAM_WILDCARD_MENTION_NOT_ALLOWED")


async def test_a_direct_message_is_edited_but_not_moved(alice, bob, channel):
    message_id = await send(alice, to=[bob.user.user_id], kind="direct")
    queue = await bob.register(event_types=["update_message"])
    (await edit(alice, message_id, topic="x")).refused()
    (await edit(alice, message_id, stream_id=channel.channel_id)).refused()
    (await edit(alice, message_id, content="after")).succeeded()
    [event] = await queue.poll()
    assert event["content"] == "after"
    assert "stream_id" not in event


async def test_an_edit_during_ones_register_tells_ones_flags(alice, bob, monkeypatch):
    """The queue is not there yet when the message is edited, and gets the event all the same."""
    message_id = await send(alice)
    await bob.post("/messages/flags", messages=[message_id], op="add", flag="read")

    async def edited_meanwhile(snapshot):
        (await edit(alice, message_id, content="@**Bob**")).succeeded()
        return {}

    sections = (StateSection("message", edited_meanwhile, ()),)
    monkeypatch.setattr(register, "SECTIONS", (*SECTIONS, *sections))
    queue = await bob.register(event_types=["update_message"], fetch_event_types=["message"])

    [event] = await queue.poll()
    assert event["content"] == "@**Bob**"
    assert sorted(event["flags"]) == ["mentioned", "read"]


async def test_a_queue_waits_for_a_writer_that_does_not_know_of_it(make, people, alice):
    queue = event_queues.NewQueue(QueueId("q"), people[1].user_id, {}, 600)
    database = alice.server.app.database
    async with database.transaction() as writing:
        await writing.execute("SELECT clock_lock(%(realm_id)s)", realm_id=make.realm_id)
        async with database.connection() as connection:
            await connection.execute("SET lock_timeout = '50ms'")
            with pytest.raises(errors.LockNotAvailable):
                await event_queues.insert(connection, make.realm_id, [queue])
            await connection.execute("RESET lock_timeout")
