"""Error responses to what is no valid request, in the API's error format."""

from collections.abc import Mapping
from typing import Final

from server.api.envelopes import REASONS, error_body
from server.domain.errors import BadRequestError, DomainError

LINGER_SECONDS: Final = 2.0
LINGER_BYTES: Final = 16 * 1024 * 1024
MAX_LINGERING: Final = 100
"""Connections that are read after their last response; others are closed at once."""


class HeadTooLargeError(DomainError):
    status = 431

    def __init__(self) -> None:
        super().__init__("The request's headers are too large.")


class MalformedRequestError(BadRequestError):
    """The input is not valid HTTP."""

    def __init__(self) -> None:
        super().__init__("Malformed HTTP request")


class BodyTimeoutError(DomainError):
    status = 408

    def __init__(self) -> None:
        super().__init__("The request's body does not come.")


class TooManyConnectionsError(DomainError):
    status = 503

    def __init__(self) -> None:
        super().__init__("Too many connections.")


def closing_answer(error: DomainError) -> bytes:
    """A complete response that ends the connection."""
    body = error_body(error)
    head = "".join(f"{name}: {value}\r\n" for name, value in closing_headers(body).items())
    return f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\n{head}\r\n".encode() + body


def closing_headers(body: bytes) -> Mapping[str, str]:
    """The headers of such a response."""
    return {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
