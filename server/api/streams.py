"""An answer that is sent piece by piece, over HTTP."""

from collections.abc import Mapping
from typing import Any

from tornado.httputil import HTTPConnection, HTTPHeaders, ResponseStartLine
from tornado.iostream import StreamClosedError
from typing_extensions import override

from server.api.endpoint import Stream
from server.api.envelopes import REASONS


class ChunkedStream(Stream):
    """An answer in chunks, unless its headers say how long it is."""

    def __init__(self, connection: HTTPConnection) -> None:
        self._connection = connection

    @override
    async def start(self, headers: Mapping[str, str], status: int = 200) -> None:
        start_line = ResponseStartLine("HTTP/1.1", status, REASONS[status])
        await self._sent(self._connection.write_headers(start_line, HTTPHeaders(dict(headers))))

    @override
    async def send(self, chunk: bytes) -> None:
        await self._sent(self._connection.write(chunk))

    @override
    def close(self) -> None:
        self._connection.finish()

    async def _sent(self, written: Any) -> None:
        try:
            await written
        except StreamClosedError as error:
            raise ConnectionError from error
