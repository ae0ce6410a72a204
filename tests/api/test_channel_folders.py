"""Channel folders over HTTP."""

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def boss(log_in):
    return await log_in(role=ADMINISTRATOR)


async def listed(client, **fields):
    found = (await client.get("/channel_folders", **fields))["channel_folders"]
    return [(folder["id"], folder["name"], folder["order"]) for folder in found]


async def test_they_are_made_listed_changed_and_ordered(boss, log_in):
    guest = await log_in(role=GUEST)
    events = await guest.register(event_types=["channel_folder"])
    body = await boss.post("/channel_folders/create", name="Work", description="*All*")
    first = body["channel_folder_id"]
    second = (await boss.post("/channel_folders/create", name="Play"))["channel_folder_id"]
    await boss.patch("/channel_folders", order=[second, first])
    await boss.patch(
        f"/channel_folders/{first}", name="Labour", description="None", is_archived=True
    )

    assert await listed(guest) == [(second, "Play", 0)]
    everything = [(second, "Play", 0), (first, "Labour", 1)]
    assert await listed(guest, include_archived=True) == everything
    state = await guest.post("/register", fetch_event_types=["channel_folders", "realm"])
    assert [folder["id"] for folder in state["channel_folders"]] == [second, first]
    assert state["channel_folders"][1]["rendered_description"] == "<p>None</p>"
    assert state["channel_folders"][1]["creator_id"] == boss.user.user_id
    assert state["max_channel_folder_name_length"] == 60
    told: list[str] = []
    while len(told) < 4:
        told += [event["op"] for event in await events.poll()]
    assert told == ["add", "add", "reorder", "update"]


async def test_what_cannot_be_is_refused(boss):
    folder = (await boss.post("/channel_folders/create", name="Work"))["channel_folder_id"]
    path = f"/channel_folders/{folder}"
    for method, where, fields in (
        ("POST", "/channel_folders/create", {"name": "x" * 61}),
        ("POST", "/channel_folders/create", {"name": " "}),
        ("POST", "/channel_folders/create", {"name": "work"}),
        ("POST", "/channel_folders/create", {"name": "a", "description": "x" * 1025}),
        ("PATCH", path, {"name": ""}),
        ("PATCH", path, {"is_archived": "perhaps"}),
        ("PATCH", "/channel_folders", {"order": []}),
        ("PATCH", "/channel_folders", {"order": ["x"]}),
    ):
        (await boss.call(method, where, **fields)).refused("REQUEST_VARIABLE_INVALID")
    (await boss.call("PATCH", "/channel_folders/999999999", name="a")).refused()
    (await boss.call("POST", "/channel_folders/create")).refused("REQUEST_VARIABLE_MISSING")
    assert await listed(boss) == [(folder, "Work", 0)]


async def test_they_are_not_for_others(boss, log_in, connect, server, make):
    folder = (await boss.post("/channel_folders/create", name="Work"))["channel_folder_id"]
    member = await log_in()
    abroad = await new_realm(make.connection)
    other = await connect(server, abroad.realm_id, await abroad.user(role=ADMINISTRATOR))

    for client in (member, other):
        (await client.call("PATCH", f"/channel_folders/{folder}", name="Mine")).refused()
        answer = await client.call("PATCH", "/channel_folders", order=[folder])
        assert answer.status == 400
    (await member.call("POST", "/channel_folders/create", name="Mine")).refused()
    assert await listed(other) == []
    assert await listed(member) == [(folder, "Work", 0)]


async def test_a_channel_is_put_into_a_folder_and_out_of_it(boss, make):
    folder = (await boss.post("/channel_folders/create", name="Work"))["channel_folder_id"]
    channel = await make.channel("plans")

    async def where(channel_id):
        return (await boss.get(f"/streams/{channel_id}"))["stream"]["folder_id"]

    await boss.patch(f"/streams/{channel.channel_id}", folder_id=folder)
    assert await where(channel.channel_id) == folder
    await boss.patch(f"/streams/{channel.channel_id}", description="Left where it is")
    assert await where(channel.channel_id) == folder
    await boss.patch(f"/streams/{channel.channel_id}", folder_id="null")
    assert await where(channel.channel_id) is None
    made = await boss.post("/channels/create", name="new", subscribers=[], folder_id=folder)
    assert await where(made["id"]) == folder
    wrong = {"name": "newer", "subscribers": [], "folder_id": 10**9}
    (await boss.call("POST", "/channels/create", **wrong)).refused()
