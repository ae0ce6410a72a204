"""Unsubscribing: who may, what comes of it, and who is told."""

import asyncio

import pytest

from server.actions.channels.create import ChannelSpec
from server.actions.message_flags import change_flag
from server.actions.subscriptions.subscribe import SubscriptionRequest, subscribe
from server.actions.subscriptions.unsubscribe import unsubscribe
from server.actions.user_topics import change_policy
from server.domain.errors import BadRequestError, ChannelDoesNotExistError
from storage import read_state, subscription_spans
from testkit.factories import user_ids

pytestmark = pytest.mark.asyncio


async def test_who_leaves_is_told_and_so_are_those_who_see_the_channel(hall, witnesses):
    channel = await hall.make.channel("plans", subscribers=[hall.member, hall.other, hall.guest])

    async def change():
        done = await hall.unsubscribe(hall.member, "PLANS")
        assert (done.removed, done.not_removed) == (["plans"], [])

    seen = await witnesses.watch(change, hall.everyone)

    by_user = {each.user.user_id: [e["op"] for e in each.events] for each in seen}
    assert by_user == {
        hall.owner.user_id: ["peer_remove"],
        hall.admin.user_id: ["peer_remove"],
        hall.member.user_id: ["remove", "peer_remove"],
        hall.other.user_id: ["peer_remove"],
        hall.guest.user_id: ["peer_remove"],
    }
    assert (await hall.make.again(channel)).subscriber_count == 2


async def test_a_span_ends_with_its_position(hall):
    await hall.make.channel("plans", subscribers=[hall.member])

    await hall.unsubscribe(hall.member, "plans")

    [removed] = hall.told("subscription/remove")
    [span] = await subscription_spans.of_users(
        hall.make.connection, hall.make.realm_id, [hall.member.user_id]
    )
    assert span.last == removed.position


async def test_a_user_who_may_no_longer_know_of_a_channel_loses_it(hall, witnesses):
    await hall.make.channel("secret", invite_only=True, subscribers=[hall.member, hall.admin])
    await hall.make.channel("plans", subscribers=[hall.guest, hall.member])

    async def change():
        await hall.unsubscribe(hall.member, "secret", "plans")

    seen = await witnesses.watch(change, hall.everyone)
    told = {each.user.user_id: [e["op"] for e in each.events] for each in seen}
    assert told[hall.member.user_id] == ["remove", "delete", "peer_remove"]
    assert told[hall.other.user_id] == ["peer_remove"]
    assert told[hall.guest.user_id] == ["peer_remove"]

    await witnesses.watch(lambda: hall.unsubscribe(hall.guest, "plans"), hall.everyone)
    await witnesses.watch(lambda: hall.unsubscribe(hall.admin, "secret"), hall.everyone)


async def test_several_people_are_removed_at_once(hall, witnesses):
    people = [hall.member, hall.other, hall.guest]
    await hall.make.channel("plans", subscribers=people)
    await hall.make.channel("secret", invite_only=True, subscribers=[hall.member, hall.guest])

    async def change():
        done = await hall.unsubscribe(hall.admin, "plans", "secret", people=people)
        assert done.removed == ["plans", "secret"]
        assert done.not_removed == ["secret"]

    await witnesses.watch(change, hall.everyone)


@pytest.mark.parametrize("terms", [{}, {"invite_only": True, "shares_history": False}])
async def test_who_leaves_has_read_the_channel(hall, witnesses, terms):
    leavers = [hall.member, hall.guest]
    channel = await hall.make.channel("plans", subscribers=[*leavers, hall.other], **terms)
    kept = await hall.make.channel("other", subscribers=leavers)
    topic = await hall.make.topic(channel, "t")
    ids = [await hall.make.message(hall.other, topic) for _ in range(2)]
    elsewhere = await hall.make.message(hall.other, await hall.make.topic(kept, "t"))

    async def change():
        await hall.unsubscribe(hall.admin, "plans", people=leavers)

    if terms:
        await hall.make.subscribe(channel, [hall.admin])
    await witnesses.watch(change, hall.everyone)

    told = [
        (each.audience.users, each.event.op, each.event.flag, each.event.messages)
        for each in hall.told("update_message_flags")
    ]
    assert told == [((person.user_id,), "add", "read", tuple(ids)) for person in leavers]

    await hall.subscribe(hall.admin, "plans", people=leavers)
    for person in leavers:
        found = await read_state.unread(hall.make.connection, hall.make.realm_id, person.user_id)
        assert [each.message_ids for each in found.conversations] == [[elsewhere]]


@pytest.mark.parametrize("shares_history", [True, False])
async def test_who_may_not_read_on_loses_their_stars_and_topics_until_they_are_back(
    hall, changes, witnesses, shares_history
):
    people = [hall.admin, hall.member, hall.other]
    channel = await hall.make.channel(
        "plans", invite_only=True, shares_history=shares_history, subscribers=people
    )
    await hall.make.channel("open", subscribers=people)
    sent, kept = [await changes.send(hall.other, name) for name in ("plans", "open")]
    now = hall.stage.clock.now()
    for row in people:
        await hall.stage.write(change_flag, hall.actor(row), [sent, kept], "add", "starred")
        for topic, policy in (("T", 3), ("", 1)):
            wanted = (channel.channel_id, topic, policy)
            await hall.stage.write(change_policy, hall.actor(row), *wanted, now=now)
    leavers = people[:2]

    seen = await witnesses.watch(
        lambda: hall.unsubscribe(hall.admin, "plans", people=leavers), hall.everyone
    )

    stars = [e for e in hall.told("update_message_flags") if e.event.flag == "starred"]
    assert [(e.audience.users, e.event.op, e.event.messages) for e in stars] == [
        ((row.user_id,), "remove", (sent,)) for row in leavers
    ]
    topics = [(w.user.user_id, e) for w in seen for e in w.events if e["type"] == "user_topic"]
    assert {user_id for user_id, _ in topics} == {hall.admin.user_id}  # who still knows of it
    assert {e["visibility_policy"] for _, e in topics} == {0}
    muted = hall.told("muted_topics")
    assert [len(e.event.muted_topics) for e in muted] == [0] * 2

    await witnesses.watch(
        lambda: hall.subscribe(hall.other, "plans", people=leavers), hall.everyone
    )
    stars = [e for e in hall.told("update_message_flags") if e.event.flag == "starred"]
    assert [e.event.op for e in stars] == ["add"] * 2


