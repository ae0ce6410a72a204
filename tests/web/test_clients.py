"""The page of clients: what runs, how to connect to it, and how others come in."""

from urllib.parse import urlencode

import pytest
import pytest_asyncio

from server.domain.access import ADMINISTRATOR, GUEST, MEMBER
from server.mail.folder import MailFolder
from server.operator.mail_folder import folder_pages
from storage import subscriptions
from testkit.clients.invitations import Reception, link_of
from testkit.clients.page_client import PASSWORD, Visitor, give_password

pytestmark = pytest.mark.asyncio

WITHOUT_MAIL = "are not sent: no mail server is set"


async def signed_in(visitor: Visitor, make, user) -> Visitor:
    await give_password(make, user)
    await visitor.sign_in(user.email, PASSWORD)
    await visitor.look("/clients")
    return visitor


@pytest_asyncio.fixture
async def boss(reception: Reception) -> Visitor:
    """An administrator, where mail is sent."""
    return await signed_in(await reception.visitor(), reception.make, reception.boss.user)


# -- what it says


async def test_it_says_what_runs_and_what_to_copy(visitor, make, ada, server):
    browser = await signed_in(await visitor(), make, ada)
    url = (await server.app.realm_caches.of(make.realm_id).address()).url
    for line in (
        f"[api]\nemail={ada.email}\nkey=YOUR-API-KEY\nsite={url}</pre>",
        f'id="phone" tabindex="0">{url}</pre>',
        "zulip-term --config-file ~/zuliprc",
    ):
        assert line in browser.page
    assert "This server has no chat in the browser." in browser.text
    assert f"Emails {WITHOUT_MAIL}" in browser.text
    assert "Phones get no notifications: no push service is set" in browser.text
    assert ada.api_key not in browser.page


@pytest.mark.parametrize(
    ("url", "is_local"),
    [
        ("http://localhost:9991", True),
        ("http://127.0.0.2:9991", True),
        ("http://[::1]:9991", True),
        ("http://192.0.2.7:9991", False),
        ("https://chat.example.com", False),
    ],
)
async def test_it_warns_of_an_address_that_phones_cannot_reach(
    serving_with, connect, make, ada, url, is_local
):
    await make.connection.execute(
        "UPDATE realms SET subdomain = '' WHERE realm_id = %(id)s", id=make.realm_id
    )
    async with serving_with(external_url=url, root_domain=None) as server:
        visitor = Visitor(await connect(server, make.realm_id))
        browser = await signed_in(visitor, make, ada)
    assert ("leads a phone to itself" in browser.text) == is_local
    assert ("The operator of the server can open it" in browser.text) == is_local
    assert "--host 0.0.0.0" not in browser.page


async def test_where_emails_stay_is_told_to_administrators(
    serving_with, connect, make, ada, tmp_path
):
    folder = MailFolder(tmp_path)
    async with serving_with(mailer=folder) as server, folder_pages(folder, 0) as address:
        user, boss = [Visitor(await connect(server, make.realm_id)) for _ in range(2)]
        await signed_in(user, make, ada)
        await signed_in(boss, make, await make.user(role=ADMINISTRATOR))
    assert "Emails stay on the machine of the server" in user.text
    assert address not in user.page
    assert f'href="{address}"' in boss.page


# -- inviting


async def test_an_invited_user_gets_a_mail_and_joins_as_a_member(
    reception: Reception, boss: Visitor
):
    make = reception.make
    basic = await make.channel("basic", is_default=True)
    reception.server.forget(make.realm_id)
    answer = await boss.submit("/invite", invitees="Nina <nina@example.com>, nina@example.com")
    assert answer.headers["Location"] == "/clients?invited=1"
    await boss.follow(answer)
    assert "The invitation is on its way." in boss.text
    [mail] = await reception.mails(1)
    assert mail["To"] == "nina@example.com"

    browser = await reception.visitor()
    await browser.look(link_of(mail))
    await browser.submit(link_of(mail), full_name="Nina", new_password=PASSWORD)
    nina = await reception.person("nina@example.com")
    assert nina.role == MEMBER
    rows = await subscriptions.of_users(make.connection, make.realm_id, [nina.user_id])
    assert [row.channel_id for row in rows if row.active] == [basic.channel_id]


async def test_it_says_how_many_invitations_are_on_their_way(boss: Visitor):
    answer = await boss.submit(
        "/invite", invitees="nina@example.com, NINA@example.com, o@b.example"
    )
    await boss.follow(answer)
    assert "2 invitations are on their way." in boss.text
    for forged in ("0", "-1", "x", "99999", "\u0663", "<b>"):
        await boss.look(f"/clients?{urlencode({'invited': forged})}")
        assert "on their way" not in boss.text


async def test_who_may_not_make_links_has_no_form_for_them(visitor, make, ada):
    browser = await signed_in(await visitor(), make, ada)
    assert "/invite/link" not in browser.page
    token = browser.cookies["csrftoken"]
    answer = await browser.post("/invite/link", csrfmiddlewaretoken=token)
    assert (answer.status, browser.problem) == (400, "Insufficient permission")


async def test_what_is_wrong_with_addresses_stands_beside_them(reception: Reception, boss: Visitor):
    answer = await boss.submit("/invite", invitees="nina@example.com, unknown")
    assert answer.status == 400
    assert "unknown: " in boss.text
    assert 'value="nina@example.com, unknown"' in boss.page
    assert (await boss.submit("/invite", invitees=" ,")).status == 400
    assert boss.problem == "You must specify at least one email address."
    assert (await reception.boss.get("/invites"))["invites"] == []


async def test_who_has_an_account_is_named_and_the_others_are_invited(
    reception: Reception, boss: Visitor
):
    ada = await reception.make.user()
    answer = await boss.submit("/invite", invitees=f"nina@example.com,{ada.email}")
    assert answer.status == 400
    assert "We did send invitations to everyone else!" in boss.problem
    assert f"{ada.email}: Already has an account." in boss.text
    [invited] = (await reception.boss.get("/invites"))["invites"]
    assert invited["email"] == "nina@example.com"


async def test_who_may_not_invite_sees_no_form_and_is_refused(reception: Reception, boss: Visitor):
    guest = await signed_in(
        await reception.visitor(), reception.make, await reception.make.user(role=GUEST)
    )
    assert 'action="/invite"' not in guest.page
    token = guest.cookies["csrftoken"]
    answer = await guest.post("/invite", invitees="nina@example.com", csrfmiddlewaretoken=token)
    assert answer.status == 400
    assert (await boss.post("/invite", invitees="nina@example.com")).status == 403
    assert (await reception.boss.get("/invites"))["invites"] == []


async def test_without_mail_no_user_is_invited(visitor, make, ada):
    browser = await signed_in(await visitor(), make, ada)
    assert 'action="/invite"' not in browser.page
    token = browser.cookies["csrftoken"]
    answer = await browser.post("/invite", invitees="nina@example.com", csrfmiddlewaretoken=token)
    assert answer.status == 400
