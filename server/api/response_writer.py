"""What an exchange needs of the connection that it is on, whichever server owns the socket."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from typing_extensions import override


class Headers(Mapping[str, str]):
    """The headers of a request; names in any case. Of one that came twice, both with a comma."""

    __slots__ = ("_values",)

    def __init__(self, values: dict[str, str]) -> None:
        """`values` by names in lower case."""
        self._values = values

    @override
    def __getitem__(self, name: str) -> str:
        return self._values[name.lower()]

    @override
    def get(self, name: str, default: Any = None) -> Any:
        # Mapping's tries and catches, a dozen times a request.
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
    """Nobody is there any more to take the answer: no fault of anybody's."""


class Responder(Protocol):
    """Who owes a client its answer."""

    def on_connection_close(self) -> None:
        """The client has gone before it had it."""
        ...


class ResponseWriter(Protocol):
    """A connection, for the exchange that is on it now. Exchanges follow each other.

    An answer is written whole (`respond`) or in pieces (`start`, `send`, `finish`). What is written
    to a connection that is gone is dropped.
    """

    @property
    def remote_ip(self) -> str: ...

    def respond(
        self, status: int, headers: Iterable[tuple[str, str]], body: bytes, *, is_last: bool
    ) -> None:
        """Answer. `headers` say how long the body is, which may be left out (HEAD).

        After the last answer, and before the end of a body that is not read, the connection ends.
        """
        ...

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Begin to answer. Raises ClientGoneError once the client is gone, as `send` does.

        Without a `Content-Length` it may be an answer that never ends, so it ends when its client
        sends nothing more.
        """
        ...

    async def send(self, chunk: bytes) -> None:
        """A piece of the body; waits while the client takes none."""
        ...

    def finish(self) -> None:
        """That was the body."""
        ...

    def close(self) -> None:
        """End the connection when what was written is on its way."""
        ...

    def linger(self) -> None:
        """Once it closes, read on for a moment: a reset would take the answer from the client."""
        ...

    def set_body_timeout(self, seconds: float) -> None:
        """How long the rest of the body may take."""
        ...

    def hand_over(self, answerer: Responder) -> None:
        """From now on this one owes the answer. Of the exchange the body's rest is all it keeps."""
        ...


class HttpExchange(Responder, Protocol):
    """One request and its answer, as the connection tells it what comes."""

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None: ...

    def data_received(self, chunk: bytes) -> "asyncio.Future[None] | None":
        """A piece of the body. No other is brought until what is returned is done."""
        ...

    def finish(self) -> None:
        """That was the body."""
        ...


ExchangeFactory = Callable[[ResponseWriter], HttpExchange]
