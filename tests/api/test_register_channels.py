"""What register tells of channels, of subscriptions and of topics with a policy."""

import pytest

from server.domain.access import ADMINISTRATOR, GUEST
from testkit.factories import JOINED, Make
from testkit.oracles import contract

pytestmark = pytest.mark.asyncio

TYPES = ["subscription", "stream", "default_streams", "user_topic"]
ALL_CAPABILITIES = {
    "archived_channels": True,
    "notification_settings_null": True,
    "empty_topic_name": True,
}


async def registered(client, types=TYPES, **fields):
    body = await client.post("/register", fetch_event_types=types, **fields)
    contract.validate_register(body, types)
    return body


def names(channels):
    return sorted(channel["name"] for channel in channels)


async def test_each_channel_that_one_may_know_of_is_in_one_list(log_in, make: Make):
    client = await log_in()
    left = await make.channel("left", subscribers=[client.user])
    await make.unsubscribe(left, [client.user])
    await make.channel("mine", subscribers=[client.user])
    await make.channel("never")
    await make.channel("hidden", invite_only=True)
    hidden = await make.channel("was mine", invite_only=True, subscribers=[client.user])
    await make.unsubscribe(hidden, [client.user])

    body = await registered(client)

    assert names(body["subscriptions"]) == ["mine"]
    assert names(body["unsubscribed"]) == ["left"]
    assert names(body["never_subscribed"]) == ["never"]
    assert names(body["streams"]) == ["left", "mine", "never"]


async def test_guests_know_what_they_are_in_and_what_is_open(log_in, make: Make):
    guest = await log_in(role=GUEST)
    await make.channel("mine", subscribers=[guest.user], is_default=True)
    await make.channel("open", is_web_public=True)
    await make.channel("public")

    body = await registered(guest)

    assert names(body["subscriptions"]) == ["mine"]
    assert names(body["never_subscribed"]) == ["open"]
    assert body["realm_default_streams"] == []


async def test_administrators_know_private_channels_but_not_their_topics(log_in, make: Make):
    admin = await log_in(role=ADMINISTRATOR)
    await make.channel("secret", invite_only=True)

    assert names((await registered(admin))["never_subscribed"]) == ["secret"]


async def test_default_channels_are_listed_by_id(log_in, make: Make):
    client = await log_in()
    channel = await make.channel(is_default=True)
    await make.channel(is_default=True, is_archived=True)

    assert (await registered(client))["realm_default_streams"] == [channel.channel_id]


async def test_archived_channels_are_for_clients_that_know_them(log_in, make: Make):
    client = await log_in()
    await make.channel("mine", subscribers=[client.user], is_archived=True)
    await make.channel("never", is_archived=True)

    body = await registered(client)
    for field in ("streams", "subscriptions", "unsubscribed", "never_subscribed"):
        assert body[field] == []
    body = await registered(client, client_capabilities=ALL_CAPABILITIES)
    assert names(body["streams"]) == ["mine", "never"]
    assert names(body["subscriptions"]) == ["mine"]


async def test_open_settings_are_settled_for_clients_that_know_none(log_in, make: Make):
    client = await log_in(settings={"enable_stream_push_notifications": True})
    await make.channel(subscribers=[client.user])

    [shown] = (await registered(client))["subscriptions"]
    assert shown["push_notifications"] is True
    assert shown["desktop_notifications"] is False
    assert shown["wildcard_mentions_notify"] is True
    body = await registered(client, client_capabilities=ALL_CAPABILITIES)
    assert body["subscriptions"][0]["push_notifications"] is None


async def test_subscribers_are_sent_whole_in_part_or_not(log_in, make: Make):
    client = await log_in()
    people = await make.users(260)
    await make.channel("large", subscribers=people)
    await make.channel("empty")

    async def shown(include):
        body = await registered(client, include_subscribers=include)
        return {channel["name"]: channel for channel in body["never_subscribed"]}

    assert "subscribers" not in (await shown("false"))["large"]
    whole = await shown("true")
    assert len(whole["large"]["subscribers"]) == 260
    assert whole["empty"]["subscribers"] == []
    part = await shown("partial")
    assert len(part["large"]["partial_subscribers"]) == 100
    assert part["empty"]["subscribers"] == []


async def set_policy(make, user, topic, policy):
    await make.connection.execute(
        """
        INSERT INTO user_topics (realm_id, user_id, topic_id, visibility_policy, last_updated)
        VALUES (%(realm_id)s, %(user_id)s, %(topic_id)s, %(policy)s, %(now)s)
        """,
        realm_id=make.realm_id,
        user_id=user.user_id,
        topic_id=topic.topic_id,
        policy=policy,
        now=JOINED,
    )


async def test_topics_with_a_policy(log_in, make: Make):
    client = await log_in()
    channel = await make.channel("plans", subscribers=[client.user])
    hidden = await make.channel("secret", invite_only=True)
    await set_policy(make, client.user, await make.topic(channel, "noise"), 1)
    await set_policy(make, client.user, await make.topic(channel, ""), 3)
    await set_policy(make, client.user, await make.topic(hidden, "x"), 3)
    stamp = int(JOINED.timestamp())

    body = await registered(client)
    assert [(t["topic_name"], t["visibility_policy"]) for t in body["user_topics"]] == [
        ("noise", 1),
        ("general chat", 3),
    ]
    assert body["user_topics"][0] == {
        "stream_id": channel.channel_id,
        "topic_name": "noise",
        "last_updated": stamp,
        "visibility_policy": 1,
    }
    body = await registered(client, client_capabilities=ALL_CAPABILITIES)
    assert body["user_topics"][1]["topic_name"] == ""
    assert "muted_topics" not in body


async def test_older_clients_get_muted_topics_by_channel_name(log_in, make: Make):
    client = await log_in()
    channel = await make.channel("plans", subscribers=[client.user])
    await set_policy(make, client.user, await make.topic(channel, "noise"), 1)
    await set_policy(make, client.user, await make.topic(channel, "news"), 3)

    body = await registered(client, ["muted_topics"])

    assert body["muted_topics"] == [["plans", "noise", int(JOINED.timestamp())]]


async def test_mobile_finds_all_it_needs(log_in, make: Make):
    client = await log_in()
    await make.channel(subscribers=[client.user])
    await make.channel()

    body = await client.post("/register", client_capabilities=ALL_CAPABILITIES)

    contract.validate_mobile(body, "register")
