"""The pool of connections to Postgres: which it gives, looks after, and makes again."""

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
"""Between two attempts to connect again: a server that only restarted is found at once."""
SPARE_SECONDS = 15.0
"""A connection that nobody has needed for so long is closed, one each time: each is a process of
Postgres with its memory."""


@asynccontextmanager
async def opened_pool(
    connector: Connector, *, min_size: int, max_size: int
) -> AsyncIterator[AsyncConnectionPool[PgConnection]]:
    """A pool of what the connector connects.

    Raises psycopg.OperationalError if no database answers, and what it is refused for at once: the
    pool itself would try that again until it gives up.
    """
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # it would tell each attempt
    reconnecting = _Reconnecting(connector)
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    pool: AsyncConnectionPool[PgConnection] = AsyncConnectionPool(
        connection_class=cast("type[PgConnection]", _Door(connector, reconnecting, refused)),
        min_size=min(min_size, max_size),
        max_size=max_size,
        open=False,
        timeout=CONNECT_SECONDS,
        max_idle=SPARE_SECONDS,
        name="parley",
        check=_confirm_life,
        reconnect_timeout=0,
        reconnect_failed=reconnecting,
    )
    pool._pool = _Warm()  # noqa: SLF001 - it has no other way to say which one is next
    await pool.open()
    try:
        await _first_of(pool.wait(CONNECT_SECONDS), refused)
        yield pool
    finally:
        reconnecting.stop()
        await pool.close()


async def _first_of(work: Coroutine[Any, Any, None], failure: asyncio.Future[None]) -> None:
    """Wait for the work, or raise the failure that comes before it."""
    working = asyncio.create_task(work)
    try:
        done, _ = await asyncio.wait([working, failure], return_when=asyncio.FIRST_COMPLETED)
        for each in done:
            each.result()
    finally:
        working.cancel()
        failure.cancel()


async def _confirm_life(raw: PgConnection) -> None:
    """Ask a connection whether it lives, if it looks dead. Raises an OperationalError if so.

    Nobody talks to us on a connection of the pool unasked, but to say goodbye.
    """
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    if poll.poll(0):
        await AsyncConnectionPool.check_connection(raw)


class _Door:
    """What the pool takes for the class of its connections."""

    def __init__(
        self, connector: Connector, reconnecting: "_Reconnecting", refused: asyncio.Future[None]
    ) -> None:
        self._connector = connector
        self._reconnecting = reconnecting
        self._refused = refused

    async def connect(self, _conninfo: str, **named: Any) -> PgConnection:
        """Return a connection that was checked, for the pool."""
        try:
            connection = await self._connector.connect(**named)
        except RefusedError as error:
            if not self._refused.done():
                self._refused.set_exception(error)
            raise
        self._reconnecting.succeeded()
        return connection


class _Warm(deque[PgConnection]):
    """The free connections of a pool, of which the one that was used last is given first.

    Its process of Postgres has all at hand: taking them in turn made a send a tenth slower.
    """

    @override
    def popleft(self) -> PgConnection:
        return self.pop()


class _Reconnecting:
    """Goes on trying to connect, at an even pace: the pool itself waits longer and longer.

    It also tells once what the pool tells of each attempt.
    """

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        self._task: asyncio.Task[None] | None = None
        self._is_away = False

    def succeeded(self) -> None:
        """There is a new connection."""
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
