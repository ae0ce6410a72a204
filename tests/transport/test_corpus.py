"""What is wrong on the wire: our own server answers as Tornado's does, or with a clean 400."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from testkit.clients.api import basic
from testkit.clients.raw_sockets import connected

pytestmark = pytest.mark.asyncio

GET = b"GET /api/v1/users/me HTTP/1.1\r\n"
POST = b"POST /api/v1/messages/flags HTTP/1.1\r\nHost: {host}\r\nAuthorization: {auth}\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
FLAGS = b"op=add&flag=read&messages=[]"
SMUGGLED = b"GET /api/v1/server_settings HTTP/1.1\r\nHost: {host}\r\n\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"
KEYS = b"Host: {host}\r\nAuthorization: {auth}\r\n"

CORPUS = {
    # lengths that contradict each other
    "length and chunked": POST
    + FORM
    + b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nG"
    + SMUGGLED,
    "chunked and length": POST
    + FORM
    + b"Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\nG"
    + SMUGGLED,
    "two lengths": POST + FORM + b"Content-Length: 0\r\nContent-Length: 28\r\n\r\n" + SMUGGLED,
    "same length twice": POST + FORM + b"Content-Length: 28\r\nContent-Length: 28\r\n\r\n" + FLAGS,
    "list of lengths": POST + FORM + b"Content-Length: 28, 28\r\n\r\n" + FLAGS,
    "length with sign": POST + FORM + b"Content-Length: +28\r\n\r\n" + FLAGS,
    "length in hex": POST + FORM + b"Content-Length: 0x1c\r\n\r\n" + FLAGS,
    "length with blank": POST + FORM + b"Content-Length: 2 8\r\n\r\n" + FLAGS,
    "length with underscore": POST + FORM + b"Content-Length: 2_8\r\n\r\n" + FLAGS,
    "length too large": POST + FORM + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n" + FLAGS,
    "length of thousands of digits": POST
    + FORM
    + b"Content-Length: "
    + b"9" * 5_000
    + b"\r\n\r\n"
    + FLAGS,
    "length with zeros before": POST + FORM + b"Content-Length: 0028\r\n\r\n" + FLAGS,
    "length negative": POST + FORM + b"Content-Length: -1\r\n\r\n" + SMUGGLED,
    "length by another name": POST + FORM + b"Content_Length: 28\r\n\r\n" + SMUGGLED,
    "length folded": POST + FORM + b"Content-Length: 2\r\n 8\r\n\r\n" + FLAGS,
    "length that the connection may drop": POST
    + FORM
    + b"Connection: close, Content-Length\r\nContent-Length: 28\r\n\r\n"
    + FLAGS,
    "body of a GET": GET + KEYS + b"Content-Length: {length}\r\n\r\n" + SMUGGLED,
    "body of a HEAD": GET.replace(b"GET", b"HEAD")
    + KEYS
    + b"Content-Length: 28\r\nConnection: close\r\n\r\n"
    + FLAGS,
    "no length": POST + FORM + b"Content-Length:\r\n\r\n" + FLAGS,
    # codings
    "coding with tab": POST + FORM + b"Transfer-Encoding:\tchunked\r\n\r\n0\r\n\r\n",
    "coding with blank before colon": POST + FORM + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "coding twice": POST
    + FORM
    + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
    "coding not last": POST + FORM + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n",
    "coding unknown": POST + FORM + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "coding with vertical tab": POST + FORM + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "coding folded": POST + FORM + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "coding of an old request": POST.replace(b"1.1", b"1.0")
    + FORM
    + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    + SMUGGLED,
    "coding in capitals": POST + FORM + b"Transfer-Encoding: CHUNKED\r\n\r\n0\r\n\r\n",
    "coding twice the same": POST + FORM + CHUNKED + CHUNKED + b"\r\n0\r\n\r\n" + SMUGGLED,
    "coding listed twice": POST + FORM + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "coding with parameter": POST + FORM + b"Transfer-Encoding: chunked;a=b\r\n\r\n0\r\n\r\n",
    "coding quoted": POST + FORM + b'Transfer-Encoding: "chunked"\r\n\r\n0\r\n\r\n',
    "coding behind nothing": POST + FORM + b"Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n",
    "coding empty": POST + FORM + b"Transfer-Encoding:\r\n\r\n0\r\n\r\n",
    "coding identity and length": POST
    + FORM
    + b"Transfer-Encoding: identity\r\nContent-Length: 28\r\n\r\n"
    + FLAGS,
    "coding behind a null": POST + FORM + b"Transfer-Encoding: \0chunked\r\n\r\n0\r\n\r\n",
    "coding behind a carriage return": POST + FORM + b"A: b\rTransfer-Encoding: chunked\r\n\r\n",
    "coding behind a line feed": POST + FORM + b"A: b\n" + CHUNKED + b"\r\n0\r\n\r\n" + SMUGGLED,
    "coding of a GET": GET + KEYS + CHUNKED + b"\r\n1c\r\n" + FLAGS + b"\r\n0\r\n\r\n" + SMUGGLED,
    # chunks
    "chunk extension": POST + FORM + CHUNKED + b"\r\n1c;a=b\r\n" + FLAGS + LAST_CHUNK,
    "chunk extension quoted": POST + FORM + CHUNKED + b'\r\n1c;a="b;c"\r\n' + FLAGS + LAST_CHUNK,
    "chunk extension with line feed": POST
    + FORM
    + CHUNKED
    + b"\r\n1c;\n"
    + FLAGS
    + LAST_CHUNK
    + SMUGGLED,
    "chunk extension with carriage return": POST
    + FORM
    + CHUNKED
    + b"\r\n1c;\ra\r\n"
    + FLAGS
    + LAST_CHUNK
    + SMUGGLED,
    "chunk extension long": POST
    + FORM
    + CHUNKED
    + b"\r\n1c;"
    + b"a" * 100_000
    + b"\r\n"
    + FLAGS
    + LAST_CHUNK,
    "chunk size behind zeros": POST
    + FORM
    + CHUNKED
    + b"\r\n"
    + b"0" * 30
    + b"1c\r\n"
    + FLAGS
    + LAST_CHUNK,
    "chunk size missing": POST + FORM + CHUNKED + b"\r\n\r\n" + FLAGS + LAST_CHUNK,
    "chunk size missing before extension": POST
    + FORM
    + CHUNKED
    + b"\r\n;a\r\n"
    + FLAGS
    + LAST_CHUNK,
    "chunk size with underscore": POST + FORM + CHUNKED + b"\r\n1_c\r\n" + FLAGS + LAST_CHUNK,
    "chunk size with blank behind": POST + FORM + CHUNKED + b"\r\n1c \r\n" + FLAGS + LAST_CHUNK,
    "chunk size negative": POST + FORM + CHUNKED + b"\r\n-1\r\n" + FLAGS + LAST_CHUNK,
    "chunk that ends with something else": POST
    + FORM
    + CHUNKED
    + b"\r\n1c\r\n"
    + FLAGS
    + b"XX0\r\n\r\n"
    + SMUGGLED,
    "chunk that ends with a line feed": POST
    + FORM
    + CHUNKED
    + b"\r\n1c\r\n"
    + FLAGS
    + b"\n0\r\n\r\n"
    + SMUGGLED,
    "last chunk of many zeros": POST + FORM + CHUNKED + b"\r\n1c\r\n" + FLAGS + b"\r\n000\r\n\r\n",
    "last chunk without end": POST + FORM + CHUNKED + b"\r\n0\r\n" + SMUGGLED,
    "last chunk and a line feed": POST + FORM + CHUNKED + b"\r\n0\r\n\n" + SMUGGLED,
    "chunk size with sign": POST + FORM + b"Transfer-Encoding: chunked\r\n\r\n+1c\r\n" + FLAGS,
    "chunk size with prefix": POST + FORM + b"Transfer-Encoding: chunked\r\n\r\n0x1c\r\n" + FLAGS,
    "chunk size with blank": POST + FORM + b"Transfer-Encoding: chunked\r\n\r\n1 c\r\n" + FLAGS,
    "chunk size too large": POST
    + FORM
    + b"Transfer-Encoding: chunked\r\n\r\n1"
    + b"0" * 16
    + b"\r\n"
    + FLAGS,
    "chunk without end": POST
    + FORM
    + b"Transfer-Encoding: chunked\r\n\r\n1c\r\n"
    + FLAGS
    + b"0\r\n\r\n",
    "chunk with bare line feeds": POST
    + FORM
    + b"Transfer-Encoding: chunked\r\n\r\n1c\n"
    + FLAGS
    + b"\n0\n\n",
    "trailer": POST
    + FORM
    + b"Transfer-Encoding: chunked\r\n\r\n1c\r\n"
    + FLAGS
    + b"\r\n0\r\nContent-Length: 5\r\n\r\n",
    "trailer that says nothing": POST
    + FORM
    + CHUNKED
    + b"\r\n1c\r\n"
    + FLAGS
    + b"\r\n0\r\nSum: 5\r\n\r\n"
    + SMUGGLED,
    "trailer without end": POST
    + FORM
    + CHUNKED
    + b"\r\n1c\r\n"
    + FLAGS
    + b"\r\n0\r\nSum: "
    + b"5" * 70_000,
    # heads
    "bare line feeds": b"GET /api/v1/users/me HTTP/1.1\n" + KEYS.replace(b"\r", b"") + b"\n",
    "bare carriage return": GET + b"A: b\rHost: {host}\r\n\r\n",
    "blank before colon": GET + KEYS + b"A : b\r\n\r\n",
    "blank before name": GET + b" Host: {host}\r\n\r\n",
    "folded": GET + KEYS + b"A: b\r\n c\r\n\r\n",
    "no name": GET + KEYS + b": b\r\n\r\n",
    "no colon": GET + KEYS + b"nothing\r\n\r\n",
    "null in value": GET + KEYS + b"A: \0\r\n\r\n",
    "control in value": GET + KEYS + b"A: \x01\x7f\r\n\r\n",
    "name outside ascii": GET + KEYS + b"\xc3\xa4: b\r\n\r\n",
    "name with parenthesis": GET + KEYS + b"A(b): c\r\n\r\n",
    "value outside ascii": GET + KEYS + b"A: \xc3\xa4\xff\r\n\r\n",
    "null in name": GET + KEYS + b"A\0: b\r\n\r\n",
    "null in target": GET.replace(b"/me", b"/me\0") + KEYS + b"\r\n",
    "null in method": GET.replace(b"GET", b"G\0T") + KEYS + b"\r\n",
    "a line feed at the end of the head": GET + KEYS + b"\n",
    "a line feed at the end of a header": GET + KEYS + b"A: b\nB: c\r\n\r\n",
    "name long": GET + KEYS + b"a" * 70_000 + b": b\r\n\r\n",
    "value long": GET + KEYS + b"A: " + b"b" * 70_000 + b"\r\n\r\n",
    "value without end": GET + KEYS + b"A: " + b"b" * 70_000,
    "one host in address, another in header": b"GET http://elsewhere.example/api/v1/users/me"
    b" HTTP/1.1\r\n" + KEYS + b"\r\n",
    "host with a path": GET + b"Host: {host}/../\r\nAuthorization: {auth}\r\n\r\n",
    "host empty": GET + b"Host:\r\nAuthorization: {auth}\r\n\r\n",
    "credentials twice": GET + KEYS + b"Authorization: {auth}\r\n\r\n",
    "connection close and keep-alive": GET + KEYS + b"Connection: close, keep-alive\r\n\r\n",
    "empty value": GET + KEYS + b"A:\r\n\r\n",
    "blanks around value": GET + KEYS + b"A: \t b \t \r\n\r\n",
    "two hosts": GET + KEYS + b"Host: elsewhere.example\r\n\r\n",
    "no host": GET + b"Authorization: {auth}\r\n\r\n",
    # request lines
    "version 0.9": b"GET /api/v1/users/me\r\n\r\n",
    "version 1.2": GET.replace(b"1.1", b"1.2") + KEYS + b"\r\n",
    "version 2.0": GET.replace(b"1.1", b"2.0") + KEYS + b"\r\n",
    "version small": GET.replace(b"HTTP", b"http") + KEYS + b"\r\n",
    "tab for blank": GET.replace(b" ", b"\t") + KEYS + b"\r\n",
    "method small": GET.replace(b"GET", b"get") + KEYS + b"\r\n",
    "method unknown": GET.replace(b"GET", b"BREW") + KEYS + b"\r\n",
    "target missing": b"GET HTTP/1.1\r\n" + KEYS + b"\r\n",
    "target long": GET.replace(b"/me", b"/me?" + b"a" * 70_000) + KEYS + b"\r\n",
    "target relative": GET.replace(b"/api", b"api") + KEYS + b"\r\n",
    "target of another server": GET.replace(b"/api", b"//elsewhere.example/api") + KEYS + b"\r\n",
    "target with two blanks behind": GET.replace(b" HTTP", b"  HTTP") + KEYS + b"\r\n",
    "target with a blank in it": GET.replace(b"/me", b"/m e") + KEYS + b"\r\n",
    "version with blank behind": GET.replace(b"\r", b" \r") + KEYS + b"\r\n",
    "empty lines before": b"\r\n\r\n" + GET + KEYS + b"\r\n",
    "a line feed before": b"\n" + GET + KEYS + b"\r\n",
    "something behind the end": GET + KEYS + b"Connection: close\r\n\r\n" + SMUGGLED,
    "method of a proxy, with a body": b"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n"
    b"Content-Length: {length}\r\n\r\n" + SMUGGLED,
    "method of a proxy": b"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}\r\n\r\n",
    "whole address": b"GET http://{host}/api/v1/users/me HTTP/1.1\r\n" + KEYS + b"\r\n",
    "asterisk": b"OPTIONS * HTTP/1.1\r\n" + KEYS + b"\r\n",
    "fragment": GET.replace(b"/me", b"/me#a") + KEYS + b"\r\n",
    "target outside ascii": GET.replace(b"/me", b"/\xff") + KEYS + b"\r\n",
    "control in target": GET.replace(b"/me", b"/me\x01") + KEYS + b"\r\n",
    "upgrade": GET + KEYS + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "upgrade with a body": POST
    + FORM
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 28\r\n\r\n"
    + FLAGS,
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
    "http/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "garbage behind a request": GET + KEYS + b"\r\n" + b"\0\0\r\n\r\n",
    "garbage behind the last request": GET + KEYS + b"Connection: close\r\n\r\n\0\0\r\n\r\n",
    "upgrade with chunks": POST
    + FORM
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    + CHUNKED
    + b"\r\n1c\r\n"
    + FLAGS
    + LAST_CHUNK,
    "upgrade to HTTP/2": GET
    + KEYS
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
    + SMUGGLED,
    # expectations
    "go on, says an old client": POST.replace(b"1.1", b"1.0")
    + FORM
    + b"Expect: 100-continue\r\nContent-Length: 28\r\n\r\n"
    + FLAGS,
    "go on, in capitals": POST
    + FORM
    + b"Expect: 100-CONTINUE\r\nContent-Length: 28\r\n\r\n"
    + FLAGS,
    "go on, without a body": GET + KEYS + b"Expect: 100-continue\r\n\r\n",
    "go on, and another request": POST
    + FORM
    + b"Expect: 100-continue\r\nContent-Length: 28\r\n\r\n"
    + FLAGS
    + SMUGGLED,
    "go on, and a request for a body": POST
    + FORM
    + b"Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n"
    + SMUGGLED
    + SMUGGLED,
    "go on, in chunks": POST
    + FORM
    + b"Expect: 100-continue\r\n"
    + CHUNKED
    + b"\r\n1c\r\n"
    + FLAGS
    + LAST_CHUNK,
    "go on": POST + FORM + b"Expect: 100-continue\r\nContent-Length: 28\r\n\r\n" + FLAGS,
    "something else expected": POST + FORM + b"Expect: tea\r\nContent-Length: 28\r\n\r\n" + FLAGS,
}

RIGHT_BY_STANDARD = {
    # Tornado refuses what is to be passed over.
    "chunk extension": [(200, "")],
    "chunk extension quoted": [(200, "")],
    "target with two blanks behind": [(200, "")],
    "empty lines before": [(200, "")],
    "trailer that says nothing": [(200, ""), (200, "")],
    # It does not see `close` beside something else, and an old client's end it does not announce.
    "length that the connection may drop": [(200, "close")],
    "connection close and keep-alive": [(200, "close")],
    "go on, says an old client": [(200, "close")],
    # It says so to a client that has nothing to send, too.
    "go on, without a body": [(200, "")],
}
"""Answers that differ from those of Tornado's server, as RFC 9112 has it."""


