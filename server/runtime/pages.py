"""Small answers beside the API's: pages for people, texts for programs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http import HTTPStatus
from importlib.resources import files
from typing import Final

import structlog
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import StreamClosedError

logger = structlog.get_logger(__name__)

STYLE: Final = "style.css"
HTML: Final = "text/html; charset=utf-8"
PLAIN: Final = "text/plain"
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}
"""Of pages for people: kept by nobody, and part of no other site."""


@dataclass(frozen=True, slots=True)
class Page:
    """What is answered."""

    status: int
    body: bytes
    kind: str = HTML
    headers: Mapping[str, str] = field(default_factory=dict)
    cookies: Sequence[str] = ()
    """What the browser is to keep: values of Set-Cookie."""


def static_content(package: str, name: str) -> bytes:
    """What pages of the package load; its style sheet begins with what all pages have in common."""
    parts = [(package, name)] if name != STYLE else [("server", "base.css"), (package, STYLE)]
    return b"\n".join(files(of).joinpath("static", each).read_bytes() for of, each in parts)


class PageServer:
    """What a server of Tornado hands its requests to; a failure is logged, and answered 500."""

    def __init__(self, answer: Callable[[HTTPServerRequest], Awaitable[Page]]) -> None:
        self._answer = answer
        self._answering: set[asyncio.Task[None]] = set()

    def __call__(self, request: HTTPServerRequest) -> None:
        """Tornado's way to hand over a request."""
        task = asyncio.ensure_future(self._serve(request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def _serve(self, request: HTTPServerRequest) -> None:
        try:
            page = await self._answer(request)
        except Exception:
            logger.exception("http.unexpected_error", path=request.path)
            page = Page(HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal server error\n", PLAIN)
        headers = HTTPHeaders({"Content-Type": page.kind, "Content-Length": str(len(page.body))})
        for name, value in page.headers.items():
            headers[name] = value
        for each in page.cookies:
            headers.add("Set-Cookie", each)
        connection = request.connection
        assert connection is not None
        line = ResponseStartLine("HTTP/1.1", page.status, HTTPStatus(page.status).phrase)
        body = b"" if request.method == "HEAD" else page.body
        with suppress(StreamClosedError):
            await connection.write_headers(line, headers, body)
            connection.finish()
