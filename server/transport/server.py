"""A server of our own: a fraction of the time and memory that Tornado's takes for a poll."""

import asyncio
import resource
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from server.api.wire import Exchange, ExchangeFactory, Wire
from server.runtime.scheduler import CooperativeScheduler
from server.runtime.sockets import BACKLOG
from server.runtime.timer_wheel import TimerWheel
from server.transport.acceptor_pool import AcceptorPool
from server.transport.connection import Connection
from server.transport.keeper import Keeper
from server.transport.limits import HANDSHAKE_SECONDS, TransportServer
from server.transport.read_throttle import ReadThrottle
from server.transport.refusals import MAX_LINGERING, TooManyConnectionsError, closing_answer

KEPT_FREE: Final = 200
"""Files that the process may open beside its connections: the database, the broker, uploads."""


class HttpServer(TransportServer, Keeper):
    """HTTP/1.1 on httptools, on the loop that is running."""

    def __init__(self, begin: ExchangeFactory) -> None:
        self._begin = begin
        self._tls: ssl.SSLContext | None = None
        self._doors = AcceptorPool(self._listen, self._adopt, self._has_room)
        self._connections: dict[Connection, None] = {}
        """A dictionary for a set: it takes half of the memory."""
        self._arrivals: deque[float] = deque()
        """When those came who have yet to agree on a cipher, as far as is known."""
        self._lingering: set[Connection] = set()
        self._adopting: set[asyncio.Task[Any]] = set()
        self._room = max(resource.getrlimit(resource.RLIMIT_NOFILE)[0] - KEPT_FREE, KEPT_FREE)
        self.deadlines = TimerWheel()
        self.crowd = ReadThrottle()
        self.turns = CooperativeScheduler()

    @override
    async def start(
        self, sockets: Sequence[socket.socket], tls: ssl.SSLContext | None = None
    ) -> None:
        self._tls = tls
        await self._doors.open(sockets)

    @override
    def stop(self) -> None:
        self._doors.close()

    @override
    async def close(self) -> None:
        self._doors.finish()
        for each in list(self._connections):
            each.close()
        await asyncio.sleep(0)
        for each in list(self._connections):
            each.abort()

    async def _listen(self, opened: socket.socket) -> asyncio.Server:
        return await asyncio.get_running_loop().create_server(
            self.connection,
            sock=opened,
            backlog=BACKLOG,
            ssl=self._tls,
            ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_SECONDS,
        )

    def _adopt(self, accepted: socket.socket) -> None:
        accepted.setblocking(False)
        serving = asyncio.get_running_loop().connect_accepted_socket(
            self.connection,
            accepted,
            ssl=self._tls,
            ssl_handshake_timeout=None if self._tls is None else HANDSHAKE_SECONDS,
        )
        task = asyncio.ensure_future(serving)
        self._adopting.add(task)
        task.add_done_callback(self._adopted)

    def _adopted(self, task: "asyncio.Task[Any]") -> None:
        self._adopting.discard(task)
        if not task.cancelled():
            task.exception()  # the client has gone, or does not speak TLS

    def connection(self) -> Connection:
        """What a new transport is told of; under TLS only when a cipher is agreed on."""
        if self._tls is not None:
            self._arrivals.append(asyncio.get_running_loop().time())
            if not self._has_room():
                self._doors.shut()
        return Connection(self)

    def _has_room(self) -> bool:
        """Whether one more may come in.

        Of whoever fails to agree nothing is heard: they count for as long as that might take.
        """
        longest = asyncio.get_running_loop().time() - HANDSHAKE_SECONDS
        while self._arrivals and self._arrivals[0] < longest:
            self._arrivals.popleft()
        return len(self._connections) + len(self._arrivals) < self._room

    # -- for its connections

    @override
    def begin(self, wire: Wire) -> Exchange:
        return self._begin(wire)

    @override
    def admit(self, connection: Connection, transport: asyncio.Transport) -> bool:
        self._doors.came()
        if self._arrivals:
            self._arrivals.popleft()
        self._connections[connection] = None
        if len(self._connections) <= self._room:
            self.crowd.expects(connection)
            return True
        transport.write(closing_answer(TooManyConnectionsError()))
        connection.close()
        return False

    @override
    def may_linger(self, connection: Connection) -> bool:
        if len(self._lingering) >= MAX_LINGERING:
            return False
        self._lingering.add(connection)
        return True

    @override
    def forget(self, connection: Connection) -> None:
        self._connections.pop(connection, None)
        self._lingering.discard(connection)
        self.crowd.forget(connection)
        self.deadlines.clear(connection)
