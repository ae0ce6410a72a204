"""Subscribing many goes in steps; a resumed job does each once, and tells of it once."""

import asyncio
from html import escape

import msgspec
import pytest
import pytest_asyncio

from queue_processors.deferred_work import KINDS
from server.actions.locked_realm import PEOPLE_IN_BATCH
from server.actions.stepped_work import Finish, finish, take_step
from server.actions.subscriptions.steps import SUBSCRIBING, people_per_step
from server.domain.channels import COLORS
from server.jobs import DeferredWork
from storage import audit_log, stepped_work, subscription_spans, subscriptions, users
from testkit.factories import user_ids

pytestmark = pytest.mark.asyncio

FEW = 5


async def begin(hall, *names, people, **request):
    """Subscribe the first of them; the work that is left."""
    done = await hall.subscribe(hall.member, *names, people=people, pairs_per_step=FEW, **request)
    return done.work_id


async def go_on(hall, work_id):
    await finish(hall.realm_services(), SUBSCRIBING, work_id, size=FEW)


async def left(hall):
    return await hall.make.connection.value("SELECT count(*) FROM stepped_work")


async def joined(hall):
    """Who was subscribed by entries since the last `run`, in order."""
    return [u for each in hall.told("subscription/add") for u in each.event.user_ids]


async def test_each_step_subscribes_some_and_the_last_leaves_nothing(hall, witnesses):
    people = await hall.make.users(12)

    async def change():
        work_id = await begin(hall, "plans", people=people)
        assert len(await joined(hall)) == FEW
        await go_on(hall, work_id)

    await witnesses.watch(change, [hall.owner, people[0], people[-1], hall.guest])

    assert await joined(hall) == user_ids(people)
    assert [len(each.event.user_ids) for each in hall.told("subscription/peer_add")] == [5, 5, 2]
    assert await left(hall) == 0


