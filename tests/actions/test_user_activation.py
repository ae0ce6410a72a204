"""Accounts are closed and opened again, and the right ones hear of it."""

import asyncio

import msgspec
import pytest

from server.actions.credential_changes import Proof
from server.actions.user_activation import (
    deactivate_as_administrator,
    deactivate_own,
    deactivate_user,
    reactivate_as_administrator,
    reactivate_user,
)
from server.domain.access import GUEST, OWNER
from server.domain.account_news import Deactivated
from server.domain.errors import BadRequestError, CannotDeactivateLastUserError
from server.jobs import AccountEmail
from storage import (
    audit_log,
    event_queues,
    presences,
    subscription_spans,
    user_status,
    users,
)
from storage.ids import QueueId, UserId
from storage.user_status import UserStatusRow

pytestmark = pytest.mark.asyncio


async def close(hall, user_id):
    now = hall.stage.clock.now()
    writer = hall.stage.writers.of(hall.make.realm_id)
    await writer.write(lambda tx: deactivate_user(tx, UserId(user_id), by=None, now=now))


async def reopen(hall, user_id):
    now = hall.stage.clock.now()
    writer = hall.stage.writers.of(hall.make.realm_id)
    await writer.write(lambda tx: reactivate_user(tx, UserId(user_id), by=None, now=now))


async def close_as(hall, actor, row, comment=None):
    now = hall.stage.clock.now()
    await hall.stage.run(
        deactivate_as_administrator, hall.actor(actor), row.user_id, comment=comment, now=now
    )


async def reopen_as(hall, actor, row):
    now = hall.stage.clock.now()
    await hall.stage.run(reactivate_as_administrator, hall.actor(actor), row.user_id, now=now)


async def row_of(hall, user_id):
    [row] = await users.by_ids(hall.make.connection, hall.make.realm_id, [user_id])
    return row


async def test_who_leaves_is_a_deactivated_user_to_everyone(hall, make, witnesses):
    cook = await make.user("Cook")
    group_id = await make.group("cooks", members=[cook])
    watching = hall.everyone

    seen = await witnesses.watch(lambda: close(hall, cook.user_id), watching)

    assert not (await row_of(hall, cook.user_id)).is_active
    for witness in seen:
        [change] = [e["person"] for e in witness.events if e["type"] == "realm_user"]
        assert change == {"user_id": cook.user_id, "is_active": False}
        assert group_id in {e.get("group_id") for e in witness.events}


async def test_bots_leave_with_their_owner(hall, make, witnesses):
    cook = await make.user("Cook")
    bot = await make.user("Oven", bot_type=1, bot_owner=cook)

    await witnesses.watch(lambda: close(hall, cook.user_id), [hall.owner])

    assert not (await row_of(hall, bot.user_id)).is_active


async def test_event_queues_end_when_their_user_leaves(hall, make):
    cook = await make.user()
    await event_queues.insert(
        make.connection,
        make.realm_id,
        [event_queues.NewQueue(QueueId("queue"), cook.user_id, {}, 600)],
    )

    await close(hall, cook.user_id)

    assert await event_queues.live(make.connection, make.realm_id, [QueueId("queue")]) == []
    [ended] = hall.told("queues_ended")
    assert ended.event.ended_queues() == (cook.user_id,)


async def test_others_no_longer_see_them_as_subscribers(hall, make):
    cook = await make.user()
    channel = await make.channel(subscribers=[cook, hall.member])

    await close(hall, cook.user_id)

    [gone] = hall.told("subscription/peer_remove")
    assert (gone.event.stream_ids, gone.event.user_ids) == ([channel.channel_id], [cook.user_id])
    assert (await make.again(channel)).subscriber_count == 1


async def test_the_only_owner_stays(hall, make):
    with pytest.raises(BadRequestError, match="only organization owner"):
        await close(hall, hall.owner.user_id)

    await make.user(role=OWNER)
    await close(hall, hall.owner.user_id)


async def test_an_unknown_user_cannot_be_deactivated(hall):
    with pytest.raises(BadRequestError, match="No such user"):
        await close(hall, 999_999_999)


