"""Channels are renamed, closed, opened, made private and public; everyone keeps up with it."""

import pytest

from server.actions import stepped_work
from server.actions.access import apply
from server.actions.access.deferred import ACCESS_CHANGE
from server.actions.channels.change import change_channel
from server.actions.message_flags import change_flag
from server.actions.user_topics import change_policy
from server.domain.access import EVERYONE_GROUP, OWNERS_GROUP, GroupSetting
from server.domain.channel_changes import ChannelChange
from server.domain.errors import BadRequestError, ChannelAlreadyExistsError
from server.domain.group_settings import PermissionChange
from server.domain.groups import DESCRIPTIONS
from storage import audit_log, read_state, realms

pytestmark = pytest.mark.asyncio

OWNERS, EVERYONE = DESCRIPTIONS[OWNERS_GROUP], DESCRIPTIONS[EVERYONE_GROUP]


async def private_channel(hall):
    return await hall.make.channel(
        "plans", invite_only=True, subscribers=[hall.member, hall.guest], creator=hall.member
    )


async def public_channel(hall):
    return await hall.make.channel("plans", subscribers=[hall.member, hall.guest])


async def change(hall, channel, row=None, **wanted):
    """Let the administrator, or this user, change the channel."""
    return await hall.stage.run(
        change_channel,
        hall.actor(row or hall.admin),
        channel.channel_id,
        ChannelChange(**wanted),
        web_public_enabled=True,
    )


def permit(**people):
    """Changes that give permissions to these users."""
    settings = {
        name: GroupSetting(direct_members=tuple(sorted(row.user_id for row in rows)))
        for name, rows in people.items()
    }
    return {name: PermissionChange(setting) for name, setting in settings.items()}


async def let_spectators_look(hall):
    await hall.make.change_settings(enable_spectator_access=True)


async def audited(hall):
    """What the audit log has of channels: what was before, and after."""
    rows = await audit_log.newest(
        hall.make.connection, hall.make.realm_id, limit=20, action="channel_changed"
    )
    return [(row.before, row.after) for row in reversed(rows)]


@pytest.mark.parametrize("make_channel", [private_channel, public_channel])
async def test_a_channel_gets_another_name(hall, witnesses, make_channel):
    channel = await make_channel(hall)

    await witnesses.watch(lambda: change(hall, channel, name="  Better  "), hall.everyone)

    again = await hall.make.again(channel)
    assert again.name == "Better"
    assert again.changed_at == hall.stage.happened[0].position
    assert hall.stage.happened[0].event.name == "plans"
    assert await audited(hall) == [({"name": "plans"}, {"name": "Better"})]


async def test_a_name_is_given_once(hall):
    channel = await public_channel(hall)
    await hall.make.channel("taken")

    with pytest.raises(ChannelAlreadyExistsError):
        await change(hall, channel, name="TAKEN")
    await change(hall, channel, name="PLANS")


async def test_what_is_the_same_changes_nothing(hall):
    channel = await hall.make.channel("plans", description="What we do")

    assert await change(hall, channel, name="plans", description="What we do") is None

    assert hall.stage.happened == []
    assert await audited(hall) == []


@pytest.mark.parametrize("make_channel", [private_channel, public_channel])
async def test_much_changes_at_once(hall, witnesses, make_channel):
    channel = await make_channel(hall)
    wanted = {
        "name": "other",
        "description": "Some *words*\nof it",
        "message_retention_days": 30,
        "topics_policy": "disable_empty_topic",
        "permissions": permit(
            can_send_message_group=[hall.owner],
            can_remove_subscribers_group=[hall.member, hall.other],
        ),
    }

    await witnesses.watch(lambda: change(hall, channel, hall.owner, **wanted), hall.everyone)

    row = await hall.make.again(channel)
    assert (row.name, row.description) == ("other", "Some *words* of it")
    assert row.rendered_description == "<p>Some <em>words</em> of it</p>"
    assert (row.message_retention_days, row.topics_policy) == (30, "disable_empty_topic")
    assert row.permissions["can_send_message_group"]["direct_members"] == [hall.owner.user_id]
    [(before, after)] = await audited(hall)
    assert before["message_retention_days"] is None
    assert after["message_retention_days"] == 30
    assert before.keys() == after.keys()
    assert len(after) == 6


