"""Transaction of one write: immediate statements, and those that wait for positions."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from server.events.base import Audience, Entry, Event, LogEntry
from server.realm_cache import RealmCache
from server.transactions import Clocked, ClockedWrite, SharedWrite
from storage import clock
from storage.database import Connection, Locking, LockUnavailableError, Statement

Row = TypeVar("Row")
Result = TypeVar("Result")

Begin = Callable[[], Awaitable[Connection]]
"""Provides the batch's connection, in a transaction."""


@dataclass(eq=False)
class ClockedStep(Generic[Result]):
    """A clocked write in its transaction; it has a result after the commit."""

    write: ClockedWrite[Result] | SharedWrite[Result]
    _result: list[Result] = field(default_factory=list)

    @property
    def result(self) -> Result:
        return self._result[0]

    def settle(self, result: Result) -> None:
        self._result[:] = [result]


_Step = Entry | ClockedStep[Any]


class WriteTx:
    """Transaction of one write (implements Tx of server/transactions.py)."""

    def __init__(
        self, realm_cache: RealmCache, begin: Begin, *, alone: bool, traceparent: str = ""
    ) -> None:
        self.realm_id = realm_cache.realm_id
        self._realm_cache = realm_cache
        self.exact = alone
        self.write_id = str(uuid.uuid4())
        self.steps: list[_Step] = []
        self.has_written = False
        self._begin = begin
        self._traceparent = traceparent

    def traced(self, audience: Audience) -> Audience:
        if not self._traceparent:
            return audience
        return msgspec.structs.replace(audience, traceparent=self._traceparent)

    def must_be_exact(self) -> None:
        if not self.exact:
            raise LockUnavailableError

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        yield await self._begin()

    async def connection(self) -> Connection:
        return await self._begin()

    async def changing(self) -> Connection:
        self.has_written = True
        return await self._begin()

    async def realm_cache(self) -> RealmCache:
        if not self.exact:
            return self._realm_cache
        self._realm_cache.forget_everything()
        return self._realm_cache.locking(await self._begin())

    async def lock(self, locking: Locking[Row]) -> list[Row]:
        connection = await self._begin()
        if self.exact:
            return await locking.waiting(connection)
        # A batch never waits: a locked row looks absent, so a write with missing rows runs
        # alone, where it waits for the lock and sees the current state.
        rows = await locking.skipping(connection)
        if len(rows) < locking.expected:
            raise LockUnavailableError
        return rows

    def append(self, event: Event, audience: Audience) -> Entry:
        # Such a step is the first one if there is one.
        assert not isinstance(next(iter(self.steps), None), ClockedStep), "it may still be stale"
        entry = Entry(event, self.traced(audience))
        self.steps.append(entry)
        return entry

    def at_position(self, entry: Entry, statement: Statement) -> None:
        entry.statements.append(statement)

    @property
    def shared(self) -> ClockedStep[Any] | None:
        """The step of a transaction that shares its statement with others."""
        match self.steps:
            case [ClockedStep(write=SharedWrite()) as step]:
                return step
            case _:
                return None

    def clocked(self, write: ClockedWrite[Result] | SharedWrite[Result]) -> Clocked[Result]:
        assert not self.steps, "a write that may be stale has written nothing before"
        assert not self.has_written, "a write that may be stale has written nothing before"
        step = ClockedStep(write)
        self.steps.append(step)
        return step

    def statements(self) -> list[Statement]:
        """The statements to run after the clock, in order."""
        statements: list[Statement] = []
        for step in self.steps:
            if isinstance(step, Entry):
                statements.append(self._append_statement(step))
                statements.extend(step.statements)
            elif not isinstance(step.write, SharedWrite):
                statements.append(step.write.statement)
        return statements

    def settle(self, rows: Sequence[Sequence[tuple[Any, ...]]]) -> None:
        """Pass each step its result. Raises StaleDecisionError."""
        at = 0
        for step in self.steps:
            if isinstance(step, Entry):
                step.took_place(rows[at][0][0])
                at += 1 + len(step.statements)
            elif not isinstance(step.write, SharedWrite):
                step.settle(step.write.result(rows[at]))
                at += 1

    def recover(self, entries: Sequence[LogEntry]) -> None:
        """Set results from the log, after a COMMIT whose response was lost."""
        mine = [e for e in entries if e.write_id == self.write_id]
        for step in self.steps:
            if isinstance(step, Entry):
                step.took_place(mine.pop(0).position)
            elif not isinstance(step.write, SharedWrite):
                step.settle(step.write.recovered(mine))

    def _append_statement(self, entry: Entry) -> Statement:
        return clock.append(
            self.realm_id,
            kind=entry.event.kind,
            audience=entry.audience.encode(),
            body=msgspec.json.encode(entry.event),
            write_id=self.write_id,
            reserves=entry.event.reserves(),
        )
