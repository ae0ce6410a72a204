"""Record which event queues live, and drop those that are no longer polled here."""

import asyncio
from collections.abc import Iterator, Mapping
from itertools import islice

import structlog

from server.domain.clock import Clock
from server.realtime.follower import RealmFollower
from server.realtime.queue import EventQueue
from storage import event_queues
from storage.database import RETRYABLE_ERRORS, Database
from storage.ids import RealmId

logger = structlog.get_logger(__name__)

QUEUES_PER_STEP = 500
"""Queues that are checked before other tasks run."""
IDLE_QUEUE_SECONDS = 120.0
"""A queue that is not polled is dropped from memory after this time."""


class QueueSweeper:
    """Sweeps the queues of followed realms, some at a time."""

    def __init__(
        self, database: Database, followers: Mapping[RealmId, RealmFollower], clock: Clock
    ) -> None:
        self._database = database
        self._followers = followers
        self._clock = clock
        self._touched_at = clock.monotonic()

    async def sweep(self) -> None:
        """Update the rows of live queues, delete expired rows, and drop idle queues."""
        try:
            await self.touch()
        except RETRYABLE_ERRORS as error:
            logger.warning("realtime.queue_touch_failed", error=str(error))
        await self.drop_idle()

    async def touch(self) -> None:
        """Update the rows of queues that were polled since the last time, delete expired rows.

        Queues dropped since then are polled in another process, or were idle for longer.
        """
        since, now = self._touched_at, self._clock.monotonic()
        queues = self._all()
        while portion := list(islice(queues, QUEUES_PER_STEP)):
            # In the same order in all processes, against deadlocks.
            seen = sorted(
                (follower.realm_id, queue.queue_id)
                for follower, queue in portion
                if queue.waiter is not None or queue.idle_since >= since
            )
            if seen:
                async with self._database.connection() as connection:
                    await event_queues.touch(connection, [r for r, _ in seen], [q for _, q in seen])
        async with self._database.connection() as connection:
            await event_queues.delete_expired(connection)
        self._touched_at = now

    async def drop_idle(self) -> None:
        """Drop queues from memory that were not polled for IDLE_QUEUE_SECONDS."""
        now = self._clock.monotonic()
        queues = self._all()
        while portion := list(islice(queues, QUEUES_PER_STEP)):
            for follower, queue in portion:
                is_idle = queue.waiter is None and now - queue.idle_since > IDLE_QUEUE_SECONDS
                if is_idle and follower.queues.get(queue.queue_id) is queue:
                    follower.drop_queue(queue)
            await asyncio.sleep(0)  # let other tasks run

    def _all(self) -> Iterator[tuple[RealmFollower, EventQueue]]:
        """The queues of all realms, which may change during the iteration."""
        for follower in list(self._followers.values()):
            for queue in list(follower.queues.values()):
                yield follower, queue
