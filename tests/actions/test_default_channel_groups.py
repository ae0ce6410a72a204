"""Default channel groups: who may change them, who hears of it, who joins their channels."""

import asyncio

import pytest

from server.actions import default_channel_groups as actions
from server.actions.channels.change import change_channel
from server.actions.users import NewUser, create_users
from server.domain import default_channel_groups as rules
from server.domain.access import GUEST, MEMBER
from server.domain.channel_changes import ChannelChange
from server.domain.errors import BadRequestError, InvalidParameterError
from server.events.channels import DefaultChannelsChanged
from storage import audit_log, channels, default_channel_groups, subscriptions
from storage.ids import ChannelGroupId
from testkit.factories import new_realm
from testkit.oracles.agreement import Witnesses
from testkit.realm_with_roles import Hall
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio

NONE = ChannelGroupId(2**62)


async def add(hall: Hall, name="Cooks", description="Who cooks", channels=(), row=None):
    actor = hall.actor(row or hall.admin)
    await hall.stage.write(actions.add_group, actor, name, description, list(channels))
    return next(each.group_id for each in await kept(hall) if each.name == name.strip())


async def kept(hall: Hall):
    return await default_channel_groups.of_realm(hall.make.connection, hall.make.realm_id)


async def do(hall: Hall, action, *args, row=None):
    return await hall.stage.write(action, hall.actor(row or hall.admin), *args)


async def change(hall: Hall, channel, **change):
    await hall.stage.write(
        change_channel,
        hall.actor(hall.admin),
        channel.channel_id,
        ChannelChange(**change),
        web_public_enabled=False,
    )


async def test_every_change_is_told_to_everyone_but_guests_and_kept_in_the_audit_log(
    hall: Hall, witnesses: Witnesses
):
    soup, cake = [(await hall.make.channel(name)).channel_id for name in ("soup", "cake")]

    async def all_of_it():
        group = await add(hall, " Cooks ", channels=["SOUP", "soup"])
        await do(hall, actions.add_channels, group, ["cake"])
        await do(hall, actions.change_group, group, "Chefs", None)
        await do(hall, actions.change_group, group, "chefs", "They cook")
        await do(hall, actions.remove_channels, group, ["Soup"])
        await do(hall, actions.remove_group, group)

    seen = await witnesses.watch(all_of_it, hall.everyone)

    events = {witness.user.user_id: witness.events for witness in seen}
    assert events.pop(hall.guest.user_id) == []
    assert {len(each) for each in events.values()} == {6}
    told = [each["default_stream_groups"] for each in events[hall.member.user_id]]
    assert [[(g["name"], g["streams"]) for g in groups] for groups in told] == [
        [("Cooks", [soup])],
        [("Cooks", [soup, cake])],
        [("Chefs", [soup, cake])],
        [("chefs", [soup, cake])],
        [("chefs", [cake])],
        [],
    ]
    rows = await audit_log.newest(hall.make.connection, hall.make.realm_id, limit=6)
    assert {row.action for row in rows} == {"default_channel_group_changed"}
    assert [(row.before, row.after) for row in reversed(rows)][2:4] == [
        ({"name": "Cooks"}, {"name": "Chefs"}),
        (
            {"name": "Chefs", "description": "Who cooks"},
            {"name": "chefs", "description": "They cook"},
        ),
    ]


@pytest.mark.parametrize("what", ["is_archived", "invite_only", "is_default"])
async def test_a_channel_that_is_closed_or_joined_by_default_leaves_its_groups(
    hall: Hall, witnesses: Witnesses, what: str
):
    soup = await hall.make.channel("soup", subscribers=[hall.admin])
    await hall.make.channel("cake")
    await add(hall, "One", channels=["soup", "cake"])
    await add(hall, "Two", channels=["soup"])
    await add(hall, "Three", channels=["cake"])

    await witnesses.watch(lambda: change(hall, soup, **{what: True}), hall.everyone)

    cake = await channels.named(hall.make.connection, hall.make.realm_id, ["cake"])
    assert {row.name: row.channel_ids for row in await kept(hall)} == {
        "One": [cake[0].channel_id],
        "Two": [],
        "Three": [cake[0].channel_id],
    }


async def test_only_public_channels_not_joined_by_default_are_in_one(hall: Hall):
    make = hall.make
    await make.channel("secret", invite_only=True, subscribers=[hall.admin])
    default = await make.channel("default")
    await change(hall, default, is_default=True)
    old = await make.channel("old")
    await make.archive(old)
    group = await add(hall)

    for name, said in (
        ("secret", "no public channel"),
        ("old", "no public channel"),
        ("nowhere", "no public channel"),
        ("default", "every new user joins"),
    ):
        for action, *args in (
            (actions.add_group, "Other", "", [name]),
            (actions.add_channels, group, [name]),
        ):
            with pytest.raises(InvalidParameterError, match=said):
                await do(hall, action, *args)
    assert [row.channel_ids for row in await kept(hall)] == [[]]


