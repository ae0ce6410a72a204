"""A push bouncer: compare the pushes to phones with those that were due."""

import asyncio
import base64
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final, Literal
from urllib.parse import parse_qs

import psycopg
from nacl.public import PrivateKey, SealedBox
from nacl.secret import SecretBox

from testkit.faults.history import SendRecord
from testkit.faults.mail import SHOWN, TOKEN
from testkit.faults.oracle import Ledger
from testkit.faults.recipients import arrived, others_in, readers_of
from testkit.faults.world import REALM, User, World

SERVER_ID: Final = "6f0b7b0e-5a39-4c45-9d09-7a2d1f6b1c11"
SERVER_KEY: Final = "k" * 64
RETRY_AFTER: Final = "1"
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)

Kind = Literal["plain", "sealed", "keyed"]
"""In the clear; encrypted for an account's key; encrypted with a device's key, by its token."""
KINDS: Final[tuple[Kind, ...]] = ("plain", "sealed", "keyed")
Key = tuple[int, Kind, str]
"""A phone of a user, and the token of a message."""
Mood = Literal["takes", "refuses", "forgets"]
"""The behavior of the bouncer: `forgets` passes a push on, and hangs up before it says so."""


def give_phones(url: str, world: World) -> None:
    """Give absent users a phone of each kind. Of that in the clear the bouncer is still to know."""
    with psycopg.connect(url) as database:
        for user in world.absent:
            database.execute(
                "INSERT INTO push_devices (realm_id, user_id, kind, token, created_at)"
                " VALUES (%s, %s, 'fcm', %s, now())",
                [REALM, user.user_id, f"phone {user.user_id}"],
            )
            database.execute(
                "INSERT INTO push_devices (realm_id, user_id, kind, account_id, public_key,"
                " bouncer_id, created_at) VALUES (%s, %s, 'fcm', %s, %s, %s, now())",
                [
                    *(REALM, user.user_id, user.user_id),
                    *(bytes(_key(user.user_id).public_key), user.user_id),
                ],
            )
            database.execute(
                "INSERT INTO push_devices (realm_id, user_id, is_client_device, kind, push_key_id,"
                " push_key, push_token_id, push_token_changed_at, created_at)"
                " VALUES (%s, %s, true, 'fcm', %s, %s, %s, now(), now())",
                [
                    *(REALM, user.user_id, user.user_id),
                    *(_secret(user.user_id), _token_id(user.user_id)),
                ],
            )


