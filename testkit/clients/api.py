"""A client of the API: form in, JSON out, and each answer is held against the contract."""

import asyncio
import base64
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import quote, urlencode

import msgspec
import pytest
from tornado.httputil import HTTPHeaders

from server.domain.addresses import API_PREFIX
from storage.ids import RealmId
from storage.users import UserRow
from testkit.clients.connections import Connections
from testkit.clients.server import Server
from testkit.factories import Make
from testkit.oracles import contract, openapi

PATIENCE_SECONDS = 40
"""Shorter than a poll waits by itself, so that none that was not woken passes for one that was."""
POLL_SECONDS = 90
OURS = re.compile(
    r"/realm/audit_log|/users/me/api_keys(/\d+)?|/external/\w+|/integrations|/web_push/.*"
    r"|/realm/unconfirmed_addresses(/\d+)?|/bots/\d+/(webhook_secret|last_delivery)"
    r"|/realm/slash_commands(/\w+)?|/messages/\d+/buttons(/click)?|/message_buttons/answers/.+"
    r"|/slash_commands/answers/.+"
    r"|/imports(/.+)?|/messages/delete|/messages/\d+/pin|/streams/\d+/(pins|pinned_topics)"
    r"|/streams/\d+/topic_descriptions"
    r"|/users/\d+/second_factors|/realm/scim/(closures|tokens(/\d+)?)|/compliance/.+|/users/me/exports(/\d+)?|/realm/retention_preview"
)
"""Paths that only this server has: no contract knows them."""
FOUND = 302
"""Such an answer is elsewhere, and has no body."""
TEST_PREFIX = "/test/"
"""Endpoints of tests: no contract has them."""
NO_BODY = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})


def is_ours(method: str, path: str) -> bool:
    """Whether only this server has the endpoint."""
    return (method, path) == ("PATCH", "/messages") or OURS.fullmatch(path) is not None


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    headers: HTTPHeaders
    content: bytes

    @property
    def body(self) -> dict[str, Any]:
        return dict(json.loads(self.content))

    def succeeded(self) -> dict[str, Any]:
        """The body; fails the test unless it is a success."""
        assert (self.status, self.body["result"]) == (200, "success"), self.content
        return self.body

    def refused(self, code: str = "BAD_REQUEST", status: int = 400) -> dict[str, Any]:
        """The body; fails the test unless it was refused with this code and status."""
        body = self.body
        assert (self.status, body.get("code")) == (status, code), self.content
        assert body["result"] == "error"
        assert body["msg"]
        return body


@dataclass(frozen=True, slots=True)
class Client:
    """A client of one user. Text goes as it is, everything else as JSON inside its field.

    `await client.post("/messages", type="channel", to="general", ...)` gives the body of a
    success; `(await client.call("POST", "/messages", ...)).refused("BAD_REQUEST")` a refusal's.
    """

    server: Server
    host: str
    email: str | None = None
    api_key: str | None = None
    user: UserRow | None = None
    user_agent: str = "ParleyTests/1.0"

    async def get(self, path: str, /, **fields: Any) -> dict[str, Any]:
        return (await self.call("GET", path, **fields)).succeeded()

    async def post(self, path: str, /, **fields: Any) -> dict[str, Any]:
        return (await self.call("POST", path, **fields)).succeeded()

    async def patch(self, path: str, /, **fields: Any) -> dict[str, Any]:
        return (await self.call("PATCH", path, **fields)).succeeded()

    async def delete(self, path: str, /, **fields: Any) -> dict[str, Any]:
        return (await self.call("DELETE", path, **fields)).succeeded()

    async def call(
        self,
        method: str,
        path: str,
        /,
        *,
        headers: Mapping[str, str] | None = None,
        unknown: Iterable[str] = (),
        **fields: Any,
    ) -> Answer:
        """Send the fields (None: left out), by query or form as the method has it.

        The answer must have the shape that the API's description gives it, and the one that the
        contract does, save fields named `unknown`.
        """
        encoded = urlencode(list(_as_text(fields)))
        if method in NO_BODY:
            answer = await self.send(
                method, f"{path}?{encoded}" if encoded else path, headers=headers
            )
        else:
            form = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
            answer = await self.send(method, path, body=encoded.encode(), headers=form)
        if method != "HEAD" and answer.status != FOUND and not path.startswith(TEST_PREFIX):
            path = path.partition("?")[0]
            if not is_ours(method, path):
                contract.validate_response(
                    method, path, answer.status, answer.body, unknown=unknown
                )
            openapi.validate(method, path, answer.status, answer.body)
        return answer

    async def send(
        self,
        method: str,
        path: str,
        /,
        *,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        prefix: str = API_PREFIX,
    ) -> Answer:
        """Send exactly this, under the API's prefix, with the client's credentials."""
        target = prefix + quote(path, safe="/?&=%+~")
        given = {
            "Host": self.host,
            "User-Agent": self.user_agent,
            **self._authorization(),
            **(headers or {}),
        }
        is_poll = path.startswith("/events")
        async with asyncio.timeout(POLL_SECONDS if is_poll else PATIENCE_SECONDS):
            return Answer(*await self.server.connections.ask(method, target, given, body))

    async def upload(
        self,
        path: str,
        /,
        fields: Mapping[str, str] | None = None,
        method: str = "POST",
        **files: tuple[str, bytes],
    ) -> Answer:
        """Send files as a multipart form: field=(file name, content)."""
        content_type, body = multipart(fields or {}, files)
        headers = {"Content-Type": content_type}
        answer = await self.send(method, path, body=body, headers=headers)
        if not path.startswith(TEST_PREFIX):
            contract.validate_response(method, path, answer.status, answer.body)
            openapi.validate(method, path, answer.status, answer.body)
        return answer

    async def fetch(
        self, path: str, /, *, headers: Mapping[str, str] | None = None, method: str = "GET"
    ) -> Answer:
        """A file, by its whole path."""
        return await self.send(method, path, headers=headers, prefix="")

    async def register(self, **fields: Any) -> "Events":
        """An event queue, to be polled."""
        body = await self.post("/register", **fields)
        return Events(self, body)

    def _authorization(self) -> dict[str, str]:
        if self.email is None:
            return {}
        return {"Authorization": basic(self.email, self.api_key or "")}


