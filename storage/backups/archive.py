"""The file format of a backup: a ZIP archive of the tables' rows and a manifest."""

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
"""Higher levels take several times as long and save a tenth."""

_DAMAGE: Final = (
    *(zipfile.BadZipFile, zlib.error, KeyError, EOFError),
    *(msgspec.DecodeError, UnicodeDecodeError, RecursionError),
)
"""What reading an archive and its manifest raises if they are damaged, or something else."""

Described = TypeVar("Described")


class BackupError(Exception):
    """A backup cannot be made or restored; the message is one sentence for the operator."""


class BackupTable(msgspec.Struct, frozen=True, kw_only=True):
    """The rows of one table, as written by COPY, with their count and checksum."""

    name: str
    columns: list[str]
    rows: int
    size: int
    sha256: str


class BackupManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Describes a backup, which is one snapshot of the database."""

    format: int = FORMAT
    version: str
    """Version of the Parley that made the backup."""
    made_at: datetime
    postgres: str
    migrations: list[str]
    database_bytes: int
    """Size of the database on disk, indexes included."""
    log_days: list[date]
    tables: list[BackupTable]
    sequences: dict[str, int | None]
    """Last value of each sequence, if any."""
    files: int = 0
    file_bytes: int = 0

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


Progress = Callable[[str, int, int], None]
"""Progress callback: table name, rows done, bytes done."""


@dataclass(slots=True)
class Tally:
    """Count and hash the bytes that pass through."""

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
    """Yield an archive that appears at `path` complete, or not at all.

    Only its owner may read it.
    """
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
def reading(path: Path) -> Iterator[tuple[zipfile.ZipFile, BackupManifest]]:
    """Yield an opened backup and its manifest; raise BackupError if it is not one."""
    with opened(path, BackupManifest, "backup") as (archive, manifest):
        if manifest.format != FORMAT:
            raise BackupError(f"{path} was made by another version of Parley: use that one.")
        yield archive, manifest


@contextmanager
def opened(
    path: Path, kind: type[Described], what: str
) -> Iterator[tuple[zipfile.ZipFile, Described]]:
    """Yield an archive and its manifest; `what` names the expected kind in the error message."""
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive, msgspec.json.decode(archive.read(MANIFEST), type=kind)
    except OSError as error:
        raise BackupError(f"{path} cannot be read: {error.strerror or error}.") from error
    except _DAMAGE as error:
        reason = f"no {what} of Parley, or not all of one"
        raise BackupError(f"{path} is {reason} ({error}).") from error


@contextmanager
def backup_errors(outcome: str) -> Iterator[None]:
    """Turn database errors into a BackupError with one sentence."""
    try:
        yield
    except (psycopg.OperationalError, *REFUSALS):
        raise  # of these `connected` says what to do
    except psycopg.Error as error:
        reason = str(error).strip().split("\n")[0].rstrip(".")
        raise BackupError(f"{outcome}: {reason}.") from error


def member(table: str) -> str:
    """Return the name of the table's member in the archive."""
    return f"tables/{table}.copy"


def pieces(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the content of the file in chunks."""
    while piece := file.read(PIECE_BYTES):
        yield piece


def damaged(
    archive: zipfile.ZipFile,
    tables: Iterable[BackupTable],
    member: Callable[[str], str],
    progress: Progress,
) -> str | None:
    """Verify the checksums of all rows; return the first damaged table.

    `member` maps a table to the name of its member in the archive.
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
def copying(connection: psycopg.Connection[Any], table: BackupTable) -> Iterator[psycopg.Copy]:
    """Open a COPY into the table, with the columns of the archive."""
    statement = sql.SQL("COPY {} ({}) FROM STDIN").format(
        sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.columns))
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        yield copy


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
