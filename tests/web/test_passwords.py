"""A new password by mail."""

import re
from dataclasses import replace

import pytest
import pytest_asyncio

from server.domain.confirmations import RESET_PASSWORD
from server.domain.sessions import digest_of
from storage import confirmations
from testkit.clients.page_client import PASSWORD, Visitor
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

PUBLIC = "https://chat.example.com"
NEW = "another good password"


@pytest_asyncio.fixture
async def server(posting):
    return posting.server


async def ask(visitor, email):
    browser = await visitor()
    await browser.look("/accounts/password/reset")
    answer = await browser.submit("/accounts/password/reset", email=email)
    assert (await browser.follow(answer)).status == 200
    return browser


async def test_a_forgotten_password_is_replaced(visitor, ada, posting, make):
    elsewhere = await visitor()
    await elsewhere.sign_in(ada.email, PASSWORD)
    browser = await ask(visitor, " Ada@Example.com ")
    assert "An email is on its way" in browser.text

    mail = await posting.mail()
    assert mail["To"].addresses[0].addr_spec == ada.email
    link = posting.link(mail)
    assert link.startswith("/accounts/password/reset/")
    assert (await browser.look(link)).status == 200
    answer = await browser.submit(link, new_password=NEW)
    assert (await browser.follow(answer)).status == 200
    assert "Your password has been changed" in browser.text
    assert (await elsewhere.look("/")).headers["Location"] == "/login/"
    await browser.sign_in(ada.email, NEW)
    told = await posting.mail()
    assert "was changed" in told["Subject"]
    audited = await make.connection.value(
        "SELECT count(*) FROM audit_log WHERE realm_id = %(r)s AND action = %(action)s",
        r=make.realm_id,
        action="user_password_changed",
    )
    assert audited == 1


@pytest.mark.parametrize("posting_settings", [{"root_domain": None, "external_url": PUBLIC}])
async def test_a_link_leads_to_our_address_whatever_the_browser_was_led_to_call_us(
    posting, make, connect
):
    await make.connection.execute("UPDATE realms SET subdomain = ''")
    ada = await make.user("Ada", email="ada@example.com")
    client = replace(await connect(posting.server, make.realm_id), host="evil.example.com")
    browser = Visitor(client)
    forged = {"X-Forwarded-Host": "evil.example.com", "Forwarded": "host=evil.example.com"}
    await browser.look("/accounts/password/reset", headers=forged)
    await browser.submit("/accounts/password/reset", email=ada.email)
    mail = (await posting.mail()).as_string()
    assert "evil" not in mail
    assert f"{PUBLIC}/accounts/password/reset/" in mail.replace("=\n", "")


async def test_a_link_works_once_and_others_are_void_then(visitor, ada, posting):
    await ask(visitor, ada.email)
    first = posting.link(await posting.mail())
    browser = await ask(visitor, ada.email)
    second = posting.link(await posting.mail())
    assert first != second
    await browser.look(second)
    assert (await browser.submit(second, new_password=NEW)).status == 303
    for link in (first, second):
        assert (await browser.look(link)).status == 400
        assert "used already" in browser.problem
        await browser.look("/login/")
        token = browser.forms()[0].fields["csrfmiddlewaretoken"]
        answer = await browser.post(
            link, csrfmiddlewaretoken=token, new_password="a third password"
        )
        assert answer.status == 400
    await browser.sign_in(ada.email, NEW)


async def test_a_link_is_too_old_after_a_day(visitor, ada, posting, make):
    browser = await ask(visitor, ada.email)
    link = posting.link(await posting.mail())
    await make.connection.execute(
        "UPDATE confirmations SET ends_at = now() WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert (await browser.look(link)).status == 400
    assert "too old" in browser.problem


async def test_accounts_cannot_be_discovered(visitor, ada, posting, make):
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
    )
    bot = await make.user("Bot", email="bot@example.com", bot_type=1)
    pages = set()
    for email in ("nobody@example.com", ada.email, bot.email):
        pages.add((await ask(visitor, email)).text)
        mail = await posting.mail()
        assert mail["Subject"].startswith("No account at ")
        assert "/accounts/password/reset/" not in mail.as_string()
    assert len(pages) == 1


