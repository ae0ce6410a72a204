"""Reminders: the notification bot writes to the user who asked for one, if they may read it."""

import pytest
import pytest_asyncio

from server.domain.access import GUEST
from storage import users
from testkit.factories import Make, new_realm
from testkit.timers import due_item_runner_at, soon

pytestmark = pytest.mark.asyncio

LIST = "/reminders"


@pytest_asyncio.fixture
async def bot(make, server):
    row = await make.notification_bot()
    server.forget(make.realm_id)
    return row


async def say(client, channel, content="the *plan*", topic="lunch") -> int:
    body = await client.post(
        "/messages", type="channel", to=channel.channel_id, topic=topic, content=content
    )
    return int(body["id"])


async def remind(client, message_id=None, **fields) -> int:
    given = {"message_id": message_id, "scheduled_delivery_timestamp": soon(client)} | fields
    return int((await client.post("/reminders", **given))["reminder_id"])


async def listed(client):
    """What the list holds: the same as register."""
    shown = (await client.get("/reminders"))["reminders"]
    state = await client.post("/register", fetch_event_types=["reminders"])
    assert state["reminders"] == shown
    return shown


async def passes(client, seconds=3_600):
    """So much time goes by, and the due-item runner looks."""
    return await due_item_runner_at(client.server.app, soon(client, seconds)).catch_up()


async def reminded(client, *, html=False):
    """What the bot has written to the client's user, the newest last."""
    body = await client.get(
        "/messages",
        anchor="newest",
        num_before=100,
        num_after=0,
        narrow=[["is", "dm"]],
        apply_markdown=html,
    )
    return [m for m in body["messages"] if m["sender_full_name"] == "Notification Bot"]


async def test_a_reminder_is_set_shown_and_sent_at_its_time(alice, bob, channel, bot):
    message_id = await say(bob, channel)
    queue = await alice.register(event_types=["reminders", "message"])
    others = await bob.register(event_types=["reminders", "message"])
    at = soon(alice)
    reminder_id = await remind(
        alice, message_id, note=" Bring *cake* ", scheduled_delivery_timestamp=at
    )
    [added] = await queue.poll()
    [shown] = added["reminders"]
    assert (added["type"], added["op"]) == ("reminders", "add")
    assert (shown["reminder_id"], shown["type"], shown["to"], shown["failed"]) == (
        reminder_id,
        "private",
        [alice.user.user_id],
        False,
    )
    assert shown["reminder_target_message_id"] == message_id
    assert shown["scheduled_delivery_timestamp"] == at
    # Nothing of the message is kept beside it: it may be changed or deleted until then.
    assert "plan" not in shown["content"]
    assert "Bring *cake*" in shown["content"]
    address = f"/#narrow/channel/{channel.channel_id}-general/topic/lunch/near/{message_id}"
    assert f'<a href="{address}">#general &gt; lunch</a>' in shown["rendered_content"]
    assert await listed(alice) == [shown]
    assert await listed(bob) == []

    assert await due_item_runner_at(alice.server.app, at - 1).catch_up() == 0
    assert await due_item_runner_at(alice.server.app, at).catch_up() == 1
    sent = await queue.until("message")
    removed = await queue.until("reminders", "remove")
    assert removed["reminder_id"] == reminder_id
    message = sent["message"]
    assert sent["flags"] == []
    assert message["sender_id"] == bot.user_id
    assert {each["id"] for each in message["display_recipient"]} == {
        bot.user_id,
        alice.user.user_id,
    }
    assert message["content"].startswith(shown["content"])
    assert f"@_**Bob|{bob.user.user_id}** wrote:" in message["content"]
    assert "the *plan*" in message["content"]
    [rendered] = await reminded(alice, html=True)
    assert f'<a href="{address}">' in rendered["content"]
    assert "<blockquote>\n<p>the <em>plan</em></p>\n</blockquote>" in rendered["content"]
    assert await others.poll(dont_block=True) == []
    assert await listed(alice) == []
    assert await passes(alice, 9_000) == 0


async def test_a_reminder_needs_no_message_and_no_note(alice, channel, bot):
    message_id = await say(alice, channel)
    await remind(alice, note="only a note")
    await remind(alice, message_id)
    await remind(alice, note=" ")
    kept = await listed(alice)
    assert [each["reminder_target_message_id"] for each in kept] == [0, message_id, 0]
    assert await passes(alice) == 3
    texts = [each["content"] for each in await reminded(alice)]
    assert len(texts) == 3
    assert "only a note" in texts[0]
    assert "the *plan*" in texts[1]
    assert await listed(alice) == []


async def test_a_direct_message_is_linked_too(alice, bob, channel, bot):
    ids = {}
    for name, to in (("to bob", bob.user.user_id), ("to myself", alice.user.user_id)):
        direct = {"type": "direct", "to": [to], "content": name}
        ids[name] = (await alice.post("/messages", **direct))["id"]
        await remind(alice, ids[name])
    await passes(alice)
    texts = {name: text["content"] for name, text in zip(ids, await reminded(alice), strict=True)}
    bobs, own = bob.user.user_id, alice.user.user_id
    assert f"(/#narrow/dm/{bobs}-dm/near/{ids['to bob']})" in texts["to bob"]
    assert f"(/#narrow/dm/{own}-dm/near/{ids['to myself']})" in texts["to myself"]
    assert "to bob" in texts["to bob"]


