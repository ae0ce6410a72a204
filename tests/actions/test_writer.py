"""The realm's writer: shared commits, exact decisions, and failures that stay alone."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.send import prepare, send_message
from server.domain.actor import Actor
from server.domain.errors import BadRequestError, DomainError
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from server.realm_cache import REALM
from server.transactions import StaleDecisionError
from storage import channels, clock
from storage.database import Connection, Database, Statement, open_database
from storage.ids import Position
from testkit.clock import StoppedClock
from testkit.factories import Make, new_realm
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio


async def tick(tx, actor):
    return tx.append(Tick(), NO_AUDIENCE)


async def refuse(tx, actor):
    raise BadRequestError("no")


async def write_and_refuse(tx, actor):
    connection = await tx.changing()
    await connection.execute(
        "UPDATE realms SET name = 'half' WHERE realm_id = %(realm_id)s", realm_id=tx.realm_id
    )
    raise BadRequestError("no, after all")


async def break_down(tx, actor):
    await (await tx.connection()).value("SELECT 1 / 0")


def draft(channel, content="hello", **facts):
    facts = {"type": "channel", "to": channel.channel_id, "topic": "t", **facts}
    return OutgoingMessage(content=content, **facts)


async def send(stage: Stage, actor: Actor, wanted: OutgoingMessage):
    realm_cache = stage.realm_caches.of(actor.realm_id)
    decision = await prepare(realm_cache, actor, wanted, stage.database.connection)
    clocked = await stage.write(send_message, actor, wanted, decision, stage.clock.now())
    return clocked.result


async def log_positions(database: Database, realm_id) -> list[Position]:
    async with database.connection() as connection:
        return await connection.values(
            "SELECT position FROM event_log WHERE realm_id = %(r)s ORDER BY position", r=realm_id
        )


async def test_writes_that_come_together_share_a_commit(stage: Stage, make: Make):
    actor = await make.actor()
    writer = stage.writers.of(make.realm_id)
    entries = await asyncio.gather(*[stage.write(tick, actor) for _ in range(50)])
    assert [e.position for e in entries] == list(range(1, 51))
    assert writer.writes == 50
    assert writer.commits <= 2


async def test_those_who_write_one_after_another_go_in_two_halves(stage: Stage, make: Make):
    """While one half commits, what the other half wants next can be decided."""
    actor = await make.actor()
    writer = stage.writers.of(make.realm_id)

    async def one_after_another():
        for _ in range(10):
            await stage.write(tick, actor)

    await asyncio.gather(*[one_after_another() for _ in range(8)])
    assert writer.writes == 80
    assert 1 + 72 // 5 <= writer.commits <= 1 + 72 // 3


async def test_a_refused_write_leaves_and_the_others_commit(stage: Stage, make: Make):
    actor = await make.actor()
    answers: Any = await asyncio.gather(
        stage.write(tick, actor),
        stage.write(refuse, actor),
        stage.write(tick, actor),
        return_exceptions=True,
    )
    assert isinstance(answers[1], BadRequestError)
    assert sorted([answers[0].position, answers[2].position]) == [1, 2]
    assert stage.writers.of(make.realm_id).commits == 1


@pytest.mark.parametrize("failing", [write_and_refuse, break_down])
async def test_a_write_that_fails_late_fails_alone(stage: Stage, make: Make, failing):
    actor = await make.actor()
    answers: Any = await asyncio.gather(
        stage.write(tick, actor),
        stage.write(failing, actor),
        stage.write(tick, actor),
        return_exceptions=True,
    )
    assert isinstance(answers[1], Exception)
    assert sorted([answers[0].position, answers[2].position]) == [1, 2]
    async with stage.database.connection() as connection:
        name = await connection.value(
            "SELECT name FROM realms WHERE realm_id = %(r)s", r=make.realm_id
        )
    assert name == "A realm"


async def test_positions_are_dense_and_seen_in_order_under_many_writers(
    stage: Stage, make: Make, database: Database
):
    """16 writers of 4 processes' worth of pools, with pauses inside; a reader never sees a hole."""
    actor = await make.actor()
    stages = [stage, *[Stage(database, stage.clock) for _ in range(3)]]
    seen: list[int] = []
    writing = True

    async def slow_tick(tx, actor):
        connection = await tx.connection()
        await connection.value("SELECT pg_sleep(%(s)s)", s=random.random() * 0.004)
        if random.random() < 0.2:
            raise BadRequestError("rolled back")
        return tx.append(Tick(), NO_AUDIENCE)

    async def write(each: Stage):
        for _ in range(15):
            await asyncio.gather(
                *[each.write(slow_tick, actor) for _ in range(4)], return_exceptions=True
            )

    async def read():
        async with database.connection() as connection:
            while writing or seen[-1:] != [await newest(connection)]:
                cursor = seen[-1] if seen else 0
                seen.extend(
                    await connection.values(
                        "SELECT position FROM event_log WHERE realm_id = %(r)s AND position > %(c)s"
                        " ORDER BY position",
                        r=make.realm_id,
                        c=cursor,
                    )
                )
                await asyncio.sleep(0)

    async def newest(connection):
        row = await clock.read(connection, make.realm_id)
        assert row is not None
        return row.position

    reading = asyncio.create_task(read())
    await asyncio.gather(*[write(each) for each in stages])
    writing = False
    await asyncio.wait_for(reading, 60)
    assert len(seen) > 100
    assert seen == list(range(1, len(seen) + 1))


