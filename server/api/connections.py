"""Tornado's HTTP server, which here answers also where it would close without a word."""

import asyncio
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from tornado.concurrent import Future
from tornado.httpserver import HTTPServer
from tornado.iostream import IOStream, UnsatisfiableReadError
from typing_extensions import override

from server.api.envelopes import REASONS, error_body
from server.domain.errors import BadRequestError, DomainError

LINGER_SECONDS: Final = 2.0
LINGER_BYTES: Final = 16 * 1024 * 1024
MAX_LINGERING: Final = 100
"""Connections whose rest is read although it counts for nothing."""

_BARE_REFUSAL: Final = b"HTTP/1.1 400 Bad Request\r\n\r\n"
"""What Tornado writes before it closes on a message that is no HTTP."""


class HeadTooLargeError(DomainError):
    status = 431


class ApiStream(IOStream):
    """A connection. What ends it early is told in the envelope of all errors."""

    lingers = False
    """Once it closes, read on for a moment: a reset would take the answer from the client."""
    lingering: set[asyncio.Task[None]]
    """The server's connections that do so."""
    _is_in_head = False

    @override
    def read_until_regex(self, regex: bytes, max_bytes: int | None = None) -> Any:
        self._is_in_head = True
        return super().read_until_regex(regex, max_bytes)

    @override
    def read_bytes(self, num_bytes: int, partial: bool = False) -> Any:
        self._is_in_head = False
        return super().read_bytes(num_bytes, partial)

    @override
    def read_until(self, delimiter: bytes, max_bytes: int | None = None) -> Any:
        self._is_in_head = False
        return super().read_until(delimiter, max_bytes)

    @override
    def write(self, data: bytes | memoryview) -> "Future[None]":
        if data == _BARE_REFUSAL:
            self.lingers = True
            data = closing_answer(BadRequestError("Malformed HTTP request"))
        return super().write(data)

    @override
    def close(self, exc_info: Any = False) -> None:
        if not self.closed():
            if isinstance(exc_info, UnsatisfiableReadError):
                self._tell(
                    HeadTooLargeError("The request's headers are too large.")
                    if self._is_in_head
                    else BadRequestError("Malformed HTTP request")
                )
            if self.lingers and len(self.lingering) < MAX_LINGERING:
                self._linger()
        super().close(exc_info)

    def _tell(self, error: DomainError) -> None:
        self.lingers = True
        with suppress(OSError):
            self.socket.send(closing_answer(error))

    def _linger(self) -> None:
        with suppress(OSError):
            rest = socket.socket(fileno=os.dup(self.socket.fileno()))
            rest.setblocking(False)
            task = asyncio.get_running_loop().create_task(_read_off(rest))
            self.lingering.add(task)
            task.add_done_callback(self.lingering.discard)


class ApiHTTPServer(HTTPServer):
    """An HTTP server on such connections."""

    @override
    def initialize(self, *args: Any, **kwargs: Any) -> None:
        super().initialize(*args, **kwargs)
        self._lingering: set[asyncio.Task[None]] = set()

    @override
    def handle_stream(self, stream: IOStream, address: Any) -> None:
        mine = ApiStream(
            stream.socket,
            max_buffer_size=self.max_buffer_size,
            read_chunk_size=self.read_chunk_size,
        )
        mine.lingering = self._lingering
        super().handle_stream(mine, address)


async def _read_off(rest: socket.socket) -> None:
    """Say that nothing more comes, and read until the peer has heard it."""
    loop = asyncio.get_running_loop()
    size = 0
    with rest, suppress(OSError, TimeoutError):
        rest.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(LINGER_SECONDS):
            while size < LINGER_BYTES and (data := await loop.sock_recv(rest, 64 * 1024)):
                size += len(data)


def closing_answer(error: DomainError) -> bytes:
    """A whole response, after which the connection closes."""
    body = error_body(error)
    headers: Mapping[str, str] = {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\n{head}\r\n".encode() + body
