"""What people's clients ask for, counted in memory and written together once a minute."""

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
"""How often a process writes what it has counted; a kill loses as much."""
MAX_COUNTED: Final = 20_000
"""People, clients and paths between two writes: what comes beyond is not counted."""
MAX_CLIENTS: Final = 10
"""Of one person between two writes."""
WRITTEN_AT_ONCE: Final = 1_000

_Key = tuple[RealmId, UserId, str, str]


class Activity:
    """The activity that this process has seen and not written yet."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._counts: dict[_Key, tuple[int, float]] = {}
        self._clients: dict[tuple[RealmId, UserId], tuple[str, ...]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def note(self, actor: Actor, path: str) -> None:
        """The actor's client has asked for what is at this path, like `/messages/{message_id}`."""
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
        """Write what has been counted.

        Raises DatabaseUnavailableError and StatementTimeoutError: it is counted still. What cannot
        be written for another reason is lost, and keeps back nothing else.
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
        """Write what has been counted, and no more."""
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
