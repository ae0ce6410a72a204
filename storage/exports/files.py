"""Uploaded files in an export, from and to any blob store."""

import zipfile
from collections.abc import Callable
from contextlib import aclosing, suppress

from storage.backups.archive import Progress, pieces
from storage.blobs import BlobStore, check_key
from storage.exports.manifest import FOLDER, ExportError

KINDS = frozenset({"avatar", "emoji", "icon", "logo", "thumbnails", "uploads"})
"""Prefixes of blob keys that exported rows refer to.

Incoming content and other exports are excluded.
"""


async def put_files(
    archive: zipfile.ZipFile,
    blobs: BlobStore,
    realm_id: int,
    progress: Progress,
    is_wanted: Callable[[str], bool] = lambda _: True,
) -> tuple[int, int]:
    """Add the realm's stored content; return how many files, and how many bytes.

    Call it after the rows were read: then each file that a row names is there, unless it was
    deleted since.
    """
    count = size = 0
    async for blob in blobs.kept():
        if not _is_of(realm_id, blob.key) or not is_wanted(blob.key):
            continue
        with suppress(FileNotFoundError):
            size += await put_file(archive, blobs, blob.key, FOLDER + blob.key)
            count += 1
            progress("files", count, size)
    return count, size


async def put_file(archive: zipfile.ZipFile, blobs: BlobStore, key: str, name: str) -> int:
    """Add one content under this name; return its size. Raises FileNotFoundError."""
    async with aclosing(blobs.read(key)) as chunks:
        first = await anext(chunks, b"")  # before anything is written: it may be gone
        size = len(first)
        # Most are compressed already.
        with archive.open(zipfile.ZipInfo(name), "w", force_zip64=True) as target:
            target.write(first)
            async for chunk in chunks:
                size += target.write(chunk)
    return size


async def take_files(
    archive: zipfile.ZipFile, blobs: BlobStore, rekeyed: Callable[[str], str], progress: Progress
) -> list[str]:
    """Put the files of the archive into the store under their new keys; return the keys.

    If one cannot be stored, those before are deleted. Raises ExportError.
    """
    kept: list[str] = []
    size = 0
    try:
        for entry in archive.infolist():
            if entry.filename.startswith(FOLDER):
                key = rekeyed(_key(entry))
                size += await _take(archive, entry, blobs, key)
                kept.append(key)
                progress("files", len(kept), size)
    except BaseException:
        await drop_files(blobs, kept)
        raise
    return kept


async def drop_files(blobs: BlobStore, keys: list[str]) -> None:
    for key in keys:
        await blobs.delete(key)


async def _take(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, blobs: BlobStore, key: str
) -> int:
    try:
        return await _bring(archive, entry, blobs, key)
    except FileExistsError:
        # Left by an import that was cut off: no realm has it yet.
        await blobs.delete(key)
        return await _bring(archive, entry, blobs, key)


async def _bring(
    archive: zipfile.ZipFile, entry: zipfile.ZipInfo, blobs: BlobStore, key: str
) -> int:
    incoming = await blobs.receive()
    try:
        with archive.open(entry) as source:
            for piece in pieces(source):
                await incoming.write(piece)
        await incoming.keep(key)
    finally:
        await incoming.discard()
    return incoming.size


def _is_of(realm_id: int, key: str) -> bool:
    with suppress(ValueError):
        check_key(key)
        kind, owner, *_ = key.split("/")
        return owner == str(realm_id) and kind in KINDS
    return False


def _key(entry: zipfile.ZipInfo) -> str:
    key = entry.filename.removeprefix(FOLDER)
    try:
        check_key(key)
    except ValueError as error:
        raise ExportError(
            f"The export holds something that is no file of ours: {error}."
        ) from error
    return key
