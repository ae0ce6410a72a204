"""Each job that a transaction asked for reaches its queue, whatever happens to the shipper."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import pairwise
from typing import ClassVar

import psycopg
import pytest

from queue_processors.shipper import (
    BUSY_BATCH_ENTRIES,
    MAX_PAUSE_SECONDS,
    MIN_PAUSE_SECONDS,
    UNREADABLE,
    Shipper,
    into_table,
    jobs_of,
    rest_after,
    through,
)
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.jobs import Job, enqueue
from server.messaging import postgres
from server.messaging.job_broker import BrokerUnavailableError, OutgoingJob
from server.messaging.postgres import open_postgres_jobs
from server.writer import WriteTx
from storage import jobs, shipping
from storage.database import Connection, Database, DatabaseUnavailableError
from storage.ids import Position, RealmId
from storage.shipping import CursorRow, ShippableRow
from storage.wakeups import listening
from testkit.clients.raw_sockets import until
from testkit.factories import Make, new_realm
from testkit.stage import Stage

QUEUE = "count"
GROWING = (0.02, 0.05, 0.1, 0.2, 0.4)
"""The least pauses between attempts to reach a broker that is away."""


class Count(Job, frozen=True, kw_only=True):
    queue: ClassVar[str] = QUEUE

    number: int


async def ask(stage: Stage, realm_id: RealmId, *numbers: int, after_seconds: float = 0) -> None:
    """One transaction that asks for these jobs."""

    async def action(tx: WriteTx) -> None:
        for number in numbers:
            enqueue(tx, Count(realm_id=realm_id, number=number), after_seconds=after_seconds)

    await stage.writers.of(realm_id).write(action)


async def tick(stage: Stage, realm_id: RealmId) -> None:
    """A transaction that asks for nothing."""

    async def action(tx: WriteTx) -> None:
        tx.append(Tick(), NO_AUDIENCE)

    await stage.writers.of(realm_id).write(action)


@asynccontextmanager
async def shipping_by(shipper: Shipper) -> AsyncIterator[asyncio.Task[None]]:
    task = asyncio.create_task(shipper.run())
    try:
        yield task
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def shipped(database: Database) -> list[tuple[str, int]]:
    """(key, number) of each job in the table, as they were put in."""
    async with database.connection() as connection:
        rows = await connection.tuples(
            "SELECT key, convert_from(body, 'UTF8')::json ->> 'number' FROM jobs ORDER BY id"
        )
    return [(key, int(number)) for key, number in rows]


async def until_shipped(database: Database, count: int) -> list[tuple[str, int]]:
    async with asyncio.timeout(60):
        while len(rows := await shipped(database)) < count:
            pass
    return rows


async def cursor_of(database: Database, realm_id: RealmId) -> CursorRow:
    async with database.connection() as connection:
        row = await connection.one(
            CursorRow,
            "SELECT realm_id, position, epoch FROM shipper_cursors WHERE realm_id = %(realm_id)s",
            realm_id=realm_id,
        )
    assert row is not None
    return row


@pytest.mark.asyncio
async def test_jobs_reach_their_queue_with_their_position_as_key(
    stage: Stage, make: Make, database: Database
):
    realm_id = make.realm_id
    await tick(stage, realm_id)
    await ask(stage, realm_id, 10, 20)
    await tick(stage, realm_id)
    await ask(stage, realm_id, 30)
    async with shipping_by(Shipper(database)):
        rows = await until_shipped(database, 3)
        assert rows == [(f"{realm_id}:2", 10), (f"{realm_id}:3", 20), (f"{realm_id}:5", 30)]
        assert (await cursor_of(database, realm_id)).position == 5


@pytest.mark.asyncio
async def test_a_write_that_fails_asks_for_nothing(stage: Stage, make: Make, database: Database):
    async def refused(tx: WriteTx) -> None:
        enqueue(tx, Count(realm_id=make.realm_id, number=1))
        raise LookupError

    with pytest.raises(LookupError):
        await stage.writers.of(make.realm_id).write(refused)
    await ask(stage, make.realm_id, 2)
    async with shipping_by(Shipper(database)):
        assert [number for _, number in await until_shipped(database, 1)] == [2]


@pytest.mark.asyncio
async def test_a_delay_holds_the_job_back(stage: Stage, make: Make, database: Database):
    await ask(stage, make.realm_id, 1, after_seconds=60)
    async with shipping_by(Shipper(database)):
        await until_shipped(database, 1)
    async with database.connection() as connection:
        assert 50 < (await jobs.seconds_until_due(connection, QUEUE) or 0) <= 60
        assert await jobs.claim(connection, QUEUE, limit=1, lease_seconds=1) == []


@pytest.mark.asyncio
async def test_a_consumer_hears_of_what_is_shipped(
    stage: Stage, make: Make, database: Database, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(
        postgres, "POLL_INTERVAL_SECONDS", 3600.0
    )  # nothing is found but by a wake-up
    async with (
        open_postgres_jobs(database) as broker,
        shipping_by(Shipper(database)),
        broker.consume(QUEUE, prefetch=1) as deliveries,
    ):
        waiting = asyncio.ensure_future(anext(deliveries))
        await ask(stage, make.realm_id, 1)
        async with asyncio.timeout(60):
            assert (await waiting).body == b'{"realm_id":%d,"number":1}' % make.realm_id


@pytest.mark.asyncio
async def test_a_shipper_that_is_told_looks_at_once(stage: Stage, make: Make, database: Database):
    shipper = Shipper(database)
    async with shipping_by(shipper):
        await ask(stage, make.realm_id, 1)
        await until_shipped(database, 1)
        await ask(stage, make.realm_id, 2)
        shipper.wake()
        await until_shipped(database, 2)


@pytest.mark.asyncio
async def test_more_entries_than_one_read_takes_are_shipped_in_order(
    stage: Stage, make: Make, database: Database
):
    other = (await new_realm(make.connection)).realm_id
    await ask(stage, make.realm_id, *range(1200))
    await ask(stage, other, *range(1200))
    async with shipping_by(Shipper(database)):
        rows = await until_shipped(database, 2400)
    for realm_id in (make.realm_id, other):
        assert [number for key, number in rows if key.startswith(f"{realm_id}:")] == list(
            range(1200)
        )


@pytest.mark.asyncio
async def test_nothing_is_shipped_twice_or_left_out_by_shippers_that_die_at_any_moment(
    stage: Stage, make: Make, database: Database
):
    at_work = asyncio.Event()

    async def ship(
        connection: Connection, old: CursorRow, new: CursorRow, shipped: Sequence[OutgoingJob]
    ) -> bool:
        at_work.set()
        return await into_table(connection, old, new, shipped)

    for number in range(60):
        await ask(stage, make.realm_id, number)
        at_work.clear()
        async with shipping_by(Shipper(database, ship)), asyncio.timeout(60):
            await at_work.wait()
            for _ in range(number // 2):  # dies so many turns of the event loop later
                await asyncio.sleep(0)
    await ask(stage, make.realm_id, 60)
    async with shipping_by(Shipper(database)):
        await until_shipped(database, 61)
    assert [number for _, number in await shipped(database)] == list(range(61))


@pytest.mark.asyncio
async def test_only_one_leads_and_the_next_takes_over_when_its_connection_dies(
    stage: Stage, make: Make, database: Database
):
    async with shipping_by(Shipper(database)), shipping_by(Shipper(database)):
        for number in range(5):
            await ask(stage, make.realm_id, number)
            await until_shipped(database, number + 1)
            async with database.connection() as connection:
                killed = await connection.value(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM pg_locks
                     WHERE locktype = 'advisory' AND classid = %(lock_class)s AND granted
                       AND database = (SELECT oid FROM pg_database
                                        WHERE datname = current_database())
                    """,
                    lock_class=shipping.LOCK_CLASS,
                )
            assert killed <= 1
    assert [number for _, number in await shipped(database)] == list(range(5))


