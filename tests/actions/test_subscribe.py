"""Subscribing: who may, what comes of it, and who is told."""

import asyncio

import pytest

from server.actions.channels.create import ChannelSpec
from server.actions.message_flags import change_flag
from server.actions.subscriptions.subscribe import SubscriptionRequest, create_channel, subscribe
from server.actions.user_topics import change_policy
from server.domain.access import GroupSetting
from server.domain.channel_creation import ChannelTerms
from server.domain.errors import (
    ChannelAlreadyExistsError,
)
from storage import channels, read_state, subscription_spans, subscriptions
from testkit.factories import user_ids

pytestmark = pytest.mark.asyncio

PRIVATE = {"invite_only": True, "shares_history": True}


async def test_an_unused_name_makes_a_channel(hall, witnesses):
    async def change():
        return await hall.subscribe(hall.member, "Plans", description="What *we* do")

    seen = await witnesses.watch(change, hall.everyone)

    assert hall.stage.kinds() == ["stream/create", "subscription/add", "subscription/peer_add"]
    by_user = {each.user.user_id: [e["op"] for e in each.events] for each in seen}
    assert by_user == {
        hall.owner.user_id: ["create", "peer_add"],
        hall.admin.user_id: ["create", "peer_add"],
        hall.member.user_id: ["create", "add"],
        hall.other.user_id: ["create", "peer_add"],
        hall.guest.user_id: [],
    }


async def test_a_channel_that_is_there_is_joined_whatever_the_case_of_its_name(hall, witnesses):
    channel = await hall.make.channel("Général", subscribers=[hall.other])

    async def change():
        done = await hall.subscribe(hall.member, "GÉNÉRAL", "gÉnÉral")
        assert done.subscribed == {hall.member.user_id: ["Général"]}

    await witnesses.watch(change, hall.everyone)

    assert await hall.subscribers(channel) == [hall.member.user_id, hall.other.user_id]


async def test_who_is_there_already_changes_nothing(hall):
    await hall.make.channel("plans", subscribers=[hall.member])

    done = await hall.subscribe(hall.member, "plans")

    assert done.already_subscribed == {hall.member.user_id: ["plans"]}
    assert hall.stage.happened == []


async def test_a_subscription_begins_above_its_position(hall):
    channel = await hall.make.channel("plans")

    await hall.subscribe(hall.member, "plans")

    [added] = hall.told("subscription/add")
    [span] = await subscription_spans.of_users(
        hall.make.connection, hall.make.realm_id, [hall.member.user_id]
    )
    assert (span.channel_id, span.first, span.last) == (
        channel.channel_id,
        added.position + 1,
        None,
    )
    [row] = await subscriptions.of_user(
        hall.make.connection, hall.make.realm_id, hall.member.user_id
    )
    assert row.changed_at == added.position


async def test_who_comes_back_finds_their_settings_and_has_two_spans(hall, witnesses):
    channel = await hall.make.channel("plans", subscribers=[hall.member])
    await hall.make.connection.execute(
        "UPDATE subscriptions SET color = '#123456', is_muted = true, push_notifications = false"
    )

    await witnesses.watch(lambda: hall.unsubscribe(hall.member, "plans"), hall.everyone)
    await witnesses.watch(lambda: hall.subscribe(hall.member, "plans"), hall.everyone)

    [added] = hall.told("subscription/add")
    [shown] = added.event.subscriptions
    assert (shown.color, shown.is_muted, shown.push_notifications) == ("#123456", True, False)
    spans = await subscription_spans.of_users(
        hall.make.connection, hall.make.realm_id, [hall.member.user_id]
    )
    assert [span.last is None for span in spans] == [False, True]
    assert spans[0].channel_id == channel.channel_id


@pytest.mark.parametrize(
    ("terms", "readers"),
    [
        ({}, ["Other"]),
        ({"invite_only": True}, []),
        ({"invite_only": True, "shares_history": False}, []),
    ],
)
async def test_who_could_not_read_a_channel_has_read_what_they_received_elsewhere(
    hall, changes, witnesses, terms, readers
):
    await hall.make.channel("source", subscribers=[hall.admin, hall.other, hall.guest])
    target = await hall.make.channel("target", subscribers=[hall.admin], **terms)
    moved = await changes.send(hall.admin, "source")
    joining = [hall.other, hall.guest]
    await changes.move(hall.admin, moved, channel_id=target.channel_id)

    await witnesses.watch(
        lambda: hall.subscribe(hall.admin, "target", people=joining), hall.everyone
    )

    for person in joining:
        found = await read_state.unread(hall.make.connection, hall.make.realm_id, person.user_id)
        expected = [[moved]] if person.full_name in readers else []
        assert [each.message_ids for each in found.conversations] == expected


