"""What is wrong on the wire: our own server answers as Tornado's does, or with a clean 400."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
import pytest_asyncio

from tests.fixtures.clients import basic
from tests.fixtures.sockets import connected

pytestmark = pytest.mark.asyncio

GET = b"GET /api/v1/users/me HTTP/1.1\r\n"
POST = b"POST /api/v1/messages/flags HTTP/1.1\r\nHost: {host}\r\nAuthorization: {auth}\r\n"
FORM = b"Content-Type: application/x-www-form-urlencoded\r\n"
FLAGS = b"op=add&flag=read&messages=[]"
SMUGGLED = b"GET /api/v1/server_settings HTTP/1.1\r\nHost: {host}\r\n\r\n"
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
    # chunks
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
    # expectations
    "go on": POST + FORM + b"Expect: 100-continue\r\nContent-Length: 28\r\n\r\n" + FLAGS,
    "something else expected": POST + FORM + b"Expect: tea\r\nContent-Length: 28\r\n\r\n" + FLAGS,
}


@pytest_asyncio.fixture
async def ports(serving_with, log_in) -> AsyncIterator[dict[str, Any]]:
    """Both servers on one organization, and somebody's credentials."""
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


async def answers(port: int, sent: bytes) -> list[tuple[int, str]]:
    """Status and connection header of all answers, until the connection closes or is silent."""
    found: list[tuple[int, str]] = []
    async with connected(port) as connection:
        await connection.send(sent)
        while True:
            try:
                async with asyncio.timeout(1.5):
                    answer = await connection.answer(has_body=True)
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
    async def both(request: bytes) -> list[list[tuple[int, str]]]:
        sent = request.replace(b"{host}", ports["host"].encode())
        sent = sent.replace(b"{auth}", ports["auth"].encode())
        return [await answers(ports[name], sent) for name in ("httptools", "tornado")]

    async with nothing_raised():
        found = await asyncio.gather(*[both(request) for request in CORPUS.values()])
    differing = {
        name: (ours, theirs)
        for name, (ours, theirs) in zip(CORPUS, found, strict=True)
        if ours not in (theirs, [(400, "close")])
    }
    assert differing == {}
