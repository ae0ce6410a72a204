"""Statements on many event queues never wait for each other in a circle."""

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from storage import event_queues
from storage.database import Connection, Database
from storage.event_queues import NewQueue
from storage.ids import Position, QueueId
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

QUEUES = 150
ROUNDS = 12
WITHIN_SECONDS = 60


async def test_queues_begin_are_touched_and_deleted_in_any_order_at_once(
    database: Database, make: Make
):
    """Postgres would end one of two statements that wait for each other, with an error."""
    people = await make.users(3)
    chance = random.Random(0)
    realm_id, user_ids = make.realm_id, [person.user_id for person in people]

    async def run(work: Callable[[Connection], Awaitable[object]]) -> None:
        async with database.connection() as connection:
            await work(connection)

    for number in range(ROUNDS):
        ids = [QueueId(f"{chance.getrandbits(64):x}") for _ in range(QUEUES)]
        new = [NewQueue(each, chance.choice(user_ids), {}, 600) for each in ids]
        await run(lambda c, new=new: event_queues.insert(c, realm_id, new))  # type: ignore[misc]
        orders = [chance.sample(ids, len(ids)) for _ in range(5)]
        async with asyncio.timeout(WITHIN_SECONDS):
            await asyncio.gather(
                *[
                    run(
                        lambda c, order=order: event_queues.begin(  # type: ignore[misc]
                            c, realm_id, {each: {} for each in order}, epoch=1, base=Position(1)
                        )
                    )
                    for order in orders[:2]
                ],
                run(lambda c, order=orders[2]: event_queues.touch(c, [realm_id] * QUEUES, order)),  # type: ignore[misc]
                run(lambda c: event_queues.delete_of_users(c, realm_id, user_ids[:2])),
                run(lambda c, order=orders[3]: event_queues.delete(c, realm_id, order[:50])),  # type: ignore[misc]
                run(lambda c: event_queues.delete_all(c, realm_id))
                if number % 2
                else run(_nothing),
            )


async def _nothing(_: Connection) -> None:
    return None
