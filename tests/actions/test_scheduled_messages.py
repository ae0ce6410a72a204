"""Scheduled messages: checked again when they are due, and told to their sender alone."""

import asyncio

import pytest
import pytest_asyncio

from server.actions.scheduled_messages import deliver
from server.actions.timers import MAX_WAITING
from server.domain.access import GUEST
from server.domain.errors import BadRequestError, NotFoundError
from server.events.scheduled_messages import ScheduledMessageUpdated
from storage import scheduled_messages, users
from testkit.stage import Stage
from testkit.timers import HOUR, Timers

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def bot(make):
    return await make.notification_bot()


@pytest.fixture
def timers(hall, bot):
    return Timers(hall.stage, hall.make.realm_id)


async def kept(hall, row):
    """The user's scheduled messages: (content, failure)."""
    make = hall.make
    rows = await scheduled_messages.of_user(make.connection, make.realm_id, row.user_id)
    return [(each.content, each.failure) for each in rows]


async def sent(hall):
    """What was sent in the realm: (sender, content), in order."""
    return await hall.make.connection.tuples(
        "SELECT sender_id, content FROM messages WHERE realm_id = %(realm_id)s ORDER BY id",
        realm_id=hall.make.realm_id,
    )


def changed(hall, sql):
    """Another process changes a row: this one does not hear of it before it looks."""
    return hall.make.connection.execute(sql, realm_id=hall.make.realm_id)


# -- how many


async def test_scheduled_messages_are_limited(hall, timers):
    """The last one is given to one of those who ask at the same time; others are not hindered."""
    make = hall.make
    await make.connection.execute(
        """
        INSERT INTO scheduled_messages (realm_id, scheduled_message_id, sender_id, topic, user_ids,
               content, rendered_content, due_at, read_by_sender, client)
        SELECT %(r)s, -n, %(user_id)s, '', '{1}', '', '', %(due_at)s, false, 'test'
          FROM generate_series(1, %(count)s) AS n
        """,
        r=make.realm_id,
        user_id=hall.member.user_id,
        due_at=hall.stage.clock.now(),
        count=MAX_WAITING - 1,
    )
    wishes = [timers.schedule(hall.member, [hall.other.user_id], str(n)) for n in range(3)]
    answers = await asyncio.gather(*wishes, return_exceptions=True)
    refusals = [str(each) for each in answers if isinstance(each, BadRequestError)]
    assert refusals == [f"Too many scheduled messages (limit: {MAX_WAITING})"] * 2
    assert len(await kept(hall, hall.member)) == MAX_WAITING
    await timers.schedule(hall.other, [hall.member.user_id])
    await timers.remind(hall.member, None, "of another kind")
    # What is changed is no more than before.
    [last] = [each for each in answers if not isinstance(each, BadRequestError)]
    await timers.edit(hall.member, last, content="other")


# -- told


async def test_only_the_sender_is_told_and_register_says_the_same(hall, timers, witnesses, make):
    channel = await make.channel("plans", subscribers=[hall.member, hall.other])

    async def change():
        first = await timers.schedule(hall.member, channel.channel_id, "first", topic="")
        second = await timers.schedule(hall.member, [hall.other.user_id], "second")
        third = await timers.schedule(hall.member, channel.channel_id, "third")
        await timers.edit(hall.member, second, content="2nd")
        await timers.edit(hall.member, first, topic="u", seconds=2 * HOUR)
        await timers.drop(hall.member, third)
        await timers.schedule(hall.member, [hall.member.user_id], "to myself")
        assert await timers.pass_by() == 2

    own, own_old, other, *_ = await witnesses.watch(change, [hall.member, hall.other])
    mine = [e for e in own.events if e["type"] == "scheduled_messages"]
    assert [e["op"] for e in mine] == [
        *["add"] * 3,
        *["update"] * 2,
        *["remove", "add"],
        *["remove"] * 2,
    ]
    assert mine[0]["scheduled_messages"][0]["topic"] == ""
    old = [e for e in own_old.events if e["type"] == "scheduled_messages"]
    assert old[0]["scheduled_messages"][0]["topic"] != ""
    assert {e["type"] for e in other.events} == {"message"}
    assert [content for content, _ in await kept(hall, hall.member)] == ["first"]


async def test_a_failure_is_told_with_the_notice_in_one_commit(hall, timers, witnesses, make, bot):
    channel = await make.channel("plans", subscribers=[hall.member, hall.other])
    await timers.schedule(hall.member, channel.channel_id)
    await changed(
        hall,
        "UPDATE channels SET is_archived = true, changed_at = changed_at + 1"
        " WHERE realm_id = %(realm_id)s",
    )
    hall.stage.realm_caches.of(make.realm_id).forget_everything()

    own, _, other, _ = await witnesses.watch(timers.pass_by, [hall.member, hall.other])
    assert [e["type"] for e in own.events] == ["message", "scheduled_messages"]
    assert own.events[1]["scheduled_message"]["failed"]
    assert other.events == []
    notice, update = hall.stage.happened
    assert update.position == notice.position + 1
    [(sender_id, content)] = await sent(hall)
    [(_, failure)] = await kept(hall, hall.member)
    assert sender_id == bot.user_id
    assert failure in content
    assert "2026-03-01T13:00:00" in content