async def test_only_digests_of_tokens_are_kept(visitor, ada, posting, make):
    await ask(visitor, ada.email)
    token = posting.link(await posting.mail()).rpartition("/")[2]
    rows = await make.connection.tuples(
        "SELECT token_digests FROM confirmations WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert rows == [([digest_of(token)],)]
    held = await make.connection.values("SELECT body FROM event_log")
    assert not any(token.encode() in bytes(body or b"") for body in held)


async def test_a_mail_that_is_sent_twice_works_twice_but_once(visitor, ada, posting):
    await ask(visitor, ada.email)
    [job] = await posting.jobs()
    await posting.send(job)
    await posting.send(job)
    one, other = posting.sink.mails
    assert one["Message-ID"] == other["Message-ID"]
    browser = await visitor()
    await browser.look(posting.link(one))
    assert (await browser.look(posting.link(other))).status == 200
    await browser.submit(posting.link(other), new_password=NEW)
    assert (await browser.look(posting.link(one))).status == 400


async def test_a_mail_with_a_link_used_meanwhile_is_not_sent_again(visitor, ada, posting):
    await ask(visitor, ada.email)
    [job] = await posting.jobs()
    await posting.send(job)
    browser = await visitor()
    link = posting.link(posting.sink.mails[0])
    await browser.look(link)
    await browser.submit(link, new_password=NEW)
    await posting.send(job)
    assert len(posting.sink.mails) == 1


@pytest.mark.parametrize(
    ("password", "problem"),
    [
        ("short", "Passwords have 6 to 100 characters."),
        ("x" * 101, "Passwords have 6 to 100 characters."),
        ("password1", "too easy to guess"),
        ("ada@example.com", "too easy to guess"),
    ],
)
async def test_a_password_that_can_be_guessed_is_refused(visitor, ada, posting, password, problem):
    browser = await ask(visitor, ada.email)
    link = posting.link(await posting.mail())
    await browser.look(link)
    assert (await browser.submit(link, new_password=password)).status == 400
    assert problem in browser.problem
    assert password not in browser.page
    assert (await browser.submit(link, new_password=NEW)).status == 303


async def test_a_user_without_a_password_gets_one(visitor, posting, make):
    bob = await make.user("Bob", email="bob@example.com")
    browser = await ask(visitor, bob.email)
    link = posting.link(await posting.mail())
    await browser.look(link)
    await browser.submit(link, new_password=NEW)
    await browser.sign_in(bob.email, NEW)


async def test_an_address_that_is_none_is_refused(visitor, ada, posting):
    browser = await visitor()
    for email in ("", "x", "a@b\r\nBcc: c@d", "a b@c"):
        await browser.look("/accounts/password/reset")
        answer = await browser.submit("/accounts/password/reset", email=email)
        assert answer.status == 400
        assert "valid email address" in browser.problem
    assert await posting.jobs() == []


async def test_a_link_is_good_in_its_own_organization_only(visitor, ada, posting, make, connect):
    browser = await ask(visitor, ada.email)
    link = posting.link(await posting.mail())
    other = await new_realm(make.connection)
    browser.client = await connect(posting.server, other.realm_id)
    assert (await browser.look(link)).status == 400


async def test_an_organization_without_passwords_has_no_new_ones(visitor, ada, posting, make):
    await make.change_settings(authentication_methods=[])
    posting.server.forget(make.realm_id)
    browser = await visitor()
    assert (await browser.look("/accounts/password/reset")).status == 401


async def test_mails_are_counted_by_who_gets_them_and_by_who_asks(
    serving_with, make, connect, ada, visitor, sink
):
    limits = {"rate_limits": True, "rate_limit_account_mail": "1/3600"}
    more = {"smtp_host": "127.0.0.1", "smtp_port": sink.port, "smtp_security": "none"}
    async with serving_with(**limits, **more, rate_limit_account_mail_address="2/3600") as server:
        browser = Visitor(await connect(server, make.realm_id))
        statuses = []
        for email in (ada.email, ada.email.upper(), "x@example.com"):
            await browser.look("/accounts/password/reset")
            answer = await browser.submit("/accounts/password/reset", email=email)
            statuses.append(answer.status)
        assert statuses == [303, 429, 429]
        assert "Too many tries" in browser.problem


async def test_a_server_without_mail_says_so(visitor, ada, serving_with, make, connect):
    async with serving_with() as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/accounts/password/reset")
        answer = await browser.submit("/accounts/password/reset", email=ada.email)
        assert answer.status == 400
        assert "sends no emails" in browser.problem


async def test_what_is_too_late_is_removed(make):
    first, second = [
        await confirmations.insert(
            make.connection,
            make.realm_id,
            purpose=RESET_PASSWORD,
            email="a@b",
            seconds=seconds,
        )
        for seconds in (0, 60)
    ]
    kept = await make.connection.values(
        "SELECT confirmation_id FROM confirmations WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert first not in kept
    assert kept == [second]


async def test_mails_are_written_for_those_who_read_them(visitor, ada, posting, make):
    await make.connection.execute(
        "UPDATE realms SET name = 'A <b> & \"c\"' WHERE realm_id = %(r)s", r=make.realm_id
    )
    await ask(visitor, ada.email)
    mail = await posting.mail()
    text, html = (mail.get_body((kind,)).get_content() for kind in ("plain", "html"))
    assert 'for A <b> & "c"' in mail["Subject"]
    assert "A &lt;b&gt; &amp;" in html
    assert "Hello Ada Lovelace," in text
    link = posting.link(mail)
    assert html.count(link) == 3
    assert re.search(r"works once,\s+within a day", text)
    assert mail["Auto-Submitted"] == "auto-generated"
