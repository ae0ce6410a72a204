"""The write protocol: what a transaction offers to actions, and what they hand to it.

A write is a rule, rows and events in one transaction (server/writer/). What has to follow the
realm's clock is handed over as statements, and runs once the clock has been locked.
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
from storage.ids import RealmId

Row = TypeVar("Row")
Result = TypeVar("Result", covariant=True)


class Clocked(Protocol[Result]):
    """A statement that decides and writes after the clock, all by itself."""

    @property
    def result(self) -> Result:
        """What it gave; exists after the commit."""
        ...


class ClockedWrite(Protocol[Result]):
    """A plpgsql function that verifies, writes and appends its own entries, or writes nothing."""

    @property
    def statement(self) -> Statement: ...

    def result(self, rows: Sequence[tuple[Any, ...]]) -> Result:
        """Its result. Raises StaleDecisionError if what it rests on has changed."""
        ...

    def recovered(self, entries: Sequence[LogEntry]) -> Result:
        """The same result from its entries, after a COMMIT whose answer was lost."""
        ...


class Turned(msgspec.Struct, frozen=True):
    """What came of a turn of the clock that was one statement."""

    epoch: int
    entries: list[LogEntry]
    rows: Sequence[tuple[Any, ...]]
    """What the writes gave, for `results`."""


class Turn(msgspec.Struct, frozen=True):
    """A turn of the clock, a transaction in one statement, and how to read what it gives."""

    statement: Statement
    read: Callable[[Sequence[tuple[Any, ...]]], Turned]


class StaleDecisionError(Exception):
    """A row that the decision rests on has changed: decide again."""


class SharedWrite(ABC, Generic[Result]):
    """A clocked write that shares one statement with all others of its class in its batch."""

    is_named_alone: ClassVar[bool] = False
    """Whether each has a `write_id` of its own in the log, or all have the same."""

    @classmethod
    @abstractmethod
    def together(cls, writes: Sequence[Self], realm_id: RealmId, write_id: str) -> Statement:
        """What does them all."""

    @classmethod
    @abstractmethod
    def results(
        cls, writes: Sequence[Self], rows: Sequence[tuple[Any, ...]]
    ) -> Sequence[Result | StaleDecisionError | DomainError]:
        """The result of each, as if they had run one after another, or what refused it."""

    @classmethod
    @abstractmethod
    def recovered(cls, writes: Sequence[Self], entries: Sequence[LogEntry]) -> Sequence[Result]:
        """The same results from their entries, after a COMMIT whose answer was lost."""

    @classmethod
    def turn(cls, writes: Sequence[Self], realm_id: RealmId) -> Turn | None:
        """What does them all with the clock's turn around it, where one statement does."""
        del writes, realm_id
        return None


class KeepsChangingError(DatabaseUnavailableError):
    """What the decision rests on was never twice the same: trying again later may help."""


class Tx(Protocol):
    """The transaction of one write, as actions see it (server/writer/).

    Rows are read and locked at once; what carries a position is collected and written
    after the clock has been locked, in the order given here.
    """

    @property
    def realm_id(self) -> RealmId: ...

    @property
    def exact(self) -> bool:
        """Whether to decide on rows read and locked now, rather than on cached state."""
        ...

    @property
    def write_id(self) -> str:
        """The write's name in the log."""
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
        """The same, for storage functions that change or lock decided rows.

        After it nothing may be refused cheaply: a refusal rolls the whole batch back.
        """
        ...

    async def lock(self, locking: Locking[Row]) -> list[Row]:
        """The rows, locked until commit, in the order of the query."""
        ...

    async def realm_cache(self) -> RealmCache:
        """The realm's rows: cached, or read and locked where the write has to be exact."""
        ...

    def append(self, event: Event, audience: Audience) -> Entry:
        """Let the event take the next position, for this audience."""
        ...

    def at_position(self, entry: Entry, statement: Statement) -> None:
        """Run the statement when current_position() is the entry's."""
        ...

    def clocked(self, write: ClockedWrite[Result] | SharedWrite[Result]) -> Clocked[Result]:
        """Run a self-verifying function after the clock."""
        ...
