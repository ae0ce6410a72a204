"""Writer of one realm in this process: batches writes, and handles failures."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, Final, TypeVar

import structlog

from server.events.base import LogEntry
from server.realm_cache import RealmCache
from server.telemetry import traces
from server.transactions import KeepsChangingError, StaleDecisionError
from server.writer.batch import MAX_BATCH_WRITES, Action, AloneError, Batch, PendingWrite, groups_of
from storage import clock
from storage.database import (
    RETRYABLE_ERRORS,
    Database,
    DatabaseUnavailableError,
    StatementTimeoutError,
)
from storage.ids import Position, RealmId

logger = structlog.get_logger(__name__)

Result = TypeVar("Result")

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses before a write is retried after the database was unavailable."""
LONGEST_SECONDS = 10.0
"""How long a write is retried; then the caller gets an error. Only to find out whether a COMMIT
was received may take longer."""
STALE_TRIES = 5
_GIVEN_UP: Final = "the server stops, and the outcome of this write is not checked any more"

Committed = Callable[[RealmId, int, list[LogEntry]], Callable[[], Awaitable[object]] | None]


class RealmWriter:
    """Batch the writes of one realm in this process."""

    def __init__(self, database: Database, realm_cache: RealmCache, committed: Committed) -> None:
        self._database = database
        self._realm_cache = realm_cache
        self._realm_id = realm_cache.realm_id
        self._committed = committed
        self._waiting: list[PendingWrite] = []
        self._running: asyncio.Task[None] | None = None
        self._alone: set[asyncio.Task[None]] = set()
        self._position = Position(0)
        self._at_once = 0
        """Number of writes during the last commit, or waiting for it."""
        self._has_rivals = False
        """Whether others have written between the last two commits."""
        self.commits = 0
        self.writes = 0

    async def write(self, action: Action[Result]) -> Result:
        """Run the action in the next batch; return its result after the commit.

        Raises the action's DomainError with nothing written, or DatabaseUnavailableError. If the
        caller is cancelled, the write continues but is not retried.
        """
        loop = asyncio.get_running_loop()
        span = traces.child("write", realm_id=self._realm_id)
        until = loop.time() + LONGEST_SECONDS
        write = PendingWrite(action, loop.create_future(), until=until, span=span)
        write.future.add_done_callback(_heed)
        self._waiting.append(write)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        with traces.ended(span):
            answer: Result = await write.future
            return answer

    @property
    def idle(self) -> bool:
        return self._running is None and not self._alone and not self._waiting

    async def drain(self) -> None:
        """Wait until every submitted write has its result."""
        while not self.idle:
            tasks = [*self._alone, *([self._running] if self._running else [])]
            await asyncio.wait(tasks)

    async def _run(self) -> None:
        try:
            await self._find_position()
            while self._waiting:
                await self._run_batches()
        except asyncio.CancelledError:
            self._refuse_waiting(DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as fault:
            logger.exception("writer.failed", realm_id=self._realm_id)
            self._refuse_waiting(fault)
        finally:
            self._running = None

    def _refuse_waiting(self, error: Exception) -> None:
        waiting, self._waiting = self._waiting, []
        for write in waiting:
            write.fail(error)

    async def _run_batches(self) -> None:
        """Run batches on one connection while there are writes.

        Callers with a result resume while this waits for the database.
        """
        writes: list[PendingWrite] = []
        try:
            until = self._waiting[0].until
            async with Batch(self._database, self._realm_cache, alone=False, until=until) as batch:
                while self._waiting:
                    size = self._next_size()
                    writes, self._waiting = self._waiting[:size], self._waiting[size:]
                    await self._run_batch(batch, writes)
                    if self._database.is_short_of_connections:
                        break
        except asyncio.CancelledError:
            _refuse_pending(writes, DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, each finds its own answer alone
            logger.debug("writer.batch_split", error=repr(error), writes=len(writes))
            # In parallel to new writes, which need not wait for it.
            self._begin(self._after_failure(_pending(writes), error))

    def _next_size(self) -> int:
        """Number of waiting writes that share the next commit.

        Clients that write continuously return together with those that shared their commit. So
        only half of them run at once: while the database commits these, the requests of the others
        are read and decided; otherwise server and database would wait for each other in turn.
        If other processes write to the realm too, the database commits for these meanwhile, and
        small batches would only lengthen the queue for the clock.
        """
        waiting = len(self._waiting)
        is_half = waiting <= self._at_once and not self._has_rivals
        size = (self._at_once + 1) // 2 if is_half else waiting
        return min(size, MAX_BATCH_WRITES)

    async def _find_position(self) -> None:
        """Know a position below every later write: where the search for a lost batch starts."""
        if self._position:
            return
        try:
            async with self._database.connection() as connection:
                row = await clock.read(connection, self._realm_id)
            self._position = row.position if row else Position(0)
        except RETRYABLE_ERRORS:
            return  # all positions are above 0

    def _hand_over(
        self, epoch: int, entries: list[LogEntry], writes: Sequence[PendingWrite]
    ) -> None:
        """Publish committed entries, and complete their writes, also if that raises.

        A caller that has its result finds it in what this process answers next. Entries may have
        to wait for earlier ones, of a transaction that ran beside this one or in another process.
        """
        for write in writes:
            write.is_answered = True
        applied = None
        try:
            applied = self._committed(self._realm_id, epoch, entries) if entries else None
        except Exception:
            logger.exception("writer.publish_failed", realm_id=self._realm_id)
        if applied is None:
            _succeed(writes)
        else:
            self._begin(self._succeed_after(applied, writes))

    async def _succeed_after(
        self, applied: Callable[[], Awaitable[object]], writes: Sequence[PendingWrite]
    ) -> None:
        try:
            await applied()
        finally:
            _succeed(writes)

    async def _run_batch(self, batch: Batch, writes: list[PendingWrite]) -> None:
        prepared: list[PendingWrite] = []
        for write in writes:
            try:
                if await batch.prepare(write):
                    prepared.append(write)
            except AloneError:
                self._run_alone(write)
        if prepared:
            await self._finish(batch, prepared)
        else:
            await batch.give_up()

    async def _finish(self, batch: Batch, writes: list[PendingWrite]) -> None:
        epoch, entries = await batch.finish(writes)
        if entries and not self._alone:
            self._has_rivals = entries[0].first != self._position + 1
            self._position = entries[-1].position
        self.commits += 1
        self.writes += len(writes)
        self._at_once = len(writes) + len(self._waiting)
        self._hand_over(epoch, entries, [write for write in writes if write.tx is not None])
        for write in writes:
            if write.tx is None:
                self._run_alone(write)

    async def _after_failure(self, writes: list[PendingWrite], error: Exception) -> None:
        """Complete writes whose COMMIT succeeded after all; run each other one alone.

        A write that is known to be committed failed in later steps: it is never run again.
        """
        try:
            is_away = isinstance(error, DatabaseUnavailableError)
            for write in await self._without_committed(writes) if is_away else writes:
                if write.is_committed or (is_away and write.is_given_up):
                    write.fail(error)
                else:
                    self._run_alone(write)
        except asyncio.CancelledError:
            _refuse_pending(writes, DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as fault:  # noqa: BLE001 - no caller may wait for ever
            _refuse_pending(writes, fault)

    def _run_alone(self, write: PendingWrite) -> None:
        write.is_alone = True
        write.is_committed = False  # if its batch is committed, the write was not part of it
        self._begin(self._run_until_answered(write))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._alone.add(task)
        task.add_done_callback(self._alone.discard)

    async def _run_until_answered(self, write: PendingWrite) -> None:
        try:
            await self._alone_until_done(write)
        except asyncio.CancelledError:
            write.fail(DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as fault:  # noqa: BLE001 - the caller gets it
            write.fail(fault)

    async def _alone_until_done(self, write: PendingWrite) -> None:
        """Run a write in a transaction of its own, and retry it while that may succeed."""
        stale = 0
        pauses = list(RETRY_SECONDS)
        while not write.is_answered:
            try:
                async with Batch(
                    self._database, self._realm_cache, alone=True, until=write.until
                ) as batch:
                    if not await batch.prepare(write):
                        return
                    await self._finish_alone(batch, write)
            except StaleDecisionError:
                stale += 1
                if stale >= STALE_TRIES:
                    write.fail(KeepsChangingError("the decision kept changing"))
            except (DatabaseUnavailableError, StatementTimeoutError) as error:
                if not await self._without_committed([write]):
                    return
                if not pauses or write.is_given_up:
                    write.fail(error)
                    return
                await asyncio.sleep(pauses.pop(0))

    async def _finish_alone(self, batch: Batch, write: PendingWrite) -> None:
        epoch, entries = await batch.finish([write])
        if write.tx is None:
            raise StaleDecisionError
        self.commits += 1
        self.writes += 1
        self._hand_over(epoch, entries, [write])

    async def _without_committed(self, writes: list[PendingWrite]) -> list[PendingWrite]:
        """Complete the writes that are in the log; return the others.

        Terminates the lost transaction's backend first, which may not have received the COMMIT yet.
        """
        traceable = {
            w: w.tx for w in writes if w.backend is not None and w.tx is not None and w.tx.steps
        }
        if not traceable:
            return writes
        backends = sorted({w.backend for w in writes if w.backend is not None})
        try:
            ids = sorted({tx.write_id for tx in traceable.values()})
            epoch, entries = await self._look_up(ids, backends)
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            for write in writes:
                write.fail(error)
            return []
        found = {e.write_id for e in entries}
        committed = [w for w, tx in traceable.items() if tx.write_id in found]
        for group in groups_of(committed):
            group.recover(entries)
        self._hand_over(epoch, entries, committed)
        return [w for w in writes if w not in committed]

    async def _look_up(
        self, write_ids: list[str], backends: list[int]
    ) -> tuple[int, list[LogEntry]]:
        """The entries of these writes in the log, once no backend can append any."""
        for pause in RETRY_SECONDS:
            try:
                return await self._look_up_once(write_ids, backends)
            except (DatabaseUnavailableError, StatementTimeoutError):
                await asyncio.sleep(pause)
        return await self._look_up_once(write_ids, backends)

    async def _look_up_once(
        self, write_ids: list[str], backends: list[int]
    ) -> tuple[int, list[LogEntry]]:
        async with self._database.transaction() as connection:
            await clock.end_backends(connection, backends)
            [(_, epoch, _)] = await connection.run(clock.lock(self._realm_id))
            rows = await clock.written_by(
                connection, self._realm_id, write_ids=write_ids, since=self._position
            )
        return epoch, [LogEntry(Position(p), k, a, b, w) for p, k, a, b, w in rows]


def _succeed(writes: Iterable[PendingWrite]) -> None:
    for write in writes:
        write.succeed()


def _pending(writes: Iterable[PendingWrite]) -> list[PendingWrite]:
    """The writes of a batch without a result that no other task handles."""
    return [write for write in writes if not write.is_answered and not write.is_alone]


def _refuse_pending(writes: Iterable[PendingWrite], error: Exception) -> None:
    for write in _pending(writes):
        write.fail(error)


def _heed(future: asyncio.Future[object]) -> None:
    """Ignore a cancelled caller."""
    if not future.cancelled():
        future.exception()
