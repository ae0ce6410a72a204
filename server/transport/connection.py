"""An HTTP/1.1 connection: pipelined requests, answered one at a time and in order."""

import asyncio
from collections import deque
from typing import Protocol, cast

from typing_extensions import override

from server.api.response_writer import ClientGoneError, HttpExchange, Responder, ResponseWriter
from server.domain.errors import DomainError
from server.runtime.scheduler import CooperativeScheduler
from server.runtime.timer_wheel import TimerWheel
from server.transport.limits import (
    BODY_SECONDS,
    HEAD_SECONDS,
    IDLE_SECONDS,
    MAX_AHEAD_BYTES,
    PIECE_SECONDS,
    PIECES_AT_ONCE,
)
from server.transport.read_throttle import ReadThrottle
from server.transport.reading import Incoming, RequestReader
from server.transport.refusals import (
    LINGER_BYTES,
    LINGER_SECONDS,
    BodyTimeoutError,
    closing_answer,
)
from server.transport.response_side import ResponseSide
from server.transport.states import State
from server.transport.writing import CONTINUE


class ConnectionOwner(Protocol):
    """The server that a connection belongs to."""

    deadlines: TimerWheel
    read_throttle: ReadThrottle
    """Limits how many connections that wake together are read at once."""
    scheduler: CooperativeScheduler
    """Continues reading what takes long."""

    def begin(self, writer: ResponseWriter) -> HttpExchange:
        """The next exchange of a connection."""
        ...

    def admit(self, connection: "HttpConnection", transport: asyncio.Transport) -> bool:
        """Whether there is room for the connection; if not, it has been refused and closed."""
        ...

    def may_linger(self, connection: "HttpConnection") -> bool:
        """Whether it may stay open until its client has read the last response."""
        ...

    def forget(self, connection: "HttpConnection") -> None:
        """Remove a connection that is closed."""
        ...


