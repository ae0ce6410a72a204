"""Requests to user-supplied URLs: the only way out of the server for them."""

from server.egress.client import Egress, FetchedResponse, Limits, StreamedResponse, open_egress
from server.egress.errors import (
    EgressError,
    EgressRefusedError,
    HostUnreachableError,
    ResponseTooLargeError,
    TooSlowError,
)

__all__ = [
    "Egress",
    "EgressError",
    "EgressRefusedError",
    "FetchedResponse",
    "HostUnreachableError",
    "Limits",
    "ResponseTooLargeError",
    "StreamedResponse",
    "TooSlowError",
    "open_egress",
]
