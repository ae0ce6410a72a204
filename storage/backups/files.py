"""Uploaded files in a backup: the folder of a LocalBlobStore."""

import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from storage.backups.archive import BackupError, BackupManifest, Progress, pieces
from storage.blobs import NamelessFile, check_key

FOLDER: Final = "files"


def size_of(root: Path) -> int:
    """Return the total size of the files in bytes."""
    return sum(size for _, size in _kept(root))


def put_files(archive: zipfile.ZipFile, root: Path, progress: Progress) -> tuple[int, int]:
    """Add all files of the store; return how many, and how many bytes.

    Call it after the rows were read: then each file that a row names is there, unless it was
    deleted since.
    """
    count = size = 0
    for key, _ in _kept(root):
        with suppress(FileNotFoundError), (root / key).open("rb") as source:
            # Most are compressed already.
            entry = zipfile.ZipInfo(f"{FOLDER}/{key}")
            with archive.open(entry, "w", force_zip64=True) as target:
                for piece in pieces(source):
                    target.write(piece)
                    size += len(piece)
                    progress(FOLDER, count, size)
            count += 1
    return count, size


def compare_files(archive: zipfile.ZipFile, manifest: BackupManifest, progress: Progress) -> None:
    """Verify the checksum of every file in the archive; raise BackupError at a mismatch."""
    count = size = 0
    for entry in _entries(archive):
        with archive.open(entry) as file:
            size += sum(map(len, pieces(file)))
        count += 1
        progress(FOLDER, count, size)
    if (count, size) != (manifest.files, manifest.file_bytes):
        raise BackupError("The backup is damaged: it does not hold the files that it should.")


def take_files(archive: zipfile.ZipFile, root: Path, progress: Progress) -> None:
    """Extract the files of the archive into the store; existing files stay."""
    size = 0
    for count, entry in enumerate(_entries(archive)):
        key = _key(entry)
        if (root / key).exists():
            continue
        with archive.open(entry) as source, _nameless(root) as file:
            for piece in pieces(source):
                file.write(piece)
                progress(FOLDER, count, size + file.size)
            file.keep(key)
            size += file.size


def _kept(root: Path) -> Iterator[tuple[str, int]]:
    """Yield key and size of each stored file, unfinished writes excluded."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            key = str(path.relative_to(root))
            with suppress(ValueError, FileNotFoundError):
                check_key(key)
                yield key, path.lstat().st_size


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [entry for entry in archive.infolist() if entry.filename.startswith(f"{FOLDER}/")]


def _key(entry: zipfile.ZipInfo) -> str:
    key = entry.filename.removeprefix(f"{FOLDER}/")
    try:
        check_key(key)
    except ValueError as error:
        raise BackupError(
            f"The backup holds something that is no file of ours: {error}."
        ) from error
    return key


@contextmanager
def _nameless(root: Path) -> Iterator[NamelessFile]:
    file = NamelessFile(root)
    try:
        yield file
    finally:
        file.discard()
