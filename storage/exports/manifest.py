"""The manifest of an export, and how it is read."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final, Literal

import msgspec

from storage.backups.archive import BackupError, BackupTable, Progress, damaged, opened, pieces

FORMAT: Final = "parley-export-1"
FOLDER: Final = "files/"
"""Prefix of file names in the archive."""

Scope = Literal["everything", "consented", "public"]
"""`everything`: all data of the realm; `consented`: public data, and that of users who consented to
an export; `public`: what every member may read.
"""


class ExportError(BackupError):
    """An export or import failed; the message is one sentence for the operator."""


class ExportManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Describes an export, which is a snapshot of one realm."""

    format: str = FORMAT
    version: str
    """Version of the Parley that made the export."""
    made_at: datetime
    scope: Scope
    secrets: bool
    """Whether it holds password hashes, API keys and tokens."""
    realm_id: int
    subdomain: str
    name: str
    position: int
    """Position of the realm's clock, not below the id of its newest message."""
    sequences: dict[str, int]
    """Largest id in use, by sequence."""
    migrations: list[str]
    tables: list[BackupTable]
    files: int = 0
    file_bytes: int = 0

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self.tables)


@contextmanager
def reading(path: Path) -> Iterator[tuple[zipfile.ZipFile, ExportManifest]]:
    """Yield an opened export and its manifest. Raises ExportError and BackupError."""
    with opened(path, ExportManifest, "export") as (archive, manifest):
        if manifest.format != FORMAT:
            raise ExportError(f"{path} has another format ({manifest.format}).")
        yield archive, manifest


def member(table: str) -> str:
    """Return the name of the table's member in the archive."""
    return f"{table}.jsonl"


def verify(path: Path, progress: Progress) -> ExportManifest:
    """Verify the whole export; raise ExportError if it is damaged."""
    with reading(path) as (archive, manifest):
        table = damaged(archive, manifest.tables, member, progress)
        if table is not None:
            raise ExportError(f"The export is damaged: {table} is not what was written.")
        _compare_files(archive, manifest, progress)
    return manifest


def _compare_files(archive: zipfile.ZipFile, manifest: ExportManifest, progress: Progress) -> None:
    """Verify the checksum of every file in the archive; raise ExportError at a mismatch."""
    count = size = 0
    for entry in archive.infolist():
        if entry.filename.startswith(FOLDER):
            with archive.open(entry) as file:
                size += sum(map(len, pieces(file)))
            count += 1
            progress("files", count, size)
    if (count, size) != (manifest.files, manifest.file_bytes):
        raise ExportError("The export is damaged: it does not hold the files that it should.")
