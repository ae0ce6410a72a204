"""Find log entries whose hint was lost, by comparing the clocks with Postgres."""

import asyncio
import random
from collections.abc import Mapping

from server.realtime.follower import RealmFollower
from storage import clock as clocks
from storage.database import RETRYABLE_ERRORS, Database
from storage.ids import RealmId

BUSY_GUARD_SECONDS = 0.1
IDLE_GUARD_SECONDS = 1.0
"""Interval of comparing the clocks with Postgres: the loss of the last hint reveals no gap."""


class ClockGuard:
    """Compares the clocks of followed realms with Postgres, in one query each time."""

    def __init__(self, database: Database, followers: Mapping[RealmId, RealmFollower]) -> None:
        self._database = database
        self._followers = followers
        self._check_now = asyncio.Event()

    def check_now(self) -> None:
        """Compare at once, instead of after the interval."""
        self._check_now.set()

    async def run(self) -> None:
        """Compare until cancelled: more often while the clocks advance."""
        pause = BUSY_GUARD_SECONDS
        while True:
            try:
                async with asyncio.timeout(pause * random.uniform(0.9, 1.1)):  # noqa: S311
                    await self._check_now.wait()
            except TimeoutError:
                pass
            self._check_now.clear()
            try:
                moved = await self.compare()
            except RETRYABLE_ERRORS:
                moved = False
            pause = BUSY_GUARD_SECONDS if moved else min(IDLE_GUARD_SECONDS, pause * 1.5)

    async def compare(self) -> bool:
        """Notify followers that are behind; return whether any clock has advanced since."""
        if not self._followers:
            return False
        before = {realm_id: f.position for realm_id, f in self._followers.items()}
        async with self._database.connection() as connection:
            rows = await clocks.read_many(connection, list(self._followers))
        moved = False
        for row in rows:
            follower = self._followers.get(row.realm_id)
            if follower is not None:
                moved = moved or row.position > before.get(row.realm_id, row.position)
                follower.notice(row.epoch, row.position)
        return moved