async def test_invalid_changes_are_refused_and_those_without_effect_send_no_event(hall: Hall):
    await hall.make.channel("soup")
    group, other = await add(hall, channels=["soup"]), await add(hall, "Other")
    hall.stage.happened.clear()
    unfit = "x" * (rules.MAX_NAME_LENGTH + 1), " ", "a\nb", "cooks"

    for name in unfit:
        with pytest.raises(InvalidParameterError):
            await do(hall, actions.add_group, name, "", [])
        with pytest.raises(InvalidParameterError):
            await do(hall, actions.change_group, other, name, None)
    long = "x" * (rules.MAX_DESCRIPTION_LENGTH + 1)
    with pytest.raises(InvalidParameterError):
        await do(hall, actions.change_group, other, None, long)
    with pytest.raises(InvalidParameterError, match="already"):
        await do(hall, actions.add_channels, group, ["soup"])
    with pytest.raises(InvalidParameterError, match="not in the group"):
        await do(hall, actions.remove_channels, other, ["soup"])
    for action, *args in (
        (actions.remove_group,),
        (actions.change_group, "New", None),
        (actions.add_channels, []),
    ):
        with pytest.raises(BadRequestError, match="does not exist"):
            await do(hall, action, NONE, *args)
    await do(hall, actions.change_group, group, "Cooks", "Who cooks")
    assert hall.stage.happened == []


async def test_there_are_not_endlessly_many(hall: Hall):
    for number in range(rules.MAX_GROUPS):
        await add(hall, f"Group {number}")
    with pytest.raises(BadRequestError, match="Too many"):
        await add(hall, "One more")


async def test_they_are_for_administrators(hall: Hall):
    group = await add(hall)
    hall.stage.happened.clear()
    for row in (hall.member, hall.guest):
        for action, *args in (
            (actions.add_group, "New", "", []),
            (actions.change_group, group, "New", None),
            (actions.add_channels, group, []),
            (actions.remove_channels, group, []),
            (actions.remove_group, group),
        ):
            with pytest.raises(BadRequestError, match="administrator"):
                await do(hall, action, *args, row=row)
    assert hall.stage.happened == []


async def test_another_realms_are_not_there(hall: Hall, stage: Stage):
    theirs = await add(hall)
    other = await new_realm(hall.make.connection)
    boss = await other.actor(role=200)
    with pytest.raises(BadRequestError, match="does not exist"):
        await stage.write(actions.remove_group, boss, theirs)
    assert len(await kept(hall)) == 1


async def test_newcomers_join_the_channels_of_the_groups_they_choose(
    hall: Hall, witnesses: Witnesses
):
    everyone = await hall.make.channel("everyone")
    await change(hall, everyone, is_default=True)
    soup, cake = await hall.make.channel("soup"), await hall.make.channel("cake")
    cooks = await add(hall, "Cooks", channels=["soup", "cake"])
    bakers = await add(hall, "Bakers", channels=["cake"])
    new = [
        NewUser(
            email="a@example.com", full_name="Person A", role=MEMBER, channel_groups=[cooks, bakers]
        ),
        NewUser(email="b@example.com", full_name="Person B", role=MEMBER, channel_groups=[bakers]),
        NewUser(email="c@example.com", full_name="Person C", role=MEMBER),
        NewUser(email="d@example.com", full_name="Person D", role=GUEST, channel_groups=[cooks]),
    ]
    created = []
    now = hall.stage.clock.now()
    writer = hall.stage.writers.of(hall.make.realm_id)

    async def come():
        created.extend(await writer.write(lambda tx: create_users(tx, new, now=now)))

    await witnesses.watch(come, hall.everyone)

    rows = await subscriptions.of_users(
        hall.make.connection, hall.make.realm_id, [each.user_id for each in created]
    )
    places: dict[int, set[int]] = {each.user_id: set() for each in created}
    for row in rows:
        places[row.user_id].add(row.channel_id)
    all_three = {each.channel_id for each in (everyone, soup, cake)}
    assert list(places.values()) == [
        all_three,
        {everyone.channel_id, cake.channel_id},
        {everyone.channel_id},
        set(),
    ]
    lost = NewUser(email="e@example.com", full_name="Person E", role=MEMBER, channel_groups=[NONE])
    with pytest.raises(BadRequestError, match="does not exist"):
        await writer.write(lambda tx: create_users(tx, [lost], now=now))


async def test_the_last_word_on_default_channels_names_them_all(hall: Hall, database):
    """Two processes change two channels at once."""
    made = [await hall.make.channel(name) for name in ("one", "two", "three", "four")]
    stages = [Stage(database, hall.stage.clock) for _ in made]

    async def make_default(stage, channel):
        await stage.write(
            change_channel,
            hall.actor(hall.admin),
            channel.channel_id,
            ChannelChange(is_default=True),
            web_public_enabled=False,
        )

    await asyncio.gather(*map(make_default, stages, made))

    told = [each for stage in stages for each in stage.happened]
    told = [each for each in told if isinstance(each.event, DefaultChannelsChanged)]
    last = max(told, key=lambda each: each.position).event
    assert isinstance(last, DefaultChannelsChanged)
    assert last.default_streams == sorted(each.channel_id for each in made)
