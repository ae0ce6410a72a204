"""Joining an open organization."""

import pytest
import pytest_asyncio

from server.domain.admission import is_disposable
from storage import default_channel_groups, realm_domains
from storage.default_channel_groups import ChannelGroupRow
from storage.ids import ChannelGroupId
from storage.realm_domains import DomainRow
from testkit.clients.page_client import PASSWORD

pytestmark = pytest.mark.asyncio

NEW = "another good password"


@pytest_asyncio.fixture
async def server(posting):
    return posting.server


@pytest_asyncio.fixture
async def opened(make, posting):
    """The organization is open."""

    async def change(**settings):
        await make.change_settings(invite_required=False, **settings)
        posting.server.forget(make.realm_id)

    await change()
    return change


async def ask(visitor, email):
    browser = await visitor()
    await browser.look("/register")
    return browser, await browser.submit("/register", email=email)


async def test_a_new_user_joins_by_a_mail_a_name_and_a_password(
    visitor, opened, posting, make, log_in
):
    general = await make.channel("general")
    await make.connection.execute(
        "UPDATE channels SET is_default = true WHERE realm_id = %(r)s AND channel_id = %(c)s",
        r=make.realm_id,
        c=general.channel_id,
    )
    browser = await visitor()
    await browser.look("/login/")
    assert 'href="/register"' in browser.page
    browser, answer = await ask(visitor, "Grace@example.com")
    assert (await browser.follow(answer)).status == 200
    mail = await posting.mail()
    link = posting.link(mail)
    assert link.startswith("/accounts/join/")
    assert (await browser.look(link)).status == 200
    assert 'value="Grace@example.com"' in browser.page
    answer = await browser.submit(link, full_name=" Grace  Hopper ", new_password=NEW)
    assert (await browser.follow(answer)).status == 200
    assert "Grace Hopper" in browser.text
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert (me["full_name"], me["delivery_email"]) == ("Grace Hopper", "Grace@example.com")
    subscribed = (await browser.send("GET", "/json/users/me/subscriptions")).succeeded()
    assert [each["name"] for each in subscribed["subscriptions"]] == ["general"]

    other = await visitor()
    await other.sign_in("grace@example.com", NEW)
    assert (await other.look(link)).status == 400
    assert "used already" in other.problem


async def test_a_link_makes_one_account_however_fast_it_is_sent(visitor, opened, posting, make):
    browser, _ = await ask(visitor, "grace@example.com")
    link = posting.link(await posting.mail())
    other, _ = await ask(visitor, "grace@example.com")
    second = posting.link(await posting.mail())
    await browser.look(link)
    await other.look(second)
    assert (await browser.submit(link, full_name="Grace", new_password=NEW)).status == 303
    answer = await other.submit(second, full_name="Grace", new_password=NEW)
    assert answer.status == 400
    assert "already in use" in other.problem


async def test_who_has_an_account_is_told_by_mail_alone(visitor, opened, posting, ada):
    pages = set()
    for email in (ada.email, "nobody@example.com"):
        browser, answer = await ask(visitor, email)
        await browser.follow(answer)
        pages.add(browser.text)
    assert len(pages) == 1
    known, new = await posting.jobs()
    await posting.send(known)
    await posting.send(new)
    assert posting.sink.mails[0]["Subject"].startswith("You have an account at ")
    assert "/accounts/join/" not in posting.sink.mails[0].as_string()


async def test_a_closed_organization_wants_an_invitation(visitor, posting, make, opened):
    browser, _ = await ask(visitor, "grace@example.com")
    link = posting.link(await posting.mail())
    await browser.look(link)
    await make.change_settings(invite_required=True)
    posting.server.forget(make.realm_id)
    await browser.submit(link, full_name="Grace", new_password=NEW)
    assert browser.problem == "You need an invitation to join this organization."
    await browser.look("/register")
    assert "You need an invitation" in browser.text
    await browser.look("/login/")
    assert 'href="/register"' not in browser.page
    token = browser.forms()[0].fields["csrfmiddlewaretoken"]
    answer = await browser.post("/register", csrfmiddlewaretoken=token, email="g@example.com")
    assert answer.status == 400


