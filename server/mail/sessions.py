"""SMTP and LMTP sessions, with a limit on buffered data."""

import asyncio
import sys
from typing import Any, Final, Protocol, cast

from aiosmtpd.lmtp import LMTP
from aiosmtpd.smtp import SMTP
from typing_extensions import override

from server.mail.data_reader import DataReader, IncomingMailRefusedError
from server.mail.incoming import max_lines

TIMEOUT_SECONDS: Final = 300.0
"""Timeouts of one command, and of a mail's content."""
MAX_LINE_BYTES: Final = 64 * 1024
"""Maximum line length of mails; the protocol's is 998."""


class SessionOwner(Protocol):
    """What all sessions share: limits, and the delivery of mails."""

    max_bytes: int

    def admit(self, session: "SmtpSession", peer: str) -> bool:
        """Return whether there is room for one more session."""
        ...

    def has_room_for(self, session: "SmtpSession") -> bool:
        """Return whether the session's buffered data may stay in memory."""
        ...

    def leave(self, session: "SmtpSession") -> None:
        """Remove a session that has ended."""
        ...

    async def handle_DATA(self, session: "SmtpSession", state: Any, envelope: Any) -> str:  # noqa: N802 - the library's name
        """Return one response for each recipient: whether the message is written."""
        ...


class SmtpSession(SMTP):
    """A session with a limit on buffered data."""

    line_length_limit = MAX_LINE_BYTES
    received = 0
    """Bytes since the last mail was answered."""
    _data: DataReader | None = None
    """While a mail's content is received, it bypasses the library, which processes it line by line
    and would block the event loop for seconds.
    """
    _data_ended: "asyncio.Future[None]"

    def __init__(self, room: SessionOwner, **options: Any) -> None:
        super().__init__(
            room,
            data_size_limit=room.max_bytes,
            enable_SMTPUTF8=True,
            ident="Parley",
            timeout=TIMEOUT_SECONDS,
            auth_exclude_mechanism=("LOGIN", "PLAIN"),
            **options,
        )
        self._room = room
        self._is_in = False

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._way = cast("asyncio.Transport", transport)
        peer = transport.get_extra_info("peername")
        if self._room.admit(self, str(peer[0]) if peer else ""):
            self._is_in = True
            super().connection_made(transport)
        else:
            self._way.write(b"421 4.3.2 Too many connections, try again later\r\n")
            self._way.close()

    @override
    def connection_lost(self, error: Exception | None) -> None:
        self._room.leave(self)
        if self._is_in:
            super().connection_lost(error)

    @override
    def data_received(self, data: bytes) -> None:
        # The library buffers a line without an end for ever.
        self.received += len(data)
        if not (self._is_in and self._room.has_room_for(self)):
            self.abort()
        elif self._data is None:
            super().data_received(data)
        else:
            self._feed(self._data, data)

    @override
    async def smtp_DATA(self, arg: str) -> None:
        if await self.check_helo_needed() or await self.check_auth_needed("DATA"):
            return
        assert self.envelope is not None
        if not self.envelope.rcpt_tos:
            await self.push("503 Error: need RCPT command")
        elif arg:
            await self.push("501 Syntax: DATA")
        else:
            await self.push("354 End data with <CR><LF>.<CR><LF>")
            await self._take_data(self.envelope)

    async def _take_data(self, envelope: Any) -> None:
        max_bytes = self._room.max_bytes
        data = DataReader(
            max_bytes=max_bytes,
            max_lines=max_lines(max_bytes),
            max_line_bytes=self.line_length_limit,
        )
        rest = data.feed(await _take_all(self._reader))
        if rest is None:
            # From here on the data is content, which bypasses the library.
            self._data, self._data_ended = data, asyncio.get_running_loop().create_future()
            try:
                await self._data_ended
            finally:
                self._data = None
        elif rest:
            self._reader.feed_data(rest)
        try:
            envelope.content = data.content()
            status = await self._room.handle_DATA(self, self.session, envelope)
        except IncomingMailRefusedError as refusal:
            status = str(refusal)
        self._set_post_data_state()
        await self.push(status)

    def _feed(self, data: DataReader, piece: bytes) -> None:
        rest = data.feed(piece)
        if rest is not None:
            self._data = None
            super().data_received(rest)
            if not self._data_ended.done():
                self._data_ended.set_result(None)

    @override
    def _set_post_data_state(self) -> None:
        # Received, refused for its size, or abandoned: the mail is no longer buffered.
        super()._set_post_data_state()  # type: ignore[no-untyped-call]
        self.received = 0

    @override
    def eof_received(self) -> bool | None:
        return super().eof_received() if self._is_in else False

    def finish(self) -> None:
        """Close the connection once all responses are sent."""
        self._way.close()

    def abort(self) -> None:
        """Close the connection at once."""
        self._way.abort()


class LmtpSession(SmtpSession, LMTP):
    """The same for LMTP, where each recipient has a response."""

    def __init__(self, room: SessionOwner, **options: Any) -> None:
        super().__init__(room, **options)
        self._recipients = 0
        self._answers_due = 0

    @override
    async def smtp_DATA(self, arg: str) -> None:
        assert self.envelope is not None
        self._recipients = len(self.envelope.rcpt_tos)
        await super().smtp_DATA(arg)

    @override
    async def push(self, status: str | bytes) -> None:
        text = status if isinstance(status, str) else status.decode("ascii", "replace")
        # The library refuses a mail that is too large only once.
        if self._answers_due > text.count("\r\n") + 1:
            text = "\r\n".join([text] * self._answers_due)
        self._answers_due = self._recipients if text.startswith("354") else 0
        await super().push(text)


async def _take_all(reader: asyncio.StreamReader) -> bytes:
    """Take the reader's buffered data without waiting."""
    reader.feed_data(b"\n")  # it would wait if it held nothing
    return (await reader.read(sys.maxsize))[:-1]