@pytest.mark.parametrize("make_channel", [private_channel, public_channel])
async def test_a_channel_is_closed_and_opened_again(hall, witnesses, make_channel):
    channel = await make_channel(hall)
    await hall.make.connection.execute(
        "UPDATE subscriptions SET is_muted = true WHERE user_id = %(user_id)s",
        user_id=hall.guest.user_id,
    )

    await witnesses.watch(lambda: change(hall, channel, is_archived=True), hall.everyone)
    assert (await hall.make.again(channel)).is_archived
    seen = await witnesses.watch(lambda: change(hall, channel, is_archived=False), hall.everyone)
    assert not (await hall.make.again(channel)).is_archived
    # Clients that had lost it: no event tells of its subscribers to a user outside it.
    told = {w.user.full_name: [(e["type"], e["op"]) for e in w.events] for w in seen if w.events}
    in_it, beside = ("subscription", "add"), ("subscription", "peer_add")
    for name, events in told.items():
        last = in_it if name in ("Member", "Guest") else beside
        assert events == [("stream", "create"), last]


async def test_a_channel_changes_while_it_is_closed_and_opened(hall, witnesses):
    channel = await public_channel(hall)

    await witnesses.watch(
        lambda: change(hall, channel, is_archived=True, name="gone", invite_only=True),
        hall.everyone,
    )
    await witnesses.watch(lambda: change(hall, channel, name="still gone"), hall.everyone)
    await witnesses.watch(
        lambda: change(hall, channel, is_archived=False, name="back"), hall.everyone
    )

    row = await hall.make.again(channel)
    assert (row.name, row.invite_only, row.is_archived) == ("back", True, False)


async def test_a_channel_is_closed_once(hall):
    channel = await public_channel(hall)

    with pytest.raises(BadRequestError, match="not archived"):
        await change(hall, channel, is_archived=False)
    await change(hall, channel, is_archived=True)
    with pytest.raises(BadRequestError, match="already archived"):
        await change(hall, channel, is_archived=True)


async def test_a_closed_channel_is_no_default_any_more(hall, witnesses):
    channel = await hall.make.channel(is_default=True)

    await witnesses.watch(lambda: change(hall, channel, is_archived=True), hall.everyone)

    assert [each.event.default_streams for each in hall.told("default_streams")] == [[]]
    with pytest.raises(BadRequestError, match="archived channel cannot be a default"):
        await change(hall, channel, is_default=True)


async def test_a_closed_channel_serves_the_organization_as_nothing(hall, witnesses):
    channel = await public_channel(hall)
    named = dict.fromkeys(
        ("new_stream_announcements_stream_id", "signup_announcements_stream_id"),
        channel.channel_id,
    )
    await hall.make.change_settings(**named, name_changes_disabled=True)

    await witnesses.watch(lambda: change(hall, channel, is_archived=True), hall.everyone)

    realm = await realms.by_id(hall.make.connection, hall.make.realm_id)
    assert realm is not None
    assert realm.settings == {"name_changes_disabled": True}
    told = {each.event.property: each.event.value for each in hall.told("realm/update")}
    assert told == dict.fromkeys(named, -1)


PRIVATE = {"invite_only": True, "is_web_public": False, "history_public_to_subscribers": False}
SHARED = {"invite_only": True, "is_web_public": False, "history_public_to_subscribers": True}
PUBLIC = {"invite_only": False, "is_web_public": False, "history_public_to_subscribers": True}
OPEN = {"invite_only": False, "is_web_public": True, "history_public_to_subscribers": True}


@pytest.mark.parametrize("before", [PRIVATE, PUBLIC, OPEN])
@pytest.mark.parametrize("after", [PRIVATE, SHARED, PUBLIC, OPEN])
async def test_everyone_keeps_up_with_who_may_know_of_a_channel(hall, witnesses, before, after):
    await let_spectators_look(hall)
    channel = await hall.make.channel(
        invite_only=before["invite_only"],
        is_web_public=before["is_web_public"],
        subscribers=[hall.member],
        can_subscribe_group=[hall.owner],
    )

    await witnesses.watch(lambda: change(hall, channel, hall.owner, **after), hall.everyone)

    row = await hall.make.again(channel)
    assert {name: getattr(row, name) for name in after} == after


