"""What is told to whom no exchange can be begun with, in the envelope of all errors."""

from collections.abc import Mapping
from typing import Final

from server.api.envelopes import REASONS, error_body
from server.domain.errors import BadRequestError, DomainError

LINGER_SECONDS: Final = 2.0
LINGER_BYTES: Final = 16 * 1024 * 1024
MAX_LINGERING: Final = 100
"""Connections whose rest is read although it counts for nothing."""


class HeadTooLargeError(DomainError):
    status = 431

    def __init__(self) -> None:
        super().__init__("The request's headers are too large.")


class MalformedRequestError(BadRequestError):
    """What came is no HTTP."""

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
    """A whole response, after which the connection closes."""
    body = error_body(error)
    head = "".join(f"{name}: {value}\r\n" for name, value in closing_headers(body).items())
    return f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\n{head}\r\n".encode() + body


def closing_headers(body: bytes) -> Mapping[str, str]:
    """Those of such a response."""
    return {
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
        "Connection": "close",
    }
