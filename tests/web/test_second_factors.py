"""Second factors: authenticator apps and recovery codes, on the account's page and at sign-in."""

import re
from urllib.parse import parse_qs, urlsplit

import pyotp
import pytest
import pytest_asyncio

from server.actions.passwords import make_password_link
from server.actions.sign_in_links import make_sign_in_token
from server.actions.user_activation import deactivate_user
from server.domain.account_news import SignedIn
from server.domain.clock import SystemClock
from server.domain.confirmations import SIGN_IN
from server.jobs import AccountEmail
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio


class Phone:
    """An authenticator app with an account's secret."""

    def __init__(self, secret):
        self.totp = pyotp.TOTP(secret)

    def code(self, steps=0):
        """The code of a time step before or after the present one."""
        return self.totp.at(SystemClock().now(), counter_offset=steps)


def secret_on(browser):
    """The secret that the page shows."""
    found = re.search(r'id="totp-secret">([A-Z2-7]+)<', browser.page)
    assert found is not None, browser.text
    return found[1]


def codes_on(browser):
    """The recovery codes that the page shows."""
    found = re.search(r'id="recovery-codes"[^>]*>([^<]*)<', browser.page)
    return found[1].split() if found else []


async def enrol(browser, *, name="Phone"):
    """Add an authenticator app on the page; return it, and the recovery codes that are shown.

    Its present code is used then.
    """
    await browser.look("/account/second-factors")
    secret = secret_on(browser)
    phone = Phone(secret)
    answer = await browser.submit(
        "/account/second-factors/totp", name=name, code=phone.code(), password=PASSWORD
    )
    assert answer.status == 200, browser.text
    assert not browser.problem
    return phone, codes_on(browser)


async def first_step(browser, email="ada@example.com", path="/login/"):
    await browser.look(path)
    answer = await browser.submit("/login/", username=email, password=PASSWORD)
    assert answer.status == 200, browser.text
    assert "parley_session" not in browser.cookies
    return answer


async def second_step(browser, code):
    return await browser.submit("/login/second-factor", code=code)


@pytest_asyncio.fixture
async def server(posting):
    return posting.server


@pytest.fixture
def enrolled(visitor, ada):
    async def enrolled():
        """Ada's browser, her phone and her recovery codes."""
        browser = await visitor()
        await browser.sign_in(ada.email, PASSWORD)
        return browser, *await enrol(browser)

    return enrolled


async def mailed(posting):
    """The mails about changes that were enqueued since; those about sign-ins are not."""
    for job in await posting.jobs():
        if isinstance(job, AccountEmail) and not isinstance(job.news, SignedIn):
            await posting.send(job)
    return posting.sink.mails


async def test_each_change_is_mailed(posting, visitor, enrolled, make):
    browser, _, codes = await enrolled()
    mails = await mailed(posting)
    assert mails[-1]["Subject"].startswith("The second factors of your account at ")
    assert '"Phone" has been added' in mails[-1].get_body(("plain",)).get_content()
    other = await visitor()
    await first_step(other)
    await second_step(other, codes[0])
    mails = await mailed(posting)
    assert "9 codes are left." in mails[-1].get_body(("plain",)).get_content()
    await browser.look("/account/second-factors")
    await browser.submit("/account/second-factors/recovery-codes", password=PASSWORD)
    mails = await mailed(posting)
    assert "has new recovery codes" in mails[-1].get_body(("plain",)).get_content()
    number = await make.connection.value("SELECT factor_id FROM second_factors")
    await browser.submit("/account/second-factors/remove", factor_id=str(number), password=PASSWORD)
    mails = await mailed(posting)
    text = mails[-1].get_body(("plain",)).get_content()
    assert '"Phone" has been removed' in text
    assert "The account now has no second factor." in text
    assert "signed out of 1 other browser" in text
    assert len(mails) == 4