async def test_a_reminder_is_in_the_language_of_its_reader(alice, bob, channel, bot):
    del bot
    await alice.patch("/settings", default_language="de")
    direct = {"type": "direct", "to": [bob.user.user_id], "content": "the plan"}
    message_id = (await alice.post("/messages", **direct))["id"]
    for user in (alice, bob):
        await remind(user, message_id)
    await passes(alice)
    (own,), (bobs,) = await reminded(alice), await reminded(bob)
    assert own["content"].startswith("Du wolltest an [eine Direktnachricht](")
    assert f"@_**Alice|{alice.user.user_id}** schrieb:" in own["content"]
    assert bobs["content"].startswith("You asked to be reminded of [a direct message](")


async def test_names_and_quotes_do_not_break_out(alice, make, bot):
    odd = await make.channel("a*b] `c`", subscribers=[alice.user])
    topic = "x** @**all** [y](z)"
    message_id = await say(alice, odd, "```quote\nopen @**all**", topic)
    await remind(alice, message_id, note="~~~~\n```` and @**all**")
    [kept] = await listed(alice)
    assert "#a*b] `c` &gt; x** @**all** [y](z)</a>" in kept["rendered_content"]
    await passes(alice)
    [sent] = await reminded(alice, html=True)
    own, *_, said = sent["content"].split("<blockquote>")
    assert f"/near/{message_id}" in own
    assert f'data-user-id="{alice.user.user_id}">Alice</span> wrote:</p>' in sent["content"]
    assert said.endswith("</blockquote>\n</blockquote>")


async def test_of_a_long_message_the_beginning_is_shown(alice, channel, bot):
    for content in ("x" * 10_000, "x" + "\n" * 9_998 + "y"):
        message_id = await say(alice, channel, content)
        await remind(alice, message_id, note="n" + "\n" * 998 + "m")
    await passes(alice)
    letters, lines = [each["content"] for each in await reminded(alice)]
    assert "x" * 4_998 in letters
    assert "y" not in lines.partition("wrote")[2]
    assert max(len(letters), len(lines)) < 10_000


async def test_what_is_deleted_moved_or_lost_meanwhile_is_shown_as_it_is_then(
    alice, bob, make, channel, bot
):
    closed = await make.channel("closed", subscribers=[alice.user, bob.user], invite_only=True)
    deleted = await say(alice, channel, "deleted words")
    edited = await say(alice, channel, "first words")
    lost = await say(bob, closed, "private words")
    for message_id in (deleted, edited, lost):
        await remind(alice, message_id)
    await make.change_settings(
        realm_can_delete_own_message_group=(await make.role_groups())["role:everyone"]
    )
    alice.server.forget(make.realm_id)
    await alice.delete(f"/messages/{deleted}")
    await alice.patch(f"/messages/{edited}", content="second words", topic="dinner")
    await alice.delete("/users/me/subscriptions", subscriptions=["closed"])
    assert await passes(alice) == 3
    texts = [each["content"] for each in await reminded(alice)]
    assert "deleted words" not in texts[0]
    assert "no longer read it" in texts[0]
    assert "second words" in texts[1]
    assert "dinner" in texts[1]
    assert "private words" not in texts[2]
    assert "closed" not in texts[2]
    assert await listed(alice) == []


async def test_names_are_those_of_now_whatever_the_process_remembers(alice, make, channel, bot):
    await remind(alice, await say(alice, channel))
    await make.connection.execute(
        """
        UPDATE channels SET name = 'renamed', changed_at = changed_at + 1
         WHERE realm_id = %(r)s AND channel_id = %(c)s
        """,
        r=make.realm_id,
        c=channel.channel_id,
    )
    assert await passes(alice) == 1
    [sent] = await reminded(alice)
    assert "renamed" in sent["content"]


# -- bad input


async def test_without_a_time_or_with_a_past_one_it_is_refused(alice, channel, bot):
    message_id = await say(alice, channel)
    (await alice.call("POST", LIST, message_id=message_id, note="x")).refused()
    (await alice.call("POST", LIST)).refused()
    for at in (soon(alice, 0), soon(alice, -1), 0, -(2**62)):
        given = {"message_id": message_id, "scheduled_delivery_timestamp": at}
        (await alice.call("POST", "/reminders", **given)).refused()
    for wrong in ("tomorrow", 1.5, True, 10**12, 2**70):
        answer = await alice.call(
            "POST", "/reminders", message_id=message_id, scheduled_delivery_timestamp=wrong
        )
        assert answer.status == 400
    assert await listed(alice) == []


