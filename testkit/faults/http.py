"""A small HTTP client that counts the writes and polls in flight."""

import asyncio
import base64
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlencode

import orjson

Kind = Literal["write", "poll", "other"]


class NoAnswerError(Exception):
    """No whole answer came: what was asked may have happened or not."""


@dataclass(slots=True)
class InFlight:
    """Requests that have been sent and not answered yet."""

    write: int = 0
    poll: int = 0
    other: int = 0

    def change(self, kind: Kind, by: int) -> None:
        setattr(self, kind, getattr(self, kind) + by)


@dataclass(slots=True)
class Answer:
    status: int
    body: dict[str, Any]

    @property
    def is_final(self) -> bool:
        """Whether it says what became of the request: a server's trouble says nothing."""
        return self.status < 500 and self.status != 429


@dataclass(eq=False)
class Client:
    """One user's connection: a request at a time, made again after whatever happened to it."""

    ports: Sequence[int]
    """The server's own, and those of proxies in front of it."""
    email: str
    api_key: str
    """Empty for a client without an account."""
    in_flight: InFlight
    rng: random.Random
    host: str = "127.0.0.1"
    _streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    _head: str = field(init=False)

    def __post_init__(self) -> None:
        self._head = f"Host: {self.host}\r\nUser-Agent: faults\r\n"
        if self.api_key:
            credentials = base64.b64encode(f"{self.email}:{self.api_key}".encode()).decode()
            self._head += f"Authorization: Basic {credentials}\r\n"

    async def request(
        self,
        method: str,
        path: str,
        fields: Mapping[str, object],
        *,
        kind: Kind,
        patience: float,
        headers: str = "",
        body: bytes | None = None,
    ) -> Answer:
        """Ask, and wait for the answer as long as that. Raises NoAnswerError.

        With a `body`, the fields are in the address; `headers` has the type of the body.
        """
        message = self._encoded(method, path, fields, headers, body)
        try:
            async with asyncio.timeout(patience):
                if self._streams and self._streams[0].at_eof():
                    self.drop()  # the server has closed it, as nothing was asked for long
                reader, writer = self._streams or await self._connected()
                writer.write(message)
                self.in_flight.change(kind, 1)
                try:
                    return await self._answer(reader)
                finally:
                    self.in_flight.change(kind, -1)
        except (OSError, EOFError, TimeoutError, ValueError, asyncio.LimitOverrunError) as error:
            self.drop()
            raise NoAnswerError(repr(error)) from error
        except BaseException:
            self.drop()
            raise

    def drop(self) -> None:
        """End the connection, whatever is in flight on it."""
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    def _encoded(
        self,
        method: str,
        path: str,
        fields: Mapping[str, object],
        headers: str,
        body: bytes | None,
    ) -> bytes:
        form = urlencode({k: v if isinstance(v, str) else _json(v) for k, v in fields.items()})
        target = f"/api/v1{path}"
        if method == "GET" or body is not None:
            target += f"?{form}"
        else:
            body = form.encode()
            headers += "Content-Type: application/x-www-form-urlencoded\r\n"
        if body is not None:
            headers += f"Content-Length: {len(body)}\r\n"
        return f"{method} {target} HTTP/1.1\r\n{self._head}{headers}\r\n".encode() + (body or b"")

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        port = self.rng.choice(self.ports)
        self._streams = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
        return self._streams

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        status_line, *lines = head.split("\r\n")
        length = next(
            int(line.partition(":")[2]) for line in lines if line.lower().startswith("content-len")
        )
        body = await reader.readexactly(length)
        if any(line.lower().startswith("connection: close") for line in lines):
            self.drop()
        return Answer(int(status_line.split(" ", 2)[1]), orjson.loads(body))


def _json(value: object) -> str:
    return orjson.dumps(value).decode()
