"""Declaration of endpoints, and the request that their handlers get."""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Concatenate, Generic, ParamSpec, Protocol, TypeVar

import msgspec

from server.actions.realm_services import RealmServices
from server.api.credentials import Credential
from server.api.incoming import ReceivedFile
from server.api.params import Params, ParamsT, parse, readers
from server.api.rate_limit import RateLimits
from server.api.reauthentication import Reauthentication
from server.api.selecting_params import OTHER_NAMES_OF_PATHS, SELECTING, is_selected_by
from server.app import App
from server.domain.actor import Actor
from server.domain.addresses import API_PREFIX
from server.domain.api_keys import Scope, lacking
from server.domain.bots import INCOMING_WEBHOOK
from server.domain.errors import (
    BadRequestError,
    DomainError,
    InvalidParameterError,
    NotFoundError,
    UnauthorizedError,
)
from server.domain.sessions import Session
from server.i18n import SOURCE, _
from server.realm_cache import RealmCache
from server.settings import Settings
from server.transactions import Tx
from server.writer import WriteTx
from storage.database import Connection
from storage.ids import RealmId

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Access(Enum):
    """Access level of an endpoint. Finer permissions are checked by actions."""

    ANONYMOUS = "anyone, without credentials"
    SPECTATOR = "any active user, and anyone where the organization allows spectators"
    USER = "any active user"
    ADMIN = "administrators and owners"
    WEBHOOK = "any active user; the API key may be in the address, as `api_key`"
    DIRECTORY = "directories of the organization, with a token; the handler authenticates them"
    INTERNAL = "anyone, on servers in development mode"


SizeLimit = Callable[[Settings], int]


@dataclass(frozen=True, slots=True)
class Form:
    """Parameters in a form of any encoding, read into memory."""


@dataclass(frozen=True, slots=True)
class FileUpload:
    """A multipart form with one file, stored while it is received."""

    max_bytes: SizeLimit
    is_optional: bool = False
    """Whether forms without a file are accepted, including those that cannot hold one."""


@dataclass(frozen=True, slots=True)
class StreamedContent:
    """Content without a form, which the handler reads from `Request.content`."""

    max_bytes: SizeLimit


@dataclass(frozen=True, slots=True)
class RawPayload:
    """Any content, in `Request.payload`: parameters are in the query alone."""


BodyKind = Form | FileUpload | StreamedContent | RawPayload


class ResponseKind(Enum):
    """What a successful response consists of. Errors are JSON in any case."""

    JSON = "200 with a JSON object"
    CREATED = "201 with a JSON object"
    JSON_OR_NO_CONTENT = "200 with a JSON object, or 204"
    NO_CONTENT = "204: the information is in the headers"
    REDIRECT = "302 without a body"
    PAGE = "200 with HTML"
    TEXT = "200 with plain text"
    EVENT_STREAM = "200 with a JSON object, or with chunks until the client closes it"


class Result(msgspec.Struct, kw_only=True, omit_defaults=False):
    """Fields of a successful response, beside the envelope's."""


class Empty(Result):
    """Success without fields."""


class Remark(Result):
    """Success with a message to display; `msg` of every other result is empty."""

    msg: str = ""


class OpenResult(Result):
    """Any JSON object."""


class NoParams(Params):
    """An endpoint without parameters."""


@dataclass(frozen=True, slots=True)
class RawResult:
    """An encoded response body, including the envelope."""

    body: bytes
    is_enveloped: bool = True
    """False for a body without an envelope."""
    status: int = 200


class ResponseSink(Protocol):
    """Receives a deferred response, once."""

    def deliver(self, body: bytes) -> None: ...

    def fail(self, refusal: DomainError) -> None: ...


class DeferredResponse(ABC):
    """A response that follows later, without a task or the request being kept in memory.

    A class rather than a protocol, because each handler's result is tested with isinstance.
    """

    __slots__ = ()

    @abstractmethod
    def deliver_to(self, sink: ResponseSink) -> None:
        """Set the receiver. Must be called before other code runs."""

    @property
    def parameter(self) -> bytes:
        """The query parameter, with an equals sign, in which requests for `repeat` may differ.

        Empty if no other request may be answered.
        """
        return b""

    def repeat(self, value: int) -> "RawResult | DeferredResponse | None":
        """Answer the next request of the client, which differs in the parameter's value only.

        Return None, without an effect, if it has to be handled as any other request: the caller's
        credentials may have ended since, for example.
        """
        del value
        return None

    @abstractmethod
    def give_up(self) -> None:
        """The client has disconnected: drop the response."""


async def _nothing() -> AsyncIterator[bytes]:
    """No content."""
    for chunk in list[bytes]():
        yield chunk


