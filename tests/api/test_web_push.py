"""Browsers over HTTP: they subscribe, they go, and they are tried."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from server.actions.user_activation import deactivate_user
from server.api.web_push import MAX_USER_AGENT_LENGTH
from server.app import open_app
from server.domain.clock import SystemClock
from server.push import vapid
from server.settings import load_settings
from storage import push_devices
from storage.push_devices import BrowserDevice
from storage.users import UserRow
from testkit.clients.api import Answer, Client, LogIn
from testkit.clients.page_client import FORM, PASSWORD, Visitor
from testkit.clients.server import Server, ServerFactory
from testkit.factories import Make
from testkit.services.browser_push import (
    LOOPBACK,
    Browser,
    BrowserPushService,
    bytes_of,
    serving_browsers,
)

pytestmark = pytest.mark.asyncio

KEY = "/web_push/key"
SUBSCRIPTIONS = "/web_push/subscriptions"
TEST = "/web_push/test_notification"
ELSEWHERE = Browser("https://push.example.com/somewhere")
GIVEN: dict[str, Any] = dict(ELSEWHERE.subscription)


@pytest_asyncio.fixture
async def service() -> AsyncIterator[BrowserPushService]:
    """A push service by the clock of servers."""
    async with serving_browsers(SystemClock()) as fake:
        yield fake


@pytest_asyncio.fixture
async def near(serving_with: ServerFactory) -> AsyncIterator[Server]:
    """A server that reaches push services of this machine."""
    async with serving_with(egress_allow=LOOPBACK) as server:
        yield server


@pytest.fixture
def log_in_there(near: Server, make: Make, connect: Any) -> LogIn:
    async def log_in(user: Any = None, **facts: Any) -> Client:
        client: Client = await connect(near, make.realm_id, user or await make.user(**facts))
        return client

    return log_in


async def subscriptions(make: Make, row: UserRow | None) -> list[BrowserDevice]:
    assert row is not None
    rows = await push_devices.of_user(make.connection, make.realm_id, row.user_id)
    return [each.browser for each in rows if each.browser is not None]


async def by_session(visitor: Visitor, method: str, path: str, **fields: str) -> Answer:
    """A request of a page's script."""
    headers = {**FORM, "X-CSRFToken": visitor.cookies["csrftoken"]}
    body = None if method == "GET" else urlencode(fields).encode()
    return await visitor.send(method, f"/json{path}", body=body, headers=headers)


# -- the key


async def test_all_clients_get_the_key_of_the_server(log_in: LogIn, make: Make):
    client = await log_in()
    key = (await client.get(KEY))["web_push_public_key"]
    assert (len(bytes_of(key)), bytes_of(key)[0]) == (65, 4)
    registered = await client.post("/register")
    assert registered["web_push_public_key"] == key
    only = await client.post("/register", fetch_event_types=["web_push"])
    assert only["web_push_public_key"] == key
    without = await client.post("/register", fetch_event_types=["message"])
    assert "web_push_public_key" not in without
    bot = await log_in(await make.user(bot_type=1, bot_owner=client.user))
    assert (await bot.get(KEY))["web_push_public_key"] == key


async def test_servers_that_start_at_once_make_one_key(
    database: Any, database_url: str, make: Make, tmp_path: Any
):
    async with database.connection() as connection:
        await connection.execute(
            "DELETE FROM server_keys WHERE purpose = %(purpose)s", purpose=vapid.PURPOSE
        )
    settings = load_settings(environ={}, overrides={"database_url": database_url, "data": tmp_path})

    async def started() -> str:
        async with open_app(settings) as app:
            return app.browsers.public_key

    keys = await asyncio.gather(*(started() for _ in range(4)))
    assert len(set(keys)) == 1
    assert await started() == keys[0]


# -- subscriptions


async def test_a_browser_subscribes_once_and_goes(log_in: LogIn, make: Make):
    client = await log_in()
    made = [
        (await client.post(SUBSCRIPTIONS, **ELSEWHERE.subscription, user_agent="Firefox on Ada"))
        for _ in range(2)
    ]
    assert made[0]["subscription_id"] == made[1]["subscription_id"]
    [shown] = (await client.get(SUBSCRIPTIONS))["web_push_subscriptions"]
    assert shown == {
        "id": made[0]["subscription_id"],
        "endpoint": ELSEWHERE.endpoint,
        "user_agent": "Firefox on Ada",
        "wants_removals": True,
        "date_created": shown["date_created"],
    }
    path = f"{SUBSCRIPTIONS}/{shown['id']}"
    await client.delete(path)
    (await client.call("DELETE", path)).refused()
    assert (await client.get(SUBSCRIPTIONS))["web_push_subscriptions"] == []


