"""Spectators: people without an account read what is public to the web, where they may look."""

import hashlib
from dataclasses import replace

import pytest
import pytest_asyncio

from storage import avatars
from testkit.factories import Make
from testkit.oracles.contract import validate_register

pytestmark = pytest.mark.asyncio

WEB_PUBLIC = [["channels", "web-public"]]


@pytest_asyncio.fixture
async def hall(serving_with, make: Make, connect):
    """A server on which organizations may let spectators look; and a spectator of one that does."""
    await make.change_settings(enable_spectator_access=True)
    async with serving_with(web_public_channels=True) as server:
        yield await connect(server, make.realm_id)


@pytest_asyncio.fixture
async def sent(make: Make):
    """Messages by where they are."""
    alice = await make.user("Alice")
    channels = {
        "web": await make.channel("web", subscribers=[alice], is_web_public=True),
        "public": await make.channel("public", subscribers=[alice]),
        "private": await make.channel("private", subscribers=[alice], invite_only=True),
    }
    return {
        name: await make.message(alice, await make.topic(channel, f"topic {name}"))
        for name, channel in channels.items()
    } | {f"#{name}": channel.channel_id for name, channel in channels.items()}


def page(client, narrow, **fields):
    asked = {"anchor": "newest", "num_before": 10, "num_after": 0, "narrow": narrow, **fields}
    return client.call("GET", "/messages", **asked)


async def test_what_is_public_to_the_web_is_read(hall, sent):
    for narrow in (
        WEB_PUBLIC,
        [["channel", "web"]],
        [["channel", sent["#web"]], ["topic", "topic web"]],
        [*WEB_PUBLIC, ["search", "hello"]],
        [*WEB_PUBLIC, ["with", sent["web"]]],
    ):
        [shown] = (await page(hall, narrow)).succeeded()["messages"]
        assert shown["id"] == sent["web"]
        assert "read" in shown["flags"]
    first = (await page(hall, WEB_PUBLIC, anchor="first_unread")).succeeded()
    assert [m["id"] for m in first["messages"]] == [sent["web"]]


async def test_the_rest_is_not(hall, sent):
    for narrow in ([], [["is", "starred"], *WEB_PUBLIC], [["topic", "topic web"]], [["is", "dm"]]):
        (await page(hall, narrow)).refused("UNAUTHORIZED", 401)
    for name in ("public", "private"):
        (await page(hall, [["channel", name]])).refused("BAD_NARROW")
        assert (await page(hall, [*WEB_PUBLIC, ["id", sent[name]]])).succeeded()["messages"] == []
        (await hall.call("GET", f"/messages/{sent[name]}")).refused()
        (await hall.call("GET", f"/users/me/{sent[f'#{name}']}/topics")).refused()
    every = [sent["web"], sent["public"], sent["private"]]
    body = (await hall.call("GET", "/messages", message_ids=every)).succeeded()
    assert [m["id"] for m in body["messages"]] == [sent["web"]]


async def test_single_messages_and_topics(hall, sent):
    body = (await hall.call("GET", f"/messages/{sent['web']}")).succeeded()
    assert body["raw_content"] == "hello"
    body = (await hall.call("GET", f"/users/me/{sent['#web']}/topics")).succeeded()
    assert [topic["name"] for topic in body["topics"]] == ["topic web"]


async def test_register_gives_them_the_state_and_no_queue(hall, sent, make):
    body = (await hall.call("POST", "/register", include_subscribers="true")).succeeded()
    assert (body["queue_id"], body["last_event_id"]) == (None, -1)
    assert [c["name"] for c in body["streams"]] == ["web"]
    assert [c["name"] for c in body["never_subscribed"]] == ["web"]
    assert "subscribers" not in body["never_subscribed"][0]
    assert (body["realm_users"], body["realm_non_active_users"], body["realm_bots"]) == ([], [], [])
    assert all(group["members"] == [] for group in body["realm_user_groups"])
    assert body["subscriptions"] == []
    assert body["max_message_id"] == -1
    validate_register(body, "all")
    queues = "SELECT count(*) FROM event_queues WHERE realm_id = %(realm_id)s"
    assert await make.connection.value(queues, realm_id=make.realm_id) == 0


