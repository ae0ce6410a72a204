"""A loopback proxy that cuts connections after a given number of bytes."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from typing_extensions import override


class _End(asyncio.Protocol):
    """One of the two ends of a connection through the proxy."""

    def __init__(self, link: "_Link") -> None:
        self.link = link
        self.transport: asyncio.Transport | None = None
        self.allowance: int | None = None
        """How many bytes from here are still passed on before the cut; None: all."""

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.link.proxy.transports.add(self.transport)
        self.link.connected(self)

    @override
    def data_received(self, data: bytes) -> None:
        self.link.pass_on(self, data)

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        assert self.transport is not None
        self.link.proxy.transports.discard(self.transport)
        self.link.lost(self)


class _Link:
    """A connection through the proxy."""

    def __init__(self, proxy: "CuttingProxy") -> None:
        self.proxy = proxy
        self.near = _End(self)
        self.far = _End(self)
        self._waiting: list[bytes] = []
        self._ended = False
        self.is_to_be_stranded = False

    def connected(self, end: _End) -> None:
        if end is self.near:
            self.proxy.links.add(self)
            self.proxy.connect(self)
        elif self._ended:
            self.abort()
        else:
            waiting, self._waiting = self._waiting, []
            for data in waiting:
                self.pass_on(self.near, data)

    def pass_on(self, source: _End, data: bytes) -> None:
        if self._ended:
            return
        target = self.far if source is self.near else self.near
        if self.is_to_be_stranded and source is self.near:
            self._strand(data)
            return
        if target.transport is None:
            self._waiting.append(data)
            return
        if source.allowance is not None and len(data) > source.allowance:
            target.transport.write(data[: source.allowance])
            self.cut(target)
            return
        if source.allowance is not None:
            source.allowance -= len(data)
        target.transport.write(data)

    def cut(self, last: _End) -> None:
        """End both sides; `last` still gets what has been written to it."""
        self._ended = True
        self.proxy.cuts += 1
        self.proxy.links.discard(self)
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.close() if end is last else end.transport.abort()

    def _strand(self, data: bytes) -> None:
        """End the near side, and keep what it has just asked for a while."""
        self._ended = True
        self.proxy.links.discard(self)
        if self.near.transport is not None:
            self.near.transport.abort()
        self.proxy.stranded.append((self, data))

    def deliver(self, data: bytes) -> None:
        """Send the request now, though its client no longer waits for the response."""
        if self.far.transport is not None and not self.far.transport.is_closing():
            self.far.transport.write(data)
            self.far.transport.close()

    def lost(self, end: _End) -> None:
        """One side has gone: so does the other, after what was written to it."""
        if end is self.near and self.is_to_be_stranded:
            return
        self._ended = True
        self.proxy.links.discard(self)
        for each in (self.near, self.far):
            if each.transport is not None:
                each.transport.close()

    def abort(self) -> None:
        self._ended = True
        self.proxy.links.discard(self)
        for end in (self.near, self.far):
            if end.transport is not None:
                end.transport.abort()


class CuttingProxy:
    """Passes bytes to a port of this machine, and cuts when told to."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = 0
        self.links: set[_Link] = set()
        self.transports: set[asyncio.Transport] = set()
        """All that are not closed yet: some still have to write to a peer that does not read."""
        self.cuts = 0
        self.stranded: list[tuple[_Link, bytes]] = []
        """Requests on connections that have ended, still on their way."""
        self._server: asyncio.Server | None = None
        self._connecting: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Link(self).near, "127.0.0.1", 0, backlog=2048
        )
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        self.deliver_stranded()
        for link in list(self.links):
            link.abort()
        await asyncio.gather(*self._connecting, return_exceptions=True)
        for transport in list(self.transports):
            transport.abort()
        await asyncio.sleep(0)  # they are closed in the next iteration of the loop

    def connect(self, link: _Link) -> None:
        task = asyncio.get_running_loop().create_task(self._connect(link))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    def cut_soon(self, rng: random.Random, *, share: float, bytes_ahead: int) -> int:
        """Let a share of the connections end within so many bytes of what comes back.

        Some end within what is asked instead. How many were chosen.
        """
        chosen = [link for link in self.links if rng.random() < share]
        for link in chosen:
            end = link.near if rng.random() < 0.2 else link.far
            end.allowance = rng.randrange(bytes_ahead)
        return len(chosen)

    def strand_soon(self, rng: random.Random, *, share: float) -> None:
        """Let a share of the connections end at the next request, which arrives later."""
        for link in self.links:
            link.is_to_be_stranded = rng.random() < share

    def deliver_stranded(self) -> None:
        """Let arrive what is still on its way."""
        stranded, self.stranded = self.stranded, []
        for link, data in stranded:
            link.deliver(data)

    def forgive(self) -> None:
        """Cut no more of those that have been chosen."""
        for link in self.links:
            link.near.allowance = link.far.allowance = None
            link.is_to_be_stranded = False

    async def _connect(self, link: _Link) -> None:
        loop = asyncio.get_running_loop()
        try:
            await loop.create_connection(lambda: link.far, "127.0.0.1", self.target_port)
        except OSError:
            link.abort()


@asynccontextmanager
async def proxy_to(port: int) -> AsyncIterator[CuttingProxy]:
    """A proxy to the port for as long as the block runs."""
    proxy = CuttingProxy(port)
    await proxy.open()
    try:
        yield proxy
    finally:
        await proxy.close()
