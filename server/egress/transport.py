"""Connections to the very address that the egress guard has checked."""

import asyncio
import ssl
from collections.abc import Iterable
from functools import cache
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import httpcore
from httpcore import AsyncNetworkBackend, AsyncNetworkStream
from typing_extensions import override

from server.egress.guard import Guard
from server.egress.resolving import Resolve

MAX_CONNECTIONS: Final = 64
"""The maximum of concurrent connections of a process; further requests wait."""
MAX_IDLE_CONNECTIONS: Final = 16
"""The maximum of connections that wait for another request, of those that may."""
IDLE_SECONDS: Final = 60.0
"""How long they wait. By then the name may lead elsewhere, and is resolved and checked again."""
MAX_ADDRESSES_TRIED: Final = 4


def open_pool(
    guard: Guard,
    resolve: Resolve,
    *,
    proxy: str | None,
    trust: ssl.SSLContext | None,
    keep_alive: bool,
) -> httpcore.AsyncConnectionPool:
    """Open a pool in which each connection serves a single request, unless `keep_alive` is set.

    So no response can be mistaken for another's. With `keep_alive` a connection serves further
    requests to the same origin, if the response was read to its end.
    """
    return httpcore.AsyncConnectionPool(
        ssl_context=trust or _system_trust(),
        proxy=None if proxy is None else _proxy(proxy),
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=MAX_IDLE_CONNECTIONS if keep_alive else 0,
        keepalive_expiry=IDLE_SECONDS,
        # A proxy is the operator's, and looks names up itself: it has to be the guard then.
        network_backend=None if proxy else _GuardedBackend(guard, resolve),
    )


@cache
def _system_trust() -> ssl.SSLContext:
    """Read the certificates that the system trusts: they are some hundred."""
    trust = ssl.create_default_context()
    trust.minimum_version = ssl.TLSVersion.TLSv1_2  # some builds of Python leave it to OpenSSL
    return trust


def _proxy(address: str) -> httpcore.Proxy:
    parts = urlsplit(address)
    authority = parts.netloc.rpartition("@")[2]
    name, password = unquote(parts.username or ""), unquote(parts.password or "")
    return httpcore.Proxy(
        f"{parts.scheme}://{authority}", auth=(name, password) if parts.username else None
    )


class _GuardedBackend(AsyncNetworkBackend):
    def __init__(self, guard: Guard, resolve: Resolve) -> None:
        self._guard = guard
        self._resolve = resolve
        self._sockets = httpcore.AnyIOBackend()

    @override
    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = self._guard.permitted(host, port, await self._resolve(host, port))
                return await self._connect(addresses[:MAX_ADDRESSES_TRIED], port, timeout)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout from error

    async def _connect(
        self, addresses: list[str], port: int, seconds: float | None
    ) -> AsyncNetworkStream:
        share = None if seconds is None else seconds / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._sockets.connect_tcp(address, port, timeout=share)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._sockets.connect_tcp(addresses[-1], port, timeout=share)

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