async def test_everything_else_needs_an_account(hall, sent):
    for method, path in (
        ("POST", "/messages"),
        ("GET", "/events"),
        ("GET", "/users"),
        ("GET", f"/messages/{sent['web']}/read_receipts"),
        ("POST", f"/messages/{sent['web']}/reactions"),
    ):
        (await hall.call(method, path)).refused("UNAUTHORIZED", 401)


async def test_an_organization_may_exclude_spectators(hall, sent, make):
    await make.change_settings(enable_spectator_access=False)
    hall.server.forget(make.realm_id)
    (await page(hall, WEB_PUBLIC)).refused("UNAUTHORIZED", 401)
    (await hall.call("POST", "/register")).refused("UNAUTHORIZED", 401)


async def test_an_operator_may_exclude_spectators(spectator, sent, make):
    await make.change_settings(enable_spectator_access=True)
    client = await spectator()
    (await page(client, WEB_PUBLIC)).refused("UNAUTHORIZED", 401)
    (await client.call("POST", "/register")).refused("UNAUTHORIZED", 401)


async def test_wrong_credentials_do_not_make_a_spectator(hall, sent, make, connect):
    stranger = replace(await make.user("Bob"), api_key="x" * 32)
    client = await connect(hall.server, make.realm_id, stranger)
    (await page(client, WEB_PUBLIC)).refused("INVALID_API_KEY", 401)


@pytest.mark.parametrize("has_avatar", [True, False])
async def test_addresses_are_shown_no_wider_than_avatars_are(hall, make, sent, log_in, has_avatar):
    """Names are public to the web, and uploaded avatars; addresses and what is made of them not."""
    address = "quillon-4711@hidden.example.com"
    quillon = await make.user("Quillon", email=address)
    if has_avatar:
        await avatars.update(
            make.connection,
            make.realm_id,
            quillon.user_id,
            avatar_key="avatars/5/quillon-picture.png",
            avatar_version=2,
        )
    member = await log_in(quillon)
    said = await member.post("/messages", type="channel", to="web", topic="hi", content="hello")
    await member.post(f"/messages/{said['id']}/reactions", emoji_name="heart")
    told = [
        (await page(hall, WEB_PUBLIC, client_gravatar=False)).succeeded(),
        (await page(hall, WEB_PUBLIC)).succeeded(),
        await hall.get(f"/messages/{said['id']}"),
        await hall.post("/register"),
        (await hall.fetch(f"/avatar/{quillon.user_id}")).headers["Location"],
        (await hall.fetch(f"/avatar/{quillon.user_id}/medium")).headers["Location"],
    ]
    gravatar = hashlib.md5(address.encode(), usedforsecurity=False).hexdigest()
    assert [hidden for hidden in (address, gravatar) if hidden in str(told)] == []
    [shown] = [m for m in told[0]["messages"] if m["id"] == said["id"]]
    assert shown["sender_full_name"] == "Quillon"
    assert shown["sender_email"] == shown["reactions"][0]["user"]["email"]
    assert shown["sender_email"].startswith(f"user{quillon.user_id}@")
    assert shown["avatar_url"] == told[4]
    assert ("quillon-picture" in shown["avatar_url"]) == has_avatar

    narrows = [[*WEB_PUBLIC, ["sender", each]] for each in (address, "nobody@example.com")]
    answers = [await page(hall, narrow) for narrow in narrows]
    assert {answer.status for answer in answers} == {400}
    by_shown = [*WEB_PUBLIC, ["sender", shown["sender_email"]]]
    found = (await page(hall, by_shown)).succeeded()
    assert [m["id"] for m in found["messages"]] == [said["id"]]
