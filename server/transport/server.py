"""HTTP/1.1 server on httptools: a poll takes a fraction of the time and memory of Tornado's."""

import asyncio
import resource
import socket
import ssl
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from typing_extensions import override

from server.api.response_writer import ExchangeFactory, HttpExchange, ResponseWriter
from server.runtime.connection_counts import ConnectionShare
from server.runtime.scheduler import CooperativeScheduler
from server.runtime.sockets import BACKLOG
from server.runtime.timer_wheel import TimerWheel
from server.transport.acceptor_pool import AcceptorPool
from server.transport.connection import ConnectionOwner, HttpConnection
from server.transport.limits import HANDSHAKE_SECONDS, TransportServer
from server.transport.read_throttle import ReadThrottle
from server.transport.refusals import MAX_LINGERING, TooManyConnectionsError, closing_answer

RESERVED_FILES: Final = 200
"""File descriptors kept for other uses than client connections: database, broker, uploads."""


class HttpServer(TransportServer, ConnectionOwner):
    """Serve HTTP/1.1 on the running event loop."""

    def __init__(self, begin: ExchangeFactory) -> None:
        self._begin = begin
        self._tls: ssl.SSLContext | None = None
        self._share: ConnectionShare | None = None
        self._acceptors = AcceptorPool(
            self._listen, self._adopt, has_room=self._has_room, is_ahead=self._is_ahead
        )
        self._connections: dict[HttpConnection, None] = {}
        """A dictionary as an ordered set: it takes half of a set's memory."""
        self._arrivals: deque[float] = deque()
        """Accept times of connections in their TLS handshake, as far as is known."""
        self._lingering: set[HttpConnection] = set()
        self._adopting: set[asyncio.Task[Any]] = set()
        self._room = max(
            resource.getrlimit(resource.RLIMIT_NOFILE)[0] - RESERVED_FILES, RESERVED_FILES
        )
        self.deadlines = TimerWheel()
        self.read_throttle = ReadThrottle()
        self.scheduler = CooperativeScheduler()

    @override
    async def start(
        self,
        sockets: Sequence[socket.socket],
        tls: ssl.SSLContext | None = None,
        share: ConnectionShare | None = None,
    ) -> None:
        self._tls = tls
        self._share = share
        self._record_connections()
        await self._acceptors.open(sockets)

    @override
    def stop(self) -> None:
        if self._share is not None:
            self._share.leave()
            self._share = None
        self._acceptors.close()

    @override
    async def close(self) -> None:
        self._acceptors.finish()
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
            task.exception()  # the client is gone, or does not speak TLS

    def connection(self) -> HttpConnection:
        """The protocol of a new transport; with TLS `connection_made` follows the handshake."""
        if self._tls is not None:
            self._arrivals.append(asyncio.get_running_loop().time())
            if not self._has_room():
                self._acceptors.pause()
        return HttpConnection(self)

    def _has_room(self) -> bool:
        """Whether one more connection may be accepted.

        A failed handshake is not reported: each counts for as long as a handshake may take.
        """
        longest = asyncio.get_running_loop().time() - HANDSHAKE_SECONDS
        while self._arrivals and self._arrivals[0] < longest:
            self._arrivals.popleft()
        return len(self._connections) + len(self._arrivals) < self._room

    def _is_ahead(self) -> bool:
        return self._share is not None and self._share.is_ahead()

    def _record_connections(self) -> None:
        if self._share is not None:
            self._share.record(len(self._connections))

    # -- called by connections

    @override
    def begin(self, writer: ResponseWriter) -> HttpExchange:
        return self._begin(writer)

    @override
    def admit(self, connection: HttpConnection, transport: asyncio.Transport) -> bool:
        if self._arrivals:
            self._arrivals.popleft()
        self._connections[connection] = None
        self._record_connections()
        self._acceptors.connection_accepted()
        if len(self._connections) <= self._room:
            self.read_throttle.expect(connection)
            return True
        transport.write(closing_answer(TooManyConnectionsError()))
        connection.close()
        return False

    @override
    def may_linger(self, connection: HttpConnection) -> bool:
        if len(self._lingering) >= MAX_LINGERING:
            return False
        self._lingering.add(connection)
        return True

    @override
    def forget(self, connection: HttpConnection) -> None:
        self._connections.pop(connection, None)
        self._record_connections()
        self._lingering.discard(connection)
        self.read_throttle.forget(connection)
        self.deadlines.clear(connection)
