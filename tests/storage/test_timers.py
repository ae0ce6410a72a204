"""What is due is found in all realms, each realm's in its order, and nothing else."""

from datetime import UTC, datetime, timedelta

import pytest

from storage import reminders, scheduled_messages, timers
from storage.ids import UserId
from storage.scheduled_messages import ScheduledMessageRow
from testkit.factories import Make, new_realm

pytestmark = pytest.mark.asyncio

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def put_off(make: Make, seconds: float) -> int:
    """Something that is due so long after noon; its id."""
    row = ScheduledMessageRow(
        realm_id=make.realm_id,
        sender_id=UserId(1),
        channel_id=None,
        topic="",
        user_ids=[UserId(1)],
        content=str(seconds),
        rendered_content="",
        due_at=NOON + timedelta(seconds=seconds),
        read_by_sender=False,
        client="test",
    )
    return await make.at_position(scheduled_messages.insert(make.realm_id, row))


async def due(connection, seconds, *, realms=10, limit=10, **others):
    moment = NOON + timedelta(seconds=seconds)
    window = timers.DueWindow(now=moment, realms=realms, limit=limit, **others)
    rows = await scheduled_messages.due(connection, window)
    return [(row.realm_id, row.content) for row in rows]


async def test_each_realm_has_its_turn_and_its_order(connection):
    one, two = await new_realm(connection), await new_realm(connection)
    for seconds in (30, 10, 20):
        await put_off(one, seconds)
    await put_off(two, 25)
    assert await due(connection, 9) == []
    assert await due(connection, 10) == [(one.realm_id, "10")]
    found = await due(connection, 30, limit=2)
    assert [each for each in found if each[0] == one.realm_id] == [
        (one.realm_id, "10"),
        (one.realm_id, "20"),
    ]
    assert (two.realm_id, "25") in found


async def test_what_is_left_alone_or_has_failed_is_not_due(connection):
    one, two = await new_realm(connection), await new_realm(connection)
    # The ids of realms are alike.
    first, same = await put_off(one, 1), await put_off(two, 1)
    second = await put_off(one, 2)
    assert first == same
    found = await due(connection, 5, without=[(one.realm_id, first)])
    assert sorted(found) == [(one.realm_id, "2"), (two.realm_id, "1")]
    await connection.execute(
        """
        UPDATE scheduled_messages SET failure = 'no'
         WHERE realm_id = %(r)s AND scheduled_message_id = %(id)s
        """,
        r=one.realm_id,
        id=second,
    )
    assert await due(connection, 5, without=[(one.realm_id, first)]) == [(two.realm_id, "1")]
    assert await timers.next_at(connection, after=NOON + timedelta(seconds=1)) is None


async def test_realms_that_have_waited_longest_come_first(connection):
    """But for busy ones; one of which the only row is left alone does not count as such."""
    realms = [await new_realm(connection) for _ in range(4)]
    ids = [await put_off(make, seconds) for make, seconds in zip(realms, (4, 3, 2, 1), strict=True)]
    await put_off(realms[0], 5)
    one, two, three, four = (make.realm_id for make in realms)
    assert await due(connection, 9, realms=2) == [(four, "1"), (three, "2")]
    assert await due(connection, 9, realms=2, busy=[four]) == [(three, "2"), (two, "3")]
    found = await due(connection, 9, realms=2, busy=[four], without=[(three, ids[2])])
    assert found == [(two, "3"), (one, "4"), (one, "5")]


async def rows_read(connection, table):
    """How many rows this transaction has looked at, in whichever way."""
    return await connection.value(
        """
        SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables
         WHERE relname = %(table)s
        """,
        table=table,
    )


async def test_what_waits_costs_nothing_until_it_is_due(connection):
    """A look reads what is due, however much there is for later."""
    await connection.execute(
        """
        INSERT INTO scheduled_messages (realm_id, scheduled_message_id, sender_id, topic, user_ids,
               content, rendered_content, due_at, read_by_sender, client)
        SELECT 1 + n %% 50, n, 1, '', '{1}', repeat('x', 200), '',
               %(noon)s + make_interval(secs => n), false, 'test'
          FROM generate_series(1, 20000) AS n
        """,
        noon=NOON,
    )
    await connection.execute(
        """
        INSERT INTO reminders (realm_id, reminder_id, user_id, note, content, rendered_content,
               due_at)
        SELECT 1 + n %% 50, n, 1, repeat('x', 200), '', '', %(noon)s + make_interval(secs => n)
          FROM generate_series(1, 20000) AS n
        """,
        noon=NOON,
    )
    await connection.execute("ANALYZE scheduled_messages, reminders")
    moment = NOON + timedelta(seconds=3)
    for module in (scheduled_messages, reminders):
        table = module.__name__.rpartition(".")[2]
        before = await rows_read(connection, table)
        found = await module.due(connection, timers.DueWindow(now=moment, realms=50, limit=100))
        assert [row.due_at for row in found] == [NOON + timedelta(seconds=n) for n in (1, 2, 3)]
        assert await timers.next_at(connection, after=moment) == moment + timedelta(seconds=1)
        assert await rows_read(connection, table) - before < 20