async def test_everyone_keeps_up_with_whom_permissions_let_know_of_a_channel(hall, witnesses):
    channel = await hall.make.channel(
        invite_only=True, subscribers=[hall.member], creator=hall.member
    )
    everyone = hall.everyone

    async def give(row, **people):
        people = permit(**people)
        await witnesses.watch(lambda: change(hall, channel, row, permissions=people), everyone)

    await give(hall.member, can_subscribe_group=[hall.other])
    assert hall.told("stream/create")[0].audience.users == (hall.other.user_id,)
    await give(hall.member, can_subscribe_group=[], can_administer_channel_group=[hall.other])
    assert not hall.told("stream/create")
    await give(hall.other, can_administer_channel_group=[hall.member])
    assert hall.told("stream/delete")[0].audience.users == (hall.other.user_id,)


async def test_what_privacy_becomes_where_not_all_of_it_is_said(hall):
    await let_spectators_look(hall)
    channel = await hall.make.channel(subscribers=[hall.owner])

    async def after(**wanted):
        await change(hall, channel, hall.owner, **wanted)
        row = await hall.make.again(channel)
        return {name: getattr(row, name) for name in PUBLIC}

    assert await after(is_web_public=True) == OPEN
    assert await after(invite_only=True) == PRIVATE
    assert await after(history_public_to_subscribers=True) == SHARED
    assert await after(invite_only=True) == SHARED
    assert await after(invite_only=False) == PUBLIC
    for impossible in (
        {"history_public_to_subscribers": False},
        {"invite_only": True, "is_web_public": True},
    ):
        with pytest.raises(BadRequestError, match="Invalid parameters"):
            await change(hall, channel, hall.owner, **impossible)
    await after(invite_only=True)
    with pytest.raises(BadRequestError, match="Invalid parameters"):
        await change(hall, channel, hall.owner, is_web_public=True)


async def test_what_a_user_may_no_longer_read_is_read(hall, changes, witnesses):
    """Messages that they received elsewhere, and those that they marked as unread."""
    start = await hall.make.channel("start", subscribers=[hall.member, hall.other])
    end = await hall.make.channel("end", subscribers=[hall.other])
    moved = await changes.send(hall.other, "start")
    await changes.move(hall.other, moved, channel_id=end.channel_id, topic="moved")
    assert start.channel_id != end.channel_id

    seen = await witnesses.watch(lambda: change(hall, end, invite_only=True), [hall.member])

    told = [e for e in seen[0].events if e["type"] == "update_message_flags"]
    assert [(e["op"], e["flag"], e["messages"]) for e in told] == [("add", "read", [moved])]


async def treasured(hall, changes, people, **terms):
    """A channel where these people have a star, a topic that they follow and one that is muted."""
    channel = await hall.make.channel("plans", **terms)
    sent = await changes.send(hall.owner, "plans")
    now = hall.stage.clock.now()
    for row in people:
        await hall.stage.write(change_flag, hall.actor(row), [sent], "add", "starred")
        for topic, policy in (("T", 3), ("", 1)):
            wanted = (channel.channel_id, topic, policy)
            await hall.stage.write(change_policy, hall.actor(row), *wanted, now=now)
    return channel, sent


def told_of_loss(hall, seen, sent):
    """Users who lost stars, and users who lost topics: neither are told anything else."""
    events = [(w.user.user_id, e) for w in seen for e in w.events]
    stars = {u for u, e in events if e.get("flag") == "starred"}
    topics = {u for u, e in events if e["type"] == "user_topic"}
    assert all(
        (e["op"], e["messages"]) == ("remove", [sent])
        for _, e in events
        if e.get("flag") == "starred"
    )
    assert not [e for _, e in events if e["type"] == "user_topic" and e["visibility_policy"]]
    return stars, topics


