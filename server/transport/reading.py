"""Parse the bytes of a connection into requests, with httptools."""

from typing import Final, Protocol

import httptools

from server.api.response_writer import Headers
from server.transport.limits import MAX_HEAD_BYTES
from server.transport.refusals import HeadTooLargeError, MalformedRequestError
from server.transport.targets import place

_VERSIONS: Final = {"1.0", "1.1"}
_CHUNKED: Final = "chunked"
_LINE_BYTES: Final = 32
"""Overhead that each header counts towards MAX_HEAD_BYTES, as in HTTP/2, to bound their number."""
_NO_TRAILERS: Final = frozenset(
    {
        "authorization",
        "connection",
        "content-encoding",
        "content-length",
        "content-range",
        "content-type",
        "cookie",
        "expect",
        "host",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""Headers for framing, routing, authentication or decoding, which trailers must not hold."""


class Incoming:
    """A request whose head has been received."""

    __slots__ = (
        "headers",
        "is_old",
        "is_whole",
        "keeps_alive",
        "left",
        "method",
        "target",
        "untaken",
    )

    def __init__(
        self,
        method: str,
        target: str,
        headers: Headers,
        *,
        keeps_alive: bool,
        is_old: bool,
    ) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.keeps_alive = keeps_alive
        self.is_old = is_old
        """Whether it is HTTP/1.0."""
        self.untaken = bytearray()
        """Received bytes of the body that the exchange has not taken yet."""
        self.left = int(headers.get("content-length", 0))
        """Remaining bytes of the body, if it has a Content-Length; negative otherwise."""
        self.is_whole = False

    @property
    def has_body(self) -> bool:
        return "content-length" in self.headers or "transfer-encoding" in self.headers

    @property
    def waits(self) -> bool:
        """Whether the client waits for `100 Continue` before it sends the body."""
        return not self.is_old and self.headers.get("expect", "").lower() == "100-continue"


class Sink(Protocol):
    """Receives the parts of requests, in order."""

    def begun(self, incoming: Incoming) -> None: ...

    def came(self, incoming: Incoming, chunk: bytes) -> None: ...

    def ended(self, incoming: Incoming) -> None: ...


class RequestReader:
    """Parse one request after another. After an exception nothing more can be read."""

    __slots__ = (
        "_body_head",
        "_headers",
        "_hosts",
        "_incoming",
        "_parser",
        "_sink",
        "_size",
        "_target",
        "_unreported",
        "is_in_head",
    )

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._begin()

    @property
    def is_between(self) -> bool:
        """Whether no request is partially read."""
        return self._incoming is None and not self.is_in_head

    def feed(self, data: bytes | memoryview) -> None:
        """Parse more data. Raises MalformedRequestError or HeadTooLargeError."""
        self._unreported += len(data)
        rest = data
        while rest:
            rest = self._feed(rest)
        if self._unreported > MAX_HEAD_BYTES:
            # The parser does not report an unfinished header, chunk extension or trailer.
            raise HeadTooLargeError if self.is_in_head else MalformedRequestError

    def end(self) -> None:
        """Stop parsing, and break the reference cycle between parser and reader."""
        del self._parser

    def _feed(self, data: bytes | memoryview) -> bytes | memoryview:
        """Remaining data after a request to upgrade the protocol, which is not granted."""
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            rest = data[upgrade.args[0] :]
            if self._body_head:
                self._begin_with_body()
                return rest
            if self._incoming is not None:
                self.on_message_complete()
            self._begin()
            return rest
        except httptools.HttpParserCallbackError as error:
            raise (error.__context__ or error) from None
        except httptools.HttpParserError:
            raise MalformedRequestError from None
        return b""

    def _begin(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._incoming: Incoming | None = None
        self._body_head = b""
        """The head for a second parser, for a body that this one does not parse (`Upgrade`)."""
        self._clear()

    def _begin_with_body(self) -> None:
        head, self._body_head = self._body_head, b""
        self._parser = httptools.HttpRequestParser(_SkipFirstHead(self))
        self._parser.feed_data(head)

    def _clear(self) -> None:
        self.is_in_head = False
        self._target = b""
        self._headers: dict[str, str] = {}
        self._hosts: list[str] = []
        self._size = 0
        """Size of the head so far."""
        self._unreported = 0
        """Bytes since the message began or a part of its body was reported."""

    def _check_size(self) -> None:
        if self._size > MAX_HEAD_BYTES:
            raise HeadTooLargeError

    # -- what the parser calls

    def on_message_begin(self) -> None:
        self.is_in_head = True
        self._unreported = 0

    def on_url(self, url: bytes) -> None:
        self._target += url
        self._size += len(url)
        self._check_size()

    def on_header(self, name: bytes, value: bytes) -> None:
        self._size += len(name) + len(value) + _LINE_BYTES
        self._check_size()
        key = name.decode("latin-1").lower()
        if self._incoming is not None:
            if key in _NO_TRAILERS:
                raise MalformedRequestError
            return  # trailers are ignored
        text = value.decode("latin-1")
        known = self._headers.get(key)
        if key == "host":
            self._hosts.append(text)
        self._headers[key] = text if known is None else f"{known},{text}"

    def on_headers_complete(self) -> None:
        parser = self._parser
        version = parser.get_http_version()
        method = parser.get_method().decode("latin-1")
        # A CONNECT is followed by tunnelled data, neither a request nor a body.
        if version not in _VERSIONS or method == "CONNECT":
            raise MalformedRequestError
        # A proxy may interpret another list of codings differently (request smuggling).
        if self._headers.get("transfer-encoding", _CHUNKED).lower() != _CHUNKED:
            raise MalformedRequestError
        is_old = version == "1.0"
        if is_old and "transfer-encoding" in self._headers:
            raise MalformedRequestError  # not part of HTTP/1.0: a proxy may have ignored it
        target = self._target.decode("latin-1")
        target, host = place(target, self._hosts, is_old=is_old)
        if host is not None:
            self._headers["host"] = host
        incoming = Incoming(
            method,
            target,
            Headers(self._headers),
            keeps_alive=parser.should_keep_alive(),
            is_old=is_old,
        )
        if parser.should_upgrade() and incoming.has_body:
            self._body_head = _head_of_body(incoming)
        self._clear()
        self._incoming = incoming
        self._sink.begun(incoming)

    def on_body(self, chunk: bytes) -> None:
        assert self._incoming is not None
        self._unreported = 0
        self._incoming.left -= len(chunk)
        self._sink.came(self._incoming, chunk)

    def on_message_complete(self) -> None:
        if self._body_head:
            return  # a parser that sees an upgrade reports the end without the body
        incoming, self._incoming = self._incoming, None
        self._clear()
        if incoming is not None:
            incoming.is_whole = True
            self._sink.ended(incoming)


def _head_of_body(incoming: Incoming) -> bytes:
    """A head with the same framing of the body, and without an upgrade."""
    length = (
        b"Content-Length: %d" % incoming.left
        if "content-length" in incoming.headers
        else b"Transfer-Encoding: chunked"
    )
    return b"POST / HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n\r\n"


class _SkipFirstHead:
    """Forward a parser's callbacks to a reader, except those of the first head."""

    __slots__ = ("_is_skipped", "_reader")

    def __init__(self, reader: RequestReader) -> None:
        self._reader = reader
        self._is_skipped = False

    def on_message_begin(self) -> None:
        if self._is_skipped:
            self._reader.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._is_skipped:
            self._reader.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_skipped:
            self._reader.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_skipped:
            self._reader.on_headers_complete()
        self._is_skipped = True

    def on_body(self, chunk: bytes) -> None:
        self._reader.on_body(chunk)

    def on_message_complete(self) -> None:
        self._reader.on_message_complete()
