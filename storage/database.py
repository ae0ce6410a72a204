"""The database pool, and connections that run one typed query a call."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, Final, Generic, LiteralString, TypeVar, overload

import orjson
import psycopg
from psycopg.pq import PipelineStatus, TransactionStatus
from psycopg.types.json import Jsonb, set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from storage.connection_names import connection_name
from storage.connector import Connector
from storage.driver import Answer, PgConnection
from storage.interleaved_reads import Reading, Result, next_round, side_by_side
from storage.pool import opened_pool
from storage.reasons import reason_of
from storage.refusals import RefusedError
from storage.rights import REFUSALS, RightMissingError, explained
from storage.rows import built, columns, first

Row = TypeVar("Row")
Second = TypeVar("Second")
Third = TypeVar("Third")


class DatabaseUnavailableError(Exception):
    """The database cannot be reached; a retry may succeed."""


class ConnectionLostError(DatabaseUnavailableError):
    """The connection was lost while in use. Reads may be retried on another at once."""


class LockUnavailableError(Exception):
    """A row that a batch needs is locked by another transaction, or is missing."""


class StatementTimeoutError(Exception):
    """A statement or a lock exceeded its timeout."""


RETRYABLE_ERRORS: Final = (DatabaseUnavailableError, StatementTimeoutError)
"""Errors after which a retry may succeed."""


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL and its parameters, to be run later: in the second part of a realm's write."""

    sql: LiteralString
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Locking(Generic[Row]):
    """A query that locks its rows until commit. `sql` has no locking clause of its own."""

    row: type[Row]
    sql: LiteralString
    params: Mapping[str, Any]
    expected: int
    """The number of rows expected: fewer means that some are locked by others, or are gone.

    With 0 a write in a batch takes a locked row to be missing: only for rows that no batch uses.
    """
    clause: LiteralString = " FOR NO KEY UPDATE"

    def shared(self) -> "Locking[Row]":
        """The same rows with a shared lock: kept from changing, but others may share it."""
        return replace(self, clause=" FOR SHARE")

    async def waiting(self, connection: "Connection") -> list[Row]:
        """Lock all rows, waiting for other transactions."""
        return await connection.many(self.row, self.sql + self.clause, **self.params)

    async def skipping(self, connection: "Connection") -> list[Row]:
        """Lock the rows that are free, and skip those that other transactions hold."""
        return await connection.many(
            self.row, self.sql + self.clause + " SKIP LOCKED", **self.params
        )


CONFIRM_SECONDS: Final = 10.0
"""Timeout for a standby to confirm a write."""
_ANSWERED: Final = (TransactionStatus.IDLE, TransactionStatus.INTRANS, TransactionStatus.INERROR)


