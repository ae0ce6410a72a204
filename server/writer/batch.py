"""Batches of writes that share a connection and a commit."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, contextmanager
from types import TracebackType
from typing import Any, Self, cast

from server.domain.errors import DomainError
from server.events.base import LogEntry
from server.realm_cache import RealmCache
from server.telemetry import traces
from server.transactions import SharedWrite, StaleDecisionError, Turn
from server.writer.pending_write import AloneError, PendingWrite
from server.writer.tx import ClockedStep, WriteTx
from storage import clock
from storage.database import (
    Connection,
    Database,
    DatabaseUnavailableError,
    LockUnavailableError,
    Statement,
)
from storage.ids import Position, RealmId

MAX_BATCH_WRITES = 200
"""Maximum writes per commit: bounds how long a failure delays the others."""


class Batch:
    """Prepare writes on one connection, and commit them together."""

    def __init__(
        self, database: Database, realm_cache: RealmCache, *, alone: bool, until: float
    ) -> None:
        """`until`: how long to wait for a connection, in the loop's time."""
        self._database = database
        self._until = until
        self._realm_cache = realm_cache
        self._realm_id = realm_cache.realm_id
        self._alone = alone
        self._stack = AsyncExitStack()
        self._connection: Connection | None = None
        self._begun = False

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # The exception must leave the connection's block, which detects a lost server.
        await self._stack.__aexit__(kind, error, trace)

    @property
    def has_begun(self) -> bool:
        """Whether a transaction is open, in which rows were read or locked."""
        return self._begun

    async def connection(self) -> Connection:
        """The connection, in a transaction, for reads and locks before the clock."""
        connection = await self._checked_out()
        if not self._begun:
            self._begun = True
            await connection.run(clock.BEGIN)
            if not self._alone:
                await connection.run(clock.WAIT_SHORTLY)
        return connection

    async def _checked_out(self) -> Connection:
        if self._connection is None:
            try:
                async with asyncio.timeout_at(self._until):
                    self._connection = await self._stack.enter_async_context(
                        self._database.connection()
                    )
            except TimeoutError:
                raise DatabaseUnavailableError("No connection to the database in time") from None
            self._stack.push_async_callback(self.give_up)
        return self._connection

    async def give_up(self) -> None:
        """Roll back the transaction."""
        if self._begun and self._connection is not None:
            self._begun = False
            await self._connection.give_up()

    async def prepare(self, write: PendingWrite) -> bool:
        """Run the action. False if the write has left the batch, with a result or to run alone.

        Raises exceptions after which the transaction is unusable.
        """
        write.backend = write.valid_below = None
        context = "" if write.span is None else write.span.context
        tx = write.tx = WriteTx(
            self._realm_cache, self.connection, alone=self._alone, traceparent=context
        )
        if write.decided is not None:
            tx.write_id = write.decided.write_id
        try:
            with traces.entered(write.span):
                write.answer = await write.action(tx)
        except (DomainError, LockUnavailableError) as error:
            if tx.has_written:
                raise
            if isinstance(error, LockUnavailableError):
                raise AloneError from error
            write.fail(error)
            return False
        return True

    async def finish(self, writes: Sequence[PendingWrite]) -> tuple[int, list[LogEntry]]:
        """Lock the clock, run the clocked statements, advance, commit: one round trip.

        Returns the epoch and the entries that are now in the log.
        """
        connection = await self._checked_out()
        backend = connection.backend
        try:
            async with asyncio.timeout(connection.patience_seconds):
                with commit_spans(writes):
                    return await self._finished(connection, writes)
        except Exception as error:
            # After an error response the connection is reused, and may serve another request
            # by the time of the look-up.
            if not connection.has_answered:
                for write in writes:
                    write.backend = backend
            if isinstance(error, TimeoutError):
                raise DatabaseUnavailableError("No standby has confirmed the write") from error
            raise

    async def _finished(
        self, connection: Connection, writes: Sequence[PendingWrite]
    ) -> tuple[int, list[LogEntry]]:
        groups = list(groups_of(writes))
        is_free = len(groups) == 1 and not self._begun
        turn = groups[0].turn(self._realm_id) if is_free else None
        if turn is None:
            return await self._take_turn(connection, writes, groups)
        rows = await connection.run(turn.statement)
        _note_commit(writes)
        turned = turn.read(rows)
        groups[0].settle([turned.rows])
        return turned.epoch, turned.entries

    async def _take_turn(
        self,
        connection: Connection,
        writes: Sequence[PendingWrite],
        groups: Sequence["_Single | _Shared"],
    ) -> tuple[int, list[LogEntry]]:
        opening = [clock.WAIT_FOR_THE_CLOCK] if self._begun else [clock.BEGIN]
        statements = [*opening, clock.lock(self._realm_id)]
        spans: list[tuple[int, int]] = []
        for group in groups:
            start = len(statements)
            statements.extend(group.statements(self._realm_id))
            spans.append((start, len(statements)))
        statements.append(clock.advance(self._realm_id))
        statements.append(clock.COMMIT)
        rows = await connection.run_together(statements)
        _note_commit(writes)
        self._begun = False
        entries = [LogEntry(Position(p), k, a, b, w) for p, k, a, b, w in rows[-2]]
        for group, (start, end) in zip(groups, spans, strict=True):
            group.settle(rows[start:end])
        return rows[1][0][1], entries


