"""Serve the API and the site until a signal to stop, then drain."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

import structlog

from server.api.endpoint import Endpoint
from server.api.exchanges import ApiServer
from server.api.response_writer import ExchangeFactory
from server.api.routes import ROUTES, Router
from server.app import App
from server.runtime.connection_counts import ConnectionShare
from server.settings import certificates
from server.transport.limits import TransportServer
from server.transport.server import HttpServer
from server.transport.tornado import TornadoServer
from server.web import Site

logger = structlog.get_logger(__name__)

TRANSPORTS: Final[Mapping[str, Callable[[ExchangeFactory], TransportServer]]] = {
    "httptools": HttpServer,
    "tornado": TornadoServer,
}
GRACE_SECONDS = 0.1
"""For requests that were in flight when their connection seemed idle."""


@asynccontextmanager
async def serving(
    app: App,
    sockets: Sequence[socket.socket],
    routes: Sequence[Endpoint[Any]] = ROUTES,
    grace_seconds: float = GRACE_SECONDS,
    share: ConnectionShare | None = None,
) -> AsyncIterator[ApiServer]:
    """Answer requests on the sockets while the block runs; drain when it ends.

    For `shutdown_delay_seconds` connections are still accepted, but `/ready` answers 503 and each
    response is the last of its connection. Then no new connection is accepted, open polls are
    answered at once, and requests in progress get their responses (within `drain_seconds`).
    `share` is what this process may take of the connections, where several have the sockets.
    """
    api = ApiServer(app, Router(routes), Site())
    http = TRANSPORTS[app.settings.transport](api.exchange)
    await http.start(sockets, certificates.https(app.settings), share)
    try:
        yield api
    finally:
        api.begin_draining()
        await asyncio.sleep(app.settings.shutdown_delay_seconds)
        http.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(app.settings.drain_seconds):
                await api.drain()
                await asyncio.sleep(grace_seconds)
                await api.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await http.close()