@dataclass(slots=True)
class Events:
    """A client's event queue: what has been received is acknowledged by the next poll."""

    client: Client
    state: dict[str, Any]
    """The response to register."""
    last_event_id: int = -1

    def __post_init__(self) -> None:
        self.last_event_id = self.state["last_event_id"]

    @property
    def queue_id(self) -> str:
        return str(self.state["queue_id"])

    async def poll(self, *, dont_block: bool = False) -> list[dict[str, Any]]:
        """The next events, heartbeats left out; each one held against the contract."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                events = await self._poll_once(dont_block=dont_block)
                if dont_block or events:
                    return events

    async def until(self, kind: str, op: str | None = None) -> dict[str, Any]:
        """The next event of this type (and op), whatever comes before it."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                for event in await self._poll_once(dont_block=False, stop_at=(kind, op)):
                    if _matches(event, kind, op):
                        return event

    async def _poll_once(
        self, *, dont_block: bool, stop_at: tuple[str, str | None] | None = None
    ) -> list[dict[str, Any]]:
        body = await self.client.get(
            "/events",
            queue_id=self.queue_id,
            last_event_id=self.last_event_id,
            dont_block=dont_block,
        )
        events = []
        for event in body["events"]:
            contract.validate_event(event)
            assert event["id"] > self.last_event_id, "event ids rise"
            self.last_event_id = event["id"]
            if event["type"] != "heartbeat":
                events.append(event)
            if stop_at is not None and _matches(event, *stop_at):
                break
        return events


def _matches(event: Mapping[str, Any], kind: str, op: str | None) -> bool:
    return event["type"] == kind and op in (None, event.get("op"))


def _as_text(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in fields.items():
        if value is not None:
            yield name, value if isinstance(value, str) else msgspec.json.encode(value).decode()


def basic(email: str, api_key: str) -> str:
    """The Authorization header of these credentials."""
    return "Basic " + base64.b64encode(f"{email}:{api_key}".encode()).decode()


def multipart(
    fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]], boundary: str = "frontier"
) -> tuple[str, bytes]:
    """The content type and the body of a multipart form."""
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode()
        for name, value in fields.items()
    ] + [
        f'Content-Disposition: form-data; name="{name}"; filename="{file_name}"\r\n'
        f"Content-Type: application/octet-stream\r\n\r\n".encode()
        + content
        for name, (file_name, content) in files.items()
    ]
    body = b"".join(b"--%b\r\n%b\r\n" % (boundary.encode(), part) for part in parts)
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


def elsewhere(connections: Connections) -> Server:
    """A server in a process of its own, for a client: nothing else is to be seen of it."""
    return cast(Server, SimpleNamespace(connections=connections))


@pytest.fixture
def connect() -> Callable[..., Awaitable[Client]]:
    """`await connect(server, realm_id, user)`: the user's client; without a user, anonymous."""

    async def connect(server: Server, realm_id: RealmId, user: UserRow | None = None) -> Client:
        return Client(
            server,
            await server.host_of(realm_id),
            None if user is None else user.email,
            None if user is None else user.api_key,
            user,
        )

    return connect


LogIn = Callable[..., Awaitable[Client]]


@pytest.fixture
def log_in(server: Server, make: Make, connect: Callable[..., Awaitable[Client]]) -> LogIn:
    """`await log_in(user)`, or `await log_in(role=GUEST)`: the client of a user of the realm."""

    async def log_in(user: UserRow | None = None, **facts: Any) -> Client:
        return await connect(server, make.realm_id, user or await make.user(**facts))

    return log_in


@pytest.fixture
def spectator(server: Server, make: Make, connect: Callable[..., Awaitable[Client]]) -> Any:
    """`await spectator()`: a client without an account."""
    return lambda: connect(server, make.realm_id)
