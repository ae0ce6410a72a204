"""Reminders: told to the user who asked for them, and sent with what they are of."""

import asyncio

import pytest

from server.actions import reminders as actions
from server.actions.timers import MAX_WAITING
from server.domain.errors import BadRequestError
from storage import reminders
from testkit.timers import Timers

pytestmark = pytest.mark.asyncio


@pytest.fixture
def timers(hall, changes):
    """The fixture `changes` has made the bot."""
    return Timers(hall.stage, hall.make.realm_id)


async def kept(hall, row):
    """The user's reminders: (note, failure)."""
    make = hall.make
    rows = await reminders.of_user(make.connection, make.realm_id, row.user_id)
    return [(each.note, each.failure) for each in rows]


async def sent(hall):
    return await hall.make.connection.values(
        """
        SELECT content FROM messages m JOIN users u USING (realm_id)
         WHERE realm_id = %(r)s AND u.user_id = m.sender_id AND u.is_system_bot ORDER BY id
        """,
        r=hall.make.realm_id,
    )


async def test_only_whom_they_remind_is_told_and_register_says_the_same(
    hall, timers, witnesses, make, changes
):
    await make.channel("plans", subscribers=[hall.member, hall.other])
    message_id = await changes.send(hall.other, "plans")

    async def change():
        await timers.remind(hall.member, message_id, "first")
        second = await timers.remind(hall.member, None, "second")
        await timers.remind(hall.member, message_id, "third", seconds=9_000)
        actor = hall.actor(hall.member)
        await hall.stage.write(actions.delete_reminder, actor, second)
        assert await timers.pass_by() == 1

    own, _, other, _ = await witnesses.watch(change, [hall.member, hall.other])
    mine = [e["op"] for e in own.events if e["type"] == "reminders"]
    assert mine == ["add", "add", "add", "remove", "remove"]
    assert other.events == []
    # That it no longer waits is told right after the message, in the same commit.
    message, removed = hall.stage.happened[-2:]
    assert (message.event.kind, removed.event.kind) == ("message", "reminders/remove")
    assert removed.position == message.position + 1
    assert await kept(hall, hall.member) == [("third", None)]


async def test_a_reminder_is_of_the_message_as_it_is_when_it_is_due(hall, timers, make, changes):
    await make.channel("plans", subscribers=[hall.member, hall.other])
    message_id = await changes.send(hall.other, "plans", content="first")
    await timers.remind(hall.member, message_id)
    await changes.edit(hall.other, message_id, "second")
    await timers.pass_by()
    [content] = await sent(hall)
    assert "second" in content
    assert "first" not in content


async def test_reminders_are_limited(hall, timers):
    make = hall.make
    await make.connection.execute(
        """
        INSERT INTO reminders (realm_id, reminder_id, user_id, note, content, rendered_content,
               due_at)
        SELECT %(r)s, -n, %(user_id)s, '', '', '', %(due_at)s
          FROM generate_series(1, %(count)s) AS n
        """,
        r=make.realm_id,
        user_id=hall.member.user_id,
        due_at=hall.stage.clock.now(),
        count=MAX_WAITING - 1,
    )
    wishes = [timers.remind(hall.member, None, str(n)) for n in range(3)]
    answers = await asyncio.gather(*wishes, return_exceptions=True)
    refusals = [str(each) for each in answers if isinstance(each, BadRequestError)]
    assert refusals == [f"Too many reminders (limit: {MAX_WAITING})"] * 2
    await timers.remind(hall.other, None, "another one's")


async def test_a_deactivated_realm_sends_no_reminders(hall, timers, make):
    await timers.remind(hall.member, None, "note")
    await make.connection.execute(
        "UPDATE realms SET deactivated = true, changed_at = changed_at + 1 WHERE realm_id = %(r)s",
        r=make.realm_id,
    )
    assert await timers.pass_by() == 1
    assert await sent(hall) == []
    [(_, failure)] = await kept(hall, hall.member)
    assert "deactivated" in failure


async def test_what_is_given_up_is_told_and_stays_in_the_list(hall, timers, witnesses, make):
    reminder_id = await timers.remind(hall.member, None, "note")
    [row] = await reminders.of_user(make.connection, make.realm_id, hall.member.user_id)
    services = hall.stage.realm_services(make.realm_id)

    own, _, other, _ = await witnesses.watch(
        lambda: actions.give_up(services, row), [hall.member, hall.other]
    )
    removed, added = own.events
    assert (removed["op"], removed["reminder_id"]) == ("remove", reminder_id)
    [shown] = added["reminders"]
    assert (shown["reminder_id"], shown["failed"]) == (reminder_id, True)
    assert other.events == []
    [(_, failure)] = await kept(hall, hall.member)
    assert "could not send" in failure


async def test_what_was_dropped_or_sent_meanwhile_is_not_sent(hall, timers, make):
    reminder_id = await timers.remind(hall.member, None, "note")
    [row] = await reminders.of_user(make.connection, make.realm_id, hall.member.user_id)
    services = hall.stage.realm_services(make.realm_id)
    assert await actions.deliver(services, row)
    assert not await actions.deliver(services, row)
    await actions.give_up(services, row)
    assert len(await sent(hall)) == 1
    await timers.remind(hall.member, None, "other")
    [row] = await reminders.of_user(make.connection, make.realm_id, hall.member.user_id)
    await hall.stage.write(actions.delete_reminder, hall.actor(hall.member), row.reminder_id)
    assert row.reminder_id != reminder_id
    assert not await actions.deliver(services, row)
    assert len(await sent(hall)) == 1
