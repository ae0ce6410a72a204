"""Listening sockets of a server, with additional acceptors while many clients connect at once."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

BURST_CONNECTIONS: Final = 100
"""Connections within CHECK_SECONDS from which on additional acceptors are opened."""
EXTRA_ACCEPTORS: Final = 63
"""Acceptors that are opened in addition to each socket's own during a burst."""
CHECK_SECONDS: Final = 1.0
LAST_ACCEPT_SECONDS: Final = 0.02
"""Between closing the listeners and the last accept: the loop releases sockets a few iterations
later."""
MAX_LAST_ACCEPTED: Final = 1_000
YIELD_SECONDS: Final = 0.005
"""For how long a new connection is left to the processes that have fewer."""
MAX_TAKEN: Final = 64
"""Connections that are taken at once after that."""

Listen = Callable[[socket.socket], Awaitable[asyncio.Server]]
Adopt = Callable[[socket.socket], None]
"""Serve a connection that was accepted outside the event loop."""


class AcceptorPool:
    """Accept connections on each socket, through many duplicates of it during a burst.

    In one iteration the event loop accepts one connection per listening socket. When thousands of
    clients reconnect within one second, most find the backlog full and retry seconds later. A
    duplicate of a socket counts as a socket of its own. Outside of bursts duplicates are closed:
    each would be woken in vain by every connection.

    Of several processes that accept on one socket, the kernel wakes one again and again, and that
    one gets most connections. So a process with more than another one yields: it takes a new
    connection only if no other process has done so for a few milliseconds.
    """

    def __init__(
        self,
        listen: Listen,
        adopt: Adopt,
        *,
        has_room: Callable[[], bool] = lambda: True,
        is_ahead: Callable[[], bool] = lambda: False,
    ) -> None:
        self._listen = listen
        self._adopt = adopt
        self._has_room = has_room
        """Whether paused acceptors may be opened again."""
        self._is_ahead = is_ahead
        """Whether this process has more connections than another one."""
        self._sockets: list[socket.socket] = []
        self._closing: list[socket.socket] = []
        self._acceptors: list[asyncio.Server] = []
        self._extra: list[asyncio.Server] = []
        self._accepted = 0
        """Connections since the last check."""
        self._timer: asyncio.TimerHandle | None = None
        self._is_burst = False
        self._is_paused = False
        self._is_yielding = False
        """Whether connections are taken without acceptors, and late."""
        self._taking: asyncio.TimerHandle | None = None
        self._opening: asyncio.Task[None] | None = None

    async def open(self, sockets: Sequence[socket.socket]) -> None:
        """Listen on these sockets."""
        self._sockets = list(sockets)
        for each in self._sockets:
            each.setblocking(False)
        await self._open_acceptors()

    def close(self) -> None:
        """Accept what is in the backlog, then no further connection.

        Closing a socket resets the connections in its backlog, and their clients may have sent a
        request already: a proxy does not repeat one that is not idempotent.
        """
        self._stop_yielding()
        self._closing, self._sockets = [*self._closing, *self._sockets], []
        self._close_all()
        if self._timer is not None:
            self._timer.cancel()
        asyncio.get_running_loop().call_later(LAST_ACCEPT_SECONDS, self.finish)

    def finish(self) -> None:
        """Close the sockets that `close` has kept open for their backlog."""
        closing, self._closing = self._closing, []
        for each in closing:
            with each:
                self._take_from(each, MAX_LAST_ACCEPTED)

    def pause(self) -> None:
        """Accept no connection until there is room; clients wait in the backlog."""
        if not self._is_paused:
            self._is_paused = True
            self._stop_yielding()
            # An acceptor may be in the middle of accepting a connection.
            asyncio.get_running_loop().call_soon(self._close_all)
            self._schedule_check()

    def connection_accepted(self) -> None:
        """Count a connection; the first ones of a burst open the additional acceptors."""
        self._accepted += 1
        self._schedule_check()
        if self._is_yielding or self._is_burst:
            return
        if self._accepted >= BURST_CONNECTIONS:
            self._is_burst = True
            self._opening = asyncio.ensure_future(self._open_extra())
        elif self._is_ahead():
            self._yield()

    def _yield(self) -> None:
        if self._is_paused or not self._sockets:
            return
        self._is_yielding = True
        # An acceptor may be in the middle of accepting a connection.
        asyncio.get_running_loop().call_soon(self._watch_instead)

    def _watch_instead(self) -> None:
        if self._is_yielding:
            self._close_all()
            self._watch()

    def _watch(self) -> None:
        """Wait for a connection, without accepting it."""
        for each in self._sockets:
            asyncio.get_running_loop().add_reader(each, self._arrived)

    def _arrived(self) -> None:
        if not self._is_yielding or self._taking is not None:
            return  # at another socket, in the same iteration
        self._stop_watching()
        if self._is_ahead():
            loop = asyncio.get_running_loop()
            self._taking = loop.call_later(YIELD_SECONDS, self._take_what_is_left)
        else:
            self._is_yielding = False
            self._opening = asyncio.ensure_future(self._open_acceptors())

    def _take_what_is_left(self) -> None:
        self._taking = None
        for each in self._sockets:
            self._take_from(each, MAX_TAKEN)
        if self._is_yielding:  # not paused or closed meanwhile
            self._watch()

    def _take_from(self, listening: socket.socket, most: int) -> None:
        with suppress(OSError):
            for _ in range(most):
                accepted, _peer = listening.accept()
                self._adopt(accepted)

    def _stop_watching(self) -> None:
        for each in self._sockets:
            asyncio.get_running_loop().remove_reader(each)

    def _stop_yielding(self) -> None:
        if not self._is_yielding:
            return
        self._is_yielding = False
        self._stop_watching()
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    async def _open_acceptors(self) -> None:
        """Listen on a duplicate of each socket, since a closed acceptor closes its socket."""
        for each in self._sockets:
            acceptor = await self._listen(each.dup())
            if self._is_paused or self._is_yielding or not self._sockets:
                acceptor.close()  # decided while it was being opened
                break
            self._acceptors.append(acceptor)

    async def _open_extra(self) -> None:
        for each in [each for each in self._sockets for _ in range(EXTRA_ACCEPTORS)]:
            if not self._is_burst:
                break
            self._extra.append(await self._listen(each.dup()))
        if not self._is_burst:
            self._close_extra()

    def _check(self) -> None:
        accepted, self._accepted = self._accepted, 0
        self._timer = None
        if accepted < BURST_CONNECTIONS:
            self._close_extra()
        if self._is_paused and self._has_room():
            self._is_paused = False
            self._opening = asyncio.ensure_future(self._open_acceptors())
        if accepted or self._is_paused:
            self._schedule_check()

    def _schedule_check(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(CHECK_SECONDS, self._check)

    def _close_all(self) -> None:
        for each in self._acceptors:
            each.close()
        self._acceptors.clear()
        self._close_extra()

    def _close_extra(self) -> None:
        self._is_burst = False
        for each in self._extra:
            each.close()
        self._extra.clear()
