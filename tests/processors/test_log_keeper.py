"""Old days of the log go, and what is still needed stays."""

from datetime import UTC, datetime, timedelta

import pytest

from queue_processors.log_keeper import EVENT_RETENTION_DAYS, LogKeeper
from storage import event_log
from storage.database import Database
from testkit.clock import StoppedClock
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def partitions(database: Database) -> list[str]:
    async with database.connection() as connection:
        return await connection.values(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent = 'event_log'::regclass ORDER BY 1"
        )


async def add_partition(database: Database, day) -> str:
    name = f"event_log_{day:%Y%m%d}"
    async with database.connection() as connection:
        await connection.raw.execute(
            f"CREATE TABLE {name} PARTITION OF event_log"
            f" FOR VALUES FROM ('{day}') TO ('{day + timedelta(days=1)}')"
        )
    return name


async def test_old_days_go_and_coming_days_are_made(database: Database):
    async with database.connection() as connection:
        today = await connection.value("SELECT (now() AT TIME ZONE 'utc')::date")
    clock = StoppedClock(datetime(today.year, today.month, today.day, 12, tzinfo=UTC))
    old = await add_partition(database, today - timedelta(days=EVENT_RETENTION_DAYS + 1))
    kept = await add_partition(database, today - timedelta(days=EVENT_RETENTION_DAYS))
    assert await LogKeeper(database, clock).tidy() == [old]
    there = await partitions(database)
    assert kept in there
    assert f"event_log_{today + timedelta(days=event_log.PARTITIONS_AHEAD_DAYS):%Y%m%d}" in there


async def test_what_a_shipper_has_to_read_stays(database: Database, make: Make):
    async with database.connection() as connection:
        today = await connection.value("SELECT (now() AT TIME ZONE 'utc')::date")
        long_ago = today - timedelta(days=30)
        await connection.execute(
            "UPDATE realm_clock SET day = %(day)s WHERE realm_id = %(r)s",
            day=long_ago,
            r=make.realm_id,
        )
    clock = StoppedClock(datetime(today.year, today.month, today.day, 12, tzinfo=UTC))
    name = await add_partition(database, long_ago)
    async with database.transaction() as connection:
        await connection.execute(
            """
            INSERT INTO event_log (realm_id, position, day, epoch, kind, audience, body, write_id)
            VALUES (%(r)s, 1, %(day)s, 1, 'job', '', '{}', gen_random_uuid())
            """,
            r=make.realm_id,
            day=long_ago,
        )
        await connection.execute(
            "UPDATE realm_clock SET position = 1 WHERE realm_id = %(r)s", r=make.realm_id
        )
    assert name not in await LogKeeper(database, clock).tidy()
