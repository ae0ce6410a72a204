"""What a send costs the database does not depend on how many receive it (invariant 6)."""

from dataclasses import dataclass
from typing import Any

import pytest

from server.actions.messages.decide import OutgoingMessage
from server.actions.messages.send import prepare, send_message
from storage.database import Statement
from testkit.factories import Make
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio

SENDS = 12
WAL_BYTES = 2_048


@dataclass
class Explained:
    """A send that also tells how much write-ahead log it was."""

    send: Any

    @property
    def statement(self) -> Statement:
        sql = "EXPLAIN (ANALYZE, WAL, FORMAT JSON) " + self.send.statement.sql
        return Statement(sql, self.send.statement.params)

    def result(self, rows):
        return rows[0][0][0]["Plan"]["WAL Bytes"]


async def wal_of_a_send(stage: Stage, make: Make, channel, sender) -> int:
    """The least of several: the first touch of a page after a checkpoint logs all of it."""
    actor = await make.actor(sender)
    draft = OutgoingMessage(type="channel", to=channel.channel_id, topic="t", content="x" * 100)
    realm_cache = stage.realm_caches.of(make.realm_id)

    async def send(tx, actor, decision):
        await send_message(tx, actor, draft, decision, stage.clock.now())
        [step] = tx.steps
        step.write = Explained(step.write)
        return step

    taken: list[int] = []
    for _ in range(SENDS):
        decision = await prepare(realm_cache, actor, draft, stage.database.connection)
        taken.append((await stage.write(send, actor, decision)).result)
    return min(taken)


async def test_a_send_to_thousands_costs_what_a_send_to_ten_costs(stage: Stage, make: Make):
    people = await make.users(3_000)
    few = await make.channel("few", subscribers=people[:10])
    many = await make.channel("many", subscribers=people)
    cheap = await wal_of_a_send(stage, make, few, people[0])
    large = await wal_of_a_send(stage, make, many, people[0])
    assert 500 < cheap < WAL_BYTES
    assert abs(large - cheap) < 200
