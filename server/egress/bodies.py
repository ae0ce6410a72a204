"""Read the body of a response up to a limit, before and after decompression."""

import zlib
from collections.abc import AsyncIterator, Callable
from typing import Final

from server.egress.errors import HostUnreachableError, ResponseTooLargeError

_GZIP: Final = frozenset({"gzip", "x-gzip"})
_PLAIN: Final = frozenset({"", "identity"})
_WITH_ITS_HEADER: Final = zlib.MAX_WBITS | 16

Unpack = Callable[[bytes, int], bytes]
"""Decompress the next chunk, up to the given size."""


async def read_body(
    pieces: AsyncIterator[bytes], *, encoding: str, max_bytes: int, may_cut: bool
) -> bytes:
    """Return the whole body, or with `may_cut` its beginning.

    Raises ResponseTooLargeError, and HostUnreachableError if it cannot be decompressed.
    """
    unpack = _unpacker(encoding.strip().lower())
    body = bytearray()
    arrived = 0
    async for piece in pieces:
        arrived += len(piece)
        body += unpack(piece, max_bytes - len(body) + 1)
        if max(len(body), arrived) > max_bytes:
            if not may_cut:
                raise ResponseTooLargeError(f"The answer is larger than {max_bytes} bytes.")
            break
    return bytes(body[:max_bytes])


async def bounded(pieces: AsyncIterator[bytes], max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the pieces. Raises ResponseTooLargeError."""
    left = max_bytes
    async for piece in pieces:
        left -= len(piece)
        if left < 0:
            raise ResponseTooLargeError(f"The answer is larger than {max_bytes} bytes.")
        yield piece


def _unpacker(encoding: str) -> Unpack:
    if encoding in _PLAIN:
        return lambda piece, room: piece[:room]
    if encoding not in _GZIP:
        raise HostUnreachableError("The response has an encoding that was not requested.")
    stream = zlib.decompressobj(wbits=_WITH_ITS_HEADER)

    def unpack(piece: bytes, room: int) -> bytes:
        try:
            return stream.decompress(piece, room)
        except zlib.error as error:
            raise HostUnreachableError("The answer cannot be unpacked.") from error

    return unpack
