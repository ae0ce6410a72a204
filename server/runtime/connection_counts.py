"""How many connections each of several server processes has, so that they share them evenly."""

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Final

ABSENT: Final = -1
"""Instead of a number: of a process that accepts no connections."""
WORD_BYTES: Final = 8
MAX_AHEAD: Final = 0.05
"""Share of its connections by which a process may have more than another one."""


class ConnectionCounts:
    """A number for each process, in memory that all of them share.

    Each process writes its own, and reads those of the others without a lock: a number is written
    as a whole.
    """

    def __init__(self, descriptor: int, processes: int) -> None:
        """Map the file of `shared_counts`, which another process may have opened."""
        self.descriptor = descriptor
        self.processes = processes
        self._memory = mmap.mmap(descriptor, processes * WORD_BYTES)
        self._counts = memoryview(self._memory).cast("q")

    def __getitem__(self, number: int) -> int:
        return self._counts[number]

    def __setitem__(self, number: int, connections: int) -> None:
        self._counts[number] = connections

    def fewest_beside(self, number: int) -> int | None:
        """Return the fewest connections of the other processes that accept any; None without."""
        others = (each for n, each in enumerate(self._counts) if n != number and each != ABSENT)
        return min(others, default=None)

    def accepting(self) -> list[int]:
        """Return the processes that accept connections, in order."""
        return [number for number, each in enumerate(self._counts) if each != ABSENT]

    def close(self) -> None:
        self._counts.release()
        self._memory.close()


@contextmanager
def shared_counts(processes: int) -> Iterator[ConnectionCounts]:
    """Make the numbers of so many processes, all of which are absent at first."""
    with _nameless_file() as file:
        file.truncate(processes * WORD_BYTES)
        counts = ConnectionCounts(file.fileno(), processes)
        for number in range(processes):
            counts[number] = ABSENT
        try:
            yield counts
        finally:
            counts.close()


def _nameless_file() -> IO[bytes]:
    """Open a file that ends with its last descriptor; in memory, where the system offers that."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("connections"), "r+b")
    return tempfile.TemporaryFile()


@dataclass(frozen=True, slots=True)
class ConnectionShare:
    """The number of one process, beside those of the others."""

    counts: ConnectionCounts
    number: int

    @classmethod
    def parse(cls, described: str) -> "ConnectionShare":
        """Return a share as the parent process described it; the descriptor is inherited."""
        descriptor, processes, number = map(int, described.split(","))
        return cls(ConnectionCounts(descriptor, processes), number)

    def describe(self) -> str:
        """Return the share as an argument of a command that inherits the descriptor."""
        return f"{self.counts.descriptor},{self.counts.processes},{self.number}"

    def record(self, connections: int) -> None:
        self.counts[self.number] = connections

    def leave(self) -> None:
        """Record that this process accepts no further connections."""
        self.counts[self.number] = ABSENT

    def is_ahead(self) -> bool:
        """Return whether another process has so few that it should get the next connection."""
        own, fewest = self.counts[self.number], self.counts.fewest_beside(self.number)
        return fewest is not None and own - fewest > max(1.0, own * MAX_AHEAD)
