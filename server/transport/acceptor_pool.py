"""Where connections come in: the sockets that a server listens on, and more of them for a crowd."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

CROWD: Final = 100
"""Connections of one second that are more than come by themselves."""
MORE: Final = 63
"""Acceptors that are opened beside each for a crowd."""
LOOK_SECONDS: Final = 1.0
LAST_ACCEPT_SECONDS: Final = 0.02
"""After the listeners are closed: the loop needs a few rounds to let go of their sockets."""
MAX_LAST_ACCEPTED: Final = 1_000

Listen = Callable[[socket.socket], Awaitable[asyncio.Server]]
Adopt = Callable[[socket.socket], None]
"""Serves a connection that was accepted elsewhere than by the loop."""


class AcceptorPool:
    """Opens each socket, and some of them again and again while many come.

    Once round, the loop takes one connection from each socket that it listens on. Of thousands that
    come back in one second most would find the backlog full, and try again seconds later. A copy of
    a socket is looked at as one of its own; when nobody comes in a crowd, it would only be another
    that each connection wakes in vain.
    """

    def __init__(
        self, listen: Listen, adopt: Adopt, has_room: Callable[[], bool] = lambda: True
    ) -> None:
        self._listen = listen
        self._adopt = adopt
        self._has_room = has_room
        """Whether doors that were shut may be opened again."""
        self._sockets: list[socket.socket] = []
        self._closing: list[socket.socket] = []
        self._doors: list[asyncio.Server] = []
        self._more: list[asyncio.Server] = []
        self._came = 0
        """Connections since the last look."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_crowded = False
        self._is_shut = False
        self._opening: asyncio.Task[None] | None = None

    async def open(self, sockets: Sequence[socket.socket]) -> None:
        """Listen on these."""
        self._sockets = list(sockets)
        await self._open_each()

    def close(self) -> None:
        """Accept what is in the backlog, and then no connection any more.

        Closing a socket resets the connections in its backlog, whose clients may have sent a
        request by then: a proxy that has repeats none that is not idempotent.
        """
        self._closing, self._sockets = [*self._closing, *self._sockets], []
        self._close_all()
        if self._timer is not None:
            self._timer.cancel()
        asyncio.get_running_loop().call_later(LAST_ACCEPT_SECONDS, self.finish)

    def finish(self) -> None:
        """Close what `close` has left open for its backlog."""
        closing, self._closing = self._closing, []
        for each in closing:
            with each, suppress(OSError):
                each.setblocking(False)
                for _ in range(MAX_LAST_ACCEPTED):
                    accepted, _peer = each.accept()
                    self._adopt(accepted)

    def shut(self) -> None:
        """Let nobody in for now: whoever comes waits outside until there is room."""
        if not self._is_shut:
            self._is_shut = True
            # Somebody may be coming in by one of them just now.
            asyncio.get_running_loop().call_soon(self._close_all)
            self._look_soon()

    def came(self) -> None:
        """Somebody has come in."""
        self._came += 1
        self._look_soon()
        if self._came == CROWD and not self._is_crowded:
            self._is_crowded = True
            self._opening = asyncio.ensure_future(self._open_more())

    async def _open_each(self) -> None:
        """A copy of each socket: doors that are shut take theirs with them."""
        for each in self._sockets:
            door = await self._listen(each.dup())
            if self._is_shut or not self._sockets:
                door.close()  # that was decided while it was being opened
                break
            self._doors.append(door)

    async def _open_more(self) -> None:
        for each in [each for each in self._sockets for _ in range(MORE)]:
            if not self._is_crowded:
                break
            self._more.append(await self._listen(each.dup()))
        if not self._is_crowded:
            self._close_more()

    def _look(self) -> None:
        came, self._came = self._came, 0
        self._timer = None
        if came < CROWD:
            self._close_more()
        if self._is_shut and self._has_room():
            self._is_shut = False
            self._opening = asyncio.ensure_future(self._open_each())
        if came or self._is_shut:
            self._look_soon()

    def _look_soon(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._look)

    def _close_all(self) -> None:
        for each in self._doors:
            each.close()
        self._doors.clear()
        self._close_more()

    def _close_more(self) -> None:
        self._is_crowded = False
        for each in self._more:
            each.close()
        self._more.clear()
