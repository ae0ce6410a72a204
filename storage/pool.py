"""The pool of connections to Postgres: which it gives, looks after, and makes again."""

import asyncio
import logging
import random
import select
from collections import deque
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, LiteralString

from psycopg_pool import AsyncConnectionPool
from typing_extensions import override

from storage.driver import PgConnection
from storage.rights import REFUSALS, RightMissingError, explained

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10
RECONNECT_SECONDS = 0.25
"""Between two attempts to connect again: a server that only restarted is found at once."""
SPARE_SECONDS = 15.0
"""A connection that nobody has needed for so long is closed, one each time: each is a process of
Postgres with its memory."""
OPTIONS = (
    "-c jit=off -c random_page_cost=1.1 -c timezone=UTC"
    r" -c default_transaction_isolation=read\ committed"
)
"""Compiling a plan takes longer than any of our queries. A thousand ids are looked up one by one:
pages are in memory, or not far from it, and a table is long. And whatever the database is set to: a
write sees what was committed before its turn, which under another level it could not; and the last
moment of the year 9999 is one that Python knows."""
KEEPALIVE: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "tcp_user_timeout": 15_000,
}
"""A host that vanished without a word is noticed by probes, or, where something was sent to it,
when that is not acknowledged for so many milliseconds: TCP alone goes on for a quarter of an hour.
"""


@asynccontextmanager
async def opened_pool(
    url: str, *, min_size: int, max_size: int, first: LiteralString | None = None
) -> AsyncIterator[AsyncConnectionPool[PgConnection]]:
    """A pool on `url`, each of whose connections begins with the statement `first`.

    Raises psycopg.OperationalError if nobody answers there, and RightMissingError where `first` is
    refused: the pool itself would try that again until it gives up.
    """
    logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)  # it would tell each attempt
    reconnecting = _Reconnecting()
    refused: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def configure(raw: PgConnection) -> None:
        try:
            if first is not None:
                await raw.execute(first)
        except REFUSALS as error:
            if not refused.done():
                refused.set_exception(RightMissingError(explained(error, raw.info)))
            raise
        reconnecting.succeeded()

    pool: AsyncConnectionPool[PgConnection] = AsyncConnectionPool(
        url,
        connection_class=PgConnection,
        min_size=min(min_size, max_size),
        max_size=max_size,
        open=False,
        timeout=CONNECT_SECONDS,
        max_idle=SPARE_SECONDS,
        kwargs={
            "autocommit": True,
            "options": OPTIONS,
            "connect_timeout": CONNECT_SECONDS,
            **KEEPALIVE,
        },
        name="parley",
        check=_confirm_life,
        reconnect_timeout=0,
        reconnect_failed=reconnecting,
        configure=configure,
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

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._is_away = False

    def succeeded(self) -> None:
        """There is a new connection."""
        if self._is_away:
            logger.info("the database answers again")
        self._is_away = False

    async def __call__(self, pool: AsyncConnectionPool[PgConnection]) -> None:
        if not self._is_away:
            logger.warning("the database does not answer")
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
