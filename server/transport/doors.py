"""Where connections come in: the sockets that a server listens on, and more of them for a crowd."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

CROWD: Final = 100
"""Connections of one second that are more than come by themselves."""
MORE: Final = 63
"""Doors that are opened beside each for a crowd."""
LOOK_SECONDS: Final = 1.0

Listen = Callable[[socket.socket], Awaitable[asyncio.Server]]


class Doors:
    """Opens each socket, and some of them again and again while many come.

    Once round, the loop takes one connection from each socket that it listens on. Of thousands that
    come back in one second most would find the backlog full, and try again seconds later. A copy of
    a socket is looked at as one of its own; when nobody comes in a crowd, it would only be another
    that each connection wakes in vain.
    """

    def __init__(self, listen: Listen) -> None:
        self._listen = listen
        self._sockets: list[socket.socket] = []
        self._doors: list[asyncio.Server] = []
        self._more: list[asyncio.Server] = []
        self._came = 0
        """Connections since the last look."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_crowded = False
        self._opening: asyncio.Task[None] | None = None

    async def open(self, sockets: Sequence[socket.socket]) -> None:
        """Listen on these."""
        for each in sockets:
            self._doors.append(await self._listen(each))
        self._sockets = list(sockets)

    def close(self) -> None:
        """Nobody comes in any more."""
        self._sockets = []
        for each in self._doors:
            each.close()
        self._doors.clear()
        self._close_more()
        if self._timer is not None:
            self._timer.cancel()

    def came(self) -> None:
        """Somebody has come in."""
        self._came += 1
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)
        if self._came == CROWD and not self._is_crowded:
            self._is_crowded = True
            self._opening = asyncio.ensure_future(self._open_more())

    async def _open_more(self) -> None:
        for each in [each for each in self._sockets for _ in range(MORE)]:
            if not self._is_crowded:
                break
            self._more.append(await self._listen(each.dup()))
        if not self._is_crowded:
            self._close_more()

    def _look(self) -> None:
        came, self._came = self._came, 0
        if came < CROWD:
            self._close_more()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(LOOK_SECONDS, self._look) if came else None

    def _close_more(self) -> None:
        self._is_crowded = False
        for each in self._more:
            each.close()
        self._more.clear()
