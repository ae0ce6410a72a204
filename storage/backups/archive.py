"""The file of a backup: a ZIP archive of the tables' rows, and what is known of them."""

import hashlib
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any, Final, TypeVar

import msgspec
import psycopg
from psycopg import sql

from storage.rights import REFUSALS

FORMAT: Final = 1
MANIFEST: Final = "manifest.json"
PIECE_BYTES: Final = 1024 * 1024
COMPRESSION: Final = 1
"""More takes several times as long, and gains a tenth."""

Described = TypeVar("Described")


class BackupError(Exception):
    """No backup can be made, or nothing restored from it; the message is one sentence."""


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table's rows, as COPY writes them."""

    name: str
    columns: list[str]
    rows: int
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds: one moment of the database."""

    format: int = FORMAT
    version: str
    """Of the Parley that made it."""
    made_at: datetime
    postgres: str
    migrations: list[str]
    database_bytes: int
    """What the database took on disk, with its indexes."""
    log_days: list[date]
    tables: list[Table]
    sequences: dict[str, int | None]
    """The last value given out, if any was."""
    files: int = 0
    file_bytes: int = 0

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


Progress = Callable[[str, int, int], None]
"""Told of a table, how many of its rows are done, and how many bytes."""


@dataclass(slots=True)
class Tally:
    """Counts and digests what passes by."""

    rows: int = 0
    size: int = 0
    _digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    def add(self, piece: bytes) -> None:
        self.rows += piece.count(b"\n")  # within a row, COPY escapes it
        self.size += len(piece)
        self._digest.update(piece)

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()


@contextmanager
def writing(path: Path) -> Iterator[zipfile.ZipFile]:
    """An archive that appears at `path` whole, readable by its owner alone, or not at all."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(unfinished, "xb", opener=_private) as file:
            with zipfile.ZipFile(
                file, "w", compression=zipfile.ZIP_DEFLATED, compresslevel=COMPRESSION
            ) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        raise BackupError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)


@contextmanager
def reading(path: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """A backup, and what it says of itself."""
    with opened(path, Manifest, "backup") as (archive, manifest):
        if manifest.format != FORMAT:
            raise BackupError(f"{path} was made by another version of Parley: use that one.")
        yield archive, manifest


@contextmanager
def opened(
    path: Path, kind: type[Described], what: str
) -> Iterator[tuple[zipfile.ZipFile, Described]]:
    """An archive, and what it says of itself; `what` it should be is for the sentence if not."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive, msgspec.json.decode(archive.read(MANIFEST), type=kind)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}.") from error
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, msgspec.DecodeError) as error:
        reason = f"no {what} of Parley, or not all of one"
        raise BackupError(f"{path} is {reason} ({error}).") from error


@contextmanager
def telling(outcome: str) -> Iterator[None]:
    """Say in a sentence what the database refused."""
    try:
        yield
    except (psycopg.OperationalError, *REFUSALS):
        raise  # of these `connected` says what to do
    except psycopg.Error as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise BackupError(f"{outcome}: {reason}.") from error


def member(table: str) -> str:
    """Return what the rows of the table are called in the archive."""
    return f"tables/{table}.copy"


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """All that can be read from it."""
    while piece := file.read(PIECE_BYTES):
        yield piece


def damaged(
    archive: zipfile.ZipFile,
    tables: Iterable[Table],
    member: Callable[[str], str],
    progress: Progress,
) -> str | None:
    """Read all rows, and compare them with their sums: the first table that is not as it was.

    `member` says what the rows of a table are called in the archive.
    """
    for table in tables:
        tally = Tally()
        with archive.open(member(table.name)) as file:
            for piece in pieces(file):
                tally.add(piece)
                progress(table.name, tally.rows, tally.size)
        if (tally.rows, tally.sha256) != (table.rows, table.sha256):
            return table.name
    return None


@contextmanager
def copying(connection: psycopg.Connection[Any], table: Table) -> Iterator[psycopg.Copy]:
    """A COPY into the table, of the columns that the archive has."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        yield copy


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