async def test_who_comes_back_is_told_what_they_had_starred_and_set_for_topics(
    hall, changes, witnesses
):
    channel = await hall.make.channel(
        "plans", subscribers=[hall.admin, hall.member, hall.other], **PRIVATE
    )
    sent = await changes.send(hall.admin, "plans")
    now = hall.stage.clock.now()
    for row in (hall.member, hall.other):
        for topic, policy in (("T", 3), ("", 1)):
            wanted = (channel.channel_id, topic, policy)
            await hall.stage.write(change_policy, hall.actor(row), *wanted, now=now)
    await hall.stage.write(change_flag, hall.actor(hall.member), [sent], "add", "starred")
    for row in (hall.member, hall.other):
        await hall.unsubscribe(row, "plans")

    people = [hall.member, hall.other, hall.guest]
    seen = await witnesses.watch(
        lambda: hall.subscribe(hall.admin, "plans", people=people), hall.everyone
    )

    told = {w.user.user_id: [e for e in w.events if "flag" in e] for w in seen}
    flags = [(e["op"], e["flag"], e["messages"]) for e in told[hall.member.user_id]]
    assert flags == [("add", "starred", [sent])]
    assert not told[hall.other.user_id]
    assert len(hall.told("user_topic")) == 2
    assert len(hall.told("muted_topics")) == 2


async def test_channels_get_colors_that_one_does_not_use_yet(hall):
    await hall.subscribe(hall.member, *[f"channel {n}" for n in range(24)])

    [added] = hall.told("subscription/add")
    assert len({each.color for each in added.event.subscriptions}) == 24


async def test_many_people_are_told_in_few_entries(hall):
    people = await hall.make.users(200)

    await hall.subscribe(hall.member, "plans", people=people)

    added = hall.told("subscription/add")
    assert [len(each.event.user_ids) for each in added] == [200]
    assert set(added[0].audience.users) == set(user_ids(people))


async def test_others_are_subscribed_by_members_of_the_realms_group(hall, witnesses):
    await hall.make.channel("plans", subscribers=[hall.admin])

    async def change():
        await hall.subscribe(hall.member, "plans", people=[hall.guest, hall.other])

    seen = await witnesses.watch(change, hall.everyone)

    by_user = {each.user.user_id: [e["op"] for e in each.events] for each in seen}
    assert by_user == {
        hall.owner.user_id: ["peer_add"],
        hall.admin.user_id: ["peer_add"],
        hall.member.user_id: ["peer_add"],
        hall.other.user_id: ["add"],
        # Guests know public channels only when they are in them.
        hall.guest.user_id: ["create", "add"],
    }


async def test_principals_may_be_named_by_address(hall):
    request = SubscriptionRequest(
        wanted=[ChannelSpec("plans")], principals=[hall.other.email.upper(), hall.guest.email]
    )

    done = await hall.stage.run(
        subscribe, hall.actor(hall.member), request, web_public_enabled=False
    )

    assert set(done.subscribed) == {hall.other.user_id, hall.guest.user_id}


async def test_a_private_channel_is_shown_to_its_people_and_to_administrators(hall, witnesses):
    async def change():
        await hall.subscribe(
            hall.member, "secret", people=[hall.member, hall.guest], invite_only=True
        )

    seen = await witnesses.watch(change, hall.everyone)

    by_user = {each.user.user_id: [e["op"] for e in each.events] for each in seen}
    assert by_user == {
        hall.owner.user_id: ["create", "peer_add"],
        hall.admin.user_id: ["create", "peer_add"],
        hall.member.user_id: ["create", "add"],
        hall.other.user_id: [],
        hall.guest.user_id: ["create", "add"],
    }


async def test_a_private_channel_is_shown_to_those_whom_its_groups_name(hall, witnesses):
    friend = await hall.make.user("Friend")
    inner = await hall.make.group(members=[friend])
    outer = await hall.make.group(subgroups=[inner])

    async def change():
        await hall.subscribe(
            hall.member,
            "secret",
            invite_only=True,
            permissions={"can_add_subscribers_group": GroupSetting(group_id=outer)},
        )

    seen = await witnesses.watch(change, [friend, hall.other])
    assert [[e["op"] for e in each.events] for each in seen] == [["create", "peer_add"]] * 2 + [
        []
    ] * 2

    await witnesses.watch(
        lambda: hall.subscribe(friend, "secret", people=[hall.other]), [friend, hall.other]
    )


async def test_a_channel_open_to_full_members_is_shown_to_them(hall, witnesses):
    groups = await hall.make.role_groups()

    async def change():
        await hall.subscribe(
            hall.member,
            "secret",
            invite_only=True,
            permissions={"can_subscribe_group": GroupSetting(group_id=groups["role:fullmembers"])},
        )

    await witnesses.watch(change, hall.everyone)
    await witnesses.watch(lambda: hall.subscribe(hall.other, "secret"), hall.everyone)


async def test_the_web_public_channel_is_shown_to_all(hall, make, witnesses):
    await make.connection.execute(
        "UPDATE realms SET settings = '{\"enable_spectator_access\": true}'"
    )
    hall.stage.realm_caches.of(make.realm_id).forget_everything()

    async def change():
        await hall.subscribe(hall.owner, "plaza", is_web_public=True, web_public_enabled=True)

    await witnesses.watch(change, hall.everyone)
    await witnesses.watch(lambda: hall.subscribe(hall.guest, "plaza"), hall.everyone)


