"""Your account: what one sees of it, and changes."""

import pytest
import pytest_asyncio

from testkit.clients.api import Client
from testkit.clients.api_keys import new_key
from testkit.clients.page_client import PASSWORD, Visitor

pytestmark = pytest.mark.asyncio

NEW = "another good password"


@pytest_asyncio.fixture
async def server(posting):
    return posting.server


@pytest_asyncio.fixture
async def browser(visitor, ada):
    found = await visitor()
    await found.sign_in(ada.email, PASSWORD)
    await found.look("/account")
    return found


async def test_an_account_is_for_who_has_signed_in(visitor):
    browser = await visitor()
    assert (await browser.look("/account")).headers["Location"] == "/login/?next=%2Faccount"


async def test_the_key_is_shown_to_who_knows_the_password(browser, ada):
    assert ada.api_key not in browser.page
    answer = await browser.submit("/account/api-key", password="wrong")
    assert (answer.status, browser.problem) == (400, "Wrong password!")
    assert ada.api_key not in browser.page
    assert (await browser.submit("/account/api-key", password=PASSWORD)).status == 200
    assert f"key={ada.api_key}" in browser.page


async def test_another_key_replaces_the_one_before(browser, ada, log_in):
    client = await log_in(ada)
    form = {**browser.forms()[1].fields, "password": "wrong"}
    assert (await browser.post("/account/api-key/regenerate", **form)).status == 400
    await client.get("/users/me")
    form["password"] = PASSWORD
    assert (await browser.post("/account/api-key/regenerate", **form)).status == 200
    assert ada.api_key not in browser.page
    assert 'id="api-key"' in browser.page
    (await client.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


async def test_tries_with_the_password_are_counted(serving_with, connect, make, ada):
    async with serving_with(rate_limits=True, rate_limit_sign_in="2/600") as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.sign_in(ada.email, PASSWORD)
        await browser.look("/account")
        statuses = [
            (await browser.submit("/account/api-key", password="wrong")).status for _ in range(3)
        ]
        assert statuses == [400, 400, 429]
        assert (await browser.submit("/account/api-key", password=PASSWORD)).status == 429
        assert ada.api_key not in browser.page


async def test_another_password_ends_the_other_sessions_and_is_told(browser, visitor, ada, posting):
    elsewhere = await visitor()
    await elsewhere.sign_in(ada.email, PASSWORD)
    assert "New sign-in" in (await posting.mail())["Subject"]
    answer = await browser.submit("/account/password", password=PASSWORD, new_password="password1")
    assert (answer.status, "easy to guess" in browser.problem) == (400, True)
    answer = await browser.submit("/account/password", password="wrong", new_password=NEW)
    assert (answer.status, browser.problem) == (400, "Wrong password!")
    answer = await browser.submit("/account/password", password=PASSWORD, new_password=NEW)
    await browser.follow(answer)
    assert "Your password has been changed" in browser.text
    assert (await elsewhere.look("/account")).status == 303
    assert "was changed" in (await posting.mail())["Subject"]
    await elsewhere.sign_in(ada.email, NEW)


async def test_a_user_signs_out_everywhere_else(browser, visitor, ada):
    elsewhere = await visitor()
    await elsewhere.sign_in(ada.email, PASSWORD)
    await browser.follow(await browser.submit("/account/sessions"))
    assert "signed out everywhere else" in browser.text
    assert browser.page.count("<li title=") == 1
    assert (await elsewhere.look("/account")).status == 303


async def test_another_address_is_confirmed_where_it_is_and_told_where_it_was(
    browser, visitor, ada, posting, make
):
    answer = await browser.submit("/account/email", email="ada@new.org", password="wrong")
    assert (answer.status, browser.problem) == (400, "Wrong password!")
    await browser.look("/account")
    answer = await browser.submit("/account/email", email=ada.email, password=PASSWORD)
    assert (answer.status, "has already" in browser.problem) == (400, True)
    assert await posting.jobs() == []
    await browser.look("/account")
    answer = await browser.submit("/account/email", email="ada@new.org", password=PASSWORD)
    await browser.follow(answer)
    mail = await posting.mail()
    assert mail["To"].addresses[0].addr_spec == "ada@new.org"
    link = posting.link(mail)
    assert link.startswith("/accounts/email/confirm/")

    reader = await visitor()
    assert (await reader.look(link)).status == 200
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert me["delivery_email"] == ada.email
    await reader.follow(await reader.submit(link))
    assert "Your account has its new address. Sign in with it." in reader.text
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert me["delivery_email"] == "ada@new.org"
    told = await posting.mail()
    assert told["To"].addresses[0].addr_spec == ada.email
    assert "ada@new.org" in told.get_body(("plain",)).get_content()
    assert (await reader.look(link)).status == 400
    other = await visitor()
    await other.sign_in("ada@new.org", PASSWORD)


async def test_only_the_last_link_counts(browser, posting, visitor):
    links = []
    for email in ("one@new.org", "two@new.org"):
        await browser.look("/account")
        await browser.submit("/account/email", email=email, password=PASSWORD)
        links.append(posting.link(await posting.mail()))
    assert (await browser.look(links[0])).status == 400
    assert (await browser.look(links[1])).status == 200


async def test_an_address_in_use_is_refused(browser, make, posting, visitor):
    bob = await make.user("Bob", email="bob@new.org")
    answer = await browser.submit("/account/email", email=bob.email.upper(), password=PASSWORD)
    assert (answer.status, browser.problem) == (400, "Already has an account.")
    await browser.look("/account")
    await browser.submit("/account/email", email="carol@new.org", password=PASSWORD)
    link = posting.link(await posting.mail())
    await browser.look(link)
    await make.user("Carol", email="carol@new.org")
    assert (await browser.submit(link)).status == 400
    assert browser.problem == "Already has an account."


async def test_addresses_may_be_for_administrators_to_change(browser, make, posting, server):
    await make.change_settings(email_changes_disabled=True)
    server.forget(make.realm_id)
    answer = await browser.submit("/account/email", email="ada@new.org", password=PASSWORD)
    assert answer.status == 400
    await browser.look("/account")
    assert 'action="/account/email"' not in browser.page


async def test_clients_change_the_address_the_same_way(log_in, ada, posting, make, visitor):
    client = await log_in(ada)
    (await client.call("PATCH", "/settings", email="ada@new.org")).refused(
        "REQUEST_VARIABLE_MISSING"
    )
    await client.patch("/settings", email="ada@new.org", old_password=PASSWORD)
    link = posting.link(await posting.mail())
    browser = await visitor()
    await browser.look(link)
    await browser.submit(link)
    assert (await client.send("GET", "/users/me")).status == 401


async def test_who_has_no_password_is_told_how_to_get_one(visitor, make, ada, browser):
    await make.connection.execute(
        "UPDATE users SET password_hash = NULL WHERE user_id = %(id)s", id=ada.user_id
    )
    await browser.look("/account")
    assert "You have no password yet" in browser.text
    assert (await browser.submit("/account/api-key")).status == 200
    assert ada.api_key in browser.page


async def test_where_there_are_no_passwords_of_ours_none_is_asked_for(browser, make, server, ada):
    """A user may have one from before."""
    await make.change_settings(authentication_methods=["LDAP"])
    server.forget(make.realm_id)
    await browser.look("/account")
    assert 'type="password"' not in browser.page
    assert (await browser.submit("/account/api-key")).status == 200
    assert f"key={ada.api_key}" in browser.page
    form = {**browser.forms()[0].fields, "password": PASSWORD, "new_password": NEW}
    assert (await browser.post("/account/password", **form)).status == 400


async def test_keys_of_programs_are_listed_and_revoked(browser, ada, log_in):
    client = await log_in(ada)
    made = await new_key(client, "read", "messages", name="The <bot>")
    program = Client(client.server, client.host, ada.email, made["api_key"])
    await program.get("/users/me")
    await browser.look("/account")
    assert "The <bot> (" in browser.text
    assert "for messages, read; last used " in browser.text
    for wrong in ("", "x", "٣", "9" * 30, str(made["key_id"] + 1)):
        assert (await browser.submit("/account/keys/revoke", key_id=wrong)).status == 400
        assert browser.problem == "No such API key"
    await browser.follow(await browser.submit("/account/keys/revoke"))
    assert "The key opens nothing any more." in browser.text
    assert "The <bot>" not in browser.text
    (await program.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)


async def test_a_user_closes_their_account(browser, ada, log_in, make):
    client = await log_in(ada)
    for fields, problem in (
        ({"password": PASSWORD}, "Tick the box"),
        ({"password": "wrong", "sure": "on"}, "Wrong password!"),
        ({"password": PASSWORD, "sure": "on"}, "only organization owner"),
    ):
        if "only" in problem:
            await make.connection.execute(
                "UPDATE users SET role = 100 WHERE user_id = %(id)s", id=ada.user_id
            )
        assert (await browser.submit("/account/close", **fields)).status == 400
        assert problem in browser.problem
        await browser.look("/account")
    await make.user("Another", role=100)
    await browser.follow(await browser.submit("/account/close", password=PASSWORD, sure="on"))
    assert "Your account is closed." in browser.text
    assert (await browser.look("/account")).status == 303
    (await client.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
