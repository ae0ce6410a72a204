"""Who is in a group decides who may know of private channels: they are told as it changes."""

import pytest
import pytest_asyncio

from server.actions import stepped_work
from server.actions.access import apply, deferred
from server.actions.groups.members import MembersChange, change_members
from server.actions.message_flags import change_flag
from server.actions.user_topics import change_policy
from server.domain.access import MODERATOR
from storage import read_state
from testkit.factories import user_ids
from tests.actions.test_groups import Club

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def club(hall):
    return Club(hall, await hall.make.role_groups())


def told(seen, op):
    """Who was told so of a channel."""
    return {
        w.user.user_id for w in seen for e in w.events if (e["type"], e["op"]) == ("stream", op)
    }


@pytest.mark.parametrize(
    "setting", ["can_subscribe_group", "can_add_subscribers_group", "can_administer_channel_group"]
)
async def test_who_comes_into_a_group_gets_its_channels_and_who_leaves_loses_them(
    hall, club, witnesses, setting
):
    """Not who knows of them anyway, by a subscription or a role, and never guests."""
    subscriber = await hall.make.user()
    everyone = [*hall.everyone, subscriber]
    group = await club.create(hall.owner)
    await hall.make.channel(
        "secret", invite_only=True, subscribers=[subscriber], **{setting: group}
    )
    await hall.make.channel("other secret", invite_only=True)
    coming = [hall.member, hall.admin, hall.guest, subscriber]

    seen = await witnesses.watch(lambda: club.members(hall.owner, group, add=coming), everyone)
    assert told(seen, "create") == {hall.member.user_id}
    assert told(seen, "delete") == set()

    seen = await witnesses.watch(lambda: club.members(hall.owner, group, delete=coming), everyone)
    assert told(seen, "delete") == {hall.member.user_id}
    assert told(seen, "create") == set()


async def test_it_reaches_through_groups_within_groups(hall, club, witnesses):
    moderator = await hall.make.user(role=MODERATOR)
    everyone = [*hall.everyone, moderator]
    inner = await club.create(hall.owner, "inner", members=[hall.other, hall.guest])
    middle = await club.create(hall.owner, "middle", members=[hall.other])
    outer = await club.create(hall.owner, "outer", subgroups=[middle])
    await hall.make.channel(
        invite_only=True, can_subscribe_group=outer, can_administer_channel_group=[hall.member]
    )
    moderators = club.roles["role:moderators"]

    seen = await witnesses.watch(
        lambda: club.members(hall.owner, middle, add=[hall.member]), everyone
    )
    assert told(seen, "create") == set()  # they administer it anyhow
    seen = await witnesses.watch(
        lambda: club.members(hall.owner, middle, add_subgroups=[inner, moderators]), everyone
    )
    assert told(seen, "create") == {moderator.user_id}
    seen = await witnesses.watch(
        lambda: club.members(hall.owner, middle, delete=[hall.other]), everyone
    )
    assert told(seen, "delete") == set()  # they are in the inner group still
    seen = await witnesses.watch(
        lambda: club.members(hall.owner, middle, delete_subgroups=[inner, moderators]), everyone
    )
    assert told(seen, "delete") == {moderator.user_id, hall.other.user_id}


async def test_people_and_groups_that_change_places_see_what_they_saw(hall, club, witnesses):
    inner = await club.create(hall.owner, "inner", members=[hall.member])
    outer = await club.create(hall.owner, "outer", subgroups=[inner])
    await hall.make.channel(
        invite_only=True, can_subscribe_group=[hall.other], can_add_subscribers_group=outer
    )

    seen = await witnesses.watch(
        lambda: club.members(
            hall.owner, outer, add=[hall.member, hall.other], delete_subgroups=[inner]
        ),
        hall.everyone,
    )

    assert told(seen, "create") == told(seen, "delete") == set()


async def test_what_was_unread_there_is_read_for_who_leaves(hall, club, changes, witnesses):
    """They received it elsewhere, and could read on where it went."""
    group = await club.create(hall.owner, members=[hall.member, hall.other])
    await hall.make.channel("open", subscribers=[hall.owner, hall.member, hall.other])
    secret = await hall.make.channel(
        invite_only=True, shares_history=True, subscribers=[hall.owner], can_subscribe_group=group
    )
    sent = await changes.send(hall.owner, "open")
    await changes.move(hall.owner, sent, channel_id=secret.channel_id)

    seen = await witnesses.watch(
        lambda: club.members(hall.owner, group, delete=[hall.member]), hall.everyone
    )

    flags = [(w.user.user_id, e) for w in seen for e in w.events if e["type"].endswith("_flags")]
    assert {user_id for user_id, _ in flags} == {hall.member.user_id}
    assert all((e["flag"], e["messages"]) == ("read", [sent]) for _, e in flags)


