"""Exchanges: receive a request from a connection, handle it, write the response."""

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars

from server.api.endpoint import DeferredResponse, Endpoint
from server.api.envelopes import error_body
from server.api.handler import HandlerContext, RequestHandler
from server.api.incoming import IDLE_TIMEOUT_SECONDS, IncomingBody, body_timeout
from server.api.pages import Pages
from server.api.proxies import traceparent_of
from server.api.request_ids import REQUEST_ID, request_id_of
from server.api.response_writer import HttpExchange, ResponseWriter
from server.api.routes import Router
from server.app import App
from server.domain.errors import DomainError
from server.telemetry import traces
from server.telemetry.logs import new_request_id
from server.telemetry.metrics import METHODS

logger = structlog.get_logger(__name__)

DISCARD_BYTES: Final = 64 * 1024 * 1024
"""An oversize body up to this size is read and dropped, so that its client sees the error."""
DRAIN_POLL_SECONDS: Final = 0.01
ORDINARY: Final = {"Content-Type": "application/json", "Vary": "Accept-Language"}
"""Default headers of a response."""
BODILESS: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})
"""Statuses without a body, of which a Content-Length would say something else."""


class ApiServer:
    """Create the exchanges of a process, and drain them at shutdown."""

    def __init__(self, app: App, router: Router[Endpoint[Any]], pages: Pages) -> None:
        self.app = app
        self.handler_context = HandlerContext(app, router, pages)
        self.in_progress: set[asyncio.Task[None]] = set()
        self.waiting = 0
        """Number of exchanges with a deferred response, which have no task."""

    @property
    def is_draining(self) -> bool:
        return self.handler_context.is_draining

    def exchange(self, writer: ResponseWriter) -> HttpExchange:
        """The next exchange on a connection."""
        return _Exchange(self, writer)

    def begin_draining(self) -> None:
        """Make each response the last of its connection, and `/ready` answer 503."""
        self.handler_context.is_draining = True

    async def drain(self) -> None:
        """Answer open polls at once, and wait for all other responses."""
        self.begin_draining()
        self.app.realtime.release_all()
        while self.in_progress or self.waiting:
            if self.in_progress:
                await asyncio.wait(self.in_progress)
            else:
                await asyncio.sleep(DRAIN_POLL_SECONDS)

    def measure(
        self,
        method: str,
        endpoint: str,
        status: int,
        began: float,
        span: traces.Span | None,
        **caller: object,
    ) -> None:
        """Record the metrics of a request that is answered now; log it if the settings say so.

        The log names the endpoint, not the path: paths and parameters may hold secrets.
        """
        seconds = self.app.clock.monotonic() - began
        trace_id = ""
        if span is not None:
            trace_id = span.trace_id
            _describe(span, method, endpoint, status)
        self.app.metrics.request(
            method=method, endpoint=endpoint, status=status, seconds=seconds, trace_id=trace_id
        )
        if self.app.settings.access_log:
            logger.info(
                "http.request",
                method=method,
                endpoint=endpoint,
                status=status,
                seconds=round(seconds, 6),
                **caller,
            )

    def respond(
        self,
        writer: ResponseWriter,
        status: int,
        headers: Mapping[str, str],
        body: bytes,
        *,
        cookies: Iterable[str] = (),
        has_body: bool = True,
    ) -> None:
        """Write a response, by default in JSON; during a drain the last one of its connection."""
        ordinary = {} if status in BODILESS else {**ORDINARY, "Content-Length": str(len(body))}
        lines = [*{**ordinary, **headers}.items()]
        lines += [("Set-Cookie", cookie) for cookie in cookies]
        writer.respond(status, lines, body if has_body else b"", is_last=self.is_draining)


