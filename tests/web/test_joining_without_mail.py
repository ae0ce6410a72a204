"""People join by a link where the server sends no mail that could confirm their addresses."""

import asyncio
from urllib.parse import urlsplit

import pytest

from server.domain.access import ADMINISTRATOR, MEMBER
from server.mail.folder import MailFolder
from storage import credentials, users
from testkit.clients.page_client import PASSWORD, Visitor, give_password

pytestmark = pytest.mark.asyncio

ASKED = {"email": "nina@example.com", "full_name": "Nina", "new_password": PASSWORD}


async def link_by_page(browser: Visitor, make) -> str:
    """Have an administrator make a link on the first page: its path."""
    boss = await make.user("Boss", role=ADMINISTRATOR)
    await give_password(make, boss)
    await browser.sign_in(boss.email, PASSWORD)
    await browser.look("/")
    assert 'id="invitees"' not in browser.page  # nothing could be mailed
    assert (await browser.submit("/invite/link")).status == 200
    link = browser.page.partition('id="link" tabindex="0">')[2].partition("</pre>")[0]
    return urlsplit(link).path


async def rows_of(make, email: str):
    return await users.by_emails(make.connection, make.realm_id, [email])


async def test_a_link_asks_for_everything_at_once(visitor, make):
    link = await link_by_page(await visitor(), make)
    browser = await visitor()
    await browser.look(link)
    assert "Boss has made this link." in browser.text
    assert "we send you" not in browser.text
    for wrong, problem in (
        ({"email": "nobody"}, "Enter a valid email"),
        ({"full_name": " "}, "Name too short!"),
        ({"new_password": "password1"}, "easy to guess"),
        ({"email": "Ниnа@example.com"}, "Mail cannot reach"),
    ):
        answer = await browser.submit(link, **{**ASKED, **wrong})
        assert (answer.status, problem in browser.problem) == (400, True), browser.text
        assert 'readonly="' not in browser.page
    answer = await browser.submit(link, **ASKED)
    assert answer.headers["Location"] == "/"
    await browser.follow(answer)
    assert "You are signed in" in browser.text
    [nina] = await rows_of(make, ASKED["email"])
    assert (nina.full_name, nina.role, nina.email_confirmed) == ("Nina", MEMBER, False)
    await (await visitor()).sign_in(ASKED["email"], PASSWORD)
    # Another person joins by the same link.
    other = await visitor()
    await other.look(link)
    assert (await other.submit(link, **{**ASKED, "email": "otto@example.com"})).status == 303


async def test_no_account_is_taken_over(visitor, make, ada):
    link = await link_by_page(await visitor(), make)
    before = await credentials.password_hash(make.connection, make.realm_id, ada.user_id)
    gone = await make.user("Gone", email="gone@example.com")
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(u)s", u=gone.user_id
    )
    for email in (ada.email, ada.email.upper(), gone.email):
        browser = await visitor()
        await browser.look(link)
        answer = await browser.submit(
            link, **{**ASKED, "email": email, "new_password": "x" * 9 + "Zq7!m"}
        )
        assert answer.status in {200, 400}
        assert browser.problem
        assert (await browser.look("/")).headers["Location"] == "/login/"
    after = await credentials.password_hash(make.connection, make.realm_id, ada.user_id)
    assert before == after
    [row] = await rows_of(make, ada.email)
    assert row == ada


async def test_of_two_who_claim_an_address_at_once_one_gets_it(visitor, make):
    link = await link_by_page(await visitor(), make)
    browsers = [await visitor() for _ in range(3)]
    for browser in browsers:
        await browser.look(link)
    answers = await asyncio.gather(*(browser.submit(link, **ASKED) for browser in browsers))
    assert [answer.status for answer in answers].count(303) == 1
    assert len(await rows_of(make, ASKED["email"])) == 1


async def test_the_organization_admits_whom_it_admits(visitor, make, server):
    link = await link_by_page(await visitor(), make)
    await make.change_settings(emails_restricted_to_domains=True)
    await make.connection.execute(
        "INSERT INTO realm_domains (realm_id, domain, allow_subdomains)"
        " VALUES (%(r)s, 'inside.example', false)",
        r=make.realm_id,
    )
    server.forget(make.realm_id)
    browser = await visitor()
    await browser.look(link)
    for email in (ASKED["email"], "nina@inside.example"):  # entered, and so a proof of nothing
        assert (await browser.submit(link, **{**ASKED, "email": email})).status == 400
        assert "sends no mail to confirm" in browser.problem
        assert await rows_of(make, email) == []
    # The inviter is looked at again.
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE full_name = 'Boss'",
    )
    server.forget(make.realm_id)
    late = await visitor()
    assert (await late.look(link)).status == 404
    assert "may not invite people any more" in late.problem


async def test_without_passwords_an_address_alone_opens_nothing(visitor, make, server):
    link = await link_by_page(await visitor(), make)
    await make.change_settings(authentication_methods=["LDAP"])
    server.forget(make.realm_id)
    browser = await visitor()
    assert (await browser.look(link)).status == 400
    assert "sign in as others do here" in browser.problem
    assert not browser.forms()


async def test_tries_are_counted_by_network_address(serving_with, connect, make):
    async with serving_with(rate_limits=True, rate_limit_join_address="2/3600") as server:

        async def visitor() -> Visitor:
            return Visitor(await connect(server, make.realm_id))

        link = await link_by_page(await visitor(), make)
        browser = await visitor()
        await browser.look(link)
        weak = {**ASKED, "new_password": "password1"}
        assert [(await browser.submit(link, **weak)).status for _ in range(2)] == [400, 400]
        assert (await browser.submit(link, **ASKED)).status == 429
    assert await rows_of(make, ASKED["email"]) == []


async def test_mail_that_stays_on_the_server_confirms_nothing(
    serving_with, connect, make, tmp_path
):
    async with serving_with(mailer=MailFolder(tmp_path)) as server:
        boss = await make.user("Boss", role=ADMINISTRATOR)
        made = await (await connect(server, make.realm_id, boss)).post("/invites/multiuse")
        link = urlsplit(made["invite_link"]).path
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look(link)
        assert (await browser.submit(link, **ASKED)).status == 303
    assert len(await rows_of(make, ASKED["email"])) == 1
