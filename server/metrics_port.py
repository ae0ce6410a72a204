"""A port beside the API's, for those who look after the server: programs, and people."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final

import structlog
from prometheus_client import CONTENT_TYPE_LATEST
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import StreamClosedError

from server.app import App
from server.checks import CHECKED_PATHS, Checks
from server.listening import ListenError, open_sockets
from server.messaging.job_broker import BrokerUnavailableError
from server.operator import OperatorPages, Page, is_below_root
from server.overview import QueueView, queue_views
from storage import workers
from storage.database import DatabaseUnavailableError

logger = structlog.get_logger(__name__)

PLAIN: Final = "text/plain"
PORTS: Final = 64
"""Processes of one machine that find a port each."""
STATS_SECONDS: Final = 5.0
"""How old what is told of the queues may be: asking costs the broker something."""


MAX_BODY_BYTES: Final = 64 * 1024
IDLE_SECONDS: Final = 120


class MetricsPort:
    """Answers `/metrics`, `/health` and `/ready`, and where there is a password, `/operator`."""

    def __init__(
        self, app: App, checks: Checks, queues: Sequence[str], all_queues: Sequence[str]
    ) -> None:
        self._app = app
        self._checks = checks
        self._queues = queues
        password = app.settings.operator_password
        self._pages = None if password is None else OperatorPages(app, password, all_queues)
        self._asked_at: float | None = None
        self._answering: set[asyncio.Task[None]] = set()

    def __call__(self, request: HTTPServerRequest) -> None:
        """Tornado's way to hand over a request."""
        task = asyncio.ensure_future(self._serve(request))
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)

    async def metrics(self) -> bytes:
        """What Prometheus is told now."""
        app, metrics = self._app, self._app.metrics
        for name, value in app.state().items():
            metrics.state(name, value)
        now = app.clock.monotonic()
        if self._queues and (self._asked_at is None or now - self._asked_at >= STATS_SECONDS):
            self._asked_at = now
            await self._ask_about_queues()
        return metrics.text()

    async def _ask_about_queues(self) -> None:
        app, metrics = self._app, self._app.metrics
        views: list[QueueView] = []
        with suppress(BrokerUnavailableError, DatabaseUnavailableError):
            views = await queue_views(app.database, app.desk, self._queues)
        metrics.queues(views)
        lag = None
        with suppress(DatabaseUnavailableError):
            async with app.database.connection() as connection:
                lag = await workers.ship_lag(connection)
        metrics.state("ship_lag_seconds", float("nan") if lag is None else lag)

    async def _serve(self, request: HTTPServerRequest) -> None:
        try:
            page = await self._answer(request)
        except Exception:
            logger.exception("unexpected error", path=request.path)
            page = Page(HTTPStatus.INTERNAL_SERVER_ERROR, b"Internal server error\n", PLAIN)
        headers = HTTPHeaders({"Content-Type": page.kind, "Content-Length": str(len(page.body))})
        for name, value in page.headers.items():
            headers[name] = value
        connection = request.connection
        assert connection is not None
        line = ResponseStartLine("HTTP/1.1", page.status, HTTPStatus(page.status).phrase)
        body = b"" if request.method == "HEAD" else page.body
        with suppress(StreamClosedError):
            await connection.write_headers(line, headers, body)
            connection.finish()

    async def _answer(self, request: HTTPServerRequest) -> Page:
        pages = self._pages if is_below_root(request.path) else None
        if request.method not in ({"GET", "HEAD"} if pages is None else {"GET", "HEAD", "POST"}):
            return Page(HTTPStatus.METHOD_NOT_ALLOWED, b"Method not allowed\n", PLAIN)
        if pages is not None:
            return await pages.answer(request)
        if request.path == "/metrics":
            return Page(HTTPStatus.OK, await self.metrics(), CONTENT_TYPE_LATEST)
        if request.path in CHECKED_PATHS:
            status, body = await self._checks.answer(request.path)
            return Page(status, body, "application/json")
        return Page(HTTPStatus.NOT_FOUND, b"/metrics, /health, /ready\n", PLAIN)


@asynccontextmanager
async def metrics_port(
    app: App,
    queues: Sequence[str] = (),
    *,
    all_queues: Sequence[str] = (),
    is_draining: Callable[[], bool] = lambda: False,
) -> AsyncIterator[int | None]:
    """The port, for the time of the block; None where the settings name none.

    `queues` are those that this process tells of, as it works on them; `all_queues` those that
    operators may look after.
    """
    wanted = app.settings.metrics_port
    if wanted is None:
        yield None
        return
    sockets = _first_free(app.settings.metrics_host, wanted)
    server = HTTPServer(
        MetricsPort(app, Checks(app, is_draining), queues, all_queues),
        max_body_size=MAX_BODY_BYTES,
        idle_connection_timeout=IDLE_SECONDS,
        body_timeout=IDLE_SECONDS,
    )
    server.add_sockets(sockets)
    port: int = sockets[0].getsockname()[1]
    logger.info("telling metrics", host=app.settings.metrics_host, port=port)
    try:
        yield port
    finally:
        server.stop()
        await server.close_all_connections()


def _first_free(host: str, wanted: int) -> list[socket.socket]:
    for port in range(wanted, min(wanted + PORTS, 65_536)):
        with suppress(ListenError):
            return open_sockets(host, port)
    return open_sockets(host, wanted)  # and say why not
