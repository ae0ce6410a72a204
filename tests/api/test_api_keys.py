"""API keys over HTTP: the account's own, and those that people give to programs."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from server.api.routes import ROUTES
from server.domain.access import ADMINISTRATOR, MEMBER, OWNER
from server.domain.api_keys import GRANTABLE, Scope, digest_of
from storage import api_keys
from testkit.clients.api import PATIENCE_SECONDS
from testkit.clients.api_keys import new_key
from testkit.clients.page_client import PASSWORD, give_password
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

LATER = 4_000_000_000


async def holder(client, *scopes, **more):
    """A client with a new key of that one's user."""
    return replace(client, api_key=(await new_key(client, *scopes, **more))["api_key"])


async def send(client, to):
    return await client.call("POST", "/messages", type="direct", to=[to], content="hello")


async def test_a_key_reaches_what_it_is_for(log_in, make):
    boss, other = await log_in(role=ADMINISTRATOR), await make.user()
    to = other.user_id
    reader, writer, all_of_it = [
        await holder(boss, *scopes) for scopes in (["read"], ["messages"], ["everything"])
    ]
    both = await holder(boss, "read", "messages")

    for client in (reader, both, all_of_it):
        await client.get("/users/me")
        await client.register(event_types=["message"])
    for client in (writer, both, all_of_it):
        (await send(client, to)).succeeded()
    refused = (await send(reader, to)).refused()
    assert refused["msg"].endswith("it takes the scope 'messages'.")
    (await writer.call("GET", "/users/me")).refused()
    (await both.call("PATCH", "/settings", full_name="Chef")).refused()
    await all_of_it.patch("/settings", full_name="Chef")
    for path in ("/users/me/api_keys", "/users/me/api_key/regenerate"):
        refused = (await all_of_it.call("POST", path)).refused()
        assert "the account's own key" in refused["msg"]
    (await all_of_it.call("DELETE", "/users/me")).refused()


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("PATCH", "/settings", {"email": "eve@example.com"}),
        ("PATCH", "/settings/display", {"email": "eve@example.com"}),
        ("PATCH", "/settings/notifications", {"email": "eve@example.com"}),
        ("PATCH", "/settings", {"old_password": PASSWORD, "new_password": "another secret 1"}),
        ("POST", "/users/me/api_key/regenerate", {}),
        ("GET", "/users/me/api_keys", {}),
        ("POST", "/users/me/api_keys", {"name": "Another", "scopes": ["read"]}),
        ("DELETE", "/users/me/api_keys/{key_id}", {}),
        ("POST", "/users/me/apns_device_token", {"token": "ab", "appid": "chat"}),
        ("POST", "/users/me/android_gcm_reg_id", {"token": "ab"}),
        (
            "POST",
            "/mobile_push/register",
            {
                "token_kind": "fcm",
                "push_account_id": 1,
                "push_public_key": "",
                "bouncer_public_key": "",
                "encrypted_push_registration": "",
            },
        ),
        ("POST", "/register_client_device", {}),
        ("DELETE", "/users/me", {}),
        ("DELETE", "/users/{user_id}", {}),
    ],
)
async def test_no_key_reaches_what_the_account_stands_on(log_in, make, method, path, fields):
    await make.user(role=OWNER)
    for row in (await make.user(role=OWNER), await make.user(role=ADMINISTRATOR, bot_type=1)):
        own = await log_in(row)
        key = await new_key(own, "everything")
        place = path.format(key_id=key["key_id"], user_id=row.user_id)
        client = replace(own, api_key=key["api_key"])
        refused = (await client.call(method, place, full_name="Eve", **fields)).refused()
        assert refused["msg"].endswith("it takes the account's own key, which has no name."), path
        shown = await own.get("/users/me")
        assert (shown["full_name"], shown["delivery_email"]) == (row.full_name, row.email)


async def test_addresses_by_which_one_writes_are_for_keys_of_everything(log_in, make):
    boss = await log_in(role=ADMINISTRATOR)
    channel = await make.channel(subscribers=[boss.user])
    path = f"/streams/{channel.channel_id}/email_address"
    for scopes in (["read"], ["messages"]):
        (await (await holder(boss, *scopes)).call("GET", path)).refused()
    await (await holder(boss, "everything")).get(path)


