"""Statements on our connections: what they give, what is kept, and what happens when they end."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
import pytest_asyncio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.pq import PipelineStatus
from psycopg.types.json import Jsonb

from storage.database import Connection, Statement
from storage.driver import PgConnection
from storage.sockets import Sockets
from storage.statement_plans import MAX_PREPARED, PREPARED_AFTER

MEGABYTE = 1024 * 1024

texts = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]))
numbers = st.integers(-(2**63), 2**63 - 1) | st.integers(-40_000, 40_000)
scalars: st.SearchStrategy[Any] = (
    st.none()
    | st.booleans()
    | numbers
    | texts
    | st.floats(allow_nan=False)
    | st.decimals(-(10**9), 10**9)
    | st.uuids()
    | st.binary()
    | st.datetimes(datetime(1900, 1, 1), datetime(2900, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - they get one
)
values = (
    scalars
    | st.lists(numbers)
    | st.lists(texts)
    | st.lists(st.lists(texts, min_size=1, max_size=1))
)


@pytest_asyncio.fixture
async def raw(server_url: str) -> AsyncIterator[PgConnection]:
    async with await PgConnection.connect(server_url, autocommit=True) as connection:
        yield connection


@pytest_asyncio.fixture
async def killer(server_url: str) -> AsyncIterator[psycopg.AsyncConnection[Any]]:
    """Another connection, to look at the one under test, and to end it."""
    async with await psycopg.AsyncConnection.connect(server_url, autocommit=True) as connection:
        yield connection


async def rows(raw: PgConnection, sql: Any, **params: Any) -> list[tuple[Any, ...]]:
    return await (await raw.ask(sql, params)).rows(tuple)


async def prepared(raw: PgConnection) -> list[str]:
    """What Postgres keeps for the connection."""
    cursor = await raw.execute("SELECT statement FROM pg_prepared_statements ORDER BY prepare_time")
    return [statement for (statement,) in await cursor.fetchall()]


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_values_come_back_as_a_cursor_would_give_them(server_url: str, data: st.DataObject):
    given_values = data.draw(st.lists(values, min_size=1, max_size=5))
    params = {f"p{number}": value for number, value in enumerate(given_values)}
    kinds = {bytes: "bytea", str: "text", type(None): "text"}
    named = ", ".join(
        f"%({name})s::{kinds[type(value)]}" if type(value) in kinds else f"%({name})s"
        for name, value in params.items()
    )
    sql: Any = f"SELECT {named}, 100 %% 7, %(p0)s IS NULL"

    async def both() -> tuple[Any, Any, Any]:
        async with await PgConnection.connect(server_url, autocommit=True) as raw:
            try:
                expected: Any = await (await psycopg_cursor(raw, sql, params)).fetchall()
            except psycopg.Error as error:
                expected = type(error)
            found: list[Any] = []
            for _ in range(PREPARED_AFTER + 2):
                try:
                    found.append(await rows(raw, sql, **params))
                except psycopg.Error as error:
                    found.append(type(error))
            return expected, found, raw.closed

    expected, found, is_closed = asyncio.run(both())
    assert (found, is_closed) == ([expected] * (PREPARED_AFTER + 2), False)


async def psycopg_cursor(raw: PgConnection, sql: Any, params: dict[str, Any]) -> Any:
    return await raw.cursor().execute(sql, params)


@pytest.mark.asyncio
async def test_every_kind_of_value_that_columns_have(raw: PgConnection):
    moment = datetime(2026, 11, 23, 12, 30, 15, 250_000, tzinfo=UTC)
    given_values = {
        "day": date(2026, 11, 23),
        "moment": moment,
        "span": timedelta(days=2, seconds=5),
        "number": Decimal("1.50"),
        "uuid": UUID(int=5),
        "json": Jsonb({"a": [1, None, "ü"]}),
        "flags": [True, False, None],
    }
    names = ", ".join(f"%({name})s AS {name}" for name in given_values)
    connection = Connection(raw)
    sql: Any = f"SELECT {names}"
    [found] = await connection.dicts(sql, **given_values)
    assert found == {**given_values, "json": {"a": [1, None, "ü"]}}
    assert await connection.value("SELECT %(raw)b", raw=b"\0\xff") == b"\0\xff"
    assert await connection.value("SELECT 1 WHERE false") is None
    assert await connection.values("SELECT generate_series(1, 3)") == [1, 2, 3]
    assert await connection.run(Statement("SET work_mem = '4MB'")) == []


@pytest.mark.asyncio
async def test_what_is_asked_often_is_prepared_for_each_set_of_types(raw: PgConnection):
    for _ in range(PREPARED_AFTER):
        assert await rows(raw, "SELECT %(a)s + 1", a=1) == [(2,)]
    assert await prepared(raw) == []
    for _ in range(3):
        assert await rows(raw, "SELECT %(a)s + 1", a=1) == [(2,)]
    assert await prepared(raw) == ["SELECT $1 + 1"]
    for _ in range(PREPARED_AFTER + 1):
        assert await rows(raw, "SELECT %(a)s + 1", a=2**40) == [(2**40 + 1,)]
    assert await prepared(raw) == ["SELECT $1 + 1"] * 2
    with pytest.raises(psycopg.errors.DivisionByZero):
        async with raw.transaction():
            await rows(raw, "SELECT 1 / 0")
    assert await rows(raw, "SELECT %(a)s + 1", a=1) == [(2,)]
    assert await prepared(raw) == ["SELECT $1 + 1"] * 2


@pytest.mark.asyncio
async def test_so_many_are_kept_and_the_one_not_used_for_longest_gives_way(raw: PgConnection):
    raw.plans.after = 0
    statements: list[Any] = [f"SELECT {n}" for n in range(MAX_PREPARED + 20)]
    for is_together in (False, True):
        connection = Connection(raw)
        if is_together:
            await connection.run_together([Statement(each) for each in statements])
        else:
            for number, each in enumerate(statements):
                assert await rows(raw, each) == [(number,)]
                assert await rows(raw, "SELECT 'always'") == [("always",)]
        kept = await prepared(raw)
        assert len(kept) == MAX_PREPARED
        assert statements[-1] in kept
        assert statements[0] not in kept
        assert ("SELECT 'always'" in kept) is not is_together
        assert [await rows(raw, each) for each in statements[:3]] == [[(0,)], [(1,)], [(2,)]]


@pytest.mark.asyncio
async def test_what_cannot_be_prepared_says_so_each_time(raw: PgConnection):
    for _ in range(PREPARED_AFTER + 3):
        with pytest.raises(psycopg.errors.SyntaxError):
            await rows(raw, "SELEC 1")
    assert await prepared(raw) == []
    assert await rows(raw, "SELECT 1") == [(1,)]


@pytest.mark.asyncio
async def test_the_first_failure_of_a_pipeline_fails_all_of_it(raw: PgConnection):
    raw.plans.after = 0

    async def fail() -> None:
        async with raw.pipelined():
            good = await raw.ask("SELECT 1", {})
            bad = await raw.ask("SELECT 1 / %(zero)s", {"zero": 0})
            never = await raw.ask("SELECT 2", {})
            assert await good.rows(tuple) == [(1,)]
            for each in (never, bad, never):
                with pytest.raises(psycopg.errors.DivisionByZero):
                    await each.rows(tuple)

    for _ in range(3):
        with pytest.raises(psycopg.errors.DivisionByZero):
            await fail()
        assert raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
    assert sorted(await prepared(raw)) == ["SELECT 1", "SELECT 1 / $1"]
    assert await rows(raw, "SELECT 2") == [(2,)]


@pytest.mark.asyncio
async def test_a_block_that_fails_by_itself_leaves_the_connection_as_it_was(raw: PgConnection):
    async def fail() -> None:
        async with raw.pipelined():
            await raw.ask("SELECT pg_sleep(0.01)", {})
            await raw.ask("SELECT 1 / 0", {})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await rows(raw, "SELECT 2") == [(2,)]


@pytest.mark.asyncio
async def test_much_goes_both_ways_at_once(raw: PgConnection):
    """More than the sockets hold: a peer that only writes waits for one that only writes."""
    much = "x" * (8 * MEGABYTE)
    assert await rows(raw, "SELECT %(much)s::text", much=much) == [(much,)]
    many = [Statement("SELECT %(much)s::text", {"much": much})] * 4
    many += [Statement("SELECT repeat('y', 1000), %(n)s", {"n": n}) for n in range(3_000)]
    found = await Connection(raw).run_together(many)
    assert found[:4] == [[(much,)]] * 4
    assert [n for [(_, n)] in found[4:]] == list(range(3_000))


@pytest.mark.asyncio
async def test_a_snapshot_begins_though_another_plan_has_to_go_for_it(raw: PgConnection):
    for n in range(MAX_PREPARED):
        for _ in range(PREPARED_AFTER + 1):
            await rows(raw, f"SELECT {n}")
    for _ in range(PREPARED_AFTER + 1):
        async with raw.pipelined():
            await raw.ask("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", {})
            await raw.ask("COMMIT", {})
    [(count,)] = await rows(raw, "SELECT count(*) FROM pg_prepared_statements")
    assert count == MAX_PREPARED


async def sleep(raw: PgConnection, *, is_together: bool) -> None:
    if not is_together:
        await rows(raw, "SELECT pg_sleep(60)")
        return
    async with raw.pipelined():
        await raw.ask("SELECT 1", {})
        await (await raw.ask("SELECT pg_sleep(60)", {})).rows(tuple)


@pytest.mark.asyncio
@pytest.mark.parametrize("is_together", [False, True])
async def test_who_gives_up_waiting_ends_the_query_and_nothing_else(
    raw: PgConnection, killer: psycopg.AsyncConnection[Any], *, is_together: bool
):
    for _ in range(PREPARED_AFTER + 2):
        waiting = asyncio.create_task(sleep(raw, is_together=is_together))
        await until_asleep(killer, raw)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert await rows(raw, "SELECT 5") == [(5,)]


@pytest.mark.asyncio
@pytest.mark.parametrize("is_together", [False, True])
async def test_a_connection_that_is_ended_while_it_is_waited_for(
    raw: PgConnection, killer: psycopg.AsyncConnection[Any], *, is_together: bool
):
    waiting = asyncio.create_task(sleep(raw, is_together=is_together))
    await until_asleep(killer, raw)
    await killer.execute("SELECT pg_terminate_backend(%s)", [raw.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        await waiting
    with pytest.raises(psycopg.OperationalError):
        await rows(raw, "SELECT 1")
    with pytest.raises(psycopg.OperationalError):
        async with raw.pipelined():
            await raw.ask("SELECT 1", {})


@pytest.mark.asyncio
async def test_a_connection_that_is_closed_while_it_is_waited_for(
    raw: PgConnection, killer: psycopg.AsyncConnection[Any]
):
    waiting = asyncio.create_task(rows(raw, "SELECT pg_sleep(60)"))
    await until_asleep(killer, raw)
    await raw.close()
    with pytest.raises(psycopg.OperationalError):
        await waiting


@pytest.mark.asyncio
async def test_a_connection_that_is_ended_while_idle(
    raw: PgConnection, killer: psycopg.AsyncConnection[Any], monkeypatch: pytest.MonkeyPatch
):
    """It is heard once, not in each turn of the loop, and found by who asks next."""
    assert await rows(raw, "SELECT 1") == [(1,)]
    heard: list[object] = []
    sockets = Sockets.of_this_loop()
    epoll: Any = sockets._epoll

    class Heard:
        def poll(self, seconds: float) -> list[tuple[int, int]]:
            found: list[tuple[int, int]] = epoll.poll(seconds)
            heard.extend(found)
            return found

        def unregister(self, descriptor: int) -> None:
            epoll.unregister(descriptor)

    monkeypatch.setattr(sockets, "_epoll", Heard())
    await killer.execute("SELECT pg_terminate_backend(%s)", [raw.info.backend_pid])
    for _ in range(50):
        await asyncio.sleep(0.002)
    assert len(heard) == 1
    monkeypatch.undo()
    with pytest.raises(psycopg.OperationalError):
        await rows(raw, "SELECT 1")


@pytest.mark.asyncio
async def test_whatever_ends_it_a_connection_leaves_no_descriptor(
    server_url: str, killer: psycopg.AsyncConnection[Any]
):
    async def used() -> PgConnection:
        raw = await PgConnection.connect(server_url, autocommit=True)
        assert await rows(raw, "SELECT 1") == [(1,)]
        return raw

    await (await used()).close()
    before = descriptors()
    closed, ended = await used(), await used()
    assert descriptors() == before + 2
    await closed.close()
    await killer.execute("SELECT pg_terminate_backend(%s)", [ended.info.backend_pid])
    with pytest.raises(psycopg.OperationalError):
        await rows(ended, "SELECT 1")
    assert descriptors() == before


async def until_asleep(killer: psycopg.AsyncConnection[Any], raw: PgConnection) -> None:
    """Until the connection's process of Postgres sleeps."""
    asked = "SELECT wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = %s"
    while True:
        cursor = await killer.execute(asked, [raw.info.backend_pid])
        if await cursor.fetchone() == (True,):
            return
        await asyncio.sleep(0.005)