async def test_the_clock_is_taken_last(stage: Stage, make: Make):
    """Work inside a write does not hold up the realm: the lock is held for the end only."""
    actor = await make.actor()
    other = Stage(stage.database, stage.clock)
    entered, leave = asyncio.Event(), asyncio.Event()

    async def long(tx, actor):
        await (await tx.connection()).value("SELECT 1")
        entered.set()
        await leave.wait()
        return tx.append(Tick(), NO_AUDIENCE)

    waiting = asyncio.create_task(stage.write(long, actor))
    await entered.wait()
    assert (await other.write(tick, actor)).position == 1
    leave.set()
    assert (await waiting).position == 2


async def test_after_the_clock_is_taken_nothing_is_read_and_nothing_waits(
    stage: Stage, make: Make, monkeypatch: pytest.MonkeyPatch
):
    """What follows goes out in the same round trip: only what carries a position, and COMMIT."""
    together: list[list[str]] = []
    run_together = Connection.run_together

    async def recorded(self: Connection, statements: Sequence[Statement]):
        together.append([" ".join(statement.sql.split()) for statement in statements])
        return await run_together(self, statements)

    monkeypatch.setattr(Connection, "run_together", recorded)
    alice = await make.user()
    channel = await make.channel(subscribers=[alice])
    await send(stage, await make.actor(alice), draft(channel))
    taken = clock.lock(make.realm_id).sql
    [turn] = [trip for trip in together if taken in trip]
    *kept, advanced, committed = turn[turn.index(taken) + 1 :]
    assert kept
    assert [sql for sql in kept if "send_one(" not in sql] == []
    assert advanced == clock.advance(make.realm_id).sql
    assert committed == clock.COMMIT.sql


@pytest.mark.parametrize("hours", [-1, 1])
async def test_a_clock_that_jumps_does_not_change_the_order(stage: Stage, make: Make, hours: int):
    """That of this process, and that of the database: it has been a day ahead."""
    alice = await make.user()
    channel = await make.channel(subscribers=[alice])
    actor = await make.actor(alice)
    ids = [(await send(stage, actor, draft(channel))).message_id for _ in range(2)]
    stage.clock.step(timedelta(hours=hours))
    async with stage.database.connection() as connection:
        await connection.execute(
            "UPDATE realm_clock SET day = day + 1 WHERE realm_id = %(r)s", r=make.realm_id
        )
        ids += [(await send(stage, actor, draft(channel))).message_id for _ in range(2)]
        rows = await connection.tuples(
            "SELECT position, day FROM event_log WHERE realm_id = %(r)s ORDER BY position",
            r=make.realm_id,
        )
    assert ids == sorted(set(ids))
    assert [position for position, _ in rows] == list(range(1, len(rows) + 1))
    days = [day for _, day in rows]
    assert days == sorted(days)
    assert days[-1] > days[0]


async def test_a_send_decided_on_stale_rows_is_decided_again(stage: Stage, make: Make):
    """Another process archives the channel after this one has cached it: the send is refused."""
    alice = await make.user()
    channel = await make.channel(subscribers=[alice])
    actor = await make.actor(alice)
    assert (await send(stage, actor, draft(channel))).message_id
    async with stage.database.connection() as connection:
        await channels.update(connection, make.realm_id, replace(channel, is_archived=True))
    await make.at_position(_touched("channels", channel.channel_id, make.realm_id))
    before = await log_positions(stage.database, make.realm_id)
    with pytest.raises(BadRequestError, match="Not authorized"):
        await send(stage, actor, draft(channel))
    assert await log_positions(stage.database, make.realm_id) == before


async def test_a_refusal_from_the_cache_is_checked_against_the_database(stage: Stage, make: Make):
    """Another process subscribed the sender a moment ago: their send is not refused."""
    bob = await make.user()
    channel = await make.channel(invite_only=True)
    actor = await make.actor(bob)
    with pytest.raises(DomainError):
        await send(stage, actor, draft(channel))
    await make.subscribe(channel, [bob])
    assert (await send(stage, actor, draft(channel))).message_id


async def test_of_two_first_sends_to_a_topic_one_makes_it(stage: Stage, make: Make):
    alice = await make.user()
    channel = await make.channel(subscribers=[alice])
    actor = await make.actor(alice)
    stages = [Stage(stage.database, stage.clock) for _ in range(4)]
    await asyncio.gather(*[send(each, actor, draft(channel, topic="New")) for each in stages])
    async with stage.database.connection() as connection:
        rows = await connection.tuples(
            "SELECT count(*), count(DISTINCT conversation_id) FROM messages WHERE realm_id = %(r)s",
            r=make.realm_id,
        )
    assert rows == [(4, 1)]


