"""Write protocol: what a transaction offers to actions, and what they submit to it.

A write is a rule, rows and events in one transaction (server/writer/). Statements that need the
realm's clock are collected, and run after the clock has been locked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec

from server.domain.errors import DomainError
from server.events.base import Audience, Entry, Event, LogEntry
from server.realm_cache import RealmCache
from storage.database import Connection, DatabaseUnavailableError, Locking, Statement
from storage.ids import Position, RealmId

Row = TypeVar("Row")
Result = TypeVar("Result", covariant=True)


class Clocked(Protocol[Result]):
    """A statement that decides and writes after the clock, on its own."""

    @property
    def result(self) -> Result:
        """Its result, available after the commit."""
        ...


class ClockedWrite(Protocol[Result]):
    """A plpgsql function that verifies, writes and appends its own entries, or writes nothing."""

    @property
    def statement(self) -> Statement: ...

    def result(self, rows: Sequence[tuple[Any, ...]]) -> Result:
        """Its result. Raises StaleDecisionError if its premises have changed."""
        ...

    def recovered(self, entries: Sequence[LogEntry]) -> Result:
        """The same result from its entries, after a COMMIT whose response was lost."""
        ...


class Turned(msgspec.Struct, frozen=True):
    """The outcome of a turn of the clock that was one statement."""

    epoch: int
    entries: list[LogEntry]
    rows: Sequence[tuple[Any, ...]]
    """The results of the writes, for `results`."""


class Turn(msgspec.Struct, frozen=True):
    """A turn of the clock as one statement that is a transaction, and how to decode its result."""

    statement: Statement
    read: Callable[[Sequence[tuple[Any, ...]]], Turned]


class StaleDecisionError(Exception):
    """A row on which the decision is based has changed: decide again."""


class SharedWrite(ABC, Generic[Result]):
    """A clocked write that shares one statement with all others of its class in its batch."""

    is_named_alone: ClassVar[bool] = False
    """Whether each has a `write_id` of its own in the log, or all share one."""

    @classmethod
    @abstractmethod
    def together(cls, writes: Sequence[Self], realm_id: RealmId, write_id: str) -> Statement:
        """The statement for all of them."""

    @classmethod
    @abstractmethod
    def results(
        cls, writes: Sequence[Self], rows: Sequence[tuple[Any, ...]]
    ) -> Sequence[Result | StaleDecisionError | DomainError]:
        """The result of each, as if they had run one after another, or its error."""

    @classmethod
    @abstractmethod
    def recovered(cls, writes: Sequence[Self], entries: Sequence[LogEntry]) -> Sequence[Result]:
        """The same results from their entries, after a COMMIT whose response was lost."""

    @classmethod
    def turn(cls, writes: Sequence[Self], realm_id: RealmId) -> Turn | None:
        """The statement for all of them including the clock's turn, where there is one."""
        del writes, realm_id
        return None


class PortableWrite(SharedWrite[Result]):
    """A shared write that another process can run, because it is data.

    There it is valid below a position only: once the clock has passed that, it is never written.
    """

    is_named_alone = True
    portable_as: ClassVar[str]
    """Name of the class among all that are portable."""
    result_type: ClassVar[type[Any]]
    """The type of its result, for its encoding."""

    @property
    @abstractmethod
    def write_id(self) -> str:
        """Its id in the log, which it keeps wherever it runs."""

    @abstractmethod
    def encoded(self, valid_below: Position) -> bytes:
        """The write in JSON, stale from that position on."""

    @classmethod
    @abstractmethod
    def decoded(cls, encoded: bytes) -> Self: ...


class KeepsChangingError(DatabaseUnavailableError):
    """The premises of the decision changed at each attempt: a later retry may succeed."""


class Tx(Protocol):
    """The transaction of one write, as actions see it (server/writer/).

    Rows are read and locked at once; statements that use a position are collected, and run after
    the clock has been locked, in the order given here.
    """

    @property
    def realm_id(self) -> RealmId: ...

    @property
    def exact(self) -> bool:
        """Whether to decide on rows read and locked now, rather than on cached state."""
        ...

    @property
    def write_id(self) -> str:
        """The id of the write in the log."""
        ...

    def traced(self, audience: Audience) -> Audience:
        """Return the audience with the span of the write, if its request is traced."""
        ...

    def must_be_exact(self) -> None:
        """Leave the batch, unless the write is exact already: it runs again, alone and exact."""
        ...

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """The connection of the transaction, as a block."""
        ...

    async def connection(self) -> Connection:
        """The connection of the transaction, for storage functions that read."""
        ...

    async def changing(self) -> Connection:
        """The same, for storage functions that change rows or lock them.

        An error after this point is expensive: it rolls back the whole batch.
        """
        ...

    async def lock(self, locking: Locking[Row]) -> list[Row]:
        """The rows, locked until the commit, in the order of the query."""
        ...

    async def realm_cache(self) -> RealmCache:
        """The realm's rows: cached, or read and locked where the write has to be exact."""
        ...

    def append(self, event: Event, audience: Audience) -> Entry:
        """Append the event at the next position, for this audience."""
        ...

    def at_position(self, entry: Entry, statement: Statement) -> None:
        """Run the statement when current_position() is the entry's."""
        ...

    def clocked(self, write: ClockedWrite[Result] | SharedWrite[Result]) -> Clocked[Result]:
        """Run a self-verifying function after the clock."""
        ...
