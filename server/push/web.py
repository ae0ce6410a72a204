"""Asking services of push notifications over HTTP."""

from typing import Any, Final

import httpx

from server.domain.clock import SystemClock
from server.domain.retrying import seconds_to_wait
from server.push.service import PushServiceUnreachableError
from server.runtime.version import VERSION

TIMEOUT_SECONDS: Final = 15.0
CONNECTIONS: Final = 20
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
    """The answer, whatever it says. Raises PushServiceUnreachableError if there is none."""
    try:
        return await http.request(method, path, **request)
    except httpx.RequestError as error:
        place = http.base_url.host
        raise PushServiceUnreachableError(
            f"{place}: {type(error).__name__} {error}"[:500]
        ) from error


def retry_after(response: httpx.Response) -> float:
    """For how many seconds the service wants to be left alone, at least."""
    return seconds_to_wait(response.headers.get("Retry-After", ""), SystemClock().now())
