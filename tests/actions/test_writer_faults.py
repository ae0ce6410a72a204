"""Whatever goes wrong in a realm's writer, who waits is answered, and nothing is written twice."""

import asyncio
import uuid
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from structlog.testing import capture_logs

from server.writer import RealmWriter, realm_writer
from storage import clock
from storage.database import (
    DatabaseUnavailableError,
    Statement,
    StatementTimeoutError,
    open_database,
)
from testkit.factories import Make
from testkit.services.proxy import proxy_to
from testkit.stage import Stage
from tests.actions.test_writer import log_positions, tick

pytestmark = pytest.mark.asyncio


class Failing:
    """A database of which the first connections fail like this."""

    def __init__(self, database: Any, *errors: BaseException) -> None:
        self._database = database
        self._errors = list(errors)

    def connection(self) -> Any:
        if self._errors:
            raise self._errors.pop(0)
        return self._database.connection()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)


def writer_with(stage: Stage, make: Make, *errors: BaseException) -> RealmWriter:
    failing: Any = Failing(stage.database, *errors)
    return RealmWriter(failing, stage.realm_caches.of(make.realm_id), lambda *_: None)


async def test_a_first_write_is_done_though_the_clock_could_not_be_read_in_time(
    stage: Stage, make: Make
):
    actor = await make.actor()
    writer = writer_with(stage, make, StatementTimeoutError("too slow"))
    async with asyncio.timeout(60):
        entry = await writer.write(lambda tx: tick(tx, actor))
        await writer.drain()
    assert entry.position == 1


async def test_who_waits_is_told_whatever_the_writer_fails_of(stage: Stage, make: Make):
    actor = await make.actor()
    writer = writer_with(stage, make, ZeroDivisionError("a fault of ours"))
    async with asyncio.timeout(60):
        with pytest.raises(ZeroDivisionError):
            await writer.write(lambda tx: tick(tx, actor))
        await writer.drain()
        assert (await writer.write(lambda tx: tick(tx, actor))).position == 1


async def test_who_waits_is_told_when_the_writer_is_given_up(stage: Stage, make: Make):
    writer = writer_with(stage, make)
    entered = asyncio.Event()

    async def wait(tx):
        entered.set()
        await asyncio.Event().wait()

    first = asyncio.create_task(writer.write(wait))
    await entered.wait()
    second = asyncio.create_task(writer.write(wait))
    await asyncio.sleep(0)
    assert writer._running is not None
    writer._running.cancel()
    async with asyncio.timeout(60):
        answers = await asyncio.gather(first, second, return_exceptions=True)
        await writer.drain()
    assert [type(answer) for answer in answers] == [DatabaseUnavailableError] * 2
    assert await log_positions(stage.database, make.realm_id) == []


async def test_what_is_committed_is_not_done_again_when_it_cannot_be_told(stage: Stage, make: Make):
    """Applying an entry fails here: a fault of ours, and no reason to send a message twice."""
    actor = await make.actor()

    def fail(*_):
        raise ZeroDivisionError

    writer = RealmWriter(stage.database, stage.realm_caches.of(make.realm_id), fail)
    with capture_logs() as logs:
        entries = await asyncio.gather(
            *[writer.write(lambda tx: tick(tx, actor)) for _ in range(3)]
        )
        await writer.drain()
    assert [entry.position for entry in entries] == [1, 2, 3]
    assert await log_positions(stage.database, make.realm_id) == [1, 2, 3]
    assert {log["log_level"] for log in logs} == {"error"}


async def test_what_is_committed_is_not_done_again_when_its_result_cannot_be_read(
    stage: Stage, make: Make
):
    actor = await make.actor()

    class Unreadable:
        statement = clock.append(
            make.realm_id, kind="tick", audience=b"", body=b"{}", write_id=str(uuid.uuid4())
        )

        def result(self, _rows):
            raise ZeroDivisionError

        def recovered(self, _entries):
            raise AssertionError

    async def unreadable(tx, actor):
        return tx.clocked(Unreadable())

    answers = await asyncio.gather(
        stage.write(unreadable, actor), stage.write(tick, actor), return_exceptions=True
    )
    assert isinstance(answers[0], ZeroDivisionError)
    assert await log_positions(stage.database, make.realm_id) == [1, 2]


async def test_a_statement_that_took_too_long_ends_no_connection(
    stage: Stage, make: Make, monkeypatch
):
    """It is back in the pool, and has another request by now."""
    ended: list[int] = []
    end_backends = clock.end_backends

    async def noted(connection, pids):
        ended.extend(pids)
        await end_backends(connection, pids)

    monkeypatch.setattr(clock, "end_backends", noted)
    actor = await make.actor()
    tries = 0

    class TooSlowAtFirst:
        @property
        def statement(self):
            nonlocal tries
            tries += 1
            if tries <= 2:  # in the batch, and once alone
                return Statement(
                    "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = 'query_canceled'; END $$"
                )
            return Statement("SELECT 1")

        def result(self, _rows):
            return None

        def recovered(self, _entries):
            return None

    async def slow(tx, actor):
        await tx.connection()
        return tx.clocked(TooSlowAtFirst())

    await stage.write(slow, actor)
    assert tries > 2
    assert ended == []


@asynccontextmanager
async def through_a_proxy(database_url: str, stage: Stage, make: Make):
    """A writer on a database that may be cut off, and its proxy."""
    parts = urlsplit(database_url)
    async with proxy_to(parts.port or 5432) as proxy:
        url = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{proxy.port}"))
        async with open_database(url, min_size=1, max_size=2) as database:
            yield (
                RealmWriter(database, stage.realm_caches.of(make.realm_id), lambda *_: None),
                proxy,
            )


async def test_who_writes_while_the_database_is_away_is_told_in_time(
    database_url: str, stage: Stage, make: Make, monkeypatch
):
    monkeypatch.setattr(realm_writer, "LONGEST_SECONDS", 1.0)
    actor = await make.actor()
    async with through_a_proxy(database_url, stage, make) as (writer, proxy):
        await writer.write(lambda tx: tick(tx, actor))
        proxy.refuse()
        for _ in range(2):
            refused = [writer.write(lambda tx: tick(tx, actor)) for _ in range(3)]
            async with asyncio.timeout(8):  # the pool alone waits for ten
                answers = await asyncio.gather(*refused, return_exceptions=True)
            assert [type(answer) for answer in answers] == [DatabaseUnavailableError] * 3
        await proxy.allow()
        async with asyncio.timeout(60):
            await writer.drain()
            while True:
                try:
                    await writer.write(lambda tx: tick(tx, actor))
                    break
                except DatabaseUnavailableError:
                    await asyncio.sleep(0.1)
    assert await log_positions(stage.database, make.realm_id) == [1, 2], "what was refused is not"


async def test_a_cancelled_write_is_not_retried(database_url: str, stage: Stage, make: Make):
    actor = await make.actor()
    async with through_a_proxy(database_url, stage, make) as (writer, proxy):
        await writer.write(lambda tx: tick(tx, actor))
        proxy.refuse()
        gone = asyncio.create_task(writer.write(lambda tx: tick(tx, actor)))
        await asyncio.sleep(0.3)
        gone.cancel()
        await asyncio.wait([gone])
        async with asyncio.timeout(60):
            await writer.drain()
        await proxy.allow()
    assert await log_positions(stage.database, make.realm_id) == [1]
