"""Who signs in where they have not before is mailed that; who joins is welcomed."""

from datetime import timedelta

import pytest
import pytest_asyncio

from server.actions.signing_in import enqueue_sign_in_email
from server.domain import known_browsers
from storage import server_keys, sessions
from storage.ids import RealmId
from testkit.clients.page_client import PASSWORD, give_password

pytestmark = pytest.mark.asyncio

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PHONE = "ZulipFlutter/30.0.262 (Android 16)"
STRANGE = "Mozilla/5.0 https://evil.example.com/ <b>click</b>"


@pytest_asyncio.fixture
async def server(posting):
    return posting.server


@pytest_asyncio.fixture
async def ada(make):
    """A user who has been here a while."""
    ada = await make.user("Ada", email="ada@example.com")
    await give_password(make, ada)
    await make.connection.execute(
        """
        UPDATE users SET date_joined = now() - interval '1 day', timezone = 'Asia/Kolkata'
         WHERE realm_id = %(r)s AND user_id = %(u)s
        """,
        r=make.realm_id,
        u=ada.user_id,
    )
    return ada


async def fetch_key(client, user_agent=PHONE):
    answer = await client.send(
        "POST",
        "/fetch_api_key",
        body=f"username=ada@example.com&password={PASSWORD.replace(' ', '+')}".encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded", "User-Agent": user_agent},
    )
    assert answer.succeeded()["api_key"]


async def sign_in(browser, user_agent=FIREFOX):
    await browser.look("/login/")
    form = next(each for each in browser.forms() if each.action == "/login/")
    answer = await browser.send(
        "POST",
        "/login/",
        body="&".join(
            f"{name}={value}"
            for name, value in (
                form.fields | {"username": "ada@example.com", "password": PASSWORD}
            ).items()
        ).encode(),
        headers={"Content-Type": "application/x-www-form-urlencoded", "User-Agent": user_agent},
    )
    assert answer.status == 303


def text_of(mail):
    return mail.get_body(("plain",)).get_content().replace("\r\n", "\n")


async def test_another_browser_is_mailed_and_the_same_one_is_not(visitor, ada, posting):
    first, second = await visitor(), await visitor()
    await sign_in(first)
    assert await posting.jobs() == [], "the first sign-in is no news"
    await sign_in(second)
    mail = await posting.mail()

    assert mail["To"].addresses[0].addr_spec == ada.email
    assert mail["Subject"].startswith("New sign-in to your account at ")
    now = posting.server.app.clock.now() + timedelta(hours=5, minutes=30)
    assert f"{now:%A, %Y-%m-%d}, " in text_of(mail)
    assert "(Asia/Kolkata)" in text_of(mail)
    assert "With: Firefox on Linux\n" in text_of(mail)
    assert "/accounts/password/reset" in text_of(mail)
    assert "Firefox on Linux" in mail.get_body(("html",)).get_content()

    for browser in (first, second):
        await browser.look("/")
        await browser.submit("/logout")
        await sign_in(browser)
    assert await posting.jobs() == []


async def test_an_app_that_gets_the_key_is_news(visitor, ada, posting, spectator):
    app = await spectator()
    await fetch_key(app)
    assert await posting.jobs() == [], "the first sign-in is no news"
    await sign_in(await visitor())
    await fetch_key(app)
    assert "With: the app Zulip on Android\n" in text_of(await posting.mail())
    browser = await visitor()
    await browser.look(f"/login/?mobile_flow_otp={'1' * 64}")
    await browser.submit("/login/", username=ada.email, password=PASSWORD)
    await posting.mail()


async def test_who_has_their_password_elsewhere_is_not_led_to_one_of_ours(make, ada, posting):
    await make.change_settings(authentication_methods=["LDAP"])
    posting.server.forget(make.realm_id)
    writer, now = posting.server.app.writers.of(make.realm_id), posting.server.app.clock.now()
    await sessions.insert(
        make.connection, make.realm_id, ada.user_id, b"1", user_agent="", seconds=60
    )
    await writer.write(lambda tx: enqueue_sign_in_email(tx, ada.user_id, FIREFOX, now=now))
    mail = await posting.mail()
    for part in mail.iter_parts():
        assert "/accounts/password/reset" not in part.get_content()
        assert "where you have the one that you sign in with" in part.get_content()


async def test_what_a_program_calls_itself_is_not_repeated(visitor, ada, posting, spectator):
    await sign_in(await visitor())
    await fetch_key(await spectator(), STRANGE)
    mail = await posting.mail()
    assert all("evil" not in part.get_content() for part in mail.iter_parts())
    assert "With: a browser or program that does not say what it is\n" in text_of(mail)


async def test_the_mail_stops_itself_with_one_click(visitor, ada, posting, spectator, log_in):
    await sign_in(await visitor())
    await sign_in(await visitor())
    mail = await posting.mail()
    assert mail["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    link = mail["List-Unsubscribe"].strip("<>")
    assert link in text_of(mail)
    answer = await (await spectator()).send(
        "POST",
        link.partition("/api/v1")[2],
        body=b"List-Unsubscribe=One-Click",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert answer.status == 200
    settings = (await (await log_in(ada)).register()).state["user_settings"]
    assert settings["enable_login_emails"] is False
    await sign_in(await visitor())
    assert await posting.jobs() == []


async def test_another_user_on_a_known_browser_is_notified(make, visitor, ada, posting):
    grace = await make.user("Grace", email="grace@example.com")
    await give_password(make, grace)
    browser = await visitor()
    await browser.sign_in(grace.email, PASSWORD)
    await browser.look("/")
    await browser.submit("/logout")
    await sign_in(await visitor())
    await sign_in(browser)
    assert (await posting.mail())["To"].addresses[0].addr_spec == ada.email
    key = await server_keys.key_for(make.connection, known_browsers.PURPOSE)
    kept = browser.cookies[known_browsers.COOKIE]
    assert known_browsers.load(key, make.realm_id, kept) == [grace.user_id, ada.user_id]
    assert known_browsers.load(key, RealmId(make.realm_id + 1), kept) == []
    assert known_browsers.load(key, make.realm_id, kept[:-1]) == []


@pytest.mark.parametrize("wanted", [True, False])
async def test_who_joins_is_welcomed_where_the_organization_wants_that(
    make, visitor, posting, wanted
):
    await make.change_settings(invite_required=False, send_welcome_emails=wanted)
    posting.server.forget(make.realm_id)
    browser = await visitor()
    await browser.look("/register")
    await browser.submit("/register", email="new@example.com")
    link = posting.link(await posting.mail())
    await browser.look(link)
    answer = await browser.submit(link, full_name="New & One", new_password="another good password")
    assert answer.status == 303
    if not wanted:
        assert await posting.jobs() == []
        return
    mail = await posting.mail()
    assert mail["Subject"].startswith("Welcome to ")
    assert "Hello New & One," in text_of(mail)
    assert "with the address new@example.com" in text_of(mail)
    assert "New &amp; One" in mail.get_body(("html",)).get_content()
    assert mail["List-Unsubscribe"].strip("<>") in text_of(mail)
