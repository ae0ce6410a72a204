"""From messages in the log to who is notified, and to what is handed on."""

import asyncio
import itertools
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import msgspec
import pytest

from queue_processors import fanout_translation, message_fanout
from queue_processors.message_fanout import MAX_CHECKS, MAX_PAIRS
from queue_processors.shipper import Shipper, through
from server.actions import muted_users
from server.actions.message_flags import change_flag
from server.actions.messages import notices
from server.actions.messages.notices import Notice
from server.app import App
from server.domain.notifications import NOTHING, NotificationFacts, decide
from server.events.messages import MessageSent
from server.jobs import EmailNotifications, MessageFanout, PushNotification
from storage import notification_candidates, notifications, presences, users
from storage.ids import GroupId, MessageId, Position
from storage.notifications import NewNotification
from storage.shipping import ShippableRow
from testkit.factories import user_ids
from testkit.message_changes import Changes
from testkit.message_fanout import FanoutDesk
from testkit.realm_with_roles import Hall
from testkit.services.job_brokers import Place

pytestmark = pytest.mark.asyncio

DIRECT = ("direct_message", "direct_message")
MENTIONED = ("mentioned", "mentioned")


async def test_a_direct_message_notifies_all_its_recipients_but_the_sender(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await changes.send(hall.member, user_ids([hall.other, hall.guest]))
    await desk.catch_up()
    assert await desk.reasons() == {"Other": DIRECT, "Guest": DIRECT}


async def test_a_message_to_oneself_sends_no_notification(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await changes.send(hall.member, user_ids([hall.member]), content="@**Member**")
    await desk.catch_up()
    assert await desk.reasons() == {}


async def test_mentions_notify_those_who_receive_them(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await hall.make.channel("news", subscribers=[hall.member, hall.other, hall.guest])
    group_id = await hall.make.group("crew", members=[hall.guest, hall.owner, hall.member])
    await changes.send(
        hall.member, "news", content="@**Other** @**Admin** @*crew* @_**Guest** @**Member**"
    )
    await desk.catch_up()
    assert await desk.reasons() == {"Other": MENTIONED, "Guest": MENTIONED}
    groups = {each.user_id: each.group_id for each in await desk.noted()}
    assert groups == {hall.other.user_id: None, hall.guest.user_id: group_id}


async def test_of_several_groups_the_smallest_one_is_named(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await hall.make.channel("news", subscribers=[hall.member, hall.other])
    small = await hall.make.group("small", members=[hall.other])
    await hall.make.group("large", members=hall.everyone)
    await changes.send(hall.member, "news", content="@*large* @*small*")
    await desk.catch_up()
    assert [each.group_id for each in await desk.noted()] == [small]


async def test_the_members_of_a_group_are_looked_up_once_for_all_whom_it_mentions(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    asked = []

    class Counting:
        """The realm's groups; records the groups asked for their members."""

        async def groups_of(self, connection: Any, realm: Any) -> Any:
            self.graph = await hall.stage.realm_caches.of(hall.make.realm_id).groups_of(
                connection, realm
            )
            return self

        def members_of(self, group_ids: list[GroupId]) -> Any:
            asked.extend(group_ids)
            return self.graph.members_of(group_ids)

    await hall.make.channel("news", subscribers=hall.everyone)
    group_id = await hall.make.group("crew", members=hall.everyone)
    await changes.send(hall.member, "news", content="@*crew*")
    [job] = await desk.shipped()
    await desk.fanout(realm_cache=cast("Any", Counting())).handle(job)
    assert {each.group_id for each in await desk.noted()} == {group_id}
    assert len(await desk.noted()) == len(hall.everyone) - 1
    assert asked == [group_id]


async def test_a_notice_of_resolving_notifies_those_who_have_it_unread(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    channel = await hall.make.channel("news", subscribers=[hall.owner, hall.other, hall.guest])
    for row in (hall.other, hall.guest):
        await desk.want(row, enable_stream_push_notifications=True)
    await changes.send(hall.other, "news", content="I begin a topic, and follow it")
    await desk.catch_up()
    before = await desk.noted()
    for tells_of_resolving in (True, False):
        notice = Notice(
            to=channel.channel_id, topic="t", content="x", tells_of_resolving=tells_of_resolving
        )
        await notices.deliver(hall.realm_services(), notice.draft(str(tells_of_resolving)))
    await desk.catch_up()
    seen, heard = sorted(
        {n.message_id for n in await desk.noted()} - {n.message_id for n in before}
    )
    told = [(each.message_id, each.user_id) for each in await desk.noted() if each not in before]
    assert sorted(told) == [
        (seen, hall.other.user_id),
        (heard, hall.other.user_id),
        (heard, hall.guest.user_id),
    ]


async def test_wildcards_and_alert_words_notify(hall: Hall, changes: Changes, desk: FanoutDesk):
    await hall.make.channel("news", subscribers=[hall.member, hall.other, hall.guest])
    await hall.make.connection.execute(
        "INSERT INTO alert_words VALUES (%(realm)s, %(user)s, 'lunch')",
        realm=hall.make.realm_id,
        user=hall.guest.user_id,
    )
    await changes.send(hall.other, "news", content="I begin a topic, and follow it")
    await desk.catch_up()
    assert await desk.reasons() == {}
    await changes.send(hall.member, "news", content="@**topic** lunch?")
    await desk.catch_up()
    where_followed = "topic_wildcard_mentioned_in_followed_topic"
    assert await desk.reasons() == {
        "Other": (where_followed, where_followed),
        "Guest": ("alert_word", "alert_word"),
    }
    sent = await changes.send(hall.member, "news", content="@**all** now")
    await desk.catch_up()
    last = [each for each in await desk.noted() if each.message_id == sent]
    assert {each.user_id: each.push_reason for each in last} == {
        hall.other.user_id: "stream_wildcard_mentioned_in_followed_topic",
        hall.guest.user_id: "stream_wildcard_mentioned",
    }


async def test_bots_and_those_who_are_gone_are_not_notified(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    bot = await hall.make.user("Bot", bot_type=1)
    await changes.send(hall.member, user_ids([hall.other, hall.guest, bot]))
    await users.update_active(
        hall.make.connection, hall.make.realm_id, [hall.guest.user_id], active=False
    )
    await desk.catch_up()
    assert await desk.reasons() == {"Other": DIRECT}


async def test_no_user_of_a_closed_organization_is_notified(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await changes.send(hall.member, user_ids([hall.other]))
    await hall.make.connection.execute("UPDATE realms SET deactivated = true")
    await desk.catch_up()
    assert await desk.reasons() == {}


async def test_who_has_lost_access_or_read_it_meanwhile_is_not_notified(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    members = [hall.member, hall.other, hall.guest, hall.admin]
    await hall.make.channel("news", subscribers=members, invite_only=True)
    sent = await changes.send(hall.member, "news", content="@**all**")
    await hall.unsubscribe(hall.admin, "news", people=[hall.guest])
    await hall.stage.write(change_flag, hall.actor(hall.admin), [sent], "add", "read")
    await desk.catch_up()
    assert list(await desk.reasons()) == ["Other"]


async def test_a_deleted_message_sends_no_notification(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await hall.make.change_settings(can_delete_own_message_group="role:everyone")
    sent = await changes.send(hall.member, user_ids([hall.other]))
    jobs = await desk.shipped()
    await changes.delete(hall.member, sent)
    for job in jobs:
        await desk.handle(job)
    assert await desk.noted() == []


async def test_a_muted_sender_notifies_no_user_not_even_by_a_mention(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await hall.make.channel("news", subscribers=[hall.member, hall.other, hall.guest])
    muting = hall.actor(hall.other)
    now = hall.stage.clock.now()
    await hall.stage.write(muted_users.mute_user, muting, hall.member.user_id, now=now)
    await changes.send(hall.member, "news", content="@**Other** @**Guest**")
    await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    assert await desk.reasons() == {"Guest": MENTIONED}


# -- who is there


async def test_who_is_there_is_looked_at_again_and_notified_once_they_leave(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.want(hall.other, enable_online_push_notifications=False)
    await desk.arrive(hall.other, seconds_ago=100)
    sent = await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    assert await desk.noted() == []

    [waiting] = desk.basket.published
    [job] = desk.basket.of(MessageFanout)
    assert (waiting.after_seconds, job.again, job.look) == (
        120,
        ((hall.other.user_id, sent),),
        0,
    )
    await desk.handle(job)
    [_, waiting] = desk.basket.published
    assert (waiting.after_seconds, await desk.noted()) == (240, [])

    await desk.leave(hall.other)
    await desk.handle(desk.basket.of(MessageFanout)[-1])
    assert await desk.reasons() == {"Other": DIRECT}
    assert len(desk.basket.of(MessageFanout)) == 2


async def test_who_is_there_and_reads_it_is_not_notified(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.want(hall.other, enable_online_push_notifications=False)
    await desk.arrive(hall.other)
    sent = await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    await hall.stage.write(change_flag, hall.actor(hall.other), [sent], "add", "read")
    await desk.leave(hall.other)
    await desk.handle(desk.basket.of(MessageFanout)[0])
    assert await desk.noted() == []


async def test_pushes_reach_who_is_there_and_wants_them_and_emails_come_later(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.give_phones(hall.other)
    await desk.arrive(hall.other)
    await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    assert await desk.reasons() == {"Other": (None, "direct_message")}
    await desk.leave(hall.other)
    await desk.handle(desk.basket.of(MessageFanout)[0])
    assert await desk.reasons() == {"Other": DIRECT}
    assert len(desk.basket.of(PushNotification)) == 1
    assert len(desk.basket.of(EmailNotifications)) == 1


async def test_a_ping_says_that_a_user_is_there(hall: Hall, changes: Changes, desk: FanoutDesk):
    await desk.want(hall.other, enable_online_push_notifications=False)
    now = datetime.now(UTC)  # noqa: TID251 - the database compares it with its own clock
    for row, seconds_ago in ((hall.other, 100), (hall.admin, 150)):
        at = now - timedelta(seconds=seconds_ago)
        ping = presences.Ping(row.user_id, at, at)
        await hall.make.connection.run(presences.record(hall.make.realm_id, [ping]))
    await changes.send(hall.member, user_ids([hall.other, hall.admin]))
    await desk.catch_up()
    assert await desk.reasons() == {"Admin": DIRECT}


async def test_who_was_last_seen_some_minutes_ago_is_away(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.arrive(hall.other, seconds_ago=150)
    await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    assert await desk.reasons() == {"Other": DIRECT}


@pytest.mark.parametrize(
    ("active_ago", "seen_ago", "is_there"),
    [(10, 10, True), (600, 10, False), (600, 600, True), (100, 100, True)],
    ids=["at it", "away from the client", "silent since long ago", "a moment ago"],
)
async def test_what_clients_say_of_who_sits_there_counts_more_than_their_polls(
    hall: Hall,
    changes: Changes,
    desk: FanoutDesk,
    active_ago: int,
    seen_ago: int,
    *,
    is_there: bool,
):
    await desk.arrive(hall.other)
    await desk.want(hall.other, enable_online_push_notifications=False)
    await hall.make.connection.execute(
        """
        INSERT INTO presences (realm_id, user_id, active_at, seen_at, update_id)
        VALUES (%(realm_id)s, %(user_id)s, now() - make_interval(secs => %(active)s),
                now() - make_interval(secs => %(seen)s), 1)
        """,
        realm_id=hall.make.realm_id,
        user_id=hall.other.user_id,
        active=active_ago,
        seen=seen_ago,
    )
    await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    assert (await desk.noted() == []) is is_there


async def test_looking_ends(hall: Hall, changes: Changes, desk: FanoutDesk):
    await desk.arrive(hall.other)
    await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    for number in range(MAX_CHECKS):
        await desk.handle(desk.basket.of(MessageFanout)[number])
    assert [job.look for job in desk.basket.of(MessageFanout)] == list(range(MAX_CHECKS))
    assert max(job.after_seconds for job in desk.basket.published) < 86_400


# -- edits


async def test_an_edit_notifies_those_whom_it_mentions_anew(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await hall.make.channel("news", subscribers=hall.everyone)
    sent = await changes.send(hall.member, "news", content="@**Other**")
    await desk.catch_up()
    await hall.stage.write(change_flag, hall.actor(hall.other), [sent], "add", "read")
    await desk.catch_up()
    assert await desk.noted() == []
    await hall.stage.write(change_flag, hall.actor(hall.other), [sent], "remove", "read")

    await changes.edit(hall.member, sent, "@**Other** @**Guest**")
    await desk.catch_up()
    assert await desk.reasons() == {"Guest": MENTIONED}

    await changes.edit(hall.member, sent, "no mention")
    await desk.catch_up()
    assert list(await desk.reasons()) == ["Guest"]

    await changes.edit(hall.member, sent, "@**all**")
    await desk.catch_up()
    reasons = await desk.reasons()
    assert sorted(reasons) == ["Admin", "Guest", "Other", "Owner"]
    assert reasons["Guest"] == MENTIONED


async def test_an_edit_without_new_mentions_asks_for_nothing(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await hall.make.channel("news", subscribers=hall.everyone)
    sent = await changes.send(hall.member, "news", content="@**Other** @**all**")
    direct = await changes.send(hall.member, user_ids([hall.other]))
    await desk.shipped()
    await changes.edit(hall.member, sent, "@**all**, above all @**Other**")
    await changes.edit(hall.member, direct, "@**Other**!")
    assert await desk.shipped() == []


# -- what is handed on


async def test_each_push_is_one_job_and_each_persons_emails_are_one(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.give_phones(hall.other)
    await desk.want(hall.other, email_notifications_batching_period_seconds=600)
    first, second = [await changes.send(hall.member, user_ids([hall.other])) for _ in range(2)]
    await desk.catch_up()
    third = await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()

    pushes = desk.basket.of(PushNotification)
    assert [push.message_ids for push in pushes] == [(first,), (second,), (third,)]
    assert {push.op for push in pushes} == {"add"}
    [email] = desk.basket.of(EmailNotifications)
    assert {each.email_batch_id for each in await desk.noted()} == {email.batch_id}
    [waiting] = [job for job in desk.basket.published if job.queue == EmailNotifications.queue]
    assert 590 < waiting.after_seconds <= 600


async def test_a_batch_that_is_due_in_a_week_is_looked_at_within_a_day(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.want(hall.other, email_notifications_batching_period_seconds=7 * 86_400)
    await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    [waiting] = [job for job in desk.basket.published if job.queue == EmailNotifications.queue]
    assert waiting.after_seconds == 86_400


async def test_a_job_that_is_repeated_changes_nothing(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await changes.send(hall.member, user_ids([hall.other, hall.guest]))
    [job] = await desk.shipped()
    await desk.handle(job)
    noted, published = await desk.noted(), len(desk.basket.published)
    await desk.handle(job)
    assert (await desk.noted(), len(desk.basket.published)) == (noted, published)


async def test_what_was_decided_is_handed_on_though_the_first_one_has_died(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    class Dying:
        async def publish(self, *_jobs: Any) -> None:
            raise asyncio.CancelledError

    await desk.give_phones(hall.other)
    await changes.send(hall.member, user_ids([hall.other]))
    [job] = await desk.shipped()
    with pytest.raises(asyncio.CancelledError):
        await desk.fanout(broker=cast("Any", Dying())).handle(job)
    assert [each.push_handed for each in await desk.noted()] == [False]
    await desk.handle(job)
    assert len(desk.basket.of(PushNotification)) == len(desk.basket.of(EmailNotifications)) == 1


async def test_very_many_are_handed_on_in_pieces(hall: Hall, changes: Changes, desk: FanoutDesk):
    pieces = []

    class Counting:
        async def publish(self, *jobs: Any) -> None:
            pieces.append([job.queue for job in jobs])

    await desk.give_phones(*hall.everyone)
    await changes.send(hall.member, user_ids(hall.everyone))
    [job] = await desk.shipped()
    await desk.fanout(pairs_at_once=2, broker=cast("Any", Counting())).handle(job)
    kinds = [PushNotification.queue, EmailNotifications.queue]
    assert [[piece.count(kind) for kind in kinds] for piece in pieces] == [[2, 2], [2, 2]]
    assert all(each.push_handed for each in await desk.noted())


async def test_who_has_no_phone_gets_no_push(hall: Hall, changes: Changes, desk: FanoutDesk):
    await desk.give_phones(hall.other)
    sent = await changes.send(hall.member, user_ids([hall.other, hall.guest]))
    await desk.catch_up()
    for row in (hall.other, hall.guest):
        await hall.stage.write(change_flag, hall.actor(row), [sent], "add", "read")
    await desk.catch_up()
    pushes = [(push.user_id, push.op) for push in desk.basket.of(PushNotification)]
    assert pushes == [(hall.other.user_id, "add"), (hall.other.user_id, "remove")]


async def test_queues_without_a_processor_get_nothing(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await changes.send(hall.member, user_ids([hall.other]))
    for job in await desk.shipped():
        await desk.fanout(hands_to=frozenset()).handle(job)
    assert (await desk.reasons(), desk.basket.published) == ({"Other": DIRECT}, [])


async def test_one_message_that_fails_holds_up_no_other(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    others = [hall.other, hall.guest, hall.other]
    sent = [await changes.send(hall.member, user_ids([row])) for row in others]
    [job] = await desk.shipped()
    await desk.want(hall.guest, email_notifications_batching_period_seconds="never")
    await desk.handle(job)
    single = desk.basket.of(MessageFanout)
    assert [each.sent for each in single] == [(message_id,) for message_id in sent]
    for each in (single[0], single[2]):
        await desk.handle(each)
    with pytest.raises(msgspec.ValidationError):
        await desk.handle(single[1])
    assert [each.message_id for each in await desk.noted()] == [sent[0], sent[2]]


# -- withdrawing


async def test_what_is_read_elsewhere_is_taken_back(hall: Hall, changes: Changes, desk: FanoutDesk):
    await desk.give_phones(hall.other, hall.guest)
    sent = [await changes.send(hall.member, user_ids([hall.other, hall.guest])) for _ in range(3)]
    await desk.catch_up()
    await hall.stage.write(change_flag, hall.actor(hall.other), sent[:2], "add", "read")
    await desk.catch_up()
    left = [(each.user_id, each.message_id) for each in await desk.noted()]
    assert left == [
        *((hall.guest.user_id, message_id) for message_id in sent[:2]),
        *((row.user_id, sent[2]) for row in (hall.other, hall.guest)),
    ]
    removals = [push for push in desk.basket.of(PushNotification) if push.op == "remove"]
    assert [(push.user_id, push.message_ids) for push in removals] == [
        (hall.other.user_id, tuple(sent[:2]))
    ]


async def test_what_is_deleted_is_taken_back(hall: Hall, changes: Changes, desk: FanoutDesk):
    await hall.make.change_settings(can_delete_own_message_group="role:everyone")
    await desk.give_phones(hall.other)
    sent = await changes.send(hall.member, user_ids([hall.other]))
    kept = await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    await changes.delete(hall.member, sent)
    await desk.catch_up()
    assert [each.message_id for each in await desk.noted()] == [kept]
    assert desk.basket.of(PushNotification)[-1].message_ids == (sent,)


async def test_who_reads_very_much_is_looked_at_as_a_whole(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    sent = [await changes.send(hall.member, user_ids([hall.other])) for _ in range(101)]
    await desk.catch_up()
    await hall.stage.write(change_flag, hall.actor(hall.other), sent, "add", "read")
    [job] = await desk.shipped()
    assert (job.read, job.read_all) == ((), (hall.other.user_id,))
    await desk.handle(job)
    assert await desk.noted() == []


async def test_nothing_is_withdrawn_from_devices_that_show_nothing(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    await desk.want(hall.other, enable_offline_push_notifications=False)
    sent = await changes.send(hall.member, user_ids([hall.other]))
    await desk.catch_up()
    await hall.stage.write(change_flag, hall.actor(hall.other), [sent], "add", "read")
    await desk.catch_up()
    assert (await desk.noted(), desk.basket.of(PushNotification)) == ([], [])


async def test_flags_that_are_not_about_reading_ask_for_nothing(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    sent = await changes.send(hall.member, user_ids([hall.other]))
    await desk.shipped()
    for operation, flag in (("add", "starred"), ("add", "read"), ("remove", "read")):
        await hall.stage.write(change_flag, hall.actor(hall.other), [sent], operation, flag)
    [job] = await desk.shipped()
    assert (job.sent, job.read) == ((), ((hall.other.user_id, sent),))


# -- the few of many


async def test_sql_finds_all_who_want_something(hall: Hall, changes: Changes, desk: FanoutDesk):
    """Whatever people want of the channel and the topic: none of them is left out."""
    make, connection = hall.make, hall.make.connection
    tri = [None, True, False]
    wishes = list(itertools.product(tri, tri, [False, True], [False, True], range(4), [0, 1]))
    people = await make.users(len(wishes))
    channel = await make.channel("news", subscribers=[hall.owner, *people])
    topic = await make.topic(channel, "t")
    for row, (push, email, all_push, all_email, policy, muted) in zip(people, wishes, strict=True):
        await desk.want(
            row,
            **({"enable_stream_push_notifications": True} if all_push else {}),
            **({"enable_stream_email_notifications": True} if all_email else {}),
        )
        await connection.execute(
            """
            UPDATE subscriptions
               SET push_notifications = %(push)s, email_notifications = %(email)s,
                   is_muted = %(muted)s
             WHERE realm_id = %(realm)s AND user_id = %(user)s
            """,
            push=push,
            email=email,
            muted=bool(muted),
            realm=make.realm_id,
            user=row.user_id,
        )
        if policy:
            await connection.execute(
                """
                INSERT INTO user_topics
                VALUES (%(realm)s, %(user)s, %(topic)s, %(policy)s, now())
                """,
                realm=make.realm_id,
                user=row.user_id,
                topic=topic.topic_id,
                policy=policy,
            )
    some: list[notification_candidates.FactsRow] = []
    for content in ("hello", f"@**|{people[0].user_id}**", "@**all**"):
        sent = await changes.send(hall.owner, "news", content=content)
        some = await notification_candidates.who_may_want(
            connection, make.realm_id, [sent], limit=MAX_PAIRS
        )
        every = await notification_candidates.facts_of(
            connection, make.realm_id, [(row.user_id, sent) for row in people]
        )
        assert len(every) == len(people)
        wanting = [row for row in every if _wants(row)]
        assert wanting == [row for row in some if _wants(row)]
        assert wanting
    assert len(some) == len(people)


def _wants(row: notification_candidates.FactsRow) -> bool:
    return decide(NotificationFacts.of(row)) != NOTHING


async def test_those_who_want_nothing_are_not_even_looked_at(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    people = await hall.make.users(300)
    await hall.make.channel("news", subscribers=[hall.member, *people])
    await desk.want(people[7], enable_stream_push_notifications=True)
    sent = await changes.send(hall.member, "news")
    rows = await notification_candidates.who_may_want(
        hall.make.connection, hall.make.realm_id, [sent], limit=10
    )
    assert [row.user_id for row in rows] == [people[7].user_id]


async def test_more_people_than_one_page_holds(hall: Hall, changes: Changes, desk: FanoutDesk):
    fanout = desk.fanout(pairs_at_once=7)
    people = await hall.make.users(20)
    await hall.make.channel("news", subscribers=[hall.owner, *people])
    sent = [await changes.send(hall.owner, "news", content="@**all**") for _ in range(5)]
    for job in await desk.shipped():
        await fanout.handle(job)
    noted = {(each.user_id, each.message_id) for each in await desk.noted()}
    assert noted == set(itertools.product(user_ids(people), sent))
    for row in people:
        await hall.stage.write(change_flag, hall.actor(row), sent, "add", "read")
    for job in await desk.shipped():
        await fanout.handle(job)
    assert await desk.noted() == []


async def test_a_page_of_many_reads_no_more_than_it_holds(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    connection = hall.make.connection
    people = await hall.make.users(400)
    await hall.make.channel("news", subscribers=[hall.owner, *people])
    await hall.make.group("all of us", members=people)
    sent = await changes.send(hall.owner, "news", content="@**all** @*all of us*")
    await connection.execute("ANALYZE")
    read = """
        SELECT sum(seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables
         WHERE relname IN ('subscriptions', 'message_flags', 'users')
    """
    async with hall.stage.database.transaction() as reading:
        before = await reading.value(read)
        rows = await notification_candidates.who_may_want(
            reading, hall.make.realm_id, [sent], after=(people[20].user_id, sent), limit=5
        )
        after = await reading.value(read)
    assert [row.user_id for row in rows] == user_ids(people[21:26])
    assert after - before < 200


async def test_keeping_what_was_decided_does_not_read_what_was_decided_before(hall: Hall):
    """Also on a table that has not been analyzed since it was empty."""

    def decided(count: int, first: int) -> list[NewNotification]:
        return [
            NewNotification(
                user_id=hall.other.user_id,
                message_id=MessageId(message_id),
                email_reason="direct_message",
                push_reason=None,
                group_id=None,
                batching_seconds=120,
            )
            for message_id in range(first, first + count)
        ]

    read = """
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE relname = 'notifications'
    """
    async with hall.stage.database.transaction() as connection:
        for number in range(8):  # then the statement is prepared, and has one plan for all
            await notifications.insert(connection, hall.make.realm_id, decided(3, 10 * number))
        await notifications.insert(connection, hall.make.realm_id, decided(5_000, 1_000))
        before = await connection.value(read)
        await notifications.insert(connection, hall.make.realm_id, decided(3, 10_000))
        assert await connection.value(read) - before < 50


async def test_a_piece_of_the_log_that_is_read_again_makes_the_same_jobs(
    hall: Hall, changes: Changes, desk: FanoutDesk
):
    def entry(position: int) -> ShippableRow:
        return ShippableRow(Position(position), 1, MessageSent.kind, b"", b"")

    def keys(count: int) -> list[str]:
        notes = fanout_translation.Notes(hall.make.realm_id)
        for position in range(1, count + 1):
            notes.add(entry(position))
        return [job.key for job in notes.jobs()]

    size = fanout_translation.MAX_MESSAGES_PER_JOB
    short, again, longer = keys(size + 10), keys(size + 10), keys(size + 20)
    assert short == again
    assert longer[0] == short[0]
    assert longer[1] != short[1]


async def test_many_sends_are_few_jobs(hall: Hall, changes: Changes, desk: FanoutDesk, monkeypatch):
    monkeypatch.setattr(fanout_translation, "MAX_MESSAGES_PER_JOB", 50)
    for _ in range(120):
        await changes.send(hall.member, user_ids([hall.member]))
    assert [len(job.sent) for job in await desk.shipped()] == [50, 50, 20]


# -- with a broker


async def test_through_the_log_the_shipper_and_a_broker(
    hall: Hall, changes: Changes, place: Place, desk: FanoutDesk
):
    await desk.give_phones(hall.other)
    sent: MessageId = await changes.send(hall.member, user_ids([hall.other]))
    processor = message_fanout.processor(PushNotification)
    async with place.open() as broker:
        app = cast("App", _Parts(hall.stage.database, hall.stage.realm_caches, broker))
        shipper = Shipper(hall.stage.database, through(broker))
        working = [
            asyncio.create_task(shipper.run()),
            asyncio.create_task(processor.run(app, broker)),
        ]
        try:
            async with (
                asyncio.timeout(60),
                broker.consume(PushNotification.queue, prefetch=1) as deliveries,
            ):
                delivery = await anext(deliveries)
                push = msgspec.json.decode(delivery.body, type=PushNotification)
                await delivery.ack()
                assert (push.user_id, push.message_ids) == (hall.other.user_id, (sent,))
                await hall.stage.write(change_flag, hall.actor(hall.other), [sent], "add", "read")
                delivery = await anext(deliveries)
                push = msgspec.json.decode(delivery.body, type=PushNotification)
                await delivery.ack()
                assert (push.op, push.message_ids) == ("remove", (sent,))
        finally:
            for task in working:
                task.cancel()
            await asyncio.gather(*working, return_exceptions=True)


class _Parts:
    """What the processor needs of an App."""

    def __init__(self, database: Any, realm_caches: Any, jobs: Any) -> None:
        self.database = database
        self.realm_caches = realm_caches
        self.jobs = jobs
        self.push_kinds = frozenset({"fcm"})
