"""Channels and topics over HTTP."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


async def names(client, **fields):
    return sorted(c["name"] for c in (await client.get("/streams", **fields))["streams"])


async def test_which_channels_are_listed(log_in, make: Make):
    member, guest, admin = (
        await log_in(),
        await log_in(role=GUEST),
        await log_in(role=ADMINISTRATOR),
    )
    await make.channel("public")
    await make.channel("open", is_web_public=True)
    await make.channel("archived", is_archived=True)
    await make.channel("ours", invite_only=True, subscribers=[member.user, guest.user])
    await make.channel("theirs", invite_only=True)
    await make.channel("joinable", invite_only=True, can_subscribe_group=[member.user])

    assert await names(member) == ["open", "ours", "public"]
    assert await names(member, include_public=False) == ["ours"]
    assert await names(member, include_subscribed=False) == ["open", "public"]
    assert await names(member, include_public=False, include_web_public=True) == ["open", "ours"]
    assert await names(member, exclude_archived=False) == ["archived", "open", "ours", "public"]
    everything = ["joinable", "open", "ours", "public"]
    assert await names(member, include_all=True) == everything
    assert await names(member, include_can_access_content=True) == everything
    assert await names(guest) == ["ours"]
    assert await names(guest, include_all=True) == ["open", "ours"]
    assert await names(admin, include_all_active=True) == [*everything, "theirs"]
    assert await names(admin, include_can_access_content=True) == ["open", "public"]


async def test_what_new_people_join_is_said_on_request(log_in, make: Make):
    client = await log_in()
    await make.channel("welcome", is_default=True)

    [channel] = (await client.get("/streams", include_default=True))["streams"]
    assert channel["is_default"] is True
    [channel] = (await client.get("/streams"))["streams"]
    assert "is_default" not in channel


async def test_a_bot_may_ask_for_its_owners_channels(log_in, make: Make):
    owner = await make.user()
    bot = await log_in(await make.user(bot_type=1, bot_owner=owner))
    await make.channel("plans", subscribers=[owner])
    await make.channel("secret", subscribers=[owner], invite_only=True)

    assert await names(bot, include_public=False) == []
    # A private channel is not the bot's to know of because its owner is there.
    shown = await names(bot, include_public=False, include_owner_subscribed=True)
    assert shown == ["plans"]


async def test_a_channel_is_found_by_its_name(log_in, make: Make):
    client, guest = await log_in(), await log_in(role=GUEST)
    channel = await make.channel("Plans")

    body = await client.get("/get_stream_id", stream=" plans ")
    assert body["stream_id"] == channel.channel_id
    for who, name in ((client, "nothing"), (guest, "plans")):
        answer = await who.call("GET", "/get_stream_id", stream=name)
        assert answer.refused()["msg"] == f"Invalid channel name '{name}'"


async def test_one_channel_is_shown(log_in, make: Make):
    client, guest = await log_in(), await log_in(role=GUEST)
    channel = await make.channel("plans", subscribers=[client.user])

    body = await client.get(f"/streams/{channel.channel_id}")
    assert (body["stream"]["name"], body["stream"]["subscriber_count"]) == ("plans", 1)
    body = await client.get(f"/streams/{channel.channel_id}/members")
    assert body["subscribers"] == [client.user.user_id]
    for path in ("", "/members"):
        (await guest.call("GET", f"/streams/{channel.channel_id}{path}")).refused()
        (await client.call("GET", f"/streams/{10**9}{path}")).refused()


async def test_a_channel_has_no_address_where_no_mail_is_taken(log_in, make: Make):
    client, guest = await log_in(), await log_in(role=GUEST)
    bot = await make.user(bot_type=1, bot_owner=client.user)
    other = await make.user()
    plans = await make.channel("plans")
    secret = await make.channel("secret", invite_only=True)
    closed = await make.channel("closed", is_archived=True)

    async def ask(who, channel, **fields):
        return await who.call("GET", f"/streams/{channel.channel_id}/email_address", **fields)

    for fields in ({}, {"sender_id": client.user.user_id}, {"sender_id": bot.user_id}):
        assert (await ask(client, plans, **fields)).succeeded()["email"] == ""
    for wrong in (other.user_id, 10**9):
        (await ask(client, plans, sender_id=wrong)).refused()
    for who, channel in ((guest, plans), (client, secret), (client, closed)):
        (await ask(who, channel)).refused()


# -- creating


async def test_a_channel_is_created(log_in, make: Make):
    client, other = await log_in(), await make.user()

    body = await client.post(
        "/channels/create", name="new", subscribers=[other.user_id], description="*x*"
    )

    shown = (await client.get(f"/streams/{body['id']}"))["stream"]
    assert (shown["name"], shown["subscriber_count"]) == ("new", 1)
    answer = await client.call("POST", "/channels/create", name="NEW", subscribers=[])
    assert answer.refused("CHANNEL_ALREADY_EXISTS", 409)["channel_name"] == "NEW"


async def test_a_channel_may_be_created_empty(log_in):
    client = await log_in()

    body = await client.post("/channels/create", name="new", subscribers=[])

    assert (await client.get(f"/streams/{body['id']}/members"))["subscribers"] == []


async def test_a_guest_creates_nothing(log_in):
    guest = await log_in(role=GUEST)

    (await guest.call("POST", "/channels/create", name="new", subscribers=[])).refused()


async def test_a_channel_is_not_created_for_who_is_not_there(log_in, make: Make):
    client = await log_in()
    gone = await make.user(is_active=False)

    for user_id in (gone.user_id, 10**9):
        answer = await client.call("POST", "/channels/create", name="new", subscribers=[user_id])
        answer.refused()
    assert await names(client) == []


# -- topics


async def test_topics_come_the_latest_first(log_in, make: Make):
    client = await log_in()
    channel = await make.channel("plans", subscribers=[client.user])
    ids = []
    for topic in ("one", "", "one"):
        body = await client.post("/messages", type="channel", to="plans", topic=topic, content="x")
        ids.append(body["id"])

    path = f"/users/me/{channel.channel_id}/topics"
    body = await client.get(path, allow_empty_topic_name=True)
    assert body["topics"] == [
        {"name": "one", "max_id": ids[2]},
        {"name": "", "max_id": ids[1]},
    ]
    body = await client.get(path)
    assert [topic["name"] for topic in body["topics"]] == ["one", "general chat"]


async def test_topics_are_for_those_who_may_read_them(log_in, make: Make):
    admin, member = await log_in(role=ADMINISTRATOR), await log_in()
    newcomer, guest = await log_in(), await log_in(role=GUEST)
    secret = await make.channel("secret", invite_only=True, subscribers=[member.user])
    public = await make.channel("plans", subscribers=[member.user])
    for name in ("secret", "plans"):
        await member.post("/messages", type="channel", to=name, topic="old", content="x")
    await make.subscribe(secret, [newcomer.user])

    async def topics(client, channel):
        body = await client.get(f"/users/me/{channel.channel_id}/topics")
        return [topic["name"] for topic in body["topics"]]

    assert await topics(member, secret) == ["old"]
    assert await topics(newcomer, secret) == []
    assert await topics(newcomer, public) == ["old"]
    for client, channel in ((admin, secret), (guest, secret), (guest, public)):
        answer = await client.call("GET", f"/users/me/{channel.channel_id}/topics")
        answer.refused()