async def test_what_changes_something_is_not_for_who_reads():
    reading = {(r.method, r.path) for r in ROUTES if r.method != "GET" and r.needs == (Scope.READ,)}
    assert reading == {
        ("POST", "/register"),
        ("POST", "/messages/render"),
        ("DELETE", "/events"),
    }


async def test_who_reads_does_not_learn_the_keys_of_bots(log_in, make):
    boss = await log_in(role=ADMINISTRATOR)
    reader, all_of_it = await holder(boss, "read"), await holder(boss, "everything")
    queue = await reader.register()
    bot = await boss.post("/bots", full_name="Oven", short_name="oven")
    (await reader.call("GET", "/bots")).refused()
    events: list[dict[str, Any]] = []
    while not any(event["type"] == "realm_user" for event in events):
        events += await queue.poll()
    assert bot["api_key"] not in str(events)
    assert not [event for event in events if event["type"] == "realm_bot"]
    assert bot["api_key"] not in str((await reader.register()).state)
    state = (await all_of_it.register()).state
    assert [each["user_id"] for each in state["realm_bots"]] == [bot["user_id"]]
    assert bot["api_key"] not in str(state)
    (await reader.call("GET", f"/bots/{bot['user_id']}/api_key")).refused()
    shown = await all_of_it.get(f"/bots/{bot['user_id']}/api_key")
    assert shown["api_key"] == bot["api_key"]


async def test_keys_are_listed_without_what_opens_anything(log_in, make):
    client = await log_in()
    first = await new_key(client, "read", name=" My  laptop ")
    later = LATER
    second = await new_key(client, "messages", "read", name="CI", expires_at=later)
    await (replace(client, api_key=first["api_key"])).get("/users/me")

    listed = (await client.get("/users/me/api_keys"))["api_keys"]

    assert [(key["key_id"], key["name"]) for key in listed] == [
        (second["key_id"], "CI"),
        (first["key_id"], "My laptop"),
    ]
    assert (listed[0]["scopes"], listed[0]["expires_at"]) == (["messages", "read"], later)
    assert (listed[0]["last_used_at"], listed[1]["last_used_at"] is None) == (None, False)
    assert first["api_key"].startswith(listed[1]["hint"])
    assert len(listed[1]["hint"]) == 8
    assert first["api_key"] not in str(listed)
    kept = await make.connection.tuples("SELECT api_keys::text FROM api_keys")
    assert first["api_key"] not in str(kept)


async def test_a_key_that_is_revoked_opens_nothing_and_its_queues_end(log_in, server):
    client = await log_in()
    key = await new_key(client, "read")
    reader = replace(client, api_key=key["api_key"])
    queue = await reader.register(event_types=["message"])
    poll = asyncio.create_task(
        reader.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not server.app.realtime.waiting():  # noqa: ASYNC110 - a waiting poll has no callback
            await asyncio.sleep(0.01)
    path = f"/users/me/api_keys/{key['key_id']}"
    await client.delete(path)
    async with asyncio.timeout(PATIENCE_SECONDS):
        assert [event["type"] for event in (await poll).body["events"]] == ["heartbeat"]
    (await reader.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    (await client.call("DELETE", path)).refused()
    assert (await client.get("/users/me/api_keys"))["api_keys"] == []


async def test_a_key_ends_when_it_was_to(log_in, make):
    client = await log_in()
    reader = await holder(client, "read", expires_at=LATER)
    await reader.get("/users/me")
    await make.connection.execute("UPDATE api_keys SET expires_at = now() - interval '1 second'")
    (await reader.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"name": ""}, "REQUEST_VARIABLE_INVALID"),
        ({"name": "x" * 101}, "REQUEST_VARIABLE_INVALID"),
        ({"scopes": []}, "REQUEST_VARIABLE_INVALID"),
        ({"scopes": ["account"]}, "REQUEST_VARIABLE_INVALID"),
        ({"scopes": ["read", "write"]}, "REQUEST_VARIABLE_INVALID"),
        ({"expires_at": 1}, "BAD_REQUEST"),
        ({"expires_at": 10**15}, "REQUEST_VARIABLE_INVALID"),
        ({"expires_at": -253_402_300_799}, "REQUEST_VARIABLE_INVALID"),
    ],
)
async def test_what_cannot_be_is_refused(log_in, make, wrong, code):
    client = await log_in()
    await give_password(make, client.user)
    fields = {"name": "A program", "scopes": ["read"], "old_password": PASSWORD, **wrong}
    (await client.call("POST", "/users/me/api_keys", **fields)).refused(code)
    assert (await client.get("/users/me/api_keys"))["api_keys"] == []