@pytest.mark.asyncio
async def test_a_leader_that_falls_silent_is_put_down(database: Database):
    async def lead_in_silence() -> None:
        async with shipping.leading(database, 0, silence_seconds=1) as connection:
            leading.set()
            await next_leads.wait()
            await connection.value("SELECT 1")

    leading, next_leads = asyncio.Event(), asyncio.Event()
    silent = asyncio.create_task(lead_in_silence())
    await leading.wait()
    async with asyncio.timeout(60), shipping.leading(database, 0) as connection:
        assert await connection.value("SELECT 1") == 1
        next_leads.set()
        with pytest.raises(DatabaseUnavailableError):
            await silent


@pytest.mark.asyncio
async def test_nothing_that_stands_by_or_waits_holds_back_vacuum(stage: Stage, database: Database):
    """Whatever was dead when all of them had begun to wait can be removed soon after."""
    shippers = [Shipper(database) for _ in range(3)]
    async with AsyncExitStack() as stack:
        for shipper in shippers:
            _ = await stack.enter_async_context(shipping_by(shipper))
        for channel in (postgres.CHANNEL, jobs.CHANNEL):
            _ = await stack.enter_async_context(listening(database, channel))
        await stack.enter_async_context(open_postgres_jobs(database))
        await _until_asked(database, len(shippers))
        async with database.connection() as connection:
            dead_below = await connection.value("SELECT pg_current_xact_id()::text::bigint")
        await _until_no_snapshot_before(database, dead_below)
        await until(lambda: any(shipper.lag_seconds is not None for shipper in shippers))
        assert sum(shipper.lag_seconds is not None for shipper in shippers) == 1


