"""An answer that is sent piece by piece, over HTTP."""

from collections.abc import Mapping

from typing_extensions import override

from server.api.endpoint import Stream
from server.api.wire import Wire


class ChunkedStream(Stream):
    """An answer in chunks, unless its headers say how long it is."""

    def __init__(self, wire: Wire, headers: Mapping[str, str]) -> None:
        """`headers` go with every answer, whatever it is."""
        self._wire = wire
        self._headers = headers

    @override
    async def start(self, headers: Mapping[str, str], status: int = 200) -> None:
        await self._wire.start(status, {**self._headers, **headers})

    @override
    async def send(self, chunk: bytes) -> None:
        await self._wire.send(chunk)

    @override
    def close(self) -> None:
        self._wire.finish()
