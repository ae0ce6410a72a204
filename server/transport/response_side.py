"""The response side of an HTTP/1.1 connection: heads, bodies, and clients that read slowly."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Protocol

from typing_extensions import override

from server.api.response_writer import ClientGoneError, HttpExchange, Repeatable, Responder
from server.runtime.timer_wheel import TimerWheel
from server.transport.limits import STALLED_BYTES, STALLED_SECONDS
from server.transport.reading import Incoming
from server.transport.repeats import split
from server.transport.states import State
from server.transport.writing import CHUNKED, CHUNKS_END, CLOSE, KEEP, as_chunk, head


class DeadlineOwner(Protocol):
    """The server, as far as writing needs it."""

    deadlines: TimerWheel


class ResponseSide(asyncio.Protocol, ABC):
    """Write the responses to the requests that the subclass reads, one at a time."""

    __slots__ = (
        "_digest",
        "_exchange",
        "_has_begun",
        "_incoming",
        "_is_chunked",
        "_is_endless",
        "_is_of_many",
        "_is_old",
        "_keeps_alive",
        "_lingers",
        "_on_drained",
        "_raw",
        "_repeatable",
        "_responder",
        "_server",
        "_state",
        "_transport",
        "_untaken",
        "due",
    )

    _server: DeadlineOwner

    def __init__(self) -> None:
        self._state = State.OPEN
        self._transport: asyncio.Transport
        self._responder: Responder | None = None
        """Responsible for the response to the current request."""
        self._exchange: HttpExchange | None = None
        """Receives its body, until it is complete."""
        self._incoming: Incoming | None = None
        """The current request, for as long."""
        self._raw = b""
        """What was received with the first byte of the current request."""
        self._repeatable: Repeatable | None = None
        """The newest request that may be repeated, until another one begins."""
        self._digest = b""
        """Of that request."""
        self._on_drained: asyncio.Future[None] | None = None
        """Pending while the client does not read what was written."""
        self._keeps_alive = self._is_old = self._is_chunked = self._lingers = False
        self._has_begun = False
        """The response has begun and is not complete."""
        self._is_endless = False
        """Its length is not known."""
        self._is_of_many = True
        """New, or the last response was deferred: many others may send a request just then."""
        self._untaken = 0
        """Bytes in the write buffer when it was last checked."""
        self.due = 0

    @abstractmethod
    def expired(self) -> None:
        """Handle a client that has sent or read nothing for too long."""

    @abstractmethod
    def _finish_exchange(self) -> None:
        """Start the next request, or close the connection."""

    @abstractmethod
    def _look_for_end(self) -> None:
        """Close a connection that sends nothing more, if its response may never end."""

    # -- called by the event loop and the exchange

    @override
    def pause_writing(self) -> None:
        self._on_drained = asyncio.get_running_loop().create_future()
        self._wait_until_taken()

    @property
    def remote_ip(self) -> str:
        peer = self._transport.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    def respond(
        self, status: int, headers: Iterable[tuple[str, str]], body: bytes, *, is_last: bool
    ) -> None:
        if self._state is not State.OPEN:
            return
        self._keeps_alive = self._keeps_alive and not is_last
        self._transport.write(head(status, headers, *self._connection_lines()) + body)
        self._finish_exchange()

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        self._check_open()
        # A 304 has no body, hence no empty chunked one either.
        has_length = "Content-Length" in headers or status == HTTPStatus.NOT_MODIFIED
        self._is_chunked = not has_length and not self._is_old
        self._keeps_alive = self._keeps_alive and (has_length or self._is_chunked)
        chunked = [CHUNKED] if self._is_chunked else []
        self._has_begun = True
        self._is_endless = not has_length
        self._look_for_end()
        self._transport.write(head(status, headers.items(), *self._connection_lines(), *chunked))
        await self._drained()

    async def send(self, chunk: bytes) -> None:
        self._check_open()
        if chunk:
            self._transport.write(as_chunk(chunk) if self._is_chunked else chunk)
            await self._drained()

    def finish(self) -> None:
        if self._state is State.OPEN:
            if self._is_chunked:
                self._transport.write(CHUNKS_END)
            self._finish_exchange()

    def linger(self) -> None:
        self._lingers = True

    def may_repeat(self, request: Repeatable) -> None:
        found = split(self._raw, request.parameter)
        if found is not None:
            self._repeatable, self._digest = request, found[0]

    def _repeats(self, data: bytes) -> bool:
        """Begin the newest request again, if this is the same but for its parameter's value."""
        request = self._repeatable
        if request is None or self._responder is not None or self._on_drained is not None:
            return False
        found = split(data, request.parameter)
        if found is None or found[0] != self._digest:
            return False
        self._is_chunked = self._is_endless = False
        self._server.deadlines.clear(self)
        return request.repeat(int(found[1]))

    def hand_over(self, responder: Responder) -> None:
        self._is_of_many = responder is not self._responder
        if self._is_of_many:
            self._raw = b""
        self._responder = responder
        self._look_for_end()

    def abort(self) -> None:
        """Close at once and drop what is in the write buffer."""
        self._transport.abort()

    @property
    def _is_taking(self) -> bool:
        """Whether the client has read enough of the write buffer since the last check."""
        if self._on_drained is None and self._state is not State.CLOSING:
            return False
        untaken = self._transport.get_write_buffer_size()
        return 0 < untaken <= self._untaken - STALLED_BYTES

    def _wait_until_taken(self) -> None:
        self._untaken = self._transport.get_write_buffer_size()
        self._server.deadlines.set(self, STALLED_SECONDS)

    def _connection_lines(self) -> tuple[str, ...]:
        """The `Connection` header, where one is needed."""
        # After a body that is not read to its end there is no next request.
        if not self._keeps_alive or self._incoming is not None:
            return (CLOSE,)
        return (KEEP,) if self._is_old else ()

    def _check_open(self) -> None:
        if self._state is not State.OPEN:
            raise ClientGoneError

    async def _drained(self) -> None:
        if self._on_drained is not None:
            await asyncio.shield(self._on_drained)
