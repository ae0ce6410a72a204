"""Reports of faults in the protocol of Sentry. Imported only if the settings have a DSN."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import sentry_sdk
from sentry_sdk.utils import BadDsn, event_from_exception

from server.runtime.version import VERSION
from server.telemetry import error_reports, traces

REPORTS_PER_MINUTE: Final = 60
"""Further faults are in the log only: a fault in a loop must not fill the service."""
CLOSE_SECONDS: Final = 2.0
TAGS: Final = ("endpoint", "queue", "kind", "attempt", "realm_id", "request_id")
"""Fields of log lines that a report has: names in the code, and numbers that are not persons'."""


class ReportSettings(Protocol):
    @property
    def sentry_dsn(self) -> str | None: ...


class SentryReporter:
    """Sends the class and the stack of an exception, and where it happened: no values.

    Messages of exceptions and local variables may hold contents and secrets, so they stay in the
    log, where the request id leads to.
    """

    def __init__(self, client: "sentry_sdk.Client", monotonic: Callable[[], float]) -> None:
        self._client = client
        self._monotonic = monotonic
        self._minute = 0
        self._reported = 0

    def __call__(self, error: BaseException, name: str, fields: dict[str, Any]) -> None:
        minute = int(self._monotonic() // 60)
        if minute != self._minute:
            self._minute, self._reported = minute, 0
        self._reported += 1
        if self._reported > REPORTS_PER_MINUTE:
            return
        event, hint = event_from_exception(error, client_options=self._client.options)
        event["transaction"] = str(fields.get("endpoint") or fields.get("queue") or name)
        event["logger"] = name
        event["tags"] = {tag: str(fields[tag]) for tag in TAGS if tag in fields}
        span = traces.current()
        if span is not None:
            _, trace_id, span_id, _ = span.context.split("-")
            event["contexts"] = {"trace": {"trace_id": trace_id, "span_id": span_id}}
        self._client.capture_event(event, hint)


def without_values(event: Any, _hint: Any) -> Any:
    """Remove from an event what may hold contents, secrets or personal data. For `before_send`."""
    for name in ("request", "user", "extra", "breadcrumbs", "modules", "message", "logentry"):
        event.pop(name, None)
    for raised in event.get("exception", {}).get("values", ()):
        raised["value"] = ""
        for frame in raised.get("stacktrace", {}).get("frames", ()):
            frame.pop("vars", None)
    return event


@asynccontextmanager
async def open_reports(settings: ReportSettings) -> AsyncIterator[None]:
    """Report faults while the block runs; send what is left when it ends. Raises ValueError."""
    try:
        # `send_default_pii` is off by default, and naming it is deprecated.
        client = sentry_sdk.Client(
            settings.sentry_dsn,
            release=f"parley@{VERSION}",
            before_send=without_values,
            default_integrations=False,
            auto_enabling_integrations=False,
            include_local_variables=False,
            max_request_body_size="never",
            max_breadcrumbs=0,
            send_client_reports=False,
            auto_session_tracking=False,
            shutdown_timeout=CLOSE_SECONDS,
        )
    except BadDsn as error:
        raise ValueError("PARLEY_SENTRY_DSN is no DSN of Sentry.") from error
    try:
        with error_reports.installed(SentryReporter(client, time.monotonic)):
            yield
    finally:
        await asyncio.to_thread(client.close, CLOSE_SECONDS)
