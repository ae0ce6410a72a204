"""What an export says of itself, and how it is read."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from storage.backups.archive import BackupError, Progress, Table, damaged, opened, pieces

FORMAT: Final = "parley-export-1"
FOLDER: Final = "files/"
"""How the names of files in the archive begin."""

Scope = Literal["everything", "consented", "public"]
"""All that is the organization's; what is public, and what those have who let it be exported; what
every member may read."""


class ExportError(BackupError):
    """Nothing can be exported or imported; the message is one sentence."""


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What an export holds: one moment of one organization."""

    format: str = FORMAT
    version: str
    """Of the Parley that made it."""
    made_at: datetime
    scope: Scope
    secrets: bool
    """Whether it holds hashes of passwords, API keys and tokens."""
    realm_id: int
    subdomain: str
    name: str
    position: int
    """Of the organization's clock: the id of its newest message is not above."""
    sequences: dict[str, int]
    """The largest id that was given out, by sequence."""
    migrations: list[str]
    tables: list[Table]
    files: int = 0
    file_bytes: int = 0

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


@contextmanager
def reading(path: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """An export, and what it says of itself. Raises ExportError and BackupError."""
    with opened(path, Manifest, "export") as (archive, manifest):
        if manifest.format != FORMAT:
            raise ExportError(f"{path} has another format ({manifest.format}).")
        yield archive, manifest


def member(table: str) -> str:
    """Return what the rows of the table are called in the archive."""
    return f"{table}.jsonl"


def verify(path: Path, progress: Progress) -> Manifest:
    """Read all of the export, and compare it with what it should be. Raises ExportError."""
    with reading(path) as (archive, manifest):
        table = damaged(archive, manifest.tables, member, progress)
        if table is not None:
            raise ExportError(f"The export is damaged: {table} is not what was written.")
        _compare_files(archive, manifest, progress)
    return manifest


def _compare_files(archive: zipfile.ZipFile, manifest: Manifest, progress: Progress) -> None:
    """Read all files of the archive, which has a sum of each. Raises ExportError."""
    count = size = 0
    for entry in archive.infolist():
        if entry.filename.startswith(FOLDER):
            with archive.open(entry) as file:
                size += sum(map(len, pieces(file)))
            count += 1
            progress("files", count, size)
    if (count, size) != (manifest.files, manifest.file_bytes):
        raise ExportError("The export is damaged: it does not hold the files that it should.")
