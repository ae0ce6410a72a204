"""From bytes to requests, however they are cut."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.domain.errors import DomainError
from server.transport.limits import MAX_HEAD_BYTES
from server.transport.reading import Incoming, RequestReader
from server.transport.refusals import HeadTooLargeError, MalformedRequestError

PIPELINED = (
    b"\r\nGET /a?b=c HTTP/1.1\r\nHost: x\r\nA: 1\r\na: 2\r\n\r\n"
    b"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
    b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    b"GET /d HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
    b"PUT http://y:1?b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"0\r\nA: b\r\nSum: 1\r\n\r\n"
    b"GET /e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
)


class Heard:
    """A sink that keeps what it is told."""

    def __init__(self) -> None:
        self.requests: list[Incoming] = []

    def begun(self, incoming: Incoming) -> None:
        self.requests.append(incoming)

    def came(self, incoming: Incoming, chunk: bytes) -> None:
        assert incoming is self.requests[-1]
        incoming.untaken += chunk

    def ended(self, incoming: Incoming) -> None:
        assert incoming is self.requests[-1]


def told(heard: Heard) -> list[tuple[str, str, bytes, bool, bool]]:
    return [
        (each.method, each.target, bytes(each.untaken), each.keeps_alive, each.is_whole)
        for each in heard.requests
    ]


def read(*pieces: bytes) -> Heard:
    heard = Heard()
    feed(RequestReader(heard), pieces)
    return heard


def feed(reader: RequestReader, pieces: Sequence[bytes]) -> None:
    for piece in pieces:
        reader.feed(piece)


@given(st.lists(st.integers(0, len(PIPELINED)), max_size=12))
def test_the_same_requests_come_of_it_however_it_is_cut(places):
    cuts = [0, *sorted(places), len(PIPELINED)]
    heard = read(*[PIPELINED[a:b] for a, b in pairwise(cuts) if a < b])
    assert told(heard) == [
        ("GET", "/a?b=c", b"", True, True),
        ("POST", "/b", b"hello", True, True),
        ("GET", "/ws", b"", True, True),
        ("POST", "/c", b"abcde", True, True),
        ("GET", "/d", b"", True, True),
        ("PUT", "/?b", b"", True, True),
        ("GET", "/e", b"", False, True),
    ]
    assert heard.requests[0].headers["A"] == "1,2"
    assert [each.is_old for each in heard.requests] == [False] * 4 + [True, False, False]
    hosts = [each.headers.get("host") for each in heard.requests]
    assert hosts == ["x", "x", "x", "x", None, "y:1", "x"]
    assert "A" not in heard.requests[5].headers


@pytest.mark.parametrize("step", [1, 1_000, 70_000])
@pytest.mark.parametrize(
    "begin",
    [
        b"GET /",
        b"GET / HTTP/1.1\r\nHost: x\r\nA: ",
        b"GET / HTTP/1.1\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;",
        b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n5;x=",
    ],
)
def test_what_has_no_end_is_given_up(begin, step):
    filling = b"A: b\r\n" if begin.endswith(b"\n") else b"x"
    reader = RequestReader(Heard())
    piece = filling * max(1, step // len(filling))
    pieces = [begin, *[piece] * (MAX_HEAD_BYTES // len(piece) + 2)]
    with pytest.raises(DomainError) as caught:
        feed(reader, pieces)
    assert caught.value.status in (400, 431)


@given(st.lists(st.integers(0, 50_000), max_size=12))
def test_a_large_head_is_as_large_however_it_is_cut(places):
    body = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000
    large = b"GET /b HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 50_000 + b"\r\n\r\n"
    cuts = [0, *[len(body) + each for each in sorted(places)], len(body + large)]
    heard = read(*[(body + large)[a:b] for a, b in pairwise(cuts) if a < b])
    assert [each.target for each in heard.requests] == ["/a", "/b"]
    assert all(each.is_whole for each in heard.requests)


def test_there_are_not_too_many_headers():
    lines = b"".join([b"%x:\r\n" % number for number in range(3_000)])
    assert len(lines) < MAX_HEAD_BYTES
    with pytest.raises(HeadTooLargeError):
        read(b"GET / HTTP/1.1\r\n" + lines + b"\r\n")


def test_of_a_tunnel_nothing_is_read():
    heard = Heard()
    with pytest.raises(MalformedRequestError):
        RequestReader(heard).feed(
            b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello"
        )
    assert heard.requests == []


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x, y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x/y\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a@x\r\n\r\n",
        b"GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET http://x/ HTTP/1.1\r\n\r\n",
    ],
)
def test_there_is_one_host_and_it_is_one(sent):
    heard = Heard()
    with pytest.raises(MalformedRequestError):
        RequestReader(heard).feed(sent)
    assert heard.requests == []


def test_an_old_request_has_no_coding():
    heard = Heard()
    head = b"POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with pytest.raises(MalformedRequestError):
        RequestReader(heard).feed(head + b"0\r\n\r\n")
    assert heard.requests == []


@pytest.mark.parametrize("name", ["Content-Length", "transfer-encoding", "Host", "Authorization"])
def test_what_has_to_be_known_before_the_body_is_no_trailer(name):
    heard = Heard()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    with pytest.raises(MalformedRequestError):
        RequestReader(heard).feed(head + b"0\r\n" + name.encode() + b": 5\r\n\r\n")
    assert not heard.requests[0].is_whole


BODIES = {
    b"Content-Length: 2\r\n\r\nab": b"ab",
    b"Content-Length: 0\r\n\r\n": b"",
    b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\nX: y\r\n\r\n": b"ab",
    b"\r\n": b"",
}


@pytest.mark.parametrize("rest", BODIES)
def test_who_asks_for_another_protocol_and_sends_a_body_is_answered_with_this_one(rest):
    asked = b"POST /a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n" + rest
    sent = asked + asked.replace(b"/a", b"/b") + b"GET /c HTTP/1.1\r\nHost: x\r\n\r\n"
    for size in range(1, len(sent) + 1):
        heard = Heard()
        reader = RequestReader(heard)
        for at in range(0, len(sent), size):
            reader.feed(sent[at : at + size])
        body = BODIES[rest]
        assert [(each.target, bytes(each.untaken)) for each in heard.requests] == [
            ("/a", body),
            ("/b", body),
            ("/c", b""),
        ]
        assert all(each.is_whole for each in heard.requests)
        assert reader.is_between


def test_of_an_upgrade_no_body_is_taken_for_a_request():
    heard = Heard()
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n"
    hidden = b"GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    RequestReader(heard).feed(head + b"Content-Length: %d\r\n\r\n" % len(hidden) + hidden)
    assert [(each.target, bytes(each.untaken)) for each in heard.requests] == [("/", hidden)]


def test_whether_something_of_a_request_is_there():
    reader = RequestReader(Heard())
    states = []
    for piece in (b"\r\n", b"GE", b"T / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"):
        reader.feed(piece)
        states.append((reader.is_between, reader.is_in_head))
    for piece in (b"\r\n", b"a", b"b"):
        reader.feed(piece)
        states.append((reader.is_between, reader.is_in_head))
    assert states == [
        (True, False),
        (False, True),
        (False, True),
        (False, False),
        (False, False),
        (True, False),
    ]
