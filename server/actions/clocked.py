"""`ClockedWrite`s that are one storage function, which appends its own events."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server.domain.errors import BadRequestError
from server.events.base import LogEntry
from storage.database import Statement


@dataclass(frozen=True, slots=True)
class Effect:
    """A write without a result; it appends nothing if there is nothing to change."""

    statement: Statement

    def result(self, rows: Sequence[tuple[Any, ...]]) -> None:
        del rows

    def recovered(self, entries: Sequence[LogEntry]) -> None:
        del entries


@dataclass(frozen=True, slots=True)
class Attempt:
    """A write that raises its error, with nothing written, if it is not possible."""

    statement: Statement
    refusal: str

    def result(self, rows: Sequence[tuple[Any, ...]]) -> None:
        [(could,)] = rows
        if not could:
            raise BadRequestError(self.refusal)

    def recovered(self, entries: Sequence[LogEntry]) -> None:
        del entries


@dataclass(frozen=True, slots=True)
class ClockedOutcome:
    """A write that returns whether it was possible, and appends something only then."""

    statement: Statement

    def result(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        [(could,)] = rows
        return bool(could)

    def recovered(self, entries: Sequence[LogEntry]) -> bool:
        return bool(entries)
