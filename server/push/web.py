"""Asking services of push notifications over HTTP."""

from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx

from server.domain.clock import SystemClock
from server.push.service import UnreachableError
from server.version import VERSION

TIMEOUT_SECONDS: Final = 15.0
CONNECTIONS: Final = 20
LONGEST_WAIT_SECONDS: Final = 3_600.0
USER_AGENT: Final = f"ParleyServer/{VERSION}"


def client(address: str, **more: Any) -> httpx.AsyncClient:
    """For one service: keeps its connections, and follows nobody elsewhere."""
    return httpx.AsyncClient(
        **{
            "base_url": address,
            "timeout": TIMEOUT_SECONDS,
            "limits": httpx.Limits(max_connections=CONNECTIONS),
            "follow_redirects": False,
            "headers": {"User-Agent": USER_AGENT},
            **more,
        }
    )


async def asked(http: httpx.AsyncClient, method: str, path: str, **request: Any) -> httpx.Response:
    """The answer, whatever it says. Raises UnreachableError if there is none."""
    try:
        return await http.request(method, path, **request)
    except httpx.TransportError as error:
        place = http.base_url.host
        raise UnreachableError(f"{place}: {type(error).__name__} {error}"[:500]) from error


def retry_after(response: httpx.Response) -> float:
    """For how many seconds the service wants to be left alone, at least."""
    asked_for = response.headers.get("Retry-After", "")
    if asked_for.isdecimal():
        return min(float(asked_for), LONGEST_WAIT_SECONDS)
    try:
        until = parsedate_to_datetime(asked_for)
        seconds = (until - SystemClock().now()).total_seconds()
    except (TypeError, ValueError):
        return 0.0
    return min(max(seconds, 0.0), LONGEST_WAIT_SECONDS)