class HttpConnection(ResponseSide):
    """Parse requests, start an exchange for each once the previous is answered, write responses.

    While a request waits for its response the connection holds only what is needed to write it:
    the parser is created with a request's first byte and dropped with its last.
    """

    __slots__ = (
        "_backlog",
        "_body_due",
        "_delivered",
        "_dropped",
        "_heard_all",
        "_heard_last",
        "_reader",
        "_refusal",
        "_taking",
        "_unread",
    )

    def __init__(self, server: ConnectionOwner) -> None:
        super().__init__()
        self._server: ConnectionOwner = server
        self._reader: RequestReader | None = None
        self._backlog: deque[Incoming] | None = None
        """Pipelined requests that wait for the current one."""
        self._unread = b""
        """Bytes received after them."""
        self._taking: asyncio.Future[None] | None = None
        """Pending while the exchange applies back-pressure to the body."""
        self._heard_last = False
        """The last request has been received: what follows it is ignored."""
        self._heard_all = False
        """The client has half-closed the connection."""
        self._refusal: DomainError | None = None
        """The error in what follows the requests received so far."""
        self._body_due = 0.0
        """When the current body must be complete, in the loop's time."""
        self._delivered = 0
        """Pieces of bodies delivered so far."""
        self._dropped = 0

    # -- called by the event loop

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is not a subclass
        if self._server.admit(self, self._transport):
            self._server.deadlines.set(self, IDLE_SECONDS)

    @override
    def data_received(self, data: bytes) -> None:
        if self._state is not State.OPEN or self._heard_last or self._refusal is not None:
            self._drop(data)
            return
        if self._is_of_many:
            self._server.read_throttle.request_arrived(self)
        if self._unread or len(data) > MAX_AHEAD_BYTES:
            self._unread += data
            self._read_on()
        elif self._reader is not None or not self._repeats(data):
            self._read(data)

    @override
    def eof_received(self) -> bool:
        # Under TLS there is no way to keep it open, and none to write to it then.
        if self._state is not State.OPEN or not self._transport.can_write_eof():
            self._state = State.CLOSING
            self._wait_until_taken()
            return False
        self._heard_all = True
        if not self._unread:
            self._read_no_more()
        return True  # it is closed as soon as complete requests have been answered

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._state = State.LOST
        self._server.forget(self)
        self._reader = None
        self._incoming = None
        self._repeatable = None
        self._backlog = None
        self._unread = b""
        if self._on_drained is not None and not self._on_drained.done():
            self._on_drained.set_exception(ClientGoneError())
            self._on_drained.exception()  # it may have no waiter
        self._give_up_exchange()

    @override
    def resume_writing(self) -> None:
        waiting, self._on_drained = self._on_drained, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        if self._state is not State.OPEN:
            return
        if self._responder is None:
            self._go_on()
        else:
            self._set_deadline()

    @override
    def expired(self) -> None:
        """Handle a client that has sent or read nothing for too long."""
        if self._is_taking:
            self._wait_until_taken()
        elif self._incoming is None or self._on_drained or self._state is not State.OPEN:
            self.abort()
        else:
            self._refuse(BodyTimeoutError())

    # -- called by the read throttle

    def hold(self) -> bool:
        """Pause reading until `read_more`; False where nothing is being read."""
        is_held = self._state is State.OPEN and self._transport.is_reading()
        if is_held:
            self._transport.pause_reading()
        return is_held

    def read_more(self) -> None:
        """Resume reading, unless the connection is held back for another reason."""
        if self._unread:
            asyncio.get_running_loop().call_soon(self._read_on)  # this may be called by the reader
        elif self._may_read and not self._heard_all:
            self._transport.resume_reading()

    # -- called by the reader

    def begun(self, incoming: Incoming) -> None:
        if self._state is not State.OPEN or self._heard_last:
            return
        if self._responder is None and not self._backlog and self._on_drained is None:
            self._begin(incoming)
            return
        # Pipelined: it waits until the current response is written and read by the client, and
        # nothing more is read.
        if self._backlog is None:
            self._backlog = deque()
        self._backlog.append(incoming)
        self._transport.pause_reading()

    def came(self, incoming: Incoming, chunk: bytes) -> None:
        if incoming is self._incoming and self._taking is None:
            self._deliver(chunk)
            self._delivered += 1
        else:
            incoming.untaken += chunk

    def ended(self, incoming: Incoming) -> None:
        self._heard_last = self._heard_last or not incoming.keeps_alive
        if incoming is self._incoming and self._taking is None:
            self._end_body()

    # -- called by the exchange

    def close(self) -> None:
        if self._state is not State.OPEN:
            return
        may_linger = self._lingers and not self._heard_all and self._transport.can_write_eof()
        if may_linger and self._server.may_linger(self):
            self._state = State.LINGERING
            self._transport.write_eof()
            self._transport.resume_reading()
            self._server.deadlines.set(self, LINGER_SECONDS)
        else:
            self._state = State.CLOSING
            self._transport.close()
            self._wait_until_taken()

    def set_body_timeout(self, seconds: float) -> None:
        self._body_due = asyncio.get_running_loop().time() + seconds
        self._set_deadline()

    # -- reading and writing

    def _read(self, data: bytes | memoryview) -> None:
        reader = self._reader
        is_first = reader is None and self._responder is None
        self._raw = data if is_first and isinstance(data, bytes) else b""
        if reader is None:
            reader = self._reader = RequestReader(self)
        was_in_head, delivered = reader.is_in_head, self._delivered
        try:
            reader.feed(data)
        except DomainError as error:
            # Unless its last response is written, or will be.
            if self._state is State.OPEN and not self._heard_last:
                self._refuse(error)
            return
        if self._delivered != delivered and self._incoming is not None:
            self._set_deadline()
        if reader.is_between:
            reader.end()
            self._reader = None
        elif reader.is_in_head and not was_in_head and self._responder is None:
            # Counted from its first byte: slow sending gains no time.
            self._server.deadlines.set(self, HEAD_SECONDS)

    def _read_on(self) -> None:
        """Parse buffered bytes as far as they are consumed: the rest of a body, then a little more.

        Of many small chunks at most PIECES_AT_ONCE, before other tasks run.
        """
        rest = memoryview(self._unread)
        until = self._delivered + PIECES_AT_ONCE
        while rest and self._may_read:
            left = 0 if self._incoming is None else max(0, self._incoming.left)
            piece = rest[: left + MAX_AHEAD_BYTES]
            rest = rest[len(piece) :]
            self._read(piece)
            if rest and self._delivered >= until:
                self._transport.pause_reading()
                self._server.scheduler.add(self._read_on)
                break
        self._unread = bytes(rest) if self._refusal is None else b""
        if self._unread and self._may_read:
            return
        if self._heard_all and not self._unread:
            self._read_no_more()
        elif self._may_read and not self._heard_all:
            self._transport.resume_reading()

    @property
    def _may_read(self) -> bool:
        return (
            self._state is State.OPEN
            and not self._backlog
            and self._taking is None
            and self._refusal is None
        )

    def _begin(self, incoming: Incoming) -> None:
        self._repeatable = None
        self._incoming = incoming
        self._keeps_alive = incoming.keeps_alive
        self._is_old = incoming.is_old
        self._is_chunked = self._is_of_many = self._is_endless = False
        if incoming.has_body:
            self.set_body_timeout(BODY_SECONDS)
        else:
            self._server.deadlines.clear(self)
        self._responder = self._exchange = exchange = self._server.begin(self)
        exchange.headers_received(incoming.method, incoming.target, incoming.headers)
        if incoming.has_body and incoming.waits and not self._lingers:
            self._transport.write(CONTINUE)

    def _deliver(self, chunk: bytes) -> None:
        if self._exchange is None or self._state is not State.OPEN:
            return
        taking = self._exchange.data_received(chunk)
        if taking is not None and not taking.done():
            self._taking = taking
            self._transport.pause_reading()
            taking.add_done_callback(self._taken)

    def _taken(self, _: object) -> None:
        self._taking = None
        self._deliver_waiting()

    def _deliver_waiting(self) -> None:
        """Deliver what was received of the body while the exchange was not ready for it."""
        incoming = self._incoming
        if incoming is None or self._state is not State.OPEN:
            return
        if incoming.untaken:
            chunk, incoming.untaken = bytes(incoming.untaken), bytearray()
            self._deliver(chunk)
            if self._taking is not None:
                return
        self._set_deadline()
        if incoming.is_whole:
            self._end_body()
        else:
            self.read_more()

    def _end_body(self) -> None:
        self._incoming = None
        self._set_deadline()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.finish()
        self.read_more()

    @override
    def _finish_exchange(self) -> None:
        self._responder = self._exchange = None
        self._raw = b""
        self._has_begun = False
        if not self._keeps_alive or self._incoming is not None:
            self.close()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Start the next request as soon as the client has read the previous response."""
        if self._backlog and self._on_drained is None:
            incoming = self._backlog.popleft()
            self._begin(incoming)
            self._deliver_waiting()
        elif self._is_at_end and not self._backlog:
            self._end()
        else:
            if self._is_of_many:
                self._server.read_throttle.expect(self)
            self._set_deadline()

    def _set_deadline(self) -> None:
        """Limit how long the client may be silent; no limit while it waits for a response."""
        if self._state is not State.OPEN:
            return
        if self._on_drained is not None:
            return  # the one for stalled clients is set
        if self._incoming is not None:
            left = max(0.0, self._body_due - asyncio.get_running_loop().time())
            # While the exchange applies back-pressure, the client owes nothing.
            seconds = min(left, PIECE_SECONDS) if self._taking is None else left
            self._server.deadlines.set(self, seconds)
        elif self._responder is not None:
            self._server.deadlines.clear(self)
        else:
            in_head = self._reader is not None and self._reader.is_in_head
            self._server.deadlines.set(self, HEAD_SECONDS if in_head else IDLE_SECONDS)

    def _refuse(self, error: DomainError) -> None:
        """Stop reading at malformed input, and answer it with an error when its turn comes."""
        self._unread = b""
        self._refusal = error
        self._read_no_more()

    @property
    def _is_at_end(self) -> bool:
        """Whether nothing more is read: the connection ends after the complete requests."""
        return self._refusal is not None or (self._heard_all and not self._unread)

    def _read_no_more(self) -> None:
        """Drop an incomplete request; answer the complete ones."""
        self._reader = None
        if self._backlog and not self._backlog[-1].is_whole:
            self._backlog.pop()
        if not self._heard_all:
            self._transport.pause_reading()
        if self._incoming is not None and not self._incoming.is_whole:
            self._end()
        elif self._responder is None:
            self._go_on()
        else:
            self._look_for_end()

    @override
    def _look_for_end(self) -> None:
        """End without waiting for a response that may never end, a poll or a stream of events.

        The client sends nothing more, and so is assumed to be gone.
        """
        if self._is_at_end and (self._is_of_many or self._is_endless):
            # A response that begins in this iteration goes first.
            asyncio.get_running_loop().call_soon(self._leave, self._responder)

    def _leave(self, responder: Responder | None) -> None:
        if self._responder is responder and self._state is State.OPEN:
            self._refusal = None
            self._end()

    def _end(self) -> None:
        """Close, after the error response if there is one.

        A response that has begun ends with the connection: anything else would be read as part of
        its body.
        """
        self._backlog = None
        if self._refusal is not None and not self._has_begun:
            self._lingers = True
            self._transport.write(closing_answer(self._refusal))
        self.close()
        self._give_up_exchange()

    def _give_up_exchange(self) -> None:
        responder, self._responder = self._responder, None
        self._exchange = None
        if responder is not None:
            responder.on_connection_close()

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.abort()
