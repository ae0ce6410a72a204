"""Pages and errors in the language of their readers."""

import re

import pytest

from testkit.clients.page_client import PASSWORD, give_password

pytestmark = pytest.mark.asyncio

ENGLISH = '<html lang="en" dir="ltr">'
GERMAN = '<html lang="de" dir="ltr">'
ARABIC = '<html lang="ar" dir="rtl">'
ASKING = {"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}


async def look(visitor, path, asked=None):
    browser = await visitor()
    headers = {} if asked is None else {"Accept-Language": asked}
    answer = await browser.look(path, headers=headers)
    return browser, answer


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        (None, ENGLISH),
        ("", ENGLISH),
        ("*", ENGLISH),
        ("de", GERMAN),
        ("de-AT, en;q=0.5", GERMAN),
        ("en;q=0.1, ar-EG;q=0.2", ARABIC),
        ("fr-CH, fr;q=0.9, ar;q=0.8, en;q=0.7", ARABIC),
        ("de;q=0, *", ENGLISH),
        ("de;q=nonsense", ENGLISH),
        ("de;q=2, ar", ARABIC),
        ("de; q=1.000", GERMAN),
        (";;,,=q, de", GERMAN),
        ("tlh", ENGLISH),
        ("x" * 10_000, ENGLISH),
        ("fr," * 3_000 + "de", ENGLISH),
    ],
)
async def test_a_visitor_gets_the_language_that_the_browser_asks_for(visitor, asked, start):
    browser, answer = await look(visitor, "/login/", asked)
    assert answer.status == 200
    assert start in browser.page
    assert "Accept-Language" in answer.headers["Vary"]


async def test_other_visitors_get_the_language_of_the_organization(visitor, make, server):
    await make.change_settings(default_language="ar")
    server.forget(make.realm_id)
    assert ARABIC in (await look(visitor, "/login/"))[0].page
    assert ARABIC in (await look(visitor, "/login/", "fr"))[0].page
    assert ENGLISH in (await look(visitor, "/login/", "en-GB"))[0].page
    await make.change_settings(default_language="pt-br")
    server.forget(make.realm_id)
    assert ENGLISH in (await look(visitor, "/login/"))[0].page


async def test_forms_and_their_errors_are_in_the_language(visitor, ada):
    browser = await visitor()
    await browser.look("/login/", headers=ASKING)
    assert "Anmelden" in browser.text
    [form] = [each for each in browser.forms() if each.action == "/login/"]
    fields = {**form.fields, "username": ada.email, "password": "wrong"}
    await browser.send_form("/login/", fields, headers=ASKING)
    assert browser.problem == "Die E-Mail-Adresse oder das Passwort ist falsch."
    await browser.look("/join/nonsense", headers=ASKING)
    assert "Diesen Link gibt es hier nicht" in browser.text
    assert GERMAN in browser.page


async def test_a_user_gets_their_own_language_on_every_browser(visitor, ada, log_in):
    await (await log_in(ada)).patch("/settings", default_language="ar")
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD, then="/account")
    await browser.look("/account", headers=ASKING)
    assert ARABIC in browser.page
    assert "حسابك" in browser.text
    await browser.look("/channel/999", headers=ASKING)
    assert ARABIC in browser.page
    assert "لا توجد قناة كهذه" in browser.text


async def test_the_reference_of_the_api_stays_in_english(visitor):
    browser, _ = await look(visitor, "/api", "ar")
    assert ENGLISH in browser.page
    [operation, *_] = re.findall(r'href="(/api/[\w-]+)"', browser.page)
    for path in ("/api?q=message", operation):
        browser, answer = await look(visitor, path, "ar")
        assert answer.status == 200
        assert ENGLISH in browser.page


async def test_errors_are_in_the_language_of_the_caller(log_in, make):
    ada = await make.user("Ada")
    client = await log_in(ada)
    english = (await client.call("POST", "/realm/deactivate", headers=ASKING)).refused()
    await client.patch("/settings", default_language="de")
    german = (await client.call("POST", "/realm/deactivate")).refused()
    assert english["msg"] == "Must be an organization administrator"
    assert german["msg"] == "Das dürfen nur Admins der Organisation"
    assert {**english, "msg": ""} == {**german, "msg": ""}


async def test_errors_without_a_caller_are_in_the_language_asked_for(spectator):
    client = await spectator()
    english = (await client.call("GET", "/users/me")).refused("UNAUTHORIZED", 401)
    german = (await client.call("GET", "/users/me", headers=ASKING)).refused("UNAUTHORIZED", 401)
    assert english["msg"] == "Not logged in: API authentication or user session required"
    assert german["msg"].startswith("Nicht angemeldet")


async def test_bots_get_english(log_in, make):
    bot = await log_in(await make.user("Bot", bot_type=1))
    answer = await bot.call("DELETE", "/users/me", headers=ASKING)
    assert answer.refused()["msg"] == "This endpoint does not accept bot requests."


async def test_a_deactivated_account_is_told_so_in_german(visitor, make, server):
    user = await make.user("Bob", email="bob@example.com", is_active=False)
    await give_password(make, user)
    browser = await visitor()
    await browser.look("/login/", headers=ASKING)
    [form] = [each for each in browser.forms() if each.action == "/login/"]
    fields = {**form.fields, "username": user.email, "password": PASSWORD}
    await browser.send_form("/login/", fields, headers=ASKING)
    assert browser.problem == "Das Konto ist deaktiviert"


async def test_errors_name_things_in_the_language_and_keep_code_and_details(log_in, make):
    client = await log_in(await make.user("Ada"))
    message = {"type": "channel", "to": "kitchen & co", "topic": "tea", "content": "Hello"}
    english = (await client.call("POST", "/messages", **message)).refused("STREAM_DOES_NOT_EXIST")
    await client.patch("/settings", default_language="ar")
    arabic = (await client.call("POST", "/messages", **message)).refused("STREAM_DOES_NOT_EXIST")
    assert english["msg"] == "Channel 'kitchen & co' does not exist"
    assert arabic["msg"] == "القناة «kitchen & co» غير موجودة"
    assert english["stream"] == arabic["stream"] == "kitchen & co"
