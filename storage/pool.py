"""The connection pool: checkout order, liveness checks and reconnecting."""

import asyncio
import logging
import random
import select
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, cast

from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from storage.connector import CONNECT_SECONDS, Connector
from storage.driver import PgConnection
from storage.reasons import reason_of
from storage.refusals import RefusedError

logger = logging.getLogger(__name__)

RECONNECT_SECONDS = 0.25
"""Delay between attempts to reconnect: a restarted server is found at once."""
IDLE_TIMEOUT_SECONDS = 15.0
"""How often the connections are closed that were idle all the time since: each is a process of
Postgres with its memory.
"""


@asynccontextmanager
async def opened_pool(
    connector: Connector, *, min_size: int, max_size: int
) -> AsyncIterator[AsyncConnectionPool[PgConnection]]:
    """Open a pool of the connector's connections.

    Raises psycopg.OperationalError if no database responds, or if it is refused: the pool itself
    would retry until its timeout.
    """
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # it would log each attempt
    reconnecting = _Reconnecting(connector)
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    pool = _Pool(
        connection_class=cast(
            "type[PgConnection]", _CheckedConnections(connector, reconnecting, refused)
        ),
        min_size=min(min_size, max_size),
        max_size=max_size,
        open=False,
        timeout=CONNECT_SECONDS,
        max_idle=IDLE_TIMEOUT_SECONDS,
        name="parley",
        check=_confirm_life,
        reconnect_timeout=0,
        reconnect_failed=reconnecting,
    )
    await pool.open()
    try:
        await _first_of(pool.wait(CONNECT_SECONDS), refused)
        yield pool
    finally:
        reconnecting.stop()
        await pool.close()


async def _first_of(work: Coroutine[Any, Any, None], failure: asyncio.Future[None]) -> None:
    """Wait for the work; raise the failure if that comes first."""
    working = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([working, failure], return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        working.cancel()
        failure.cancel()


async def _confirm_life(raw: PgConnection) -> None:
    """Check a connection that looks dead; raise OperationalError if it is.

    Postgres sends nothing unasked on a pooled connection but its goodbye.
    """
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(raw)


class _CheckedConnections:
    """Stands in for the class of the pool's connections."""

    def __init__(
        self, connector: Connector, reconnecting: "_Reconnecting", refused: asyncio.Future[None]
    ) -> None:
        self._connector = connector
        self._reconnecting = reconnecting
        self._refused = refused

    async def connect(self, _conninfo: str, **named: Any) -> PgConnection:
        """Return a checked connection for the pool."""
        try:
            connection = await self._connector.connect(**named)
        except RefusedError as error:
            if not self._refused.done():
                self._refused.set_exception(error)
            raise
        self._reconnecting.succeeded()
        return connection


class _LastUsedFirst(deque[PgConnection]):
    """The free connections of a pool, of which the one that was used last is given first.

    Its backend has tables and plans in its caches: in turn, a send takes 20 to 50 % longer
    (docs/adr/0031-statements.md).
    """

    @override
    def popleft(self) -> PgConnection:
        return self.pop()

    def pop_coldest(self) -> PgConnection:
        """Remove and return the one that was used longest ago."""
        return super().popleft()


class _Pool(AsyncConnectionPool[PgConnection]):
    """Gives the connection that was used last, and closes all idle ones, the coldest, at once.

    psycopg_pool has no documented hook for either. It closes one connection each time, and so
    needs minutes until the backends of a burst are gone.

    The connections that it keeps after a burst have worked the most: their backends hold plans and
    catalog rows of all statements, up to 20 MiB each. Once the pool did not grow again for a whole
    interval, it replaces them.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._free = self._pool = _LastUsedFirst()
        self._kept_from_burst = False

    @override
    async def _shrink_pool(self) -> None:
        async with self._lock:
            unused = min(self._nconns_min, self._nconns - self._min_size, len(self._free))
            closing = [self._free.pop_coldest() for _ in range(unused)]
            self._nconns -= len(closing)
            self._nconns_min = len(self._free)
        for each in closing:
            await self._close_connection(each)
        if closing:
            self._kept_from_burst = True
        elif self._kept_from_burst and self._nconns <= self._min_size:
            self._kept_from_burst = False
            await self.drain()


class _Reconnecting:
    """Retry to connect at an even pace: the pool itself backs off longer and longer.

    It also logs once what the pool logs of each attempt.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._task: asyncio.Task[None] | None = None
        self._is_away = False

    def succeeded(self) -> None:
        """Reset after a successful connection."""
        if self._is_away:
            logger.info("database.recovered")
        self._is_away = False

    async def __call__(self, pool: AsyncConnectionPool[PgConnection]) -> None:
        if not self._is_away:
            trouble = self._connector.trouble
            reason = "no reason known" if trouble is None else reason_of(trouble)
            logger.warning("database.unavailable", extra={"fields": {"reason": reason}})
        self._is_away = True
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._later(pool))

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _later(self, pool: AsyncConnectionPool[PgConnection]) -> None:
        pause = RECONNECT_SECONDS * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load, no secret
        await asyncio.sleep(pause)
        await pool.check()
