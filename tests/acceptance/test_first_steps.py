"""What the clients for phones and desks do first, as they do it: from an address to live events."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import pytest_asyncio

from server.realtime import poll as polls
from testkit.clients.api import Answer, Client, elsewhere
from testkit.clients.connections import Connections
from testkit.clients.page_client import FORM, Visitor
from testkit.clients.parley_run import Run
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

PATIENCE_SECONDS: Final = 60
PAUSE_SECONDS: Final = 0.05
"""Before a client tries again that has got no answer."""
PHONE: Final = "ZulipFlutter/30.0.260 (Android 14)"
TERMINAL: Final = "ZulipTerminal/0.7.0 (linux)"
DESK: Final = "Mozilla/5.0 (X11; Linux) AppleWebKit/537.36 ZulipElectron/5.12.0 Chrome/132"

PHONE_REGISTERS: Final[dict[str, Any]] = {
    "apply_markdown": True,
    "client_gravatar": False,
    "slim_presence": True,
    "client_capabilities": {
        "notification_settings_null": True,
        "bulk_message_deletion": True,
        "user_avatar_url_field_optional": False,
        "stream_typing_notifications": True,
        "user_settings_object": True,
        "include_deactivated_groups": True,
        "empty_topic_name": True,
        "individual_emoji_changes": True,
    },
}
TERMINAL_REGISTERS: Final[dict[str, Any]] = {
    "apply_markdown": True,
    "client_gravatar": True,
    "include_subscribers": True,
    "slim_presence": False,
    "client_capabilities": {"notification_settings_null": True, "bulk_message_deletion": True},
    "event_types": [
        *("message", "update_message", "reaction", "submessage", "subscription", "typing"),
        *("update_message_flags", "user_settings", "realm_emoji", "realm_user"),
    ],
    "fetch_event_types": [
        *("realm", "presence", "subscription", "message", "starred_messages"),
        *("update_message_flags", "muted_topics", "realm_user", "realm_user_groups"),
        *("user_settings", "realm_emoji", "custom_profile_fields", "zulip_version"),
        *("update_display_settings", "update_global_notifications"),
    ],
}


DESK_REGISTERS: Final[dict[str, Any]] = {
    "apply_markdown": True,
    "client_gravatar": False,
    "slim_presence": True,
    "include_subscribers": "partial",
    "client_capabilities": {
        **PHONE_REGISTERS["client_capabilities"],
        "user_avatar_url_field_optional": True,
        "linkifier_url_template": True,
        "user_list_incomplete": True,
        "archived_channels": True,
        "simplified_presence_events": True,
    },
}


def started(data: Path, *options: str) -> Run:
    """A server that shows only pictures of its own."""
    return Run(data, *options, environment={"PARLEY_GRAVATARS": "off"})


@dataclass
class Office:
    """A server that can be ended and started again at its address, and the clients of its owner."""

    run: Run
    connections: Connections

    def client(self, user_agent: str, api_key: str | None = None) -> Client:
        email = None if api_key is None else self.run.owner
        return Client(
            elsewhere(self.connections),
            f"localhost:{self.run.port}",
            email,
            api_key,
            user_agent=user_agent,
        )

    async def restart(self, number: signal.Signals) -> None:
        await asyncio.to_thread(self.run.end, number)
        told = self.run.printed
        port = str(self.run.port)
        self.run = await asyncio.to_thread(started, self.run.data, "--port", port)
        self.run.printed = told


@pytest_asyncio.fixture
async def office(data: Path) -> AsyncIterator[Office]:
    run = await asyncio.to_thread(started, data)
    office = Office(run, Connections(run.port))
    yield office
    office.connections.close()
    assert await asyncio.to_thread(office.run.end) == 0


# -- coming in


async def key_by_password(office: Office, user_agent: str) -> str:
    client = office.client(user_agent)
    facts = await client.get("/server_settings")
    contract.validate_mobile(facts, "response", "GET /server_settings")
    assert facts["realm_uri"] == facts["realm_url"] == f"http://localhost:{office.run.port}"
    assert facts["authentication_methods"]["password"] is True
    assert facts["is_incompatible"] is False
    given = await client.post(
        "/fetch_api_key", username=office.run.owner, password=office.run.password
    )
    contract.validate_mobile(given, "response", "POST /fetch_api_key")
    return str(given["api_key"])


async def key_by_browser(office: Office) -> str:
    """The app opens a browser with a one-time pad, and is called back by it."""
    pad = os.urandom(32)
    browser = Visitor(office.client("Mozilla/5.0 (Android 14) Chrome/156"))
    await browser.look(f"/login/?mobile_flow_otp={pad.hex()}")
    answer = await browser.submit(
        "/login/", username=office.run.owner, password=office.run.password
    )
    place = urlsplit(answer.headers["Location"])
    fields = {name: value for name, [value] in parse_qs(place.query).items()}
    assert (place.scheme, place.netloc) == ("zulip", "login")
    assert fields["realm"] == f"http://localhost:{office.run.port}"
    assert fields["email"] == office.run.owner
    encrypted = bytes.fromhex(fields["otp_encrypted_api_key"])
    return bytes(a ^ b for a, b in zip(encrypted, pad, strict=True)).decode()


async def test_a_key_comes_by_password_and_by_browser(office: Office):
    key = await key_by_password(office, PHONE)
    assert office.run.login == f"{office.run.owner}:{key}"
    assert await key_by_browser(office) == key
    wrong = await office.client(PHONE).call(
        "POST", "/fetch_api_key", username=office.run.owner, password="wrong"
    )
    wrong.refused("AUTHENTICATION_FAILED", 401)


# -- live


class Caller(Protocol):
    """A client of the API, however it shows who it is."""

    async def call(self, method: str, path: str, /, **fields: Any) -> Answer: ...


@dataclass
class Session:
    """An app that shows pages of the server: it has a cookie, and no key."""

    visitor: Visitor

    async def call(self, method: str, path: str, /, **fields: Any) -> Answer:
        words = {n: v if isinstance(v, str) else json.dumps(v) for n, v in fields.items()}
        form = urlencode(words)
        if method == "GET":
            return await self.visitor.send("GET", f"/json{path}?{form}")
        headers = {**FORM, "X-CSRFToken": self.visitor.cookies["csrftoken"]}
        return await self.visitor.send(method, f"/json{path}", body=form.encode(), headers=headers)


@dataclass
class Listener:
    """A client's loop: it polls again whatever happens, and acknowledges what it has got."""

    client: Caller
    state: dict[str, Any]
    heard: list[str] = field(default_factory=list)
    beats: int = 0
    last_id: int = field(init=False)

    def __post_init__(self) -> None:
        self.last_id = self.state["last_event_id"]

    async def until(self, content: str) -> None:
        """Poll until this message has come."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while content not in self.heard:
                await self.poll()

    async def poll(self) -> None:
        try:
            answer = await self.client.call(
                "GET", "/events", queue_id=self.state["queue_id"], last_event_id=self.last_id
            )
        except OSError:
            await asyncio.sleep(PAUSE_SECONDS)
            return
        if answer.status >= 500:  # it stops, or starts
            return
        for event in answer.succeeded()["events"]:
            contract.validate_event(event)
            assert event["id"] > self.last_id
            self.last_id = event["id"]
            self.beats += event["type"] == "heartbeat"
            if event["type"] == "message":
                contract.validate_mobile(event, "event", "message")
                self.heard.append(event["message"]["content"])


async def phone(office: Office, key: str) -> Listener:
    client = office.client(PHONE, key)
    state = await client.post("/register", **PHONE_REGISTERS)
    contract.validate_register(state, "all")
    contract.validate_mobile(state, "register")
    assert state["zulip_feature_level"] >= 371, "the app warns of older ones"
    await client.post("/users/me/android_gcm_reg_id", token="token-of-a-phone")
    page = await client.get(
        "/messages", anchor="first_unread", num_before=0, num_after=100, narrow=[]
    )
    contract.validate_mobile(page, "response", "GET /messages")
    assert page["messages"]
    ids = [message["id"] for message in page["messages"]]
    await client.post("/messages/flags", messages=ids, op="add", flag="read")
    await client.post(
        "/users/me/presence",
        status="active",
        new_user_input=True,
        ping_only=False,
        last_update_id=state["presence_last_update_id"],
    )
    names = await client.fetch(urlsplit(state["server_emoji_data_url"]).path)
    contract.validate_mobile(names.body, "object", "ServerEmojiData")
    return Listener(client, state)


async def terminal(office: Office, key: str) -> Listener:
    client = office.client(TERMINAL, key)
    state = await client.post("/register", **TERMINAL_REGISTERS)
    contract.validate_register(state, TERMINAL_REGISTERS["fetch_event_types"])
    needed = contract.table("clients").get("zulip_terminal", {}).get("register_required", [])
    assert set(needed) <= set(state)
    presences = await client.post(
        "/users/me/presence", status="active", new_user_input=True, ping_only=False
    )
    assert "aggregated" in presences["presences"][office.run.owner]
    return Listener(client, state)


async def desk(office: Office) -> Listener:
    """It signs in as a browser does."""
    client = office.client(DESK)
    facts = await client.get("/server_settings")
    icon = await client.fetch(urlsplit(facts["realm_icon"]).path)
    assert icon.headers["Content-Type"].startswith("image/")
    visitor = Visitor(client)
    await visitor.sign_in(office.run.owner, office.run.password)
    session = Session(visitor)
    without_token = await visitor.send("POST", "/json/register", body=b"", headers=FORM)
    without_token.refused("CSRF_FAILED", 403)
    state = (await session.call("POST", "/register", **DESK_REGISTERS)).succeeded()
    contract.validate_register(state, "all")
    return Listener(session, state)


async def test_what_is_said_comes_once_through_kills_and_restarts(office: Office):
    key = await key_by_password(office, PHONE)
    listeners = [await phone(office, key), await terminal(office, key), await desk(office)]
    writer = office.client("curl/8", key)

    async def say(content: str) -> None:
        place = {"type": "channel", "to": "general", "topic": "t"}
        await writer.post("/messages", **place, content=content)

    async def all_hear(content: str) -> None:
        await asyncio.gather(*(each.until(f"<p>{content}</p>") for each in listeners))

    hearing = asyncio.create_task(all_hear("one"))
    await say("one")
    await hearing
    # A message unread when the server is killed is there when it is back.
    await say("two")
    await office.restart(signal.SIGKILL)
    await all_hear("two")
    # A client that waits when it stops, or while there is no server, tries again.
    hearing = asyncio.create_task(all_hear("three"))
    await asyncio.sleep(PAUSE_SECONDS)
    await office.restart(signal.SIGTERM)
    await say("three")
    await hearing
    expected = ["<p>one</p>", "<p>two</p>", "<p>three</p>"]
    assert [each.heard for each in listeners] == [expected] * 3


async def test_a_poll_is_held_by_heartbeats_and_loses_nothing(log_in, make, monkeypatch):
    """`python -m benchmarks holding` does so with the seconds that real ones take."""
    monkeypatch.setattr(polls, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(polls, "HEARTBEAT_PERIOD_SECONDS", 0.001)
    person = await log_in()
    channel = await make.channel(subscribers=[person.user])
    holder = Listener(person, await person.post("/register", **PHONE_REGISTERS))
    for number in range(2):
        before = holder.beats
        while holder.beats == before:
            await holder.poll()
        await person.post(
            "/messages", type="channel", to=channel.channel_id, topic="t", content=str(number)
        )
        await holder.until(f"<p>{number}</p>")
    assert holder.heard == ["<p>0</p>", "<p>1</p>"]