async def test_with_an_authenticator_app_sign_in_takes_a_code(visitor, enrolled):
    _, phone, codes = await enrolled()
    assert len(codes) == 10
    browser = await visitor()
    answer = await first_step(browser, path="/login/?next=/account")
    assert answer.headers["Cache-Control"] == "no-store"
    answer = await second_step(browser, "000000")
    assert (answer.status, "parley_session" in browser.cookies) == (401, False)
    assert "This code is wrong, too old, or was used before." in browser.problem
    answer = await second_step(browser, f" {phone.code(1)[:3]} {phone.code(1)[3:]} ")
    assert (answer.status, answer.headers["Location"]) == (303, "/account")
    await browser.follow(answer)
    assert "Ada Lovelace" in browser.text


async def test_a_code_is_accepted_once(visitor, enrolled):
    _, phone, _ = await enrolled()
    code = phone.code(1)
    first, second = await visitor(), await visitor()
    await first_step(first)
    await first_step(second)
    assert (await second_step(first, code)).status == 303
    assert (await second_step(second, code)).status == 401
    # Neither is that of an earlier step, nor the one that enrolled the app.
    assert (await second_step(second, phone.code())).status == 401


@pytest.mark.parametrize("steps", [-3, 3])
async def test_a_clock_that_is_off_by_more_than_a_step_is_refused(visitor, enrolled, make, steps):
    _, phone, _ = await enrolled()
    await make.connection.execute("UPDATE second_factors SET last_step = 0")
    browser = await visitor()
    await first_step(browser)
    assert (await second_step(browser, phone.code(steps))).status == 401


async def test_a_clock_may_be_slow_by_a_step(visitor, enrolled, make):
    _, phone, _ = await enrolled()
    await make.connection.execute("UPDATE second_factors SET last_step = 0")
    browser = await visitor()
    await first_step(browser)
    # At worst, the step ends meanwhile.
    slow = phone.code(0) if SystemClock().now().second % 30 > 25 else phone.code(-1)
    assert (await second_step(browser, slow)).status == 303


async def test_a_recovery_code_works_once(visitor, enrolled, make):
    _, _, codes = await enrolled()
    browser = await visitor()
    await first_step(browser)
    assert (await second_step(browser, codes[0].upper().replace("-", " "))).status == 303
    await browser.look("/account/second-factors")
    assert "9 recovery codes are left." in browser.text
    other = await visitor()
    await first_step(other)
    assert (await second_step(other, codes[0])).status == 401
    assert (await second_step(other, "not-a-code-at-all")).status == 401
    assert (await second_step(other, "ä" * 40)).status == 401


async def test_new_recovery_codes_replace_the_old(visitor, enrolled):
    browser, _, codes = await enrolled()
    answer = await browser.submit("/account/second-factors/recovery-codes", password=PASSWORD)
    assert answer.status == 200
    new = codes_on(browser)
    assert not set(new) & set(codes)
    other = await visitor()
    await first_step(other)
    assert (await second_step(other, codes[1])).status == 401
    assert (await second_step(other, new[1])).status == 303


async def test_secrets_and_codes_are_not_kept_readably(enrolled, make):
    _, phone, codes = await enrolled()
    kept = await make.connection.value(
        """
        SELECT (SELECT string_agg(f::text, ' ') FROM second_factors f)
            || (SELECT string_agg(c::text, ' ') FROM recovery_codes c)
        """
    )
    for each in (phone.totp.secret, *codes):
        assert each not in kept
        assert each.encode().hex() not in kept


async def test_another_users_row_decrypts_to_nothing(visitor, enrolled, make):
    _, phone, _ = await enrolled()
    bob = await make.user("Bob", email="bob@example.com")
    await give_password(make, bob)
    await make.connection.execute(
        "UPDATE second_factors SET user_id = %(bob)s, last_step = 0", bob=bob.user_id
    )
    browser = await visitor()
    await first_step(browser, bob.email)
    assert (await second_step(browser, phone.code())).status == 401


async def test_adding_ends_other_sessions_and_is_recorded_and_not_the_key(visitor, ada, make):
    other, browser = await visitor(), await visitor()
    await other.sign_in(ada.email, PASSWORD)
    await browser.sign_in(ada.email, PASSWORD)
    await enrol(browser)
    assert (await other.look("/account")).status == 303
    assert (await browser.look("/account")).status == 200
    key, actions = (
        await make.connection.value(
            "SELECT api_key FROM users WHERE user_id = %(id)s", id=ada.user_id
        ),
        await make.connection.values("SELECT action FROM audit_log ORDER BY audit_id"),
    )
    assert key == ada.api_key
    assert actions == ["user_second_factor_added"]