@pytest_asyncio.fixture
async def ports(serving_with, log_in) -> AsyncIterator[dict[str, Any]]:
    """Both servers on one organization, and a user's credentials."""
    async with AsyncExitStack() as stack:
        servers = {
            name: await stack.enter_async_context(serving_with(transport=name))
            for name in ("httptools", "tornado")
        }
        client = await log_in()
        yield {
            "host": client.host,
            "auth": basic(client.email, client.api_key),
            **{name: server.port for name, server in servers.items()},
        }


async def answers(port: int, sent: bytes, patience: float) -> list[tuple[int, str]]:
    """Status and connection header of all answers, until the connection closes or is silent."""
    found: list[tuple[int, str]] = []
    async with connected(port) as connection:
        await connection.send(sent)
        while True:
            try:
                async with asyncio.timeout(patience):
                    answer = await connection.answer(has_body=b"HEAD" not in sent)
            except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
                return found
            found.append((answer.status, answer.headers.get("Connection", "")))


@asynccontextmanager
async def nothing_raised() -> AsyncIterator[None]:
    raised = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: raised.append(context))
    yield
    loop.set_exception_handler(None)
    assert raised == []


async def test_malformed_requests_get_the_same_answers_or_a_clean_400(ports):
    host, auth = ports["host"].encode(), ports["auth"].encode()
    length = len(SMUGGLED.replace(b"{host}", host))

    async def differs(name: str, patience: float) -> Any:
        sent = CORPUS[name].replace(b"{host}", host).replace(b"{auth}", auth)
        sent = sent.replace(b"{length}", b"%d" % length)
        ours, theirs = await asyncio.gather(
            *[answers(ports[each], sent, patience) for each in ("httptools", "tornado")]
        )
        is_right = ours in (RIGHT_BY_STANDARD.get(name, theirs), [(400, "close")])
        return None if is_right else (ours, theirs)

    async def differing(names: Iterable[str], patience: float) -> dict[str, Any]:
        found = await asyncio.gather(*[differs(name, patience) for name in names])
        return {name: each for name, each in zip(names, found, strict=True) if each is not None}

    async with nothing_raised():
        # What comes late on a busy machine is waited for.
        found = await differing(await differing(list(CORPUS), 1.5), 10)
    assert found == {}
