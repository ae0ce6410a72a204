"""The one HTTP handler: route, authenticate, limit, parse, run, render, map errors."""

import asyncio
from collections.abc import Awaitable, Mapping
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

import structlog
from structlog.contextvars import bind_contextvars
from tornado.concurrent import Future
from tornado.http1connection import HTTP1Connection
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)
from tornado.iostream import StreamClosedError
from typing_extensions import override

from server.api import forms
from server.api import params as parameters
from server.api.auth import Realms, authenticate, client_name, spectator_or_user
from server.api.bodies import Body, Room
from server.api.connections import ApiStream
from server.api.endpoint import Access, Endpoint, RawResult, Request, Result, Stream
from server.api.envelopes import REASONS, error_body, success_body
from server.api.incoming import (
    FORM_BYTES,
    SILENCE_SECONDS,
    IncomingBody,
    Received,
    patience,
    receive,
    too_large,
)
from server.api.proxies import client_address
from server.api.rate_limit import RateLimits
from server.api.routes import Router
from server.api.streams import ChunkedStream
from server.app import App
from server.checks import CHECKED_PATHS, Checks
from server.domain.errors import (
    BadRequestError,
    DomainError,
    ServerNotReadyError,
)
from server.logs import new_request_id
from storage.database import DatabaseUnavailableError, StatementTimeoutError

logger = structlog.get_logger(__name__)

DISCARD_BYTES: Final = 64 * 1024 * 1024
"""Up to here an oversize body is read and dropped, so that its sender sees the refusal."""
READ_RETRY_SECONDS: Final = 0.1


class InternalServerError(DomainError):
    """A fault of ours, told without details."""

    code = "INTERNAL_SERVER_ERROR"
    status = 500


class ApiServer(HTTPServerConnectionDelegate):
    """What Tornado's HTTPServer hands requests to."""

    def __init__(self, app: App, router: Router) -> None:
        self.app = app
        self.router = router
        self.realms = Realms(app)
        self.rate_limits = RateLimits(app)
        self.room = Room(app.settings.max_body_bytes)
        self.checks = Checks(app, lambda: self.is_draining)
        self.in_hand: set[asyncio.Task[None]] = set()
        self.is_draining = False

    @override
    def start_request(
        self, server_conn: object, request_conn: HTTPConnection
    ) -> HTTPMessageDelegate:
        return _Exchange(self, request_conn)

    async def drain(self) -> None:
        """Answer what has been asked: open polls at once, the rest when done.

        From now on each answer is the last of its connection: clients go elsewhere.
        """
        self.is_draining = True
        self.app.realtime.release_all()
        while self.in_hand:
            await asyncio.wait(self.in_hand)


