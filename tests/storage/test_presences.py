"""Presence in the database: numbers in the order of commits, and who is left out."""

import asyncio
from datetime import timedelta

import pytest

from storage import presences, users
from storage.database import Connection, Database
from storage.ids import UserId
from storage.presences import Ping
from testkit.factories import JOINED, Make, new_realm

pytestmark = pytest.mark.asyncio

MINUTE = timedelta(minutes=1)
START = JOINED + timedelta(days=30)


async def record(make: Make, *pings: Ping):
    return await make.connection.run(presences.record(make.realm_id, pings))


async def known(make: Make, since: int = -1):
    rows = await presences.changed_since(make.connection, make.realm_id, since)
    return {row.user_id: (row.active_at, row.seen_at) for row in rows}


async def until_blocked(onlooker: Connection) -> None:
    """Wait until another session of this database waits for a lock."""
    while not await onlooker.value(  # noqa: ASYNC110 - nothing tells it
        """
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'
        """
    ):
        await asyncio.sleep(0.01)


async def last(make: Make) -> int:
    rows = await presences.changed_since(make.connection, make.realm_id, -1)
    return rows[-1].update_id


async def test_what_is_later_counts(make_here):
    user_id = (await make_here.user()).user_id
    assert await record(make_here, Ping(user_id, None, START)) == [(user_id, None, None)]
    assert await known(make_here) == {user_id: (JOINED, START)}

    later = START + MINUTE
    before = await record(make_here, Ping(user_id, later, later))
    assert before == [(user_id, JOINED, START)]
    await record(make_here, Ping(user_id, START, START))
    await record(make_here, Ping(user_id, None, later + MINUTE))
    assert await known(make_here) == {user_id: (later, later + MINUTE)}


async def test_bots_the_deactivated_and_the_unwilling_are_left_out(make_here):
    people = [
        await make_here.user(bot_type=1),
        await make_here.user(is_active=False),
        await make_here.user(settings={"presence_enabled": False}),
        await make_here.user(settings={"twenty_four_hour_time": True}),
    ]
    ids = [row.user_id for row in people]
    pings = [Ping(user_id, START, START) for user_id in (*ids, UserId(10**9))]
    assert await record(make_here, *pings) == [(ids[3], None, None)]
    assert await known(make_here) == {ids[3]: (START, START)}


async def test_who_is_gone_is_not_shown(make_here):
    row = await make_here.user()
    await record(make_here, Ping(row.user_id, START, START))
    await users.update_active(make_here.connection, make_here.realm_id, [row.user_id], active=False)
    assert await known(make_here) == {}


async def test_one_write_has_one_number_and_the_next_a_higher_one(make_here):
    ids = [row.user_id for row in await make_here.users(3)]
    await record(make_here, *[Ping(user_id, START, START) for user_id in ids])
    first = await presences.changed_since(make_here.connection, make_here.realm_id, -1)
    assert len({row.update_id for row in first}) == 1
    await record(make_here, Ping(ids[1], None, START + MINUTE))
    [row] = await presences.changed_since(
        make_here.connection, make_here.realm_id, first[0].update_id
    )
    assert (row.user_id, row.update_id) == (ids[1], first[0].update_id + 1)


async def test_numbers_become_visible_in_their_order(make: Make, database: Database):
    """A write that took its number first, and commits late, is never passed by another one."""
    slow, quick = [row.user_id for row in await make.users(2)]
    async with database.transaction() as first:
        await first.run(presences.record(make.realm_id, [Ping(slow, START, START)]))
        other = asyncio.create_task(record(make, Ping(quick, START, START)))
        async with database.connection() as onlooker:
            await until_blocked(onlooker)
            assert await presences.changed_since(onlooker, make.realm_id, -1) == []
    await other
    rows = await presences.changed_since(make.connection, make.realm_id, -1)
    assert [row.user_id for row in rows] == [slow, quick]
    assert rows[0].update_id < rows[1].update_id


async def test_a_ping_that_waits_for_its_turn_sees_who_has_left_meanwhile(
    make: Make, database: Database
):
    user_id = (await make.user()).user_id
    await record(make, Ping(user_id, START, START))
    async with database.transaction() as leaving:
        await leaving.execute(
            """
            UPDATE users SET settings = '{"presence_enabled": false}'
             WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
            """,
            realm_id=make.realm_id,
            user_id=user_id,
        )
        latest = START - MINUTE
        await presences.leave(leaving, make.realm_id, user_id, latest=latest)
        late = START + MINUTE
        other = asyncio.create_task(record(make, Ping(user_id, late, late)))
        async with database.connection() as onlooker:
            await until_blocked(onlooker)
    assert await other == []
    assert await known(make) == {user_id: (latest, latest)}


async def test_who_leaves_was_there_until_then_at_the_latest(make_here):
    user_id = (await make_here.user()).user_id
    await presences.leave(make_here.connection, make_here.realm_id, user_id, latest=START)
    assert await known(make_here) == {}
    await presences.arrive(make_here.connection, make_here.realm_id, user_id, now=START)
    assert await known(make_here) == {user_id: (START, START)}
    number = await last(make_here)
    await presences.leave(make_here.connection, make_here.realm_id, user_id, latest=START - MINUTE)
    await presences.leave(make_here.connection, make_here.realm_id, user_id, latest=START)
    assert await known(make_here, number) == {user_id: (START - MINUTE, START - MINUTE)}


async def test_a_new_epoch_begins_above_all_numbers(make_here):
    """A restored backup does not give out again what clients have seen."""
    user_id = (await make_here.user()).user_id
    for minute in range(3):
        await record(make_here, Ping(user_id, None, START + minute * MINUTE))
    before = await last(make_here)
    await make_here.connection.value(
        "SELECT renew_epoch(%(realm_id)s)::text", realm_id=make_here.realm_id
    )
    await record(make_here, Ping(user_id, None, START + 3 * MINUTE))
    first = await last(make_here)
    assert first > before + 10**12
    await record(make_here, Ping(user_id, None, START + 4 * MINUTE))
    assert await last(make_here) == first + 1
    assert first < 2**53, "clients keep numbers in that many bits"


async def test_realms_count_for_themselves(make_here):
    other = await new_realm(make_here.connection)
    mine, theirs = (await make_here.user()).user_id, (await other.user()).user_id
    await record(make_here, Ping(mine, START, START), Ping(theirs, START, START))
    assert set(await known(make_here)) == {mine}
    assert await known(other) == {}
    await record(other, Ping(theirs, START, START))
    assert await last(other) == await last(make_here)
