"""From the bytes of a connection to requests, by httptools."""

from typing import Final, Protocol

import httptools

from server.api.response_writer import Headers
from server.transport.limits import MAX_HEAD_BYTES
from server.transport.refusals import HeadTooLargeError, MalformedRequestError
from server.transport.targets import place

_VERSIONS: Final = {"1.0", "1.1"}
_CHUNKED: Final = "chunked"
_LINE_BYTES: Final = 32
"""What a header counts beside its name and value, so that there are not too many: as in HTTP/2."""
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
"""What says where a message ends, whom it is for, who sent it or how it is read: too late there."""


class Incoming:
    """One request, of which the head is there."""

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
        """What has come of the body, and nobody has taken."""
        self.left = int(headers.get("content-length", 0))
        """What has yet to come of it, if it was said how long it is; less than nothing if not."""
        self.is_whole = False

    @property
    def has_body(self) -> bool:
        return "content-length" in self.headers or "transfer-encoding" in self.headers

    @property
    def waits(self) -> bool:
        """Whether its client waits to be told to send the body."""
        return not self.is_old and self.headers.get("expect", "").lower() == "100-continue"


class Sink(Protocol):
    """Is told what comes, in its order."""

    def begun(self, incoming: Incoming) -> None: ...

    def came(self, incoming: Incoming, chunk: bytes) -> None: ...

    def ended(self, incoming: Incoming) -> None: ...


class RequestReader:
    """Reads requests one after another. Once it has raised, nothing more can be read."""

    __slots__ = (
        "_body_head",
        "_headers",
        "_hosts",
        "_incoming",
        "_parser",
        "_sink",
        "_size",
        "_target",
        "_untold",
        "is_in_head",
    )

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._begin()

    @property
    def is_between(self) -> bool:
        """Whether nothing of a request has been read of which more has to come."""
        return self._incoming is None and not self.is_in_head

    def feed(self, data: bytes | memoryview) -> None:
        """Read on. Raises MalformedRequestError or HeadTooLargeError."""
        self._untold += len(data)
        rest = data
        while rest:
            rest = self._feed(rest)
        if self._untold > MAX_HEAD_BYTES:
            # Of a header, a chunk's extension or a trailer whose end does not come nothing is told.
            raise HeadTooLargeError if self.is_in_head else MalformedRequestError

    def end(self) -> None:
        """Read nothing more, and be no garbage: the parser knows of its reader."""
        del self._parser

    def _feed(self, data: bytes | memoryview) -> bytes | memoryview:
        """What is left of the data when a request asks for another protocol, and gets this one."""
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
        """What another parser is told of the body that this one would not take."""
        self._clear()

    def _begin_with_body(self) -> None:
        head, self._body_head = self._body_head, b""
        self._parser = httptools.HttpRequestParser(_Behind(self))
        self._parser.feed_data(head)

    def _clear(self) -> None:
        self.is_in_head = False
        self._target = b""
        self._headers: dict[str, str] = {}
        self._hosts: list[str] = []
        self._size = 0
        """Of the head, as far as it has been told."""
        self._untold = 0
        """Bytes that came since something began or a piece of a body was told."""

    def _check_size(self) -> None:
        if self._size > MAX_HEAD_BYTES:
            raise HeadTooLargeError

    # -- what the parser calls

    def on_message_begin(self) -> None:
        self.is_in_head = True
        self._untold = 0

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
            return  # a trailer: nobody has asked for any
        text = value.decode("latin-1")
        known = self._headers.get(key)
        if key == "host":
            self._hosts.append(text)
        self._headers[key] = text if known is None else f"{known},{text}"

    def on_headers_complete(self) -> None:
        parser = self._parser
        version = parser.get_http_version()
        method = parser.get_method().decode("latin-1")
        # Behind a CONNECT comes what its client takes for a tunnel: no request, and no body.
        if version not in _VERSIONS or method == "CONNECT":
            raise MalformedRequestError
        # Others may understand another list of codings in another way, and find other requests.
        if self._headers.get("transfer-encoding", _CHUNKED).lower() != _CHUNKED:
            raise MalformedRequestError
        is_old = version == "1.0"
        if is_old and "transfer-encoding" in self._headers:
            raise MalformedRequestError  # it knows of none: who passed it on may not have either
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
        self._untold = 0
        self._incoming.left -= len(chunk)
        self._sink.came(self._incoming, chunk)

    def on_message_complete(self) -> None:
        if self._body_head:
            return  # so it seems to a parser that takes the body for another protocol
        incoming, self._incoming = self._incoming, None
        self._clear()
        if incoming is not None:
            incoming.is_whole = True
            self._sink.ended(incoming)


def _head_of_body(incoming: Incoming) -> bytes:
    """A head that says the same of how long the body is, and asks for no other protocol."""
    length = (
        b"Content-Length: %d" % incoming.left
        if "content-length" in incoming.headers
        else b"Transfer-Encoding: chunked"
    )
    return b"POST / HTTP/1.1\r\nHost: x\r\n" + length + b"\r\n\r\n"


class _Behind:
    """Tells a reader all that a parser hears behind the first head."""

    __slots__ = ("_is_behind", "_reader")

    def __init__(self, reader: RequestReader) -> None:
        self._reader = reader
        self._is_behind = False

    def on_message_begin(self) -> None:
        if self._is_behind:
            self._reader.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if self._is_behind:
            self._reader.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_behind:
            self._reader.on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_behind:
            self._reader.on_headers_complete()
        self._is_behind = True

    def on_body(self, chunk: bytes) -> None:
        self._reader.on_body(chunk)

    def on_message_complete(self) -> None:
        self._reader.on_message_complete()