@dataclass(slots=True)
class Request:
    """A request to an endpoint or a page, with its caller and realm."""

    app: App
    headers: Mapping[str, str]
    path: str
    host: str
    remote_address: str
    realm_id: RealmId | None
    """None at the root address of a server whose organizations have subdomains."""
    limits: RateLimits
    open_stream: "Callable[[], Stream]"
    """Begin a chunked response; the handler then returns None."""
    response_headers: dict[str, str]
    """Headers that the handler adds to the response."""
    target: str = ""
    """Path and query as they were received, with all escapes."""
    method: str = "GET"
    language: str = SOURCE
    """Language of a page: the caller's, or the one that the browser asks for."""
    caller: Actor | None = None
    session: Session | None = None
    """The caller's session, for requests of a browser with the session cookie."""
    credential: Credential | None = None
    """The credential to verify again, on endpoints that stream events, if it may be revoked."""
    payload: bytes = b""
    """The body, on endpoints with a RawPayload."""
    content: AsyncIterator[bytes] = field(default_factory=_nothing)
    """The body of an endpoint with StreamedContent. It may be read once."""
    files: list[ReceivedFile] = field(default_factory=list)
    """On endpoints with a FileUpload: one or none. Files that the handler does not keep are
    dropped."""
    path_params: Mapping[str, str] = field(default_factory=dict)
    """Of a page, as are the following."""
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    visitor_token: str | None = None
    """From the cookie of a visitor without a session; set as soon as a form is shown."""
    cookies: list[str] = field(default_factory=list)
    """Values of Set-Cookie for the page."""

    @property
    def actor(self) -> Actor:
        """The caller. Raises UnauthorizedError if there is none (`Access.ANONYMOUS`)."""
        if self.caller is None:
            raise UnauthorizedError(_("Not logged in: API authentication or user session required"))
        return self.caller

    @property
    def realm_cache(self) -> RealmCache:
        """The cache of the organization at this address. Raises NotFoundError without one."""
        if self.realm_id is None:
            raise NotFoundError(_("There is no organization at this address."))
        return self.app.realm_caches.of(self.realm_id)

    @property
    def realm_services(self) -> RealmServices:
        """Services for work in the caller's realm that takes several writes."""
        return self.app.realm_services(self.actor.realm_id)

    @property
    def reauthentication(self) -> Reauthentication:
        """Re-authentication of the caller before a change of credentials."""
        return Reauthentication(
            self.app,
            self.limits,
            self.actor,
            self.session,
            self.response_headers,
            self.remote_address,
        )

    def refuse_bots(self) -> None:
        """Raise BadRequestError unless the caller is a person."""
        if self.actor.is_bot:
            raise BadRequestError(_("This endpoint does not accept bot requests."))

    def refuse_programs(self) -> None:
        """Raise BadRequestError for bots, and for named keys of any scope."""
        self.refuse_bots()
        if self.actor.scopes is not None:
            raise BadRequestError(_("This endpoint does not accept named API keys."))

    def refuse_people(self) -> None:
        """Raise BadRequestError unless the caller is a bot."""
        if not self.actor.is_bot:
            raise BadRequestError(_("This endpoint is for bots only."))

    def check_reaches(self, *needed: Scope) -> None:
        """Raise BadRequestError unless the caller's credential reaches all of these scopes."""
        for scope in needed:
            if not self.actor.reaches(scope):
                raise BadRequestError(
                    _("This API key does not reach this: {scope}.", scope=lacking(scope))
                )

    @property
    def may_know_secrets(self) -> bool:
        """Whether the response may disclose a `Secret` that the caller's role permits."""
        return self.actor.reaches(Scope.EVERYTHING)

    async def count_sign_in(self, name: str) -> None:
        """Count an attempt to sign in under this name, before the password is verified.

        Raises RateLimitedError.
        """
        if self.realm_id is not None:
            await self.limits.count_sign_in(self.realm_id, name, self.response_headers)

    async def forget_sign_ins(self, name: str) -> None:
        """Reset the attempts under this name after a successful sign-in."""
        if self.realm_id is not None:
            await self.limits.forget_sign_ins(self.realm_id, name)

    async def write(
        self,
        action: Callable[Concatenate[Tx, Actor, P], Awaitable[Answer]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> Answer:
        """Run the action as a write of the caller's realm; its answer after the commit."""
        actor = self.actor
        writer = self.app.writers.of(actor.realm_id)
        return await writer.write(lambda tx: action(tx, actor, *args, **kwargs))

    async def transact(self, action: Callable[[WriteTx], Awaitable[Answer]]) -> Answer:
        """Run the action as a write of this address's realm, on behalf of no actor."""
        return await self.app.writers.of(self.realm_cache.realm_id).write(action)

    def form_value(self, name: str) -> str:
        """A field of a page's form; empty if it is missing."""
        return self.form.get(name, "")

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Connection]:
        """A connection for reading."""
        async with self.app.database.connection() as connection:
            yield connection


class Stream(Protocol):
    """A response that is sent in parts."""

    async def start(self, headers: Mapping[str, str], status: int = 200) -> None:
        """Send the head. Raises ClientGoneError if the client has disconnected, as `send` does."""
        ...

    async def send(self, chunk: bytes) -> None:
        """Send a chunk, and wait while the client does not read (back-pressure)."""
        ...

    def close(self) -> None:
        """End the response."""
        ...


HandlerResult = Result | RawResult | DeferredResponse | None
"""None: the handler has sent a stream."""

Handler = Callable[[Request, ParamsT], Awaitable[HandlerResult]]


@dataclass(frozen=True, slots=True)
class Endpoint(Generic[ParamsT]):
    """Method, path, access level, parameters and handler of an endpoint.

    Path parameters are written `{name}` and are fields of `params`; those that end in `_id` are
    integers, and `{filename}` may hold slashes.
    """

    method: str
    path: str
    access: Access
    params: type[ParamsT]
    handler: Handler[ParamsT]
    result: type[Result] = Empty
    summary: str = field(default="", kw_only=True)
    """What a call does, in the imperative and in one line, for the API's documentation."""
    description: str = field(default="", kw_only=True)
    """What the summary leaves out: conditions, limits, what follows. Plain text; a blank line
    begins a paragraph, and what stands in backquotes is code."""
    body: BodyKind = field(default=Form(), kw_only=True)
    response: ResponseKind = field(default=ResponseKind.JSON, kw_only=True)
    is_rate_limited: bool = field(default=True, kw_only=True)
    """False where frequent requests are expected (polls, pictures)."""
    takes_webhook_bots: bool = field(default=False, kw_only=True)
    """Incoming-webhook bots may call it; every other endpoint refuses their keys, which stand in
    addresses. Endpoints of `Access.WEBHOOK` need not say so."""
    scope: Scope | None = field(default=None, kw_only=True)
    """The scope that a named API key needs; by default READ for GET, otherwise EVERYTHING."""
    answers_by_content: bool = field(default=False, kw_only=True)
    """The response depends on the content of messages or topics: a key needs READ in addition."""
    at_root: bool = field(default=False, kw_only=True)
    """`path` is the whole path: files, which browsers fetch by their address."""

    @property
    def has_head(self) -> bool:
        """Whether HEAD is allowed wherever GET is."""
        return self.response is not ResponseKind.EVENT_STREAM

    @property
    def needs(self) -> tuple[Scope, ...]:
        """The scopes that a named key has to reach, all of them."""
        scope = self.scope or (Scope.READ if self.method == "GET" else Scope.EVERYTHING)
        return (scope, Scope.READ) if self.answers_by_content else (scope,)

    @property
    def full_path(self) -> str:
        return self.path if self.at_root else API_PREFIX + self.path

    def parse(
        self, raw: Mapping[str, str], from_path: Mapping[str, str]
    ) -> tuple[ParamsT, list[str]]:
        """Return the parameters, and the names among `raw` that the endpoint ignores.

        Raises a DomainError that names the first parameter that is invalid, or that selects
        something other than what the request acts on.
        """
        params, unknown = parse(self.params, {**raw, **from_path})
        # Services name the fields of their deliveries as they like; SCIM has parameters of its own.
        if self.access not in (Access.WEBHOOK, Access.DIRECTORY):
            self._check_path_is_repeated(raw, from_path)
            for name in unknown:
                if name in SELECTING and not is_selected_by(from_path, name):
                    raise InvalidParameterError(name, _("{name} is not supported", name=name))
            for name in params.model_fields_set & SELECTING:
                if getattr(params, name) is None:
                    raise InvalidParameterError(name, _("{name} must not be null", name=name))
        return params, unknown

    def _check_path_is_repeated(self, raw: Mapping[str, str], from_path: Mapping[str, str]) -> None:
        """Raise InvalidParameterError if a parameter says something else than the path."""
        of_path = {each.name: each for each in readers(self.params) if each.name in from_path}
        for name, text in raw.items():
            reader = of_path.get(OTHER_NAMES_OF_PATHS.get(name, name))
            if reader is not None and reader.read(text) != reader.read(from_path[reader.name]):
                raise InvalidParameterError(
                    name, _("{name} is not what the path contains", name=name)
                )

    def check_takes(self, caller: Actor) -> None:
        """Raise UnauthorizedError for an incoming-webhook bot: its key is in URLs, hence exposed.

        With a secret it posts what is signed, and nothing else.
        """
        row = caller.row
        if row.bot_type != INCOMING_WEBHOOK:
            return
        if not self.takes_webhook_bots or row.webhook_secret is not None:
            raise UnauthorizedError(_("This API is not available to incoming webhook bots."))
