"""The pool and its connections."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime

import psycopg
import pytest
import pytest_asyncio

from storage.database import Database, Statement, open_database
from testkit.factories import Make, new_realm
from testkit.services.proxy import Proxy, proxy_to

POOL = 3
ATTEMPTS = 12
"""By then a pool that doubles its pauses would wait for half a minute."""


@dataclass
class Numbered:
    number: int


async def hold_for_a_query(database: Database) -> None:
    async with database.connection() as connection:
        await connection.value("SELECT 1")


@pytest.mark.asyncio
async def test_a_cancellation_is_not_lost_while_waiting_for_a_connection(server_url: str):
    """Whatever the moment: also that in which the connection comes in."""
    async with open_database(server_url, min_size=1, max_size=1) as database:
        for round_ in range(200):
            holder = asyncio.create_task(hold_for_a_query(database))
            await asyncio.sleep(0)
            waiting = asyncio.create_task(hold_for_a_query(database))
            for _ in range(round_ % 5):
                await asyncio.sleep(0)
            await holder
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting


@pytest.mark.asyncio
async def test_the_connection_that_was_used_last_is_used_again(server_url: str):
    async with open_database(server_url, min_size=POOL, max_size=POOL) as database:
        used: set[int] = set()
        for _ in range(2 * POOL):
            async with database.connection() as connection:
                used.add(connection.backend)
        assert len(used) == 1
        async with database.connection() as one, database.connection() as another:
            assert one.backend != another.backend


@pytest.mark.asyncio
async def test_idle_connections_are_closed_together_and_not_the_one_in_use(
    server_url: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("storage.pool.IDLE_TIMEOUT_SECONDS", 0.5)
    async with open_database(server_url, min_size=1, max_size=2 * POOL) as database:
        async with AsyncExitStack() as burst:
            held = [await burst.enter_async_context(database.connection()) for _ in range(POOL)]
            assert len({each.backend for each in held}) == POOL
        async with database.connection() as connection:
            in_use = connection.backend
        sizes = [database.pool_use()["size"]]
        async with asyncio.timeout(10.0):
            while sizes[-1] > 1:
                async with database.connection() as connection:
                    assert connection.backend == in_use
                await asyncio.sleep(0.01)
                if (size := database.pool_use()["size"]) != sizes[-1]:
                    sizes.append(size)
        assert sizes == [POOL, 1]


async def backend_after_intervals(database: Database, count: int) -> int:
    """Which backend answers after so many intervals in which one connection was enough."""
    for _ in range(count):
        await hold_for_a_query(database)
        await database._pool._shrink_pool()
        await database._pool.wait()
    async with database.connection() as connection:
        return connection.backend


@pytest.mark.asyncio
async def test_a_connection_kept_from_a_burst_is_replaced_once_one_was_enough_again(
    server_url: str,
):
    async with open_database(server_url, min_size=1, max_size=POOL) as database:
        before = await backend_after_intervals(database, 3)
        assert await backend_after_intervals(database, 3) == before  # there was no burst

        async with AsyncExitStack() as burst:
            for _ in range(POOL):
                await burst.enter_async_context(database.connection())
        kept = await backend_after_intervals(database, 2)
        assert database.pool_use()["size"] == 1
        fresh = await backend_after_intervals(database, 1)
        assert fresh != kept
        assert await backend_after_intervals(database, 3) == fresh
        assert database.pool_use()["size"] == 1


@pytest.mark.asyncio
async def test_a_connection_in_use_when_those_of_a_burst_are_replaced_goes_when_it_is_returned(
    server_url: str,
):
    async with open_database(server_url, min_size=1, max_size=POOL) as database:
        async with AsyncExitStack() as burst:
            for _ in range(POOL):
                await burst.enter_async_context(database.connection())
        kept = await backend_after_intervals(database, 2)
        async with database.connection() as connection:
            await database._pool._shrink_pool()
            assert await connection.value("SELECT pg_backend_pid()") == kept
        assert await backend_after_intervals(database, 0) != kept


@pytest.mark.asyncio
async def test_what_is_read_together_is_of_one_moment(server_url: str):
    async with open_database(server_url) as database, database.snapshot() as connection:
        first, again, other = await connection.together(
            connection.value("SELECT pg_current_snapshot()::text"),
            connection.many(Numbered, "SELECT generate_series(1, 3) AS number"),
            connection.value("SELECT pg_current_snapshot()::text"),
        )
        async with database.connection() as writer:
            await writer.value("SELECT pg_current_xact_id()::text")

        assert first == other == await connection.value("SELECT pg_current_snapshot()::text")
        assert again == [Numbered(1), Numbered(2), Numbered(3)]
        assert not connection.sees_only_what_is_committed


@pytest.mark.asyncio
async def test_of_what_is_read_together_one_failure_ends_all_with_its_own_error(server_url: str):
    async with open_database(server_url, min_size=1, max_size=1) as database:
        for _ in range(5):
            with pytest.raises(psycopg.errors.DivisionByZero):
                async with database.snapshot() as connection:
                    await connection.together(
                        connection.value("SELECT pg_sleep(0.01)"),
                        connection.value("SELECT 1 / (SELECT 0)"),
                        connection.value("SELECT 1"),
                    )
            async with database.connection() as connection:
                assert connection.sees_only_what_is_committed
                assert await connection.value("SELECT 1") == 1


@pytest.mark.asyncio
async def test_a_cancellation_ends_what_is_read_together(server_url: str):
    async with open_database(server_url, min_size=1, max_size=1) as database:

        async def read() -> None:
            async with database.snapshot() as connection:
                asking.set()
                await connection.together(
                    connection.value("SELECT pg_sleep(600)"), connection.value("SELECT 1")
                )

        asking = asyncio.Event()
        reading = asyncio.create_task(read())
        await asking.wait()
        await asyncio.sleep(0.05)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        async with database.connection() as connection:
            assert await connection.value("SELECT 1") == 1


@dataclass
class Away:
    """A database behind a network that a test can cut."""

    database: Database
    proxy: Proxy


@pytest_asyncio.fixture
async def away(server_url: str) -> AsyncIterator[Away]:
    info = psycopg.conninfo.conninfo_to_dict(server_url)
    async with proxy_to(int(info.get("port") or 5432)) as proxy:
        through = psycopg.conninfo.make_conninfo(server_url, host="127.0.0.1", port=proxy.port)
        async with open_database(through, min_size=POOL, max_size=POOL) as database:
            yield Away(database, proxy)


@pytest.mark.asyncio
async def test_a_dead_connection_is_never_handed_out(away: Away):
    """All connections of the pool die at once; later requests do not notice."""
    for _ in range(3):
        await asyncio.gather(*[hold_for_a_query(away.database) for _ in range(POOL)])
        away.proxy.cut()
        await asyncio.gather(*[hold_for_a_query(away.database) for _ in range(3 * POOL)])


@pytest.mark.asyncio
async def test_a_host_that_vanishes_without_a_word_is_given_up_after_seconds(away: Away):
    """Whether it is asked something just then, or not: TCP itself would take fifteen minutes."""
    async with away.database.connection() as pooled, away.database.direct() as direct:
        for raw in (pooled.raw, direct):
            with socket.socket(fileno=os.dup(raw.fileno())) as connection:
                limit = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                assert limit == 15_000
                assert connection.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE) == 10


@pytest.mark.asyncio
async def test_a_database_that_is_back_is_found_with_the_next_attempt(away: Away):
    """The pauses between attempts do not grow: after many of them the next one is as near."""
    away.proxy.refuse()
    waiting = asyncio.create_task(hold_for_a_query(away.database))
    start = away.database.attempts()
    while away.database.attempts() < start + ATTEMPTS:  # noqa: ASYNC110 - the pool has no callback
        await asyncio.sleep(0.01)
    assert not waiting.done()
    await away.proxy.allow()
    before = away.database.attempts()
    await waiting
    await hold_for_a_query(away.database)
    assert away.database.attempts() <= before + 2 * POOL


@pytest.mark.asyncio
async def test_who_holds_a_connection_reads_through_it(server_url: str):
    """With one connection in all, waiting for another would be for ever."""
    async with open_database(server_url, min_size=1, max_size=1) as database:
        async with database.connection() as held, database.reading() as again:
            assert again.raw is held.raw
            assert again.sees_only_what_is_committed
        async with database.transaction() as held, database.reading() as again:
            assert again.raw is held.raw
            assert not again.sees_only_what_is_committed
        async with database.reading() as alone:
            assert await alone.value("SELECT 1") == 1


@pytest.mark.asyncio
async def test_other_tasks_do_not_read_through_a_held_connection(server_url: str):
    async def backend() -> int:
        async with database.reading() as connection:
            return connection.backend

    async with (
        open_database(server_url, min_size=2, max_size=2) as database,
        database.transaction() as held,
    ):
        assert await asyncio.create_task(backend()) != held.backend


@pytest.mark.asyncio
async def test_writes_take_turns_whatever_level_the_database_is_set_to(database_url: str):
    """Under a stricter one the second of two turns would fail: the clock's row has changed."""
    async with open_database(database_url) as database, database.connection() as connection:
        make = await new_realm(connection)
        name = connection.raw.info.dbname
        await connection.raw.execute(
            psycopg.sql.SQL(
                "ALTER DATABASE {} SET default_transaction_isolation = serializable"
            ).format(psycopg.sql.Identifier(name))
        )
    async with (
        open_database(database_url) as database,
        database.connection() as one,
        database.connection() as other,
    ):
        assert await one.value("SHOW transaction_isolation") == "read committed"
        turns = [Make(each, make.realm_id) for each in (one, other)]
        positions = await asyncio.gather(*[turn.at_position() for turn in turns])
        assert sorted(positions) == [1, 2]


