"""Accounts of users at Webex and Zoom: connecting them, and calls with their tokens."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest
import pytest_asyncio

from server.actions.user_activation import deactivate_user, reactivate_user
from server.domain.access import ADMINISTRATOR
from storage import call_tokens
from testkit.clients.api import Client
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.clients.server import Server
from testkit.clock import StoppedClock
from testkit.factories import new_realm
from testkit.services.web_server import Received, Web, answering, answering_json, web_at

pytestmark = pytest.mark.asyncio

SECRET = "a secret of the client"
LINKS = {"webex": "https://x.webex.com/j.php?MTID=m1", "zoom": "https://zoom.us/j/1?pwd=x"}
CODES = {"webex": "INVALID_VIDEO_CALL_PROVIDER_TOKEN", "zoom": "INVALID_VIDEO_CALL_PROVIDER_TOKEN"}
IDS = {"webex": 8, "zoom": 3}
NAMES = {"webex": "Webex", "zoom": "Zoom"}
both = pytest.mark.parametrize("service", ["webex", "zoom"])


@dataclass
class Provider:
    """Webex and Zoom in one: codes and tokens are numbered, and the latest are valid."""

    web: Web
    codes: set[str] = field(default_factory=lambda: {"good"})
    number: int = 0
    lifetime: Any = 3600
    revoked: bool = False
    meeting: Any = None
    """Instead of a meeting."""
    asked: list[tuple[str, dict[str, Any], dict[str, str]]] = field(default_factory=list)

    async def answer(self, received: Received, writer: asyncio.StreamWriter) -> None:
        path = urlsplit(received.target).path
        if path in {"/webex/access_token", "/zoom/oauth/token"}:
            form = dict(parse_qsl(received.body.decode()))
            self.asked.append((path, form, received.headers))
            await self._tokens(form)(received, writer)
        else:
            assert path in {"/webex/meetings", "/zoomapi/v2/users/me/meetings"}
            self.asked.append((path, json.loads(received.body), received.headers))
            await self._meeting(path, received.headers)(received, writer)

    def _tokens(self, form: dict[str, str]) -> Any:
        valid = self.codes if "code" in form else {f"refresh{self.number}"}
        given = form.get("code") or form["refresh_token"]
        if self.revoked or given not in valid:
            return answering_json({"error": "invalid_grant"}, 400)
        self.codes.discard(given)
        self.number += 1
        return answering_json(
            {
                "access_token": f"access{self.number}",
                "refresh_token": f"refresh{self.number}",
                "token_type": "bearer",
                "expires_in": self.lifetime,
            }
        )

    def _meeting(self, path: str, headers: dict[str, str]) -> Any:
        if self.meeting is not None:
            return self.meeting
        if self.revoked or headers["authorization"] != f"Bearer access{self.number}":
            return answering_json({"code": 124, "message": "Invalid access token"}, 401)
        found = {"webLink": LINKS["webex"]} if "webex" in path else {"join_url": LINKS["zoom"]}
        return answering_json(found, 201)


@dataclass
class Scene:
    server: Server
    provider: Provider
    connect: Any
    make: Any
    clock: StoppedClock

    async def browser(self, row: Any) -> Visitor:
        found = Visitor(await self.connect(self.server, self.make.realm_id))
        await found.sign_in(row.email, PASSWORD)
        return found

    async def client(self, row: Any) -> Client:
        found: Client = await self.connect(self.server, self.make.realm_id, row)
        return found

    async def has_tokens(self, row: Any) -> bool:
        found = await call_tokens.services_of(self.make.connection, self.make.realm_id, row.user_id)
        return bool(found)


@pytest_asyncio.fixture
async def scene(serving_with: Any, connect: Any, make: Any) -> AsyncIterator[Scene]:
    clock = StoppedClock()
    async with web_at("127.0.0.1") as web:
        provider = Provider(web)
        web.answers = [provider.answer]
        settings = {
            "webex_client_id": "our id",
            "webex_client_secret": SECRET,
            "webex_api_url": web.url("/webex/"),
            "zoom_client_id": "our id",
            "zoom_client_secret": SECRET,
            "zoom_oauth_url": web.url("/zoom"),
            "zoom_api_url": web.url("/zoomapi"),
            "egress_allow": "127.0.0.1/32",
            "clock": clock,
        }
        async with serving_with(**settings) as server:
            yield Scene(server, provider, connect, make, clock)


@pytest_asyncio.fixture
async def ben(make: Any) -> Any:
    ben = await make.user("Ben")
    await give_password(make, ben)
    return ben


async def way_there(browser: Visitor, service: str) -> dict[str, str]:
    answer = await browser.look(f"/calls/{service}/register")
    assert answer.status == 303
    place = urlsplit(answer.headers["Location"])
    assert place.path == {"webex": "/webex/authorize", "zoom": "/zoom/oauth/authorize"}[service]
    return {name: values[0] for name, values in parse_qs(place.query).items()}


async def come_back(browser: Visitor, service: str, **query: str) -> Any:
    return await browser.look(f"/calls/{service}/complete?{urlencode(query)}")


async def connected(scene: Scene, row: Any, service: str) -> Client:
    browser = await scene.browser(row)
    state = (await way_there(browser, service))["state"]
    assert (await come_back(browser, service, code="good", state=state)).status == 200
    return await scene.client(row)


@both
async def test_a_user_connects_an_account_and_creates_calls(service, scene, ben):
    client = await scene.client(ben)
    field_name = f"has_{service}_token"
    queue = await client.register(event_types=[field_name], fetch_event_types=["video_calls"])
    assert queue.state[field_name] is False
    refused = (await client.call("POST", f"/calls/{service}/create")).refused(CODES[service])
    assert refused["msg"] == f"Invalid {NAMES[service]} access token"

    browser = await scene.browser(ben)
    asked = await way_there(browser, service)
    assert (asked["response_type"], asked["client_id"]) == ("code", "our id")
    assert urlsplit(asked["redirect_uri"]).path == f"/calls/{service}/complete"
    answer = await come_back(browser, service, code="good", state=asked["state"])
    assert (answer.status, "account is connected" in browser.page) == (200, True)
    assert (await queue.until(field_name))["value"] is True

    _, form, headers = scene.provider.asked[0]
    assert form["grant_type"] == "authorization_code"
    assert form["redirect_uri"] == asked["redirect_uri"]
    if service == "zoom":
        account = base64.b64encode(f"our id:{SECRET}".encode()).decode()
        assert headers["authorization"] == f"Basic {account}"
        assert "client_secret" not in form
    else:
        assert (form["client_id"], form["client_secret"]) == ("our id", SECRET)

    for _ in range(2):
        made = await client.post(f"/calls/{service}/create")
        assert made["url"] == LINKS[service]
    assert (await client.register(fetch_event_types=["video_calls"])).state[field_name] is True
    stored = await call_tokens.find(
        scene.make.connection, scene.make.realm_id, ben.user_id, service
    )
    assert stored is not None
    assert b"access1" not in stored


async def test_a_voice_call_of_zoom_begins_without_video(scene, ben):
    client = await connected(scene, ben, "zoom")
    for has_video in (True, False):
        await client.post("/calls/zoom/create", is_video_call=has_video)
        _, meeting, _ = scene.provider.asked[-1]
        assert meeting["settings"] == {"host_video": has_video, "participant_video": has_video}


@both
async def test_expired_tokens_are_refreshed(service, scene, ben):
    client = await connected(scene, ben, service)
    scene.clock.advance(timedelta(hours=1))
    assert (await client.post(f"/calls/{service}/create"))["url"] == LINKS[service]
    assert scene.provider.asked[-2][1]["refresh_token"] == "refresh1"
    assert scene.provider.asked[-1][2]["authorization"] == "Bearer access2"
    count = len(scene.provider.asked)
    await client.post(f"/calls/{service}/create")
    assert len(scene.provider.asked) == count + 1


@both
@pytest.mark.parametrize("is_expired", [False, True])
async def test_tokens_that_the_service_refuses_are_deleted(service, is_expired, scene, ben):
    client = await connected(scene, ben, service)
    queue = await client.register(event_types=[f"has_{service}_token"])
    scene.provider.revoked = True
    if is_expired:
        scene.clock.advance(timedelta(hours=1))
    (await client.call("POST", f"/calls/{service}/create")).refused(CODES[service])
    assert (await queue.until(f"has_{service}_token"))["value"] is False
    assert not await scene.has_tokens(ben)
    scene.provider.revoked = False
    scene.provider.codes.add("good")
    await connected(scene, ben, service)
    assert (await client.post(f"/calls/{service}/create"))["url"] == LINKS[service]


@both
@pytest.mark.parametrize(
    "meeting",
    [answering(500, SECRET), answering(200, "<html>"), answering_json({"join_url": "x"}, 201)],
)
async def test_a_service_in_trouble_keeps_the_tokens(service, meeting, scene, ben):
    client = await connected(scene, ben, service)
    scene.provider.meeting = meeting
    refused = (await client.call("POST", f"/calls/{service}/create")).refused()
    assert "Try again later" in refused["msg"]
    assert SECRET not in str(refused)
    assert await scene.has_tokens(ben)


@both
async def test_a_state_is_of_one_session_realm_and_service_and_for_minutes(
    service, scene, ada, ben
):
    await give_password(scene.make, ada)
    browser, other = await scene.browser(ben), await scene.browser(ada)
    state = (await way_there(browser, service))["state"]
    foreign = (await way_there(other, service))["state"]
    another = "zoom" if service == "webex" else "webex"
    for query in (
        {},
        {"code": "good"},
        {"code": "good", "state": "x"},
        {"code": "good", "state": foreign},
        {"code": "good", "state": (await way_there(browser, another))["state"]},
        {"state": state},
        {"error": "access_denied", "state": state},
        {"code": "x" * 5000, "state": state},
        {"code": "bad", "state": state},
    ):
        assert (await come_back(browser, service, **query)).status == 400, query
    assert not await scene.has_tokens(ben)
    assert (await come_back(browser, service, code="good", state=state)).status == 200
    assert (await come_back(browser, service, code="good", state=state)).status == 400
    assert not await scene.has_tokens(ada)


@both
async def test_visitors_sign_in_first_and_unknown_services_are_not_found(service, scene, ben):
    stranger = Visitor(await scene.connect(scene.server, scene.make.realm_id))
    answer = await stranger.look(f"/calls/{service}/register")
    assert answer.headers["Location"].startswith("/login/?next=")
    browser = await scene.browser(ben)
    assert (await browser.look("/calls/other/register")).status == 404


@both
async def test_users_of_other_realms_and_bots_have_no_tokens(service, scene, ben, make):
    await connected(scene, ben, service)
    elsewhere = await new_realm(make.connection)
    stranger = await scene.connect(scene.server, elsewhere.realm_id, await elsewhere.user())
    bot = await scene.client(await make.user(bot_type=1, bot_owner=ben))
    for client in (stranger, bot):
        (await client.call("POST", f"/calls/{service}/create")).refused(CODES[service])


@both
async def test_deactivated_users_lose_their_tokens(service, scene, ben):
    await connected(scene, ben, service)
    now, writers = scene.clock.now(), scene.server.app.writers
    writer = writers.of(scene.make.realm_id)
    await writer.write(lambda tx: deactivate_user(tx, ben.user_id, now=now))
    assert not await scene.has_tokens(ben)
    await writer.write(lambda tx: reactivate_user(tx, ben.user_id, now=now))
    assert not await scene.has_tokens(ben)


@both
async def test_it_is_offered_where_it_is_configured(service, scene, log_in, make, ada):
    boss = await scene.client(await make.user(role=ADMINISTRATOR))
    await boss.patch("/realm", video_chat_provider=IDS[service])
    state = (await boss.register(fetch_event_types=["realm"])).state
    offered = {"name": NAMES[service], "id": IDS[service]}
    assert state["realm_available_video_chat_providers"][service] == offered

    elsewhere = await log_in(ada)
    refused = (await elsewhere.call("POST", f"/calls/{service}/create")).refused()
    assert refused["msg"] == f"{NAMES[service]} is not configured."