@pytest.mark.parametrize("terms", [SHARED, PRIVATE])
@pytest.mark.parametrize("is_archived", [False, True])
async def test_who_may_no_longer_read_a_channel_loses_what_is_theirs_there(
    hall, changes, witnesses, terms, is_archived
):
    people = [hall.admin, hall.member, hall.other]
    channel, sent = await treasured(hall, changes, people, subscribers=[hall.owner, hall.other])
    wanted = {**terms, "is_archived": True} if is_archived else terms

    async def closed():
        work_id = await change(hall, channel, **wanted)
        if work_id is not None:
            await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id)

    seen = await witnesses.watch(closed, hall.everyone)

    stars, topics = told_of_loss(hall, seen, sent)
    assert stars == {hall.admin.user_id, hall.member.user_id}
    assert topics == {hall.admin.user_id}
    assert len([e for e in hall.told("update_message_flags") if e.event.flag == "starred"]) == 2
    assert len(hall.told("muted_topics")) == 2

    async def opened():
        work_id = await change(hall, channel, hall.owner, **PUBLIC)
        if work_id is not None:
            await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id)

    await witnesses.watch(opened, hall.everyone)


async def test_many_who_may_no_longer_read_a_channel_lose_it_in_steps(
    hall, changes, witnesses, monkeypatch
):
    monkeypatch.setattr(apply, "MAX_PAIRS_PER_STEP", 1)
    people = [hall.admin, hall.member, hall.other, *await hall.make.users(1)]
    channel, sent = await treasured(hall, changes, people, subscribers=[hall.owner])

    async def closed():
        work_id = await change(hall, channel, **PRIVATE)
        await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id, size=1)

    seen = await witnesses.watch(closed, [hall.owner, *people])

    stars, topics = told_of_loss(hall, seen, sent)
    assert stars == {row.user_id for row in people}
    assert topics == {hall.admin.user_id}


async def test_who_loses_a_permission_loses_what_is_theirs_there(hall, changes, witnesses):
    people = [hall.admin, hall.member, hall.other]
    channel, sent = await treasured(
        hall,
        changes,
        people,
        invite_only=True,
        shares_history=True,
        subscribers=[hall.owner],
        can_subscribe_group=people,
    )

    seen = await witnesses.watch(
        lambda: change(hall, channel, permissions=permit(can_subscribe_group=[hall.other])),
        hall.everyone,
    )

    stars, topics = told_of_loss(hall, seen, sent)
    assert stars == {hall.admin.user_id, hall.member.user_id}
    assert topics == {hall.admin.user_id}


async def found_again(hall, changes, terms):
    """A private channel, to which came what Member has received: mentioned, starred, followed."""
    start = await hall.make.channel("start", subscribers=[hall.member, hall.admin])
    end = await hall.make.channel("end", subscribers=[hall.admin])
    followed = await changes.send(hall.admin, "end", topic="followed")
    member = hall.actor(hall.member)
    now = hall.stage.clock.now()
    await hall.stage.write(change_policy, member, end.channel_id, "followed", 3, now=now)
    await hall.stage.write(change_flag, member, [followed], "add", "starred")
    await change(hall, end, **terms)
    text = f"hello @**Member|{hall.member.user_id}**"
    moved = await changes.send(hall.admin, "start", content=text)
    await hall.stage.write(change_flag, member, [moved], "add", "starred")
    await changes.move(hall.admin, moved, channel_id=end.channel_id, topic="moved")
    assert start.channel_id != end.channel_id
    return await hall.make.again(end), moved


@pytest.mark.parametrize("terms", [SHARED, PRIVATE])
@pytest.mark.parametrize(
    "wanted", [PUBLIC, {"permissions": "can_subscribe_group"}, {**PUBLIC, "is_archived": True}]
)
async def test_who_reads_a_channel_again_is_told_what_is_theirs_there(
    hall, changes, witnesses, terms, wanted
):
    end, moved = await found_again(hall, changes, terms)
    if "permissions" in wanted:
        wanted = {"permissions": permit(can_subscribe_group=[hall.member])}

    async def opened():
        work_id = await change(hall, end, **wanted)
        if wanted.get("is_archived"):
            await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id)

    seen = await witnesses.watch(opened, [hall.member, hall.other])

    told = [e for e in seen[0].events if e["type"] == "update_message_flags"]
    assert ("remove", "read", [moved]) in [(e["op"], e["flag"], e["messages"]) for e in told]
    assert told[0]["message_details"][str(moved)]["mentioned"]
    assert "user_topic" in {e["type"] for e in seen[0].events}
    assert not [e for e in seen[2].events if e["type"] in ("update_message_flags", "user_topic")]


