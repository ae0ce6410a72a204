"""The partitions of the log are made ahead, by several processes at once if it comes to that."""

import asyncio

import pytest

from storage import event_log
from storage.database import open_database

pytestmark = pytest.mark.asyncio

PROCESSES = 6
MANY_DAYS = 40


async def test_several_processes_make_partitions_at_once(database_url):
    """Each day is made once, and the second process finds it there."""
    ready = asyncio.Barrier(PROCESSES)

    async def make() -> int:
        async with (
            open_database(database_url, min_size=1, max_size=1) as database,
            database.connection() as connection,
        ):
            await ready.wait()
            return await event_log.make_partitions(connection, days_ahead=MANY_DAYS)

    made = await asyncio.gather(*(make() for _ in range(PROCESSES)))
    assert sum(made) > 0
    assert await make_again(database_url) == 0


async def make_again(database_url) -> int:
    async with open_database(database_url) as database, database.connection() as connection:
        return await event_log.make_partitions(connection, days_ahead=MANY_DAYS)
