"""Random bytes that look like HTTP, and what a connection of our own server makes of them."""

import asyncio
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from random import Random
from typing import Any, cast

from server.api.response_writer import HttpExchange, ResponseWriter
from server.transport.read_throttle import ReadThrottle
from server.transport.server import HttpServer

LINES = [
    b"GET / HTTP/1.1",
    b"POST /a?b=c HTTP/1.1",
    b"HEAD / HTTP/1.0",
    b"PUT /x HTTP/1.1",
    b"OPTIONS * HTTP/1.1",
    b"CONNECT a:1 HTTP/1.1",
    b"GET / HTTP/0.9",
    b"G\0T / HTTP/1.1",
    b"GET http://y/a HTTP/1.1",
]
HEADERS = [
    b"Host: x",
    b"Content-Length: 5",
    b"Content-Length: 0",
    b"Content-Length: 5, 5",
    b"Content-Length: 99999999999999999999",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"transfer-encoding : chunked",
    b"Connection: close",
    b"Connection: keep-alive",
    b"Connection: Upgrade",
    b"Upgrade: websocket",
    b"Expect: 100-continue",
    b" folded",
    b"A: \xc3\xa4",
    b"A: b\0c",
    b": x",
    b"Host: y, x",
    b"A" * 300 + b": " + b"b" * 3_000,
]
BODIES = [
    b"hello",
    b"5\r\nhello\r\n0\r\n\r\n",
    b"5;a=b\r\nhello\r\n",
    b"0\r\nTrailer: x\r\n\r\n",
    b"FFFFFFFFFFFFFFFFF\r\n",
    b"-1\r\n",
    b"",
]
CHUNKS = b"5;a=b\r\nhello\r\n3\r\nyou\r\n0\r\nA: b\r\n\r\n"
RIGHT = [
    b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n",
    b"\r\nHEAD /a HTTP/1.1\r\nHost: x\r\nA: b\r\na: c\r\n\r\n",
    b"GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello",
    b"POST http://y:1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nh",
    b"PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n" + b"hello" * 1_800,
    b"PUT /a HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
    b"GET /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
]
ENDS = [b"\r\n", b"\n", b"\r", b"\r\n\r\n"]


def random_bytes(random: Random) -> bytes:
    """Some requests, mostly well made, some of them damaged."""
    parts: list[bytes] = []
    for _ in range(random.randint(1, 4)):
        if random.random() < 0.7:
            parts.append(random.choice(RIGHT))
            continue
        end = b"\r\n" if random.random() < 0.9 else random.choice(ENDS)
        lines = [random.choice(LINES[:4] if random.random() < 0.9 else LINES)]
        lines += random.choices(HEADERS, k=random.randint(0, 4))
        parts += [end.join(lines), end * 2, random.choice(BODIES)]
    data = bytearray(b"".join(parts))
    for _ in range(random.choice([0, 0, 1, 3])):
        place = random.randrange(len(data))
        if random.random() < 0.5:
            data[place] = random.randrange(256)
        else:
            del data[place : place + random.randint(1, 8)]
        if not data:
            return b"\0"
    return bytes(data)


class Paper:
    """A transport that keeps what is written, and says when it is closed."""

    def __init__(self, *, halves: bool = False) -> None:
        self.written = bytearray()
        self.is_closed = self.is_paused = self.is_ended = False
        self._halves = halves

    def write(self, data: bytes) -> None:
        assert not self.is_closed, "written after the end"
        assert not self.is_ended, "written behind the end"
        self.written += data

    def can_write_eof(self) -> bool:
        return self._halves

    def write_eof(self) -> None:
        assert not self.is_ended, "ended twice"
        self.is_ended = True

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, _name: str) -> None:
        return None


class EchoExchange:
    """An exchange that answers at once with the request."""

    def __init__(self, writer: ResponseWriter) -> None:
        self._writer = writer
        self._body = b""

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None:
        assert all(isinstance(value, str) for value in headers.values())
        self._asked = f"{method} {target}".encode("latin-1")
        self._is_head = method == "HEAD"

    def data_received(self, chunk: bytes) -> asyncio.Future[None] | None:
        self._body += chunk
        return None

    def finish(self) -> None:
        body = self._asked + b"|" + self._body
        lines = [("Content-Length", str(len(body))), ("To", "HEAD" if self._is_head else "any")]
        self._writer.respond(200, lines, b"" if self._is_head else body, is_last=False)

    def on_connection_close(self) -> None:
        pass


def new_server() -> HttpServer:
    """A server that does not listen and that throttles no reads."""
    server = HttpServer(cast(Any, lambda writer: cast(HttpExchange, EchoExchange(writer))))
    server.read_throttle = ReadThrottle()
    return server


def answers(server: HttpServer, pieces: Iterable[bytes]) -> tuple[bytes, bool]:
    """All that a new connection writes when these bytes come; and whether it has closed."""
    paper = Paper()
    connection = server.connection()
    connection.connection_made(cast(Any, paper))
    for piece in pieces:
        if paper.is_closed:
            break
        assert not paper.is_paused, "all has been answered, so more may come"
        connection.data_received(piece)
    connection.connection_lost(None)
    return bytes(paper.written), paper.is_closed


PIECE = b"piece"
HEAD = re.compile(rb"HTTP/1\.1 (\d\d\d) [^\r\n]+\r\n((?:[\w-]+: [^\r\n]*\r\n)*)\r\n")
LENGTH = re.compile(rb"Content-Length: (\d+)")
PIECES = re.compile(rb"(?:5\r\npiece\r\n)*(?:0\r\n\r\n)?")


def check_answers(written: bytes) -> tuple[list[int], bool]:
    """Check that the bytes are HTTP responses in a row, of which only the last may be cut.

    The statuses of the answers, and whether the last has no end, or none but the connection's.
    """
    rest = written
    statuses: list[int] = []
    while rest:
        head = HEAD.match(rest)
        assert head is not None, written
        rest = rest[head.end() :]
        if head[1] == b"100":
            continue
        statuses.append(int(head[1]))
        length = LENGTH.search(head[2])
        if length is not None:
            rest = rest if b"To: HEAD" in head[2] else rest[int(length[1]) :]
        elif b"chunked" in head[2]:
            pieces = cast(re.Match[bytes], PIECES.match(rest))[0]
            rest = rest[len(pieces) :]
            if not pieces.endswith(b"0\r\n\r\n"):
                assert rest == b"", written
                return statuses, True
        else:
            assert b"Connection: close" in head[2]
            assert rest == PIECE * (len(rest) // len(PIECE)), written
            return statuses, True
    return statuses, False


def check(server: HttpServer, data: bytes, random: Random) -> None:
    """Nothing is raised, what is written is HTTP, and it does not matter how the bytes are cut."""
    whole = answers(server, [data])
    check_answers(whole[0])
    cuts = sorted({0, len(data), *[random.randrange(len(data) + 1) for _ in range(3)]})
    cut = answers(server, [data[a:b] for a, b in pairwise(cuts)])
    assert cut == whole, (cuts, cut, whole)
