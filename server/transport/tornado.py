"""Tornado's HTTP server, with error responses also where Tornado closes without one."""

import asyncio
import os
import socket
import ssl
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from tornado.concurrent import Future
from tornado.http1connection import HTTP1Connection
from tornado.httpserver import HTTPServer
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import IOStream, SSLIOStream, StreamClosedError, UnsatisfiableReadError
from typing_extensions import override

from server.api.envelopes import REASONS, error_body
from server.api.response_writer import (
    ClientGoneError,
    ExchangeFactory,
    HttpExchange,
    Repeatable,
    Responder,
)
from server.domain.errors import DomainError
from server.runtime.connection_counts import ConnectionShare
from server.transport.limits import BODY_SECONDS, IDLE_SECONDS, MAX_HEAD_BYTES, TransportServer
from server.transport.refusals import (
    LINGER_BYTES,
    LINGER_SECONDS,
    MAX_LINGERING,
    HeadTooLargeError,
    MalformedRequestError,
    closing_answer,
    closing_headers,
)
from server.transport.targets import place

_BARE_REFUSAL: Final = b"HTTP/1.1 400 Bad Request\r\n\r\n"
"""What Tornado writes before it closes on malformed input."""


class _Stream(IOStream):
    """A connection. Protocol errors are answered in the API's error format."""

    lingers = False
    """Read on for a moment after closing: a reset would discard the response at the client."""
    lingering: set[asyncio.Task[None]]
    """The server's lingering connections."""
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
            data = closing_answer(MalformedRequestError())
        return super().write(data)

    @override
    def close(self, exc_info: Any = False) -> None:
        if not self.closed():
            if isinstance(exc_info, UnsatisfiableReadError):
                self._send_error(
                    HeadTooLargeError() if self._is_in_head else MalformedRequestError()
                )
            if self.lingers and len(self.lingering) < MAX_LINGERING:
                self._linger()
        super().close(exc_info)

    def _send_error(self, error: DomainError) -> None:
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


class _TornadoWriter:
    """The ResponseWriter of a connection of Tornado."""

    __slots__ = ("_connection",)

    def __init__(self, connection: HTTPConnection) -> None:
        assert isinstance(connection, HTTP1Connection)
        self._connection = connection

    @property
    def remote_ip(self) -> str:
        return getattr(self._connection.context, "remote_ip", None) or ""

    def respond(
        self, status: int, headers: Iterable[tuple[str, str]], body: bytes, *, is_last: bool
    ) -> None:
        lines = HTTPHeaders()
        for name, value in headers:
            lines.add(name, value)
        if is_last:
            lines["Connection"] = "close"
        with suppress(StreamClosedError):
            written = self._connection.write_headers(_start_line(status), lines, body)
            self._connection.finish()
            if is_last:
                written.add_done_callback(lambda _: self._connection.close())

    def refuse(self, error: DomainError) -> None:
        """Answer malformed input with an error, and close."""
        self.linger()
        body = error_body(error)
        self.respond(error.status, closing_headers(body).items(), body, is_last=True)

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        lines = HTTPHeaders(dict(headers))
        await _sent(self._connection.write_headers(_start_line(status), lines))

    async def send(self, chunk: bytes) -> None:
        await _sent(self._connection.write(chunk))

    def finish(self) -> None:
        self._connection.finish()

    def close(self) -> None:
        self._connection.close()

    def linger(self) -> None:
        if isinstance(self._connection.stream, _Stream):
            self._connection.stream.lingers = True

    def set_body_timeout(self, seconds: float) -> None:
        self._connection.set_body_timeout(seconds)

    def may_repeat(self, request: Repeatable) -> None:
        """Every request is read: Tornado does not pass on how it was written."""

    def hand_over(self, responder: Responder) -> None:
        self._connection.set_close_callback(responder.on_connection_close)


