"""Serve the API until told to stop; then answer what is open, and cut nothing."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import structlog

from server.api.connections import ApiHTTPServer
from server.api.endpoint import Endpoint
from server.api.handler import ApiServer
from server.api.routes import ROUTES, Router
from server.app import App

logger = structlog.get_logger(__name__)

MAX_HEADER_BYTES = 64 * 1024
IDLE_CONNECTION_SECONDS = 120
BODY_SECONDS = 300
GRACE_SECONDS = 0.1
"""For requests that were under way when their connection was thought idle."""


@asynccontextmanager
async def serving(
    app: App,
    sockets: Sequence[socket.socket],
    routes: Sequence[Endpoint[Any]] = ROUTES,
    grace_seconds: float = GRACE_SECONDS,
) -> AsyncIterator[ApiServer]:
    """Answer requests on the sockets while the block runs; drain when it ends.

    Draining: no new connection is taken, open polls are answered at once, requests in hand
    get their answers (for `drain_seconds` at most).
    """
    api = ApiServer(app, Router(routes))
    http = ApiHTTPServer(
        api,
        max_header_size=MAX_HEADER_BYTES,
        max_body_size=sys.maxsize,
        idle_connection_timeout=IDLE_CONNECTION_SECONDS,
        body_timeout=BODY_SECONDS,
    )
    http.add_sockets(sockets)
    try:
        yield api
    finally:
        http.stop()
        with suppress(TimeoutError):
            async with asyncio.timeout(app.settings.drain_seconds):
                await api.drain()
                await asyncio.sleep(grace_seconds)
                await api.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(1):
                await http.close_all_connections()


async def stop_signal() -> None:
    """Wait for SIGTERM or SIGINT."""
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    try:
        await stopped.wait()
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
