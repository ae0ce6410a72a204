"""HTTP requests to push services."""

from typing import Any, Final

import httpx

from server.domain.clock import SystemClock
from server.domain.retrying import seconds_to_wait
from server.push.service import PushServiceUnreachableError
from server.runtime.version import VERSION

TIMEOUT_SECONDS: Final = 15.0
MAX_CONNECTIONS: Final = 20
USER_AGENT: Final = f"ParleyServer/{VERSION}"


def client(address: str, **more: Any) -> httpx.AsyncClient:
    """Return a client for one service, with persistent connections and without redirects."""
    return httpx.AsyncClient(
        **{
            "base_url": address,
            "timeout": TIMEOUT_SECONDS,
            "limits": httpx.Limits(max_connections=MAX_CONNECTIONS),
            "follow_redirects": False,
            "headers": {"User-Agent": USER_AGENT},
            **more,
        }
    )


async def asked(http: httpx.AsyncClient, method: str, path: str, **request: Any) -> httpx.Response:
    """Return the response, whatever its status. Raises PushServiceUnreachableError."""
    try:
        return await http.request(method, path, **request)
    except httpx.RequestError as error:
        place = http.base_url.host
        raise PushServiceUnreachableError(
            f"{place}: {type(error).__name__} {error}"[:500]
        ) from error


def retry_after(response: httpx.Response) -> float:
    """Return the minimum delay of a retry, in seconds, that the response asks for."""
    return seconds_to_wait(response.headers.get("Retry-After", ""), SystemClock().now())