@pytest_asyncio.fixture
async def updates_refused(make):
    """No transaction may change a row of a subscription that is there."""
    await make.connection.execute(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'written twice'; END $$
        """
    )
    await make.connection.execute(
        """
        CREATE TRIGGER once BEFORE UPDATE ON subscriptions
           FOR EACH ROW EXECUTE FUNCTION refuse()
        """
    )
    yield
    await make.connection.execute("DROP FUNCTION refuse CASCADE")


@pytest.mark.usefixtures("updates_refused")
async def test_the_subscriptions_of_many_are_written_once(hall):
    people = await hall.make.users(PEOPLE_IN_BATCH + 1)
    done = await hall.subscribe(hall.member, "plans", "tasks", people=people, pairs_per_step=40)
    await finish(hall.realm_services(), SUBSCRIBING, done.work_id, size=40)

    for channel in done.created:
        rows = await subscriptions.active_in(
            hall.make.connection, hall.make.realm_id, channel.channel_id
        )
        assert [row.user_id for row in rows] == user_ids(people)
        assert {row.color for row in rows} == {COLORS[channel.channel_id % len(COLORS)]}


async def audited(hall, action):
    """Who did that to which channel, with which users, in order."""
    rows = await audit_log.newest(
        hall.make.connection, hall.make.realm_id, limit=100, action=action
    )
    return [(row.actor_id, row.subject_id, row.after["user_ids"]) for row in reversed(rows)]


async def test_who_has_subscribed_whom_to_what_is_kept(hall):
    people = await hall.make.users(7)
    done = await hall.subscribe(
        hall.member, "plans", "tasks", people=people, pairs_per_step=FEW * 2
    )
    await finish(hall.realm_services(), SUBSCRIBING, done.work_id, size=FEW * 2)

    ids = [channel.channel_id for channel in done.created]
    by = hall.member.user_id
    steps = user_ids(people[:FEW]), user_ids(people[FEW:])
    assert await audited(hall, "subscribers_added") == [
        (by, channel_id, some) for some in steps for channel_id in ids
    ]

    await hall.unsubscribe(hall.admin, "plans", "tasks", people=people[:2])
    assert await audited(hall, "subscribers_removed") == [
        (hall.admin.user_id, channel_id, user_ids(people[:2])) for channel_id in ids
    ]


async def test_nothing_is_kept_of_who_is_there_already(hall):
    await hall.subscribe(hall.member, "plans")
    await hall.subscribe(hall.member, "plans")
    assert len(await audited(hall, "subscribers_added")) == 1


async def test_returning_subscribers_among_many_find_their_settings(hall, witnesses):
    people = await hall.make.users(PEOPLE_IN_BATCH + 1)
    plans = await hall.make.channel("plans", subscribers=people[:1])
    await hall.make.connection.execute(
        "UPDATE subscriptions SET is_muted = true, color = '#123456'"
    )
    await hall.make.unsubscribe(plans, people[:1])

    [there, *_] = await witnesses.watch(
        lambda: hall.subscribe(hall.member, "plans", people=people), [people[0], hall.guest]
    )

    [joined] = [e for e in there.events if e["type"] == "subscription" and e["op"] == "add"]
    [shown] = joined["subscriptions"]
    assert (shown["is_muted"], shown["color"]) == (True, "#123456")
    assert shown["subscribers"] == user_ids(people)
    spans = await subscription_spans.of_users(
        hall.make.connection, hall.make.realm_id, [people[0].user_id]
    )
    assert len(spans) == 2


async def test_the_job_finishes_what_its_process_left(hall):
    people = await hall.make.users(12)
    work_id = await begin(hall, "plans", people=people)

    [job] = [each.event for each in hall.stage.happened if each.event.kind == "job"]
    payload = msgspec.json.decode(job.job, type=DeferredWork)
    assert job.after_seconds >= 10
    assert payload.step in KINDS
    arguments = msgspec.json.decode(payload.arguments, type=Finish)
    assert (payload.realm_id, arguments.work_id) == (hall.make.realm_id, work_id)
    await go_on(hall, arguments.work_id)
    await go_on(hall, arguments.work_id)

    assert await joined(hall) == user_ids(people)


async def test_two_who_go_on_at_once_do_it_once(hall):
    people = await hall.make.users(40)
    work_id = await begin(hall, "plans", people=people)

    await asyncio.gather(*(go_on(hall, work_id) for _ in range(3)))

    assert sorted(await joined(hall)) == user_ids(people)
    assert await left(hall) == 0


async def test_who_has_left_meanwhile_is_not_brought_back(hall):
    people = await hall.make.users(8)
    work_id = await begin(hall, "plans", people=people)
    await hall.unsubscribe(people[0], "plans")

    await go_on(hall, work_id)

    rows = await subscriptions.of_users(hall.make.connection, hall.make.realm_id, user_ids(people))
    assert {row.user_id for row in rows if not row.active} == {people[0].user_id}


async def test_who_was_deactivated_meanwhile_is_passed_over(hall):
    people = await hall.make.users(8)
    work_id = await begin(hall, "plans", people=people)
    gone = people[-1].user_id
    await users.update_active(hall.make.connection, hall.make.realm_id, [gone], active=False)

    await go_on(hall, work_id)

    assert gone not in await joined(hall)
    assert await left(hall) == 0


async def test_who_may_no_longer_add_people_adds_no_more(hall, make):
    await make.channel("plans", subscribers=[hall.member])
    people = await make.users(8)
    work_id = await begin(hall, "plans", people=people)
    nobody = (await make.role_groups())["role:nobody"]
    await make.connection.execute(
        "UPDATE realms SET settings = jsonb_build_object('can_add_subscribers_group', %(id)s::int)",
        id=nobody,
    )

    await go_on(hall, work_id)

    assert len(await joined(hall)) == FEW
    assert await left(hall) == 0


async def test_who_makes_a_private_channel_for_others_need_not_be_in_it(hall):
    people = await hall.make.users(8)

    work_id = await begin(hall, "secret", people=people, invite_only=True)
    await go_on(hall, work_id)

    assert sorted(await joined(hall)) == user_ids(people)


async def test_work_that_is_done_is_found_done(hall):
    tx_result = await hall.stage.writers.of(hall.make.realm_id).write(
        lambda tx: take_step(
            tx,
            SUBSCRIBING,
            "00000000-0000-0000-0000-000000000000",
            FEW,
            now=hall.stage.clock.now(),
        )
    )
    assert tx_result is False


async def test_steps_have_a_bound():
    assert people_per_step(1, 500) == 500
    assert people_per_step(3, 500) == 166
    assert people_per_step(1000, 500) == 1


# -- what people are told in messages


async def contents(hall):
    return await hall.make.connection.values("SELECT content FROM messages ORDER BY id")


async def links(hall, *names):
    ids = dict(await hall.make.connection.tuples("SELECT name, channel_id FROM channels"))
    return [rf"[\#{name}](/#narrow/channel/{ids[name]}-{name})" for name in names]


async def test_people_are_told_once_that_a_user_subscribed_them(hall):
    await hall.make.notification_bot()
    bot = await hall.make.user(bot_type=1)
    people = [hall.other, hall.member, bot]
    work_id = await begin(hall, "plans", "more", people=people, notify=True)

    for _ in range(2):
        await go_on(hall, work_id)

    [content] = await contents(hall)
    mention = f"@_**Member|{hall.member.user_id}**"
    plans, more = await links(hall, "plans", "more")
    assert content == (
        f"{mention} subscribed you to the following channels:\n\n* {plans}\n* {more}"
    )


@pytest.mark.parametrize("name", ["x** @**all** y", "@*cooks* `", "[x] $$ <b>"])
async def test_a_name_is_never_markdown(hall, name):
    await hall.make.notification_bot()
    await hall.make.group("cooks", members=[hall.other])
    work_id = await begin(hall, name, people=[hall.other], notify=True)

    await go_on(hall, work_id)

    [html] = await hall.make.connection.values("SELECT rendered_content FROM messages")
    assert f">#{escape(name, quote=False)}</a>." in html
    assert "group-mention" not in html


async def test_a_list_of_channels_never_outgrows_its_message(hall):
    await hall.make.notification_bot()
    names = ["\N{GRINNING FACE}" * 50 + str(number) for number in range(30)]
    work_id = await begin(hall, *names, people=[hall.other], notify=True)

    await go_on(hall, work_id)

    [content] = await contents(hall)
    listed = content.splitlines()[2:]
    assert listed[-1] == f"* {30 - len(listed) + 1} more"
    assert len(listed) > 10


async def test_a_letter_that_was_sent_is_not_sent_again(hall):
    await hall.make.notification_bot()
    work_id = await begin(hall, "plans", people=[hall.other], notify=True)
    work = await stepped_work.by_id(hall.make.connection, hall.make.realm_id, work_id)
    assert work is not None
    await go_on(hall, work_id)

    # The process died after sending and before it said so.
    await stepped_work.insert(hall.make.connection, hall.make.realm_id, work)
    await go_on(hall, work_id)

    assert len(await contents(hall)) == 1
    assert await left(hall) == 0


async def test_users_are_not_told_what_they_did_themselves_or_knew(hall):
    await hall.make.notification_bot()
    await hall.make.channel("plans", subscribers=[hall.other])

    done = await hall.subscribe(hall.member, "plans", notify=True)
    assert done.work_id is None
    done = await hall.subscribe(hall.member, "plans", people=[hall.other], notify=True)
    assert done.work_id is None


async def test_new_channels_are_announced_in_the_place_for_that(hall, make):
    await make.notification_bot()
    place = await make.channel("news")
    await make.connection.execute(
        "UPDATE realms SET settings = jsonb_build_object("
        "'new_stream_announcements_stream_id', %(id)s::int)",
        id=place.channel_id,
    )
    await go_on(hall, await begin(hall, "one", "two", people=None, announce=True))

    mention = f"@_**Member|{hall.member.user_id}**"
    one, two = await links(hall, "one", "two")
    assert await contents(hall) == [f"{mention} created the following new channels: {one}, {two}."]
    done = await hall.subscribe(hall.member, "secret", announce=True, invite_only=True)
    assert done.work_id is None


async def test_without_such_a_place_the_channel_itself_says_who_made_it(hall, make):
    await make.notification_bot()

    await go_on(hall, await begin(hall, "one", people=None, announce=True))

    assert await contents(hall) == [f"@_**Member|{hall.member.user_id}** created this channel."]