def _describe(span: traces.Span, method: str, endpoint: str, status: int) -> None:
    """Name the span of a request by its endpoint: paths and parameters may hold secrets."""
    span.rename(f"{method if method in METHODS else 'other'} {endpoint}")
    span.set(route=endpoint, status=status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.fail(str(status))


class _Exchange:
    """A request and its response."""

    __slots__ = (
        "_handler",
        "_method",
        "_request_id",
        "_server",
        "_task",
        "_traceparent",
        "_writer",
    )

    def __init__(self, server: ApiServer, writer: ResponseWriter) -> None:
        self._server = server
        self._writer = writer
        self._traceparent: str | None
        self._task: asyncio.Task[None] | None = None

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None:
        handler = RequestHandler(
            self._server.handler_context, self._writer, method, target, headers
        )
        self._method = method
        self._request_id = handler.request_id = request_id_of(headers)
        self._handler = handler
        self._traceparent = None
        if traces.is_on():
            trusted = self._server.app.settings.trusted_proxies
            self._traceparent = traceparent_of(self._writer.remote_ip, headers, trusted)
        if handler.incoming is not None:
            self._writer.set_body_timeout(body_timeout(handler.announced or DISCARD_BYTES))
            self._begin()
        elif handler.announced > DISCARD_BYTES:
            handler.body.size = handler.announced
            self._begin()

    def data_received(self, chunk: bytes) -> asyncio.Future[None] | None:
        if self._handler.incoming is not None:
            return self._handler.incoming.add(chunk)
        body = self._handler.body
        body.add(chunk)
        if body.size > DISCARD_BYTES:
            self._begin()
        return None

    def finish(self) -> None:
        self._handler.body.end()
        if self._handler.incoming is not None:
            self._handler.incoming.end()
        self._begin()

    def on_connection_close(self) -> None:
        # An abandoned poll ends; a write continues in the realm's writer.
        self._handler.body.give_up()
        if self._handler.incoming is not None:
            self._handler.incoming.give_up()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        """Start handling, at the end of the body or as soon as it is far too large."""
        if self._task is not None:
            return
        if self._handler.body.size > DISCARD_BYTES:
            self._writer.linger()
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._server.in_progress.add(self._task)
        self._task.add_done_callback(self._server.in_progress.discard)
        self._writer.hand_over(self)

    async def _serve(self) -> None:
        # The task handles only this request, so the context variables are its own.
        bind_contextvars(request_id=self._request_id)
        handler = self._handler
        headers: dict[str, str] = {}
        began = self._server.app.clock.monotonic()
        span = traces.begin_request(self._traceparent)
        if span is not None:
            bind_contextvars(trace_id=span.trace_id)
        try:
            with traces.entered(span):
                status, body = await handler.answer(headers)
            if isinstance(body, DeferredResponse):
                _DeferredExchange(self._server, self._writer, handler, began, headers, body, span)
                span = None  # ends with the response
                # Tornado's server keeps a reference to this exchange until the response.
                del self._handler, self._task
                return
            self._server.measure(
                self._method, handler.endpoint, status, began, span, **handler.caller_for_log
            )
            headers[REQUEST_ID] = self._request_id
            if handler.incoming is not None:
                await handler.received.discard()
                await self._drain_body(handler.incoming)
            if not handler.is_streaming:
                has_body = self._method != "HEAD"
                self._server.respond(
                    self._writer, status, headers, body, cookies=handler.cookies, has_body=has_body
                )
            elif status != HTTPStatus.OK:
                self._writer.close()
        except asyncio.CancelledError:
            self._writer.close()
        except Exception:
            logger.exception("http.response_failed", endpoint=handler.endpoint)
            self._writer.close()  # clients of a poll have no timeout of their own
        finally:
            if span is not None:
                span.end()
            handler.body.give_up()
            await handler.received.discard()

    async def _drain_body(self, incoming: IncomingBody) -> None:
        """Read the rest of a refused file: many clients read the response only after that."""
        if self._handler.announced <= DISCARD_BYTES:
            await incoming.rest(IDLE_TIMEOUT_SECONDS)
        else:
            incoming.give_up()
            self._writer.linger()


class _DeferredExchange:
    """An exchange with a deferred response, reduced to what writing it takes."""

    __slots__ = (
        "_began",
        "_caller",
        "_endpoint",
        "_headers",
        "_is_waiting",
        "_later",
        "_request_id",
        "_server",
        "_span",
        "_writer",
    )

    def __init__(
        self,
        server: ApiServer,
        writer: ResponseWriter,
        handler: RequestHandler,
        began: float,
        headers: dict[str, str],
        later: DeferredResponse,
        span: traces.Span | None,
    ) -> None:
        self._server = server
        self._writer = writer
        self._endpoint = handler.endpoint
        self._request_id = handler.request_id
        self._caller = handler.caller_for_log if server.app.settings.access_log else None
        self._began = began
        self._headers = headers or None
        self._span = span
        self._later: DeferredResponse | None = later
        if self.parameter and not handler.has_request_id and not traces.is_on():
            writer.may_repeat(self)
        self._wait()
        later.deliver_to(self)

    @property
    def parameter(self) -> bytes:
        """The query parameter in which requests for `repeat` may differ."""
        return b"" if self._later is None else self._later.parameter

    def repeat(self, value: int) -> bool:
        """Begin again; False if the request has to be handled as any other."""
        if self._later is None or self._server.is_draining:
            return False
        began = self._server.app.clock.monotonic()
        result = self._later.repeat(value)
        if result is None:
            return False
        self._began = began
        self._request_id = new_request_id()
        self._wait()
        if isinstance(result, DeferredResponse):
            result.deliver_to(self)
        else:
            self.deliver(result.body)
        return True

    def deliver(self, body: bytes) -> None:
        """Write the response."""
        self._respond(HTTPStatus.OK, self._headers or {}, body)

    def fail(self, refusal: DomainError) -> None:
        """Write an error response."""
        headers = {**(self._headers or {}), **refusal.headers}
        self._respond(refusal.status, headers, error_body(refusal))

    def on_connection_close(self) -> None:
        later, self._later = self._later, None
        if self._end() and later is not None:
            later.give_up()
            if self._span is not None:
                self._span.end()

    def _respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if not self._end():
            return
        if not self.parameter:
            self._later = None  # breaks a reference cycle
        try:
            self._measure(status)
            if self._span is not None:
                traces.link_to_answer(self._span)
                self._span.end()
            headers = {**headers, REQUEST_ID: self._request_id}
            self._server.respond(self._writer, status, headers, body)
        except Exception:
            logger.exception("http.response_failed", endpoint=self._endpoint)
            self._writer.close()

    def _measure(self, status: int) -> None:
        measure = partial(
            self._server.measure, "GET", self._endpoint, status, self._began, self._span
        )
        if self._caller is None:
            measure()
        else:  # it is logged
            with bound_contextvars(request_id=self._request_id):
                measure(**self._caller)

    def _wait(self) -> None:
        self._is_waiting = True
        self._server.waiting += 1
        self._writer.hand_over(self)

    def _end(self) -> bool:
        """End the wait; False if it is over already.

        A response may arrive while the connection closes, before `on_connection_close`.
        """
        was_waiting, self._is_waiting = self._is_waiting, False
        self._server.waiting -= was_waiting
        return was_waiting
