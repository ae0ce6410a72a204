"""Serve pages on a port of their own, beside the API's."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs

import structlog

from server.api.bodies import Body, BodyBudget
from server.api.response_writer import HttpExchange, ResponseWriter
from server.domain.errors import DomainError
from server.runtime.pages import PLAIN, Page
from server.transport.server import HttpServer

logger = structlog.get_logger(__name__)

SAFE_METHODS: Final = frozenset({"GET", "HEAD"})

Fields = Mapping[str, list[str]]


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A request with its body. Fields of the query and of a form may have several values."""

    method: str
    path: str
    query_string: str
    headers: Mapping[str, str]
    remote_ip: str
    body: bytes

    @property
    def host(self) -> str:
        return self.headers.get("Host", "")

    @property
    def query(self) -> Fields:
        return _fields(self.query_string)

    @property
    def form(self) -> Fields:
        return _fields(self.body.decode(errors="replace"))


Answer = Callable[[PageRequest], Awaitable[Page]]


@asynccontextmanager
async def serving_pages(
    answer: Answer, sockets: Sequence[socket.socket], *, max_body_bytes: int = 0
) -> AsyncIterator[None]:
    """Answer requests on the sockets while the block runs. What `answer` raises is a 500."""
    http = HttpServer(_Pages(answer, max_body_bytes).begin)
    await http.start(sockets)
    try:
        yield
    finally:
        http.stop()
        await http.close()


class _Pages:
    """What the exchanges of a port share."""

    def __init__(self, answer: Answer, max_body_bytes: int) -> None:
        self.answer = answer
        self.body_budget = BodyBudget(max_body_bytes)
        self.tasks: set[asyncio.Task[None]] = set()

    def begin(self, writer: ResponseWriter) -> HttpExchange:
        return _PageExchange(self, writer)


class _PageExchange:
    """One request and its response. An action continues if its client disconnects."""

    def __init__(self, pages: _Pages, writer: ResponseWriter) -> None:
        self._pages = pages
        self._writer = writer
        self._body = Body(pages.body_budget)
        self._has_begun = False

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None:
        self._method, self._headers = method, headers
        self._path, _, self._query_string = target.partition("?")

    def data_received(self, chunk: bytes) -> None:
        self._body.add(chunk)
        if self._body.is_too_large:
            self._writer.linger()
            self._begin()

    def finish(self) -> None:
        self._body.end()
        self._begin()

    def on_connection_close(self) -> None:
        self._body.give_up()

    def _begin(self) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        task = asyncio.get_running_loop().create_task(self._serve())
        self._pages.tasks.add(task)
        task.add_done_callback(self._pages.tasks.discard)
        self._writer.hand_over(self)

    async def _serve(self) -> None:
        page = await self._page()
        self._body.give_up()
        headers = {"Content-Type": page.kind, "Content-Length": str(len(page.body)), **page.headers}
        lines = [*headers.items(), *(("Set-Cookie", each) for each in page.cookies)]
        body = b"" if self._method == "HEAD" else page.body
        try:
            self._writer.respond(page.status, lines, body, is_last=False)
        except Exception:
            logger.exception("http.response_failed", path=self._path)
            self._writer.close()  # otherwise the client waits for ever

    async def _page(self) -> Page:
        try:
            self._body.check()
            return await self._pages.answer(
                PageRequest(
                    self._method,
                    self._path,
                    self._query_string,
                    self._headers,
                    self._writer.remote_ip,
                    self._body.content(),
                )
            )
        except DomainError as error:
            return Page(error.status, f"{error.message}\n".encode(), PLAIN)
        except Exception:
            logger.exception("http.unexpected_error", path=self._path)
            return Page(HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal server error\n", PLAIN)


def _fields(encoded: str) -> Fields:
    return parse_qs(encoded, keep_blank_values=True)