async def test_a_write_goes_on_when_its_caller_is_cancelled(stage: Stage, make: Make):
    actor = await make.actor()
    task = asyncio.create_task(stage.write(tick, actor))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await stage.writers.drain()
    assert await log_positions(stage.database, make.realm_id) == [1]


async def test_a_write_goes_on_alone_when_its_caller_is_gone(stage: Stage, make: Make):
    """The writes that share a commit with it fail after the caller has left."""
    actor = await make.actor()
    gone: asyncio.Task[Any]

    async def leave_and_break_down(tx, actor):
        gone.cancel()
        await asyncio.sleep(0)
        await break_down(tx, actor)

    breaking = asyncio.create_task(stage.write(leave_and_break_down, actor))
    gone = asyncio.create_task(stage.write(tick, actor))
    answers: Any = await asyncio.gather(gone, breaking, return_exceptions=True)
    assert isinstance(answers[0], asyncio.CancelledError)
    assert not isinstance(answers[1], asyncio.CancelledError)
    await stage.writers.drain()
    assert await log_positions(stage.database, make.realm_id) == [1]


async def test_a_realm_that_always_writes_lets_others_have_its_connection(database_url, make: Make):
    busy, other = await make.actor(), await (await new_realm(make.connection)).actor()
    async with open_database(database_url, min_size=1, max_size=1) as database:
        stage = Stage(database, StoppedClock())
        is_over = False

        async def write_always():
            while not is_over:
                await stage.write(tick, busy)

        writing = [asyncio.create_task(write_always()) for _ in range(8)]
        await asyncio.sleep(0.1)
        entry = await asyncio.wait_for(stage.write(tick, other), 30)
        is_over = True
        await asyncio.gather(*writing)
    assert entry.position == 1
    assert stage.writers.of(make.realm_id).commits > 1


async def test_what_keeps_being_stale_ends_as_an_error(stage: Stage, make: Make):
    actor = await make.actor()

    class Stale:
        statement = Statement("SELECT 1")

        def result(self, _rows):
            raise StaleDecisionError

        def recovered(self, _entries):
            raise AssertionError

    async def never(tx, actor):
        return tx.clocked(Stale())

    with pytest.raises(Exception, match="kept changing"):
        await stage.write(never, actor)
    assert (await stage.write(tick, actor)).position == 1


async def test_locks_in_a_batch_are_never_waited_for(stage: Stage, make: Make):
    """A row that another transaction holds: the write waits alone, the batch goes on."""
    alice = await make.user()
    channel = await make.channel(subscribers=[alice])
    actor = await make.actor(alice)

    async def lock_channel(tx, actor):
        rows = await tx.lock(channels.locking(tx.realm_id, [channel.channel_id]))
        assert len(rows) == 1
        return tx.append(Tick(), NO_AUDIENCE)

    async with stage.database.transaction() as holder:
        await holder.execute(
            "UPDATE channels SET description = 'held'"
            " WHERE realm_id = %(r)s AND channel_id = %(c)s",
            r=make.realm_id,
            c=channel.channel_id,
        )
        held = asyncio.create_task(stage.write(lock_channel, actor))
        free = await asyncio.wait_for(stage.write(tick, actor), 60)
        assert not held.done()
    assert (await held).position > free.position


def _touched(table: str, row_id: int, realm_id: int) -> Statement:
    column = {"channels": "channel_id"}[table]
    return Statement(
        f"UPDATE {table} SET changed_at = current_position()"
        f" WHERE realm_id = %(r)s AND {column} = %(id)s",
        {"r": realm_id, "id": row_id},
    )


async def test_an_action_of_a_batch_reads_through_the_connection_of_the_batch(
    database_url, make: Make
):
    """Rows that are cached no more, in the middle of a batch, with one connection in all."""
    actor = await make.actor()
    async with open_database(database_url, min_size=1, max_size=1) as database:
        stage = Stage(database, StoppedClock())

        async def look(tx, actor):
            await (await tx.connection()).value("SELECT 1")
            stage.realm_caches.of(make.realm_id).forget_everything()
            return (await (await tx.realm_cache()).realm()).name, tx.exact

        assert await stage.write(look, actor) == ("A realm", False)


async def test_uncommitted_rows_of_a_batch_are_not_cached(stage: Stage, make: Make):
    actor = await make.actor()
    realm_cache = stage.realm_caches.of(make.realm_id)

    async def rename_look_and_refuse(tx, actor):
        connection = await tx.changing()
        await connection.execute(
            "UPDATE realms SET name = 'half' WHERE realm_id = %(r)s", r=make.realm_id
        )
        realm_cache.forget_everything()
        assert (await (await tx.realm_cache()).realm()).name == "half"
        assert realm_cache.recall(REALM) is None
        raise BadRequestError("no, after all")

    with pytest.raises(BadRequestError):
        await stage.write(rename_look_and_refuse, actor)
    assert (await realm_cache.realm()).name == "A realm"