async def test_many_who_read_a_channel_again_are_told_in_steps(
    hall, changes, witnesses, monkeypatch
):
    monkeypatch.setattr(apply, "MAX_PAIRS_PER_STEP", 1)
    people = [hall.member, hall.other, *await hall.make.users(2)]
    await hall.make.channel("start", subscribers=[hall.admin, *people])
    end = await hall.make.channel("end", subscribers=[hall.admin], invite_only=True)
    moved = await changes.send(hall.admin, "start")
    await changes.move(hall.admin, moved, channel_id=end.channel_id, topic="moved")

    async def opened():
        work_id = await change(hall, end, **PUBLIC)
        await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id, size=1)

    await witnesses.watch(opened, people)

    assert [await unread_of(hall, row) for row in people] == [[moved]] * 4
    assert len(hall.told("update_message_flags")) == 4


async def test_what_a_channel_hides_from_newcomers_is_read_and_starred_no_more(
    hall, changes, witnesses
):
    channel = await hall.make.channel(
        "plans", invite_only=True, shares_history=True, subscribers=[hall.other, hall.admin]
    )
    before = await changes.send(hall.other, "plans")
    await hall.make.subscribe(channel, [hall.member])
    after = await changes.send(hall.other, "plans")
    await hall.stage.write(change_flag, hall.actor(hall.member), [before, after], "add", "read")
    await hall.stage.write(change_flag, hall.actor(hall.member), [before, after], "remove", "read")
    await hall.stage.write(change_flag, hall.actor(hall.member), [before, after], "add", "starred")

    seen = await witnesses.watch(
        lambda: change(hall, channel, history_public_to_subscribers=False),
        [hall.member, hall.other],
    )

    told = [e for e in seen[0].events if e["type"] == "update_message_flags"]
    assert [(e["op"], e["flag"], e["messages"]) for e in told] == [
        ("add", "read", [before]),
        ("remove", "starred", [before]),
    ]


async def test_only_who_administers_a_channel_changes_it(hall):
    plans = await public_channel(hall)
    secret = await hall.make.channel(invite_only=True)

    for row, channel_id, message in (
        (hall.member, plans.channel_id, "permission to administer"),
        (hall.guest, plans.channel_id, "permission to administer"),
        (hall.other, secret.channel_id, "Invalid channel ID"),
        (hall.owner, 10**9, "Invalid channel ID"),
    ):
        for wanted in ({"name": "new"}, {"is_archived": True}, PRIVATE, {"is_default": True}):
            with pytest.raises(BadRequestError, match=message):
                await hall.stage.run(
                    change_channel,
                    hall.actor(row),
                    channel_id,
                    ChannelChange(**wanted),
                    web_public_enabled=True,
                )


async def test_what_opens_a_channel_is_for_those_who_read_it(hall):
    secret = await hall.make.channel(invite_only=True, subscribers=[hall.member])
    refused = (
        PUBLIC,
        SHARED,
        {"permissions": permit(can_subscribe_group=[hall.admin])},
        {"permissions": permit(can_add_subscribers_group=[hall.admin])},
        {"permissions": permit(can_delete_any_message_group=[hall.admin])},
        {"permissions": permit(can_move_messages_out_of_channel_group=[hall.admin])},
    )

    for wanted in refused:
        with pytest.raises(BadRequestError, match="content access"):
            await change(hall, secret, **wanted)
    await change(
        hall,
        secret,
        name="better",
        permissions=permit(
            can_send_message_group=[hall.admin], can_remove_subscribers_group=[hall.admin]
        ),
    )
    await hall.make.subscribe(secret, [hall.admin])
    for wanted in refused:
        await change(hall, secret, **wanted)


