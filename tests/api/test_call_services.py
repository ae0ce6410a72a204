"""Calls by services of the operator: what they are asked, and what comes of their answers."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from server.egress import Limits
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import new_realm
from testkit.services.web_server import Received, Web, answering, answering_json, web_at

pytestmark = pytest.mark.asyncio

SECRET = "a secret of the service"
LOOPBACK = "127.0.0.1/32"
GROUPS, TALK = "/calls/constructorgroups/create", "/calls/nextcloud_talk/create"
ROOM = "https://example.constructor.app/groups/room/room-123"
FIELDS: dict[str, dict[str, Any]] = {GROUPS: {}, TALK: {"room_name": "Lunch"}}
NAMES = {GROUPS: "Constructor Groups", TALK: "Nextcloud Talk"}
SETTING = {GROUPS: ("constructor_groups", 6), TALK: ("nextcloud_talk", 7)}
both = pytest.mark.parametrize("path", [GROUPS, TALK])


def room(url: Any = ROOM) -> Any:
    return answering_json({"room_guid": "room-123", "name": "Ada", "url": url})


def conversation(token: Any = "abc123token", status: int = 201) -> Any:
    return answering_json({"ocs": {"meta": {"status": "ok"}, "data": {"token": token}}}, status)


def good(path: str) -> Any:
    return room() if path == GROUPS else conversation()


@dataclass
class Services:
    server: Server
    web: Web
    connect: Any
    make: Any

    async def client(self, row: Any = None, realm_id: Any = None) -> Client:
        found: Client = await self.connect(
            self.server, realm_id or self.make.realm_id, row or await self.make.user()
        )
        return found


@pytest_asyncio.fixture
async def services(serving_with: Any, connect: Any, make: Any) -> AsyncIterator[Services]:
    async with web_at("127.0.0.1") as web:
        settings = {
            "constructor_groups_url": web.url("/api/groups/xapi/"),
            "constructor_groups_access_key": "key",
            "constructor_groups_secret_key": SECRET,
            "nextcloud_talk_url": web.url("/cloud/"),
            "nextcloud_talk_user": "parley",
            "nextcloud_talk_password": SECRET,
            "egress_allow": LOOPBACK,
        }
        async with serving_with(**settings) as server:
            yield Services(server, web, connect, make)


async def test_constructor_groups_has_a_room_of_the_caller(services, make):
    row = await make.user("Zoë & Co", email="zoe@example.com")
    services.web.answers = [room()]
    client = await services.client(row)
    assert (await client.post("/calls/constructorgroups/create"))["url"] == ROOM
    assert (await client.post("/calls/constructorgroups/create"))["url"] == ROOM
    first, again = services.web.requests
    assert (first.method, first.target) == ("POST", "/api/groups/xapi/room/default")
    digest = hashlib.sha256(f"key|{SECRET}".encode()).hexdigest()
    assert first.headers["authorization"] == f"Bearer key|{digest}"
    assert first.json() == {
        "name": "Zoë & Co",
        "fallback_name": "Zoë & Co (zoe@example.com)",
        "creator_email": "zoe@example.com",
    }
    assert again.json() == first.json()


async def test_nextcloud_has_a_public_conversation_of_that_name(services):
    services.web.answers = [conversation("first1"), conversation("second2", status=200)]
    client = await services.client()
    name = "#general > نقاش"
    urls = [
        (await client.post("/calls/nextcloud_talk/create", room_name=name))["url"] for _ in range(2)
    ]
    assert urls == [services.web.url(f"/cloud/index.php/call/{t}") for t in ("first1", "second2")]
    asked = services.web.requests[0]
    assert (asked.method, asked.target) == ("POST", "/cloud/ocs/v2.php/apps/spreed/api/v4/room")
    account = base64.b64encode(f"parley:{SECRET}".encode()).decode()
    assert asked.headers["authorization"] == f"Basic {account}"
    assert asked.headers["ocs-apirequest"] == "true"
    assert asked.json() == {"roomType": 3, "roomName": name}


@pytest.mark.parametrize("name", [None, "", "x" * 201])
async def test_a_conversation_needs_a_name_of_reasonable_length(services, name):
    client = await services.client()
    code = "REQUEST_VARIABLE_MISSING" if name is None else "REQUEST_VARIABLE_INVALID"
    refused = (await client.call("POST", TALK, room_name=name)).refused(code)
    assert refused["var_name"] == "room_name"
    assert services.web.requests == []


@both
async def test_without_all_of_its_settings_a_service_is_not_there(
    path, serving_with, connect, make
):
    name, number = SETTING[path]
    incomplete = {
        "constructor_groups_url": "https://example.com/",
        "constructor_groups_access_key": "key",
        "nextcloud_talk_url": "https://example.com/",
        "nextcloud_talk_user": "parley",
    }
    async with serving_with(**incomplete) as server:
        boss = await connect(server, make.realm_id, await make.user(role=ADMINISTRATOR))
        refused = (await boss.call("POST", path, **FIELDS[path])).refused()
        assert refused["msg"] == f"{NAMES[path]} is not configured."
        refused = await boss.call("PATCH", "/realm", video_chat_provider=number)
        assert refused.refused("REQUEST_VARIABLE_INVALID")["var_name"] == "video_chat_provider"
        state = (await boss.register(fetch_event_types=["realm"])).state
        assert name not in state["realm_available_video_chat_providers"]


@both
async def test_organizations_may_choose_it(path, services, make):
    name, number = SETTING[path]
    boss = await services.client(await make.user(role=ADMINISTRATOR))
    await boss.patch("/realm", video_chat_provider=number)
    state = (await boss.register(fetch_event_types=["realm"])).state
    assert state["realm_video_chat_provider"] == number
    offered = {"name": NAMES[path], "id": number}
    assert state["realm_available_video_chat_providers"][name] == offered


@both
async def test_guests_bots_and_other_realms_may_have_calls(path, services, make):
    services.web.answers = [good(path)]
    elsewhere = await new_realm(make.connection)
    owner = await make.user()
    for client in (
        await services.client(await make.user(role=GUEST)),
        await services.client(await make.user(bot_type=1, bot_owner=owner)),
        await services.client(await elsewhere.user(), elsewhere.realm_id),
    ):
        assert (await client.post(path, **FIELDS[path]))["url"]


@both
async def test_deactivated_users_have_none(path, services, make):
    client = await services.client(await make.user(is_active=False))
    answer = await client.call("POST", path, **FIELDS[path])
    assert answer.status == 401
    assert services.web.requests == []


TROUBLES = {
    "a refusal": answering_json({"message": SECRET}, 401),
    "a fault": answering(500, SECRET),
    "a redirect": answering(302, Location="https://example.com/"),
    "no JSON": answering(200, "<html>"),
    "no text": answering(200, b"\xff\xfe"),
    "a list": answering_json([1]),
    "nothing in it": answering_json({}),
    "something else in it": answering_json({"url": 7, "ocs": [7]}),
    "a script": answering_json(
        {"url": "javascript:alert(1)", "ocs": {"data": {"token": "../x?y"}}}
    ),
    "two lines": answering_json(
        {"url": "https://x.example.com/\n)", "ocs": {"data": {"token": "a\nb"}}}
    ),
    "too long": answering_json(
        {"url": "https://x.example.com/" + "x" * 2000, "ocs": {"data": {"token": "x" * 65}}}
    ),
    "too large": answering(200, "x" * 300_000),
}


@both
@pytest.mark.parametrize("trouble", TROUBLES)
async def test_a_service_that_does_not_answer_well_makes_no_call(path, trouble, services):
    services.web.answers = [TROUBLES[trouble], good(path)]
    client = await services.client()
    refused = (await client.call("POST", path, **FIELDS[path])).refused()
    assert refused["msg"] == f"{NAMES[path]} does not create the call. Try again later."
    assert SECRET not in str(refused)
    assert (await client.post(path, **FIELDS[path]))["url"]


@both
async def test_a_slow_service_is_not_waited_for(path, services, monkeypatch):
    monkeypatch.setattr("server.calls.service.LIMITS", Limits(seconds=0.2))

    async def never(_: Received, __: asyncio.StreamWriter) -> None:
        await asyncio.sleep(5)

    services.web.answers = [never]
    client = await services.client()
    refused = (await client.call("POST", path, **FIELDS[path])).refused()
    assert "Try again later" in refused["msg"]