async def test_guests_lose_their_stars_with_a_public_channel_and_others_do_not(
    hall, changes, witnesses
):
    await hall.make.channel("plans", subscribers=[hall.guest, hall.member, hall.other])
    sent = await changes.send(hall.other, "plans")
    leavers = [hall.guest, hall.member]
    for row in leavers:
        await hall.stage.write(change_flag, hall.actor(row), [sent], "add", "starred")

    await witnesses.watch(
        lambda: hall.unsubscribe(hall.admin, "plans", people=leavers), hall.everyone
    )

    stars = [e for e in hall.told("update_message_flags") if e.event.flag == "starred"]
    assert [e.audience.users for e in stars] == [(hall.guest.user_id,)]


async def test_who_has_read_a_channel_is_told_nothing_of_it_when_leaving(hall, witnesses):
    channel = await hall.make.channel("plans", subscribers=[hall.member, hall.other])
    message_id = await hall.make.message(hall.other, await hall.make.topic(channel, "t"))
    await hall.stage.run(change_flag, hall.actor(hall.member), [message_id], "add", "read")

    await witnesses.watch(lambda: hall.unsubscribe(hall.member, "plans"), [hall.member])

    assert hall.told("update_message_flags") == []


async def test_who_is_not_there_is_not_removed(hall):
    await hall.make.channel("plans")

    done = await hall.unsubscribe(hall.member, "plans")

    assert (done.removed, done.not_removed) == ([], ["plans"])
    assert hall.stage.happened == []


async def test_who_was_there_once_may_ask_again(hall):
    await hall.make.channel("secret", invite_only=True, subscribers=[hall.member])
    await hall.unsubscribe(hall.member, "secret")

    done = await hall.unsubscribe(hall.member, "secret")

    assert done.not_removed == ["secret"]


async def test_what_one_may_not_know_of_does_not_exist(hall):
    await hall.make.channel("Secret", invite_only=True, subscribers=[hall.member])

    for name in ("secret", "nothing"):
        with pytest.raises(ChannelDoesNotExistError) as raised:
            await hall.unsubscribe(hall.other, name)
        assert raised.value.details == {"stream": name}
        with pytest.raises(ChannelDoesNotExistError):
            await hall.unsubscribe(hall.other, name, people=[hall.member])


async def test_others_are_removed_only_by_those_who_may(hall, make):
    everyone = (await make.role_groups())["role:everyone"]
    await make.channel("plans", subscribers=[hall.other, hall.guest])
    await make.channel("mine", creator=hall.member, subscribers=[hall.other])
    await make.channel("free", can_remove_subscribers_group=everyone, subscribers=[hall.other])

    for actor in (hall.member, hall.guest):
        with pytest.raises(BadRequestError, match="Insufficient permission"):
            await hall.unsubscribe(actor, "plans", people=[hall.other])
    for actor, name in ((hall.admin, "plans"), (hall.member, "mine"), (hall.member, "free")):
        done = await hall.unsubscribe(actor, name, people=[hall.other])
        assert done.removed == [name]


async def test_an_unknown_or_deactivated_principal_stops_everything(hall):
    gone = await hall.make.user(is_active=False)
    await hall.make.channel("plans", subscribers=[hall.other])

    for principals in ([hall.other.user_id, gone.user_id], [hall.other.user_id, 10**9]):
        with pytest.raises(BadRequestError):
            await hall.stage.run(unsubscribe, hall.actor(hall.admin), ["plans"], principals)
    assert hall.stage.happened == []


async def test_joining_and_leaving_at_once_ends_as_the_log_says(hall):
    people = [hall.admin, hall.member, hall.other]
    channel = await hall.make.channel("plans", subscribers=[hall.owner])
    request = SubscriptionRequest(wanted=[ChannelSpec("plans")])
    hall.stage.happened.clear()

    await asyncio.gather(
        *(
            hall.stage.write(subscribe, hall.actor(row), request, web_public_enabled=False)
            if turn % 2 == 0
            else hall.stage.write(unsubscribe, hall.actor(row), ["plans"])
            for turn in range(9)
            for row in people
        )
    )

    there = {hall.owner.user_id}
    for each in hall.stage.happened:
        for user_id, _, joined in each.event.membership():
            assert joined == (user_id not in there), "each entry changes something"
            (there.add if joined else there.remove)(user_id)
    assert await hall.subscribers(channel) == sorted(there)
    assert (await hall.make.again(channel)).subscriber_count == len(there)
    assert user_ids(people)


async def test_owners_take_their_own_bots_away(hall, make):
    bot = await make.user(bot_type=1, bot_owner=hall.member)
    strange = await make.user(bot_type=1, bot_owner=hall.other)
    await hall.make.channel("plans", subscribers=[hall.member, bot, strange])

    for people in ([strange], [bot, strange]):
        with pytest.raises(BadRequestError, match="Insufficient permission"):
            await hall.unsubscribe(hall.member, "plans", people=people)
    done = await hall.unsubscribe(hall.member, "plans", people=[bot])
    assert done.removed == ["plans"]