class _Messages(HTTPMessageDelegate):
    """Forward Tornado's callbacks for a request with a valid head to an exchange."""

    def __init__(self, writer: _TornadoWriter, begin: ExchangeFactory) -> None:
        self._writer = writer
        self._begin = begin
        self._exchange: HttpExchange | None = None

    @override
    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        assert isinstance(start_line, RequestStartLine)
        if start_line.version == "HTTP/1.0":
            headers.pop("Expect", None)  # not part of HTTP/1.0; Tornado acts on it
        elif "Expect" in headers:
            headers["Expect"] = headers["Expect"].lower()
        hosts = headers.get_list("Host")
        try:
            target, host = place(start_line.path, hosts, is_old=start_line.version == "HTTP/1.0")
        except MalformedRequestError as error:
            self._writer.refuse(error)
            return
        if host is not None:
            headers["Host"] = host
        self._exchange = self._begin(self._writer)
        self._exchange.headers_received(start_line.method, target, headers)

    @override
    def data_received(self, chunk: bytes) -> "Future[None] | None":
        return None if self._exchange is None else self._exchange.data_received(chunk)

    @override
    def finish(self) -> None:
        if self._exchange is not None:
            self._exchange.finish()

    @override
    def on_connection_close(self) -> None:
        if self._exchange is not None:
            self._exchange.on_connection_close()


class _Exchanges(HTTPServerConnectionDelegate):
    def __init__(self, begin: ExchangeFactory) -> None:
        self._begin = begin

    @override
    def start_request(
        self, server_conn: object, request_conn: HTTPConnection
    ) -> HTTPMessageDelegate:
        return _Messages(_TornadoWriter(request_conn), self._begin)


class _Server(HTTPServer):
    """An HTTP server whose connections are `_Stream`."""

    @override
    def initialize(self, *args: Any, **kwargs: Any) -> None:
        super().initialize(*args, **kwargs)
        self._lingering: set[asyncio.Task[None]] = set()

    @override
    def handle_stream(self, stream: IOStream, address: Any) -> None:
        if isinstance(stream, SSLIOStream):
            # Its handshake has begun, so it cannot be replaced: Tornado reports protocol errors.
            super().handle_stream(stream, address)
            return
        mine = _Stream(
            stream.socket,
            max_buffer_size=self.max_buffer_size,
            read_chunk_size=self.read_chunk_size,
        )
        mine.lingering = self._lingering
        super().handle_stream(mine, address)


class TornadoServer(TransportServer):
    """Serve HTTP/1.1 with Tornado."""

    def __init__(self, begin: ExchangeFactory) -> None:
        self._http = _Server(
            _Exchanges(begin),
            max_header_size=MAX_HEAD_BYTES,
            max_body_size=sys.maxsize,
            idle_connection_timeout=IDLE_SECONDS,
            body_timeout=BODY_SECONDS,
        )

    @override
    async def start(
        self,
        sockets: Sequence[socket.socket],
        tls: ssl.SSLContext | None = None,
        share: ConnectionShare | None = None,
    ) -> None:
        self._http.ssl_options = tls
        self._http.add_sockets(sockets)

    @override
    def stop(self) -> None:
        self._http.stop()

    @override
    async def close(self) -> None:
        await self._http.close_all_connections()


async def _read_off(rest: socket.socket) -> None:
    """Half-close, and read until the peer closes."""
    loop = asyncio.get_running_loop()
    size = 0
    with rest, suppress(OSError, TimeoutError):
        rest.shutdown(socket.SHUT_WR)
        async with asyncio.timeout(LINGER_SECONDS):
            while size < LINGER_BYTES and (data := await loop.sock_recv(rest, 64 * 1024)):
                size += len(data)


def _start_line(status: int) -> ResponseStartLine:
    return ResponseStartLine("HTTP/1.1", status, REASONS[status])


async def _sent(written: "Future[None]") -> None:
    try:
        await written
    except StreamClosedError as error:
        raise ClientGoneError from error