# -- checked again


async def archived(hall, channel):
    await hall.make.archive(channel)


async def deleted(hall, channel):
    await hall.make.connection.execute(
        "DELETE FROM channels WHERE realm_id = %(r)s AND channel_id = %(c)s",
        r=hall.make.realm_id,
        c=channel.channel_id,
    )


async def left(hall, channel):
    await hall.make.unsubscribe(channel, [hall.member])


async def silenced(hall, channel):
    groups = await hall.make.role_groups()
    await hall.make.connection.execute(
        """
        UPDATE channels SET permissions = jsonb_set(
               permissions, '{can_send_message_group}', to_jsonb(%(group)s::bigint))
         WHERE realm_id = %(r)s AND channel_id = %(c)s
        """,
        r=hall.make.realm_id,
        c=channel.channel_id,
        group=groups["role:nobody"],
    )


async def without_topics(hall, channel):
    await hall.make.connection.execute(
        """
        UPDATE channels SET topics_policy = 'empty_topic_only'
         WHERE realm_id = %(r)s AND channel_id = %(c)s
        """,
        r=hall.make.realm_id,
        c=channel.channel_id,
    )


CHANNELS_CHANGED = """
    UPDATE channels SET changed_at = changed_at + 1 WHERE realm_id = %(realm_id)s"""
SUBSCRIPTIONS_CHANGED = """
    UPDATE subscriptions SET changed_at = changed_at + 1 WHERE realm_id = %(realm_id)s"""
USERS_CHANGED = """
    UPDATE users SET changed_at = changed_at + 1 WHERE realm_id = %(realm_id)s"""
LOSSES = {
    archived: "Not authorized to send to channel 'plans'",
    deleted: "does not exist",
    left: "does not exist",
    silenced: "You do not have permission to post in channel 'plans'.",
    without_topics: "topic is allowed in this channel.",
}


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("loss", LOSSES)
async def test_who_may_not_send_there_any_more_does_not(hall, timers, make, bot, loss, is_known):
    """Whether this process knows of the change already, or not yet."""
    channel = await make.channel("plans", subscribers=[hall.member], invite_only=True)
    message_id = await timers.schedule(hall.member, channel.channel_id)
    realm_cache = hall.stage.realm_caches.of(make.realm_id)
    realm_cache.forget_everything()
    await timers.pass_by(60)
    await realm_cache.channel(channel.channel_id)
    await realm_cache.subscription(hall.member.user_id, channel.channel_id)
    await loss(hall, channel)
    await changed(hall, CHANNELS_CHANGED)
    await changed(hall, SUBSCRIPTIONS_CHANGED)
    if is_known:
        realm_cache.forget_everything()

    assert await timers.pass_by() == 1
    [(content, failure)] = await kept(hall, hall.member)
    assert LOSSES[loss] in failure
    [(sender_id, notice)] = await sent(hall)
    assert sender_id == bot.user_id
    assert failure in notice
    assert await timers.pass_by() == 0

    # What has failed needs another time, and a place where it may go.
    with pytest.raises(BadRequestError, match="future"):
        await timers.edit(hall.member, message_id, type="direct", to=[hall.other.user_id])
    await timers.edit(hall.member, message_id, type="direct", to=[hall.other.user_id], seconds=HOUR)
    assert await kept(hall, hall.member) == [(content, None)]
    assert await timers.pass_by() == 1
    assert (await sent(hall))[1:] == [(hall.member.user_id, content)]


async def test_who_is_gone_sends_nothing_and_gets_nothing(hall, timers, make, bot):
    realm_id = make.realm_id
    await timers.schedule(hall.member, [hall.other.user_id], "to who is gone")
    await timers.schedule(hall.guest, [hall.member.user_id], "of who is gone")
    gone = [hall.other.user_id, hall.guest.user_id]
    await users.update_active(make.connection, realm_id, gone, active=False)
    await changed(hall, USERS_CHANGED)
    assert await timers.pass_by() == 2
    [(sender_id, notice)] = await sent(hall)
    assert sender_id == bot.user_id
    assert "no longer using" in notice
    [(_, failure)] = await kept(hall, hall.guest)
    assert failure == "Account is deactivated"


async def test_a_deactivated_realm_sends_nothing(hall, timers, make):
    await timers.schedule(hall.member, [hall.other.user_id])
    await changed(
        hall,
        "UPDATE realms SET deactivated = true, changed_at = changed_at + 1"
        " WHERE realm_id = %(realm_id)s",
    )
    assert await timers.pass_by() == 1
    assert await sent(hall) == []
    [(_, failure)] = await kept(hall, hall.member)
    assert "deactivated" in failure


