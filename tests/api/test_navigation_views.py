"""Navigation views over HTTP."""

import pytest

pytestmark = pytest.mark.asyncio

STARRED = {"fragment": "narrow/is/starred", "is_pinned": True}
OWN = {"fragment": "narrow/channel/7-cooks", "is_pinned": False, "name": "Cooks"}


async def listed(client):
    return (await client.get("/navigation_views"))["navigation_views"]


async def test_they_are_kept_changed_and_removed(log_in):
    cook = await log_in()
    queue = await cook.register(event_types=["navigation_view"])
    await cook.post("/navigation_views", **STARRED)
    await cook.post("/navigation_views", **OWN)
    assert await listed(cook) == [STARRED, OWN]

    await cook.patch("/navigation_views/narrow%2Fchannel%2F7-cooks", is_pinned=True, name="Chefs")
    changed = OWN | {"is_pinned": True, "name": "Chefs"}
    assert await listed(cook) == [STARRED, changed]
    state = (await cook.register(fetch_event_types=["navigation_views"])).state
    assert state["navigation_views"] == [STARRED, changed]

    await cook.delete("/navigation_views/narrow%2Fis%2Fstarred")
    assert await listed(cook) == [changed]
    assert [(await queue.until("navigation_view"))["op"] for _ in range(4)] == [
        "add",
        "add",
        "update",
        "remove",
    ]


@pytest.mark.parametrize("fragment", ["", " ", "\t", "x" * 1_001])
async def test_a_blank_fragment_is_refused(log_in, fragment):
    cook = await log_in()
    (await cook.call("POST", "/navigation_views", **OWN | {"fragment": fragment})).refused()
    assert await listed(cook) == []


@pytest.mark.parametrize(
    "wrong", [{"is_pinned": "perhaps"}, {"name": "x" * 101}, {"fragment": None}]
)
async def test_what_cannot_be_is_refused(log_in, wrong):
    cook = await log_in()
    answer = await cook.call("POST", "/navigation_views", **OWN | wrong)
    assert answer.status == 400
    assert await listed(cook) == []


async def test_a_fragment_is_there_once(log_in):
    cook = await log_in()
    await cook.post("/navigation_views", **OWN)
    (await cook.call("POST", "/navigation_views", **OWN)).refused()


async def test_what_is_not_there_is_not_found(log_in):
    cook, other = await log_in(), await log_in()
    await other.post("/navigation_views", **STARRED | {"fragment": "inbox"})
    for method in ("PATCH", "DELETE"):
        answer = await cook.call(method, "/navigation_views/inbox")
        assert answer.status == 404
    assert len(await listed(other)) == 1


async def test_spectators_have_none(spectator):
    answer = await (await spectator()).call("GET", "/navigation_views")
    answer.refused("UNAUTHORIZED", 401)
