"""Reports of faults, beside the log. Off unless a service for them is configured.

Nothing of Sentry's SDK is imported here: a reporter (server/telemetry/sentry.py) is installed by
`installed`.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from structlog.typing import EventDict, WrappedLogger

Reporter = Callable[[BaseException, str, dict[str, Any]], None]
"""Reports an exception, with the name of its log event and the fields of that."""

_reporter: Reporter | None = None


@contextmanager
def installed(reporter: Reporter) -> Iterator[None]:
    """Report the faults that the process logs while the block runs."""
    global _reporter  # noqa: PLW0603 - one per process, as its log
    before, _reporter = _reporter, reporter
    try:
        yield
    finally:
        _reporter = before


def report_fault(_logger: WrappedLogger, method: str, event: EventDict) -> EventDict:
    """Report a log line about a fault: one of level error, with an exception. For structlog."""
    if _reporter is None or method not in {"error", "exception", "critical"}:
        return event
    raised = event.get("exc_info")
    error = raised[1] if isinstance(raised, tuple) else raised
    if raised is True:
        error = sys.exc_info()[1]
    if isinstance(error, BaseException):
        fields = {name: value for name, value in event.items() if name != "exc_info"}
        _reporter(error, str(event.get("event", "")), fields)
    return event