async def _until_asked(database: Database, shippers: int) -> None:
    """Wait until so many shippers have asked for the lock of their shard."""
    async with asyncio.timeout(20), database.connection() as connection:
        while shippers > await connection.value(
            """
            SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND (query LIKE '%%advisory_lock%%' OR query LIKE '%%shipper_cursors%%')
            """
        ):
            pass


async def _until_no_snapshot_before(database: Database, xid: int) -> None:
    async with asyncio.timeout(20), database.connection() as connection:
        while await connection.value(
            """
            SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
               AND coalesce(backend_xmin, backend_xid)::text::bigint <= %(xid)s
            """,
            xid=xid,
        ):
            pass


@pytest.mark.asyncio
async def test_shards_are_led_side_by_side(stage: Stage, make: Make, database: Database):
    others = [(await new_realm(make.connection)).realm_id for _ in range(3)]
    for realm_id in (make.realm_id, *others):
        await ask(stage, realm_id, realm_id)
    even, odd = Shipper(database, shard=0, shards=2), Shipper(database, shard=1, shards=2)
    async with shipping_by(even), shipping_by(odd):
        rows = await until_shipped(database, 4)
    assert sorted(number for _, number in rows) == sorted([make.realm_id, *others])


@pytest.mark.asyncio
async def test_a_cursor_moves_only_from_where_it_is(make: Make, database: Database):
    at = [CursorRow(make.realm_id, Position(p), 1 if p else 0) for p in (0, 5, 9)]
    new = [jobs.NewJob(QUEUE, "key", b"{}")]
    async with database.connection() as connection:
        assert not await shipping.move_with_jobs(connection, at[1], at[2], new)
        assert await shipping.move_with_jobs(connection, at[0], at[1], new)
        assert not await shipping.move_with_jobs(connection, at[0], at[2], new)
        assert await shipping.move(connection, at[1], at[2])
        assert not await shipping.move(connection, at[1], at[2])
        (stats,) = await jobs.stats(connection)
    assert stats.waiting == 1


@pytest.mark.asyncio
async def test_a_cursor_stays_where_it_is_if_its_jobs_cannot_be_put_in(
    make: Make, database: Database
):
    start, end = (CursorRow(make.realm_id, Position(p), 1 if p else 0) for p in (0, 5))
    bad, good = jobs.NewJob(QUEUE, "a\0b", b"{}"), jobs.NewJob(QUEUE, "ab", b"{}")
    async with database.connection() as connection:
        with pytest.raises(psycopg.DataError):
            await shipping.move_with_jobs(connection, start, end, [good, bad])
        assert await shipped(database) == []
        assert await shipping.move_with_jobs(connection, start, end, [good])


@pytest.mark.asyncio
async def test_the_jump_of_a_new_epoch_is_crossed(stage: Stage, make: Make, database: Database):
    realm_id = make.realm_id
    await ask(stage, realm_id, 1)
    async with shipping_by(Shipper(database)):
        await until_shipped(database, 1)
        async with database.connection() as connection:
            await connection.execute(
                """
                UPDATE realm_clock SET position = position + 1000000, epoch = epoch + 1
                 WHERE realm_id = %(realm_id)s
                """,
                realm_id=realm_id,
            )
        await ask(stage, realm_id, 2)
        rows = await until_shipped(database, 2)
    assert rows == [(f"{realm_id}:1", 1), (f"{realm_id}:1000002", 2)]
    cursor = await cursor_of(database, realm_id)
    assert (cursor.position, cursor.epoch) == (1000002, 2)


