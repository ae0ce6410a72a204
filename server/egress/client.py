"""The egress guard's HTTP client: it never connects to a private network."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final
from urllib.parse import urljoin

from server.egress.bodies import bounded, read_body
from server.egress.errors import (
    EgressRefusedError,
    HostUnreachableError,
    ResponseTooLargeError,
    TooSlowError,
)
from server.egress.guard import CheckedUrl, Guard
from server.egress.resolving import Resolve, SystemResolver
from server.settings import Settings
from server.telemetry import traces

if TYPE_CHECKING:
    import httpcore

MAX_HEADER_BYTES: Final = 32 * 1024
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a request."""

    seconds: float = 10.0
    """The total timeout, with redirects."""
    connect_seconds: float = 5.0
    silence_seconds: float = 5.0
    """The timeout between two chunks of a response."""
    max_bytes: int = 1024 * 1024
    """Of the body, compressed or not."""
    may_cut: bool = False
    """Whether a larger body is truncated rather than refused."""
    redirects: int = 0
    """The maximum number of redirects. 0: a redirect is returned as the response."""
    keep_alive: bool = False
    """Whether the connection is kept a while for further requests to the same origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchedResponse:
    status: int
    headers: Mapping[str, str]
    """By lower-case names; of several with one name, the last."""
    body: bytes
    url: str
    """The URL of the response, after redirects."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamedResponse:
    status: int
    headers: Mapping[str, str]
    """By lower-case names; of several with one name, the last."""
    url: str
    pieces: AsyncIterator[bytes]


