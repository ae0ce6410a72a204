"""Requests to addresses that strangers choose: the one way out of the server."""

from server.egress.client import Answer, Egress, Limits, open_egress
from server.egress.errors import (
    EgressError,
    RefusedError,
    TooLargeError,
    TooSlowError,
    UnreachableError,
)

__all__ = [
    "Answer",
    "Egress",
    "EgressError",
    "Limits",
    "RefusedError",
    "TooLargeError",
    "TooSlowError",
    "UnreachableError",
    "open_egress",
]
