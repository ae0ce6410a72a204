"""Calls by BigBlueButton: from the link in a message into the call."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.clients.server import Server
from testkit.factories import new_realm
from testkit.services.web_server import Web, answering, web_at

pytestmark = pytest.mark.asyncio

SECRET = "a shared secret"
MADE = answering(
    200,
    "<response><returncode>SUCCESS</returncode><createTime>1700000000123</createTime></response>",
    content_type="text/xml",
)
UNMADE = answering(200, "<response><returncode>FAILED</returncode></response>")


@dataclass
class Hall:
    server: Server
    service: Web
    connect: Any
    make: Any

    async def browser(self, row: Any) -> Visitor:
        found = Visitor(await self.connect(self.server, self.make.realm_id))
        await found.sign_in(row.email, PASSWORD)
        return found

    def asked(self) -> tuple[str, dict[str, str]]:
        """The last thing that was asked of the service: what, and how."""
        return read(self.service.url(self.service.requests[-1].target))


@pytest_asyncio.fixture
async def hall(serving_with: Any, connect: Any, make: Any) -> AsyncIterator[Hall]:
    async with web_at("127.0.0.1", MADE) as service:
        settings = {
            "bigbluebutton_url": service.url("/bigbluebutton/"),
            "bigbluebutton_secret": SECRET,
            "egress_allow": "127.0.0.1/32",
        }
        async with serving_with(**settings) as server:
            yield Hall(server, service, connect, make)


@pytest_asyncio.fixture
async def ben(make: Any) -> Any:
    ben = await make.user("Ben & Co")
    await give_password(make, ben)
    return ben


def read(url: str) -> tuple[str, dict[str, str]]:
    """What of the service an address asks, if its secret is in it."""
    parts = urlsplit(url)
    query, _, checksum = parts.query.partition("&checksum=")
    call = parts.path.rpartition("/")[2]
    assert parts.path == f"/bigbluebutton/api/{call}"
    assert checksum == hashlib.sha256(f"{call}{query}{SECRET}".encode()).hexdigest()
    return call, {name: values[0] for name, values in parse_qs(query).items()}


async def link(hall: Hall, row: Any, **fields: Any) -> str:
    client = await hall.connect(hall.server, hall.make.realm_id, row)
    made = await client.get("/calls/bigbluebutton/create", meeting_name="Lunch & more", **fields)
    parts = urlsplit(made["url"])
    host = await hall.server.host_of(hall.make.realm_id)
    assert parts.hostname == host.partition(":")[0]
    return f"{parts.path}?{parts.query}"


async def test_who_follows_a_link_is_in_the_call(hall, ada, ben):
    path = await link(hall, ada, voice_only=True)
    assert hall.service.requests == []
    seen = []
    for row, role in ((ada, "MODERATOR"), (ben, "VIEWER")):
        answer = await (await hall.browser(row)).look(path)
        call, made = hall.asked()
        assert (call, made["name"]) == ("create", "Lunch & more")
        assert made["lockSettingsDisableCam"] == "true"
        assert answer.status == 303
        call, joined = read(answer.headers["Location"])
        assert (call, joined["role"], joined["fullName"]) == ("join", role, row.full_name)
        assert joined["createTime"] == "1700000000123"
        seen.append((made["meetingID"], joined["meetingID"]))
    assert len({each for pair in seen for each in pair}) == 1
    assert await link(hall, ada) != await link(hall, ada)


async def test_visitors_sign_in_first(hall, ada):
    path = await link(hall, ada)
    stranger = Visitor(await hall.connect(hall.server, hall.make.realm_id))
    answer = await stranger.look(path)
    assert answer.headers["Location"].startswith("/login/?next=%2Fcalls%2Fbigbluebutton%2Fjoin")
    assert hall.service.requests == []
    await stranger.sign_in(ada.email, PASSWORD, then=path)
    assert (await stranger.look(path)).status == 303


async def test_only_our_links_lead_into_a_call(hall, ada, make):
    browser, path = await hall.browser(ada), await link(hall, ada)
    elsewhere = await new_realm(make.connection)
    stranger = await elsewhere.user()
    client = await hall.connect(hall.server, elsewhere.realm_id, stranger)
    theirs = (await client.get("/calls/bigbluebutton/create", meeting_name="x"))["url"]
    foreign = f"/calls/bigbluebutton/join?{urlsplit(theirs).query}"
    for look in (
        browser.look("/calls/bigbluebutton/join"),
        browser.look(f"{path[:-3]}abc"),
        browser.look(foreign),
    ):
        answer = await look
        assert (answer.status, "leads to no call" in browser.text) == (400, True)
    assert hall.service.requests == []


async def test_a_service_that_makes_no_call_is_told_and_keeps_its_secret(hall, ada):
    browser, path = await hall.browser(ada), await link(hall, ada)
    for trouble in (UNMADE, answering(500, "oops")):
        hall.service.answers = [trouble]
        answer = await browser.look(path)
        assert (answer.status, "does not create the call" in browser.text) == (502, True)
        assert SECRET not in browser.page


async def test_organizations_may_choose_it(hall, make):
    boss = await hall.connect(hall.server, make.realm_id, await make.user(role=ADMINISTRATOR))
    await boss.patch("/realm", video_chat_provider=4)
    state = (await boss.register(fetch_event_types=["realm"])).state
    assert state["realm_video_chat_provider"] == 4
    assert state["realm_available_video_chat_providers"]["big_blue_button"]["id"] == 4
