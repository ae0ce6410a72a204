"""Read the objects of large JSON arrays one by one."""

import re
from collections.abc import Iterator
from typing import IO, Final

CHUNK_BYTES: Final = 256 * 1024
MAX_OBJECT_BYTES: Final = 4 * 1024 * 1024
"""Maximum size of one object; a larger one is an error."""

_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]|"', re.DOTALL)
"""A string, a bracket, or the beginning of a string that continues in the next chunk."""
_OPENING: Final = frozenset(b"{[")
_CLOSING: Final = frozenset(b"}]")
_OF_OBJECTS: Final = 2
"""Depth within an object of the array."""


class MalformedJsonError(ValueError):
    """It is no array of objects, or one of its objects is too large."""


def objects_in(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the text of each object in an array, with no more than one of them in memory.

    The objects themselves are not validated. Raises MalformedJsonError.
    """
    splitter = _Splitter()
    while not splitter.has_ended:
        chunk = file.read(CHUNK_BYTES)
        if not chunk:
            raise MalformedJsonError("the end is missing")
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
            raise MalformedJsonError("an object is too large")

    def _open(self, place: int) -> None:
        self._depth += 1
        if self._depth == 1 and self._buffer[place : place + 1] != b"[":
            raise MalformedJsonError("not an array")
        if self._depth == _OF_OBJECTS:
            self._start = place