async def test_a_wrong_code_or_password_adds_nothing(visitor, ada, make):
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    await browser.look("/account/second-factors")
    secret = secret_on(browser)
    answer = await browser.submit("/account/second-factors/totp", code="123", password=PASSWORD)
    assert (answer.status, "This code is wrong" in browser.problem) == (401, True)
    assert secret in browser.page
    code = Phone(secret).code()
    assert (
        await browser.submit("/account/second-factors/totp", code=code, password="no")
    ).status == 400
    answer = await browser.submit(
        "/account/second-factors/totp", code=code, password=PASSWORD, enrolment="x"
    )
    assert "Scan the new code." in browser.problem
    assert await make.connection.value("SELECT count(*) FROM second_factors") == 0


async def test_one_enrolment_of_two_that_began_at_once_succeeds(visitor, ada, make):
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    phone, _ = await enrol(browser)
    # A second app is another factor, without new recovery codes.
    other, codes = await enrol(browser, name="Tablet")
    assert codes == []
    assert phone.totp.secret != other.totp.secret
    names = await make.connection.values("SELECT name FROM second_factors ORDER BY factor_id")
    assert names == ["Phone", "Tablet"]


async def test_changes_of_factors_need_a_recent_sign_in(enrolled, make):
    browser, _, _ = await enrolled()
    await make.connection.execute("UPDATE sessions SET began_at = now() - interval '11 minutes'")
    await browser.look("/account/second-factors")
    assert "You signed in more than ten minutes ago." in browser.text
    number = await make.connection.value("SELECT factor_id FROM second_factors")
    answer = await browser.submit(
        "/account/second-factors/remove", factor_id=str(number), password=PASSWORD
    )
    assert answer.status == 400
    assert "Sign in again" in browser.problem
    assert await make.connection.value("SELECT count(*) FROM second_factors") == 1


async def test_without_the_last_factor_the_password_suffices(visitor, enrolled, make):
    browser, _, _ = await enrolled()
    number = await make.connection.value("SELECT factor_id FROM second_factors")
    for wrong in ("", "x", "9" * 30, str(number + 1)):
        answer = await browser.submit(
            "/account/second-factors/remove", factor_id=wrong, password=PASSWORD
        )
        assert answer.status == 400
    answer = await browser.submit(
        "/account/second-factors/remove", factor_id=str(number), password=PASSWORD
    )
    assert answer.status == 303
    await browser.follow(answer)
    assert "The second factor has been removed." in browser.text
    assert await make.connection.value("SELECT count(*) FROM recovery_codes") == 0
    other = await visitor()
    await other.sign_in("ada@example.com", PASSWORD)


async def test_a_change_of_the_credentials_ends_a_sign_in_half_way(visitor, enrolled):
    browser, phone, _ = await enrolled()
    half = await visitor()
    await first_step(half)
    await browser.look("/account")
    new = "quite another password"
    await browser.submit("/account/password", password=PASSWORD, new_password=new)
    answer = await second_step(half, phone.code(1))
    assert (answer.status, answer.headers["Location"]) == (303, "/login/?done=late")
    await half.follow(answer)
    assert "That took too long. Sign in again." in half.text


async def test_a_deactivated_account_does_not_finish(visitor, enrolled, ada, server, make):
    _, phone, _ = await enrolled()
    half = await visitor()
    await first_step(half)
    writer, now = server.app.writers.of(make.realm_id), server.app.clock.now()
    await writer.write(lambda tx: deactivate_user(tx, ada.user_id, now=now))
    answer = await second_step(half, phone.code(1))
    assert answer.headers["Location"] == "/login/?done=late"


async def test_a_sign_in_of_another_realm_is_none_here(visitor, enrolled, server, connect, make):
    _, phone, _ = await enrolled()
    other = await new_realm(make.connection)
    half, elsewhere = await visitor(), Visitor(await connect(server, other.realm_id))
    await first_step(half)
    state = half.forms()[0].fields["unfinished"]
    await elsewhere.look("/login/")
    token = elsewhere.forms()[0].fields["csrfmiddlewaretoken"]
    answer = await elsewhere.post(
        "/login/second-factor", csrfmiddlewaretoken=token, unfinished=state, code=phone.code(1)
    )
    assert answer.headers["Location"] == "/login/?done=late"


