"""Default channel groups over HTTP."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST

pytestmark = pytest.mark.asyncio

PATH = "/default_stream_groups"


async def groups(client):
    state = (await client.register(fetch_event_types=["default_stream_groups"])).state
    return state["realm_default_stream_groups"]


async def test_they_come_change_and_go(log_in, make):
    boss, member, guest = await log_in(role=ADMINISTRATOR), await log_in(), await log_in(role=GUEST)
    soup, cake = [(await make.channel(name)).channel_id for name in ("soup", "cake")]
    queue = await member.register(event_types=["default_stream_groups"])

    await boss.post(
        f"{PATH}/create", group_name="Cooks", description="They cook", stream_names=["soup"]
    )
    [made] = await groups(member)
    assert made == {
        "id": made["id"],
        "name": "Cooks",
        "description": "They cook",
        "streams": [soup],
    }
    assert await groups(guest) == []
    one = made["id"]
    await boss.patch(f"/default_stream_groups/{one}", new_group_name="Chefs")
    await boss.patch(f"/default_stream_groups/{one}", new_description="")
    for op, name in (("add", "cake"), ("remove", "soup")):
        await boss.patch(f"/default_stream_groups/{one}/streams", op=op, stream_names=[name])
    assert await groups(boss) == [
        {"id": made["id"], "name": "Chefs", "description": "", "streams": [cake]}
    ]
    await boss.delete(f"/default_stream_groups/{one}")

    told = [(await queue.until("default_stream_groups"))["default_stream_groups"] for _ in range(6)]
    assert told[-1] == await groups(member) == []


async def test_what_cannot_be_is_refused(log_in):
    boss = await log_in(role=ADMINISTRATOR)
    fields = {"group_name": "Cooks", "description": "", "stream_names": ["nowhere"]}
    wrong = "REQUEST_VARIABLE_INVALID"
    refused = (await boss.call("POST", f"{PATH}/create", **fields)).refused(wrong)
    assert refused["var_name"] == "stream_names"
    await boss.post(f"{PATH}/create", **{**fields, "stream_names": []})
    [made] = await groups(boss)
    fields["stream_names"] = []
    again = (await boss.call("POST", f"{PATH}/create", **fields)).refused(wrong)
    assert again["var_name"] == "group_name"
    one = f"{PATH}/{made['id']}"
    said = (await boss.call("PATCH", one)).refused()["msg"]
    assert said == 'You must pass "new_description" or "new_group_name".'
    (await boss.call("PATCH", f"{one}/streams", op="swap", stream_names=[])).refused(wrong)
    (await boss.call("PATCH", f"{one}/streams", op="add", stream_names=["x"] * 101)).refused(wrong)
    (await boss.call("DELETE", f"{PATH}/0")).refused()