async def test_leaving_twice_is_leaving_once(hall, make):
    cook = await make.user(is_active=False)

    await close(hall, cook.user_id)

    assert hall.stage.happened == []


async def cook_and_bot(hall, make):
    """With all that one can have: channels, groups, a status, a presence, a bot."""
    cook = await make.user("Cook")
    status = UserStatusRow(cook.user_id, False, "In a car", "car", "1f697", "unicode_emoji")
    await user_status.put(make.connection, make.realm_id, status)
    now = hall.stage.clock.now()
    await presences.arrive(make.connection, make.realm_id, cook.user_id, now=now)
    bot = await make.user("Oven", bot_type=1, bot_owner=cook)
    await make.group("cooks", members=[cook, hall.member])
    await make.group("closed", members=[cook], deactivated=True)
    for terms in ({}, {"invite_only": True}, {"is_archived": True}):
        await make.channel(subscribers=[cook, hall.member, hall.guest, bot], **terms)
    return cook, bot


@pytest.mark.parametrize("shy", [False, True])
async def test_a_reactivated_user_is_there_again_for_all(hall, make, witnesses, shy):
    if shy:
        groups = await make.role_groups()
        await make.change_settings(can_access_all_users_group=groups["role:members"])
    cook, bot = await cook_and_bot(hall, make)
    stranger = await make.user(role=GUEST)
    watching = [*hall.everyone, stranger]

    await witnesses.watch(lambda: close(hall, cook.user_id), watching)
    gone = await row_of(hall, cook.user_id)
    seen = await witnesses.watch(lambda: reopen(hall, cook.user_id), watching)

    said = [[e for e in each.events if e["type"] == "user_status"] for each in seen]
    knows = [not shy or each.user.role != GUEST or each.user == hall.guest for each in seen]
    assert [len(events) for events in said] == knows
    assert said[0][0].items() >= {"status_text": "In a car", "emoji_name": "car"}.items()
    back = await row_of(hall, cook.user_id)
    assert (gone.is_active, back.is_active) == (False, True)
    assert back.role == cook.role
    assert len({cook.api_key, gone.api_key}) == 2
    assert back.api_key == gone.api_key
    assert not (await row_of(hall, bot.user_id)).is_active
    assert (await row_of(hall, bot.user_id)).api_key != bot.api_key


async def test_nothing_is_received_by_who_is_not_there(hall, make):
    cook = await make.user()
    channel = await make.channel(subscribers=[cook, hall.member])
    topic = await make.topic(channel, "soup")
    before = await make.message(hall.member, topic)
    await close(hall, cook.user_id)
    meanwhile = await make.message(hall.member, topic)
    await reopen(hall, cook.user_id)
    after = await make.message(hall.member, topic)

    spans = await subscription_spans.of_users(make.connection, make.realm_id, [cook.user_id])
    received = {
        message_id
        for message_id in (before, meanwhile, after)
        for span in spans
        if span.first <= message_id and (span.last is None or message_id <= span.last)
    }
    assert received == {before, after}
    assert (await make.again(channel)).subscriber_count == 2
    assert set(await hall.subscribers(channel)) == {cook.user_id, hall.member.user_id}


@pytest.mark.parametrize(
    ("actor", "user", "match"),
    [
        ("member", "other", "administrator"),
        ("guest", "guest", "administrator"),
        ("admin", "owner", "Must be an organization owner"),
        ("owner", "owner", "only organization owner"),
    ],
)
async def test_who_may_not_close_an_account_does_not(hall, actor, user, match):
    with pytest.raises(BadRequestError, match=match):
        await close_as(hall, getattr(hall, actor), getattr(hall, user))
    assert hall.stage.happened == []


@pytest.mark.parametrize("action", [close_as, reopen_as])
async def test_only_owners_change_owners_and_system_bots_are_fixed(hall, make, action):
    gone = await make.user(role=OWNER, is_active=False)
    with pytest.raises(BadRequestError, match="Must be an organization owner"):
        await action(hall, hall.admin, gone)
    with pytest.raises(BadRequestError, match="No such user"):
        await action(hall, hall.owner, await make.notification_bot())


