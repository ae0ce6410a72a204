"""Retry-After: when a failed request to another server may be retried."""

from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final

MAX_WAIT_SECONDS: Final = 3_600.0
"""Maximum wait that a server may request."""
_PASSING: Final = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_EARLY, HTTPStatus.TOO_MANY_REQUESTS}
)


def is_passing(status: int) -> bool:
    """Return whether the same request may succeed later."""
    return status in _PASSING or status >= HTTPStatus.INTERNAL_SERVER_ERROR


def seconds_to_wait(retry_after: str, now: datetime) -> float:
    """Return the seconds to wait; 0 if the header is missing or unreadable.

    It holds seconds or a date.
    """
    if retry_after.isdecimal():
        return min(float(retry_after), MAX_WAIT_SECONDS)
    try:
        seconds = (parsedate_to_datetime(retry_after) - now).total_seconds()
    except (TypeError, ValueError):  # no date, or one that does not say of which zone
        return 0.0
    return min(max(seconds, 0.0), MAX_WAIT_SECONDS)
