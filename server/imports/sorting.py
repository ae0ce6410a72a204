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


_ORDER: Final = attrgetter("key", "place")


def sorted_records(
    records: Iterable[SortedRecord], *, max_bytes: int = MAX_BYTES
) -> Iterator[SortedRecord]:
    """Yield the records by their keys and places; equal ones keep their order."""
    with ExitStack() as stack:
        runs: list[IO[bytes]] = []
        held: list[SortedRecord] = []
        size = 0
        for record in records:
            held.append(record)
            size += record.size
            if size > max_bytes:
                held.sort(key=_ORDER)
                runs.append(stack.enter_context(tempfile.TemporaryFile()))
                _write(runs[-1], held)
                held, size = [], 0
        held.sort(key=_ORDER)
        yield from heapq.merge(*map(_read, runs), held, key=_ORDER) if runs else held


def _write(file: IO[bytes], records: Iterable[SortedRecord]) -> None:
    for each in records:
        # JSON has no line ends but those within strings, which it escapes.
        file.write(orjson.dumps([each.key, each.place, each.size, each.value]) + b"\n")
    file.seek(0)


def _read(file: IO[bytes]) -> Iterator[SortedRecord]:
    for line in file:
        yield SortedRecord(*orjson.loads(line))
