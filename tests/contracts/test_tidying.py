"""Once a minute it is noted which queues live, and idle ones go: a few at a time."""

from datetime import timedelta
from typing import Any

import pytest
import pytest_asyncio

from server.realm_cache import RealmCaches
from server.realtime import queue_sweeper
from server.realtime.queue_sweeper import IDLE_QUEUE_SECONDS
from server.realtime.queues import Realtime
from storage import event_queues
from storage.database import Database
from storage.ids import QueueId
from testkit.clock import StoppedClock
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

QUEUES = 25
AT_ONCE = 10


@pytest.fixture
def clock() -> StoppedClock:
    return StoppedClock()


@pytest_asyncio.fixture
async def realtime(database: Database, make: Make, clock: StoppedClock, monkeypatch) -> Realtime:
    """With so many queues, which were last polled now, and an hour ago as far as is noted."""
    monkeypatch.setattr(queue_sweeper, "QUEUES_PER_STEP", AT_ONCE)
    realtime = Realtime(database, RealmCaches(database, clock), clock)
    user = await make.user()
    for number in range(QUEUES):
        queue_id = QueueId(str(number))
        async with database.connection() as connection:
            await event_queues.insert(
                connection,
                make.realm_id,
                [event_queues.NewQueue(queue_id, user.user_id, {}, 86_400)],
            )
        await realtime.queue(make.realm_id, user.user_id, queue_id)
    await make.connection.execute(
        "UPDATE event_queues SET last_seen_at = now() - interval '1 hour' WHERE realm_id = %(r)s",
        r=make.realm_id,
    )
    return realtime


async def test_all_that_live_are_noted_some_at_a_time(realtime, make: Make, monkeypatch):
    noted: list[int] = []
    touch = event_queues.touch

    async def count(connection: Any, realm_ids: Any, queue_ids: Any) -> int:
        noted.append(len(queue_ids))
        return await touch(connection, realm_ids, queue_ids)

    monkeypatch.setattr(event_queues, "touch", count)
    await realtime._sweeper.touch()
    assert noted == [10, 10, 5]
    seen = await make.connection.value(
        "SELECT count(*) FROM event_queues"
        " WHERE realm_id = %(r)s AND last_seen_at > now() - interval '1 minute'",
        r=make.realm_id,
    )
    assert seen == QUEUES


async def test_unpolled_queues_go_and_others_stay(realtime, make: Make, clock):
    follower = await realtime.follower(make.realm_id)
    clock.advance(timedelta(seconds=IDLE_QUEUE_SECONDS + 1))
    follower.queues["3"].idle_since = clock.monotonic()
    await realtime._sweeper.drop_idle()
    assert list(follower.queues) == ["3"]
