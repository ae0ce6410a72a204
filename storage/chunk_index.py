"""Where the chunks of files are, by file: an index on disk for the time of one process."""

import sqlite3
from collections.abc import Iterable
from typing import Final

_TABLES: Final = """
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    CREATE TABLE chunked_files (key TEXT PRIMARY KEY, size INTEGER) WITHOUT ROWID;
    CREATE TABLE chunks (key TEXT, number INTEGER, start INTEGER, size INTEGER,
                         PRIMARY KEY (key, number)) WITHOUT ROWID;
"""


class ChunkIndex:
    """A SQLite database in a temporary file without a name. Not thread-safe, but for any thread."""

    def __init__(self) -> None:
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.executescript(_TABLES)

    def add_files(self, files: Iterable[tuple[str, int]]) -> None:
        """Add files with their sizes; of several under one key, the first."""
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR IGNORE INTO chunked_files VALUES (?, ?)", files)

    def add_chunks(self, chunks: Iterable[tuple[str, int, int, int]]) -> None:
        """Add chunks of files: the file's key, their number, start and size.

        Of several with one number, the first is kept.
        """
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?)", chunks)

    def size(self, key: str) -> int | None:
        """Return the size of a file; None for an unknown key."""
        found = self._database.execute("SELECT size FROM chunked_files WHERE key = ?", (key,))
        row = found.fetchone()
        return None if row is None else int(row[0])

    def chunks(self, key: str) -> list[tuple[int, int, int]]:
        """Return number, start and size of a file's chunks, by number."""
        found = self._database.execute(
            "SELECT number, start, size FROM chunks WHERE key = ? ORDER BY number", (key,)
        )
        return found.fetchall()

    def close(self) -> None:
        """Remove the index."""
        self._database.close()
