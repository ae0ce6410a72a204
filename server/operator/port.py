"""The port for monitoring and operators: metrics, health checks and the operator pages."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import structlog

from server.api.health import CHECKED_PATHS, Checks
from server.app import App
from server.operator import OperatorPages, is_below_root
from server.operator.known_hosts import KnownHosts
from server.operator.serving import SAFE_METHODS, PageRequest, serving_pages
from server.runtime.pages import PLAIN, Page
from server.runtime.sockets import first_free
from server.settings import Settings
from server.telemetry.overview import AWAY, QueueView, queue_views
from storage import workers

logger = structlog.get_logger(__name__)

STATS_SECONDS: Final = 5.0
"""Maximum age of the queue metrics: reading them costs the broker something."""
QUERY_SECONDS: Final = 3.0
"""Timeout for queue metrics: the other ones do not wait for an unavailable broker or database."""
MAX_BODY_BYTES: Final = 64 * 1024
UNKNOWN_HOST: Final = (
    b"This host name is not known here. Use an address, or set PARLEY_OPERATOR_HOSTS.\n"
)


class MetricsPort:
    """Answer `/metrics`, `/health` and `/ready`, and if a password is set `/operator`."""

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
        self._updated_at: float | None = None

    async def metrics(self, accept: str) -> tuple[bytes, str]:
        """Return the metrics, and their content type (see Metrics.encoded)."""
        app, metrics = self._app, self._app.metrics
        for name, value in app.state().items():
            metrics.state(name, value)
        now = app.clock.monotonic()
        if self._queues and (self._updated_at is None or now - self._updated_at >= STATS_SECONDS):
            self._updated_at = now
            await self._update_queues()
        return metrics.encoded(accept)

    async def _update_queues(self) -> None:
        app, metrics = self._app, self._app.metrics
        views: list[QueueView] = []
        lag = None
        with suppress(*AWAY):
            async with asyncio.timeout(QUERY_SECONDS):
                async with app.database.connection() as connection:
                    lag = await workers.ship_lag(connection)
                views = await queue_views(app.database, app.desk, self._queues)
        metrics.queues(views)
        metrics.state("ship_lag_seconds", float("nan") if lag is None else lag)

    async def answer(self, request: PageRequest) -> Page:
        if request.path not in CHECKED_PATHS and request.host not in self._hosts:
            return Page(HTTPStatus.MISDIRECTED_REQUEST, UNKNOWN_HOST, PLAIN)
        pages = self._pages if is_below_root(request.path) else None
        if request.method not in (SAFE_METHODS if pages is None else SAFE_METHODS | {"POST"}):
            return Page(HTTPStatus.METHOD_NOT_ALLOWED, b"Method not allowed\n", PLAIN)
        if pages is not None:
            return await pages.answer(request)
        if request.path == "/metrics":
            return Page(HTTPStatus.OK, *await self.metrics(request.headers.get("Accept", "")))
        if request.path in CHECKED_PATHS:
            status, body = await self._checks.answer(request.path)
            return Page(status, body, "application/json")
        return Page(HTTPStatus.NOT_FOUND, b"/metrics, /health, /ready\n", PLAIN)


def metrics_sockets(settings: Settings) -> list[socket.socket]:
    """Return the sockets of the port; none without a port in the settings.

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
    """Serve the port while the block runs; its number, or None without a port in the settings.

    `queues` are those whose metrics this process exports, as their consumer; `all_queues` those on
    the operator pages. `opened`: the sockets, if they are open already.
    """
    sockets = opened if opened is not None else metrics_sockets(app.settings)
    if not sockets:
        yield None
        return
    pages = MetricsPort(app, Checks(app, is_draining), queues, all_queues)
    port: int = sockets[0].getsockname()[1]
    async with serving_pages(pages.answer, sockets, max_body_bytes=MAX_BODY_BYTES):
        logger.info("metrics.listening", host=app.settings.metrics_host, port=port)
        yield port
