"""Sort more records than memory holds."""

import heapq
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from operator import attrgetter
from typing import IO, Any, Final

import orjson

MAX_BYTES: Final = 4 * 1024 * 1024
"""Size of records, as JSON, that are sorted in memory; more are merged from temporary files."""


@dataclass(frozen=True, slots=True)
class SortedRecord:
    """A record with the key of its order, and its size as JSON."""

    key: float
    place: str
    size: int
    value: Any


MAX_RUNS: Final = 64
"""Open files of one size, before they are merged into a larger one."""
_ORDER: Final = attrgetter("key", "place")


def sorted_records(
    records: Iterable[SortedRecord], *, max_bytes: int = MAX_BYTES
) -> Iterator[SortedRecord]:
    """Yield the records by their keys and places; equal ones keep their order."""
    with ExitStack() as stack:
        runs = _Runs(stack)
        held: list[SortedRecord] = []
        size = 0
        for record in records:
            held.append(record)
            size += record.size
            if size > max_bytes:
                held.sort(key=_ORDER)
                runs.add(held)
                held, size = [], 0
        held.sort(key=_ORDER)
        yield from heapq.merge(*runs.read(), held, key=_ORDER)


class _Runs:
    """Sorted temporary files, few at a time: many of one size become one of the next size."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._levels: list[list[IO[bytes]]] = []

    def add(self, records: Iterable[SortedRecord], level: int = 0) -> None:
        if level == len(self._levels):
            self._levels.append([])
        files, stack = self._levels[level], self._stack
        files.append(stack.enter_context(tempfile.TemporaryFile()))  # noqa: SIM115 - closed there
        _write(files[-1], records)
        if len(files) == MAX_RUNS:
            self._levels[level] = []
            self.add(heapq.merge(*map(_read, files), key=_ORDER), level + 1)
            for file in files:
                file.close()

    def read(self) -> Iterator[Iterator[SortedRecord]]:
        """Yield the files in the order in which they were added."""
        for files in reversed(self._levels):
            yield from map(_read, files)


def _write(file: IO[bytes], records: Iterable[SortedRecord]) -> None:
    for each in records:
        # JSON has no line ends but those within strings, which it escapes.
        file.write(orjson.dumps([each.key, each.place, each.size, each.value]) + b"\n")
    file.seek(0)


def _read(file: IO[bytes]) -> Iterator[SortedRecord]:
    for line in file:
        yield SortedRecord(*orjson.loads(line))