@pytest.mark.parametrize(
    ("email", "problem"),
    [
        ("grace@elsewhere.org", "is not allowed in this organization"),
        ("grace+1@parley.org", "containing + are not allowed"),
        ("grace@parley.org", ""),
        ("grace@sub.PARLEY.org", ""),
    ],
)
async def test_only_allowed_domains(visitor, opened, make, email, problem):
    await realm_domains.insert(
        make.connection, make.realm_id, DomainRow("parley.org", allow_subdomains=True)
    )
    await opened(emails_restricted_to_domains=True)
    browser, answer = await ask(visitor, email)
    assert answer.status == (400 if problem else 303)
    assert problem in browser.problem


@pytest.mark.parametrize("domain", ["mailinator.com", "sub.mailinator.com", "MAILINATOR.com"])
async def test_addresses_that_are_thrown_away(visitor, opened, domain):
    browser, answer = await ask(visitor, f"grace@{domain}")
    assert answer.status == 400
    assert "disposable" in browser.problem
    await opened(disallow_disposable_email_addresses=False)
    _, answer = await ask(visitor, f"grace@{domain}")
    assert answer.status == 303


async def test_usual_addresses_are_not_disposable():
    for domain in ("gmail.com", "example.com", "com", "localhost", "gmx.de", "posteo.de"):
        assert not is_disposable(f"x@{domain}")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"full_name": " "}, "Name too short!"),
        ({"full_name": "x" * 101}, "Name too long!"),
        ({"full_name": "<b>*"}, "Invalid characters in name: * >"),
        ({"full_name": "Gr\u200face"}, "Invalid characters in name!"),
        ({"new_password": "grace@example.com"}, "too easy to guess"),
        ({"new_password": ""}, "6 to 100 characters"),
    ],
)
async def test_what_is_wrong_stands_beside_what_was_typed(
    visitor, opened, posting, fields, problem
):
    browser, _ = await ask(visitor, "grace@example.com")
    link = posting.link(await posting.mail())
    await browser.look(link)
    answer = await browser.submit(
        link, **{"full_name": "Grace Hopper", "new_password": NEW} | fields
    )
    assert answer.status == 400
    assert problem in browser.problem
    assert NEW not in browser.page
    assert (await browser.submit(link, full_name="Grace Hopper", new_password=NEW)).status == 303


async def test_joining_by_mail_needs_passwords(visitor, opened, posting, make):
    browser, _ = await ask(visitor, "grace@example.com")
    link = posting.link(await posting.mail())
    await browser.look(link)
    await opened(authentication_methods=["LDAP"])
    for answer in (await browser.submit(link, full_name="Grace Hopper"), await browser.look(link)):
        assert answer.status == 400
        assert "do not join by email" in browser.problem


async def test_a_deactivated_organization_takes_no_user(visitor, opened, posting, make):
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(r)s", r=make.realm_id
    )
    posting.server.forget(make.realm_id)
    browser, answer = await ask(visitor, "grace@example.com")
    assert answer.status == 401
    assert PASSWORD not in browser.page


async def test_new_users_choose_groups_of_channels(visitor, opened, posting, make):
    cake = await make.channel("cake")
    for group_id, name, ids in ((1, "Bakers", [cake.channel_id]), (2, "Empty yet", [])):
        row = ChannelGroupRow(ChannelGroupId(group_id), name, "<b>Who</b> bakes", ids)
        await default_channel_groups.put(make.connection, make.realm_id, row)
    browser, _ = await ask(visitor, "grace@example.com")
    link = posting.link(await posting.mail())
    await browser.look(link)
    assert "Bakers : <b>Who</b> bakes" in browser.text
    assert "Empty yet" not in browser.text
    chosen = {"channel_group_1": "on", "full_name": "Grace Hopper"}
    answer = await browser.submit(link, new_password="short", **chosen)
    assert answer.status == 400
    assert '"channel_group_1" checked' in browser.page
    await browser.follow(await browser.submit(link, new_password=NEW, **chosen))
    subscribed = (await browser.send("GET", "/json/users/me/subscriptions")).succeeded()
    assert [each["name"] for each in subscribed["subscriptions"]] == ["cake"]


async def test_a_group_that_is_gone_meanwhile_is_told(visitor, opened, posting):
    browser, _ = await ask(visitor, "grace@example.com")
    link = posting.link(await posting.mail())
    await browser.look(link)
    fields = {"channel_group_7": "on", "channel_group_x": "on", "full_name": "Grace Hopper"}
    answer = await browser.submit(link, new_password=NEW, **fields)
    assert (answer.status, "does not exist" in browser.problem) == (400, True)
