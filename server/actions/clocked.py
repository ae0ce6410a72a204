"""Writes after the clock that are one storage function, which appends what it changes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from typing_extensions import override

from server.domain.errors import BadRequestError
from server.events.base import ClockedWrite, LogEntry
from storage.database import Statement


@dataclass(frozen=True, slots=True)
class Effect(ClockedWrite[None]):
    """It gives nothing; where there is nothing to change it appends nothing."""

    change: Statement

    @property
    @override
    def statement(self) -> Statement:
        return self.change

    @override
    def result(self, rows: Sequence[tuple[Any, ...]]) -> None:
        del rows

    @override
    def recovered(self, entries: Sequence[LogEntry]) -> None:
        del entries


@dataclass(frozen=True, slots=True)
class Attempt(ClockedWrite[None]):
    """It gives whether it could; if not it has written nothing, and this is what is wrong."""

    change: Statement
    refusal: str

    @property
    @override
    def statement(self) -> Statement:
        return self.change

    @override
    def result(self, rows: Sequence[tuple[Any, ...]]) -> None:
        [(could,)] = rows
        if not could:
            raise BadRequestError(self.refusal)

    @override
    def recovered(self, entries: Sequence[LogEntry]) -> None:
        del entries