async def test_a_subscription_has_a_name(log_in: LogIn, make: Make):
    client = await log_in()
    await client.post(SUBSCRIPTIONS, **ELSEWHERE.subscription, wants_removals=False)
    [shown] = (await client.get(SUBSCRIPTIONS))["web_push_subscriptions"]
    assert (shown["user_agent"], shown["wants_removals"]) == (client.user_agent, False)
    longest = "Ж" * MAX_USER_AGENT_LENGTH
    await client.post(SUBSCRIPTIONS, **ELSEWHERE.subscription, user_agent=longest)
    [shown] = (await client.get(SUBSCRIPTIONS))["web_push_subscriptions"]
    assert shown["user_agent"] == longest
    answer = await client.call("POST", SUBSCRIPTIONS, **GIVEN, user_agent=longest + "x")
    answer.refused("REQUEST_VARIABLE_INVALID")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("endpoint", "http://push.example.com/x"),
        ("endpoint", "https://127.0.0.1/x"),
        ("endpoint", "https://192.168.1.1/x"),
        ("endpoint", "https://push.example.com:22/x"),
        ("endpoint", "file:///etc/passwd"),
        ("endpoint", ""),
        ("endpoint", "https://push.example.com/" + "x" * 2_048),
        ("p256dh", ""),
        ("p256dh", "BCVxsr7N"),
        ("p256dh", ELSEWHERE.keys["auth"]),
        ("auth", ""),
        ("auth", "Ж"),
        ("auth", ELSEWHERE.keys["p256dh"]),
    ],
)
async def test_what_is_no_subscription_is_refused(log_in: LogIn, make: Make, name: str, value: str):
    client = await log_in()
    given: dict[str, Any] = {**GIVEN, name: value}
    refused = (await client.call("POST", SUBSCRIPTIONS, **given)).refused(
        "REQUEST_VARIABLE_INVALID"
    )
    assert refused["var_name"] == name
    del given[name]
    (await client.call("POST", SUBSCRIPTIONS, **given)).refused("REQUEST_VARIABLE_MISSING")
    assert await subscriptions(make, client.user) == []


async def test_bots_have_no_browsers(log_in: LogIn, make: Make):
    bot = await log_in(await make.user(bot_type=1, bot_owner=await make.user()))
    (await bot.call("POST", SUBSCRIPTIONS, **GIVEN)).refused()
    (await bot.call("DELETE", f"{SUBSCRIPTIONS}/1")).refused()
    (await bot.call("POST", TEST)).refused()


async def test_subscriptions_of_others_are_out_of_reach(log_in: LogIn, make: Make):
    one, two = await log_in(), await log_in()
    made = await one.post(SUBSCRIPTIONS, **ELSEWHERE.subscription)
    assert (await two.get(SUBSCRIPTIONS))["web_push_subscriptions"] == []
    (await two.call("DELETE", f"{SUBSCRIPTIONS}/{made['subscription_id']}")).refused()
    (await two.call("POST", TEST, subscription_id=made["subscription_id"])).refused(
        "NO_ACTIVE_PUSH_DEVICE"
    )
    assert len(await subscriptions(make, one.user)) == 1


async def test_a_browser_in_which_another_account_signs_in_is_moved(log_in: LogIn, make: Make):
    one, two = await log_in(), await log_in()
    first = await one.post(SUBSCRIPTIONS, **ELSEWHERE.subscription)
    second = await two.post(SUBSCRIPTIONS, **ELSEWHERE.subscription)
    assert first["subscription_id"] != second["subscription_id"]
    assert (await one.get(SUBSCRIPTIONS))["web_push_subscriptions"] == []
    [shown] = (await two.get(SUBSCRIPTIONS))["web_push_subscriptions"]
    assert shown["id"] == second["subscription_id"]


async def test_a_phone_is_no_subscription(log_in: LogIn, make: Make):
    client = await log_in()
    await client.post("/users/me/android_gcm_reg_id", token="t")
    assert client.user is not None
    [row] = await push_devices.of_user(make.connection, make.realm_id, client.user.user_id)
    (await client.call("DELETE", f"{SUBSCRIPTIONS}/{row.device_id}")).refused()
    assert (await client.get(SUBSCRIPTIONS))["web_push_subscriptions"] == []


