"""A session holds an old snapshot (a dump, a forgotten transaction): sends go on as before.

While it is held, no version of the clock's row can be removed. What a send costs must not grow
with the number of those versions: blocks that are touched are counted, for time is noise.
"""

from typing import Any, LiteralString

import pytest
from typing_extensions import override

from storage import clock, search
from storage.database import Connection, Database
from storage.event_log import after
from storage.ids import Position
from testkit.factories import Make
from testkit.stage import Stage
from tests.actions.test_writer import draft, send

pytestmark = pytest.mark.asyncio

VERSIONS = 2_000
TURNS = """
    DO $$ BEGIN
        FOR turn IN 1..{count} LOOP
            PERFORM clock_lock({realm_id});
            PERFORM append_entry({realm_id}, 'tick', '', '{{}}', gen_random_uuid());
            PERFORM clock_advance({realm_id});
            COMMIT;
        END LOOP;
    END $$
"""


async def blocks_of_a_turn(make: Make) -> int:
    """How many blocks are touched by taking the clock, appending one entry, and advancing."""
    touched = 0
    async with make.connection.raw.transaction(force_rollback=True):
        for statement in (
            clock.lock(make.realm_id),
            clock.append(
                make.realm_id,
                kind="tick",
                audience=b"",
                body=b"{}",
                write_id="00000000-0000-0000-0000-000000000000",
            ),
            clock.advance(make.realm_id),
        ):
            sql: Any = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + statement.sql
            cursor = await make.connection.raw.execute(sql, dict(statement.params))
            [[explained]] = await cursor.fetchall()
            plan = explained[0]["Plan"]
            touched += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    return touched


class Counting(Connection):
    """Runs queries to count what they touch, and gives no rows."""

    touched = 0

    @override
    async def many(self, row: type[Any], sql: LiteralString, **params: Any) -> list[Any]:
        del row
        return await self.tuples(sql, **params)

    @override
    async def tuples(self, sql: LiteralString, **params: Any) -> list[Any]:
        [[explained]] = await super().tuples(
            "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) " + sql, **params
        )
        plan = explained[0]["Plan"]
        self.touched += plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        return []


async def blocks_of_a_look(make: Make) -> int:
    """How many blocks the indexer touches to learn which realms are behind, and how far this is."""
    counting = Counting(make.connection.raw)
    for _ in range(2):  # the first look makes a row and plans
        counting.touched = 0
        await search.lagging(counting)
        await search.index_some(counting, make.realm_id, "english", limit=1)
    return counting.touched


async def take_turns(make: Make, count: int) -> None:
    sql: Any = TURNS.format(count=count, realm_id=make.realm_id)
    await make.connection.raw.execute(sql)  # commits as it goes, so in no transaction of ours


async def test_a_turn_costs_the_same_however_long_a_snapshot_is_open(
    make: Make, database: Database
):
    await take_turns(make, 50)
    before = max([await blocks_of_a_turn(make) for _ in range(3)])
    async with database.snapshot() as old:
        row = await clock.read(old, make.realm_id)
        await take_turns(make, VERSIONS)
        during = min([await blocks_of_a_turn(make) for _ in range(3)])
        assert await clock.read(old, make.realm_id) == row
    assert await make.position() == 50 + VERSIONS
    assert during <= 2 * before, f"{before} blocks a turn, then {during}"


async def test_nothing_is_lost_and_no_send_waits_while_a_snapshot_is_open(
    stage: Stage, make: Make, database: Database
):
    alice = await make.user()
    channel = await make.channel(subscribers=[alice])
    actor = await make.actor(alice)
    first = (await send(stage, actor, draft(channel))).message_id
    async with database.snapshot() as old, database.transaction() as forgotten:
        await forgotten.value("SELECT count(*) FROM messages")  # idle in transaction from here on
        held = await clock.read(old, make.realm_id)
        assert held is not None
        ids = [(await send(stage, actor, draft(channel))).message_id for _ in range(20)]
        seen = await after(old, make.realm_id, cursor=Position(0), limit=100, max_bytes=1 << 20)
        assert [row.position for row in seen] == list(range(1, held.position + 1))
    rows = await after(
        make.connection, make.realm_id, cursor=Position(0), limit=100, max_bytes=1 << 20
    )
    assert [row.position for row in rows] == list(range(1, ids[-1] + 1))
    assert [row.position for row in rows if row.kind == "message"] == [first, *ids]


async def test_looking_for_what_is_not_in_the_index_costs_the_same_however_long_one_is_open(
    make: Make, database: Database
):
    await take_turns(make, 50)
    before = await blocks_of_a_look(make)
    async with database.snapshot() as old:
        await clock.read(old, make.realm_id)
        await take_turns(make, VERSIONS)
        during = await blocks_of_a_look(make)
    assert during <= before + 4, f"{before} blocks a look, then {during}"
