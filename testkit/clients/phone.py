"""An app on a phone: what the published mobile app does with its keys, its token and what it gets.

It registers a device once, sends what the server's state of that device lacks, swallows every
failure, and decrypts what Apple and Google hand over.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from nacl.public import PublicKey, SealedBox
from nacl.secret import SecretBox

from testkit.clients.api import Client, Events

TAG: Final = b"\x31"
NONCE: Final = SecretBox.NONCE_SIZE
A_DAY: Final = 86_400
RENEWED_AFTER: Final = 30 * A_DAY
SETTLED_AFTER: Final = 15 * A_DAY
APP_ID: Final = "com.example.app"
UNTITLED: Final = "New notification"
"""The title of alerts on an iPhone that the app's extension does not replace."""


@dataclass
class Key:
    """A secret key, and its number: 32 random bits."""

    created_at: float
    superseded_at: float | None = None
    key_id: int = field(default_factory=lambda: secrets.randbits(32))
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(SecretBox.KEY_SIZE))

    @property
    def text(self) -> str:
        return base64.b64encode(TAG + self.secret).decode()


@dataclass
class Phone:
    """The app with one account. `bouncer_key` is compiled into the published one."""

    client: Client
    bouncer_key: str
    now: Callable[[], float]
    kind: str = "fcm"
    token: str | None = None
    device_id: int | None = None
    keys: list[Key] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    """Register's `devices`, followed by events."""
    realm_url: str = ""
    queue: Events | None = None
    requests: list[dict[str, Any]] = field(default_factory=list)
    """The registrations that it has sent."""
    refusals: list[str] = field(default_factory=list)
    """What the server said of those that it refused; the published app looks at none."""

    @property
    def me(self) -> dict[str, Any] | None:
        """The server's state of this device."""
        found: dict[str, Any] | None = self.state.get(str(self.device_id))
        return found

    # -- registering

    async def load(self) -> None:
        """Start the app: register a queue, look after the keys, send what is missing."""
        self.queue = await self.client.register()
        self.state = self.queue.state["devices"]
        self.realm_url = self.queue.state["realm_url"]
        self._renew_keys()
        if self.device_id is None:
            answer = await self.client.call("POST", "/register_client_device")
            if answer.status != 200:
                return
            self.device_id = answer.body["device_id"]
        await self.register()

    async def take_token(self, token: str) -> None:
        """Get another token from the phone's maker."""
        self.token = token
        await self.register()

    async def register(self) -> None:
        """Send the key and the token, as far as the server does not have them."""
        if self.token is None or self.device_id is None:
            return
        fields: dict[str, Any] = {}
        key = self.keys[-1]
        if self.me is None or self.me["push_key_id"] != key.key_id:
            fields |= {"push_key_id": key.key_id, "push_key": key.text}
        if self._is_token_due():
            fields |= self.token_fields(self.token)
        if not fields:
            return
        self.requests.append(fields)
        answer = await self.client.call(
            "POST", "/mobile_push/register", device_id=self.device_id, **fields
        )
        if answer.status != 200:
            self.refusals.append(answer.body["msg"])

    def _is_token_due(self) -> bool:
        me = self.me
        if me is None or me["push_registration_error_code"] is not None:
            return True
        known = me["pending_push_token_id"] or me["push_token_id"]
        changed_at = me["push_token_last_updated_timestamp"]
        is_old = changed_at is None or self.now() - changed_at >= RENEWED_AFTER
        return known != token_id_of(self.token or "") or is_old

    def token_fields(self, token: str) -> dict[str, Any]:
        """The fields of a registration of the token."""
        content: dict[str, Any] = {
            "token_kind": self.kind,
            "token": token,
            "timestamp": int(self.now()),
        }
        if self.kind == "apns":
            content["ios_app_id"] = APP_ID
        box = SealedBox(PublicKey(base64.b64decode(self.bouncer_key)))
        return {
            "token_kind": self.kind,
            "token_id": token_id_of(token),
            "bouncer_public_key": self.bouncer_key,
            "encrypted_push_registration": base64.b64encode(
                box.encrypt(json.dumps(content).encode())
            ).decode(),
        }

    def _renew_keys(self) -> None:
        now = self.now()
        if not self.keys or now - self.keys[-1].created_at >= RENEWED_AFTER:
            self.keys.append(Key(now))
        used = [key for key in self.keys if self.me and key.key_id == self.me["push_key_id"]]
        settled = [key for key in self.keys if now - key.created_at >= SETTLED_AFTER]
        for newer in used + settled:
            for key in self.keys[: self.keys.index(newer)]:
                key.superseded_at = key.superseded_at or now
        self.keys = [
            key
            for key in self.keys
            if key.superseded_at is None or now - key.superseded_at < RENEWED_AFTER
        ]

    async def follow(self) -> dict[str, Any]:
        """Wait for one `device` event; heed it, and return it."""
        assert self.queue is not None, "the app is not loaded"
        event = await self.queue.until("device")
        device_id = str(event["device_id"])
        if event["op"] == "add":
            self.state[device_id] = dict.fromkeys(STATE)
        elif event["op"] == "remove":
            del self.state[device_id]
        else:
            changed = {name: value for name, value in event.items() if name in STATE}
            self.state[device_id] |= changed
            if "push_key_id" in changed:
                self._renew_keys()
        return event

    async def log_out(self) -> None:
        """Remove the device, and forget everything."""
        if self.device_id is not None:
            await self.client.call("POST", "/remove_client_device", device_id=self.device_id)
        self.device_id, self.keys, self.state = None, [], {}

    # -- getting

    def shown(self, delivery: dict[str, Any]) -> dict[str, Any] | None:
        """What the app makes of what Apple or Google hands over; None: nothing."""
        key = self._key_of(delivery["push_key_id"])
        if key is None:
            return None
        encrypted = base64.b64decode(delivery["encrypted_data"], validate=True)
        nonce, box = encrypted[:NONCE], encrypted[NONCE:]
        content: dict[str, Any] = json.loads(SecretBox(key.secret).decrypt(box, nonce))
        user = self.client.user
        assert user is not None
        if (content["realm_url"], content["user_id"]) != (self.realm_url, user.user_id):
            return None
        if content["type"] == "message":
            self._check_message(content)
        elif content["type"] == "remove":
            assert all(type(each) is int for each in content["message_ids"])
        else:
            return None
        return content

    def alert(self, delivery: dict[str, Any]) -> str | None:
        """What an iPhone shows to its user: the system shows alerts, whatever is in them."""
        alert = delivery["aps"].get("alert")
        if alert is None:
            return None
        content = self.shown(delivery) if delivery["aps"].get("mutable-content") == 1 else None
        if content is None or content["type"] != "message":
            return str(alert["title"])
        return str(content["content"])

    def _key_of(self, key_id: object) -> Key | None:
        assert isinstance(key_id, str if self.kind == "fcm" else int)
        return next((key for key in self.keys if key.key_id == int(key_id)), None)

    def _check_message(self, content: dict[str, Any]) -> None:
        """Fail as the app's decoder does without one of the fields that it needs."""
        for name in ("message_id", "time", "sender_id"):
            assert type(content[name]) is int
        for name in ("content", "sender_full_name", "sender_avatar_url"):
            assert isinstance(content[name], str)
        if "channel_id" in content:
            assert isinstance(content["topic"], str)
        else:
            ids = content["recipient_user_ids"]
            assert ids == sorted(ids)


STATE: Final = (
    "push_key_id",
    "push_token_id",
    "pending_push_token_id",
    "push_token_last_updated_timestamp",
    "push_registration_error_code",
)
"""The fields of a device in register."""


def token_id_of(token: str) -> str:
    """The token's id: from its text, which for Apple's is hex."""
    return base64.b64encode(hashlib.sha256(token.encode()).digest()[:8]).decode()
