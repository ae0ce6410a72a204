"""Request handling: route, authenticate, rate-limit, parse, run, encode, map errors."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any, Final

import structlog

from server.api import forms
from server.api.auth import (
    Realms,
    address_in,
    authenticate,
    client_name,
    named_key,
    spectator_or_user,
    user_of_session,
    webhook_caller,
)
from server.api.bodies import Body, BodyBudget
from server.api.browsers import (
    SAFE_METHODS,
    TOKEN_FIELD,
    TOKEN_HEADER,
    check_form,
    session_of,
)
from server.api.credentials import Credential, Credentials
from server.api.endpoint import (
    Access,
    BodyKind,
    DeferredResponse,
    Endpoint,
    FileUpload,
    HandlerResult,
    RawPayload,
    RawResult,
    Request,
    ResponseKind,
    SizeLimit,
    Stream,
    StreamedContent,
)
from server.api.envelopes import SCIM_TYPE, error_body, scim_error_body, success_body
from server.api.failed_sign_ins import log_failure
from server.api.health import CHECKED_PATHS, Checks
from server.api.incoming import MAX_FORM_BYTES, IncomingBody, Received, receive, too_large
from server.api.languages import error_language, page_language
from server.api.pages import Pages
from server.api.proxies import client_address
from server.api.rate_limit import RateLimits
from server.api.request_ids import REQUEST_ID
from server.api.response_writer import ClientGoneError, ResponseWriter
from server.api.routes import Router
from server.api.streams import ChunkedStream
from server.api.unknown_params import NamingUnknown
from server.app import App
from server.domain.actor import Actor
from server.domain.addresses import API_PREFIX
from server.domain.errors import (
    BadRequestError,
    BodyTooLargeError,
    DomainError,
    FilesNotReadyError,
    NotFoundError,
    ServerNotReadyError,
    UnauthorizedError,
)
from server.domain.scim import PREFIX as SCIM_PREFIX
from server.domain.sessions import Session
from server.i18n import _
from server.runtime.pages import Page
from storage.blobs import BlobStoreError
from storage.database import (
    ConnectionLostError,
    DatabaseUnavailableError,
    StatementTimeoutError,
)
from storage.ids import RealmId

logger = structlog.get_logger(__name__)

RETRY_SECONDS: Final = 0.1
WITH_BODY: Final = frozenset({"POST", "PUT", "PATCH"})
MAX_PAYLOAD_BYTES: Final = 1024 * 1024
"""Maximum size of a RawPayload, which bounds the time to parse it."""
MAX_DIGITS: Final = 20
"""Digits of a Content-Length that are read."""
BROWSER_PREFIX: Final = "/json"
"""Path of the API for browsers, which asks for a session instead of basic authentication."""


class InternalServerError(DomainError):
    """An unexpected exception, reported without details."""

    code = "INTERNAL_SERVER_ERROR"
    status = 500


class HandlerContext:
    """What the request handlers of a process share."""

    def __init__(self, app: App, router: Router[Endpoint[Any]], pages: Pages) -> None:
        self.app = app
        self.router = router
        self.pages = pages
        self.realms = Realms(app)
        self.credentials = Credentials(app)
        self.rate_limits = RateLimits(app)
        self.body_budget = BodyBudget(app.settings.max_body_bytes)
        self.checks = Checks(app, lambda: self.is_draining)
        self.is_draining = False
        """Whether clients shall connect to another process."""


class RequestHandler:
    """Handles one request, from its head on, while its body is received."""

    def __init__(
        self,
        server: HandlerContext,
        writer: ResponseWriter,
        method: str,
        target: str,
        headers: Mapping[str, str],
    ) -> None:
        self._server = server
        self._writer = writer
        self._method = method
        self._target = target
        path, _, self._query = target.partition("?")
        self._is_for_browsers = path.startswith(f"{BROWSER_PREFIX}/")
        if self._is_for_browsers:
            path = API_PREFIX + path.removeprefix(BROWSER_PREFIX)
        self._path = path
        self._headers = headers
        self._found: tuple[Endpoint[Any], dict[str, str]] | None = None
        self.endpoint = "none"
        """Path of the endpoint in metrics and logs."""
        announced = headers.get("Content-Length", "")
        self.announced = int(announced[:MAX_DIGITS]) if announced.isdecimal() else 0
        """The Content-Length; 0 without one (chunked encoding)."""
        self.body = Body(server.body_budget)
        self.incoming = IncomingBody() if method in WITH_BODY and self._streams_body() else None
        """The body, if it is streamed: after authentication and the check of its size."""
        self.received = Received({}, [])
        self.request_id = ""
        self._caller: Actor | None = None
        self._page_request: Request | None = None
        self.cookies: list[str] = []
        """Values of Set-Cookie."""
        self.is_streaming = False
        """Whether the handler sends a stream."""
        self._may_have_acted = False
        """Whether more than reads may have happened, so that the request cannot be retried."""

    async def answer(
        self, headers: dict[str, str], *, is_second_try: bool = False
    ) -> tuple[int, bytes | DeferredResponse]:
        """Status and body; adds to `headers`."""
        if self._path in CHECKED_PATHS:
            return await self._server.checks.answer(self._path)
        try:
            return await self._succeed(headers)
        except DomainError as error:
            refusal = error
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            # A connection of the pool was dead; reads are safe to retry. Writes are retried by
            # the writer (server/writer).
            may_try_again = isinstance(error, ConnectionLostError) and not is_second_try
            if may_try_again and not self._may_have_acted:
                await asyncio.sleep(RETRY_SECONDS)
                return await self.answer(headers, is_second_try=True)
            logger.warning("http.database_unavailable", endpoint=self.endpoint, error=str(error))
            refusal = ServerNotReadyError(_("The server is not ready. Try again shortly."))
        except BlobStoreError as error:
            logger.warning("http.blob_store_unavailable", endpoint=self.endpoint, error=str(error))
            refusal = FilesNotReadyError(
                _("Files cannot be reached or kept now. Try again shortly.")
            )
        except ClientGoneError:
            raise asyncio.CancelledError from None
        except Exception:
            logger.exception("http.unexpected_error", endpoint=self.endpoint)
            refusal = InternalServerError(_("Internal server error"))
        return self._refuse(refusal, headers)

    @property
    def has_request_id(self) -> bool:
        """Whether the client or a proxy has named the request."""
        return REQUEST_ID in self._headers

    @property
    def caller_for_log(self) -> dict[str, object]:
        """Fields of the access log that identify the caller."""
        caller = self._caller
        known = {} if caller is None else {"realm_id": caller.realm_id, "user_id": caller.user_id}
        return {"address": self._remote_address(), **known}

    async def _succeed(self, headers: dict[str, str]) -> tuple[int, bytes | DeferredResponse]:
        if self._is_page:
            return self._render_page(await self._page(headers), headers)
        handler, unknown = await self._begin_handling(headers)
        self._may_have_acted = self._method not in SAFE_METHODS
        result = await handler
        if isinstance(result, DeferredResponse):
            return HTTPStatus.OK, NamingUnknown(result, unknown) if unknown else result
        status = result.status if isinstance(result, RawResult) else HTTPStatus.OK
        return status, b"" if result is None else success_body(result, unknown)

    def _refuse(self, refusal: DomainError, headers: dict[str, str]) -> tuple[int, bytes]:
        headers |= refusal.headers
        if self._path.startswith(f"{SCIM_PREFIX}/"):
            headers["Content-Type"] = SCIM_TYPE
            return refusal.status, scim_error_body(refusal)
        is_for_people = self._is_page or (
            isinstance(refusal, NotFoundError) and self._is_navigation
        )
        request = self._page_request
        language = request.language if request else error_language(self._caller, self._headers)
        if is_for_people:
            page = self._server.pages.refusal(refusal, language)
            return self._render_page(page, headers)
        if self._is_for_browsers and isinstance(refusal, UnauthorizedError):
            headers["WWW-Authenticate"] = 'Session realm="zulip"'
        return refusal.status, error_body(refusal, language)

    @property
    def _is_page(self) -> bool:
        return not self._is_of_api and self._server.pages.serves(self._path)

    @property
    def _is_of_api(self) -> bool:
        """Whether the path is below the API's prefix, where there are no pages."""
        return self._path.startswith(f"{API_PREFIX}/")

    @property
    def _is_navigation(self) -> bool:
        """Whether a browser navigates to the address, rather than a program calling the API."""
        return not self._is_of_api and "text/html" in self._headers.get("Accept", "")

    def _render_page(self, page: Page, headers: dict[str, str]) -> tuple[int, bytes]:
        """The page's status and body; `headers` get its headers."""
        headers |= {"Content-Type": page.kind, **page.headers}
        self.cookies.extend(page.cookies)
        return page.status, page.body

    async def _page(self, headers: dict[str, str]) -> Page:
        server = self._server
        route, path_params = server.pages.find(self._method, self._path)
        self.endpoint = route.path
        self.body.check()
        address = self._remote_address()
        realm_id = await self._realm(address, headers)
        request = self._new_request(address, realm_id, {})
        self._page_request = request
        request.language = await page_language(request)
        request.path_params = path_params
        request.query = forms.read_query(self._query)
        request.form = forms.read_body(self._headers, self.body.content())
        self._may_have_acted = self._method not in SAFE_METHODS
        return await server.pages.answer(route, request)

    def _new_request(
        self, address: str, realm_id: RealmId | None, response_headers: dict[str, str]
    ) -> Request:
        return Request(
            app=self._server.app,
            headers=self._headers,
            path=self._path,
            host=self._headers.get("Host", ""),
            remote_address=address,
            realm_id=realm_id,
            limits=self._server.rate_limits,
            open_stream=self._open_stream,
            response_headers=response_headers,
            target=self._target,
            method=self._method,
        )

    async def _begin_handling(
        self, headers: dict[str, str]
    ) -> tuple[Awaitable[HandlerResult], list[str]]:
        """The handler's coroutine, after all checks, and the names of unknown parameters.

        Keeps nothing that a long wait does not need: there may be thousands of polls.
        """
        endpoint, from_path = self._find()
        self.endpoint = endpoint.path
        self.body.check()
        request = await self._request(endpoint, headers)
        fields = forms.read_query(self._query)
        fields |= await self._read_body(endpoint.body, request)
        if request.session is not None:
            sent = fields.pop(TOKEN_FIELD, "")
            if self._method not in SAFE_METHODS:
                check_form(request.session.token, self._headers.get(TOKEN_HEADER) or sent)
        if request.caller is not None:
            client = client_name(fields.get("client"), self._headers.get("User-Agent"))
            request.caller = request.caller.using(client)
            if not request.caller.is_spectator:
                self._server.app.activity.note(request.caller, endpoint.path)
        params, unknown = endpoint.parse(fields, from_path)
        return endpoint.handler(request, params), unknown

    async def _read_body(self, kind: BodyKind, request: Request) -> Mapping[str, str]:
        """Read the body into `request`, as far as it is not a form; the fields if it is one."""
        match kind:
            case StreamedContent() if self.incoming is not None:
                request.content = self._content(self.incoming, kind.max_bytes)
                return {}
            case FileUpload() if self.incoming is not None:
                await self._receive(self.incoming, kind)
                request.files = self.received.files
                return self.received.fields
            case RawPayload():
                if self.body.size > MAX_PAYLOAD_BYTES:
                    raise BodyTooLargeError(_("The request is too large."))
                request.payload = self.body.content()
                return {}
            case _:
                return forms.read_body(self._headers, self.body.content())

    def _content(self, incoming: IncomingBody, limit: SizeLimit) -> AsyncIterator[bytes]:
        max_bytes = limit(self._server.app.settings)
        if self.announced > max_bytes:
            raise too_large(max_bytes)
        return incoming.chunks()

    async def _receive(self, incoming: IncomingBody, kind: FileUpload) -> None:
        max_file_bytes = kind.max_bytes(self._server.app.settings)
        if self.announced > max_file_bytes + MAX_FORM_BYTES:
            raise too_large(max_file_bytes)
        await receive(
            incoming.chunks(),
            self._headers.get("Content-Type", ""),
            self._server.app.blobs,
            self.received,
            max_file_bytes=max_file_bytes,
        )
        if not self.received.files and not kind.is_optional:
            raise BadRequestError(_("You must specify a file to upload"))

    async def _request(self, endpoint: Endpoint[Any], headers: dict[str, str]) -> Request:
        """Authenticate and authorize the request, and count it towards rate limits."""
        server = self._server
        address = self._remote_address()
        realm_id = await self._realm(address, headers)
        request = self._new_request(address, realm_id, headers)
        if endpoint.access not in (Access.ANONYMOUS, Access.DIRECTORY, Access.INTERNAL):
            await self._find_caller(endpoint, request)
        self._caller = request.caller
        if endpoint.is_rate_limited:
            await self._count(request)
        if request.caller is not None:
            request.check_reaches(*endpoint.needs)
        if endpoint.access is Access.INTERNAL and not server.app.settings.development:
            raise BadRequestError(_("This is not a development server."))
        if endpoint.access is Access.ADMIN and not request.actor.person.is_administrator:
            raise BadRequestError(_("Must be an organization administrator"))
        return request

    async def _find_caller(self, endpoint: Endpoint[Any], request: Request) -> None:
        """Authenticate the caller. A DomainError counts towards the limit of the address."""
        app, realm_id = request.app, request.realm_id
        find = spectator_or_user if endpoint.access is Access.SPECTATOR else authenticate
        credentials = self._headers.get("Authorization")
        try:
            if endpoint.access is Access.WEBHOOK:
                in_address = forms.read_query(self._query).get("api_key")
                request.caller = await webhook_caller(app, realm_id, credentials, in_address)
                return
            if credentials is None:
                request.session = await session_of(app, realm_id, self._headers)
            if request.session is not None and realm_id is not None:
                request.caller = await user_of_session(app, realm_id, request.session)
            else:
                request.caller = await find(app, realm_id, credentials)
            endpoint.check_takes(request.caller)
        except DomainError as refusal:
            await log_failure(
                app,
                realm_id,
                refusal,
                address=request.remote_address,
                method="api_key",
                account=address_in(credentials),
            )
            await request.limits.count_address(request.remote_address, request.response_headers)
            raise
        if endpoint.response is ResponseKind.EVENT_STREAM and realm_id is not None:
            request.credential = self._credential(realm_id, request.session, credentials)

    def _credential(
        self, realm_id: RealmId, session: Session | None, authorization: str | None
    ) -> Credential | None:
        """The caller's credential, if it can be revoked during the request."""
        if session is not None:
            return self._server.credentials.of_session(realm_id, session)
        api_key = named_key(authorization)
        return None if api_key is None else self._server.credentials.of_key(realm_id, api_key)

    async def _count(self, request: Request) -> None:
        """Count the request. Raises RateLimitedError."""
        caller, headers = request.caller, request.response_headers
        if caller is None or caller.is_spectator:
            await request.limits.count_address(request.remote_address, headers)
        else:
            await request.limits.count_user(caller.realm_id, caller.user_id, headers)

    async def _realm(self, address: str, headers: dict[str, str]) -> RealmId | None:
        """The realm at this address; its follower is started if there is none."""
        server = self._server
        try:
            realm_id = await server.realms.of_host(self._headers.get("Host", ""))
        except DomainError:
            await server.rate_limits.count_address(address, headers)
            raise
        if realm_id is not None:
            await server.app.realtime.follower(realm_id)
        return realm_id

    def _streams_body(self) -> bool:
        """Whether the body is handed to the endpoint while it is received."""
        with suppress(DomainError):
            endpoint, _ = self._find()
            match endpoint.body:
                case StreamedContent():
                    return True
                case FileUpload(is_optional=is_optional):
                    content_type = self._headers.get("Content-Type", "")
                    return not is_optional or forms.may_hold_files(content_type)
        return False

    def _find(self) -> tuple[Endpoint[Any], dict[str, str]]:
        """The endpoint and its path parameters, found once. Raises a DomainError."""
        if self._found is None:
            self._found = self._server.router.find(self._method, self._path)
        return self._found

    def _open_stream(self) -> Stream:
        self.is_streaming = self._may_have_acted = True
        return ChunkedStream(self._writer, {REQUEST_ID: self.request_id})

    def _remote_address(self) -> str:
        forwarded = self._headers.get("X-Forwarded-For")
        trusted = self._server.app.settings.trusted_proxies
        return client_address(self._writer.remote_ip, forwarded, trusted)
