"""Who proves anew that they own an account, before its credentials change: pages and API alike."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio

from storage.users import UserRow
from testkit.clients.api import Answer, Client
from testkit.clients.api_keys import new_key
from testkit.clients.page_client import FORM, PASSWORD, Visitor, give_password
from testkit.factories import Make

pytestmark = pytest.mark.asyncio

NEW = "another good password"


@pytest_asyncio.fixture
async def server(posting: Any) -> Any:
    return posting.server


@dataclass
class Caller:
    """Ada, in a browser and with the account's own key."""

    browser: Visitor
    client: Client
    row: UserRow
    make: Make

    async def by_session(self, method: str, path: str, fields: dict[str, str]) -> Answer:
        headers = {**FORM, "X-CSRFToken": self.browser.cookies["csrftoken"]}
        body = urlencode(fields).encode()
        return await self.browser.send(method, f"/json{path}", body=body, headers=headers)

    async def by_key(self, method: str, path: str, fields: dict[str, Any]) -> Answer:
        return await self.client.call(method, path, **fields)

    async def on_page(self, action: str, **fields: str) -> Answer:
        await self.browser.look("/account")
        token = self.browser.forms()[0].fields["csrfmiddlewaretoken"]
        return await self.browser.post(action, csrfmiddlewaretoken=token, **fields)

    async def without_password(self) -> None:
        await self.make.connection.execute(
            "UPDATE users SET password_hash = NULL WHERE user_id = %(id)s", id=self.row.user_id
        )

    async def grow_old(self) -> None:
        """Let the sign-in be longer ago than ten minutes."""
        await self.make.connection.execute(
            "UPDATE sessions SET began_at = now() - interval '10 minutes 1 second'"
            " WHERE user_id = %(id)s",
            id=self.row.user_id,
        )


@pytest_asyncio.fixture
async def caller(visitor: Any, log_in: Any, make: Make, ada: UserRow) -> Caller:
    await make.user("Another owner", role=100)
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    return Caller(browser, await log_in(ada), ada, make)


ACTS: dict[str, tuple[str, str, dict[str, str]]] = {
    "address": ("PATCH", "/settings", {"email": "ada@new.org"}),
    "address, old path": ("PATCH", "/settings/display", {"email": "ada@new.org"}),
    "password": ("PATCH", "/settings", {"new_password": NEW}),
    "password, old path": ("PATCH", "/settings/notifications", {"new_password": NEW}),
    "own key": ("POST", "/users/me/api_key/regenerate", {}),
    "named key": ("POST", "/users/me/api_keys", {"name": "A program", "scopes": '["read"]'}),
    "end": ("DELETE", "/users/me", {}),
}
BY_KEY_ALONE = {"own key", "end"}
"""What clients of the protocol do with the account's own key."""
PAGES: dict[str, tuple[str, dict[str, str]]] = {
    "address": ("/account/email", {"email": "ada@new.org"}),
    "password": ("/account/password", {"new_password": NEW}),
    "own key": ("/account/api-key/regenerate", {}),
    "the key shown": ("/account/api-key", {}),
    "named key": ("/account/keys", {"name": "A program", "scopes": "read", "days": "30"}),
    "end": ("/account/close", {"sure": "on"}),
}
each_act = pytest.mark.parametrize("act", ACTS)
each_page = pytest.mark.parametrize("page", PAGES)


async def credentials_of(caller: Caller) -> Any:
    """All that such an act would change."""
    return await caller.make.connection.tuples(
        """
        SELECT u.email, u.password_hash, u.api_key, u.is_active,
               (SELECT count(*) FROM api_keys k WHERE k.user_id = u.user_id),
               (SELECT count(*) FROM confirmations c WHERE c.user_id = u.user_id)
          FROM users u WHERE u.user_id = %(id)s
        """,
        id=caller.row.user_id,
    )


async def refused(caller: Caller, attempt: Callable[[], Awaitable[Answer]]) -> Answer:
    """The refusal of what must change nothing."""
    before = await credentials_of(caller)
    answer = await attempt()
    assert answer.status == 400, answer.content
    assert await credentials_of(caller) == before
    return answer


@each_act
async def test_a_session_needs_the_password(caller, act):
    method, path, fields = ACTS[act]
    missing = await refused(caller, lambda: caller.by_session(method, path, fields))
    missing.refused("REQUEST_VARIABLE_MISSING")
    for wrong in ("", "wrong"):
        sent = {**fields, "old_password": wrong}
        attempt = partial(caller.by_session, method, path, sent)
        body = (await refused(caller, attempt)).body
        assert body["msg"] == "Wrong password!"
    sent = {**fields, "old_password": PASSWORD}
    (await caller.by_session(method, path, sent)).succeeded()


@each_act
async def test_the_own_key_needs_it_too_but_for_what_the_protocol_has(caller, act):
    method, path, fields = ACTS[act]
    if act not in BY_KEY_ALONE:
        await refused(caller, lambda: caller.by_key(method, path, fields))
        fields = {**fields, "old_password": PASSWORD}
    (await caller.by_key(method, path, fields)).succeeded()


@each_act
async def test_without_a_password_a_sign_in_of_the_last_ten_minutes_counts(caller, act):
    await caller.without_password()
    method, path, fields = ACTS[act]
    if act not in BY_KEY_ALONE:
        body = (await refused(caller, lambda: caller.by_key(method, path, fields))).body
        assert "with a browser" in body["msg"]
    (await caller.by_session(method, path, fields)).succeeded()