async def test_the_note_has_a_limit(alice, channel, bot):
    message_id = await say(alice, channel)
    at = soon(alice)
    limit = (await alice.post("/register", fetch_event_types=["realm"]))["max_reminder_note_length"]
    given = {"message_id": message_id, "scheduled_delivery_timestamp": at}
    (await alice.call("POST", LIST, note="x" * (limit + 1), **given)).refused()
    assert await listed(alice) == []
    await alice.post("/reminders", note="x" * limit + " ", **given)
    assert len(await listed(alice)) == 1


async def test_only_of_what_one_may_read(alice, bob, log_in, make, channel, bot):
    closed = await make.channel("closed", subscribers=[bob.user], invite_only=True)
    hidden = await say(bob, closed)
    direct = {"type": "direct", "to": [bob.user.user_id], "content": "psst"}
    between = (await bob.post("/messages", **direct))["id"]
    guest = await log_in(role=GUEST)
    public = await say(bob, channel)
    tries = [(alice, hidden), (alice, between), (alice, 10**9), (alice, 0), (guest, public)]
    for client, message_id in tries:
        given = {"message_id": message_id, "scheduled_delivery_timestamp": soon(client)}
        (await client.call("POST", "/reminders", **given)).refused()
    (await alice.call("POST", LIST, message_id="x")).refused("REQUEST_VARIABLE_INVALID")
    assert await listed(alice) == await listed(guest) == []
    # A user who has not subscribed to a public channel may read it.
    reader = await log_in()
    await remind(reader, public)
    assert await passes(reader) == 1


# -- dropping, and others


async def test_what_is_dropped_is_not_sent(alice, channel, bot):
    queue = await alice.register(event_types=["reminders"])
    reminder_id = await remind(alice, await say(alice, channel))
    await queue.poll()
    await alice.delete(f"/reminders/{reminder_id}")
    [told] = await queue.poll()
    assert (told["op"], told["reminder_id"]) == ("remove", reminder_id)
    (await alice.call("DELETE", f"/reminders/{reminder_id}")).refused(status=404)
    assert await passes(alice) == 0
    assert await reminded(alice) == []


async def test_those_of_others_and_of_other_realms_are_not_there(
    alice, bob, channel, make: Make, connect, server, bot
):
    abroad = await new_realm(make.connection)
    foreigner = await connect(server, abroad.realm_id, await abroad.user())
    reminder_id = await remind(alice, await say(alice, channel))
    for client in (bob, foreigner):
        assert await listed(client) == []
        for unknown in (reminder_id, 10**9):
            (await client.call("DELETE", f"/reminders/{unknown}")).refused(status=404)
    # A message of that id in another realm is another message.
    given = {"message_id": reminder_id - 1, "scheduled_delivery_timestamp": soon(foreigner)}
    (await foreigner.call("POST", LIST, **given)).refused()
    assert len(await listed(alice)) == 1


async def test_without_credentials_there_are_none(spectator, alice, channel):
    anonymous = await spectator()
    for method, path in (("GET", LIST), ("POST", LIST), ("DELETE", LIST + "/1")):
        assert (await anonymous.call(method, path)).status == 401


async def test_a_deactivated_user_is_not_reminded_and_finds_it_failed(
    alice, bob, make, channel, server, bot
):
    await remind(alice, await say(alice, channel))
    await users.update_active(make.connection, make.realm_id, [alice.user.user_id], active=False)
    server.forget(make.realm_id)
    assert await passes(bob) == 1
    assert await passes(bob) == 0
    await users.update_active(make.connection, make.realm_id, [alice.user.user_id], active=True)
    server.forget(make.realm_id)
    [kept] = await listed(alice)
    assert kept["failed"]
    assert await reminded(alice) == []
    await alice.delete(f"/reminders/{kept['reminder_id']}")


async def test_a_reminder_names_no_user_hidden_from_its_reader(bot, make, log_in):
    """Neither the sender, nor a user mentioned in what the bot quotes, by id or by name."""
    groups = await make.role_groups()
    await make.change_settings(can_access_all_users_group=groups["role:members"])
    guest = await log_in(await make.user("Guest", role=GUEST))
    quillon = await make.user("Quillon **Canary**|7")
    channel = await make.channel("kitchen", subscribers=[guest.user])
    message_id = await say(await log_in(quillon), channel, content="the plan")
    own_id = await say(guest, channel, content=f"what of @**|{quillon.user_id}**?")
    await remind(guest, message_id, note=f"ask @**|{quillon.user_id}** and @**Guest**")
    await remind(guest, own_id)
    assert await passes(guest) == 2

    texts = await reminded(guest)
    assert "Canary" not in str(texts)
    assert f"@_**Unknown user|{quillon.user_id}** wrote:" in str(texts)
    pages = str([message["content"] for message in await reminded(guest, html=True)])
    assert "Canary" not in pages
    assert pages.count(">Unknown user</span>") == 3
    assert ">Unknown user</span> wrote:" in pages
    assert ">Guest</span>" in pages

    # Who may know them reads who it was.
    member = await log_in()
    await remind(member, message_id)
    await passes(member)
    assert "Quillon **Canary**" in str(await reminded(member))
