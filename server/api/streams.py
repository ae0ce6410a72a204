"""Streamed responses over HTTP."""

from collections.abc import Mapping

from typing_extensions import override

from server.api.endpoint import Stream
from server.api.response_writer import ResponseWriter


class ChunkedStream(Stream):
    """A response in chunks, unless its headers have a length."""

    def __init__(self, writer: ResponseWriter, headers: Mapping[str, str]) -> None:
        """Create it; `headers` are sent with every response."""
        self._writer = writer
        self._headers = headers

    @override
    async def start(self, headers: Mapping[str, str], status: int = 200) -> None:
        await self._writer.start(status, {**self._headers, **headers})

    @override
    async def send(self, chunk: bytes) -> None:
        await self._writer.send(chunk)

    @override
    def close(self) -> None:
        self._writer.finish()
