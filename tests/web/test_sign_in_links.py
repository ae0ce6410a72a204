"""Links that sign in once: printed by a command, and spent by a form."""

import pytest

from server.actions.passwords import give_password as set_password
from server.actions.sign_in_links import make_sign_in_token
from server.actions.user_activation import deactivate_user
from server.domain.addresses import is_loopback
from server.domain.bots import GENERIC
from server.domain.confirmations import SIGN_IN, SIGN_IN_HERE
from server.domain.errors import BadRequestError
from testkit.clients.page_client import Visitor
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

LOCAL = {"Host": "localhost:9991"}


@pytest.fixture
def token_for(server, make):
    async def token_for(user, purpose=SIGN_IN, realm_id=None):
        writer = server.app.writers.of(realm_id or make.realm_id)
        return await writer.write(lambda tx: make_sign_in_token(tx, user.user_id, purpose=purpose))

    return token_for


async def spend(browser: Visitor, token: str, **fields: str):
    await browser.look("/sign-in-link/")
    return await browser.submit("/sign-in-link/", token=token, **fields)


async def test_a_link_signs_in_once(visitor, ada, make, token_for):
    token = await token_for(ada)
    kept = await make.connection.value("SELECT confirmations::text FROM confirmations")
    assert token not in kept
    browser = await visitor()
    answer = await browser.look("/sign-in-link/")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "script-src 'self';" in answer.headers["Content-Security-Policy"]
    assert '<script type="module" src="/static/sign-in-link.js?v=' in browser.page
    answer = await browser.submit("/sign-in-link/", token=token)
    assert (answer.status, answer.headers["Location"]) == (303, "/")
    await browser.look("/account")
    assert "Ada Lovelace" in browser.text

    second = await visitor()
    assert (await spend(second, token)).status == 401
    assert second.problem.startswith("This link was used already, or it is too old.")
    assert "`parley user sign-in-link`" in second.problem
    assert (await second.look("/account")).status == 303


async def test_a_link_may_be_pasted_as_a_whole(visitor, ada, token_for):
    browser = await visitor()
    link = f" https://chat.example.com/sign-in-link/#{await token_for(ada)}\n"
    assert (await spend(browser, link)).status == 303


@pytest.mark.parametrize("token", ["", "x", "x" * 5_000, "#", "ä", "../"])
async def test_what_is_no_token_is_refused(visitor, token):
    browser = await visitor()
    assert (await spend(browser, token)).status == 401
    assert "used already" in browser.problem


async def test_a_link_is_too_old_after_ten_minutes(visitor, ada, make, token_for):
    token = await token_for(ada)
    await make.connection.execute(
        "UPDATE confirmations SET ends_at = ends_at - make_interval(secs => 601)"
    )
    assert (await spend(await visitor(), token)).status == 401


async def test_a_link_is_good_for_nine_minutes(visitor, ada, make, token_for):
    token = await token_for(ada)
    await make.connection.execute(
        "UPDATE confirmations SET ends_at = ends_at - make_interval(secs => 540)"
    )
    assert (await spend(await visitor(), token)).status == 303


async def test_a_link_of_another_organization_opens_nothing(visitor, make, token_for):
    other = await new_realm(make.connection)
    token = await token_for(await other.user("Eve"), realm_id=other.realm_id)
    assert (await spend(await visitor(), token)).status == 401


async def test_a_link_ends_with_the_credentials_that_it_stands_for(
    visitor, ada, make, server, token_for
):
    token = await token_for(ada)
    writer = server.app.writers.of(make.realm_id)
    await writer.write(lambda tx: set_password(tx, ada.email, "a hash"))
    assert (await spend(await visitor(), token)).status == 401


async def test_the_link_of_a_deactivated_account_opens_nothing(
    visitor, ada, make, server, token_for
):
    token = await token_for(ada)
    writer, now = server.app.writers.of(make.realm_id), server.app.clock.now()
    await writer.write(lambda tx: deactivate_user(tx, ada.user_id, by=None, now=now))
    assert (await spend(await visitor(), token)).status == 401


