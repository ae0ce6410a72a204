"""Leasing from a budget that several processes share."""

import asyncio

import pytest

from storage import rate_limits
from storage.database import Connection, Database

pytestmark = pytest.mark.asyncio

LIMIT, SECONDS = 200, 60


async def lease(connection: Connection, key: str = "k", **facts):
    return await rate_limits.lease(connection, key, **{"limit": LIMIT, "seconds": SECONDS} | facts)


async def let_pass(connection: Connection, windows: int, seconds: int = SECONDS) -> None:
    """What was used has been used so many windows earlier."""
    await connection.execute(
        "UPDATE rate_limits SET window_start = window_start - make_interval(secs => %(secs)s)",
        secs=windows * seconds,
    )


async def test_a_lease_is_a_quarter_of_what_is_left(connection):
    rows = [await lease(connection) for _ in range(3)]
    assert [(row.granted, row.free, row.used) for row in rows] == [
        (50, 200, 50),
        (37, 150, 87),
        (28, 113, 115),
    ]


async def test_all_of_a_budget_is_leased_and_no_more(connection):
    granted = [(await lease(connection)).granted for _ in range(40)]
    assert sum(granted) == LIMIT
    assert granted[-1] == 0
    assert granted[:19].count(0) == 0


async def test_keys_have_budgets_of_their_own(connection):
    for _ in range(40):
        await lease(connection)
    assert (await lease(connection, "other")).granted == 50


async def test_what_was_used_in_the_window_before_counts_less_and_less(connection):
    for _ in range(40):
        await lease(connection)
    await let_pass(connection, 1)
    row = await lease(connection)
    assert row.used_before == LIMIT
    assert row.free == int(LIMIT * row.elapsed / SECONDS)


async def test_what_is_two_windows_old_no_longer_counts(connection):
    for _ in range(40):
        await lease(connection)
    await let_pass(connection, 2)
    assert (await lease(connection)).free == LIMIT


async def test_what_a_lease_left_is_given_back_in_the_next_window(connection):
    first = await lease(connection)
    await let_pass(connection, 1)
    second = await lease(connection, unused=49, unused_window=first.window - 1)
    assert second.used_before == 1
    third = await lease(connection)
    assert third.used_before == 1


async def test_what_is_said_to_be_unused_in_the_present_window_is_not_believed(connection):
    first = await lease(connection)
    assert (await lease(connection, unused=49, unused_window=first.window)).free == 150


async def test_windows_of_a_clock_that_was_ahead_do_not_count_and_are_swept(connection):
    for _ in range(40):
        await lease(connection)
    await let_pass(connection, -10)
    assert (await lease(connection)).free == LIMIT
    await rate_limits.delete_old(connection, "k", seconds=SECONDS)
    assert await connection.values("SELECT used FROM rate_limits") == [50]


async def test_old_windows_are_swept_by_the_beginning_of_their_key(connection):
    await lease(connection, "user:1")
    await lease(connection, "address:1")
    await let_pass(connection, 3)
    await lease(connection, "user:1")
    await rate_limits.delete_old(connection, "user:", seconds=SECONDS)
    keys = await connection.values("SELECT key FROM rate_limits ORDER BY window_start")
    assert keys == ["address:1", "user:1"]


async def test_a_forgotten_key_begins_anew(connection):
    for _ in range(10):
        await lease(connection, limit=5, seconds=1800)
    await rate_limits.forget(connection, "k")
    assert (await lease(connection, limit=5, seconds=1800)).free == 5


async def test_processes_that_lease_at_once_never_get_more_than_there_is(database: Database):
    async def one(limit: int) -> int:
        async with database.connection() as connection:
            return int((await lease(connection, f"of {limit}", limit=limit)).granted)

    for limit in (1, 5, 23):
        granted = [sum(await asyncio.gather(*(one(limit) for _ in range(20)))) for _ in range(5)]
        assert sum(granted) <= limit
        assert granted[0] > 0
