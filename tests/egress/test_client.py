"""The way out, against web servers that mean no good."""

import asyncio
import gzip
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import pytest
import pytest_asyncio

from server.egress import (
    Egress,
    EgressError,
    EgressRefusedError,
    HostUnreachableError,
    Limits,
    ResponseTooLargeError,
    TooSlowError,
)
from server.egress.client import MAX_HEADER_BYTES
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.settings.network_types import Destinations, Ports
from testkit.clients.raw_sockets import until
from testkit.services.mail_server import Certificate
from testkit.services.web_server import Answering, Received, Web, answering, web_at

pytestmark = pytest.mark.asyncio

HERE, THERE = "127.0.0.1", "127.0.0.2"
FEW = Limits(seconds=60.0, silence_seconds=60.0, redirects=3)
KIB = 1024


class Names:
    """A resolver with other answers to each question."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, host: str, _port: int) -> Sequence[str]:
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def egress(resolve: Any = None, **parts: Any) -> Egress:
    """One that may go to HERE, and nowhere else in private networks."""
    allowed = parts.pop("allowed", f"{HERE}/32")
    guard = Guard(Destinations(allowed), Ports("80,443"))
    return Egress(guard, resolve or SystemResolver(), **parts)


@pytest_asyncio.fixture
async def web() -> AsyncIterator[Web]:
    async with web_at(HERE) as web:
        yield web


def raw(*pieces: bytes, pause: float = 0.0) -> Answering:
    """What is written piece by piece, whether it is HTTP or not; the last piece for ever."""

    async def answer(_: Received, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        while pause:
            await asyncio.sleep(pause)
            writer.write(pieces[-1])
            await writer.drain()

    return answer


async def fails(web: Web, expected: type[EgressError], answer: Answering, **limits: Any) -> str:
    web.answers = [answer]
    with pytest.raises(expected) as caught:
        await egress().fetch("GET", web.url(), limits=Limits(**limits))
    assert type(caught.value) is expected
    return str(caught.value)


async def test_an_ordinary_answer(web):
    web.answers = [answering(201, "tea", X_Kind="green")]
    answer = await egress().fetch("POST", web.url("/a?b=1"), headers={"X-Own": "1"}, body=b"milk")
    assert (answer.status, answer.body, answer.headers["x-kind"]) == (201, b"tea", "green")
    [request] = web.requests
    assert (request.method, request.target, request.body) == ("POST", "/a?b=1", b"milk")
    assert request.headers["host"] == f"{HERE}:{web.port}"
    assert set(request.headers) == {"host", "accept-encoding", "x-own", "content-length"}


async def test_a_private_network_is_never_connected_to(web):
    async with web_at(THERE) as private:
        for url in (private.url(), f"http://2130706434:{private.port}/", private.url(host="x.y")):
            with pytest.raises(EgressRefusedError, match="private network"):
                await egress(Names([THERE])).fetch("GET", url)
    assert private.connections == 0


async def test_the_system_is_asked_where_a_name_leads(web):
    with pytest.raises(EgressRefusedError, match="private network"):
        await egress(allowed="10.0.0.0/8").fetch("GET", web.url(host="localhost"))
    with pytest.raises(HostUnreachableError, match=r"no host nowhere\.invalid"):
        await egress().fetch("GET", "http://nowhere.invalid/")
    assert web.connections == 0


async def test_a_name_is_resolved_once_and_its_address_kept(web):
    """A resolver that answers differently the second time is not asked a second time."""
    async with web_at(THERE) as private:
        names = Names([HERE], [THERE])
        answer = await egress(names).fetch("GET", web.url(host="rebinding.example"))
        assert answer.status == 200
        assert names.asked == ["rebinding.example"]
    assert private.connections == 0
    [request] = web.requests
    assert request.headers["host"] == f"rebinding.example:{web.port}"


async def test_of_several_addresses_one_that_is_private_spoils_all(web):
    with pytest.raises(EgressRefusedError, match="private network"):
        await egress(Names([HERE, THERE])).fetch("GET", web.url(host="both.example"))
    assert web.connections == 0


async def test_the_next_address_is_tried_after_one_that_does_not_answer(web):
    allowed = f"{HERE}/32, 127.0.0.9/32"
    names = Names(["127.0.0.9", HERE])
    answer = await egress(names, allowed=allowed).fetch("GET", web.url(host="two.example"))
    assert answer.status == 200


async def test_each_redirect_is_looked_at(web):
    async with web_at(THERE) as private:
        for location in (
            private.url(),
            f"//{THERE}:{private.port}/",
            f"http://u:p@{HERE}:{web.port}/",
            "file:///etc/passwd",
            "http://169.254.169.254/latest/meta-data/",
            "http://[::ffff:127.0.0.2]/",
            "http://[",
        ):
            web.answers = [answering(302, Location=location)]
            with pytest.raises(EgressRefusedError):
                await egress().fetch("GET", web.url(), limits=FEW)
    assert private.connections == 0


async def test_a_redirect_is_followed_without_what_it_set(web):
    web.answers = [
        answering(301, Location="/next?a=b", Set_Cookie="a=b"),
        answering(200, "there"),
    ]
    answer = await egress().fetch("GET", web.url("/first"), limits=FEW)
    assert (answer.body, answer.url) == (b"there", web.url("/next?a=b"))
    assert [request.target for request in web.requests] == ["/first", "/next?a=b"]
    assert "cookie" not in web.requests[1].headers


async def test_redirects_end(web):
    web.answers = [answering(302, Location="/again")]
    with pytest.raises(EgressRefusedError, match="more than 3 times"):
        await egress().fetch("GET", web.url(), limits=FEW)
    assert len(web.requests) == 4
    assert (await egress().fetch("GET", web.url())).status == 302


async def test_a_dripping_server_is_left(web):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"
    for answer in (
        raw(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n", pause=0.02),
        raw(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.02),
        raw(head, b"x", pause=0.02),
    ):
        assert "0.4 seconds" in await fails(web, TooSlowError, answer, seconds=0.4)
    await fails(web, TooSlowError, raw(head, b"", pause=1), silence_seconds=0.1)


async def test_the_time_is_for_all_redirects_together(web):
    async def late(_: Received, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.15)
        await answering(302, Location="/again")(_, writer)

    await fails(web, TooSlowError, late, seconds=0.4, redirects=50)


async def test_a_server_that_does_not_accept_is_left():
    """A listener with a full queue does not answer."""
    with pytest.raises(TooSlowError):
        await egress(_never).fetch("GET", "http://example.com/", limits=Limits(connect_seconds=0.1))


async def _never(host: str, port: int) -> Sequence[str]:
    await asyncio.sleep(60)
    return []


async def test_a_body_is_bounded(web):
    for answer in (
        answering(200, b"x" * 65 * KIB),
        raw(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * KIB, pause=0.0001),
    ):
        assert "65536 bytes" in await fails(web, ResponseTooLargeError, answer, max_bytes=64 * KIB)
        cut = Limits(max_bytes=64 * KIB, may_cut=True)
        assert (await egress().fetch("GET", web.url(), limits=cut)).body == b"x" * 64 * KIB


async def streamed(web: Web, **limits: Any) -> bytes:
    async with egress().stream("GET", web.url(), limits=Limits(**limits)) as response:
        return b"".join([piece async for piece in response.pieces])


async def test_content_of_any_size_comes_in_pieces(web):
    content = bytes(range(256)) * 4 * KIB
    web.answers = [answering(200, content)]
    async with egress().stream("GET", web.url(), limits=Limits(max_bytes=len(content))) as answer:
        assert (answer.status, answer.url) == (200, web.url())
        pieces = [piece async for piece in answer.pieces]
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= 64 * KIB
    web.answers = [answering(302, Location=web.url("/there"))]
    assert await streamed(web, redirects=3) == b""
    assert len(web.requests) == 2


async def test_content_that_comes_in_pieces_is_bounded(web):
    web.answers = [answering(200, b"x" * KIB)]
    with pytest.raises(ResponseTooLargeError):
        await streamed(web, max_bytes=KIB - 1)
    web.answers = [answering(200, gzip.compress(b"x"), Content_Encoding="gzip")]
    with pytest.raises(HostUnreachableError, match="encoding"):
        await streamed(web)
    web.answers = [raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx")]
    with pytest.raises(HostUnreachableError):
        await streamed(web)
    web.answers = [raw(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b"x", pause=0.02)]
    with pytest.raises(TooSlowError, match="within"):
        await streamed(web, seconds=0.3)
    async with web_at(THERE) as private:
        with pytest.raises(EgressRefusedError, match="private network"):
            await streamed(private)
    assert private.connections == 0


async def test_a_bomb_does_not_go_off(web):
    bomb = gzip.compress(bytes(64 * 1024 * KIB), compresslevel=9)
    answer = answering(200, bomb, Content_Encoding="gzip")
    await fails(web, ResponseTooLargeError, answer, max_bytes=256 * KIB)
    cut = Limits(max_bytes=256 * KIB, may_cut=True)
    assert (await egress().fetch("GET", web.url(), limits=cut)).body == bytes(256 * KIB)


async def test_what_was_packed_is_unpacked(web):
    web.answers = [answering(200, gzip.compress(b"tea"), Content_Encoding="GZIP")]
    assert (await egress().fetch("GET", web.url())).body == b"tea"
    for encoding, body in (("gzip", b"tea"), ("br", b"tea"), ("gzip, gzip", b"tea")):
        await fails(web, HostUnreachableError, answering(200, body, Content_Encoding=encoding))


async def test_headers_are_bounded(web):
    large = raw(b"HTTP/1.1 200 OK\r\nX: %b\r\n\r\n" % (b"x" * (MAX_HEADER_BYTES + 1)))
    await fails(web, ResponseTooLargeError, large)
    endless = raw(b"HTTP/1.1 200 OK\r\n", b"X: " + b"x" * 8000 + b"\r\n", pause=0.0001)
    await fails(web, HostUnreachableError, endless)


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"\0\1\2\3" * 100,
    ],
)
async def test_what_is_not_http_is_no_answer(web, said):
    await fails(web, HostUnreachableError, raw(said))


async def test_a_closed_port_is_unreachable():
    async with web_at(HERE) as web:
        pass
    with pytest.raises(HostUnreachableError):
        await egress().fetch("GET", web.url())


async def test_certificates_are_checked(certificate: Certificate):
    async with web_at(HERE, tls=certificate.server) as web:
        answer = await egress(trust=certificate.client).fetch("GET", web.url())
        assert answer.status == 200
        with pytest.raises(HostUnreachableError, match=r"(?i)certificate"):
            await egress().fetch("GET", web.url())
        named = egress(Names([HERE]), trust=certificate.client)
        with pytest.raises(HostUnreachableError, match=r"(?i)mismatch"):
            await named.fetch("GET", web.url(host="other.example"))
    assert len(web.requests) == 1


KEPT = Limits(seconds=60.0, silence_seconds=60.0, max_bytes=KIB, may_cut=True, keep_alive=True)


def many(*bodies: bytes, ends: bool = False) -> Answering:
    """Answer as many requests of a connection as there are bodies; then end it, or keep it."""

    async def answer(received: Received, writer: asyncio.StreamWriter) -> None:
        for number, body in enumerate(bodies):
            if number:
                await received.rest.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
            await writer.drain()
        if not ends:
            await received.rest.read()

    return answer


async def test_a_connection_is_kept_on_request(web):
    web.answers = [many(b"one", b"two"), many(b"three", ends=True), many(b"four")]
    client = egress()
    answers = [await client.fetch("GET", web.url(), limits=KEPT) for _ in range(2)]
    assert web.connections == 1
    for _ in range(2):
        answers.append(await client.fetch("GET", web.url()))
        assert answers[-1].status == 200
    assert web.connections == 3
    assert [answer.body for answer in answers] == [b"one", b"two", b"three", b"four"]
    await client.close()


async def test_a_kept_connection_that_was_ended_is_opened_again(web):
    web.answers = [many(b"one", ends=True), many(b"two")]
    client = egress()
    assert (await client.fetch("GET", web.url(), limits=KEPT)).body == b"one"
    await until(lambda: web.open == 0)
    assert (await client.fetch("GET", web.url(), limits=KEPT)).body == b"two"
    assert web.connections == 2
    await client.close()


async def test_a_connection_with_the_rest_of_an_answer_is_not_kept(web):
    web.answers = [many(b"x" * 4 * KIB), many(b"two")]
    client = egress()
    assert len((await client.fetch("GET", web.url(), limits=KEPT)).body) == KIB
    assert (await client.fetch("GET", web.url(), limits=KEPT)).body == b"two"
    assert web.connections == 2
    await client.close()


async def test_each_origin_has_connections_of_its_own():
    async with web_at(HERE, many(b"one", b"wrong")) as one, web_at(HERE, many(b"other")) as other:
        client = egress()
        assert (await client.fetch("GET", one.url(), limits=KEPT)).body == b"one"
        assert (await client.fetch("GET", other.url(), limits=KEPT)).body == b"other"
        await client.close()


async def test_nothing_of_the_environment_leads_elsewhere(web, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert (await egress().fetch("GET", web.url())).status == 200


# -- through a proxy


async def test_a_proxy_is_asked_for_names_and_not_for_private_addresses(web):
    names = Names([THERE])
    proxied = egress(names, proxy=f"http://u%40:p@{HERE}:{web.port}", allowed="")
    web.answers = [answering(200, "by proxy")]
    assert (await proxied.fetch("GET", "http://example.com/x")).body == b"by proxy"
    for address in ("169.254.169.254", "[::1]", "2130706433"):
        with pytest.raises(EgressRefusedError):
            await proxied.fetch("GET", f"http://{address}/")
    [request] = web.requests
    assert request.target == "http://example.com/x"
    assert request.headers["proxy-authorization"] == "Basic dUA6cA=="
    assert names.asked == []


async def test_a_proxy_makes_tunnels_for_https(certificate: Certificate):
    async with web_at(HERE, tls=certificate.server) as behind, web_at(HERE) as proxy:

        async def tunnel(connect: Received, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
            reader, onward = await asyncio.open_connection(*connect.target.split(":"))
            async with asyncio.TaskGroup() as group:
                group.create_task(_pour(connect.rest, onward))
                group.create_task(_pour(reader, writer))

        proxy.answers = [tunnel]
        proxied = egress(proxy=f"http://{HERE}:{proxy.port}", trust=certificate.client)
        assert (await proxied.fetch("GET", behind.url("/secret"))).status == 200
        assert [(r.method, r.target) for r in proxy.requests] == [
            ("CONNECT", f"{HERE}:{behind.port}")
        ]
        assert [r.target for r in behind.requests] == ["/secret"]

        proxy.answers = [answering(403)]
        with pytest.raises(HostUnreachableError, match="403"):
            await proxied.fetch("GET", behind.url())


async def _pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await reader.read(4096):
            writer.write(piece)
        writer.close()