@pytest.mark.parametrize("state", ["", "x", "a.b.c"])
async def test_a_made_up_sign_in_is_none(visitor, enrolled, state):
    await enrolled()
    half = await visitor()
    await first_step(half)
    answer = await half.submit("/login/second-factor", unfinished=state, code="123456")
    assert answer.headers["Location"] == "/login/?done=late"
    assert (await half.look("/login/second-factor")).headers["Location"] == "/login/"


async def test_a_sign_in_ends_once(visitor, enrolled):
    _, phone, codes = await enrolled()
    half = await visitor()
    await first_step(half)
    form = half.forms()[0].fields
    assert (await second_step(half, phone.code(1))).status == 303
    await half.look("/account")
    token = half.forms()[0].fields["csrfmiddlewaretoken"]
    answer = await half.post(
        "/login/second-factor",
        csrfmiddlewaretoken=token,
        unfinished=form["unfinished"],
        code=codes[0],
    )
    assert answer.headers["Location"] == "/login/?done=late"


async def test_a_mobile_app_gets_its_key_after_the_second_step(visitor, enrolled, ada):
    _, phone, _ = await enrolled()
    browser = await visitor()
    answer = await first_step(browser, path=f"/login/?mobile_flow_otp={'0' * 64}")
    assert "form-action 'self' zulip:;" in answer.headers["Content-Security-Policy"]
    answer = await second_step(browser, phone.code(1))
    place = urlsplit(answer.headers["Location"])
    assert place.scheme == "zulip"
    sent = parse_qs(place.query)["otp_encrypted_api_key"][0]
    assert bytes.fromhex(sent).decode() == ada.api_key


async def test_a_desktop_app_gets_its_token_after_the_second_step(visitor, enrolled):
    _, phone, _ = await enrolled()
    browser = await visitor()
    await first_step(browser, path=f"/login/?desktop_flow_otp={'0' * 64}")
    assert (await second_step(browser, phone.code(1))).status == 200
    assert "script" in browser.page
    assert "parley_session" not in browser.cookies


async def test_a_sign_in_link_stands_for_the_password_alone(visitor, enrolled, ada, server, make):
    _, phone, _ = await enrolled()
    writer = server.app.writers.of(make.realm_id)
    token = await writer.write(lambda tx: make_sign_in_token(tx, ada.user_id, purpose=SIGN_IN))
    browser = await visitor()
    await browser.look("/sign-in-link/")
    assert (await browser.submit("/sign-in-link/", token=token)).status == 200
    assert "parley_session" not in browser.cookies
    assert (await second_step(browser, phone.code(1))).status == 303


async def test_a_new_password_does_not_replace_the_second_factor(visitor, enrolled, server, make):
    await enrolled()
    writer = server.app.writers.of(make.realm_id)
    path = await writer.write(lambda tx: make_password_link(tx, "ada@example.com"))
    browser = await visitor()
    await browser.look(path)
    new = "quite another password"
    assert (await browser.submit(path, new_password=new)).status == 303
    await browser.look("/login/")
    answer = await browser.submit("/login/", username="ada@example.com", password=new)
    assert (answer.status, "parley_session" in browser.cookies) == (200, False)
    assert "Second factor" in browser.text


async def test_codes_are_counted_by_account_whatever_the_address(serving_with, make, connect, ada):
    async with serving_with(rate_limits=True, rate_limit_second_factor="3/300, 9/86400") as server:
        owner = Visitor(await connect(server, make.realm_id))
        await owner.sign_in(ada.email, PASSWORD)
        phone, _ = await enrol(owner)
        for _ in range(2):
            browser = Visitor(await connect(server, make.realm_id))
            await first_step(browser)
            await second_step(browser, "000000")
        browser = Visitor(await connect(server, make.realm_id))
        await first_step(browser)
        answer = await second_step(browser, phone.code(1))
        assert answer.status == 429
        assert browser.problem.startswith("Too many tries.")