async def test_an_archived_channel_is_left_unseen_by_old_clients(hall, witnesses):
    await hall.make.channel("old", is_archived=True, subscribers=[hall.other, hall.member])

    await witnesses.watch(lambda: hall.unsubscribe(hall.member, "old"), hall.everyone)


async def test_subscribers_include_only_active_people(hall):
    gone = await hall.make.user(is_active=False)
    await hall.make.channel("plans", subscribers=[hall.other])
    await hall.make.connection.execute(
        "INSERT INTO subscriptions (realm_id, user_id, channel_id, active, color)"
        " SELECT realm_id, %(user_id)s, channel_id, true, '' FROM channels",
        user_id=gone.user_id,
    )

    await hall.subscribe(hall.member, "plans")

    [added] = hall.told("subscription/add")
    [shown] = added.wire()[0]["subscriptions"]
    assert bytes(shown.subscribers) == b"[%d,%d]" % (hall.member.user_id, hall.other.user_id)
    assert shown.subscriber_count == 2


async def test_new_channels_of_one_request_differ_in_more_than_case(hall):
    done = await hall.subscribe(hall.member, "Plans", "plans", "PLANS")

    assert [channel.name for channel in done.created] == ["Plans"]


async def test_terms_count_only_for_channels_that_are_made(hall):
    channel = await hall.make.channel("plans", description="old")

    await hall.subscribe(
        hall.member,
        "plans",
        description="x" * 5000,
        invite_only=True,
        topics_policy="empty_topic_only",
        message_retention_days="forever",
        folder_id=7,
    )

    again = await hall.make.again(channel)
    assert (again.description, again.invite_only, again.topics_policy) == ("old", False, "inherit")


async def test_a_default_channel_is_told_of(hall, witnesses):
    await witnesses.watch(
        lambda: hall.subscribe(hall.admin, "welcome", is_default=True), hall.everyone
    )

    [changed] = hall.told("default_streams")
    assert changed.event.default_streams == await channels.default_ids(
        hall.make.connection, hall.make.realm_id
    )


async def test_all_terms_are_kept(hall):
    members = (await hall.make.role_groups())["role:members"]
    done = await hall.subscribe(
        hall.owner,
        "plans",
        description=" two\nlines ",
        invite_only=True,
        history_public_to_subscribers=True,
        message_retention_days=30,
        topics_policy="disable_empty_topic",
        permissions={
            "can_send_message_group": GroupSetting(group_id=members),
            "can_delete_any_message_group": GroupSetting(direct_members=(hall.owner.user_id,)),
            "can_subscribe_group": GroupSetting(direct_subgroups=(members,)),
        },
    )

    row = await hall.make.again(done.created[0])
    assert row.description == "two lines"
    assert row.rendered_description == "<p>two lines</p>"
    assert (row.invite_only, row.history_public_to_subscribers) == (True, True)
    assert (row.message_retention_days, row.topics_policy) == (30, "disable_empty_topic")
    assert row.permissions["can_send_message_group"] == members
    assert row.permissions["can_subscribe_group"] == members
    assert row.permissions["can_delete_any_message_group"] == {
        "direct_members": [hall.owner.user_id],
        "direct_subgroups": [],
    }
    assert row.permissions["can_administer_channel_group"] == {
        "direct_members": [hall.owner.user_id],
        "direct_subgroups": [],
    }
    assert row.changed_at == hall.told("stream/create")[0].position


# -- creating by itself


async def test_a_channel_is_created_with_its_people(hall, witnesses):
    async def change():
        await hall.stage.run(
            create_channel,
            hall.actor(hall.member),
            ChannelSpec("new"),
            [hall.guest.user_id, hall.guest.user_id],
            ChannelTerms(invite_only=True),
            announce=False,
            notify=False,
            web_public_enabled=False,
        )

    await witnesses.watch(change, hall.everyone)
    with pytest.raises(ChannelAlreadyExistsError):
        await change()


# -- at once


async def test_requests_at_once_make_one_channel_and_one_subscription_each(hall):
    people = [hall.owner, hall.admin, hall.member, hall.other]
    hall.stage.happened.clear()

    request = SubscriptionRequest(wanted=[ChannelSpec("plans")])
    await asyncio.gather(
        *(
            hall.stage.write(subscribe, hall.actor(row), request, web_public_enabled=False)
            for row in people * 3
        )
    )

    assert hall.stage.kinds().count("stream/create") == 1
    added = [u for each in hall.told("subscription/add") for u in each.event.user_ids]
    assert sorted(added) == sorted(user_ids(people))
    [channel] = await channels.by_names(hall.make.connection, hall.make.realm_id, ["plans"])
    assert channel.subscriber_count == 4
