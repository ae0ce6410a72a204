"""Exchanges: each takes a request from its connection, has it handled, and brings the answer."""

import asyncio
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, Final

import structlog
from structlog.contextvars import bind_contextvars, bound_contextvars

from server.api.endpoint import Endpoint, Later
from server.api.envelopes import error_body
from server.api.handler import Answering, Handling
from server.api.incoming import SILENCE_SECONDS, IncomingBody, patience
from server.api.request_ids import REQUEST_ID, request_id_of
from server.api.routes import Router
from server.api.visits import Pages
from server.api.wire import Exchange, Wire
from server.app import App
from server.domain.errors import DomainError

logger = structlog.get_logger(__name__)

DISCARD_BYTES: Final = 64 * 1024 * 1024
"""Up to here an oversize body is read and dropped, so that its sender sees the refusal."""
DRAIN_LOOK_SECONDS: Final = 0.01
ORDINARY: Final = {"Content-Type": "application/json", "Vary": "Accept-Language"}
"""Headers of an answer that says nothing else of itself."""
_UNANSWERED: Final = "an answer could not be given"


class ApiServer:
    """The exchanges of all connections of a process."""

    def __init__(self, app: App, router: Router[Endpoint[Any]], pages: Pages) -> None:
        self.app = app
        self.answering = Answering(app, router, pages)
        self.in_hand: set[asyncio.Task[None]] = set()
        self.waiting = 0
        """Exchanges whose answer comes later, of which no task is left."""

    @property
    def is_draining(self) -> bool:
        return self.answering.is_draining

    def exchange(self, wire: Wire) -> Exchange:
        """The next exchange on a connection."""
        return _Exchange(self, wire)

    def refer_elsewhere(self) -> None:
        """Make each response the last of its connection, and `/ready` answer 503."""
        self.answering.is_draining = True

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
        wire: Wire,
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
        wire.respond(status, lines, body if has_body else b"", is_last=self.is_draining)


class _Exchange:
    """One request and its answer."""

    __slots__ = ("_handling", "_method", "_request_id", "_server", "_task", "_wire")

    def __init__(self, server: ApiServer, wire: Wire) -> None:
        self._server = server
        self._wire = wire
        self._task: asyncio.Task[None] | None = None

    def headers_received(self, method: str, target: str, headers: Mapping[str, str]) -> None:
        handling = Handling(self._server.answering, self._wire, method, target, headers)
        self._method = method
        self._request_id = handling.request_id = request_id_of(headers)
        self._handling = handling
        if handling.incoming is not None:
            self._wire.set_body_timeout(patience(handling.announced or DISCARD_BYTES))
            self._begin()
        elif handling.announced > DISCARD_BYTES:
            handling.body.size = handling.announced
            self._begin()

    def data_received(self, chunk: bytes) -> asyncio.Future[None] | None:
        if self._handling.incoming is not None:
            return self._handling.incoming.add(chunk)
        body = self._handling.body
        body.add(chunk)
        if body.size > DISCARD_BYTES:
            self._begin()
        return None

    def finish(self) -> None:
        self._handling.body.end()
        if self._handling.incoming is not None:
            self._handling.incoming.end()
        self._begin()

    def on_connection_close(self) -> None:
        # A poll that nobody waits for ends; a write goes on in the realm's writer.
        self._handling.body.give_up()
        if self._handling.incoming is not None:
            self._handling.incoming.give_up()
        if self._task is not None:
            self._task.cancel()

    def _begin(self) -> None:
        """Answer; before all of the body is there only if it is far too large."""
        if self._task is not None:
            return
        if self._handling.body.size > DISCARD_BYTES:
            self._wire.linger()
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._server.in_hand.add(self._task)
        self._task.add_done_callback(self._server.in_hand.discard)
        self._wire.hand_over(self)

    async def _serve(self) -> None:
        # The task is this request's alone, and so is its context.
        bind_contextvars(request_id=self._request_id)
        handling = self._handling
        headers: dict[str, str] = {}
        began = self._server.app.clock.monotonic()
        try:
            status, body = await handling.answer(headers)
            if isinstance(body, Later):
                _Waiting(self._server, self._wire, handling, began, headers, body)
                # Tornado's server knows of this exchange until it is answered.
                del self._handling, self._task
                return
            self._server.measure(
                self._method, handling.endpoint, status, began, **handling.caller_for_log
            )
            headers[REQUEST_ID] = self._request_id
            if handling.incoming is not None:
                await handling.received.discard()
                await self._read_off(handling.incoming)
            if not handling.is_streaming:
                has_body = self._method != "HEAD"
                self._server.respond(
                    self._wire, status, headers, body, cookies=handling.cookies, has_body=has_body
                )
            elif status != HTTPStatus.OK:
                self._wire.close()
        except asyncio.CancelledError:
            self._wire.close()
        except Exception:
            logger.exception(_UNANSWERED, endpoint=handling.endpoint)
            self._wire.close()  # who waits for an answer knows no deadline
        finally:
            handling.body.give_up()
            await handling.received.discard()

    async def _read_off(self, incoming: IncomingBody) -> None:
        """Whoever sends a file that is refused may not look before all of it is gone."""
        if self._handling.announced <= DISCARD_BYTES:
            await incoming.rest(SILENCE_SECONDS)
        else:
            incoming.give_up()
            self._wire.linger()


class _Waiting:
    """An exchange whose answer comes later, of which nothing else is left."""

    __slots__ = (
        "_began",
        "_caller",
        "_endpoint",
        "_headers",
        "_later",
        "_request_id",
        "_server",
        "_wire",
    )

    def __init__(
        self,
        server: ApiServer,
        wire: Wire,
        handling: Handling,
        began: float,
        headers: dict[str, str],
        later: Later,
    ) -> None:
        self._server = server
        self._wire = wire
        self._endpoint = handling.endpoint
        self._request_id = handling.request_id
        self._caller = handling.caller_for_log if server.app.settings.access_log else None
        self._began = began
        self._headers = headers or None
        self._later: Later | None = later
        server.waiting += 1
        wire.hand_over(self)
        later.then(self)

    def take(self, body: bytes) -> None:
        """The answer has come."""
        self._respond(HTTPStatus.OK, self._headers or {}, body)

    def refuse(self, refusal: DomainError) -> None:
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
            self._server.respond(self._wire, status, headers, body)
        except Exception:
            logger.exception(_UNANSWERED, endpoint=self._endpoint)
            self._wire.close()

    def _end(self) -> Later | None:
        """Wait no more; what was waited for, unless that is over already.

        The answer may come to a connection that closes, and is told so only afterwards.
        """
        later, self._later = self._later, None  # it knows of this, and so would be garbage
        if later is not None:
            self._server.waiting -= 1
        return later
