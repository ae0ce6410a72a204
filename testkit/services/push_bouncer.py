"""A bouncer: it keeps what it is sent, and refuses what one refuses."""

import asyncio
import base64
import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import parse_qs

import pytest_asyncio
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox
from tornado.httpserver import HTTPServer
from tornado.httputil import HTTPHeaders, HTTPServerRequest, ResponseStartLine
from tornado.iostream import StreamClosedError

from server.push import web
from server.push.bouncer import PREFIX, Bouncer
from server.runtime.sockets import open_sockets

SERVER_ID: Final = "6f0b7b0e-5a39-4c45-9d09-7a2d1f6b1c11"
SERVER_KEY: Final = "k" * 64
NOW: Final = 1_772_366_400
"""When tests happen (testkit/clock.py)."""
A_DAY: Final = 86_400
MAX_PAYLOAD: Final = 4_096

Form = dict[str, str]
Answer = tuple[int, str, dict[str, str]]


class RefusalError(Exception):
    def __init__(self, code: str, msg: str = "No.", status: int = 400) -> None:
        super().__init__(msg)
        self.status = status
        self.body = {"result": "error", "code": code, "msg": msg}


@dataclass
class SealedPhone:
    """A phone with an encrypted token."""

    account_id: int
    registration: dict[str, Any]
    got: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class TokenPhone:
    """A phone whose token is known to the bouncer by its id, too."""

    registration: dict[str, Any]
    got: list[dict[str, Any]] = field(default_factory=list)
    """What Apple and Google hand over, which is not quite what the bouncer was sent."""
    requests: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class FakeBouncer:
    """`answers` are given to the next requests before it looks at them: (status, body, headers)."""

    port: int = 0
    key: PrivateKey = field(default_factory=PrivateKey.generate)
    servers: dict[str, str] = field(default_factory=lambda: {SERVER_ID: SERVER_KEY})
    realms: dict[str, dict[str, Any]] = field(default_factory=dict)
    knows_all_realms: bool = True
    can_push: bool = True
    phones: dict[tuple[str, int, str], list[dict[str, Any]]] = field(default_factory=dict)
    """The notifications received by each phone, by its user, kind and token."""
    app_ids: dict[str, str] = field(default_factory=dict)
    generation: Literal["accounts", "both", "tokens"] = "both"
    """Which phones with encrypted notifications it knows: by accounts, or by ids of tokens."""
    sealed: dict[int, SealedPhone] = field(default_factory=dict)
    tokens: dict[tuple[str, str], TokenPhone] = field(default_factory=dict)
    """By the organization's uuid, and the id of the token."""
    gone: set[str | int] = field(default_factory=set)
    """Tokens, and numbers of sealed phones, that their makers know no more."""
    answers: list[Answer] = field(default_factory=list)
    answers_to: dict[str, list[Answer]] = field(default_factory=dict)
    """The same for requests to one path."""
    lost: int = 0
    """The number of requests to handle without delivering the response."""
    held: asyncio.Event | None = None
    """Encrypted registrations are handled at once, and answered only when it is set."""
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    """One of them waits for its answer."""
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    """Something has reached a phone."""
    requests: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    _waiting: set[asyncio.Task[None]] = field(default_factory=set)

    stop: Callable[[], None] = lambda: None
    """Ends it, as if its machine were off."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def public_key(self) -> str:
        return base64.b64encode(bytes(self.key.public_key)).decode()

    def got(self, token: str) -> list[dict[str, Any]]:
        """The notifications that the phone with this token has received, from any account."""
        return [each for (_, _, t), got in self.phones.items() if t == token for each in got]

    def registration(self, token: str, kind: str = "fcm", **more: Any) -> str:
        """The registration that a client encrypts for the bouncer."""
        content = {
            "token": token,
            "token_kind": kind,
            "ios_app_id": "com.example.app" if kind == "apns" else None,
            "timestamp": NOW,
            **more,
        }
        box = SealedBox(self.key.public_key)
        return base64.b64encode(box.encrypt(json.dumps(content).encode())).decode()

    def answer(self, request: HTTPServerRequest) -> None:
        path = (request.path or "").removeprefix(PREFIX)
        self.requests.append(path)
        self.bodies.append(request.body)
        status, headers = 200, dict[str, str]()
        given = self.answers_to.get(path) or self.answers
        if given:
            status, text, headers = given.pop(0)
        else:
            try:
                text = json.dumps({"result": "success", "msg": "", **self._handle(path, request)})
            except RefusalError as refusal:
                status, text = refusal.status, json.dumps(refusal.body)
        if self.lost:
            self.lost -= 1
            status, text = 502, "<html>gone</html>"
        if self.held is not None and path == "push/e2ee/register":
            waiting = asyncio.create_task(self._respond_later(self.held, request, status, text))
            self._waiting.add(waiting)
        else:
            respond(request, status, text, headers)

    async def _respond_later(
        self, held: asyncio.Event, request: HTTPServerRequest, status: int, text: str
    ) -> None:
        self.holding.set()
        await held.wait()
        with suppress(StreamClosedError):
            respond(request, status, text, {})

    def _handle(self, path: str, request: HTTPServerRequest) -> dict[str, Any]:
        known = {
            "server/register": self._enroll,
            "server/deactivate": self._withdraw,
            "server/analytics/status": self._status,
            "server/analytics": self._realms,
            "push/register": self._register,
            "push/unregister": self._unregister,
            "push/unregister/all": self._forget,
            "push/notify": self._notify,
            "push/test_notification": self._test,
            "push/e2ee/register": self._register_sealed,
            "push/e2ee/notify": self._notify_sealed,
        }
        if path not in known:
            raise RefusalError("BAD_REQUEST", "No such path", 404)
        if path != "server/register":
            self._authenticate(request)
        if request.headers.get("Content-Type", "").startswith("application/json"):
            return known[path](json.loads(request.body))
        form = parse_qs(request.body.decode(), keep_blank_values=True)
        return known[path]({name: values[0] for name, values in form.items()})

    def _authenticate(self, request: HTTPServerRequest) -> None:
        scheme, _, value = request.headers.get("Authorization", "").partition(" ")
        name, _, key = base64.b64decode(value).decode().partition(":")
        if scheme != "Basic" or name not in self.servers:
            raise RefusalError("INVALID_ZULIP_SERVER", "Not registered", 401)
        if self.servers[name] != key:
            raise RefusalError("INVALID_ZULIP_SERVER", "Not its key", 401)

    # -- the server

    def _enroll(self, form: Form) -> dict[str, Any]:
        name, key = form["zulip_org_id"], form["zulip_org_key"]
        if str(uuid.UUID(name, version=4)) != name or len(key) != len(SERVER_KEY):
            raise RefusalError("BAD_REQUEST", "Invalid UUID")
        if form["contact_email"].endswith("@example.com"):
            raise RefusalError("BAD_REQUEST", "Invalid server administrator email address")
        if self.servers.get(name, key) != key:
            raise RefusalError("INVALID_ZULIP_SERVER", "Not its key", 401)
        is_new = name not in self.servers
        self.servers[name] = form.get("new_org_key", key)
        return {"created": is_new}

    def _withdraw(self, form: Form) -> dict[str, Any]:
        del form
        self.servers.clear()
        return {}

    def _status(self, form: Form) -> dict[str, Any]:
        del form
        return dict.fromkeys(
            ("last_realm_count_id", "last_installation_count_id", "last_realmauditlog_id"), 0
        )

    def _realms(self, form: Form) -> dict[str, Any]:
        fields = {
            *("id", "uuid", "uuid_owner_secret", "host", "url", "name", "org_type"),
            *("date_created", "deactivated", "authentication_methods", "is_system_bot_realm"),
        }
        for name in ("realm_counts", "installation_counts", "realmauditlog_rows"):
            assert json.loads(form[name]) == []
        assert isinstance(json.loads(form["version"]), str)
        assert isinstance(json.loads(form["api_feature_level"]), int)
        for realm in json.loads(form["realms"]):
            assert set(realm) == fields
            assert uuid.UUID(realm["uuid"]).version == 4
            self.realms[realm["uuid"]] = realm
        return {"realms": {name: self._realm_status() for name in self.realms}}

    def _realm_status(self) -> dict[str, Any]:
        return {"can_push": self.can_push, "expected_end_timestamp": None}

    def _check_realm(self, name: str) -> None:
        if not self.knows_all_realms and name not in self.realms:
            raise RefusalError("MISSING_REMOTE_REALM", "Organization not registered", 403)

    # -- in the clear

    def _register(self, form: Form) -> dict[str, Any]:
        phone = self._phone(form)
        if form["token_kind"] == "1":
            if "ios_app_id" not in form:
                raise RefusalError("BAD_REQUEST", "Missing ios_app_id")
            self.app_ids[form["token"]] = form["ios_app_id"]
        self.phones.setdefault(phone, [])
        return {}

    def _unregister(self, form: Form) -> dict[str, Any]:
        if self.phones.pop(self._phone(form), None) is None:
            raise RefusalError("BAD_REQUEST", "Token does not exist")
        return {}

    def _forget(self, form: Form) -> dict[str, Any]:
        for phone in [each for each in self.phones if each[0] == form["user_uuid"]]:
            del self.phones[phone]
        return {}

    def _phone(self, form: Form) -> tuple[str, int, str]:
        if form["token_kind"] not in ("1", "2") or not form["token"]:
            raise RefusalError("BAD_REQUEST", "Invalid token type")
        assert str(uuid.UUID(form["realm_uuid"])) == form["realm_uuid"]
        assert int(form["user_id"]) > 0
        return form["user_uuid"], int(form["token_kind"]), form["token"]

    def _notify(self, body: dict[str, Any]) -> dict[str, Any]:
        assert set(body) == {
            *("user_uuid", "user_id", "realm_uuid", "apns_payload", "gcm_payload"),
            *("gcm_options", "android_devices", "apple_devices"),
        }
        if not self.can_push:
            raise RefusalError("PUSH_NOTIFICATIONS_DISALLOWED", "Your plan does not allow it")
        assert set(body["gcm_options"]) == {"priority"}
        assert body["gcm_options"]["priority"] in ("normal", "high")
        totals = {1: 0, 2: 0}
        for phone in [each for each in self.phones if each[0] == body["user_uuid"]]:
            _, kind, token = phone
            totals[kind] += 1
            payload = body["apns_payload"] if kind == 1 else body["gcm_payload"]
            if token in self.gone:
                del self.phones[phone]
            elif payload:
                assert len(json.dumps(payload, ensure_ascii=False).encode()) <= MAX_PAYLOAD
                self.phones[phone].append(payload)
                self.arrived.set()
        has = {(kind, token) for user, kind, token in self.phones if user == body["user_uuid"]}
        return {
            "total_android_devices": totals[2],
            "total_apple_devices": totals[1],
            "deleted_devices": {
                "android_devices": [t for t in body["android_devices"] if (2, t) not in has],
                "apple_devices": [t for t in body["apple_devices"] if (1, t) not in has],
            },
            "realm": self._realm_status(),
        }

    def _test(self, body: dict[str, Any]) -> dict[str, Any]:
        assert set(body) == {
            *("token", "token_kind", "user_id", "user_uuid", "realm_uuid", "base_payload"),
        }
        phone = body["user_uuid"], body["token_kind"], body["token"]
        if phone not in self.phones or body["token"] in self.gone:
            raise RefusalError("INVALID_REMOTE_PUSH_DEVICE_TOKEN", "Device not recognized")
        assert body["base_payload"]["realm_name"]
        self.phones[phone].append({**body["base_payload"], "event": "test"})
        return {}

    # -- encrypted

    def _register_sealed(self, form: Form) -> dict[str, Any]:
        self._check_realm(form["realm_uuid"])
        by_token = "token_id" in form
        names = {"realm_uuid", "bouncer_public_key", "encrypted_push_registration"}
        assert set(form) == names | {"token_id" if by_token else "push_account_id"}
        if self.generation == ("accounts" if by_token else "tokens"):
            raise RefusalError("REQUEST_VARIABLE_MISSING", "Missing a parameter")
        if form["bouncer_public_key"] != self.public_key:
            raise RefusalError("INVALID_BOUNCER_PUBLIC_KEY")
        code = "BAD_REQUEST" if by_token else "INVALID_ENCRYPTED_PUSH_REGISTRATION"
        try:
            encrypted = base64.b64decode(form["encrypted_push_registration"], validate=True)
            content = json.loads(SealedBox(self.key).decrypt(encrypted))
        except (ValueError, CryptoError):
            raise RefusalError(code, "Invalid encrypted_push_registration") from None
        if by_token and not _is_of(content, form["token_id"]):
            raise RefusalError(code, "Invalid encrypted_push_registration")
        if NOW - content["timestamp"] > A_DAY:
            raise RefusalError("REQUEST_EXPIRED")
        if by_token:
            _ = self.tokens.setdefault((form["realm_uuid"], form["token_id"]), TokenPhone(content))
            return {}
        return {"device_id": self._number_of(int(form["push_account_id"]), content)}

    def _number_of(self, account_id: int, content: dict[str, Any]) -> int:
        for number, phone in self.sealed.items():
            if (phone.account_id, phone.registration["token"]) == (account_id, content["token"]):
                return number
        number = len(self.sealed) + 100
        self.sealed[number] = SealedPhone(account_id, content)
        return number

    def _notify_sealed(self, body: dict[str, Any]) -> dict[str, Any]:
        assert set(body) == {"realm_uuid", "push_requests"}
        self._check_realm(body["realm_uuid"])
        if not self.can_push:
            raise RefusalError("PUSH_NOTIFICATIONS_DISALLOWED", "Your plan does not allow it")
        sent, deleted = {"fcm": 0, "apns": 0}, list[Any]()
        by_token = "token_id" in body["push_requests"][0]
        if self.generation == ("accounts" if by_token else "tokens"):
            raise RefusalError("REQUEST_VARIABLE_INVALID", "push_requests is not understood")
        phones: dict[Any, Any] = self.sealed
        if by_token:
            realm = body["realm_uuid"]
            phones = {token: each for (uuid_, token), each in self.tokens.items() if uuid_ == realm}
        for each in body["push_requests"]:
            name = each["token_id" if by_token else "device_id"]
            phone = phones.get(name)
            if phone is None or self.gone.intersection((name, phone.registration["token"])):
                deleted.append(name)
                continue
            kind = phone.registration["token_kind"]
            head = "http_headers" if kind == "apns" else "fcm_priority"
            assert set(each) - {"token_id", "device_id"} == {"payload", head}
            if isinstance(phone, SealedPhone):
                assert each["payload"]["push_account_id"] == phone.account_id
                phone.got.append(each)
            else:
                phone.requests.append(each)
                phone.got.append(_handed_over(kind, each["payload"]))
            assert len(json.dumps(each["payload"]).encode()) <= MAX_PAYLOAD
            self.arrived.set()
            sent[kind] += 1
        return {
            "android_successfully_sent_count": sent["fcm"],
            "apple_successfully_sent_count": sent["apns"],
            "delete_token_ids" if by_token else "delete_device_ids": deleted,
            "realm_push_status": self._realm_status(),
        }


def _is_of(content: dict[str, Any], token_id: str) -> bool:
    """Whether a registration is one of the token with this id."""
    token, kind, app_id = content["token"], content["token_kind"], content.get("ios_app_id")
    if kind not in ("apns", "fcm") or (kind == "apns") != bool(app_id):
        return False
    digest = hashlib.sha256(token.encode()).digest()
    return 0 < len(token) <= MAX_PAYLOAD and base64.b64encode(digest[:8]).decode() == token_id


def _handed_over(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """What reaches the phone: all values of Google's messages are strings."""
    assert set(payload) == {"push_key_id", "encrypted_data"} | (
        {"aps"} if kind == "apns" else set()
    )
    return payload if kind == "apns" else {name: str(value) for name, value in payload.items()}


