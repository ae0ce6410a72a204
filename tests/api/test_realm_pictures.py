"""The organization's icon and logos: set, told, shown and removed."""

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR
from testkit.images import opened, picture

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


async def realm_of(client):
    return (await client.register(fetch_event_types=["realm"])).state


async def test_an_icon_is_set_and_removed(boss, alice, spectator):
    queue = await alice.register(event_types=["realm"], fetch_event_types=["realm"])
    before = queue.state["realm_icon_url"]
    url = (await boss.upload("/realm/icon", file=("icon.jpg", picture("JPEG")))).succeeded()[
        "icon_url"
    ]
    told = await queue.until("realm", "update_dict")
    assert told["property"] == "icon"
    assert told["data"] == {"icon_url": url, "icon_source": "U"}
    state = await realm_of(alice)
    assert (state["realm_icon_url"], state["realm_icon_source"]) == (url, "U")
    anonymous = await spectator()
    assert (await anonymous.get("/server_settings"))["realm_icon"] == url
    assert opened((await anonymous.fetch(url)).content).size == (100, 100)
    for suffix, size in (("-medium", 192), ("-large", 512)):
        larger = await anonymous.fetch(url.replace(".png", f"{suffix}.png"))
        assert opened(larger.content).size == (size, size)
    assert (await alice.send("GET", "/realm/icon")).headers["Location"] == url

    assert (await boss.delete("/realm/icon"))["icon_url"] == before
    assert (await queue.until("realm", "update_dict"))["data"]["icon_source"] == "G"
    assert (await realm_of(alice))["realm_icon_url"] == before
    assert (await boss.delete("/realm/icon"))["icon_url"] == before
    assert await queue.poll(dont_block=True) == []


async def test_logos_are_for_day_and_night(boss, alice):
    for night, place, other in (("false", "logo", "night_logo"), ("true", "night_logo", "logo")):
        answer = await boss.upload(
            "/realm/logo", fields={"night": night}, file=("l.png", picture(size=(1600, 100)))
        )
        answer.succeeded()
        state = await realm_of(alice)
        assert (state[f"realm_{place}_source"], state[f"realm_{other}_source"]) == ("U", "D")
        url = state[f"realm_{place}_url"]
        assert opened((await alice.fetch(url)).content).size == (800, 50)
        shown = await alice.send("GET", f"/realm/logo?night={night}")
        assert (shown.status, shown.headers["Location"]) == (302, url)
        await boss.delete("/realm/logo", night=night == "true")
        assert (await realm_of(alice))[f"realm_{place}_source"] == "D"


async def test_they_are_for_administrators_and_pictures(boss, alice):
    (await alice.upload("/realm/icon", file=("i.png", picture()))).refused()
    (await alice.call("DELETE", "/realm/icon")).refused()
    (await boss.upload("/realm/icon", file=("i.png", b"no picture"))).refused("BAD_IMAGE")
    (await boss.upload("/realm/logo", file=("i.png", picture()))).refused(
        "REQUEST_VARIABLE_MISSING"
    )
    assert (await realm_of(alice))["realm_icon_source"] == "G"