class _Exchange(HTTPMessageDelegate):
    """One request and its answer."""

    def __init__(self, server: ApiServer, connection: HTTPConnection) -> None:
        assert isinstance(connection, HTTP1Connection)
        self._server = server
        self._connection = connection
        self._body = Body(server.room)
        self._task: asyncio.Task[None] | None = None
        self._is_streaming = False
        self._endpoint = "none"
        self._incoming: IncomingBody | None = None
        self._received = Received({}, [])

    @override
    def headers_received(
        self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders
    ) -> None:
        assert isinstance(start_line, RequestStartLine)
        self._start_line = start_line
        self._headers = headers
        announced = headers.get("Content-Length", "")
        size = int(announced) if announced.isdecimal() else 0
        path = start_line.path.partition("?")[0]
        if self._server.router.takes_file(start_line.method, path):
            # Who sends it, and how much, is looked at before it is taken.
            self._incoming = IncomingBody()
            self._announced = size
            # One that comes in chunks says nothing of its size.
            self._connection.set_body_timeout(patience(size or DISCARD_BYTES))
            self._begin()
        elif size > DISCARD_BYTES:
            self._body.size = size
            self._begin()

    @override
    def data_received(self, chunk: bytes) -> Future[None] | None:
        if self._incoming is not None:
            return self._incoming.add(chunk)
        self._body.add(chunk)
        if self._body.size > DISCARD_BYTES:
            self._begin()
        return None

    @override
    def finish(self) -> None:
        if self._incoming is not None:
            self._incoming.end()
        self._begin()

    def _begin(self) -> None:
        """Answer; before all of the body is there only if it is far too large."""
        if self._task is not None:
            return
        if self._body.size > DISCARD_BYTES and isinstance(self._connection.stream, ApiStream):
            self._connection.stream.lingers = True
        self._task = asyncio.get_running_loop().create_task(self._serve())
        self._server.in_hand.add(self._task)
        self._task.add_done_callback(self._server.in_hand.discard)
        self._connection.set_close_callback(self.on_connection_close)

    @override
    def on_connection_close(self) -> None:
        # A poll that nobody waits for ends; a write goes on in the realm's writer.
        self._body.give_up()
        if self._incoming is not None:
            self._incoming.give_up()
        if self._task is not None:
            self._task.cancel()

    async def _serve(self) -> None:
        # The task is this request's alone, and so is its context.
        bind_contextvars(request_id=new_request_id())
        headers: dict[str, str] = {}
        began = self._server.app.clock.monotonic()
        try:
            status, body = await self._answer(headers)
            self._measure(status, began)
            if self._incoming is not None:
                await self._received.discard()
                await self._read_off(self._incoming)
            if not self._is_streaming:
                await self._respond(status, headers, body)
            elif status != HTTPStatus.OK:
                self._connection.close()
        except asyncio.CancelledError:
            self._connection.close()
        finally:
            self._body.give_up()
            await self._received.discard()

    async def _read_off(self, incoming: IncomingBody) -> None:
        """Whoever sends a file that is refused may not look before all of it is gone."""
        if self._announced <= DISCARD_BYTES:
            await incoming.rest(SILENCE_SECONDS)
        else:
            incoming.give_up()
            if isinstance(self._connection.stream, ApiStream):
                self._connection.stream.lingers = True

    def _measure(self, status: int, began: float) -> None:
        app = self._server.app
        app.metrics.request(
            method=self._start_line.method,
            endpoint=self._endpoint,
            status=status,
            seconds=app.clock.monotonic() - began,
        )

    async def _answer(
        self, headers: dict[str, str], *, is_second_try: bool = False
    ) -> tuple[int, bytes]:
        """Status and body; `headers` get those that go with them."""
        path = self._start_line.path.partition("?")[0]
        if path in CHECKED_PATHS:
            return await self._server.checks.answer(path)
        try:
            handling, unknown = await self._begin_handling(path, headers)
            result = await handling
            return HTTPStatus.OK, b"" if result is None else success_body(result, unknown)
        except DomainError as error:
            refusal = error
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            # A connection of the pool was dead; reading again hurts nobody. Writes see to
            # themselves (server/writer).
            may_try_again = isinstance(error, DatabaseUnavailableError) and not is_second_try
            if may_try_again and self._start_line.method == "GET" and not self._is_streaming:
                await asyncio.sleep(READ_RETRY_SECONDS)
                return await self._answer(headers, is_second_try=True)
            logger.warning("the database is away", endpoint=self._endpoint, error=str(error))
            refusal = ServerNotReadyError("The server is not ready. Try again shortly.")
        except ConnectionError:
            raise asyncio.CancelledError from None
        except Exception:
            logger.exception("unexpected error", endpoint=self._endpoint)
            refusal = InternalServerError("Internal server error")
        headers |= refusal.headers
        return refusal.status, error_body(refusal)

    async def _begin_handling(
        self, path: str, headers: dict[str, str]
    ) -> tuple[Awaitable[Result | RawResult | None], list[str]]:
        """What will answer, once everything is known to be right, and parameters without meaning.

        It keeps nothing that a long wait does not need: there may be thousands of polls.
        """
        endpoint, from_path = self._server.router.find(self._start_line.method, path)
        self._endpoint = endpoint.path
        self._body.check()
        request = await self._request(endpoint, headers)
        fields = forms.read_query(self._start_line.path.partition("?")[2])
        if endpoint.takes_file is not None:
            await self._receive(endpoint.takes_file(self._server.app.settings))
            request.files = self._received.files
            fields |= self._received.fields
        else:
            fields |= forms.read_body(self._headers, self._body.content())
        if request.caller is not None:
            client = client_name(fields.get("client"), self._headers.get("User-Agent"))
            request.caller = replace(request.caller, client=client)
            if not request.caller.is_spectator:
                self._server.app.activity.note(request.caller, endpoint.path)
        params, unknown = parameters.parse(endpoint.params, fields | from_path)
        return endpoint.handler(request, params), unknown

    async def _receive(self, max_file_bytes: int) -> None:
        assert self._incoming is not None
        if self._announced > max_file_bytes + FORM_BYTES:
            raise too_large(max_file_bytes)
        await receive(
            self._incoming.chunks(),
            self._headers.get("Content-Type", ""),
            self._server.app.blobs,
            self._received,
            max_file_bytes=max_file_bytes,
        )

    async def _request(self, endpoint: Endpoint[Any], headers: dict[str, str]) -> Request:
        """The request with its caller; limits are counted here."""
        server = self._server
        host = self._headers.get("Host", "")
        address = self._remote_address()
        try:
            realm_id = await server.realms.of_host(host)
        except DomainError:
            await server.rate_limits.count_address(address, headers)
            raise
        if realm_id is not None:
            await server.app.realtime.follower(realm_id)
        request = Request(
            app=server.app,
            headers=self._headers,
            host=host,
            remote_address=address,
            realm_id=realm_id,
            limits=server.rate_limits,
            respond_with=headers,
            open_stream=self._open_stream,
            method=self._start_line.method,
        )
        if endpoint.access in (Access.ANONYMOUS, Access.INTERNAL):
            await server.rate_limits.count_address(address, headers)
            if endpoint.access is Access.INTERNAL and not server.app.settings.development:
                raise BadRequestError("This is not a development server.")
            return request
        try:
            credentials = self._headers.get("Authorization")
            if endpoint.access is Access.SPECTATOR:
                request.caller = await spectator_or_user(server.app, realm_id, credentials)
            else:
                request.caller = await authenticate(server.app, realm_id, credentials)
        except DomainError:
            await server.rate_limits.count_address(address, headers)
            raise
        if request.caller.is_spectator:
            await server.rate_limits.count_address(address, headers)
        elif not endpoint.fetches_quietly:
            actor = request.caller
            await server.rate_limits.count_user(actor.realm_id, actor.user_id, headers)
        if endpoint.access is Access.ADMIN and not request.caller.person.is_administrator:
            raise BadRequestError("Must be an organization administrator")
        return request

    def _open_stream(self) -> Stream:
        self._is_streaming = True
        return ChunkedStream(self._connection)

    def _remote_address(self) -> str:
        peer: str = getattr(self._connection.context, "remote_ip", None) or ""
        forwarded = self._headers.get("X-Forwarded-For")
        return client_address(peer, forwarded, self._server.app.settings.trusted_proxies)

    async def _respond(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        lines = HTTPHeaders(
            {
                "Content-Type": "application/json",
                "Content-Length": str(len(body)),
                "Vary": "Accept-Language",
            }
        )
        for name, value in headers.items():
            lines[name] = value
        is_last = self._server.is_draining
        if is_last:
            lines["Connection"] = "close"
        if self._start_line.method == "HEAD":
            body = b""
        start_line = ResponseStartLine("HTTP/1.1", status, REASONS[status])
        with suppress(StreamClosedError):
            written = self._connection.write_headers(start_line, lines, body)
            self._connection.finish()
            await written
        if is_last:
            self._connection.close()
