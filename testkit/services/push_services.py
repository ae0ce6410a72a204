"""The services of those who make phones, on this machine: as strict as the real ones."""

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast
from urllib.parse import parse_qs

import h2.config
import h2.connection
import h2.events
import pytest
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, RSAKey
from tornado.httputil import HTTPServerRequest
from typing_extensions import override

from server.push import web
from server.push.apns import Apns
from server.push.fcm import SCOPE, Fcm, account_of
from testkit.clock import StoppedClock
from testkit.services.mail_server import Certificate
from testkit.services.push_bouncer import answering, respond

MAX_PAYLOAD: Final = 4_096
AN_HOUR: Final = 3_600
PROJECT, KEY_ID, TEAM_ID, TOPIC = "parley-1", "ABCDEF1234", "TEAM123456", "com.example.app"

Answer = tuple[int, dict[str, Any], dict[str, str]]


@pytest.fixture(scope="session")
def google_key() -> RSAKey:
    return RSAKey.generate_key(2048)


@pytest.fixture(scope="session")
def apple_key() -> ECKey:
    return ECKey.generate_key("P-256")


def fcm_error(status: int, code: str, detail: str = "", message: str = "No.") -> Answer:
    """An error as FCM words it."""
    kind = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    details = [{"@type": kind, "errorCode": detail}] if detail else []
    error = {"code": status, "message": message, "status": code, "details": details}
    return status, {"error": error}, {}


@dataclass
class Late:
    """An answer that waits until it is let go."""

    waits: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    def answer(self, respond: Callable[[], None]) -> None:
        async def later() -> None:
            await self.go.wait()
            respond()

        self._task = asyncio.create_task(later())
        self.waits.set()


@dataclass
class FakeFcm:
    """`answers` are given to the next messages before it looks at them."""

    key: RSAKey
    clock: StoppedClock
    port: int = 0
    messages: list[dict[str, Any]] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    access_tokens: list[str] = field(default_factory=list)
    """All that were given; only the last one is good."""
    answers: list[Answer] = field(default_factory=list)
    token_answers: list[Answer] = field(default_factory=list)
    late: "Late | None" = None
    """When it answers the next message."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def credentials(self, **more: Any) -> str:
        """The file that Google gives."""
        content = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1234",
            "private_key": self.key.as_pem(private=True).decode(),
            "client_email": "push@parley-1.iam.example.com",
            "token_uri": f"{self.url}/token",
            **more,
        }
        return json.dumps(content)

    def answer(self, request: HTTPServerRequest) -> None:
        path = request.path
        status, body, headers = (
            self._token(request) if path == "/token" else self._message(request, path or "")
        )
        if path != "/token" and self.late is not None:
            late, self.late = self.late, None
            late.answer(lambda: respond(request, status, json.dumps(body), headers))
        else:
            respond(request, status, json.dumps(body), headers)

    def _token(self, request: HTTPServerRequest) -> Answer:
        if self.token_answers:
            return self.token_answers.pop(0)
        form = parse_qs(request.body.decode())
        assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]
        try:
            claims = jwt.decode(form["assertion"][0], self.key, algorithms=["RS256"]).claims
        except JoseError:
            return 400, {"error": "invalid_grant"}, {}
        now = self.clock.now().timestamp()
        assert claims["aud"] == f"{self.url}/token"
        assert claims["scope"] == SCOPE
        assert claims["iat"] <= now < claims["exp"] <= claims["iat"] + AN_HOUR
        self.access_tokens.append(f"access-{len(self.access_tokens)}")
        return 200, {"access_token": self.access_tokens[-1], "expires_in": AN_HOUR - 1}, {}

    def _message(  # noqa: PLR0911 - a case each
        self, request: HTTPServerRequest, path: str
    ) -> Answer:
        if path != f"/v1/projects/{PROJECT}/messages:send":
            return fcm_error(404, "NOT_FOUND")
        if request.headers.get("Authorization") != f"Bearer {self.access_tokens[-1]}":
            return fcm_error(401, "UNAUTHENTICATED")
        if self.answers:
            return self.answers.pop(0)
        message = json.loads(request.body)["message"]
        data = message["data"]
        size = sum(len(name.encode()) + len(str(value).encode()) for name, value in data.items())
        if not all(isinstance(value, str) for value in data.values()) or size > MAX_PAYLOAD:
            return fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", "Message is too big")
        if message["token"] in self.gone:
            return fcm_error(404, "NOT_FOUND", "UNREGISTERED")
        if not re.fullmatch(r"[\w:-]+", message["token"]):
            told = "The registration token is not a valid FCM registration token"
            return fcm_error(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", told)
        assert message["android"]["priority"] in ("high", "normal")
        self.messages.append(message)
        return 200, {"name": f"projects/{PROJECT}/messages/{len(self.messages)}"}, {}


@dataclass
class FakeApns:
    """`answers` are given to the next notifications before it looks at them."""

    key: ECKey
    clock: StoppedClock
    port: int = 0
    got: list[tuple[str, dict[str, str], dict[str, Any]]] = field(default_factory=list)
    """Token, headers, and payload."""
    gone: set[str] = field(default_factory=set)
    answers: list[Answer] = field(default_factory=list)
    provider_tokens: set[str] = field(default_factory=set)
    connections: list["_Http2"] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    def answer(self, headers: dict[str, str], body: bytes) -> Answer:
        if self.answers:
            return self.answers.pop(0)
        if reason := self._provider(headers.get("authorization", "")):
            return 403, {"reason": reason}, {}
        token = headers[":path"].removeprefix("/3/device/")
        refusal = self._refusal(token, headers, body)
        if refusal is None:
            self.got.append((token, headers, json.loads(body)))
            return 200, {}, {}
        status, reason = refusal
        return status, {"reason": reason}, {}

    def hang_up(self) -> None:
        """End all connections."""
        for each in self.connections:
            if each.transport is not None:
                each.transport.abort()

    def _provider(self, authorization: str) -> str:
        """The reason to refuse the sender's credentials; empty if there is none."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return "MissingProviderToken"
        try:
            decoded = jwt.decode(token, self.key, algorithms=["ES256"])
        except (JoseError, ValueError):
            return "InvalidProviderToken"
        if (decoded.header["kid"], decoded.claims["iss"]) != (KEY_ID, TEAM_ID):
            return "InvalidProviderToken"
        if not 0 <= self.clock.now().timestamp() - decoded.claims["iat"] <= AN_HOUR:
            return "ExpiredProviderToken"
        self.provider_tokens.add(token)
        return ""

    def _refusal(  # noqa: PLR0911 - a case each
        self, token: str, headers: dict[str, str], body: bytes
    ) -> tuple[int, str] | None:
        if headers[":method"] != "POST":
            return 405, "MethodNotAllowed"
        if not re.fullmatch(r"[0-9a-f]{64,200}", token):
            return 400, "BadDeviceToken"
        if not headers.get("apns-topic"):
            return 400, "MissingTopic"
        if headers["apns-topic"] != TOPIC:
            return 400, "TopicDisallowed"
        if len(headers.get("apns-collapse-id", "").encode()) > 64:
            return 400, "BadCollapseId"
        if len(body) > MAX_PAYLOAD:
            return 413, "PayloadTooLarge"
        if headers["apns-push-type"] == "background" and headers["apns-priority"] == "10":
            return 400, "BadPriority"
        if token in self.gone:
            return 410, "Unregistered"
        return None