@dataclass(eq=False)
class BouncerServer:
    """Takes notices on a port of its own. Which phone showed a message, it knows by its id."""

    port: int = 0
    mood: Mood = "takes"
    held: dict[Key, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """How often each phone got which message."""
    tally: Counter[str] = field(default_factory=Counter)
    _known: set[str] = field(default_factory=set)
    _writers: set[asyncio.StreamWriter] = field(default_factory=set)
    _listening: asyncio.Server | None = None

    async def start(self) -> None:
        """Listen, where it did before."""
        self._listening = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._listening.sockets[0].getsockname()[1]

    def kill(self) -> None:
        """End it in the middle of everything."""
        if self._listening is not None:
            self._listening.close()
        for writer in self._writers:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        found = _LENGTH.search(head)
        body = await reader.readexactly(int(found[1])) if found else b""
        if self.mood == "refuses":
            self.tally["pushes refused for now"] += 1
            _write(writer, HTTPStatus.SERVICE_UNAVAILABLE, {})
            return True
        path = head.split(b" ", 2)[1].decode().removeprefix("/api/v1/remotes/")
        status, answer = self._handle(path, body)
        if self.mood == "forgets":
            self.tally["pushes taken without saying so"] += 1
            writer.transport.abort()
            return False
        _write(writer, status, answer)
        return True

    def _handle(self, path: str, body: bytes) -> tuple[HTTPStatus, dict[str, Any]]:
        match path:
            case "push/notify":
                return HTTPStatus.OK, self._notify(json.loads(body))
            case "push/e2ee/notify":
                return HTTPStatus.OK, self._notify_sealed(json.loads(body))
            case "push/register":
                self._known.add(parse_qs(body.decode())["token"][0])
                return HTTPStatus.OK, {}
            case "server/analytics":
                realms = json.loads(parse_qs(body.decode())["realms"][0])
                return HTTPStatus.OK, {"realms": {each["uuid"]: _STATUS for each in realms}}
        return HTTPStatus.NOT_FOUND, {"code": "BAD_REQUEST", "msg": path}

    def _notify(self, body: dict[str, Any]) -> dict[str, Any]:
        tokens = body["android_devices"]
        for token in self._known.intersection(tokens):
            payload = body["gcm_payload"]
            if payload["event"] == "message":
                number = int(token.rpartition(" ")[2])
                self._note(number, "plain", payload["content"], int(payload["zulip_message_id"]))
        unknown = [token for token in tokens if token not in self._known]
        return {
            "total_android_devices": len(tokens) - len(unknown),
            "total_apple_devices": 0,
            "deleted_devices": {"android_devices": unknown, "apple_devices": []},
            "realm": _STATUS,
        }

    def _notify_sealed(self, body: dict[str, Any]) -> dict[str, Any]:
        for each in body["push_requests"]:
            encrypted = base64.b64decode(each["payload"]["encrypted_data"])
            kind: Kind
            if "token_id" in each:
                kind, number = "keyed", each["payload"]["push_key_id"]
                assert base64.b64decode(each["token_id"]) == _token_id(number)
                opened = json.loads(SecretBox(_secret(number)).decrypt(encrypted))
            else:
                kind, number = "sealed", each["device_id"]
                opened = json.loads(SealedBox(_key(number)).decrypt(encrypted))
            if opened["type"] == "message":
                self._note(number, kind, opened["content"], opened["message_id"])
        return {
            "android_successfully_sent_count": len(body["push_requests"]),
            "apple_successfully_sent_count": 0,
            "delete_device_ids": [],
            "delete_token_ids": [],
            "realm_push_status": _STATUS,
        }

    def _note(self, user_id: int, kind: Kind, content: str, message_id: int) -> None:
        for token in TOKEN.findall(content):
            held = self.held[user_id, kind, token]
            held[message_id] += 1
            self.tally["pushes taken" if held.total() == 1 else "pushes taken once more"] += 1


_STATUS: Final = {"can_push": True, "expected_end_timestamp": None}


def _write(writer: asyncio.StreamWriter, status: HTTPStatus, answer: Mapping[str, Any]) -> None:
    body = json.dumps(
        {"result": "success" if status == HTTPStatus.OK else "error", **answer}
    ).encode()
    lines = [
        f"HTTP/1.1 {status} {status.phrase}",
        f"Content-Length: {len(body)}",
        f"Retry-After: {RETRY_AFTER}",
        "",
        "",
    ]
    writer.write("\r\n".join(lines).encode() + body)


def _key(user_id: int) -> PrivateKey:
    """The private key that decrypts notifications on this user's phone."""
    return PrivateKey(hashlib.sha256(f"phone {user_id}".encode()).digest())


def _secret(user_id: int) -> bytes:
    """The key shared with this user's phone."""
    return hashlib.sha256(f"key of {user_id}".encode()).digest()


def _token_id(user_id: int) -> bytes:
    return hashlib.sha256(f"token of {user_id}".encode()).digest()[:8]


@asynccontextmanager
async def bouncer_server() -> AsyncIterator[BouncerServer]:
    """One that listens while the block runs."""
    bouncer = BouncerServer()
    await bouncer.start()
    try:
        yield bouncer
    finally:
        bouncer.kill()


async def pushed(
    bouncer: BouncerServer, world: World, sends: Sequence[SendRecord], seconds: float
) -> None:
    """Wait until the phones of absent users show each accepted message, for so long at most."""
    due = {
        key
        for send in sends
        if send.message_id is not None and isinstance(send.where, tuple)
        for user in others_in(world.absent, send.where, send.sender_id)
        for key in _keys(user, send.token)
    }
    await arrived(due, bouncer.held, seconds)


def check_pushes(world: World, ledger: Ledger, held: Mapping[Key, Counter[int]]) -> Iterator[str]:
    """Each direct message is shown on all phones of each of its people who are away.

    A phone may be told of it twice, if it is not certain whether it has heard: then it is the same
    message to it. No phone shows what is not for its user.
    """
    must: set[Key] = set()
    may: dict[Key, int] = {}
    for message in ledger.messages.values():
        for user in readers_of(world.absent, ledger, message):
            keys = list(_keys(user, message.content))
            may |= dict.fromkeys(keys, message.message_id)
            if message.channel_id is None:
                must.update(keys)
    wrong = {key for key, ids in held.items() if key in may and set(ids) != {may[key]}}
    for name, found in (
        ("never showed", must - held.keys()),
        ("must not have shown", held.keys() - may.keys()),
        ("took something else for", wrong),
    ):
        for user_id, kind, token in sorted(found)[:SHOWN]:
            yield f"the {kind} phone of {user_id} {name} {token} ({len(found)} such)"


def _keys(user: User, token: str) -> Iterator[Key]:
    return ((user.user_id, kind, token) for kind in KINDS)