@pytest.mark.asyncio
async def test_the_log_is_needed_from_the_first_entry_that_is_not_shipped(
    stage: Stage, make: Make, database: Database
):
    async with database.connection() as connection:
        assert await shipping.needed_since(connection) is None
        await ask(stage, make.realm_id, 1)
        today = await connection.value("SELECT day FROM event_log")
        assert await shipping.needed_since(connection) == today
        async with shipping_by(Shipper(database)):
            await until_shipped(database, 1)
        assert await shipping.needed_since(connection) is None


@pytest.mark.asyncio
async def test_with_a_broker_the_cursor_waits_for_its_confirmation(
    stage: Stage, make: Make, database: Database
):
    class Hesitant:
        """A broker that loses its connection after it has taken a job, once."""

        def __init__(self) -> None:
            self.taken: list[OutgoingJob] = []

        async def publish(self, *published: OutgoingJob) -> None:
            self.taken += published
            if len(self.taken) == 1:
                raise BrokerUnavailableError

    broker = Hesitant()
    confirmed = asyncio.Event()

    async def ship(
        connection: Connection, old: CursorRow, new: CursorRow, shipped: Sequence[OutgoingJob]
    ) -> bool:
        assert old.position == 0
        moved = await through(broker)(connection, old, new, shipped)
        confirmed.set()
        return moved

    await ask(stage, make.realm_id, 7)
    async with shipping_by(Shipper(database, ship)), asyncio.timeout(60):
        await confirmed.wait()
    assert [job.key for job in broker.taken] == 2 * [f"{make.realm_id}:1"]
    assert (await cursor_of(database, make.realm_id)).position == 1


def test_the_more_there_was_to_ship_the_longer_is_the_rest():
    assert rest_after(0) == MIN_PAUSE_SECONDS
    assert rest_after(BUSY_BATCH_ENTRIES) == 2 * MIN_PAUSE_SECONDS
    assert rest_after(10_000) == MAX_PAUSE_SECONDS


def test_an_entry_that_cannot_be_read_is_kept_aside():
    entry = ShippableRow(Position(5), 1, "job", b"{")
    assert jobs_of(RealmId(3), [entry]) == [
        OutgoingJob(queue=UNREADABLE, body=b"{", key="3:5", realm_id=3)
    ]


@pytest.mark.asyncio
async def test_a_shipper_that_has_lost_the_lead_unawares_moves_nothing(
    stage: Stage, make: Make, database: Database
):
    """Compare-and-set, should two ever believe to lead."""
    attempts = 0

    async def late(
        connection: Connection, old: CursorRow, new: CursorRow, shipped: Sequence[OutgoingJob]
    ) -> bool:
        nonlocal attempts
        attempts += 1
        if attempts == 1:  # the other is faster
            async with database.connection() as others:
                assert await into_table(others, old, new, shipped)
        return await into_table(connection, old, new, shipped)

    await ask(stage, make.realm_id, 1)
    async with shipping_by(Shipper(database, late)):
        await until_shipped(database, 1)
        await ask(stage, make.realm_id, 2)
        rows = await until_shipped(database, 2)
    assert [number for _, number in rows] == [1, 2]


@pytest.mark.asyncio
async def test_while_the_broker_is_away_the_pauses_grow_and_the_lag_is_told(
    stage: Stage, make: Make, database: Database
):
    tries: list[float] = []
    enough = asyncio.Event()

    async def away(*_: object) -> bool:
        tries.append(asyncio.get_running_loop().time())
        if len(tries) == len(GROWING):
            enough.set()
        raise BrokerUnavailableError("away")

    await ask(stage, make.realm_id, 1)
    shipper = Shipper(database, away)
    async with shipping_by(shipper), asyncio.timeout(60):
        await enough.wait()
        assert shipper.lag_seconds is not None
        assert shipper.lag_seconds >= tries[-1] - tries[0]
    pauses = [after - before for before, after in pairwise(tries)]
    assert all(found >= least for found, least in zip(pauses, GROWING, strict=False)), pauses
