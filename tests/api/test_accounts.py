"""Accounts over HTTP: administrators make them, close them, and open them again."""

import asyncio

import pytest

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER, OWNER
from storage import subscriptions, user_grants, users
from testkit.clients.api import PATIENCE_SECONDS
from testkit.factories import new_realm
from tests.api.test_event_streams import source

pytestmark = pytest.mark.asyncio

COOK = {"email": "Cook@example.com", "full_name": "Cook", "password": "correct horse battery"}


async def granted(make, row):
    """An administrator with the operator's leave to make accounts."""
    await user_grants.grant(make.connection, make.realm_id, row.user_id, create_users=True)
    return row


async def test_an_administrator_makes_an_account(log_in, make, connect, server):
    general = await make.channel("general", is_default=True)
    boss = await log_in(await granted(make, await make.user(role=ADMINISTRATOR)))
    queue = await boss.register(event_types=["realm_user"])

    made = await boss.post("/users", **COOK)

    person = (await queue.until("realm_user", op="add"))["person"]
    assert (person["user_id"], person["full_name"]) == (made["user_id"], "Cook")
    anonymous = await connect(server, make.realm_id)
    signed_in = await anonymous.post(
        "/fetch_api_key", username="cook@example.com", password=COOK["password"]
    )
    assert (signed_in["user_id"], signed_in["email"]) == (made["user_id"], "Cook@example.com")
    ids = await subscriptions.active_user_ids(make.connection, make.realm_id, general.channel_id)
    assert ids == [made["user_id"]]
    entries = (await boss.get("/realm/audit_log"))["entries"]
    assert [each["action"] for each in entries] == ["user_created", "subscribers_added"]
    assert COOK["password"] not in str(entries)


async def test_without_a_password_one_has_none(log_in, make, connect, server):
    boss = await log_in(await granted(make, await make.user(role=OWNER)))
    await boss.post("/users", **{**COOK, "password": ""})
    anonymous = await connect(server, make.realm_id)
    answer = await anonymous.call("POST", "/fetch_api_key", username=COOK["email"], password="")
    answer.refused("AUTHENTICATION_FAILED", 401)


async def test_the_operator_says_who_makes_accounts(log_in, make):
    owner = await log_in(role=OWNER)
    refused = (await owner.call("POST", "/users", **COOK)).refused()
    assert refused["msg"].startswith("User not authorized to create users. ")
    assert f"`parley user grant --create-users --email {owner.user.email}`" in refused["msg"]
    member = await log_in(await granted(make, await make.user()))
    (await member.call("POST", "/users", **COOK)).refused()
    assert await users.by_emails(make.connection, make.realm_id, [COOK["email"]]) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"email": "cook"},
        {"email": "cook\r\nBcc: all@example.com"},
        {"email": ""},
        {"full_name": " "},
        {"full_name": "x" * 101},
        {"full_name": "a\nb\x01"},
        {"password": "12345"},
        {"password": "x" * 101},
    ],
)
async def test_what_cannot_be_is_refused(log_in, make, wrong):
    boss = await log_in(await granted(make, await make.user(role=ADMINISTRATOR)))
    (await boss.call("POST", "/users", **{**COOK, **wrong})).refused()


async def test_an_address_has_one_account_in_each_organization(log_in, make):
    boss = await log_in(await granted(make, await make.user(role=ADMINISTRATOR)))
    gone = await make.user(is_active=False)
    await (await new_realm(make.connection)).user(email=COOK["email"])
    await boss.post("/users", **COOK)
    again = await boss.call("POST", "/users", **{**COOK, "email": "cOOK@example.com"})
    assert "already in use" in again.refused()["msg"]
    again = await boss.call("POST", "/users", **{**COOK, "email": gone.email})
    assert "deactivated" in again.refused()["msg"]


async def test_the_same_address_at_the_same_time_is_one_account(log_in, make):
    boss = await log_in(await granted(make, await make.user(role=ADMINISTRATOR)))
    answers = await asyncio.gather(*(boss.call("POST", "/users", **COOK) for _ in range(4)))
    assert sorted(answer.status for answer in answers) == [200, 400, 400, 400]


async def test_the_domains_of_the_organization_count(log_in, make, server):
    owner = await log_in(await granted(make, await make.user(role=OWNER)))
    await owner.post("/realm/domains", domain="example.com", allow_subdomains=True)
    await owner.post("/realm/domains", domain="example.org", allow_subdomains=False)
    await owner.patch("/realm", emails_restricted_to_domains=True)
    for email in ("a@example.net", "a@x.example.org", "a@badexample.com", "a+b@example.com"):
        answer = await owner.call("POST", "/users", **{**COOK, "email": email})
        assert "not allowed" in answer.refused()["msg"]
    for email in ("a@example.com", "b@kitchen.EXAMPLE.com", "c@example.org"):
        await owner.post("/users", **{**COOK, "email": email})


async def waiting(server) -> None:
    while not server.app.realtime.waiting():  # noqa: ASYNC110 - a waiting poll has no callback
        await asyncio.sleep(0)


