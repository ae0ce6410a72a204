"""Resolve host names in threads of their own, so that a slow name server blocks no others."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from server.egress.errors import HostUnreachableError

MAX_THREADS: Final = 8

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Return the addresses of a host, best first. Raises HostUnreachableError."""


class SystemResolver:
    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="egress-names")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, _look_up, host, port)
        except (OSError, UnicodeError) as error:
            raise HostUnreachableError(f"There is no host {host}.") from error

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _look_up(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]
