"""A push service of browsers (RFC 8030), as strict as real ones, and browsers that use it."""

import base64
import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, cast

import http_ece
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from joserfc import jwt
from joserfc.jwk import ECKey
from tornado.http1connection import HTTP1Connection
from tornado.httputil import HTTPServerRequest
from tornado.iostream import BaseIOStream

from server.domain.clock import Clock
from server.egress import Egress
from server.egress.guard import Guard
from server.egress.resolving import SystemResolver
from server.push.browsers import Browsers
from server.push.vapid import Vapid
from server.settings.network_types import Destinations, Ports
from testkit.clock import StoppedClock
from testkit.services.push_bouncer import answering, respond

MAX_BODY: Final = 4_096
MAX_TOKEN_AGE: Final = 86_400
LOOPBACK: Final = "127.0.0.0/8"
"""The setting with which a server reaches the service."""

Answer = tuple[int, str, dict[str, str]]


def base64_of(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def bytes_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass(frozen=True)
class Pushed:
    """A message that was accepted for a browser."""

    headers: dict[str, str]
    body: bytes
    payload: dict[str, Any]


@dataclass
class Browser:
    """A subscription with its private key, and what was accepted for it."""

    endpoint: str
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    auth: bytes = b"sixteen bytes .."
    got: list[Pushed] = field(default_factory=list)

    @property
    def public_key(self) -> bytes:
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    @property
    def keys(self) -> dict[str, str]:
        """The keys as scripts of a page send them to the server."""
        return {"p256dh": base64_of(self.public_key), "auth": base64_of(self.auth)}

    @property
    def subscription(self) -> dict[str, str]:
        return {"endpoint": self.endpoint, **self.keys}

    @property
    def payloads(self) -> list[dict[str, Any]]:
        return [each.payload for each in self.got]

    @property
    def pending(self) -> list[dict[str, Any]]:
        """Notifications that a browser gets if it comes online only now: the last of each topic."""
        kept: dict[str, dict[str, Any]] = {}
        for number, each in enumerate(self.got):
            topic = each.headers.get("topic", f"#{number}")
            kept.pop(topic, None)
            kept[topic] = each.payload
        return list(kept.values())

    def decrypted(self, body: bytes) -> dict[str, Any]:
        """Decrypt by another implementation than the server's."""
        text = http_ece.decrypt(
            body, private_key=self.key, auth_secret=self.auth, version="aes128gcm"
        )
        found: dict[str, Any] = json.loads(text)
        return found


@dataclass
class BrowserPushService:
    """`answers` are given to the next requests before it looks at them: (status, body, headers)."""

    clock: Clock = field(default_factory=StoppedClock)
    port: int = 0
    browsers: dict[str, Browser] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    """Endpoints that it no longer knows."""
    max_body: int = MAX_BODY
    sizes: list[int] = field(default_factory=list)
    """The sizes of all bodies, accepted or not."""
    claims: list[dict[str, Any]] = field(default_factory=list)
    connections: set[BaseIOStream] = field(default_factory=set)
    """The connections on which requests have arrived."""
    server_keys: set[str] = field(default_factory=set)
    """The public keys of servers that have pushed here."""
    stop_listening: Callable[[], None] = lambda: None

    def stop(self) -> None:
        """Accept no connections any more, and close those that are open."""
        self.stop_listening()
        for each in self.connections:
            each.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def browser(self) -> Browser:
        """Return a new browser with a subscription."""
        browser = Browser(f"{self.url}/push/{len(self.browsers)}-capability")
        self.browsers[browser.endpoint] = browser
        return browser

    def answer(self, request: HTTPServerRequest) -> None:
        self.sizes.append(len(request.body))
        self.connections.add(cast(HTTP1Connection, request.connection).stream)
        status, text, headers = self.answers.pop(0) if self.answers else self._take(request)
        respond(request, status, text, headers)

    def _take(self, request: HTTPServerRequest) -> Answer:
        endpoint = f"{self.url}{request.path}"
        browser = self.browsers.get(endpoint)
        if browser is None or endpoint in self.gone:
            return 410, "", {}
        if not self._is_signed(request.headers.get("Authorization", "")):
            return 403, "", {}
        headers = {name.lower(): value for name, value in request.headers.items()}
        assert request.method == "POST"
        assert headers["content-encoding"] == "aes128gcm"
        assert 0 <= int(headers["ttl"]) <= 4 * 7 * 86_400
        assert headers["urgency"] in {"very-low", "low", "normal", "high"}
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,32}", headers.get("topic", "-"))
        if len(request.body) > self.max_body:
            return 413, "", {}
        browser.got.append(Pushed(headers, request.body, browser.decrypted(request.body)))
        return 201, "", {"Location": f"{endpoint}/message"}

    def _is_signed(self, authorization: str) -> bool:
        """Verify the token by the key beside it, as RFC 8292 says."""
        found = re.fullmatch(r"vapid t=([^,]+), k=([A-Za-z0-9_-]+)", authorization)
        if found is None:
            return False
        point = bytes_of(found[2])
        x, y = point[1:33], point[33:]
        key = ECKey.import_key({"kty": "EC", "crv": "P-256", "x": base64_of(x), "y": base64_of(y)})
        token = jwt.decode(found[1], key, algorithms=["ES256"])
        self.claims.append(dict(token.claims))
        self.server_keys.add(found[2])
        now = self.clock.now().timestamp()
        return bool(
            token.claims["aud"] == self.url
            and now < token.claims["exp"] <= now + MAX_TOKEN_AGE
            and re.match(r"mailto:.+@|https://", token.claims["sub"])
        )


@asynccontextmanager
async def serving_browsers(clock: Clock | None = None) -> AsyncIterator[BrowserPushService]:
    """A push service on a free port."""
    fake = BrowserPushService(clock or StoppedClock())
    async with answering(fake.answer) as (fake.port, server):
        fake.stop_listening = server.stop
        yield fake


@asynccontextmanager
async def pushing_to_browsers(clock: Clock) -> AsyncIterator[Browsers]:
    """Deliveries to it, without a whole server."""
    egress = Egress(Guard(Destinations(LOOPBACK), Ports("443")), SystemResolver())
    try:
        yield Browsers(egress, Vapid(bytes(range(32)), "mailto:admin@example.com", clock), clock)
    finally:
        await egress.close()


@pytest_asyncio.fixture
async def push_service() -> AsyncIterator[BrowserPushService]:
    async with serving_browsers() as fake:
        yield fake