async def test_some_changes_take_a_permission_of_the_organization(hall):
    channel = await hall.make.channel(
        subscribers=[hall.member], creator=hall.member, invite_only=True
    )
    nobody = (await hall.make.role_groups())["role:nobody"]
    for setting, wanted in (
        ("can_create_public_channel_group", PUBLIC),
        ("can_set_topics_policy_group", {"topics_policy": "disable_empty_topic"}),
        (
            "can_set_delete_message_policy_group",
            {"permissions": permit(can_delete_own_message_group=[hall.other])},
        ),
    ):
        await hall.make.change_settings(**{setting: nobody})
        await hall.make.at_position(realms.changed(hall.make.realm_id))
        hall.stage.realm_caches.of(hall.make.realm_id).forget_everything()
        with pytest.raises(BadRequestError, match="Insufficient permission"):
            await change(hall, channel, hall.member, **wanted)
    for wanted in ({"message_retention_days": 7}, {"message_retention_days": "unlimited"}):
        for row in (hall.member, hall.admin):
            with pytest.raises(BadRequestError, match="Must be an organization owner"):
                await change(hall, channel, row, **wanted)
    assert await hall.make.again(channel) == channel


async def test_a_channel_that_serves_the_organization_stays_as_it_has_to_be(hall):
    joined = await hall.make.channel("joined", is_default=True)
    reports = await hall.make.channel("reports", invite_only=True, subscribers=[hall.admin])
    await hall.make.change_settings(moderation_request_channel_id=reports.channel_id)

    with pytest.raises(BadRequestError, match="default channel cannot be private"):
        await change(hall, joined, invite_only=True)
    with pytest.raises(BadRequestError, match="must be private"):
        await change(hall, reports, invite_only=False)
    await change(hall, joined, invite_only=True, is_default=False)


async def test_only_the_empty_topic_where_there_is_no_other(hall, changes):
    channel = await hall.make.channel("plans", subscribers=[hall.member])
    sent = await changes.send(hall.member, "plans", topic="named")
    await changes.send(hall.member, "plans", topic="")
    only_empty = {"topics_policy": "empty_topic_only"}

    with pytest.raises(BadRequestError, match="must be in the general chat topic"):
        await change(hall, channel, **only_empty)
    await changes.delete(hall.admin, sent)
    await change(hall, channel, **only_empty)
    assert (await hall.make.again(channel)).topics_policy == "empty_topic_only"


async def test_an_archived_channel_is_read_for_all_in_steps(hall, changes, witnesses):
    channel = await hall.make.channel("plans", subscribers=hall.everyone)
    sent = [await changes.send(hall.member, "plans", content="@**all** now") for _ in range(3)]
    await hall.make.channel("other", subscribers=hall.everyone)
    kept = await changes.send(hall.member, "other")

    async def archive():
        work_id = await change(hall, channel, is_archived=True)
        for _ in range(2):  # twice is once
            await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id, size=2)

    await witnesses.watch(archive, hall.everyone)

    told = [each.event for each in hall.told("update_message_flags")]
    assert [sorted(event.messages) for event in told] == [sent] * 4
    for row in (hall.owner, hall.guest):
        unread = await read_state.unread(hall.make.connection, hall.make.realm_id, row.user_id)
        assert [each.message_ids for each in unread.conversations] == [[kept]]
        assert not unread.mentioned | unread.wildcards


async def test_a_channel_that_is_opened_again_meanwhile_stays_unread(hall, changes):
    channel = await hall.make.channel("plans", subscribers=hall.everyone)
    await changes.send(hall.member, "plans")
    work_id = await change(hall, channel, is_archived=True)
    await change(hall, await hall.make.again(channel), is_archived=False)

    await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id)

    unread = await read_state.unread(hall.make.connection, hall.make.realm_id, hall.guest.user_id)
    assert unread.count == 1


async def test_who_has_marked_something_as_unread_there_has_read_it_when_it_is_archived(
    hall, changes
):
    channel = await hall.make.channel("plans", subscribers=[hall.member])
    sent = await changes.send(hall.member, "plans", content="@**all** now")
    await hall.make.channel("before", subscribers=hall.everyone)
    there = await changes.send(hall.member, "before", topic="x")
    await changes.move(hall.member, there, channel_id=channel.channel_id)
    assert await unread_of(hall, hall.other) == [there]

    work_id = await change(hall, channel, is_archived=True)
    await stepped_work.finish(hall.realm_services(), ACCESS_CHANGE, work_id)

    assert await unread_of(hall, hall.other) == []
    assert sent not in await unread_of(hall, hall.member)


async def unread_of(hall, row):
    found = await read_state.unread(hall.make.connection, hall.make.realm_id, row.user_id)
    return [message_id for each in found.conversations for message_id in each.message_ids]