async def test_without_the_bot_it_fails_in_silence(hall, make):
    timers = Timers(hall.stage, make.realm_id)
    channel = await make.channel("plans", subscribers=[hall.member])
    await timers.schedule(hall.member, channel.channel_id)
    await archived(hall, channel)
    hall.stage.realm_caches.of(make.realm_id).forget_everything()
    assert await timers.pass_by() == 1
    assert await sent(hall) == []
    [(_, failure)] = await kept(hall, hall.member)
    assert failure is not None
    [told] = hall.told(ScheduledMessageUpdated.kind)[-1:]
    assert told.audience.users == (hall.member.user_id,)


async def test_a_wildcard_is_permitted_when_it_is_sent(hall, timers, make, bot):
    channel = await make.channel("plans", subscribers=[hall.member])
    await timers.schedule(hall.member, channel.channel_id, "@**all** come")
    await make.subscribe(channel, await make.users(16))
    nobody = (await make.role_groups())["role:nobody"]
    await make.change_settings(can_mention_many_users_group=nobody)
    hall.stage.realm_caches.of(make.realm_id).forget_everything()
    assert await timers.pass_by() == 1
    [(_, failure)] = await kept(hall, hall.member)
    assert "wildcard" in failure


async def test_a_bot_sends_where_its_owner_may(hall, timers, make):
    channel = await make.channel("plans", subscribers=[hall.member], invite_only=True)
    helper = await make.user("Helper", bot_type=1, bot_owner=hall.member)
    await timers.schedule(helper, channel.channel_id)
    assert await timers.pass_by() == 1
    assert await sent(hall) == [(helper.user_id, "later")]
    assert await kept(hall, helper) == []


async def test_a_guest_keeps_to_their_channels(hall, timers, make):
    channel = await make.channel("plans", subscribers=[hall.guest])
    await timers.schedule(hall.guest, channel.channel_id, "hello")
    assert hall.guest.role == GUEST
    assert await timers.pass_by() == 1
    assert await sent(hall) == [(hall.guest.user_id, "hello")]


# -- what is sent


async def test_what_is_sent_is_rendered_as_things_are_then(hall, timers, make):
    channel = await make.channel("plans", subscribers=[hall.member, hall.other])
    await timers.schedule(hall.member, channel.channel_id, "@**Other** and @**Newcomer**")
    newcomer = await make.user("Newcomer")
    await make.subscribe(channel, [newcomer])
    hall.stage.realm_caches.of(make.realm_id).forget_everything()
    await timers.pass_by()
    html = await make.connection.value(
        "SELECT rendered_content FROM messages WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert f'data-user-id="{newcomer.user_id}"' in html


async def test_a_poll_can_be_scheduled(hall, timers, make):
    channel = await make.channel("plans", subscribers=[hall.member])
    await timers.schedule(hall.member, channel.channel_id, "/poll Lunch?\nnoon\none")
    assert await timers.pass_by() == 1
    [(sender_id, kind)] = await make.connection.tuples(
        """
        SELECT sender_id, content::json ->> 'widget_type' FROM submessages
         WHERE realm_id = %(r)s
        """,
        r=make.realm_id,
    )
    assert (sender_id, kind) == (hall.member.user_id, "poll")
    assert await kept(hall, hall.member) == []


# -- at the same time


async def test_what_is_changed_while_it_is_prepared_is_sent_as_it_is_now(hall, timers, make):
    channel = await make.channel("plans", subscribers=[hall.member])
    message_id = await timers.schedule(hall.member, channel.channel_id, "old")
    [row] = await scheduled_messages.of_user(make.connection, make.realm_id, hall.member.user_id)
    await timers.edit(hall.member, message_id, content="new")
    services = hall.stage.realm_services(make.realm_id)
    assert not await deliver(services, row)
    assert await sent(hall) == []
    await timers.pass_by()
    assert await sent(hall) == [(hall.member.user_id, "new")]
    assert not await deliver(services, row)
    with pytest.raises(NotFoundError):
        await timers.edit(hall.member, message_id, content="newer")


async def test_a_row_that_another_process_holds_is_passed_over(hall, timers, make, database):
    channel = await make.channel("plans", subscribers=[hall.member])
    message_id = await timers.schedule(hall.member, channel.channel_id)
    locking = scheduled_messages.locking(make.realm_id, hall.member.user_id, message_id)
    elsewhere = Stage(database, hall.stage.clock)
    async with database.transaction() as connection:
        assert await locking.waiting(connection)
        assert await timers.pass_by() == 0
        assert await Timers(elsewhere, make.realm_id).pass_by(0) == 0
    assert await timers.pass_by(0) == 1
    await elsewhere.writers.drain()
