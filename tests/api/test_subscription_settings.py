"""Settings of one's subscriptions, and who is in which channel, over HTTP."""

from typing import Any

import pytest

from server.domain.access import ADMINISTRATOR, GUEST

pytestmark = pytest.mark.asyncio

PATH = "/users/me/subscriptions"


async def listed(client):
    return {each["name"]: each for each in (await client.get(PATH))["subscriptions"]}


async def test_many_properties_at_once(log_in, make):
    client = await log_in()
    plans = await make.channel("plans", subscribers=[client.user])
    lunch = await make.channel("lunch", subscribers=[client.user])
    events = await client.register(event_types=["subscription"])

    await client.post(
        f"{PATH}/properties",
        subscription_data=[
            {"stream_id": plans.channel_id, "property": "color", "value": "#c2c2c2"},
            {"stream_id": plans.channel_id, "property": "in_home_view", "value": False},
            {"stream_id": lunch.channel_id, "property": "push_notifications", "value": True},
        ],
    )

    found = await listed(client)
    assert (found["plans"]["color"], found["plans"]["is_muted"]) == ("#c2c2c2", True)
    assert found["lunch"]["push_notifications"] is True
    told: list[dict[str, Any]] = []
    while len(told) < 4:
        told += await events.poll()
    assert [(e["stream_id"], e["property"], e["value"]) for e in told] == [
        (plans.channel_id, "color", "#c2c2c2"),
        (plans.channel_id, "is_muted", True),
        (plans.channel_id, "in_home_view", False),
        (lunch.channel_id, "push_notifications", True),
    ]


async def test_one_property_as_older_clients_send_it(log_in, make):
    client = await log_in()
    plans = await make.channel("plans", subscribers=[client.user])
    path = f"{PATH}/{plans.channel_id}"
    await client.patch(f"{PATH}/{plans.channel_id}", property="is_muted", value="true")

    for name, value in (("color", "#abc"), ("pin_to_top", "true"), ("color", '"#ABCdef"')):
        await client.patch(path, property=name, value=value)

    found = (await listed(client))["plans"]
    assert (found["color"], found["pin_to_top"]) == ("#abcdef", True)
    for name, value in (("color", "true"), ("pin_to_top", "yes"), ("name", "x")):
        (await client.call("PATCH", path, property=name, value=value)).refused()
    (await client.call("PATCH", f"{PATH}/{10**9}", property="color", value="#abc")).refused()


@pytest.mark.parametrize(
    "data",
    [
        [{"stream_id": 10**9, "property": "color", "value": "#abc"}],
        [{"stream_id": 1, "property": "color"}],
        [{"stream_id": 1, "property": "is_muted", "value": None}],
        [{"stream_id": "x", "property": "is_muted", "value": True}],
        {"stream_id": 1},
    ],
)
async def test_what_is_no_change_is_refused(log_in, data):
    client = await log_in()

    answer = await client.call("POST", f"{PATH}/properties", subscription_data=data)

    assert answer.status == 400


async def test_nothing_to_change_is_no_mistake(log_in):
    client = await log_in()

    await client.post(f"{PATH}/properties", subscription_data=[])


async def test_whether_a_user_is_in_a_channel(log_in, make):
    member, guest = await log_in(), await log_in(role=GUEST)
    other = await make.user()
    plans = await make.channel("plans", subscribers=[other])
    secret = await make.channel("secret", invite_only=True, subscribers=[other])

    async def status(client, user, channel):
        body = await client.get(f"/users/{user.user_id}/subscriptions/{channel.channel_id}")
        return body["is_subscribed"]

    assert await status(member, other, plans) is True
    assert await status(member, member.user, plans) is False
    for client, channel_id in ((member, secret.channel_id), (guest, plans.channel_id)):
        path = f"/users/{other.user_id}/subscriptions/{channel_id}"
        (await client.call("GET", path)).refused()
    (await member.call("GET", f"/users/{10**9}/subscriptions/{plans.channel_id}")).refused()


async def test_in_which_channels_a_user_is(log_in, make):
    member, guest = await log_in(), await log_in(role=GUEST)
    admin = await log_in(role=ADMINISTRATOR)
    other, gone = await make.user(), await make.user(is_active=False)
    people = [other, gone]
    public = await make.channel("public", subscribers=people)
    shared = await make.channel("shared", invite_only=True, subscribers=[*people, guest.user])
    secret = await make.channel("secret", invite_only=True, subscribers=people)
    await make.channel("closed", subscribers=people, is_archived=True)

    async def seen(client, user):
        found = await client.get(f"/users/{user.user_id}/channels")
        return found["subscribed_channel_ids"]

    for user in people:
        assert await seen(member, user) == [public.channel_id]
        assert await seen(guest, user) == [shared.channel_id]
        everything = [public.channel_id, shared.channel_id, secret.channel_id]
        assert await seen(admin, user) == everything
    (await member.call("GET", f"/users/{10**9}/channels")).refused()
    await make.change_settings(can_access_all_users_group="role:members")
    member.server.forget(make.realm_id)
    stranger = await make.user()
    (await guest.call("GET", f"/users/{stranger.user_id}/channels")).refused()


async def test_joining_and_leaving_in_one_go(log_in, make):
    client = await log_in()
    await make.channel("there", subscribers=[client.user])
    await make.channel("old", subscribers=[client.user])
    await make.channel("secret", invite_only=True)

    body = await client.patch(
        PATH,
        add=[
            {"name": "new", "color": "#123456", "description": "All new"},
            {"name": "THERE", "color": "#abc"},
        ],
        delete=["old"],
    )

    user_id = str(client.user.user_id)
    assert body["subscribed"] == {user_id: ["new"]}
    assert body["already_subscribed"] == {user_id: ["there"]}
    assert (body["removed"], body["not_removed"]) == (["old"], [])
    found = await listed(client)
    assert {name: each["color"] for name, each in found.items()} == {
        "new": "#123456",
        "there": "#aabbcc",
    }
    assert found["new"]["description"] == "All new"

    for wrong in (
        {},
        {"add": [{"name": ""}]},
        {"add": [{"name": "more", "color": "red"}]},
        {"add": [{"name": "secret"}]},
        {"add": [{"name": "more"}], "delete": ["nowhere"]},
        {"add": [{"name": "more"}], "delete": ["secret"]},
    ):
        assert (await client.call("PATCH", PATH, **wrong)).status == 400
    assert (await listed(client)).keys() == {"new", "there"}
    assert (await client.patch(PATH, delete=["new"]))["removed"] == ["new"]