@contextmanager
def commit_spans(writes: Sequence[PendingWrite]) -> Iterator[None]:
    """Record the commit in the traces of all traced writes that share it."""
    if not traces.is_on():
        yield
        return
    own = [write.span.child("commit", writes=len(writes)) for write in writes if write.span]
    with ExitStack() as stack:
        for span in own:
            stack.enter_context(traces.ended(span))
        yield


def _note_commit(writes: Iterable[PendingWrite]) -> None:
    for write in writes:
        write.is_committed = True


class _Single:
    """A write with statements of its own."""

    def __init__(self, write: PendingWrite, tx: WriteTx) -> None:
        self._write = write
        self._tx = tx

    def turn(self, _: RealmId) -> Turn | None:
        return None

    def statements(self, _: RealmId) -> list[Statement]:
        return self._tx.statements()

    def settle(self, rows: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        try:
            self._tx.settle(rows)
        except StaleDecisionError:
            self._write.tx = None
        except DomainError as error:
            self._write.fail(error)

    def recover(self, entries: Sequence[LogEntry]) -> None:
        self._tx.recover(entries)


class _Shared:
    """Writes of one class that run as one statement."""

    def __init__(self, kind: type[SharedWrite[Any]], write_id: str) -> None:
        self._kind = kind
        self._write_id = write_id
        self._members: list[tuple[PendingWrite, ClockedStep[Any]]] = []

    def add(self, write: PendingWrite, tx: WriteTx, step: ClockedStep[Any]) -> None:
        if not self._kind.is_named_alone:
            tx.write_id = self._write_id
        self._members.append((write, step))

    def turn(self, realm_id: RealmId) -> Turn | None:
        return self._kind.turn(self._writes, realm_id)

    def statements(self, realm_id: RealmId) -> list[Statement]:
        return [self._kind.together(self._writes, realm_id, self._write_id)]

    def settle(self, rows: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        results = self._kind.results(self._writes, rows[0])
        for (write, step), result in zip(self._members, results, strict=True):
            if isinstance(result, StaleDecisionError):
                write.tx = None
            elif isinstance(result, DomainError):
                write.fail(result)
            else:
                step.settle(result)

    def recover(self, entries: Sequence[LogEntry]) -> None:
        names = {write.tx.write_id for write, _ in self._members if write.tx is not None}
        mine = [entry for entry in entries if entry.write_id in names]
        results = self._kind.recovered(self._writes, mine)
        for (_, step), result in zip(self._members, results, strict=True):
            step.settle(result)

    @property
    def _writes(self) -> list[SharedWrite[Any]]:
        return [cast("SharedWrite[Any]", step.write) for _, step in self._members]


def groups_of(writes: Sequence[PendingWrite]) -> Iterator[_Single | _Shared]:
    """The writes of a batch in order, then those that share a statement.

    `statements` are those of a group; `settle` takes their results, `recover` their entries in
    the log, and both set the result of each write.
    """
    shared: dict[type, _Shared] = {}
    for write in writes:
        tx = write.tx
        assert tx is not None
        step = tx.shared
        if step is None:
            yield _Single(write, tx)
            continue
        kind = cast("type[SharedWrite[Any]]", type(step.write))
        if kind not in shared:
            shared[kind] = _Shared(kind, tx.write_id)
        shared[kind].add(write, tx, step)
    yield from shared.values()