@pytest.mark.asyncio
@pytest.mark.parametrize("last", ["COMMIT", "SELECT pg_sleep(60)"])
async def test_who_gives_up_at_the_end_of_a_pipeline_leaves_a_connection_that_answers(
    raw: PgConnection, last: Any
):
    async def ask() -> None:
        task = asyncio.current_task()
        assert task is not None
        async with raw.pipelined():
            await raw.ask("BEGIN", {})
            await (await raw.ask("SELECT 1", {})).rows(tuple)
            await raw.ask(last, {})
            # Comes when the block's end waits for what it has sent.
            asyncio.get_running_loop().call_soon(task.cancel)

    for _ in range(PREPARED_AFTER + 2):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.create_task(ask())
        assert raw.pgconn.pipeline_status == PipelineStatus.OFF
        async with asyncio.timeout(60):
            await raw.rollback()
            assert await rows(raw, "SELECT 2") == [(2,)]


@pytest.mark.asyncio
async def test_a_cancellation_that_came_too_early_is_asked_for_again(
    raw: PgConnection, killer: psycopg.AsyncConnection[Any], monkeypatch: pytest.MonkeyPatch
):
    """Postgres ignores a request that arrives before it has begun the statement."""
    cancel = raw.cancel_safe
    lost: list[object] = []

    async def cancel_second(**options: Any) -> None:
        if lost:
            await cancel(**options)
        lost.append(options)

    monkeypatch.setattr(raw, "cancel_safe", cancel_second)
    waiting = asyncio.create_task(rows(raw, "SELECT pg_sleep(60)"))
    await until_asleep(killer, raw)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert len(lost) == 2
    await raw.rollback()
    assert await rows(raw, "SELECT 2") == [(2,)]
