"""Groups are closed and opened again: what speaks against it, and what they serve meanwhile."""

import asyncio

import pytest
import pytest_asyncio

from server.actions.user_activation import deactivate_user
from server.domain.errors import BadRequestError, GroupInUseError
from tests.actions.test_groups import Club

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def club(hall):
    return Club(hall, await hall.make.role_groups())


async def objections(club, actor, group_id):
    with pytest.raises(GroupInUseError) as refusal:
        await club.close(actor, group_id)
    return refusal.value.details["objections"]


async def test_a_group_goes_and_comes_back_and_everyone_hears(hall, club, witnesses):
    group = await club.create(hall.member, members=[hall.other, hall.guest])

    seen = await witnesses.watch(lambda: club.close(hall.member, group), hall.everyone)

    newest, oldest = seen[0], seen[1]
    assert [(e["op"], e.get("data")) for e in newest.events] == [("update", {"deactivated": True})]
    assert [(e["op"], e["group_id"]) for e in oldest.events] == [("remove", group)]
    _, action, subject, after = (await club.audit())[0]
    assert (action, subject, after) == ("group_changed", group, {"deactivated": True})

    seen = await witnesses.watch(
        lambda: club.edit(hall.member, group, name="chefs", reactivate=True), hall.everyone
    )
    assert [e["op"] for e in seen[0].events] == ["update"]
    assert [(e["op"], e["group"]["name"]) for e in seen[1].events] == [("add", "chefs")]
    assert not (await club.row(group)).deactivated


async def test_while_it_is_closed_only_its_name_changes(hall, club, witnesses):
    group = await club.create(hall.owner, members=[hall.other])
    await club.close(hall.owner, group)

    seen = await witnesses.watch(lambda: club.edit(hall.owner, group, name="chefs"), hall.everyone)
    assert [[e["op"] for e in w.events] for w in seen[:2]] == [["update"], []]

    for refused in (
        lambda: club.edit(hall.owner, group, can_mention_group=club.roles["role:nobody"]),
        lambda: club.members(hall.owner, group, add=[hall.member]),
        lambda: club.members(hall.owner, group, delete=[hall.other]),
        lambda: club.members(hall.owner, group, add_subgroups=[club.roles["role:owners"]]),
        lambda: club.close(hall.owner, group),
    ):
        with pytest.raises(BadRequestError, match="deactivated"):
            await refused()
    await club.edit(hall.owner, group, reactivate=True, can_mention_group=club.roles["role:nobody"])
    await club.edit(hall.owner, group, reactivate=True)
    assert hall.stage.happened == []


async def test_its_own_managers_cannot_open_it_by_it(hall, club):
    group = await club.create(hall.owner, members=[hall.member])
    await club.edit(hall.owner, group, can_manage_group=group)
    await club.edit(hall.member, group, name="ours")
    await club.close(hall.member, group)
    with pytest.raises(BadRequestError, match="Insufficient permission"):
        await club.edit(hall.member, group, reactivate=True)
    await club.edit(hall.owner, group, reactivate=True)


async def test_what_names_a_group_speaks_against_closing_it(hall, club):
    group = await club.create(hall.owner)
    outer = await club.create(hall.owner, "outer", subgroups=[group])
    friends = await club.create(hall.owner, "friends", can_mention_group=group)
    channel = await hall.make.channel(can_send_message_group=group, can_subscribe_group=group)
    await hall.make.change_settings(
        can_create_groups=group,
        can_invite_users_group={"direct_members": [], "direct_subgroups": [group]},
    )

    assert await objections(club, hall.owner, group) == [
        {"type": "subgroup", "supergroup_ids": [outer]},
        {
            "type": "channel",
            "channel_id": channel.channel_id,
            "settings": ["can_send_message_group", "can_subscribe_group"],
        },
        {"type": "user_group", "group_id": friends, "settings": ["can_mention_group"]},
        {"type": "realm", "settings": ["can_create_groups", "can_invite_users_group"]},
    ]
    assert not (await club.row(group)).deactivated


async def test_a_private_channel_objects_without_its_id_to_who_may_not_know_of_it(hall, club):
    group = await club.create(hall.member)
    secret = await hall.make.channel(invite_only=True, can_send_message_group=group)

    [told] = await objections(club, hall.member, group)
    assert told == {"type": "channel", "settings": ["can_send_message_group"]}
    [told] = await objections(club, hall.owner, group)
    assert told["channel_id"] == secret.channel_id


async def test_what_is_closed_itself_does_not_object(hall, club):
    group = await club.create(hall.owner)
    await hall.make.group("outer", subgroups=[group], deactivated=True)
    friends = await club.create(hall.owner, "friends", can_mention_group=group)
    await club.close(hall.owner, friends)
    await hall.make.channel(is_archived=True, can_send_message_group=group)
    await club.edit(hall.owner, group, can_add_members_group=group)

    await club.close(hall.owner, group)

    assert (await club.row(group)).deactivated


async def test_people_who_knew_of_an_archived_channel_by_it_know_of_it_no_longer(
    hall, club, witnesses
):
    group = await club.create(hall.owner, members=[hall.member, hall.guest])
    await hall.make.channel("old", invite_only=True, is_archived=True, can_subscribe_group=group)

    seen = await witnesses.watch(lambda: club.close(hall.owner, group), hall.everyone)
    assert {w.user.user_id for w in seen if told_of_channels(w)} == {hall.member.user_id}
    seen = await witnesses.watch(
        lambda: club.edit(hall.owner, group, reactivate=True), hall.everyone
    )
    assert {w.user.user_id for w in seen if told_of_channels(w)} == {hall.member.user_id}


def told_of_channels(witness):
    return [e["op"] for e in witness.events if e["type"] == "stream"]


async def test_people_leave_closed_groups_too_when_they_are_deactivated(hall, club, witnesses):
    group = await club.create(hall.owner, members=[hall.member])
    await club.close(hall.owner, group)
    now = hall.stage.clock.now()

    async def leave():
        writer = hall.stage.writers.of(hall.make.realm_id)
        await writer.write(lambda tx: deactivate_user(tx, hall.member.user_id, now=now))

    rest = [row for row in hall.everyone if row != hall.member]
    await witnesses.watch(leave, rest)


async def test_what_concerns_all_within_a_group_holds_up_no_other_write(hall, club):
    """It takes as long as there are people, so it shares no commit."""
    group, nested = [await club.create(hall.owner, name) for name in ("cooks", "bakers")]
    writer = hall.stage.writers.of(hall.make.realm_id)
    for change, commits in (
        (club.members(hall.owner, group, add=[hall.member]), 1),
        (club.members(hall.owner, group, add_subgroups=[nested]), 2),
        (club.members(hall.owner, group, delete_subgroups=[nested]), 2),
        (club.close(hall.owner, group), 2),
        (club.edit(hall.owner, group, reactivate=True), 2),
        (club.edit(hall.owner, group, name="chefs"), 1),
    ):
        before = writer.commits
        await asyncio.gather(change, hall.stage.write(_nothing, hall.actor(hall.member)))
        assert writer.commits == before + commits


async def _nothing(_tx, _actor):
    return None