class Connection:
    """A database connection: one query per call, named parameters, typed rows.

    Raises DatabaseUnavailableError if the server is lost; a query that the database refuses raises
    psycopg's own error, which is a bug of the caller.
    """

    __slots__ = ("_is_together", "raw")

    def __init__(self, raw: PgConnection) -> None:
        self.raw = raw
        self._is_together = False

    @property
    def backend(self) -> int:
        """Process id of the backend."""
        return self.raw.backend or self.raw.info.backend_pid

    @property
    def patience_seconds(self) -> float | None:
        """Timeout of a commit: none, unless it waits for a standby, which may be away."""
        return CONFIRM_SECONDS if self.raw.is_strict else None

    @property
    def has_answered(self) -> bool:
        """Whether the last query was answered, also by an error, so that it is usable."""
        return self.raw.info.transaction_status in _ANSWERED

    @property
    def sees_only_what_is_committed(self) -> bool:
        """Whether each query sees what was committed last, and nothing else.

        In a transaction one may see changes of its own, or an older snapshot.
        """
        # In a pipeline the status is that from before it: what runs in one is a transaction.
        if self.raw.pgconn.pipeline_status != PipelineStatus.OFF:
            return False
        return self.raw.info.transaction_status == TransactionStatus.IDLE

    async def many(self, row: type[Row], sql: LiteralString, **params: Any) -> list[Row]:
        """Return all rows, each built as `row(**columns)`."""
        answer = await self._ask(sql, params)
        found = await answer.rows(tuple)
        return built(row, answer.result, found)

    async def one(self, row: type[Row], sql: LiteralString, **params: Any) -> Row | None:
        """Return the first row, or None if there is none."""
        return first(await self.many(row, sql, **params))

    async def tuples(self, sql: LiteralString, **params: Any) -> list[tuple[Any, ...]]:
        answer = await self._ask(sql, params)
        return await answer.rows(tuple)

    async def dicts(self, sql: LiteralString, **params: Any) -> list[dict[str, Any]]:
        answer = await self._ask(sql, params)
        found = await answer.rows(tuple)
        names = columns(answer.result)
        return [dict(zip(names, row, strict=True)) for row in found]

    async def value(self, sql: LiteralString, **params: Any) -> Any:
        """Return the first column of the first row, or None if there is none."""
        return first(await self.values(sql, **params))

    async def values(self, sql: LiteralString, **params: Any) -> list[Any]:
        """Return the first column of all rows."""
        answer = await self._ask(sql, params)
        return await answer.rows(itemgetter(0))

    async def execute(self, sql: LiteralString, **params: Any) -> int:
        """Execute a change; return the number of rows affected."""
        answer = await self.raw.ask(sql, params)
        return await answer.count()

    @overload
    async def together(
        self, first: Reading[Result], second: Reading[Second], /
    ) -> tuple[Result, Second]: ...

    @overload
    async def together(
        self, first: Reading[Result], second: Reading[Second], third: Reading[Third], /
    ) -> tuple[Result, Second, Third]: ...

    @overload
    async def together(self, *readings: Reading[Result]) -> tuple[Result, ...]: ...

    async def together(self, *readings: Reading[Any]) -> tuple[Any, ...]:
        """Run coroutines that read on this connection; return their results. If one fails, all end.

        In a snapshot their queries share round trips as long as none needs another's answer.
        """
        is_within, self._is_together = self._is_together, True
        try:
            return await side_by_side(readings, is_within=is_within)
        finally:
            self._is_together = is_within

    async def others_turn(self) -> None:
        """Yield to the coroutines that read together with this one, if any."""
        if self._is_together:
            await next_round()

    async def run(self, statement: Statement) -> list[tuple[Any, ...]]:
        """Run a prepared Statement; return its rows, if any."""
        answer = await self.raw.ask(statement.sql, statement.params)
        return await answer.rows(tuple)

    async def run_together(self, statements: Sequence[Statement]) -> list[list[tuple[Any, ...]]]:
        """Run statements in order in one round trip; return the rows of each.

        All fail if one does.
        """
        async with self.raw.pipelined():
            answers = [await self.raw.ask(s.sql, s.params) for s in statements]
        return [await answer.rows(tuple) for answer in answers]

    async def _ask(self, sql: LiteralString, params: Mapping[str, Any]) -> Answer:
        answer = await self.raw.ask(sql, params)
        await self.others_turn()
        return answer

    @staticmethod
    def json(value: Any) -> Jsonb:
        """Return the value as a parameter for a jsonb column."""
        return Jsonb(value, dumps=orjson.dumps)

    async def give_up(self) -> None:
        """Roll back what has not been committed."""
        if not self.raw.closed:
            await self.raw.rollback()


LOST: Final = ("08", "57P", "25006")
"""SQLSTATE prefixes of a connection that is of no use any more: it ended, its server shuts down, or
is read-only, because another one is primary now.
"""
UNAVAILABLE: Final = ("53", "58")
"""The same of other errors after which a retry may succeed: resources (disk, memory), and the
server's system.
"""


def is_lost(error: psycopg.Error) -> bool:
    """Return whether the error means that the connection is of no use any more."""
    if isinstance(error, psycopg.OperationalError) and error.sqlstate is None:
        return True
    return (error.sqlstate or "").startswith(LOST)


@asynccontextmanager
async def translated_errors() -> AsyncIterator[None]:
    """Translate driver errors that callers handle; let others pass."""
    try:
        yield
    except (
        psycopg.errors.LockNotAvailable,
        psycopg.errors.QueryCanceled,
        psycopg.errors.DeadlockDetected,
    ) as error:
        raise StatementTimeoutError(str(error)) from error
    except psycopg.Error as error:
        if is_lost(error):
            raise ConnectionLostError(str(error)) from error
        if (error.sqlstate or "").startswith(UNAVAILABLE):
            raise DatabaseUnavailableError(str(error)) from error
        raise