async def test_who_is_there_does_not_come_back(hall):
    with pytest.raises(BadRequestError, match="already active"):
        await reopen_as(hall, hall.admin, hall.member)


async def test_a_bot_is_not_the_owner_who_stays(hall, make):
    await make.user(role=OWNER, bot_type=1, bot_owner=hall.member)
    with pytest.raises(BadRequestError, match="only organization owner"):
        await close_as(hall, hall.owner, hall.owner)


async def test_two_owners_do_not_close_each_other_s_accounts(hall, make):
    other = await make.user(role=OWNER)
    answers = await asyncio.gather(
        close_as(hall, hall.owner, other), close_as(hall, other, hall.owner), return_exceptions=True
    )
    assert [each is None for each in answers].count(True) == 1


async def test_a_bot_of_a_deactivated_owner_goes_to_who_reactivates_it(hall, make, witnesses):
    cook = await make.user()
    bot = await make.user("Oven", bot_type=1, bot_owner=cook)
    await close(hall, cook.user_id)

    await witnesses.watch(lambda: reopen_as(hall, hall.admin, bot), hall.everyone)

    row = await row_of(hall, bot.user_id)
    assert (row.is_active, row.bot_owner_id) == (True, hall.admin.user_id)


async def test_a_bot_stays_its_owner_s(hall, make):
    bot = await make.user(bot_type=1, bot_owner=hall.member, is_active=False)
    await reopen_as(hall, hall.admin, bot)
    assert (await row_of(hall, bot.user_id)).bot_owner_id == hall.member.user_id


async def test_names_are_looked_at_again(hall, make):
    bot = await make.user("Oven", bot_type=1, bot_owner=hall.member, is_active=False)
    cook = await make.user("oven")
    with pytest.raises(BadRequestError, match="already in use"):
        await reopen_as(hall, hall.admin, bot)
    await close(hall, cook.user_id)
    await reopen_as(hall, hall.admin, bot)
    await make.change_settings(require_unique_names=True)
    with pytest.raises(BadRequestError, match="Unique names"):
        await reopen_as(hall, hall.admin, cook)


@pytest.mark.parametrize("comment", [None, "", " Thank you for the soup. "])
async def test_a_comment_even_an_empty_one_is_mailed(hall, make, comment):
    cook = await make.user("Cook", email="cook@example.com")
    await close_as(hall, hall.admin, cook, comment)
    mails = [
        msgspec.json.decode(each.event.job, type=AccountEmail)
        for each in hall.told("job")
        if each.event.queue == "account_emails"
    ]
    told = [(mail.user_id, mail.address, mail.full_name, mail.news) for mail in mails]
    news = Deactivated(comment=(comment or "").strip())
    assert told == ([] if comment is None else [(cook.user_id, "", "", news)])
    await close_as(hall, hall.admin, cook, comment)
    assert hall.stage.happened == []


async def test_bots_get_no_mail(hall, make):
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    await close_as(hall, hall.admin, bot, "x")
    assert hall.told("job") == []


async def test_one_closes_one_s_own_account(hall):
    now = hall.stage.clock.now()
    await hall.stage.run(deactivate_own, hall.actor(hall.member), Proof(None), now=now)
    assert not (await row_of(hall, hall.member.user_id)).is_active
    with pytest.raises(CannotDeactivateLastUserError) as refusal:
        await hall.stage.run(deactivate_own, hall.actor(hall.owner), Proof(None), now=now)
    assert refusal.value.details == {"entity": "organization owner", "is_last_owner": True}


async def test_who_did_it_is_kept(hall, make):
    cook = await make.user()
    await close_as(hall, hall.admin, cook)
    await reopen_as(hall, hall.admin, cook)
    rows = await audit_log.newest(make.connection, make.realm_id, limit=10)
    assert [(row.action, row.actor_id, row.subject_id) for row in rows] == [
        ("user_reactivated", hall.admin.user_id, cook.user_id),
        ("user_deactivated", hall.admin.user_id, cook.user_id),
    ]
