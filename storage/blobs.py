"""Where files are kept: content under a key, written once, read in pieces."""

import asyncio
import hashlib
import os
import re
import secrets
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeVar

from typing_extensions import override

Value = TypeVar("Value")

CHUNK_BYTES: Final = 64 * 1024
INCOMING: Final = "incoming"
"""The folder of what has not been kept yet."""

_KEY: Final = re.compile(r"[a-z]+/[0-9]+/[0-9a-f]{2}/[A-Za-z0-9_-]{22}(?:\.[a-z]{1,10}){0,2}")


def new_key(kind: str, realm_id: int) -> str:
    """A key that nobody can guess."""
    return f"{kind}/{realm_id}/{secrets.token_hex(1)}/{secrets.token_urlsafe(16)}"


def check_key(key: str) -> None:
    """Raise ValueError for what is no key: no other name ever reaches the store."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not the key of a file: {key!r}")


class IncomingBlob(Protocol):
    """Content on its way into the store."""

    @property
    def size(self) -> int: ...

    @property
    def digest(self) -> bytes:
        """SHA-256 of what has been written."""
        ...

    async def write(self, chunk: bytes) -> None: ...

    def read(self) -> AsyncGenerator[bytes, None]:
        """What has been written so far, in pieces."""
        ...

    async def keep(self, key: str) -> None:
        """Let it be there under the key, for good: a loss of power takes it no more."""
        ...

    async def discard(self) -> None:
        """Drop it, unless it has been kept."""
        ...


@dataclass(frozen=True, slots=True)
class KeptBlob:
    """Something that is in the store."""

    key: str
    written_at: float
    """In seconds since 1970."""


class BlobStore(Protocol):
    """Files by key. A key is written once; whoever reads it gets what was written, or nothing."""

    async def receive(self) -> IncomingBlob:
        """A place for content that comes in pieces."""
        ...

    def read(
        self, key: str, start: int = 0, length: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """The content from `start`, in pieces. Raises FileNotFoundError at the first of them."""
        ...

    async def size(self, key: str) -> int:
        """How long it is. Raises FileNotFoundError."""
        ...

    async def delete(self, key: str) -> None:
        """Nothing is under the key from now on; it may have been so before."""
        ...

    def kept(self) -> AsyncIterator[KeptBlob]:
        """Everything in the store, and what was left of writes that did not end."""
        ...


class LocalBlobStore(BlobStore):
    """Files in a folder of this machine, which all processes of the server share."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @override
    async def receive(self) -> "LocalIncomingBlob":
        return await _in_thread(lambda: LocalIncomingBlob(self._root))

    @override
    async def read(
        self, key: str, start: int = 0, length: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        path = self._path(key)
        file = await _in_thread(lambda: os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC))
        try:
            left = length
            while left is None or left > 0:
                wanted = CHUNK_BYTES if left is None else min(CHUNK_BYTES, left)
                chunk = await _in_thread(_reading(file, wanted, start))
                if not chunk:
                    return
                start += len(chunk)
                left = None if left is None else left - len(chunk)
                yield chunk
        finally:
            os.close(file)

    @override
    async def size(self, key: str) -> int:
        path = self._path(key)
        return (await _in_thread(path.lstat)).st_size

    @override
    async def delete(self, key: str) -> None:
        path = self._path(key) if not key.startswith(f"{INCOMING}/") else self._incoming(key)

        def remove() -> None:
            with suppress(FileNotFoundError):
                path.unlink()

        await _in_thread(remove)

    @override
    async def kept(self) -> AsyncIterator[KeptBlob]:
        walk = self._walk()
        while (blob := await _in_thread(lambda: next(walk, None))) is not None:
            yield blob

    def _walk(self) -> Iterator[KeptBlob]:
        for folder, _, names in os.walk(self._root):
            for name in names:
                path = Path(folder) / name
                with suppress(FileNotFoundError):
                    found = path.lstat()
                    if stat.S_ISREG(found.st_mode):
                        yield KeptBlob(str(path.relative_to(self._root)), found.st_mtime)

    def _path(self, key: str) -> Path:
        check_key(key)
        return self._root / key

    def _incoming(self, key: str) -> Path:
        return self._root / INCOMING / Path(key).name


class LocalIncomingBlob(IncomingBlob):
    """A file without its name yet."""

    def __init__(self, root: Path) -> None:
        folder = root / INCOMING
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._root = root
        self._path: Path | None = folder / secrets.token_hex(16)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0)
        self._hash = hashlib.sha256()
        self._size = 0

    @property
    @override
    def size(self) -> int:
        return self._size

    @property
    @override
    def digest(self) -> bytes:
        return self._hash.digest()

    @override
    async def write(self, chunk: bytes) -> None:
        await _in_thread(lambda: self._write(chunk))

    @override
    async def read(self) -> AsyncGenerator[bytes, None]:
        start = 0
        while chunk := await _in_thread(_reading(self._file.fileno(), CHUNK_BYTES, start)):
            start += len(chunk)
            yield chunk

    @override
    async def keep(self, key: str) -> None:
        check_key(key)
        await _in_thread(lambda: self._keep(self._root / key))

    @override
    async def discard(self) -> None:
        await _in_thread(self._discard)

    def _write(self, chunk: bytes) -> None:
        rest = memoryview(chunk)
        while rest:
            rest = rest[self._file.write(rest) :]
        self._hash.update(chunk)
        self._size += len(chunk)

    def _keep(self, target: Path) -> None:
        assert self._path is not None, "it is kept once"
        os.fsync(self._file.fileno())
        self._file.close()
        new = [folder for folder in target.parents if not folder.exists()]
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.link(self._path, target)  # refuses to replace what is there
        self._path.unlink()
        self._path = None
        for folder in {target.parent, *(each.parent for each in new)}:
            _sync_folder(folder)

    def _discard(self) -> None:
        self._file.close()
        if self._path is not None:
            with suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _reading(file: int, count: int, start: int) -> Callable[[], bytes]:
    return lambda: os.pread(file, count, start)


async def _in_thread(work: Callable[[], Value]) -> Value:
    """Do it beside the loop, to its end: a cancelled request must not leave a file half open."""
    doing = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(doing)
    except asyncio.CancelledError:
        with suppress(Exception):
            await doing
        raise