async def test_a_deactivated_organization_lets_no_link_in(visitor, ada, make, server, token_for):
    token = await token_for(ada)
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(id)s", id=make.realm_id
    )
    server.forget(make.realm_id)
    browser = await visitor()
    assert (await spend(browser, token)).status == 401
    assert browser.problem == "This organization has been deactivated"


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "chat.example.com"},
        {**LOCAL, "X-Forwarded-For": "127.0.0.1"},
        {**LOCAL, "X-Real-IP": "127.0.0.1"},
        {**LOCAL, "Forwarded": "for=127.0.0.1"},
        {**LOCAL, "Via": "1.1 proxy"},
        {"Host": "localhost.example.com"},
    ],
)
async def test_a_link_for_this_machine_is_spent_only_there(
    serving_with, connect, ada, make, headers
):
    await make.connection.execute(
        "UPDATE realms SET subdomain = '' WHERE realm_id = %(id)s", id=make.realm_id
    )
    async with serving_with(root_domain=None) as server:
        token = await server.app.writers.of(make.realm_id).write(
            lambda tx: make_sign_in_token(tx, ada.user_id, purpose=SIGN_IN_HERE)
        )
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/sign-in-link/")
        form = {**browser.forms()[0].fields, "token": token}
        answer = await browser.send_form("/sign-in-link/", form, headers=headers)
        assert answer.status == 401
        assert browser.problem.startswith("This link works only on the machine")
        await browser.look("/sign-in-link/")
        form = {**browser.forms()[0].fields, "token": token}
        answer = await browser.send_form("/sign-in-link/", form, headers=LOCAL)
        assert answer.status == 303


async def test_tries_are_counted_by_address(serving_with, connect, ada, make):
    async with serving_with(rate_limits=True, rate_limit_sign_in="2/600") as server:
        browser = Visitor(await connect(server, make.realm_id))
        for _ in range(2):
            assert (await spend(browser, "wrong")).status == 401
        token = await server.app.writers.of(make.realm_id).write(
            lambda tx: make_sign_in_token(tx, ada.user_id, purpose=SIGN_IN)
        )
        assert (await spend(browser, token)).status == 429
        assert browser.problem.startswith("Too many tries. Try again in ")


async def test_a_form_of_another_site_signs_no_user_in(visitor, ada, token_for):
    browser = await visitor()
    await browser.look("/sign-in-link/")
    answer = await browser.post("/sign-in-link/", token=await token_for(ada))
    assert answer.status == 403


async def test_making_and_using_a_link_is_recorded(visitor, ada, make, token_for):
    await spend(await visitor(), await token_for(ada))
    rows = await make.connection.tuples(
        "SELECT actor_id, action, subject_id, after FROM audit_log ORDER BY audit_id"
    )
    assert rows == [
        (None, "user_sign_in_link_made", ada.user_id, {"purpose": "sign_in"}),
        (ada.user_id, "user_sign_in_link_used", ada.user_id, {"purpose": "sign_in"}),
    ]


async def test_bots_and_deactivated_accounts_get_no_link(make, token_for, ada):
    bot = await make.user(bot_type=GENERIC, bot_owner=ada)
    with pytest.raises(BadRequestError, match="Bots do not sign in"):
        await token_for(bot)
    gone = await make.user(is_active=False)
    with pytest.raises(BadRequestError, match="is deactivated"):
        await token_for(gone)


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("LOCALHOST:9991", True),
        ("first.localhost:9991", True),
        ("127.0.0.1", True),
        ("127.8.9.1:80", True),
        ("::1", True),
        ("[::1]:9991", True),
        ("::ffff:127.0.0.1", True),
        ("", False),
        ("0.0.0.0", False),
        ("192.0.2.7:80", False),
        ("[2001:db8::1]:80", False),
        ("localhost.example.com", False),
        ("localhost@example.com", False),
        ("[", False),
        ("notlocalhost", False),
    ],
)
async def test_which_hosts_are_this_machine(host, expected):
    assert is_loopback(host) == expected
