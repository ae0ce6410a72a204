"""Read the objects of large JSON arrays, and of objects of arrays, one by one."""

import re
from collections.abc import Collection, Iterator
from typing import IO, Final

from server.i18n import _
from server.imports.errors import MalformedContentError

CHUNK_BYTES: Final = 256 * 1024
MAX_OBJECT_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of one object; a larger one is an error."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|"', re.DOTALL)
"""A string, a bracket, or the beginning of a string that continues in the next chunk."""
_ROW_TOKEN: Final = re.compile(
    rb'\{[^{}\[\]"]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^{}\[\]"]*+)*+\}|' + _TOKEN.pattern,
    re.DOTALL,
)
"""The same, and objects that contain no others as a whole: most are."""
_QUOTE: Final = ord('"')
_OPENING: Final = frozenset(b"{[")
_CLOSING: Final = frozenset(b"}]")
_OF_OBJECTS: Final = 2
"""Depth within an object of the array."""
_IN_TABLE: Final = 2
_IN_ROW: Final = 3
"""Depths within an array of an object of arrays, and within an object of it."""


class MalformedJsonError(MalformedContentError):
    """It is no array of objects, or one of its objects is too large."""


def objects_in(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the text of each object in an array, with no more than one of them in memory.

    The objects themselves are not validated. Raises MalformedJsonError.
    """
    splitter = _Splitter()
    while not splitter.has_ended:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            raise MalformedJsonError(_("the end is missing"))
        yield from splitter.feed(chunk)


class _Splitter:
    """Finds the objects in the text of an array that arrives in chunks."""

    def __init__(self) -> None:
        self.has_ended = False
        self._buffer = b""
        self._depth = 0
        self._start = 0
        """Beginning of the object in the buffer, or of what has not been looked at."""
        self._place = 0
        """How far the buffer has been looked at."""

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        self._buffer = self._buffer[self._start :] + chunk
        self._place -= self._start
        self._start = 0
        for token in _TOKEN.finditer(self._buffer, self._place):
            sign = token[0]
            if sign == b'"':
                break
            self._place = token.end()
            if sign[0] in _OPENING:
                self._open(token.start())
            elif sign[0] in _CLOSING:
                self._depth -= 1
                if self._depth < _OF_OBJECTS - 1:
                    self.has_ended = True
                    return
                if self._depth < _OF_OBJECTS:
                    yield self._buffer[self._start : self._place]
            if self._depth < _OF_OBJECTS:
                self._start = self._place
        if len(self._buffer) - self._start > MAX_OBJECT_BYTES:
            raise MalformedJsonError(_("an object is too large"))

    def _open(self, place: int) -> None:
        self._depth += 1
        if self._depth == 1 and self._buffer[place : place + 1] != b"[":
            raise MalformedJsonError(_("not an array"))
        if self._depth == _OF_OBJECTS:
            self._start = place


def rows_in(file: IO[bytes], tables: Collection[str] | None) -> Iterator[tuple[str, bytes]]:
    """Yield the text of each object in those arrays of an object of arrays, with the array's name.

    No more than one of the objects is in memory, and they are not validated. Values that are no
    arrays are passed over, and nothing is read once all arrays have ended; None: all that there
    are. Raises MalformedJsonError.
    """
    splitter = _TableSplitter(tables)
    while not splitter.has_ended:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            raise MalformedJsonError(_("the end is missing"))
        yield from splitter.feed(chunk)


class _TableSplitter:
    """Finds the objects in an object of arrays that arrives in chunks."""

    def __init__(self, tables: Collection[str] | None) -> None:
        self.has_ended = False
        self._tables = None if tables is None else set(tables)
        self._table: str | None = None
        """Name of the array, if its objects are wanted."""
        self._name = b""
        """The last string outside of arrays, which names what follows."""
        self._buffer = b""
        self._depth = 0
        self._start = 0
        """Beginning of the object in the buffer, or of what has not been looked at."""
        self._place = 0
        """How far the buffer has been looked at."""

    def feed(self, chunk: bytes) -> Iterator[tuple[str, bytes]]:
        self._buffer = self._buffer[self._start :] + chunk
        self._place -= self._start
        self._start = 0
        for token in _ROW_TOKEN.finditer(self._buffer, self._place):
            sign = token[0]
            if sign == b'"':
                break
            self._place = token.end()
            row = self._taken(token.start(), sign)
            if row is not None and self._table is not None:
                yield self._table, row
            if self.has_ended:
                return
            if self._depth < _IN_ROW or self._table is None:
                self._start = self._place
        if len(self._buffer) - self._start > MAX_OBJECT_BYTES:
            raise MalformedJsonError(_("an object is too large"))

    def _taken(self, place: int, sign: bytes) -> bytes | None:
        """Take one token; return the object that ends with it, if it is one of an array."""
        if sign[0] == _QUOTE:
            self._name = sign[1:-1] if self._depth == 1 else self._name
        elif len(sign) > 1 and self._depth:
            return sign if self._depth == _IN_TABLE else None
        elif sign[0] in _OPENING:
            self._open(place, sign)
        if sign[-1] in _CLOSING:
            self._depth -= 1
            if self._depth == _IN_TABLE and self._start < place:
                return self._buffer[self._start : self._place]
            if self._depth == 1 and self._tables is not None:
                self._tables.discard(self._table or "")
            self.has_ended = self._depth <= 0 or self._tables == set()
        return None

    def _open(self, place: int, sign: bytes) -> None:
        if self._depth == 0 and sign[:1] != b"{":
            raise MalformedJsonError(_("not an object"))
        self._depth += 1
        if self._depth == _IN_TABLE:
            name = self._name.decode(errors="replace") if sign == b"[" else ""
            self._table = name if self._tables is None or name in self._tables else None
        elif self._depth == _IN_ROW:
            self._start = place
