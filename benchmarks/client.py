"""A small HTTP client over one kept connection: little of its own cost in what it measures."""

import asyncio
import base64
import json
import time
from typing import Any
from urllib.parse import urlencode

from benchmarks.server import Server
from benchmarks.world import API_KEY, World

AT_ONCE_BYTES = 1024 * 1024
"""An answer of so many is read without a pause: to stop and go on takes turns of the loop."""


class Client:
    """One connection of one user to the server under test."""

    def __init__(self, port: int, email: str, api_key: str, host: str = "localhost") -> None:
        self._port = port
        credentials = base64.b64encode(f"{email}:{api_key}".encode()).decode()
        self._head = f"Host: {host}\r\nAuthorization: Basic {credentials}\r\n"
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str, **fields: Any) -> bytes:
        return await self._ask(self.request("GET", path, **fields))

    async def post(self, path: str, **fields: Any) -> bytes:
        return await self._ask(self.request("POST", path, **fields))

    async def register(self, **fields: Any) -> str:
        answer = json.loads(await self.post("/register", **fields))
        return str(answer["queue_id"])

    def send_request(self, channel_id: int, topic: str, content: str) -> bytes:
        """The bytes of a send, made once and written many times."""
        return self.request(
            "POST", "/messages", type="channel", to=channel_id, topic=topic, content=content
        )

    def request(self, method: str, path: str, **fields: Any) -> bytes:
        """The bytes of a request."""
        if method == "GET":
            return self._request("GET", f"{path}?{_encoded(fields)}", b"")
        return self._request(method, path, _encoded(fields).encode())

    async def timed(self, request: bytes) -> float:
        """Seconds from the request's first byte to the answer's last."""
        started = time.perf_counter()
        await self._ask(request)
        return time.perf_counter() - started

    def close(self) -> None:
        """Close the connection; the next request opens another."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        form = "Content-Type: application/x-www-form-urlencoded\r\n" if body else ""
        head = f"{method} /api/v1{path} HTTP/1.1\r\n{self._head}{form}Content-Length: {len(body)}"
        return head.encode() + b"\r\n\r\n" + body

    async def _ask(self, request: bytes) -> bytes:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(
                "127.0.0.1", self._port, limit=AT_ONCE_BYTES
            )
        assert self._reader is not None
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r")[0]
        answer = await self._reader.readexactly(int(length))
        assert head.startswith(b"HTTP/1.1 200"), (head, answer)
        return answer


def clients(server: Server, world: World, count: int) -> list[Client]:
    """One for each of the first people."""
    return [Client(server.port, world.email(number), API_KEY) for number in range(1, count + 1)]


def _encoded(fields: dict[str, Any]) -> str:
    return urlencode({k: v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()})
