"""Reports of messages, and typing while one edits."""

from html import escape

import pytest
import pytest_asyncio

from server.domain.messages import LARGE_AUDIENCE
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def people(make: Make):
    await make.notification_bot()
    return [await make.user(name) for name in ("Alice", "Bob")]


@pytest_asyncio.fixture
async def desk(make, server, people):
    """Where moderators read reports."""
    channel = await make.channel("desk", invite_only=True, subscribers=[people[0]])
    await make.change_settings(moderation_request_channel_id=channel.channel_id)
    server.app.realm_caches.of(make.realm_id).forget_everything()
    return channel


async def send(client, content="hello", **fields):
    message = {"type": "channel", "to": "general", "topic": "t", **fields}
    return (await client.post("/messages", content=content, **message))["id"]


def report(client, message_id, /, **fields):
    return client.call("POST", f"/messages/{message_id}/report", **fields)


async def reports(client, channel, *, apply_markdown=False):
    body = await client.get(
        "/messages",
        anchor="newest",
        num_before=10,
        num_after=0,
        narrow=[["channel", channel.channel_id]],
        apply_markdown=apply_markdown,
    )
    return [message["content"] for message in body["messages"]]


async def test_moderators_see_what_was_reported_and_why(alice, bob, channel, desk):
    message_id = await send(alice, "```\nbad\n```")
    fields = {"report_type": "spam", "description": "again"}
    (await report(bob, message_id, **fields)).succeeded()
    [told] = await reports(alice, desk)
    assert f"Bob|{bob.user.user_id}** reported" in told
    href = f"/#narrow/channel/{channel.channel_id}-general/topic/t/near/{message_id}"
    assert rf"a message ([\#general \> t]({href})) of " in told
    assert "\n\n> ```\n> bad\n> ```" in told
    assert "again" in told


async def test_reports_are_in_the_language_of_the_organization(make, server, alice, bob, desk):
    await make.change_settings(default_language="de")
    server.app.realm_caches.of(make.realm_id).forget_everything()
    message_id = await send(alice, type="direct", to=[bob.user.user_id])
    (await report(bob, message_id, report_type="harassment")).succeeded()
    [told] = await reports(alice, desk)
    alices, bobs = (f"@_**{each.user.full_name}|{each.user.user_id}**" for each in (alice, bob))
    said = f"{bobs} hat eine Direktnachricht von {alices} als Belästigung gemeldet."
    assert told.startswith(f"{said}\n\nDie Nachricht:\n\n")


@pytest.mark.parametrize("topic", ["x** @**all** y", "@*cooks*", "[x]", "`", "$$", "<b>", ""])
async def test_reports_arrive_whatever_the_topic_is_called(make, alice, bob, desk, topic):
    await make.group("cooks", members=[alice.user])
    await make.subscribe(desk, await make.users(LARGE_AUDIENCE))
    message_id = await send(alice, topic=topic)
    (await report(bob, message_id, report_type="spam")).succeeded()
    [told] = await reports(alice, desk, apply_markdown=True)
    shown = f"#general > {topic or 'general chat'}"
    assert f'/near/{message_id}">{escape(shown, quote=False)}</a>' in told
    assert "group-mention" not in told


async def test_a_report_without_recipients_says_so(make, server, alice, bob, desk):
    message_id = await send(alice)
    await make.connection.execute("DELETE FROM users WHERE full_name = 'Notification Bot'")
    server.app.realm_caches.of(make.realm_id).forget_everything()
    (await report(bob, message_id, report_type="spam")).refused()
    assert await reports(alice, desk) == []


async def test_what_cannot_be_reported_is_refused(make, log_in, alice, bob, desk):
    message_id = await send(alice)
    direct = await send(alice, type="direct", to=[alice.user.user_id])
    (await report(bob, direct, report_type="spam")).refused()
    (await report(bob, 10**9, report_type="spam")).refused()
    (await report(bob, message_id, report_type="other")).refused()
    (await report(bob, message_id, report_type="x")).refused("REQUEST_VARIABLE_INVALID")
    (await report(bob, message_id, report_type="spam", description="x" * 1001)).refused()
    assert await reports(alice, desk) == []


async def test_without_a_channel_for_it_nothing_is_reported(alice, bob):
    message_id = await send(alice)
    (await report(bob, message_id, report_type="spam")).refused()


# -- typing while one edits


def typing(client, message_id, op="start"):
    return client.call("POST", f"/messages/{message_id}/typing", op=op)


async def test_others_hear_that_a_user_edits(alice, bob, channel):
    message_id = await send(alice)
    queue = await bob.register(event_types=["typing_edit_message"])
    await queue.poll(dont_block=True)
    for op in ("start", "stop"):
        (await typing(alice, message_id, op)).succeeded()
        [event] = await queue.poll()
        assert (event["op"], event["message_id"]) == (op, message_id)
        assert event["sender_id"] == alice.user.user_id
        assert event["recipient"] == {
            "type": "channel",
            "channel_id": channel.channel_id,
            "topic": "t",
        }


async def test_in_a_direct_message_its_people_hear_it(alice, bob):
    message_id = await send(alice, type="direct", to=[bob.user.user_id])
    queue = await bob.register(event_types=["typing_edit_message"])
    await queue.poll(dont_block=True)
    (await typing(alice, message_id)).succeeded()
    [event] = await queue.poll()
    people = sorted([alice.user.user_id, bob.user.user_id])
    assert event["recipient"] == {"type": "direct", "user_ids": people}


async def test_only_the_author_edits(alice, bob):
    message_id = await send(alice)
    (await typing(bob, message_id)).refused()
    (await typing(alice, message_id, op="pause")).refused("REQUEST_VARIABLE_INVALID")