class _Http2(asyncio.Protocol):
    """A connection of an HTTP/2 client."""

    def __init__(self, answer: Callable[[dict[str, str], bytes], Answer]) -> None:
        self._answer = answer
        self._h2 = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        self._requests: dict[int, tuple[dict[str, str], bytearray]] = {}
        self.transport: asyncio.Transport | None = None

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self._h2.initiate_connection()
        self._flush()

    @override
    def data_received(self, data: bytes) -> None:
        for event in self._h2.receive_data(data):
            if isinstance(event, h2.events.RequestReceived):
                headers = {_text(name): _text(value) for name, value in event.headers}
                self._requests[event.stream_id] = (headers, bytearray())
            elif isinstance(event, h2.events.DataReceived):
                self._requests[event.stream_id][1].extend(event.data)
                self._h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, h2.events.StreamEnded):
                self._respond(event.stream_id)
        self._flush()

    def _respond(self, stream_id: int) -> None:
        headers, body = self._requests.pop(stream_id)
        status, content, more = self._answer(headers, bytes(body))
        self._h2.send_headers(stream_id, [(":status", str(status)), *more.items()])
        self._h2.send_data(
            stream_id, json.dumps(content).encode() if content else b"", end_stream=True
        )

    def _flush(self) -> None:
        assert self.transport is not None
        self.transport.write(self._h2.data_to_send())


def _text(value: bytes | str) -> str:
    return value if isinstance(value, str) else value.decode()


@asynccontextmanager
async def googling(key: RSAKey, clock: StoppedClock) -> AsyncIterator[FakeFcm]:
    """FCM on a free port."""
    fake = FakeFcm(key, clock)
    async with answering(fake.answer) as (fake.port, _):
        yield fake


@asynccontextmanager
async def appling(
    key: ECKey, clock: StoppedClock, certificate: Certificate
) -> AsyncIterator[FakeApns]:
    """APNs on a free port."""
    fake = FakeApns(key, clock)
    certificate.server.set_alpn_protocols(["h2"])

    def connected() -> _Http2:
        fake.connections.append(_Http2(fake.answer))
        return fake.connections[-1]

    loop = asyncio.get_running_loop()
    server = await loop.create_server(connected, "127.0.0.1", 0, ssl=certificate.server)
    fake.port = server.sockets[0].getsockname()[1]
    try:
        yield fake
    finally:
        server.close()
        fake.hang_up()
        await server.wait_closed()


@asynccontextmanager
async def fcm_client(fake: FakeFcm) -> AsyncIterator[Fcm]:
    async with web.client(fake.url) as http:
        yield Fcm(http, account_of(fake.credentials()), fake.clock)


@asynccontextmanager
async def apns_client(fake: FakeApns, tls: ssl.SSLContext) -> AsyncIterator[Apns]:
    async with web.client(fake.url, http2=True, verify=tls) as http:
        yield Apns(http, fake.key, key_id=KEY_ID, team_id=TEAM_ID, clock=fake.clock)
