"""Permissions name people: who is deactivated is named no more, until they come back."""

import pytest
import pytest_asyncio

from server.actions.user_activation import deactivate_user, reactivate_user
from server.domain.access import OWNER
from testkit.stage import NEWEST_CLIENT

pytestmark = pytest.mark.asyncio


async def close(hall, *people):
    now, writer = hall.stage.clock.now(), hall.stage.writers.of(hall.make.realm_id)
    for row in people:
        await writer.write(lambda tx, row=row: deactivate_user(tx, row.user_id, now=now))


async def reopen(hall, row):
    now, writer = hall.stage.clock.now(), hall.stage.writers.of(hall.make.realm_id)
    await writer.write(lambda tx: reactivate_user(tx, row.user_id, now=now))


def told(witness):
    """What the witness was told of permissions: what of, its id, and who is named."""
    found = []
    for event in witness.events:
        if event["type"] == "realm":
            found += [("realm", name, value) for name, value in event["data"].items()]
        elif event["type"] == "user_group" and event["op"] == "update":
            found += [(event["group_id"], name, value) for name, value in event["data"].items()]
        elif event["type"] == "stream":
            found.append((event["stream_id"], event["property"], event["value"]))
    return [(what, name, value["direct_members"]) for what, name, value in found]


@pytest_asyncio.fixture
async def named(hall, make):
    """A user named by permissions of everything: of what, which, and who else."""
    cook, helper = await make.user("Cook"), hall.other
    both = {"direct_members": [cook.user_id, helper.user_id], "direct_subgroups": []}
    alone = {"direct_members": [cook.user_id], "direct_subgroups": []}
    await make.change_settings(can_create_groups=both)
    open_group, closed_group = await make.group("open"), await make.group(deactivated=True)
    for group_id in (open_group, closed_group):
        await make.connection.execute(
            "UPDATE user_groups SET permissions = %(new)s WHERE group_id = %(group_id)s",
            new=make.connection.json({"can_mention_group": alone}),
            group_id=group_id,
        )
    public = await make.channel(creator=cook, subscribers=[hall.guest])
    private = await make.channel(
        invite_only=True, subscribers=[hall.member], can_subscribe_group=[cook, helper]
    )
    archived = await make.channel(is_archived=True, can_send_message_group=[cook])
    hall.stage.realm_caches.of(make.realm_id).forget_everything()
    return cook, {
        "realm": ("can_create_groups", [helper.user_id]),
        open_group: ("can_mention_group", []),
        closed_group: ("can_mention_group", []),
        public.channel_id: ("can_administer_channel_group", []),
        private.channel_id: ("can_subscribe_group", [helper.user_id]),
        archived.channel_id: ("can_send_message_group", []),
    }


async def test_users_who_see_a_permission_hear_that_it_names_a_user_no_more(hall, named, witnesses):
    cook, others = named
    owner, _, member, _, guest = [
        told(each)
        for each in await witnesses.watch(
            lambda: close(hall, cook), hall.everyone, views=[NEWEST_CLIENT]
        )
    ]
    everything = [(what, name, left) for what, (name, left) in others.items()]
    assert sorted(owner, key=str) == sorted(everything, key=str)
    assert sorted(member, key=str) == sorted(everything, key=str)
    *_, private, archived = others
    hidden = {private, archived}
    assert sorted(guest, key=str) == sorted([e for e in everything if e[0] not in hidden], key=str)


async def test_clients_of_old_keep_up_too(hall, named, witnesses):
    cook, _ = named
    await witnesses.watch(lambda: close(hall, cook), hall.everyone)
    await witnesses.watch(lambda: reopen(hall, cook), hall.everyone)


async def test_a_reactivated_user_is_named_again(hall, named, witnesses):
    cook, others = named
    await close(hall, cook)

    [owner] = await witnesses.watch(lambda: reopen(hall, cook), [hall.owner], views=[NEWEST_CLIENT])

    assert {(what, name) for what, name, _ in told(owner)} == {
        (what, name) for what, (name, _) in others.items()
    }
    assert all(cook.user_id in names for _, _, names in told(owner))


async def test_bots_that_leave_with_their_owner_are_named_no_more(hall, make, witnesses):
    cook = await make.user("Cook")
    oven = await make.user("Oven", bot_type=1, bot_owner=cook)
    channel = await make.channel(can_send_message_group=[oven, hall.member])

    [owner] = await witnesses.watch(lambda: close(hall, cook), [hall.owner], views=[NEWEST_CLIENT])

    name = "can_send_message_group"
    assert told(owner) == [(channel.channel_id, name, [hall.member.user_id])]


async def test_one_event_tells_of_all_channels_of_a_creator(hall, make):
    cook = await make.user("Cook", role=OWNER)
    for _ in range(20):
        await make.channel(creator=cook)

    await close(hall, cook)

    [together] = hall.told("stream/updates")
    assert len(together.event.updates) == 20


async def test_a_user_named_by_nothing_causes_no_event(hall, make):
    cook = await make.user("Cook")
    await close(hall, cook)
    assert not [*hall.told("stream/updates"), *hall.told("realm/update_dict")]
    assert not hall.told("user_group/update")