@each_act
async def test_a_sign_in_that_is_older_does_not(caller, act, visitor):
    await caller.without_password()
    await caller.grow_old()
    method, path, fields = ACTS[act]
    sent = {**fields, "old_password": PASSWORD}
    body = (await refused(caller, lambda: caller.by_session(method, path, sent))).body
    assert "Sign in again" in body["msg"]


@each_page
async def test_pages_ask_for_the_same(caller, page):
    action, fields = PAGES[page]
    for wrong in ({}, {"password": "wrong"}):
        await refused(caller, partial(caller.on_page, action, **fields, **wrong))
        assert caller.browser.problem == "Wrong password!"
        assert caller.row.api_key not in caller.browser.page
    answer = await caller.on_page(action, **fields, password=PASSWORD)
    assert answer.status in {200, 303}, caller.browser.problem


@each_page
async def test_pages_take_a_fresh_sign_in_where_there_is_no_password(caller, page):
    await caller.without_password()
    action, fields = PAGES[page]
    await caller.grow_old()
    await refused(caller, lambda: caller.on_page(action, **fields))
    assert "Sign in again" in caller.browser.problem
    assert caller.row.api_key not in caller.browser.page
    assert 'href="/login/?again=yes&amp;next=%2Faccount"' in caller.browser.page
    await give_password(caller.make, caller.row)
    await caller.browser.look("/login/?again=yes&next=%2Faccount")
    answer = await caller.browser.submit("/login/", username=caller.row.email, password=PASSWORD)
    assert answer.headers["Location"] == "/account"
    await caller.without_password()
    answer = await caller.on_page(action, **fields)
    assert answer.status in {200, 303}, caller.browser.problem


async def test_bots_go_on_with_their_own_keys(caller, log_in, make):
    bot = await log_in(await make.user("Bot", bot_type=1, bot_owner=caller.row))
    await bot.post("/users/me/api_keys", name="A program", scopes=["read"])
    await bot.post("/users/me/api_key/regenerate")
    path = f"/bots/{bot.user.user_id}/api_key/regenerate"
    (await caller.by_session("POST", path, {})).succeeded()


async def test_a_bot_gets_no_password(caller, log_in, make):
    bot = await log_in(await make.user("Bot", bot_type=1, bot_owner=caller.row))
    (await bot.call("PATCH", "/settings", new_password=NEW)).refused()


async def test_the_own_address_again_needs_no_proof(caller):
    await caller.client.patch("/settings", email=caller.row.email.upper(), full_name="Countess")


async def test_a_first_password_is_one_to_sign_in_with(caller, visitor):
    await caller.without_password()
    fields = {"new_password": NEW}
    (await caller.by_session("PATCH", "/settings", fields)).succeeded()
    assert (await caller.browser.look("/account")).status == 200
    await (await visitor()).sign_in(caller.row.email, NEW)
    weak = {"new_password": "password1", "old_password": NEW}
    refused_ = (await caller.by_session("PATCH", "/settings", weak)).refused()
    assert refused_["msg"] == "New password is too weak!"


async def test_where_passwords_are_not_used_none_is_set(caller, make, server):
    await make.change_settings(authentication_methods=["LDAP"])
    server.forget(make.realm_id)
    answer = await caller.by_session("PATCH", "/settings", {"new_password": NEW})
    answer.refused("PASSWORD_AUTH_DISABLED", 401)


async def test_a_key_that_was_replaced_meanwhile_proves_nothing(caller, make, server):
    """The cache may know the old one still."""
    await caller.client.get("/users/me")
    await make.connection.execute(
        "UPDATE users SET api_key = repeat('x', 32) WHERE user_id = %(id)s", id=caller.row.user_id
    )
    answer = await caller.client.call("POST", "/users/me/api_key/regenerate")
    answer.refused("INVALID_API_KEY", 401)


async def test_a_key_is_made_on_the_page_and_shown_once(caller):
    fields = {"name": "The <bot>", "scopes": "messages", "days": "365", "password": PASSWORD}
    await caller.browser.look("/account")
    assert (await caller.browser.submit("/account/keys", **fields)).status == 200
    page = caller.browser.page
    key = page.partition('id="named-key">')[2].partition("<")[0]
    assert key.startswith("ply_")
    program = Client(caller.client.server, caller.client.host, caller.row.email, key)
    await program.get("/users/me")
    await caller.browser.look("/account")
    assert key not in caller.browser.page
    assert "The <bot>" in caller.browser.text
    assert "for messages, read" in caller.browser.text
    for wrong in ({"name": ""}, {"scopes": "account"}, {"scopes": ""}, {"days": "9999"}):
        answer = await caller.on_page("/account/keys", **{**fields, **wrong})
        assert (answer.status, bool(caller.browser.problem)) == (400, True)


async def test_another_key_takes_the_named_ones_along_for_who_wants_it(caller):
    named = await new_key(caller.client, "read")
    program = Client(caller.client.server, caller.client.host, caller.row.email, named["api_key"])
    await caller.on_page("/account/api-key/regenerate", password=PASSWORD)
    assert "1 named API key of the account still works." in caller.browser.text
    await program.get("/users/me")
    await caller.on_page("/account/api-key/regenerate", password=PASSWORD, end_named="on")
    assert "1 named API key has been revoked." in caller.browser.text
    (await program.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