@dataclass(slots=True)
class Egress:
    """Fetch user-supplied URLs without cookies, credentials or proxies of the environment.

    Each name is resolved once per connection, which uses the address that was checked.
    """

    guard: Guard
    resolve: Resolve
    proxy: str | None = None
    trust: ssl.SSLContext | None = None
    """The trusted certificates; None: those of the system."""
    _pools: "dict[bool, httpcore.AsyncConnectionPool]" = field(default_factory=dict, init=False)
    """By whether they keep connections."""

    def check(self, url: str) -> None:
        """Raise EgressRefusedError for a URL that by its text alone makes `fetch` refuse it."""
        self.guard.check(CheckedUrl.of(url))

    def may_fetch(self, url: str) -> bool:
        """Return whether `check` accepts it."""
        try:
            self.check(url)
        except EgressRefusedError:
            return False
        return True

    async def fetch(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        limits: Limits = Limits(),
    ) -> FetchedResponse:
        """Return the response, whatever its status. Raises an EgressError."""
        try:
            with traces.ended(traces.child("egress", method=method)) as span:
                async with asyncio.timeout(limits.seconds):
                    response = await self._follow(method, url, headers or {}, body, limits)
                if span is not None:
                    span.set(status=response.status)
                return response
        except TimeoutError:
            raise TooSlowError(f"No answer within {limits.seconds:g} seconds.") from None

    async def _follow(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, limits: Limits
    ) -> FetchedResponse:
        answer = await self._exchange(method, url, headers, body, limits)
        for _ in range(limits.redirects):
            if (location := _redirects_to(answer)) is None:
                return answer
            answer = await self._exchange(method, location, headers, body, limits)
        if limits.redirects and _redirects_to(answer) is not None:
            raise EgressRefusedError(f"It is redirected more than {limits.redirects} times.")
        return answer

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        limits: Limits = Limits(),
    ) -> AsyncIterator[StreamedResponse]:
        """Request content that is read in pieces, with little of it in memory.

        A redirect is returned as the response. Raises an EgressError, also within the block while
        pieces are read: the limits hold until its end.
        """
        total = asyncio.timeout(limits.seconds)
        try:
            async with total:
                wanted = {"Accept-Encoding": "identity", **(headers or {})}
                async with self._opened(method, url, wanted, b"", limits) as (target, response):
                    got = _headers(response.headers)
                    if got.get("content-encoding", "identity").strip().lower() != "identity":
                        raise HostUnreachableError(
                            "The response has an encoding that was not requested."
                        )
                    pieces = bounded(response.aiter_stream(), limits.max_bytes)
                    yield StreamedResponse(
                        status=response.status, headers=got, url=target.url, pieces=pieces
                    )
        except TimeoutError:
            if not total.expired():
                raise
            raise TooSlowError(f"Not all of it came within {limits.seconds:g} seconds.") from None

    async def _exchange(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, limits: Limits
    ) -> FetchedResponse:
        wanted = {"Accept-Encoding": "gzip", **headers}
        async with self._opened(method, url, wanted, body, limits) as (target, response):
            got = _headers(response.headers)
            return FetchedResponse(
                status=response.status,
                headers=got,
                body=await read_body(
                    response.aiter_stream(),
                    encoding=got.get("content-encoding", ""),
                    max_bytes=limits.max_bytes,
                    may_cut=limits.may_cut,
                ),
                url=target.url,
            )

    @asynccontextmanager
    async def _opened(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, limits: Limits
    ) -> "AsyncIterator[tuple[CheckedUrl, httpcore.Response]]":
        """Send a request. Raises an EgressError, also while the response is read."""
        import httpcore  # the server starts faster without it

        target = CheckedUrl.of(url)
        self.guard.check(target)
        sent = {"Host": target.authority, **headers}
        timeouts = {
            "connect": limits.connect_seconds,
            "read": limits.silence_seconds,
            "write": limits.silence_seconds,
            "pool": limits.seconds,
        }
        try:
            async with self._pool(keep_alive=limits.keep_alive).stream(
                method,
                httpcore.URL(
                    scheme=target.scheme.encode(),
                    host=target.host.encode(),
                    port=None if target.is_at_usual_port else target.port,
                    target=target.path.encode(),
                ),
                headers=[(name.encode(), value.encode()) for name, value in sent.items()],
                content=body or None,
                extensions={"timeout": timeouts},
            ) as response:
                yield target, response
        except httpcore.TimeoutException as error:
            raise TooSlowError("It did not go on in time.") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
            raise HostUnreachableError(_reason(error)) from error

    def _pool(self, *, keep_alive: bool) -> "httpcore.AsyncConnectionPool":
        from server.egress.transport import open_pool  # as above

        if keep_alive not in self._pools:
            self._pools[keep_alive] = open_pool(
                self.guard,
                self.resolve,
                proxy=self.proxy,
                trust=self.trust,
                keep_alive=keep_alive,
            )
        return self._pools[keep_alive]

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()


def _redirects_to(answer: FetchedResponse) -> str | None:
    location = answer.headers.get("location")
    if answer.status not in REDIRECTS or not location:
        return None
    try:
        return urljoin(answer.url, location)
    except ValueError:
        raise EgressRefusedError("It is redirected to what is no URL.") from None


def _headers(raw: list[tuple[bytes, bytes]]) -> dict[str, str]:
    if sum(len(name) + len(value) for name, value in raw) > MAX_HEADER_BYTES:
        raise ResponseTooLargeError(
            f"The headers of the answer are larger than {MAX_HEADER_BYTES} bytes."
        )
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in raw}


def _reason(error: Exception) -> str:
    said = str(error).strip().rstrip(".")
    return f"There is no answer: {said[:200]}." if said else "There is no answer."


@asynccontextmanager
async def open_egress(settings: Settings, also: str = "") -> AsyncIterator[Egress]:
    """Open a client with the operator's settings; the given destinations are allowed too."""
    resolver = SystemResolver()
    guard = Guard(settings.egress_allow.with_also(also), settings.egress_ports)
    egress = Egress(guard, resolver, settings.egress_proxy)
    try:
        yield egress
    finally:
        await egress.close()
        resolver.close()