# -- its end


async def test_signing_out_ends_the_subscription_of_that_browser_alone(
    visitor: Any, ada: UserRow, make: Make
):
    here, elsewhere = await visitor(), await visitor()
    other = Browser("https://push.example.com/other")
    for each, browser in ((here, ELSEWHERE), (elsewhere, other)):
        await each.sign_in(ada.email, PASSWORD)
        answer = await by_session(each, "POST", SUBSCRIPTIONS, **browser.subscription)
        answer.succeeded()
    assert len(await subscriptions(make, ada)) == 2
    await here.look("/account")
    await here.submit("/logout")
    assert [each.endpoint for each in await subscriptions(make, ada)] == [other.endpoint]


async def test_another_password_ends_subscriptions_of_other_browsers_and_of_keys(
    visitor: Any, ada: UserRow, make: Make, log_in: LogIn
):
    here, elsewhere, app = await visitor(), await visitor(), await log_in(ada)
    kept = Browser("https://push.example.com/here")
    for each, browser in ((here, kept), (elsewhere, ELSEWHERE)):
        await each.sign_in(ada.email, PASSWORD)
        (await by_session(each, "POST", SUBSCRIPTIONS, **browser.subscription)).succeeded()
    by_key = Browser("https://push.example.com/key").subscription
    await app.post(SUBSCRIPTIONS, **by_key)
    fields = {"old_password": PASSWORD, "new_password": "another battery staple"}
    (await by_session(here, "PATCH", "/settings", **fields)).succeeded()
    left = {each.endpoint for each in await subscriptions(make, ada)}
    assert left - {by_key["endpoint"]} == {kept.endpoint}
    # Those of keys end with the key.
    is_replaced = (await app.call("GET", "/users/me")).status != 200
    assert (by_key["endpoint"] in left) is not is_replaced


async def test_deactivation_ends_all_subscriptions(
    visitor: Any, ada: UserRow, make: Make, server: Server, log_in: LogIn
):
    browser, app = await visitor(), await log_in(ada)
    await browser.sign_in(ada.email, PASSWORD)
    (await by_session(browser, "POST", SUBSCRIPTIONS, **ELSEWHERE.subscription)).succeeded()
    await app.post(SUBSCRIPTIONS, **Browser("https://push.example.com/key").subscription)
    writer = server.app.writers.of(make.realm_id)
    await writer.write(lambda tx: deactivate_user(tx, ada.user_id, now=server.app.clock.now()))
    assert await subscriptions(make, ada) == []


# -- tests of it


async def test_a_test_reaches_browsers(
    log_in_there: LogIn, service: BrowserPushService, make: Make
):
    client = await log_in_there()
    (await client.call("POST", TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    one, two = service.browser(), service.browser()
    made = [(await client.post(SUBSCRIPTIONS, **each.subscription)) for each in (one, two)]
    await client.post(TEST)
    await client.post(TEST, subscription_id=made[1]["subscription_id"])
    assert (len(one.got), len(two.got)) == (1, 2)
    [shown] = one.payloads
    assert client.user is not None
    assert (shown["type"], shown["user_id"]) == ("test", client.user.user_id)
    assert shown["title"] == "Test notification"
    assert "A realm" in shown["body"]
    assert service.server_keys == {(await client.get(KEY))["web_push_public_key"]}
    service.gone = {one.endpoint, two.endpoint}
    (await client.call("POST", TEST)).refused("NO_ACTIVE_PUSH_DEVICE")
    assert await subscriptions(make, client.user) == []


@pytest.mark.parametrize(
    ("status", "code", "seen"),
    [
        (500, "INTERNAL_SERVER_ERROR_ON_BOUNCER", 502),
        (429, "INTERNAL_SERVER_ERROR_ON_BOUNCER", 502),
        (401, "ADMIN_ACTION_REQUIRED", 403),
    ],
)
async def test_a_test_that_does_not_arrive_says_why(
    log_in_there: LogIn, service: BrowserPushService, status: int, code: str, seen: int
):
    client = await log_in_there()
    await client.post(SUBSCRIPTIONS, **service.browser().subscription)
    service.answers = [(status, "", {})]
    (await client.call("POST", TEST)).refused(code, seen)
    await client.post(TEST)
    service.stop()
    (await client.call("POST", TEST)).refused("FAILED_TO_CONNECT_BOUNCER", 502)
