"""A COMMIT with a lost or late response: each write happens exactly once."""

import asyncio
import random
from collections.abc import AsyncIterator

import psycopg
import pytest
import pytest_asyncio

from server.actions.message_flags import change_flag
from server.events.base import NO_AUDIENCE
from server.events.log import Tick
from storage.database import open_database
from testkit.clock import StoppedClock
from testkit.factories import Make
from testkit.faults.proxy import CuttingProxy, proxy_to
from testkit.stage import Stage

pytestmark = pytest.mark.asyncio

ANSWER_BYTES = 420
"""About so long is Postgres' answer to a batch with one entry."""
STEP = 12


async def tick(tx, actor):
    return tx.append(Tick(), NO_AUDIENCE)


@pytest_asyncio.fixture
async def proxy(database_url: str) -> AsyncIterator[CuttingProxy]:
    port = psycopg.conninfo.conninfo_to_dict(database_url).get("port")
    async with proxy_to(int(port or 5432)) as proxy:
        yield proxy


@pytest_asyncio.fixture
async def stage(database_url: str, proxy: CuttingProxy) -> AsyncIterator[Stage]:
    """A stage with its database behind the proxy."""
    url = psycopg.conninfo.make_conninfo(database_url, host="127.0.0.1", port=proxy.port)
    async with open_database(url, min_size=2, max_size=4) as behind:
        stage = Stage(behind, StoppedClock())
        yield stage
        proxy.forgive()
        await stage.writers.drain()


async def positions(database, realm_id) -> list[int]:
    async with database.connection() as connection:
        found: list[int] = await connection.values(
            "SELECT position FROM event_log WHERE realm_id = %(r)s ORDER BY position", r=realm_id
        )
    return found


async def test_an_answer_that_is_cut_at_any_byte_costs_and_doubles_nothing(
    stage: Stage, proxy: CuttingProxy, database, make: Make
):
    actor = await make.actor()
    told = []
    for length in range(0, ANSWER_BYTES, STEP):
        await stage.run(tick, actor)  # so that connections are open
        for link in proxy.links:
            link.far.allowance = length
        entry = await stage.run(tick, actor)
        proxy.forgive()
        told.append(entry.position)
    assert proxy.cuts > ANSWER_BYTES // STEP // 2
    assert told == [2 * (n + 1) for n in range(len(told))]
    assert await positions(database, make.realm_id) == list(range(1, 2 * len(told) + 1))


async def test_reads_that_share_a_statement_keep_their_answers_when_its_own_is_cut(
    stage: Stage, proxy: CuttingProxy, make: Make
):
    people = await make.users(3)
    channel = await make.channel(subscribers=people)
    topic = await make.topic(channel, "t")
    actors = [await make.actor(person) for person in people[1:]]
    found = 0
    for length in range(0, ANSWER_BYTES, 4 * STEP):
        ids = [await make.message(people[0], topic) for _ in range(2)]
        await stage.run(tick, actors[0])  # so that connections are open
        for link in proxy.links:
            link.far.allowance = length
        stage.happened.clear()
        answers = await asyncio.gather(
            stage.write(tick, actors[0]),  # while it is under way, the others gather
            stage.write(change_flag, actors[0], ids, "add", "read"),
            stage.write(change_flag, actors[1], ids[:1], "add", "read"),
            stage.write(change_flag, actors[1], ids, "add", "read"),
        )
        proxy.forgive()
        assert [answer.result.message_ids for answer in answers[1:]] == [ids, ids[:1], ids[1:]]
        told = [each for each in stage.happened if each.event.kind == "update_message_flags"]
        assert sorted(each.audience.users for each in told) == sorted(
            (actor.user_id,) for actor in actors[: len(told)]
        )
        found += len(told) == len(actors)
    assert found


async def test_a_commit_that_arrives_late_is_not_done_twice(
    stage: Stage, proxy: CuttingProxy, database, make: Make
):
    """Its connection ended, so the writer has tried again before the server got to it."""
    actor = await make.actor()
    await stage.run(tick, actor)
    proxy.strand_soon(random.Random(0), share=2.0)
    entry = await stage.run(tick, actor)
    assert entry.position == 2
    assert proxy.stranded
    proxy.deliver_stranded()
    # Whatever was late gets its turn of the clock before this.
    for _ in range(3):
        await asyncio.sleep(0.05)
        await stage.run(tick, actor)
    assert await positions(database, make.realm_id) == [1, 2, 3, 4, 5]
