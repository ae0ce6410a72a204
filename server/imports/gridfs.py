"""Read files that a dump of MongoDB contains in chunks, which come in any order (GridFS)."""

import io
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import IO, Any

from typing_extensions import Buffer, override

from server.i18n import _
from server.imports.errors import FileRefusedError
from storage.chunk_index import ChunkIndex

Document = dict[str, Any]


class GridFsBucket:
    """The files of one bucket, by their ids, in constant memory.

    The first one that is opened copies the chunks of all into a temporary file: an archive cannot
    be read from any place, but a file can. Thread-safe.
    """

    def __init__(
        self, files: Callable[[], Iterator[Document]], chunks: Callable[[], Iterator[Document]]
    ) -> None:
        self._files = files
        self._chunks = chunks
        self._lock = Lock()
        self._index: ChunkIndex | None = None
        self._content: IO[bytes] | None = None

    def __contains__(self, key: str) -> bool:
        """Return whether the bucket lists a file. Raises FileRefusedError."""
        with self._lock:
            return self._opened_index().size(key) is not None

    @contextmanager
    def opened(self, key: str) -> Iterator[IO[bytes]]:
        """Open a file. Raises FileRefusedError if chunks of it are missing or do not fit."""
        with self._lock:
            places = self._places(key)
        assert self._content is not None
        with io.BufferedReader(_Chunks(self._content.fileno(), places)) as file:
            yield file

    def close(self) -> None:
        """Remove what is temporary."""
        with self._lock:
            if self._index is not None:
                self._index.close()
            if self._content is not None:
                self._content.close()
            self._index = self._content = None

    def _opened_index(self) -> ChunkIndex:
        if self._index is None:
            self._index = ChunkIndex()
            self._index.add_files(
                (each["_id"], int(each["length"]))
                for each in self._files()
                if isinstance(each.get("_id"), str) and _is_count(each.get("length"))
            )
        return self._index

    def _places(self, key: str) -> list[tuple[int, int]]:
        """Return where the chunks of a file begin, and their sizes."""
        index = self._opened_index()
        if self._content is None:
            self._copy_chunks(index)
        found = index.chunks(key)
        is_whole = [number for number, _, _ in found] == list(range(len(found)))
        if not is_whole or sum(size for _, _, size in found) != index.size(key):
            raise FileRefusedError(_("chunks are missing in the dump, or are of another file"))
        return [(start, size) for _, start, size in found]

    def _copy_chunks(self, index: ChunkIndex) -> None:
        content = tempfile.TemporaryFile()  # noqa: SIM115 - `close` closes it
        try:
            index.add_chunks(self._copied(index, content))
            content.flush()
        except BaseException:
            content.close()
            raise
        self._content = content

    def _copied(self, index: ChunkIndex, content: IO[bytes]) -> Iterator[tuple[str, int, int, int]]:
        """Copy the chunks of known files; yield where they are."""
        for chunk in self._chunks():
            key, number, data = chunk.get("files_id"), chunk.get("n"), chunk.get("data")
            if not isinstance(data, bytes) or not _is_count(number):
                continue
            if isinstance(key, str) and index.size(key) is not None:
                yield key, int(number or 0), content.tell(), len(data)
                content.write(data)


def _is_count(value: Any) -> bool:
    """Return whether it is a whole number that the index can hold; MongoDB has doubles, too."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value < 2**53 and int(value) == value


class _Chunks(io.RawIOBase):
    """A file in pieces of another one."""

    def __init__(self, descriptor: int, places: list[tuple[int, int]]) -> None:
        self._descriptor = descriptor
        self._places = places[::-1]
        """Those that are left, the next one last."""

    @override
    def readable(self) -> bool:
        return True

    @override
    def readinto(self, buffer: Buffer, /) -> int:
        view = memoryview(buffer)
        while self._places:
            start, size = self._places.pop()
            piece = os.pread(self._descriptor, min(size, len(view)), start)
            if len(piece) < size:
                self._places.append((start + len(piece), size - len(piece)))
            if piece:
                view[: len(piece)] = piece
                return len(piece)
        return 0