async def test_what_is_starred_and_set_there_goes_and_comes_with_a_group(
    hall, club, changes, witnesses
):
    people = [hall.admin, hall.member, hall.other]
    group = await club.create(hall.owner, members=people)
    secret = await hall.make.channel(
        "secret",
        invite_only=True,
        shares_history=True,
        subscribers=[hall.owner, hall.other],
        can_subscribe_group=group,
    )
    sent = await changes.send(hall.owner, "secret")
    now = hall.stage.clock.now()
    for row in people:
        await hall.stage.write(change_flag, hall.actor(row), [sent], "add", "starred")
        wanted = (secret.channel_id, "T", 3)
        await hall.stage.write(change_policy, hall.actor(row), *wanted, now=now)

    for terms, op, policy, knowing in (
        ({"delete": people}, "remove", 0, {hall.admin.user_id}),
        ({"add": people}, "add", 3, {hall.admin.user_id, hall.member.user_id}),
    ):
        seen = await witnesses.watch(
            lambda terms=terms: club.members(hall.owner, group, **terms), hall.everyone
        )
        events = [(w.user.user_id, e) for w in seen for e in w.events]
        stars = [(u, e["op"]) for u, e in events if e.get("flag") == "starred"]
        assert set(stars) == {(hall.admin.user_id, op), (hall.member.user_id, op)}
        topics = [(u, e["visibility_policy"]) for u, e in events if e["type"] == "user_topic"]
        assert set(topics) == {(user_id, policy) for user_id in knowing}


async def test_what_is_unread_there_is_told_to_who_comes(hall, club, changes, witnesses):
    group = await club.create(hall.owner)
    await hall.make.channel("open", subscribers=[hall.owner, hall.member])
    secret = await hall.make.channel(
        invite_only=True, shares_history=True, subscribers=[hall.owner], can_subscribe_group=group
    )
    sent = await changes.send(hall.owner, "open")
    await changes.move(hall.owner, sent, channel_id=secret.channel_id)

    coming = [hall.member, hall.other]
    seen = await witnesses.watch(lambda: club.members(hall.owner, group, add=coming), hall.everyone)

    flags = [(w.user.user_id, e) for w in seen for e in w.events if e["type"].endswith("_flags")]
    assert {user_id for user_id, _ in flags} == {hall.member.user_id}
    assert all((e["op"], e["messages"]) == ("remove", [sent]) for _, e in flags)


async def unread_of(hall, row):
    found = await read_state.unread(hall.make.connection, hall.make.realm_id, row.user_id)
    return found.count


async def test_for_many_who_leave_it_is_read_in_steps_but_for_who_comes_back(
    hall, club, changes, witnesses, monkeypatch
):
    monkeypatch.setattr(apply, "MAX_PAIRS_PER_STEP", 1)
    people = [hall.member, hall.other, *await hall.make.users(2)]
    group = await club.create(hall.owner, members=people)
    await hall.make.channel("open", subscribers=[hall.owner, *people])
    secret = await hall.make.channel(
        invite_only=True, shares_history=True, subscribers=[hall.owner], can_subscribe_group=group
    )
    sent = await changes.send(hall.owner, "open")
    await changes.move(hall.owner, sent, channel_id=secret.channel_id)

    async def change(*, add=(), delete=()):
        wanted = MembersChange(add=user_ids(add), delete=user_ids(delete))
        return await hall.stage.write(change_members, hall.actor(hall.owner), group, wanted)

    async def leave_and_return():
        work_id = await change(delete=people)
        assert len(hall.told("update_message_flags")) == 1
        # One of them comes back before it is their turn.
        await change(add=[people[3]])
        for _ in range(2):  # twice is once
            await stepped_work.finish(
                hall.realm_services(), deferred.ACCESS_CHANGE, work_id, size=1
            )
        await change(add=people[:3])

    seen = await witnesses.watch(leave_and_return, hall.everyone)
    flags = [(w.user.user_id, e) for w in seen for e in w.events if e["type"].endswith("_flags")]
    assert {user_id for user_id, _ in flags} == {hall.member.user_id, hall.other.user_id}
    assert all((e["flag"], e["messages"]) == ("read", [sent]) for _, e in flags)
    assert [await unread_of(hall, row) for row in people] == [0, 0, 0, 1]
