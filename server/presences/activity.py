"""Count requests of users' clients in memory, and write the counts once a minute."""

import asyncio
from datetime import UTC, datetime
from itertools import islice
from typing import Final

import structlog

from server.domain.actor import Actor
from server.domain.clock import Clock
from storage import user_activity
from storage.database import Database, DatabaseUnavailableError, StatementTimeoutError
from storage.ids import RealmId, UserId
from storage.user_activity import OTHERS, Visits

logger = structlog.get_logger(__name__)

WRITE_SECONDS: Final = 60.0
"""Interval of writes; a crash loses as much."""
MAX_COUNTED: Final = 20_000
"""Maximum number of counters between two writes: further ones are not counted."""
MAX_CLIENTS: Final = 10
"""Maximum per user between two writes."""
WRITTEN_AT_ONCE: Final = 1_000

_Key = tuple[RealmId, UserId, str, str]


class Activity:
    """The counts of this process that are not written yet."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counts: dict[_Key, tuple[int, float]] = {}
        self._clients: dict[tuple[RealmId, UserId], tuple[str, ...]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(self, actor: Actor, path: str) -> None:
        """Count a request of the actor's client for this path, like `/messages/{message_id}`."""
        person = (actor.realm_id, actor.user_id)
        clients = self._clients.get(person, ())
        client = actor.client
        if client not in clients:
            if len(clients) >= MAX_CLIENTS:
                client = OTHERS
            else:
                self._clients[person] = (*clients, client)
        key = (actor.realm_id, actor.user_id, client, path.split("/", 2)[1])
        known = self._counts.get(key)
        if known is None and len(self._counts) >= MAX_COUNTED:
            return
        self._counts[key] = (1 if known is None else known[0] + 1, self._clock.now().timestamp())
        self._write_later()

    async def write(self) -> None:
        """Write the counts.

        Raises DatabaseUnavailableError and StatementTimeoutError: the counts are kept. Counts that
        cannot be written for another reason are dropped, and do not block others.
        """
        while self._counts:
            some = dict(islice(self._counts.items(), WRITTEN_AT_ONCE))
            visits = [
                Visits(*key, count=count, last_at=datetime.fromtimestamp(last_at, UTC))
                for key, (count, last_at) in some.items()
            ]
            try:
                async with self._database.connection() as connection:
                    await user_activity.add(connection, visits)
            except (DatabaseUnavailableError, StatementTimeoutError):
                raise
            except Exception:
                logger.exception("activity.write_failed")
            for key, (written, _) in some.items():
                count, last_at = self._counts.pop(key)
                if count > written:
                    self._counts[key] = (count - written, last_at)
            if len(some) < WRITTEN_AT_ONCE:
                break
        self._clients.clear()

    async def close(self) -> None:
        """Write the counts, and stop."""
        if self._timer is not None:
            self._timer.cancel()
        if self._writing is not None:
            await asyncio.wait([self._writing])
        await self._try_to_write()

    def _write_later(self) -> None:
        if self._timer is None and self._writing is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(WRITE_SECONDS, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._writing = asyncio.ensure_future(self._try_to_write())
        self._writing.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._writing = None
        if self._counts:
            self._write_later()

    async def _try_to_write(self) -> None:
        try:
            await self.write()
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            logger.warning("activity.write_deferred", error=str(error))
