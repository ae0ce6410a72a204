"""Addresses that were only entered count for nothing until they are confirmed."""

import pytest
import pytest_asyncio

from server.domain.avatars import GRAVATAR, avatar_of
from server.mail.folder import MailFolder
from storage import credentials, users
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.services.oauth_provider import CLIENT_ID, SECRET

pytestmark = pytest.mark.asyncio

BEGIN = "/accounts/login/social/own"
MOVED = "moved@example.com"


@pytest.fixture
def posting_settings(provider):
    own = {"client_id": CLIENT_ID, "client_secret": SECRET, "issuer": provider.url, "label": "Own"}
    return {"sign_in_providers": {"own": own}}


@pytest_asyncio.fixture
async def server(posting, make):
    await make.change_settings(authentication_methods=["Email", "OpenID Connect"])
    posting.server.forget(make.realm_id)
    return posting.server


@pytest_asyncio.fixture
async def nina(make, server):
    """A user who has entered an address that nothing confirms."""
    row = await make.user("Nina", email="nina@example.com")
    await give_password(make, row)
    await make.connection.execute(
        "UPDATE users SET email_confirmed = false WHERE user_id = %(u)s", u=row.user_id
    )
    server.forget(make.realm_id)
    return await row_of(make, row.user_id)


async def row_of(make, user_id):
    [row] = await users.by_ids(make.connection, make.realm_id, [user_id])
    return row


async def signed_in(visitor, email) -> Visitor:
    browser: Visitor = await visitor()
    await browser.sign_in(email, PASSWORD)
    return browser


async def come_back(browser, provider, email):
    """Sign in at the other site as the owner of this address, and come back."""
    provider.claims = {"email": email, "email_verified": True, "name": "Nina"}
    there = (await browser.look(BEGIN)).headers["Location"]
    return await browser.look(provider.sign_in(there))


async def test_the_owner_of_the_address_is_not_signed_in_to_the_account(visitor, nina, provider):
    browser = await visitor()
    answer = await come_back(browser, provider, "Nina@Example.com")
    assert answer.status == 401
    assert "has not confirmed it" in browser.text
    assert "parley_session" not in browser.cookies


async def test_a_site_confirms_the_address_of_who_is_signed_in(visitor, make, nina, provider):
    browser = await signed_in(visitor, nina.email)
    await browser.look("/account")
    assert f'href="{BEGIN}?next=%2Faccount"' in browser.page
    assert (await come_back(browser, provider, nina.email)).status == 303
    assert (await row_of(make, nina.user_id)).email_confirmed
    assert (await come_back(await visitor(), provider, nina.email)).status == 303


async def test_a_site_confirms_no_address_of_another_person(visitor, make, nina, provider):
    other = await make.user("Otto", email="otto@example.com")
    await give_password(make, other)
    browser = await signed_in(visitor, other.email)
    assert (await come_back(browser, provider, nina.email)).status == 401
    assert not (await row_of(make, nina.user_id)).email_confirmed


async def test_a_password_changed_meanwhile_ends_the_confirmation(visitor, make, nina, provider):
    browser = await signed_in(visitor, nina.email)
    provider.claims = {"email": nina.email, "email_verified": True, "name": "Nina"}
    back = provider.sign_in((await browser.look(BEGIN)).headers["Location"])
    await credentials.note_change(make.connection, make.realm_id, [nina.user_id])
    assert (await browser.look(back)).status == 401
    assert not (await row_of(make, nina.user_id)).email_confirmed


async def test_a_mailed_link_confirms_it(visitor, make, posting, nina):
    browser = await signed_in(visitor, nina.email)
    assert await posting.jobs() == []  # of the sign-in, with a browser not used before
    await browser.look("/account")
    assert (await browser.submit("/account/email/confirm")).status == 303
    mail = await posting.mail()
    assert mail["To"].addresses[0].addr_spec == nina.email
    link = posting.link(mail)
    await browser.look(link)
    # Who reads the mail, but is not signed in to the account, may not know whose it is.
    other = await make.user("Otto", email="otto@example.com")
    await give_password(make, other)
    for reader in (await visitor(), await signed_in(visitor, other.email)):
        await reader.look(link)
        assert (await reader.submit(link)).status == 400
        assert "Sign in to the account first" in reader.text
    assert not (await row_of(make, nina.user_id)).email_confirmed
    await browser.look(link)
    answer = await browser.submit(link)
    assert (await row_of(make, nina.user_id)).email_confirmed
    await browser.follow(answer)
    assert "Your address is confirmed." in browser.text
    assert "/account/email/confirm" not in browser.page
    assert (await (await visitor()).look(link)).status == 400  # once


async def test_no_password_is_mailed_to_it(visitor, make, posting, nina):
    browser = await visitor()
    await browser.look("/accounts/password/reset")
    await browser.submit("/accounts/password/reset", email=nina.email)
    mail = await posting.mail()
    text = mail.get_body(("plain",)).get_content()
    assert "never confirmed" in " ".join(text.split())
    assert not await make.connection.values(
        "SELECT confirmation_id FROM confirmations WHERE realm_id = %(r)s"
        " AND cardinality(token_digests) > 0",
        r=make.realm_id,
    )


async def test_a_change_of_address_by_mail_confirms_the_new_one(visitor, make, posting, nina):
    browser = await signed_in(visitor, nina.email)
    await browser.look("/account")
    await browser.submit("/account/email", email=MOVED, password=PASSWORD)
    link = posting.link(await posting.mail())
    await browser.look(link)
    await browser.submit(link)
    assert await posting.jobs() == []  # nothing goes to the old one
    row = await row_of(make, nina.user_id)
    assert (row.email, row.email_confirmed) == (MOVED, True)


async def test_a_change_by_a_link_that_was_not_mailed_does_not(
    visitor, make, posting, nina, ada, tmp_path
):
    await give_password(make, ada)
    browser = await signed_in(visitor, ada.email)
    await posting.jobs()
    await browser.look("/account")
    await browser.submit("/account/email", email=MOVED, password=PASSWORD)
    link = posting.link(await posting.mail())
    app, mailer = posting.server.app, posting.server.app.mailer
    object.__setattr__(app, "mailer", MailFolder(tmp_path))
    try:
        await browser.look(link)
        await browser.submit(link)
    finally:
        object.__setattr__(app, "mailer", mailer)
    row = await row_of(make, ada.user_id)
    assert (row.email, row.email_confirmed) == (MOVED, False)


async def test_it_has_no_gravatar(make, nina, server):
    address = await server.app.realm_caches.of(make.realm_id).address()
    assert address.gravatars
    assert avatar_of(nina, address).source != GRAVATAR
