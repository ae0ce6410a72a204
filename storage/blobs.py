"""Blob stores: content under a key, written once, read in chunks."""

import asyncio
import base64
import errno
import hashlib
import os
import re
import secrets
import stat
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol, TypeVar

from typing_extensions import override

Value = TypeVar("Value")

CHUNK_BYTES: Final = 64 * 1024
INCOMING: Final = "incoming"
"""The folder of unfinished uploads."""

SALT_LENGTH: Final = 8

_KEY: Final = re.compile(
    r"[a-z]+/[0-9]+/[0-9a-f]{2}/[A-Za-z0-9_-]{22}(?:-[a-z]{1,10})?(?:\.[a-z]{1,10}){0,2}"
)


_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


class BlobStoreError(OSError):
    """The store failed; a retry may succeed."""


def new_key(kind: str, realm_id: int) -> str:
    """Return a key that cannot be guessed."""
    return f"{kind}/{realm_id}/{secrets.token_hex(1)}/{secrets.token_urlsafe(16)}"


def signed_key(kind: str, realm_id: int, salt: str, signature: bytes) -> str:
    """Return the key with this salt, of SALT_LENGTH random characters.

    The signature, of 11 bytes or more, is made with a secret, so the key cannot be guessed either.
    """
    name = base64.urlsafe_b64encode(signature[1:11]).rstrip(b"=").decode()
    return f"{kind}/{realm_id}/{signature[0]:02x}/{salt}{name}"


def salt_in(key: str) -> str:
    """Return the salt, if it is a signed key."""
    return key.rpartition("/")[2][:SALT_LENGTH]


def check_key(key: str) -> None:
    """Raise ValueError if it is not a valid key: no other name reaches the store."""
    if not _KEY.fullmatch(key):
        raise ValueError(f"not the key of a file: {key!r}")


@dataclass(frozen=True, slots=True)
class KeptBlob:
    """A stored blob."""

    key: str
    written_at: float
    """Seconds since 1970."""


class BlobStore(Protocol):
    """Blobs by key; each key is written once.

    A reader gets the whole content, or FileNotFoundError.
    """

    async def receive(self) -> "IncomingBlob":
        """Return a writer for content that arrives in chunks."""
        ...

    def read(
        self, key: str, start: int = 0, length: int | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the content from `start` in chunks. Raises FileNotFoundError before the first."""
        ...

    async def size(self, key: str) -> int:
        """Return its size in bytes; raise FileNotFoundError if there is none."""
        ...

    async def delete(self, key: str) -> None:
        """Delete the key; a missing key is no error."""
        ...

    def kept(self) -> AsyncIterator[KeptBlob]:
        """Yield all stored blobs, leftovers of unfinished writes included."""
        ...


class LocalBlobStore(BlobStore):
    """Blobs in a folder on this machine, shared by all processes of the server."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @override
    async def receive(self) -> "IncomingBlob":
        return IncomingBlob(await self.nameless(), _keep_here)

    async def nameless(self) -> "NamelessFile":
        """Create a file for this store, or for staging on the way to another."""
        return await _in_thread(lambda: NamelessFile(self._root))

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


class NamelessFile:
    """A file being written to a local store, by blocking calls.

    If the process is root, files are given to the owner of the store: a server that is not root has
    to read them.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._owner = _owner_of(root)
        self._make_folder(root / INCOMING)
        self._path: Path | None = root / INCOMING / secrets.token_hex(16)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.fdopen(os.open(self._path, flags, 0o600), "r+b", buffering=0)
        self._own(self._path)
        self._hash = hashlib.sha256()
        self.size = 0

    @property
    def path(self) -> Path:
        """Path of the file until it is kept or discarded."""
        assert self._path is not None, "it is kept once"
        return self._path

    @property
    def digest(self) -> bytes:
        return self._hash.digest()

    def write(self, chunk: bytes) -> None:
        """Append all of the chunk, or nothing: earlier content can be kept on a full disk."""
        rest = memoryview(chunk)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            self._file.truncate(self.size)
            self._file.seek(self.size)
            raise
        self._hash.update(chunk)
        self.size += len(chunk)

    def read(self, start: int) -> bytes:
        """Return a chunk of what has been written, from `start`."""
        return os.pread(self._file.fileno(), CHUNK_BYTES, start)

    def keep(self, key: str) -> None:
        """See IncomingBlob."""
        check_key(key)
        path = self.path
        os.fsync(self._file.fileno())
        self._file.close()
        target = self._root / key
        new = self._make_folder(target.parent)
        os.link(path, target)  # refuses to replace what is there
        path.unlink()
        self._path = None
        for folder in {target.parent, *(each.parent for each in new)}:
            _sync_folder(folder)

    def discard(self) -> None:
        """See IncomingBlob."""
        self._file.close()
        if self._path is not None:
            with suppress(FileNotFoundError):
                self._path.unlink()
            self._path = None

    def _make_folder(self, folder: Path) -> list[Path]:
        """Create missing folders; return those that were created."""
        new = [each for each in (folder, *folder.parents) if not each.exists()]
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for each in new:
            self._own(each)
        return new

    def _own(self, path: Path) -> None:
        if os.geteuid() == 0:
            os.chown(path, *self._owner, follow_symlinks=False)


class IncomingBlob:
    """Content on its way into a store, buffered in a local file without a name."""

    def __init__(
        self, file: NamelessFile, keep: Callable[[NamelessFile, str], Awaitable[None]]
    ) -> None:
        self._file = file
        self._keep = keep

    @property
    def size(self) -> int:
        return self._file.size

    @property
    def digest(self) -> bytes:
        """Return the SHA-256 of what has been written."""
        return self._file.digest

    async def write(self, chunk: bytes) -> None:
        """Append all of the chunk, or raise OSError and append nothing."""
        await _in_thread(lambda: self._file.write(chunk))

    async def read(self) -> AsyncGenerator[bytes, None]:
        """Yield what has been written so far, in chunks."""
        start = 0
        while chunk := await _in_thread(partial(self._file.read, start)):
            start += len(chunk)
            yield chunk

    async def keep(self, key: str) -> None:
        """Store it under the key durably: it survives a loss of power.

        Raises FileExistsError, and BlobStoreError.
        """
        check_key(key)
        await self._keep(self._file, key)

    async def discard(self) -> None:
        """Discard the content, unless it has been kept."""
        await _in_thread(self._file.discard)


async def _keep_here(file: NamelessFile, key: str) -> None:
    await _in_thread(lambda: file.keep(key))


def _owner_of(folder: Path) -> tuple[int, int]:
    """Return user and group of the folder, or of its nearest existing parent."""
    found = next(each for each in (folder, *folder.parents) if each.exists()).stat()
    return found.st_uid, found.st_gid


def _sync_folder(folder: Path) -> None:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _reading(file: int, count: int, start: int) -> Callable[[], bytes]:
    return lambda: os.pread(file, count, start)


async def _in_thread(work: Callable[[], Value]) -> Value:
    """Run `work` in a thread, to its end: a cancelled request must not leave a file half open.

    Raises BlobStoreError if there is no room.
    """
    doing = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(doing)
    except OSError as error:
        if error.errno in _FULL:
            raise BlobStoreError(f"there is no room for files ({error.strerror})") from error
        raise
    except asyncio.CancelledError:
        with suppress(Exception):
            await doing
        raise
