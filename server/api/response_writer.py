"""Interfaces between HTTP servers and the exchanges on their connections."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from typing_extensions import override


class Headers(Mapping[str, str]):
    """Request headers, with case-insensitive names. Repeated ones are joined with a comma."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, str]) -> None:
        """`values` are keyed by lower-case names."""
        self._values = values

    @override
    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    @override
    def get(self, name: str, default: Any = None) -> Any:
        # Mapping's relies on exceptions, a dozen times per request.
        return self._values.get(name.lower(), default)

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    @override
    def __len__(self) -> int:
        return len(self._values)

    @override
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._values


class ClientGoneError(ConnectionError):
    """The client has disconnected. No error of the server or of the handler."""


class Responder(Protocol):
    """Responsible for the response to the current request of a connection."""

    def on_connection_close(self) -> None:
        """The client has disconnected before the response was complete."""
        ...


class Repeatable(Protocol):
    """A request that can begin again with another value of one query parameter."""

    @property
    def parameter(self) -> bytes:
        """The name of the parameter, and an equals sign."""
        ...

    def repeat(self, value: int) -> bool:
        """Begin again with this value, and be responsible for the response.

        Return False if it has to be handled as any other request.
        """
        ...


class ResponseWriter(Protocol):
    """Writes the response to the current request of a connection.

    A response is written as a whole (`respond`) or in parts (`start`, `send`, `finish`). Writes to
    a closed connection are dropped.
    """

    @property
    def remote_ip(self) -> str: ...

    def respond(
        self, status: int, headers: Iterable[tuple[str, str]], body: bytes, *, is_last: bool
    ) -> None:
        """Write a response. `headers` contain the length of the body, which HEAD omits.

        The connection ends after the last response, and if the request's body was not read.
        """
        ...

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin a response. Raises ClientGoneError if the client has disconnected, as `send` does.

        Without a `Content-Length` it may never end, so it ends when the client half-closes.
        """
        ...

    async def send(self, chunk: bytes) -> None:
        """Send a part of the body; wait while the client does not read."""
        ...

    def finish(self) -> None:
        """End the body."""
        ...

    def close(self) -> None:
        """Close the connection once the write buffer is sent."""
        ...

    def linger(self) -> None:
        """Read on for a moment after closing: a reset would discard the response at the client."""
        ...

    def set_body_timeout(self, seconds: float) -> None:
        """Limit the time for the rest of the request's body."""
        ...

    def may_repeat(self, request: Repeatable) -> None:
        """Let the connection repeat the current request. Must be called before `hand_over`.

        If the next request is the same but for the parameter's value, the connection may call
        `repeat` instead of reading it.
        """
        ...

    def hand_over(self, answerer: Responder) -> None:
        """Make `responder` responsible; the exchange only receives the rest of the body."""
        ...


class HttpExchange(Responder, Protocol):
    """A request and its response, driven by its connection."""

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None: ...

    def data_received(self, chunk: bytes) -> "asyncio.Future[None] | None":
        """Receive a part of the body. The next one follows once the returned future is done."""
        ...

    def finish(self) -> None:
        """The request's body is complete."""
        ...


ExchangeFactory = Callable[[ResponseWriter], HttpExchange]
