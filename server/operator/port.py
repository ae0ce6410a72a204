"""A port beside the API's, for those who look after the server: programs, and people."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import structlog
from prometheus_client import CONTENT_TYPE_LATEST
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPServerRequest

from server.api.health import CHECKED_PATHS, Checks
from server.app import App
from server.operator import OperatorPages, is_below_root
from server.operator.known_hosts import KnownHosts
from server.runtime.pages import PLAIN, Page, PageServer
from server.runtime.sockets import first_free
from server.settings import Settings
from server.telemetry.overview import AWAY, QueueView, queue_views
from storage import workers

logger = structlog.get_logger(__name__)

STATS_SECONDS: Final = 5.0
"""How old what is told of the queues may be: asking costs the broker something."""


ASK_SECONDS: Final = 3.0
"""What else there is to tell must not wait for a broker or a database that is away."""
MAX_BODY_BYTES: Final = 64 * 1024
IDLE_SECONDS: Final = 120
UNKNOWN_HOST: Final = (
    b"This host name is not known here. Use an address, or set PARLEY_OPERATOR_HOSTS.\n"
)


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
        public = urlsplit(app.settings.public_url).hostname or ""
        self._hosts = KnownHosts([*app.settings.operator_hosts, public])
        self._asked_at: float | None = None

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
        lag = None
        with suppress(*AWAY):
            async with asyncio.timeout(ASK_SECONDS):
                async with app.database.connection() as connection:
                    lag = await workers.ship_lag(connection)
                views = await queue_views(app.database, app.desk, self._queues)
        metrics.queues(views)
        metrics.state("ship_lag_seconds", float("nan") if lag is None else lag)

    async def answer(self, request: HTTPServerRequest) -> Page:
        if request.path not in CHECKED_PATHS and request.headers.get("Host", "") not in self._hosts:
            return Page(HTTPStatus.MISDIRECTED_REQUEST, UNKNOWN_HOST, PLAIN)
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


def metrics_sockets(settings: Settings) -> list[socket.socket]:
    """Where this process tells of itself; none where the settings name no port.

    Raises ListenError.
    """
    if settings.metrics_port is None:
        return []
    return first_free(settings.metrics_host, settings.metrics_port)


@asynccontextmanager
async def metrics_port(
    app: App,
    queues: Sequence[str] = (),
    *,
    all_queues: Sequence[str] = (),
    opened: Sequence[socket.socket] | None = None,
    is_draining: Callable[[], bool] = lambda: False,
) -> AsyncIterator[int | None]:
    """The port, for the time of the block; None where the settings name none.

    `queues` are those that this process tells of, as it works on them; `all_queues` those that
    operators may look after. `opened`: the sockets, where they are open already.
    """
    sockets = opened if opened is not None else metrics_sockets(app.settings)
    if not sockets:
        yield None
        return
    server = HTTPServer(
        PageServer(MetricsPort(app, Checks(app, is_draining), queues, all_queues).answer),
        max_body_size=MAX_BODY_BYTES,
        idle_connection_timeout=IDLE_SECONDS,
        body_timeout=IDLE_SECONDS,
    )
    server.add_sockets(list(sockets))
    port: int = sockets[0].getsockname()[1]
    logger.info("metrics.listening", host=app.settings.metrics_host, port=port)
    try:
        yield port
    finally:
        server.stop()
        await server.close_all_connections()
