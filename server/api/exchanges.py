"""Exchanges: each takes a request from its connection, has it handled, and brings the answer."""

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars

from server.api.endpoint import DeferredResponse, Endpoint
from server.api.envelopes import error_body
from server.api.handler import HandlerContext, RequestHandler
from server.api.incoming import SILENCE_SECONDS, IncomingBody, patience
from server.api.pages import Pages
from server.api.request_ids import REQUEST_ID, request_id_of
from server.api.response_writer import HttpExchange, ResponseWriter
from server.api.routes import Router
from server.app import App
from server.domain.errors import DomainError

logger = structlog.get_logger(__name__)

DISCARD_BYTES: Final = 64 * 1024 * 1024
"""Up to here an oversize body is read and dropped, so that its sender sees the refusal."""
DRAIN_LOOK_SECONDS: Final = 0.01
ORDINARY: Final = {"Content-Type": "application/json", "Vary": "Accept-Language"}
"""Headers of an answer that says nothing else of itself."""


class ApiServer:
    """The exchanges of all connections of a process."""

    def __init__(self, app: App, router: Router[Endpoint[Any]], pages: Pages) -> None:
        self.app = app
        self.handler_context = HandlerContext(app, router, pages)
        self.in_hand: set[asyncio.Task[None]] = set()
        self.waiting = 0
        """Exchanges whose answer comes later, of which no task is left."""

    @property
    def is_draining(self) -> bool:
        return self.handler_context.is_draining

    def exchange(self, writer: ResponseWriter) -> HttpExchange:
        """The next exchange on a connection."""
        return _Exchange(self, writer)

    def refer_elsewhere(self) -> None:
        """Make each response the last of its connection, and `/ready` answer 503."""
        self.handler_context.is_draining = True

    async def drain(self) -> None:
        """Answer what has been asked: open polls at once, the rest when done."""
        self.refer_elsewhere()
        self.app.realtime.release_all()
        while self.in_hand or self.waiting:
            if self.in_hand:
                await asyncio.wait(self.in_hand)
            else:
                await asyncio.sleep(DRAIN_LOOK_SECONDS)

    def measure(
        self, method: str, endpoint: str, status: int, began: float, **caller: object
    ) -> None:
        """Count a request that was begun then and is answered now; log it where that is wanted.

        The log names the endpoint, not the path: paths and parameters may hold secrets.
        """
        seconds = self.app.clock.monotonic() - began
        self.app.metrics.request(method=method, endpoint=endpoint, status=status, seconds=seconds)
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
        """Answer, in JSON unless the headers say otherwise. In a drain it is the last answer."""
        ordinary = (
            {}
            if status == HTTPStatus.NO_CONTENT
            else {**ORDINARY, "Content-Length": str(len(body))}
        )
        lines = [*{**ordinary, **headers}.items()]
        lines += [("Set-Cookie", cookie) for cookie in cookies]
        writer.respond(status, lines, body if has_body else b"", is_last=self.is_draining)


class _Exchange:
    """One request and its answer."""

    __slots__ = ("_handler", "_method", "_request_id", "_server", "_task", "_writer")

    def __init__(self, server: ApiServer, writer: ResponseWriter) -> None:
        self._server = server
        self._writer = writer
        self._task: asyncio.Task[None] | None = None

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None:
        handler = RequestHandler(
            self._server.handler_context, self._writer, method, target, headers
        )
        self._method = method
        self._request_id = handler.request_id = request_id_of(headers)
        self._handler = handler
        if handler.incoming is not None:
            self._writer.set_body_timeout(patience(handler.announced or DISCARD_BYTES))
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
        # A poll that nobody waits for ends; a write goes on in the realm's writer.
        self._handler.body.give_up()
        if self._handler.incoming is not None:
            self._handler.incoming.give_up()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        """Answer; before all of the body is there only if it is far too large."""
        if self._task is not None:
            return
        if self._handler.body.size > DISCARD_BYTES:
            self._writer.linger()
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._server.in_hand.add(self._task)
        self._task.add_done_callback(self._server.in_hand.discard)
        self._writer.hand_over(self)

    async def _serve(self) -> None:
        # The task is this request's alone, and so is its context.
        bind_contextvars(request_id=self._request_id)
        handler = self._handler
        headers: dict[str, str] = {}
        began = self._server.app.clock.monotonic()
        try:
            status, body = await handler.answer(headers)
            if isinstance(body, DeferredResponse):
                _DeferredExchange(self._server, self._writer, handler, began, headers, body)
                # Tornado's server knows of this exchange until it is answered.
                del self._handler, self._task
                return
            self._server.measure(
                self._method, handler.endpoint, status, began, **handler.caller_for_log
            )
            headers[REQUEST_ID] = self._request_id
            if handler.incoming is not None:
                await handler.received.discard()
                await self._read_off(handler.incoming)
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
            self._writer.close()  # who waits for an answer knows no deadline
        finally:
            handler.body.give_up()
            await handler.received.discard()

    async def _read_off(self, incoming: IncomingBody) -> None:
        """Whoever sends a file that is refused may not look before all of it is gone."""
        if self._handler.announced <= DISCARD_BYTES:
            await incoming.rest(SILENCE_SECONDS)
        else:
            incoming.give_up()
            self._writer.linger()


class _DeferredExchange:
    """An exchange whose answer comes later, of which nothing else is left."""

    __slots__ = (
        "_began",
        "_caller",
        "_endpoint",
        "_headers",
        "_later",
        "_request_id",
        "_server",
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
    ) -> None:
        self._server = server
        self._writer = writer
        self._endpoint = handler.endpoint
        self._request_id = handler.request_id
        self._caller = handler.caller_for_log if server.app.settings.access_log else None
        self._began = began
        self._headers = headers or None
        self._later: DeferredResponse | None = later
        server.waiting += 1
        writer.hand_over(self)
        later.deliver_to(self)

    def deliver(self, body: bytes) -> None:
        """The answer has come."""
        self._respond(HTTPStatus.OK, self._headers or {}, body)

    def fail(self, refusal: DomainError) -> None:
        """There is none any more."""
        headers = {**(self._headers or {}), **refusal.headers}
        self._respond(refusal.status, headers, error_body(refusal))

    def on_connection_close(self) -> None:
        later = self._end()
        if later is not None:
            later.give_up()

    def _respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        if self._end() is None:
            return
        try:
            caller = self._caller or {}
            with bound_contextvars(request_id=self._request_id):
                self._server.measure("GET", self._endpoint, status, self._began, **caller)
            headers = {**headers, REQUEST_ID: self._request_id}
            self._server.respond(self._writer, status, headers, body)
        except Exception:
            logger.exception("http.response_failed", endpoint=self._endpoint)
            self._writer.close()

    def _end(self) -> DeferredResponse | None:
        """Wait no more; what was waited for, unless that is over already.

        The answer may come to a connection that closes, and is told so only afterwards.
        """
        later, self._later = self._later, None  # it knows of this, and so would be garbage
        if later is not None:
            self._server.waiting -= 1
        return later