@pytest.mark.asyncio
async def test_moments_are_read_wherever_the_database_thinks_it_is(database_url: str):
    """East of Greenwich the last moment for which one may schedule is in the year 10000."""
    with psycopg.connect(database_url, autocommit=True) as raw:
        name = psycopg.sql.Identifier(raw.info.dbname)
        raw.execute(psycopg.sql.SQL("ALTER DATABASE {} SET timezone = 'Asia/Tokyo'").format(name))
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    async with open_database(database_url) as database, database.connection() as connection:
        assert await connection.value("SELECT %(last)s::timestamptz", last=last) == last


@pytest.mark.asyncio
async def test_that_the_database_is_away_is_told_once(away: Away, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.INFO, "storage.pool"):
        away.proxy.refuse()
        start = away.database.attempts()
        waiting = asyncio.create_task(hold_for_a_query(away.database))
        while away.database.attempts() < start + ATTEMPTS:  # noqa: ASYNC110 - the pool has no callback
            await asyncio.sleep(0.01)
        await away.proxy.allow()
        await waiting
    first, second = [each for each in caplog.records if each.name == "storage.pool"]
    assert first.getMessage() == "database.unavailable"
    assert "refused" in first.__dict__["fields"]["reason"]
    assert second.getMessage() == "database.recovered"
    assert logging.getLogger("psycopg.pool").getEffectiveLevel() == logging.CRITICAL


@pytest.mark.asyncio
async def test_a_statement_that_fails_among_others_is_raised_and_not_logged_as_well(
    server_url: str, caplog
):
    async def fail(database: Database) -> None:
        async with database.connection() as connection:
            await connection.run_together([Statement("SELECT 1 / 0"), Statement("SELECT 1")])

    async with open_database(server_url) as database:
        for _ in range(50):
            with pytest.raises(psycopg.errors.DivisionByZero):
                await fail(database)
    assert caplog.records == []
