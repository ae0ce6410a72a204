"""Requests, the commands that repeat them, and their responses."""

import base64
import http.client
import json
import shlex
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, urlencode

PATIENCE_SECONDS = 30.0
BOUNDARY = "fuzz-boundary"


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request, made whole before it is sent."""

    method: str
    path: str
    """With its query."""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""

    def curl(self, root: str) -> str:
        """A command that sends the same."""
        parts = ["curl", "-sS", "-i", "--path-as-is", "-X", self.method]
        for name, value in self.headers.items():
            parts += ["-H", f"{name}: {value}"]
        line = shlex.join([*parts, root + self.path])
        if not self.body:
            return line
        encoded = base64.b64encode(self.body).decode()
        return f"base64 -d <<< {encoded} | {line} --data-binary @-"


@dataclass(frozen=True, slots=True)
class ReceivedResponse:
    status: int
    headers: http.client.HTTPMessage
    content: bytes
    seconds: float

    @property
    def body(self) -> Any:
        """The body parsed as JSON; None if it is no JSON."""
        if not self.content or "json" not in self.headers.get("Content-Type", ""):
            return None
        return json.loads(self.content)


class Line:
    """One connection, opened anew when it is gone."""

    def __init__(self, port: int) -> None:
        self.root = f"http://127.0.0.1:{port}"
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, asked: SentRequest) -> ReceivedResponse:
        """The answer. Raises OSError and HTTPException where none comes."""
        try:
            return self._ask(asked)
        except (ConnectionError, http.client.RemoteDisconnected):
            self.close()
            return self._ask(asked)

    def _ask(self, asked: SentRequest) -> ReceivedResponse:
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                "127.0.0.1", self._port, timeout=PATIENCE_SECONDS
            )
        begin = time.perf_counter()
        self._connection.request(
            asked.method, asked.path, body=asked.body or None, headers=asked.headers
        )
        response = self._connection.getresponse()
        content = response.read()
        return ReceivedResponse(response.status, response.msg, content, time.perf_counter() - begin)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def authorization(email: str, key: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{email}:{key}".encode()).decode()}


def as_text(value: Any) -> str:
    """The value in a form field: text as it is, and everything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def encoded(fields: dict[str, Any]) -> str:
    pairs = [(name, as_text(value)) for name, value in fields.items()]
    return urlencode(pairs, errors="surrogatepass")


def segment(value: Any) -> str:
    """The value as a path segment. An empty one or a dot segment would change the path."""
    text = as_text(value)
    return quote(text, safe="", errors="surrogatepass") if text.strip(".") else "%20"


def multipart(fields: dict[str, Any], files: list[tuple[str, str, bytes]]) -> bytes:
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n'.encode(errors="surrogatepass")
        + as_text(value).encode(errors="surrogatepass")
        for name, value in fields.items()
    ]
    parts += [
        f'Content-Disposition: form-data; name="{name}"; filename="{file_name}"\r\n\r\n'.encode(
            errors="surrogatepass"
        )
        + content
        for name, file_name, content in files
    ]
    begin = f"--{BOUNDARY}\r\n".encode()
    return b"".join(begin + part + b"\r\n" for part in parts) + f"--{BOUNDARY}--\r\n".encode()
