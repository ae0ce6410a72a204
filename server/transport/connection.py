"""One connection of our own server: exchanges after each other, and no more than one at a time."""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import cast

from typing_extensions import override

from server.api.wire import Answerer, ClientGoneError, Exchange
from server.domain.errors import DomainError
from server.transport.keeper import Keeper
from server.transport.limits import (
    BODY_SECONDS,
    HEAD_SECONDS,
    IDLE_SECONDS,
    MAX_AHEAD_BYTES,
    PIECE_SECONDS,
    PIECES_AT_ONCE,
    STALLED_BYTES,
    STALLED_SECONDS,
)
from server.transport.reading import Incoming, Reader
from server.transport.refusals import (
    LINGER_BYTES,
    LINGER_SECONDS,
    BodyTimeoutError,
    closing_answer,
)
from server.transport.states import State
from server.transport.writing import CHUNKED, CHUNKS_END, CLOSE, CONTINUE, KEEP, as_chunk, head


class Connection(asyncio.Protocol):
    """Reads requests, hands each to an exchange when the one before is answered, and is its wire.

    While a request waits for its answer there is nothing here but what is needed to write it:
    the parser comes with the first byte of a request and goes with its last.
    """

    __slots__ = (
        "_answerer",
        "_backlog",
        "_body_due",
        "_dropped",
        "_exchange",
        "_has_begun",
        "_heard_all",
        "_heard_last",
        "_incoming",
        "_is_chunked",
        "_is_endless",
        "_is_of_many",
        "_is_old",
        "_keeps_alive",
        "_lingers",
        "_on_drained",
        "_reader",
        "_refusal",
        "_server",
        "_state",
        "_taking",
        "_told",
        "_transport",
        "_unread",
        "_untaken",
        "due",
    )

    def __init__(self, server: Keeper) -> None:
        self._server = server
        self._state = State.OPEN
        self._transport: asyncio.Transport
        self._reader: Reader | None = None
        self._answerer: Answerer | None = None
        """Whoever answers the request in hand."""
        self._exchange: Exchange | None = None
        """What takes its body, until all of it has been brought."""
        self._incoming: Incoming | None = None
        """The request in hand, as long."""
        self._backlog: deque[Incoming] | None = None
        """Requests that have come before their turn."""
        self._unread = b""
        """What has come behind them."""
        self._taking: asyncio.Future[None] | None = None
        """The exchange has not taken what was brought."""
        self._on_drained: asyncio.Future[None] | None = None
        """The client has not taken what was written."""
        self._keeps_alive = self._is_old = self._is_chunked = self._lingers = False
        self._has_begun = False
        """Something of the answer is on its way, and more is to follow."""
        self._is_endless = False
        """Of that nobody knows how much."""
        self._is_of_many = True
        """It is new, or the last answer came late: others may ask at the same moment."""
        self._heard_last = False
        """A request has come that is its client's last: what is behind it counts for nothing."""
        self._heard_all = False
        """The client has said that it sends nothing more."""
        self._refusal: DomainError | None = None
        """What came behind the requests that are there is none."""
        self._body_due = 0.0
        """When the body of the request in hand has to be whole, by the loop's time."""
        self._told = 0
        """Pieces of bodies so far, for whoever reads to know how many there were."""
        self._untaken = 0
        """Bytes that the client had yet to take when it was last looked at."""
        self._dropped = 0
        self.due = 0

    # -- what the loop calls

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but name
        if self._server.admit(self, self._transport):
            self._server.deadlines.set(self, IDLE_SECONDS)

    @override
    def data_received(self, data: bytes) -> None:
        if self._state is not State.OPEN or self._heard_last or self._refusal is not None:
            self._drop(data)
            return
        if self._is_of_many:
            self._server.crowd.asks(self)
        if self._unread or len(data) > MAX_AHEAD_BYTES:
            self._unread += data
            self._read_on()
        else:
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
        return True  # it is closed as soon as what is whole has been answered

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._state = State.LOST
        self._server.forget(self)
        self._reader = None
        self._incoming = None
        self._backlog = None
        self._unread = b""
        if self._on_drained is not None and not self._on_drained.done():
            self._on_drained.set_exception(ClientGoneError())
            self._on_drained.exception()  # there may be nobody who waits for it
        self._give_up_exchange()

    @override
    def pause_writing(self) -> None:
        self._on_drained = asyncio.get_running_loop().create_future()
        self._wait_until_taken()

    @override
    def resume_writing(self) -> None:
        waiting, self._on_drained = self._on_drained, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)
        if self._state is not State.OPEN:
            return
        if self._answerer is None:
            self._go_on()
        else:
            self._set_deadline()

    def expired(self) -> None:
        """The client has been silent, or deaf, for too long."""
        if self._is_taking:
            self._wait_until_taken()
        elif self._incoming is None or self._on_drained or self._state is not State.OPEN:
            self.abort()
        else:
            self._refuse(BodyTimeoutError())

    @property
    def _is_taking(self) -> bool:
        """Whether its client, which has yet to take something, has taken enough meanwhile."""
        if self._on_drained is None and self._state is not State.CLOSING:
            return False
        untaken = self._transport.get_write_buffer_size()
        return 0 < untaken <= self._untaken - STALLED_BYTES

    def _wait_until_taken(self) -> None:
        self._untaken = self._transport.get_write_buffer_size()
        self._server.deadlines.set(self, STALLED_SECONDS)

    # -- what the crowd calls

    def hold(self) -> bool:
        """Read nothing until `read_more`. Whether it is so."""
        is_held = self._state is State.OPEN and self._transport.is_reading()
        if is_held:
            self._transport.pause_reading()
        return is_held

    def read_more(self) -> None:
        """Read on, where there is room for more."""
        if self._unread:
            asyncio.get_running_loop().call_soon(self._read_on)  # the reader may be at it just now
        elif self._may_read and not self._heard_all:
            self._transport.resume_reading()

    # -- what the reader calls

    def begun(self, incoming: Incoming) -> None:
        if self._state is not State.OPEN or self._heard_last:
            return
        if self._answerer is None and not self._backlog and self._on_drained is None:
            self._begin(incoming)
            return
        # Asked before what was asked first is answered, and the answer taken: it waits, and
        # nothing more is read.
        if self._backlog is None:
            self._backlog = deque()
        self._backlog.append(incoming)
        self._transport.pause_reading()

    def came(self, incoming: Incoming, chunk: bytes) -> None:
        if incoming is self._incoming and self._taking is None:
            self._bring(chunk)
            self._told += 1
        else:
            incoming.untaken += chunk

    def ended(self, incoming: Incoming) -> None:
        self._heard_last = self._heard_last or not incoming.keeps_alive
        if incoming is self._incoming and self._taking is None:
            self._end_body()

    # -- what the exchange calls

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
        # Behind a head that says that nothing changed there is no body, so not an empty one either.
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

    def linger(self) -> None:
        self._lingers = True

    def set_body_timeout(self, seconds: float) -> None:
        self._body_due = asyncio.get_running_loop().time() + seconds
        self._set_deadline()

    def hand_over(self, answerer: Answerer) -> None:
        self._is_of_many = answerer is not self._answerer
        self._answerer = answerer
        self._look_for_end()

    def abort(self) -> None:
        """End the connection at once, whatever is on its way."""
        self._transport.abort()

    # -- between the two

    def _read(self, data: bytes | memoryview) -> None:
        reader = self._reader
        if reader is None:
            reader = self._reader = Reader(self)
        was_in_head, told = reader.is_in_head, self._told
        try:
            reader.feed(data)
        except DomainError as error:
            # Unless it has just had its last answer, or will have.
            if self._state is State.OPEN and not self._heard_last:
                self._refuse(error)
            return
        if self._told != told and self._incoming is not None:
            self._set_deadline()
        if reader.is_between:
            reader.end()
            self._reader = None
        elif reader.is_in_head and not was_in_head and self._answerer is None:
            # Counted from its first byte: whoever sends slowly gains no time.
            self._server.deadlines.set(self, HEAD_SECONDS)

    def _read_on(self) -> None:
        """Read what has come, as far as somebody takes it: the rest of a body, and then little.

        Of many small chunks no more at once than others can wait for.
        """
        rest = memoryview(self._unread)
        until = self._told + PIECES_AT_ONCE
        while rest and self._may_read:
            left = 0 if self._incoming is None else max(0, self._incoming.left)
            piece = rest[: left + MAX_AHEAD_BYTES]
            rest = rest[len(piece) :]
            self._read(piece)
            if rest and self._told >= until:
                self._transport.pause_reading()
                self._server.turns.add(self._read_on)
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
        self._incoming = incoming
        self._keeps_alive = incoming.keeps_alive
        self._is_old = incoming.is_old
        self._is_chunked = self._is_of_many = self._is_endless = False
        if incoming.has_body:
            self.set_body_timeout(BODY_SECONDS)
        else:
            self._server.deadlines.clear(self)
        self._answerer = self._exchange = exchange = self._server.begin(self)
        exchange.headers_received(incoming.method, incoming.target, incoming.headers)
        if incoming.has_body and incoming.waits and not self._lingers:
            self._transport.write(CONTINUE)

    def _bring(self, chunk: bytes) -> None:
        if self._exchange is None or self._state is not State.OPEN:
            return
        taking = self._exchange.data_received(chunk)
        if taking is not None and not taking.done():
            self._taking = taking
            self._transport.pause_reading()
            taking.add_done_callback(self._taken)

    def _taken(self, _: object) -> None:
        self._taking = None
        self._bring_waiting()

    def _bring_waiting(self) -> None:
        """What has come of the body while the exchange was not ready for it."""
        incoming = self._incoming
        if incoming is None or self._state is not State.OPEN:
            return
        if incoming.untaken:
            chunk, incoming.untaken = bytes(incoming.untaken), bytearray()
            self._bring(chunk)
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

    def _connection_lines(self) -> tuple[str, ...]:
        """What is said of whether the connection stays."""
        # Before the end of a body that nobody reads there is no next request.
        if not self._keeps_alive or self._incoming is not None:
            return (CLOSE,)
        return (KEEP,) if self._is_old else ()

    def _finish_exchange(self) -> None:
        self._answerer = self._exchange = None
        self._has_begun = False
        if not self._keeps_alive or self._incoming is not None:
            self.close()
        else:
            self._go_on()

    def _go_on(self) -> None:
        """Begin with the next request, as soon as the client has taken the answer to the last."""
        if self._backlog and self._on_drained is None:
            incoming = self._backlog.popleft()
            self._begin(incoming)
            self._bring_waiting()
        elif self._is_at_end and not self._backlog:
            self._end()
        else:
            if self._is_of_many:
                self._server.crowd.expects(self)
            self._set_deadline()

    def _set_deadline(self) -> None:
        """How long the client may be silent, which it may be while it waits for an answer."""
        if self._state is not State.OPEN:
            return
        if self._on_drained is not None:
            return  # it has one, for as long as it takes too little
        if self._incoming is not None:
            left = max(0.0, self._body_due - asyncio.get_running_loop().time())
            # While nobody takes what has come, the client owes nothing.
            seconds = min(left, PIECE_SECONDS) if self._taking is None else left
            self._server.deadlines.set(self, seconds)
        elif self._answerer is not None:
            self._server.deadlines.clear(self)
        else:
            in_head = self._reader is not None and self._reader.is_in_head
            self._server.deadlines.set(self, HEAD_SECONDS if in_head else IDLE_SECONDS)

    def _check_open(self) -> None:
        if self._state is not State.OPEN:
            raise ClientGoneError

    async def _drained(self) -> None:
        if self._on_drained is not None:
            await asyncio.shield(self._on_drained)

    def _refuse(self, error: DomainError) -> None:
        """What comes is no HTTP: nothing more can be read, and that is said in its place."""
        self._unread = b""
        self._refusal = error
        self._read_no_more()

    @property
    def _is_at_end(self) -> bool:
        """Whether nothing more is read: the connection ends behind the requests that are whole."""
        return self._refusal is not None or (self._heard_all and not self._unread)

    def _read_no_more(self) -> None:
        """Nothing more comes of what is not whole; the rest is answered."""
        self._reader = None
        if self._backlog and not self._backlog[-1].is_whole:
            self._backlog.pop()
        if not self._heard_all:
            self._transport.pause_reading()
        if self._incoming is not None and not self._incoming.is_whole:
            self._end()
        elif self._answerer is None:
            self._go_on()
        else:
            self._look_for_end()

    def _look_for_end(self) -> None:
        """Do not wait for what may never end, a poll or a stream of events.

        Its client has gone, for all that can be seen.
        """
        if self._is_at_end and (self._is_of_many or self._is_endless):
            # Whoever begins to answer just now has to have done so first.
            asyncio.get_running_loop().call_soon(self._leave, self._answerer)

    def _leave(self, answerer: Answerer | None) -> None:
        if self._answerer is answerer and self._state is State.OPEN:
            self._refusal = None
            self._end()

    def _end(self) -> None:
        """Close; if something has to be refused, it is its turn.

        An answer that has begun ends with the connection: anything else would be taken for a piece
        of its body.
        """
        self._backlog = None
        if self._refusal is not None and not self._has_begun:
            self._lingers = True
            self._transport.write(closing_answer(self._refusal))
        self.close()
        self._give_up_exchange()

    def _give_up_exchange(self) -> None:
        answerer, self._answerer = self._answerer, None
        self._exchange = None
        if answerer is not None:
            answerer.on_connection_close()

    def _drop(self, data: bytes) -> None:
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.abort()
