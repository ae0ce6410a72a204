"""Serialize responses."""

from collections.abc import Iterable
from typing import Final

from server.api.envelopes import REASONS

CLOSE: Final = "Connection: close"
KEEP: Final = "Connection: keep-alive"
CHUNKED: Final = "Transfer-Encoding: chunked"
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
CHUNKS_END: Final = b"0\r\n\r\n"


def head(status: int, headers: Iterable[tuple[str, str]], *more: str) -> bytes:
    """The head of a response; `more` are complete lines. Raises ValueError for a line break."""
    lines = [f"{name}: {value}" for name, value in headers]
    text = "\r\n".join([f"HTTP/1.1 {status} {REASONS[status]}", *lines, *more])
    if text.count("\n") != len(lines) + len(more):
        raise ValueError("a header holds a line break")
    return text.encode("latin-1") + b"\r\n\r\n"


def as_chunk(data: bytes) -> bytes:
    """A chunk of a body with chunked encoding."""
    return b"%x\r\n%b\r\n" % (len(data), data)
