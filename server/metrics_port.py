"""A port beside the API's where Prometheus and load balancers ask about this one process."""

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
from server.overview import QueueView, queue_views
from storage import workers
from storage.database import DatabaseUnavailableError

logger = structlog.get_logger(__name__)

PORTS: Final = 64
"""Processes of one machine that find a port each."""
STATS_SECONDS: Final = 5.0
"""How old what is told of the queues may be: asking costs the broker something."""


class MetricsPort:
    """Answers `/metrics`, `/health` and `/ready`."""

    def __init__(self, app: App, checks: Checks, queues: Sequence[str]) -> None:
        self._app = app
        self._checks = checks
        self._queues = queues
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
        status, kind, body = await self._answer(request)
        headers = HTTPHeaders({"Content-Type": kind, "Content-Length": str(len(body))})
        connection = request.connection
        assert connection is not None
        line = ResponseStartLine("HTTP/1.1", status, HTTPStatus(status).phrase)
        with suppress(StreamClosedError):
            await connection.write_headers(line, headers, b"" if request.method == "HEAD" else body)
            connection.finish()

    async def _answer(self, request: HTTPServerRequest) -> tuple[int, str, bytes]:
        if request.method not in {"GET", "HEAD"}:
            return HTTPStatus.METHOD_NOT_ALLOWED, "text/plain", b"GET, HEAD\n"
        if request.path == "/metrics":
            return HTTPStatus.OK, CONTENT_TYPE_LATEST, await self.metrics()
        if request.path in CHECKED_PATHS:
            status, body = await self._checks.answer(request.path)
            return status, "application/json", body
        return HTTPStatus.NOT_FOUND, "text/plain", b"/metrics, /health, /ready\n"


@asynccontextmanager
async def metrics_port(
    app: App,
    queues: Sequence[str] = (),
    *,
    is_draining: Callable[[], bool] = lambda: False,
) -> AsyncIterator[int | None]:
    """The port, for the time of the block; None where the settings name none.

    `queues` are those that this process tells of, as it works on them.
    """
    wanted = app.settings.metrics_port
    if wanted is None:
        yield None
        return
    sockets = _first_free(app.settings.metrics_host, wanted)
    server = HTTPServer(MetricsPort(app, Checks(app, is_draining), queues))
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