class Database:
    """A connection pool for one Postgres."""

    def __init__(
        self, url: str, pool: AsyncConnectionPool[PgConnection], connector: Connector
    ) -> None:
        self.url = url
        self.connector = connector
        self._pool = pool
        self._check: asyncio.Task[None] | None = None
        self._held: dict[asyncio.Task[Any] | None, PgConnection] = {}
        self._callers = 0
        """Number of callers waiting for a connection."""

    def pool_use(self) -> Mapping[str, int]:
        """Return the number of connections, of idle ones, and of callers that wait for one."""
        found = self._pool.get_stats()
        return {
            "size": found["pool_size"],
            "free": found["pool_available"],
            "awaited": found["requests_waiting"],
        }

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Yield a connection in autocommit mode: each query is a transaction of its own."""
        async with translated_errors(), self._checked_out() as raw:
            yield Connection(raw)

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        """Yield the connection that this task holds already, in whatever state, or else a new one.

        A task that waits for a second connection while holding one may deadlock with others that
        do.
        """
        held = self._held.get(asyncio.current_task())
        if held is not None:
            yield Connection(held)
            return
        async with self.connection() as connection:
            yield connection

    @property
    def is_short_of_connections(self) -> bool:
        """Whether callers are waiting for a connection."""
        return self._callers > 0

    @property
    def is_held(self) -> bool:
        """Whether this task holds a connection already, which `reading` would return."""
        return asyncio.current_task() in self._held

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """Yield a READ COMMITTED transaction.

        It commits at the end of the block, and rolls back on an error.
        """
        async with translated_errors(), self._checked_out() as raw, raw.transaction():
            yield Connection(raw)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connection]:
        """Yield a read-only REPEATABLE READ transaction: all queries see the same snapshot.

        Its own BEGIN and COMMIT are not waited for, only the results of queries.
        """
        async with translated_errors(), self._checked_out() as raw:
            try:
                async with raw.pipelined():
                    await raw.ask("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", {})
                    yield Connection(raw)
                    await raw.ask("COMMIT", {})
            except BaseException:
                if not raw.closed:
                    await raw.rollback()
                raise

    @asynccontextmanager
    async def direct(self, purpose: str = "direct") -> AsyncIterator[PgConnection]:
        """Yield a connection outside the pool, for LISTEN and session locks."""
        name = connection_name(purpose)
        connecting = self.connector.connect(fallback_application_name=name)
        async with translated_errors(), await connecting as raw:
            yield raw

    @asynccontextmanager
    async def _checked_out(self) -> AsyncIterator[PgConnection]:
        task = asyncio.current_task()
        cancels = task.cancelling() if task else 0
        self._callers += 1
        try:
            raw = await self._pool.getconn()
        except PoolTimeout as error:
            raise DatabaseUnavailableError(self._why_no_connection(error)) from error
        finally:
            self._callers -= 1
        if task and task.cancelling() > cancels:
            # The pool prefers a connection that came in the same moment to the cancellation: then
            # the canceller would wait for ever.
            await asyncio.shield(self._pool.putconn(raw))
            raise asyncio.CancelledError
        raw.is_unconfirmed = raw.is_pooled
        before = self._held.get(task)
        self._held[task] = raw
        try:
            yield raw
        except psycopg.errors.InsufficientPrivilege as error:
            raise RightMissingError(explained(error, raw.info)) from error
        except psycopg.Error as error:
            if is_lost(error):
                self._look_for_dead_ones()
            raise
        finally:
            if before is None:
                del self._held[task]
            else:
                self._held[task] = before
            await asyncio.shield(self._pool.putconn(raw))

    def _why_no_connection(self, error: PoolTimeout) -> str:
        trouble = self.connector.trouble
        if trouble is None:
            return f"All {self._pool.max_size} connections to the database are in use: {error}"
        return f"No answer from the database: {reason_of(trouble)}"

    def attempts(self) -> int:
        """Number of attempts of this pool to connect."""
        return self._pool.get_stats().get("connections_num", 0)

    def _look_for_dead_ones(self) -> None:
        # One connection died, so others of the pool are likely dead too: check now rather than pay
        # for a check at each checkout.
        if self._check is None or self._check.done():
            self._check = asyncio.create_task(self._pool.check())


@asynccontextmanager
async def open_database(
    url: str,
    *,
    min_size: int = 2,
    max_size: int = 10,
    serves: bool = False,
    strict: bool = False,
    connection_class: type[PgConnection] = PgConnection,
) -> AsyncIterator[Database]:
    """Open a pool on `url`; raise DatabaseUnavailableError if no server answers.

    With `serves` (for processes that write or return positions) each new connection first makes a
    restored or promoted database start a new generation. One that is older than the lineage this
    process knows is never used. With `strict` a commit waits for a standby's confirmation.
    """
    set_json_loads(orjson.loads)
    connector = Connector(url, serves=serves, strict=strict, connection_class=connection_class)
    async with AsyncExitStack() as stack:
        try:
            opened = opened_pool(connector, min_size=min_size, max_size=max_size)
            pool = await stack.enter_async_context(opened)
        except RefusedError as error:
            if isinstance(error.__cause__, REFUSALS):
                raise RightMissingError(str(error)) from error
            raise DatabaseUnavailableError(str(error)) from error
        except psycopg.OperationalError as error:
            reason = reason_of(connector.trouble or error)
            raise DatabaseUnavailableError(f"No answer from the database: {reason}") from error
        database = Database(url, pool, connector)
        if connector.has_several_hosts:
            watching = asyncio.create_task(connector.watch())
            stack.callback(watching.cancel)
        yield database
