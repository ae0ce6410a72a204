"""Writes that wait for their commit."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from server.telemetry import traces
from server.transactions import Clocked, PortableWrite, Tx
from server.writer.tx import WriteTx
from storage.ids import Position

BEGINNING: Final = Position(0)
"""Below all positions."""

Result = TypeVar("Result")

Action = Callable[[WriteTx], Awaitable[Result]]


class AloneError(Exception):
    """The write must run in a transaction of its own."""


@dataclass(eq=False)
class PendingWrite:
    """A write that waits for its commit."""

    action: Action[Any]
    future: asyncio.Future[Any]
    """The caller's future; it may be cancelled before there is a result."""
    until: float
    """Deadline after which the write is abandoned, in the loop's time."""
    tx: WriteTx | None = None
    answer: Any = None
    is_alone: bool = False
    is_answered: bool = False
    """Whether its outcome is known, and its caller has it or is about to."""
    is_committed: bool = False
    """Whether its transaction is committed, whatever becomes of the result."""
    span: traces.Span | None = None
    """None: its request is not traced."""
    since: Position = BEGINNING
    """A position below all that it may have been written at."""
    backend: int | None = None
    """Process id of the Postgres backend to which its COMMIT was sent without a response."""
    valid_below: Position | None = None
    """Position below which another process may write it, to which it was sent."""
    decided: PortableWrite[Any] | None = None
    """What another process has decided, and decides again if it is stale."""

    @property
    def is_given_up(self) -> bool:
        """Whether the caller is gone or the deadline has passed."""
        return self.future.cancelled() or asyncio.get_running_loop().time() >= self.until

    def succeed(self) -> None:
        self.is_answered = True
        if not self.future.done():
            self.future.set_result(self.answer)

    def fail(self, error: BaseException) -> None:
        self.is_answered = True
        if not self.future.done():
            self.future.set_exception(error)

    @property
    def portable(self) -> PortableWrite[Any] | None:
        """The write as another process can run it; None if that cannot, or has decided it."""
        step = None if self.tx is None else self.tx.shared
        if step is None or self.decided is not None:
            return None
        return step.write if isinstance(step.write, PortableWrite) else None


def clocked(write: PortableWrite[Any]) -> Action[Clocked[Any]]:
    """Return the action that only runs this write."""

    async def action(tx: Tx) -> Clocked[Any]:
        return tx.clocked(write)

    return action


def succeed(writes: Iterable[PendingWrite]) -> None:
    for write in writes:
        write.succeed()


def pending(writes: Iterable[PendingWrite]) -> list[PendingWrite]:
    """Return the writes of a batch without a result that no other task handles."""
    return [write for write in writes if not write.is_answered and not write.is_alone]


def refuse_pending(writes: Iterable[PendingWrite], error: Exception) -> None:
    for write in pending(writes):
        write.fail(error)
