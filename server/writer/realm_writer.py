"""Writer of one realm in this process: batches writes, and handles failures."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import structlog

from server.domain.errors import DomainError
from server.events.base import LogEntry
from server.realm_cache import RealmCache
from server.telemetry import traces
from server.transactions import KeepsChangingError, PortableWrite, StaleDecisionError
from server.writer.batch import MAX_BATCH_WRITES, Batch, commit_spans, groups_of
from server.writer.contention import Contention
from server.writer.forwarding import VALID_POSITIONS, ForwardedOutcome, WriteForwarder
from server.writer.lost_writes import RETRY_SECONDS, LostWrites, is_lost, look_up
from server.writer.pending_write import (
    BEGINNING,
    Action,
    AloneError,
    PendingWrite,
    clocked,
    pending,
    refuse_pending,
    succeed,
)
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

LONGEST_SECONDS = 10.0
"""How long a write is retried; then the caller gets an error. Only to find out whether a COMMIT
was received may take longer."""
STALE_TRIES = 5
_GIVEN_UP: Final = "the server stops, and the outcome of this write is not checked any more"

Wait = Callable[[], Awaitable[object]]
"""Waits until this process has applied a position."""
Committed = Callable[[RealmId, int, list[LogEntry]], Wait | None]


class RealmWriter:
    """Batch the writes of one realm in this process."""

    def __init__(
        self,
        database: Database,
        realm_cache: RealmCache,
        committed: Committed,
        forwarder: WriteForwarder | None = None,
    ) -> None:
        self._database = database
        self._realm_cache = realm_cache
        self._realm_id = realm_cache.realm_id
        self._committed = committed
        self._forwarder = forwarder
        self._waiting: list[PendingWrite] = []
        self._running: asyncio.Task[None] | None = None
        self._beside: set[asyncio.Task[None]] = set()
        """What goes on beside the batches, such as writes that run alone."""
        self._epoch = 0
        self._position = BEGINNING
        """The last position of the last commit, of this process or for it: later ones are above."""
        self._at_once = 0
        """Number of writes during the last commit, or waiting for it."""
        self._forwarded = 0
        """Number of writes that a sibling is to commit."""
        self.contention = Contention()
        self.commits = 0
        self.writes = 0

    async def write(self, action: Action[Result]) -> Result:
        """Run the action in the next batch; return its result after the commit.

        Raises the action's DomainError with nothing written, or DatabaseUnavailableError. If the
        caller is cancelled, the write continues but is not retried.
        """
        span = traces.child("write", realm_id=self._realm_id)
        write = self._submit(action, span=span)
        with traces.ended(span):
            answer: Result = await write.future
            return answer

    async def commit(self, writes: Sequence[PortableWrite[Any]]) -> ForwardedOutcome:
        """Commit writes that another process has decided. Never raises."""
        submitted = [self._submit(clocked(write), decided=write) for write in writes]
        results, is_known = list[Any](), True
        for write in submitted:
            try:
                results.append((await write.future).result)
            except (StaleDecisionError, DomainError):
                results.append(None)
            except Exception:  # noqa: BLE001 - the other process finds out what has become of it
                is_known = False
        return ForwardedOutcome(self._epoch, self._position, results if is_known else None)

    def _submit(
        self,
        action: Action[Any],
        *,
        span: traces.Span | None = None,
        decided: PortableWrite[Any] | None = None,
    ) -> PendingWrite:
        loop = asyncio.get_running_loop()
        write = PendingWrite(
            action,
            loop.create_future(),
            until=loop.time() + LONGEST_SECONDS,
            span=span,
            decided=decided,
        )
        write.future.add_done_callback(_heed)
        self._waiting.append(write)
        if self._running is None:
            self._running = asyncio.create_task(self._run())
        return write

    @property
    def idle(self) -> bool:
        return self._running is None and not self._beside and not self._waiting

    async def drain(self) -> None:
        """Wait until every submitted write has its result."""
        while not self.idle:
            tasks = [*self._beside, *([self._running] if self._running else [])]
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
                    writes = []  # what has no result yet has a task of its own
                    if self._database.is_short_of_connections:
                        break
        except asyncio.CancelledError:
            refuse_pending(writes, DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as error:  # noqa: BLE001 - whatever it was, each finds its own answer alone
            logger.debug("writer.batch_split", error=repr(error), writes=len(writes))
            # In parallel to new writes, which need not wait for it.
            self._begin(self._after_failure(pending(writes), error))

    def _next_size(self) -> int:
        """Number of waiting writes that share the next commit.

        Clients that write continuously return together with those that shared their commit. So
        only half of them run at once: while the database commits these, the requests of the others
        are read and decided; otherwise server and database would wait for each other in turn.
        If other processes write to the realm too, the database commits for these meanwhile, and
        small batches would only lengthen the queue for the clock.
        """
        waiting = len(self._waiting)
        is_half = waiting <= self._at_once and not self.contention.has_rivals
        size = (self._at_once + 1) // 2 if is_half else waiting
        return min(size, MAX_BATCH_WRITES)

    async def _find_position(self) -> None:
        """Know a position below every later write: where the search for a lost batch starts."""
        if self._position:
            return
        try:
            async with self._database.connection() as connection:
                row = await clock.read(connection, self._realm_id)
            self._position = row.position if row else BEGINNING
        except RETRYABLE_ERRORS:
            return  # all positions are above 0

    def _hand_over(
        self, epoch: int, entries: list[LogEntry], writes: Sequence[PendingWrite]
    ) -> None:
        """Publish committed entries, and complete their writes."""
        if entries:
            publish = partial(self._committed, self._realm_id, epoch, entries)
            self._complete(writes, epoch, entries[-1].position, publish)
        else:
            succeed(writes)

    def _complete(
        self,
        writes: Sequence[PendingWrite],
        epoch: int,
        position: Position,
        publish: Callable[[], Wait | None],
    ) -> None:
        """Complete writes that are committed up to this position, even if `publish` raises.

        A caller that has its result finds it in what this process answers next. Entries may have
        to wait for earlier ones, of a transaction that ran beside this one or in another process.
        """
        for write in writes:
            write.is_answered = True
        # Writes that were looked for are older.
        self._position = max(self._position, position) if epoch == self._epoch else position
        self._epoch = epoch
        applied = None
        try:
            applied = publish()
        except Exception:
            logger.exception("writer.publish_failed", realm_id=self._realm_id)
        if applied is None:
            succeed(writes)
        else:
            self._begin(self._succeed_after(applied, writes))

    async def _succeed_after(self, applied: Wait, writes: Sequence[PendingWrite]) -> None:
        try:
            await applied()
        finally:
            succeed(writes)

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
        if self._forward(batch, writes):
            return
        epoch, entries = await self._committed_by(batch, writes)
        self.commits += 1
        self.writes += len(writes)
        self._at_once = len(writes) + len(self._waiting)
        self._hand_over(epoch, entries, [write for write in writes if write.tx is not None])
        self._run_stale(writes)

    async def _committed_by(
        self, batch: Batch, writes: Sequence[PendingWrite]
    ) -> tuple[int, list[LogEntry]]:
        for write in writes:
            write.since = self._position
        epoch, entries = await batch.finish(writes)
        if entries:
            used = entries[-1].position - entries[0].first + 1
            self._note_contention(entries[-1].position, used)
        return epoch, entries

    def _note_contention(self, position: Position, used: int) -> None:
        now = asyncio.get_running_loop().time()
        self.contention.note(now, position, used, self._forwarded)

    def _run_stale(self, writes: Sequence[PendingWrite]) -> None:
        for write in writes:
            if write.tx is None:
                self._run_alone(write)

    def _forward(self, batch: Batch, writes: list[PendingWrite]) -> bool:
        """Have a sibling commit the writes, where siblings write to the realm at the same time.

        Otherwise each process would commit its few, and wait for its turn at the clock in between.
        Return whether it does.
        """
        if self._forwarder is None or not self.contention.has_rivals or batch.has_begun:
            return False
        number = self._forwarder.writer_of(self._realm_id)
        portable = [write.portable for write in writes if write.portable is not None]
        is_one_class = len({type(write) for write in portable}) == 1
        if number is None or len(portable) < len(writes) or not is_one_class:
            return False
        valid_below = Position(self._position + VALID_POSITIONS)
        outcome = self._forwarder.forward(number, self._realm_id, portable, valid_below=valid_below)
        if outcome is None:
            return False
        for write in writes:
            write.since, write.valid_below = self._position, valid_below
        self._begin(self._settle_forwarded(self._forwarder, writes, outcome))
        return True

    async def _settle_forwarded(
        self,
        forwarder: WriteForwarder,
        writes: list[PendingWrite],
        outcome: Awaitable[ForwardedOutcome],
    ) -> None:
        self._forwarded += len(writes)
        try:
            with commit_spans(writes):
                found = await outcome
            self._hand_over_forwarded(forwarder, writes, found)
        except asyncio.CancelledError:
            refuse_pending(writes, DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as error:  # noqa: BLE001 - as of any batch
            await self._after_failure(pending(writes), error)
        finally:
            self._forwarded -= len(writes)

    def _hand_over_forwarded(
        self, forwarder: WriteForwarder, writes: Sequence[PendingWrite], outcome: ForwardedOutcome
    ) -> None:
        assert outcome.results is not None, "unknown results raise an exception"
        for write, result in zip(writes, outcome.results, strict=True):
            step = None if write.tx is None else write.tx.shared
            assert step is not None, "it is portable"
            if result is None:
                write.tx = None
            else:
                step.settle(result)
                write.is_committed = True
        self._note_contention(outcome.position, len(writes))
        reach = partial(forwarder.reached, self._realm_id, outcome.epoch, outcome.position)
        written = [write for write in writes if write.tx is not None]
        self._complete(written, outcome.epoch, outcome.position, reach)
        self._run_stale(writes)

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
            refuse_pending(writes, DatabaseUnavailableError(_GIVEN_UP))
            raise
        except Exception as fault:  # noqa: BLE001 - no caller may wait for ever
            refuse_pending(writes, fault)

    def _run_alone(self, write: PendingWrite) -> None:
        if write.decided is not None:
            write.fail(StaleDecisionError())
            return
        write.is_alone = True
        write.is_committed = False  # if its batch is committed, the write was not part of it
        self._begin(self._run_until_answered(write))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

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
        epoch, entries = await self._committed_by(batch, [write])
        if write.tx is None:
            raise StaleDecisionError
        self.commits += 1
        self.writes += 1
        self._hand_over(epoch, entries, [write])

    async def _without_committed(self, writes: list[PendingWrite]) -> list[PendingWrite]:
        """Complete the writes that are in the log; return the others, which are not written yet."""
        lost = [write for write in writes if is_lost(write)]
        if not lost:
            return writes
        try:
            epoch, entries = await look_up(self._database, self._realm_id, LostWrites.of(lost))
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            for write in writes:
                write.fail(error)
            return []
        found = {entry.write_id for entry in entries}
        committed = [w for w in lost if w.tx is not None and w.tx.write_id in found]
        for group in groups_of(committed):
            group.recover(entries)
        self._hand_over(epoch, entries, committed)
        return [write for write in writes if write not in committed]


def _heed(future: asyncio.Future[object]) -> None:
    """Ignore a cancelled caller."""
    if not future.cancelled():
        future.exception()