def respond(request: HTTPServerRequest, status: int, text: str, headers: dict[str, str]) -> None:
    assert request.connection is not None
    body = text.encode()
    lines = HTTPHeaders(
        {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}
    )
    _ = request.connection.write_headers(ResponseStartLine("", status, "Answer"), lines, body)
    request.connection.finish()


@asynccontextmanager
async def answering(
    answer: Callable[[HTTPServerRequest], None],
) -> AsyncIterator[tuple[int, HTTPServer]]:
    """A server on a free port."""
    server = HTTPServer(answer)
    [socket] = open_sockets("127.0.0.1", 0)
    server.add_sockets([socket])
    try:
        yield socket.getsockname()[1], server
    finally:
        server.stop()
        await server.close_all_connections()


@asynccontextmanager
async def bouncing() -> AsyncIterator[FakeBouncer]:
    """A bouncer on a free port."""
    fake = FakeBouncer()
    async with answering(fake.answer) as (fake.port, server):
        fake.stop = server.stop
        yield fake


@pytest_asyncio.fixture
async def bouncer() -> AsyncIterator[FakeBouncer]:
    async with bouncing() as fake:
        yield fake


@asynccontextmanager
async def asking(fake: FakeBouncer, key: str = SERVER_KEY) -> AsyncIterator[Bouncer]:
    """A client of it."""
    async with web.client(fake.url) as http:
        yield Bouncer(http, SERVER_ID, key)
