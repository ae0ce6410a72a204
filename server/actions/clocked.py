"""Each a `ClockedWrite` that is one storage function, which appends what it changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from server.domain.errors import BadRequestError
from server.events.base import LogEntry
from storage.database import Statement


@dataclass(frozen=True, slots=True)
class Effect:
    """It gives nothing; where there is nothing to change it appends nothing."""

    statement: Statement

    def result(self, rows: Sequence[tuple[Any, ...]]) -> None:
        del rows

    def recovered(self, entries: Sequence[LogEntry]) -> None:
        del entries


@dataclass(frozen=True, slots=True)
class Attempt:
    """It gives whether it could; if not it has written nothing, and this is what is wrong."""

    statement: Statement
    refusal: str

    def result(self, rows: Sequence[tuple[Any, ...]]) -> None:
        [(could,)] = rows
        if not could:
            raise BadRequestError(self.refusal)

    def recovered(self, entries: Sequence[LogEntry]) -> None:
        del entries


@dataclass(frozen=True, slots=True)
class Verdict:
    """It gives whether it could, and appends something only then."""

    statement: Statement

    def result(self, rows: Sequence[tuple[Any, ...]]) -> bool:
        [(could,)] = rows
        return bool(could)

    def recovered(self, entries: Sequence[LogEntry]) -> bool:
        return bool(entries)
