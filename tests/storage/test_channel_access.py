"""What the database and the permission engine say of who may read a channel is the same."""

import random
from datetime import timedelta
from itertools import product
from typing import Any

import pytest

from server.domain.access import GUEST, ROLES, GroupSetting
from server.domain.channels import GRANTS_CONTENT, Standing
from server.domain.clock import SystemClock
from server.domain.realm_settings import RealmSettings
from server.realm_cache import DEFAULT_ADDRESSES, RealmCache
from storage import realms
from storage.channels import ChannelRow
from storage.ids import GroupId, UserId
from storage.users import UserRow
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

WAITING_DAYS = 3
CASES = 12


async def people_of(make: Make) -> list[UserRow]:
    """A user of each role, old and new ones, and a member more."""
    now = SystemClock().now()
    return [
        await make.user(role=role, date_joined=now - timedelta(days=days))
        for role, days in product(ROLES, (100, 1))
    ]


async def groups_of(make: Make, rng: random.Random, people: list[UserRow]) -> list[GroupId]:
    """Role groups, and groups of people that hold some of those before them, or a role group."""
    role_groups = list((await make.role_groups()).values())
    own: list[GroupId] = []
    for _ in range(5):
        nested = rng.sample(own, rng.randint(0, min(2, len(own))))
        nested += rng.sample(role_groups, rng.choice((0, 0, 1)))
        own.append(
            await make.group(
                members=rng.sample(people, rng.randint(0, 3)),
                subgroups=nested,
                deactivated=rng.random() < 0.2,
            )
        )
    return [*role_groups, *own, *own]


def some_setting(rng: random.Random, people: list[UserRow], groups: list[GroupId]) -> GroupSetting:
    if rng.random() < 0.6:
        return GroupSetting(group_id=rng.choice(groups))
    return GroupSetting(
        direct_members=tuple(UserId(u.user_id) for u in rng.sample(people, rng.randint(0, 2))),
        direct_subgroups=tuple(rng.sample(sorted(set(groups)), rng.randint(0, 2))),
    )


async def channel_of(
    make: Make, rng: random.Random, people: list[UserRow], groups: list[GroupId]
) -> ChannelRow:
    invite_only = rng.random() < 0.8
    granted: dict[str, Any] = {
        name: some_setting(rng, people, groups)
        for name in rng.sample(GRANTS_CONTENT, rng.randint(0, 2))
    }
    return await make.channel(
        subscribers=rng.sample(people, rng.randint(0, 4)),
        invite_only=invite_only,
        is_web_public=not invite_only and rng.random() < 0.3,
        shares_history=None if not invite_only else rng.random() < 0.5,
        **granted,
    )


async def standing_of(make: Make, row: UserRow) -> Standing:
    connection = make.connection
    realm = await realms.by_id(connection, make.realm_id)
    assert realm is not None
    nowhere: Any = None
    realm_cache = RealmCache(
        make.realm_id, nowhere, SystemClock(), DEFAULT_ADDRESSES, exact=connection
    )
    graph = await realm_cache.read_groups(connection, realm)
    return Standing(realm_cache.person(row), graph, RealmSettings.of(realm.settings))


def access(standing: Standing, channel: ChannelRow, *, subscribed: bool) -> int:
    """2 everything, 1 what they received, 0 nothing."""
    if standing.reads_history(channel, subscribed=subscribed):
        return 2
    return int(standing.reads(channel, subscribed=subscribed))


async def accesses(make: Make, user: UserRow, channels: list[ChannelRow]) -> dict[int, int]:
    rows = await make.connection.tuples(
        "SELECT channel_id, access FROM reader_access(%(r)s, %(u)s, %(c)s::bigint[])",
        r=make.realm_id,
        u=user.user_id,
        c=[channel.channel_id for channel in channels],
    )
    return dict(rows)


async def readable(make: Make, user: UserRow, ids: list[int]) -> dict[int, tuple[bool, bool]]:
    """Which of these messages they received, and which they may read."""
    rows = await make.connection.tuples(
        "SELECT id, received, accessible FROM message_states(%(r)s, %(u)s, %(ids)s::bigint[])",
        r=make.realm_id,
        u=user.user_id,
        ids=ids,
    )
    return {message_id: (received, accessible) for message_id, received, accessible in rows}


@pytest.mark.parametrize("seed", range(CASES))
async def test_both_engines_agree_on_who_may_read_a_channel(make_here: Make, seed: int):
    make, rng = make_here, random.Random(seed)
    await make.change_settings(waiting_period_threshold=WAITING_DAYS)
    people = await people_of(make)
    groups = await groups_of(make, rng, people)
    channels = [await channel_of(make, rng, people, groups) for _ in range(8)]
    sender = people[0]
    sent = {c.channel_id: await make.message(sender, await make.topic(c, "t")) for c in channels}
    subscribed = {c.channel_id: await _subscribers(make, c) for c in channels}
    for channel in rng.sample(channels, 3):
        leaving = [u for u in people if u.user_id in subscribed[channel.channel_id]][:2]
        await make.unsubscribe(channel, leaving)
        subscribed[channel.channel_id] -= {u.user_id for u in leaving}

    for user in people:
        standing = await standing_of(make, user)
        told = await accesses(make, user, channels)
        states = await readable(make, user, list(sent.values()))
        for channel in channels:
            is_in = user.user_id in subscribed[channel.channel_id]
            expected = access(standing, channel, subscribed=is_in)
            assert told[channel.channel_id] == expected, (user, channel, is_in)
            received, accessible = states[sent[channel.channel_id]]
            assert accessible == (expected == 2 or (expected == 1 and received))


async def _subscribers(make: Make, channel: ChannelRow) -> set[int]:
    return set(
        await make.connection.values(
            "SELECT user_id FROM subscriptions"
            " WHERE realm_id = %(r)s AND channel_id = %(c)s AND active",
            r=make.realm_id,
            c=channel.channel_id,
        )
    )


async def test_a_group_that_opens_a_private_channel_opens_it_to_no_guest(make_here: Make):
    """A setting may name a guest, or hold a group that does: it is not for guests all the same."""
    make = make_here
    guest, member = await make.user(role=GUEST), await make.user()
    friends = await make.group(members=[guest, member])
    channel = await make.channel(invite_only=True, shares_history=True, can_subscribe_group=friends)
    assert await accesses(make, member, [channel]) == {channel.channel_id: 2}
    assert await accesses(make, guest, [channel]) == {channel.channel_id: 0}


async def test_no_function_of_the_database_asks_in_another_way(make_here: Make):
    """There is one `channel_access`, and all callers call that one."""
    bodies = await make_here.connection.values(
        r"SELECT regexp_replace(prosrc, '\s+', ' ', 'g') FROM pg_proc"
        r" WHERE prosrc LIKE '%%channel_access(%%'"
    )
    calls = [call for body in bodies for call in body.split("channel_access(")[1:]]
    assert len(calls) >= len(bodies) > 0
    for call in calls:
        assert call.startswith(("p_user_id,", "w.user_id,")), call