async def test_a_closed_account_opens_nothing_any_more(log_in, make, server):
    """Its key at once, its polls with the event, its queues for ever."""
    boss, cook = await log_in(role=ADMINISTRATOR), await make.user()
    bot = await log_in(await make.user(bot_type=1, bot_owner=cook))
    client = await log_in(cook)
    queue = await client.register(event_types=["message"])
    poll = asyncio.create_task(
        client.call("GET", "/events", queue_id=queue.queue_id, last_event_id=queue.last_event_id)
    )
    await waiting(server)

    await boss.delete(f"/users/{cook.user_id}")

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert [e["type"] for e in (await poll).succeeded()["events"]] == ["heartbeat"]
    for gone in (client, bot):
        # As if the account had been reactivated by a stale process.
        (await gone.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)

    await boss.post(f"/users/{cook.user_id}/reactivate")
    (await client.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    [row] = await users.by_ids(make.connection, make.realm_id, [cook.user_id])
    back = await log_in(row)
    await back.get("/users/me")
    again = {"queue_id": queue.queue_id, "last_event_id": queue.last_event_id}
    (await back.call("GET", "/events", **again)).refused("BAD_EVENT_QUEUE_ID")


async def test_a_stream_of_events_ends_too(log_in, make):
    boss, cook = await log_in(role=ADMINISTRATOR), await make.user()
    queue = await (await log_in(cook)).register(event_types=["message"])
    async with source(queue) as stream:
        await boss.delete(f"/users/{cook.user_id}")
        async with asyncio.timeout(PATIENCE_SECONDS):
            await stream.ended()


async def test_others_see_who_is_there(log_in, make):
    boss, cook = await log_in(role=ADMINISTRATOR), await make.user()
    queue = await boss.register(event_types=["realm_user"])
    for path, active in ((f"/users/{cook.user_id}", False), (None, True)):
        if path:
            await boss.delete(path)
        else:
            await boss.post(f"/users/{cook.user_id}/reactivate")
        told = (await queue.until("realm_user", op="update"))["person"]
        assert told == {"user_id": cook.user_id, "is_active": active}
        shown = (await boss.get(f"/users/{cook.user_id}"))["user"]
        assert shown["is_active"] == active
    await boss.post("/messages", type="direct", to=[cook.user_id], content="welcome back")


async def test_a_password_still_opens_the_account_of_who_is_back(log_in, make, connect, server):
    boss = await log_in(await granted(make, await make.user(role=ADMINISTRATOR)))
    made = await boss.post("/users", **COOK)
    anonymous = await connect(server, make.realm_id)
    sign_in = {"username": COOK["email"], "password": COOK["password"]}
    key = (await anonymous.post("/fetch_api_key", **sign_in))["api_key"]
    await boss.delete(f"/users/{made['user_id']}")
    (await anonymous.call("POST", "/fetch_api_key", **sign_in)).refused("USER_DEACTIVATED", 401)
    await boss.post(f"/users/{made['user_id']}/reactivate")
    assert (await anonymous.post("/fetch_api_key", **sign_in))["api_key"] != key


async def test_the_comment_has_its_limit(log_in, make):
    boss, cook = await log_in(role=ADMINISTRATOR), await make.user()
    path = f"/users/{cook.user_id}"
    long = await boss.call("DELETE", path, deactivation_notification_comment="x" * 2001)
    long.refused("REQUEST_VARIABLE_INVALID")
    await boss.delete(path, deactivation_notification_comment="x" * 2000)


async def test_one_closes_one_s_own_account(log_in, make):
    owner, member = await log_in(role=OWNER), await log_in()
    bot = await log_in(await make.user(bot_type=1, bot_owner=owner.user))
    (await bot.call("DELETE", "/users/me")).refused()
    refused = await owner.call("DELETE", "/users/me")
    body = refused.refused("CANNOT_DEACTIVATE_LAST_USER")
    assert (body["entity"], body["is_last_owner"]) == ("organization owner", True)
    await member.delete("/users/me")
    (await member.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    await log_in(role=OWNER)
    await owner.delete("/users/me")


async def test_accounts_of_others_organizations_are_not_there(log_in, make, connect, server):
    elsewhere = await new_realm(make.connection)
    stranger = await elsewhere.user()
    boss = await log_in(role=OWNER)
    for method, path in (("DELETE", ""), ("POST", "/reactivate")):
        answer = await boss.call(method, f"/users/{stranger.user_id}{path}")
        assert answer.refused()["msg"] == "No such user"
    await (await connect(server, elsewhere.realm_id, stranger)).get("/users/me")


@pytest.mark.parametrize("role", [MEMBER, GUEST])
async def test_only_administrators_close_and_open(log_in, make, role):
    client, cook, gone = (
        await log_in(role=role),
        await make.user(),
        await make.user(is_active=False),
    )
    (await client.call("DELETE", f"/users/{cook.user_id}")).refused()
    (await client.call("DELETE", f"/users/{client.user.user_id}")).refused()
    (await client.call("POST", f"/users/{gone.user_id}/reactivate")).refused()