async def test_keys_are_one_person_s_in_one_organization(log_in, make, connect, server):
    client, other = await log_in(), await log_in(role=ADMINISTRATOR)
    key = await new_key(client, "everything")
    (await other.call("DELETE", f"/users/me/api_keys/{key['key_id']}")).refused()
    for stranger in (
        replace(client, email=other.email, api_key=key["api_key"]),
        replace(client, email="nobody@example.com", api_key=key["api_key"]),
        replace(client, api_key=key["api_key"][:-1]),
        replace(client, api_key=key["api_key"] + "x"),
    ):
        (await stranger.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    elsewhere = await new_realm(make.connection)
    namesake = await elsewhere.user(email=client.email)
    there = await connect(server, elsewhere.realm_id, namesake)
    with_key = replace(there, api_key=key["api_key"])
    (await with_key.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


async def test_who_is_deactivated_has_no_keys(log_in, make):
    boss, cook = await log_in(role=ADMINISTRATOR), await log_in()
    reader = await holder(cook, "read")
    await boss.delete(f"/users/{cook.user.user_id}")
    (await reader.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    await boss.post(f"/users/{cook.user.user_id}/reactivate")
    (await reader.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    assert await api_keys.of_user(make.connection, make.realm_id, cook.user.user_id) == []


@pytest.mark.parametrize("is_bot", [False, True])
async def test_another_key_for_the_account_closes_it_to_the_old_one(log_in, make, is_bot):
    owner = await log_in()
    row = await make.user(bot_type=1, bot_owner=owner.user) if is_bot else await make.user()
    client = await log_in(row)
    named = await holder(client, "read")
    queue = await client.register(event_types=["message"])
    key = (await client.post("/users/me/api_key/regenerate"))["api_key"]
    (await client.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    again = replace(client, api_key=key)
    poll = {"queue_id": queue.queue_id, "last_event_id": -1}
    (await again.call("GET", "/events", **poll)).refused("BAD_EVENT_QUEUE_ID")
    await named.get("/users/me")
    if is_bot:
        [bot] = (await owner.get("/bots"))["bots"]
        assert bot["api_key"] == key


async def test_a_use_is_noted_once_in_a_while(log_in, make):
    client = await log_in()
    key = await new_key(client, "read")
    reader = replace(client, api_key=key["api_key"])
    for _ in range(3):
        await reader.get("/users/me")
    digest = digest_of(key["api_key"])
    row = await api_keys.used(make.connection, make.realm_id, digest)
    assert row is not None
    assert row.is_noted
    [before] = await api_keys.of_user(make.connection, make.realm_id, client.user.user_id)
    await reader.get("/users/me")
    [after] = await api_keys.of_user(make.connection, make.realm_id, client.user.user_id)
    assert before.last_used_at == after.last_used_at


async def test_the_key_of_a_bot_is_shown_to_who_looks_after_it(log_in):
    owner, other = await log_in(role=MEMBER), await log_in()
    bot = await owner.post("/bots", full_name="Oven", short_name="oven")
    path = f"/bots/{bot['user_id']}/api_key"
    shown = await owner.get(f"/bots/{bot['user_id']}/api_key")
    assert shown["api_key"] == bot["api_key"]
    (await other.call("GET", path)).refused()
    reader = await holder(owner, *(s.value for s in GRANTABLE if s is not Scope.EVERYTHING))
    (await reader.call("GET", path)).refused()