async def test_a_password_fetches_no_key_of_an_account_with_a_factor(spectator, enrolled):
    client = await spectator()
    sent = {"username": "ada@example.com", "password": PASSWORD}
    await enrolled()
    refused = await client.call("POST", "/fetch_api_key", **sent)
    body = refused.body
    assert (refused.status, body["code"]) == (403, "SECOND_FACTOR_REQUIRED")
    assert body["login_url"].endswith("/login/")
    wrong = await client.call("POST", "/fetch_api_key", **sent | {"password": "wrong"})
    assert wrong.status == 401
    settings = (await client.call("GET", "/server_settings")).succeeded()
    [way] = settings["external_authentication_methods"]
    assert (way["name"], way["login_url"]) == ("browser", "/login/")


# -- where the organization requires one


async def require(make, server, of="everyone", days=0, **more):
    await make.change_settings(second_factor_required_of=of, second_factor_grace_days=days, **more)
    server.forget(make.realm_id)


async def test_without_the_required_factor_it_is_set_up_to_sign_in(visitor, ada, make, server):
    await require(make, server)
    browser = await visitor()
    await first_step(browser, path="/login/?next=/account")
    assert "Your organization requires a second factor." in browser.text
    phone = Phone(secret_on(browser))
    answer = await browser.submit("/login/second-factor/set-up", code="000000")
    assert (answer.status, "This code is wrong" in browser.problem) == (401, True)
    before = browser.forms()[0].fields["unfinished"]
    answer = await browser.submit("/login/second-factor/set-up", code=phone.code())
    assert (answer.status, len(codes_on(browser))) == (200, 10)
    assert "parley_session" not in browser.cookies
    fields = browser.forms()[0].fields
    path = "/login/second-factor/done"
    answer = await browser.post(path, **fields | {"unfinished": before})
    assert answer.headers["Location"] == "/login/?done=late"
    answer = await browser.post("/login/second-factor/done", **fields)
    assert (answer.status, answer.headers["Location"]) == (303, "/account")
    assert await make.connection.value("SELECT ends_at - began_at > '1 day' FROM sessions")
    # What was half-finished before sets nothing up any more.
    answer = await browser.post("/login/second-factor/set-up", unfinished=before)
    assert answer.status != 200


async def test_an_unfinished_sign_in_with_a_factor_is_not_done(visitor, enrolled):
    await enrolled()
    browser = await visitor()
    await first_step(browser)
    fields = browser.forms()[0].fields
    answer = await browser.post("/login/second-factor/done", **fields)
    assert answer.headers["Location"] == "/login/?done=late"
    await browser.post("/login/second-factor/set-up", **fields)
    assert "parley_session" not in browser.cookies


async def test_within_the_grace_period_sessions_end_with_it(visitor, ada, make, server):
    await require(make, server, days=3)
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    assert await make.connection.value(
        "SELECT abs(extract(epoch FROM ends_at - now()) - 3 * 86400) < 60 FROM sessions"
    )
    await make.connection.execute("UPDATE second_factor_deadlines SET ends_at = now()")
    other = await visitor()
    await first_step(other)
    assert "Set up your second factor" in other.text


async def test_only_the_named_roles_need_one(visitor, ada, make, server):
    await require(make, server, of="administrators")
    browser = await visitor()
    await browser.sign_in(ada.email, PASSWORD)
    assert await make.connection.value("SELECT count(*) FROM second_factor_deadlines") == 0


async def test_the_last_factor_stays_while_it_is_required(visitor, enrolled, make, server):
    browser, _, _ = await enrolled()
    await require(make, server)
    number = await make.connection.value("SELECT factor_id FROM second_factors")
    await browser.look("/account/second-factors")
    path = "/account/second-factors/remove"
    answer = await browser.submit(path, factor_id=str(number), password=PASSWORD)
    assert answer.status == 400
    assert "add another one before you remove this one" in browser.problem


async def test_a_password_fetches_no_key_where_a_factor_is_missing(spectator, ada, make, server):
    client = await spectator()
    sent = {"username": ada.email, "password": PASSWORD}
    await require(make, server, days=1)
    assert (await client.call("POST", "/fetch_api_key", **sent)).status == 200
    await require(make, server)
    assert (await client.call("POST", "/fetch_api_key", **sent)).status == 403
