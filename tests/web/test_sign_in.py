"""Signing in with a browser, and out: sessions, cookies, forms."""

import pytest

from server.actions.credential_changes import Proof
from server.actions.user_activation import deactivate_user
from server.actions.user_settings import NewPassword, OwnChange, change_own_settings
from server.domain.sessions import digest_of
from storage import sessions
from testkit.clients.page_client import PASSWORD, Visitor, give_password
from testkit.clients.server import ROOT_DOMAIN
from testkit.factories import new_realm

pytestmark = pytest.mark.asyncio

NEW = "another good password"


async def signed_in(visitor, row) -> Visitor:
    found: Visitor = await visitor()
    await found.sign_in(row.email, PASSWORD)
    return found


async def kept(make):
    """Who has a session, by the digests that are kept."""
    rows = await make.connection.tuples(
        "SELECT token_digest, user_id FROM sessions WHERE realm_id = %(realm_id)s",
        realm_id=make.realm_id,
    )
    return dict(rows)


async def test_a_user_signs_in_sees_where_they_are_and_signs_out(visitor, ada, make):
    browser = await visitor()
    assert (await browser.look("/")).headers["Location"] == "/login/"
    await browser.look("/login/")
    before = dict(browser.cookies)
    answer = await browser.submit("/login/", username=" ADA@example.com ", password=PASSWORD)
    assert (await browser.follow(answer)).status == 200
    assert "You are signed in" in browser.text
    assert "Ada Lovelace" in browser.text
    assert set(before) == {"parley_visitor"}
    assert set(browser.cookies) == {"parley_session", "csrftoken", "parley_known"}

    token = browser.cookies["parley_session"]
    assert await kept(make) == {digest_of(token): ada.user_id}
    answer = await browser.submit("/logout")
    assert answer.headers["Location"] == "/login/"
    assert await kept(make) == {}
    browser.cookies["parley_session"] = token
    assert (await browser.look("/")).headers["Location"] == "/login/"


async def test_cookies_are_for_this_host_and_not_for_scripts(serving_with, make, connect, ada):
    async with serving_with(external_url="https://chat.example.com") as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/login/")
        answer = await browser.submit("/login/", username=ada.email, password=PASSWORD)
        session, form, visitor, known = answer.headers.get_list("Set-Cookie")
        assert "; HttpOnly" in known
        for line in (session, form, visitor, known):
            assert line.startswith("__Host-")
            assert {"Path=/", "SameSite=Lax", "Secure"} <= set(line.split("; "))
        assert "; HttpOnly" in session
        assert "Max-Age=1209600" in session
        assert (await browser.follow(answer)).status == 200


async def test_each_sign_in_begins_anew(visitor, ada, make):
    browser = await signed_in(visitor, ada)
    first = browser.cookies["parley_session"]
    await browser.look("/login/?mobile_flow_otp=" + "0" * 64)
    await browser.post("/login/", csrfmiddlewaretoken=browser.cookies["csrftoken"],
                       username=ada.email, password=PASSWORD)  # fmt: skip
    assert browser.cookies["parley_session"] != first
    assert set(await kept(make)) == {digest_of(browser.cookies["parley_session"])}


@pytest.mark.parametrize(
    ("username", "password"),
    [("ada@example.com", "wrong"), ("nobody@example.com", PASSWORD), ("", "")],
)
async def test_who_does_not_know_the_password_stays_outside(visitor, ada, username, password):
    browser = await visitor()
    await browser.look("/login/")
    answer = await browser.submit("/login/", username=username, password=password)
    assert answer.status == 401
    assert browser.problem == "The email address or the password is incorrect."
    assert "parley_session" not in browser.cookies
    assert PASSWORD not in browser.page


async def test_tries_are_counted_by_name(serving_with, make, connect, ada):
    async with serving_with(rate_limits=True, rate_limit_sign_in="2/600") as server:
        browser = Visitor(await connect(server, make.realm_id))
        for _ in range(2):
            await browser.look("/login/")
            await browser.submit("/login/", username=ada.email, password="wrong")
        await browser.look("/login/")
        answer = await browser.submit("/login/", username=ada.email, password=PASSWORD)
        assert answer.status == 429
        assert browser.problem.startswith("Too many tries. Try again in ")


@pytest.mark.parametrize(
    "fields", [{}, {"csrfmiddlewaretoken": "0" * 64}, {"csrfmiddlewaretoken": "ä"}]
)
async def test_a_form_that_we_have_not_shown_is_refused(visitor, ada, make, fields):
    browser = await visitor()
    await browser.look("/login/")
    answer = await browser.post("/login/", username=ada.email, password=PASSWORD, **fields)
    assert answer.status == 403
    assert "too old" in browser.problem
    assert await kept(make) == {}


async def test_a_form_shown_to_another_visitor_is_refused(visitor, ada):
    one, other = await visitor(), await visitor()
    await one.look("/login/")
    await other.look("/login/")
    token = one.forms()[0].fields["csrfmiddlewaretoken"]
    answer = await other.post(
        "/login/", csrfmiddlewaretoken=token, username=ada.email, password=PASSWORD
    )
    assert answer.status == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "https://e.com"},
    ],
)
async def test_a_form_that_another_site_sends_is_refused(visitor, ada, headers):
    browser = await signed_in(visitor, ada)
    body = f"csrfmiddlewaretoken={browser.cookies['csrftoken']}".encode()
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    answer = await browser.send("POST", "/logout", body=body, headers=form)
    assert answer.status == 403
    assert (await browser.look("/")).status == 200


@pytest.mark.parametrize(
    ("wanted", "place"),
    [
        ("/account?a=b", "/account?a=b"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("https://evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        ("/\t/evil.example", "/"),
        ("/%0d%0aSet-Cookie:a=b", "/%0d%0aSet-Cookie:a=b"),
        ("evil", "/"),
        ("/" + "x" * 3000, "/"),
    ],
)
async def test_one_comes_back_to_this_very_address(visitor, ada, wanted, place):
    browser = await visitor()
    await browser.look("/login/")
    answer = await browser.submit("/login/", username=ada.email, password=PASSWORD, next=wanted)
    assert answer.headers["Location"] == place


async def test_a_session_is_good_in_its_own_organization_only(visitor, ada, server, make, connect):
    other = await new_realm(make.connection)
    browser = await signed_in(visitor, ada)
    browser.client = await connect(server, other.realm_id)
    assert (await browser.look("/")).headers["Location"] == "/login/"
    (await browser.send("GET", "/json/users/me")).refused("UNAUTHORIZED", 401)


async def test_a_session_ends_by_itself(visitor, ada, make):
    browser = await signed_in(visitor, ada)
    await make.connection.execute(
        "UPDATE sessions SET ends_at = now() WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    assert (await browser.look("/")).headers["Location"] == "/login/"
    (await browser.send("GET", "/json/users/me")).refused("UNAUTHORIZED", 401)


async def test_a_deactivated_user_has_no_session_any_more(visitor, ada, server, make):
    await make.user(role=100)
    browser = await signed_in(visitor, ada)
    now = server.app.clock.now()
    writer = server.app.writers.of(make.realm_id)
    await writer.write(lambda tx: deactivate_user(tx, ada.user_id, now=now))
    assert (await browser.look("/")).headers["Location"] == "/login/"
    assert (await browser.send("GET", "/json/users/me")).status == 401
    assert await kept(make) == {}
    await browser.look("/login/")
    await browser.submit("/login/", username=ada.email, password=PASSWORD)
    assert browser.problem == "Account is deactivated"


async def test_a_deactivated_organization_signs_no_user_in(visitor, ada, make, server):
    browser = await signed_in(visitor, ada)
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    server.forget(make.realm_id)
    assert (await browser.look("/")).headers["Location"] == "/login/"
    await browser.look("/login/")
    await browser.submit("/login/", username=ada.email, password=PASSWORD)
    assert browser.problem == "This organization has been deactivated"


async def test_another_password_ends_all_other_sessions(visitor, ada, make):
    here, elsewhere = await signed_in(visitor, ada), await signed_in(visitor, ada)
    answer = await here.send(
        "PATCH",
        "/json/settings",
        body=f"old_password={PASSWORD}&new_password={NEW}".replace(" ", "+").encode(),
        headers={
            "Content-Type": "application/x-www-form-urlencoded",
            "X-CSRFToken": here.cookies["csrftoken"],
        },
    )
    answer.succeeded()
    assert (await here.look("/")).status == 200
    assert (await elsewhere.look("/")).headers["Location"] == "/login/"


async def test_another_password_by_api_key_ends_all_sessions(visitor, ada, server, make):
    browser = await signed_in(visitor, ada)
    actor = await make.actor(ada)
    new = NewPassword(await server.app.passwords.hash(NEW), Proof(None))
    change = OwnChange(password=new)
    writer = server.app.writers.of(make.realm_id)
    await writer.write(lambda tx: change_own_settings(tx, actor, change))
    assert (await browser.look("/")).headers["Location"] == "/login/"


# -- the API with a session


@pytest.mark.parametrize("prefix", ["/json", "/api/v1"])
async def test_a_session_opens_the_api(visitor, ada, prefix):
    browser = await signed_in(visitor, ada)
    body = (await browser.send("GET", f"{prefix}/users/me")).succeeded()
    assert body["user_id"] == ada.user_id
    assert "ignored_parameters_unsupported" not in body


async def test_changes_with_a_session_need_its_token(visitor, ada):
    browser = await signed_in(visitor, ada)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    token = browser.cookies["csrftoken"]
    for headers in (form, {**form, "X-CSRFToken": "0" * 64}):
        answer = await browser.send(
            "PATCH", "/json/settings", body=b"timezone=Europe/Berlin", headers=headers
        )
        answer.refused("CSRF_FAILED", 403)
    for body, headers in (
        (b"timezone=Europe/Berlin", {**form, "X-CSRFToken": token}),
        (f"timezone=Europe/Paris&csrfmiddlewaretoken={token}".encode(), form),
    ):
        answer = await browser.send("PATCH", "/json/settings", body=body, headers=headers)
        assert "ignored_parameters_unsupported" not in answer.succeeded()


async def test_without_a_session_browsers_are_not_asked_for_a_password(visitor):
    browser = await visitor()
    by_key, by_session = [
        (await browser.send("GET", f"{prefix}/users/me")).headers["WWW-Authenticate"]
        for prefix in ("/api/v1", "/json")
    ]
    assert (by_key, by_session) == ('Basic realm="zulip"', 'Session realm="zulip"')


async def test_an_api_key_outweighs_a_session(visitor, ada, make, log_in):
    browser = await signed_in(visitor, ada)
    browser.client = await log_in(await make.user("Bob"))
    assert (await browser.send("GET", "/json/users/me")).succeeded()["full_name"] == "Bob"


async def test_a_page_takes_no_api_key(visitor, ada, log_in):
    browser = await visitor()
    browser.client = await log_in(ada)
    assert (await browser.look("/")).headers["Location"] == "/login/"


async def test_sessions_of_a_user_are_limited(connection, make, ada):
    digests = [digest_of(str(i)) for i in range(sessions.MAX_SESSIONS + 3)]
    for digest in digests:
        await sessions.insert(
            make.connection, make.realm_id, ada.user_id, digest, user_agent="", seconds=60
        )
    rows = await sessions.of_user(make.connection, make.realm_id, ada.user_id)
    assert len(rows) == sessions.MAX_SESSIONS
    assert digests[-1] in {row.token_digest for row in rows}


# -- apps on phones


async def test_an_app_gets_its_key_from_the_browser(visitor, ada, server, make):
    otp = "5c" * 32
    browser = await visitor()
    answer = await browser.look(f"/login/?mobile_flow_otp={otp}")
    assert "form-action 'self' zulip:;" in answer.headers["Content-Security-Policy"]
    answer = await browser.submit("/login/", username=ada.email, password=PASSWORD)
    scheme, _, rest = answer.headers["Location"].partition("?")
    assert scheme == "zulip://login"
    fields = dict(pair.split("=") for pair in rest.split("&"))
    encrypted = bytes.fromhex(fields.pop("otp_encrypted_api_key"))
    assert bytes(a ^ 0x5C for a in encrypted).decode() == ada.api_key
    url = (await server.app.realm_caches.of(make.realm_id).address()).url
    quoted = url.replace(":", "%3A").replace("/", "%2F")
    expected = {"realm": quoted, "email": "ada%40example.com", "user_id": str(ada.user_id)}
    assert fields == expected
    assert "parley_session" not in browser.cookies


@pytest.mark.parametrize("otp", ["5c", "zz" * 32, "5c" * 33])
async def test_a_pad_that_is_none_is_refused(visitor, ada, otp):
    browser = await visitor()
    assert (await browser.look(f"/login/?mobile_flow_otp={otp}")).status == 400
    assert "Invalid OTP" in browser.problem
    await browser.look("/login/")
    answer = await browser.submit(
        "/login/", username=ada.email, password=PASSWORD, mobile_flow_otp=otp
    )
    assert answer.status == 400


# -- pages in general


async def test_pages_can_be_shown_nowhere_else_and_run_nothing_of_others(visitor):
    answer = await (await visitor()).look("/login/")
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self';")
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["X-Frame-Options"] == "DENY"
    assert answer.headers["Cache-Control"] == "no-store"


async def test_what_goes_wrong_is_told_on_a_page_to_people_and_in_json_to_programs(visitor):
    browser = await visitor()
    assert (await browser.look("/nothing")).status == 404
    assert browser.problem == "Page not found."
    answer = await browser.look("/nothing", headers={"Accept": "application/json"})
    answer.refused("BAD_REQUEST", 404)
    assert (await browser.post("/")).status == 405
    assert browser.problem == "Method Not Allowed"


async def test_an_organization_that_is_not_there_has_a_page_too(visitor, server):
    browser = await visitor()
    host = {"Host": f"unknown.{ROOT_DOMAIN}"}
    assert (await browser.look("/login/", headers=host)).status == 404
    assert browser.problem == "There is no organization at this address."


async def test_what_pages_load_is_kept_until_it_changes(visitor):
    browser = await visitor()
    await browser.look("/login/")
    [url] = {part.split('"')[0] for part in browser.page.split('href="') if ".css" in part[:40]}
    answer = await browser.look(url)
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert "immutable" in answer.headers["Cache-Control"]
    assert (await browser.look("/static/nothing.css")).status == 404


async def test_null_characters_are_refused(visitor):
    browser = await visitor()
    assert (await browser.look("/login/?next=%00")).status == 400
    await browser.look("/login/")
    assert (await browser.submit("/login/", username="a\0b", password="c")).status == 400


async def test_names_are_no_html(visitor, make, ada, server):
    await make.connection.execute(
        "UPDATE realms SET name = '<script>alert(1)</script>' WHERE realm_id = %(realm_id)s",
        realm_id=make.realm_id,
    )
    server.forget(make.realm_id)
    browser = await visitor()
    await browser.look("/login/?next=%22%3E%3Cscript%3E")
    assert "<script>" not in browser.page
    await browser.submit("/login/", username='"><script>', password="x")
    assert "<script>" not in browser.page


async def test_no_password_and_no_token_is_logged(visitor, ada, capfd):
    browser = await signed_in(visitor, ada)
    token = browser.cookies["parley_session"]
    await browser.look("/")
    await browser.submit("/logout")
    await browser.look("/login/")
    await browser.submit("/login/", username=ada.email, password="wrong canary")
    told = "".join(capfd.readouterr())
    assert "wrong canary" not in told
    assert token not in told


async def test_who_has_a_password_twice_is_who_they_say(visitor, ada, make):
    bob = await make.user("Bob", email="bob@example.com")
    await give_password(make, bob)
    browser = await signed_in(visitor, bob)
    assert (await browser.send("GET", "/json/users/me")).succeeded()["user_id"] == bob.user_id


async def test_the_first_session_of_an_imported_person_begins_the_account(
    visitor, make, log_in
):  # levels 433 and 475
    stub = await make.user("Ada", email="ada@example.com", stub="imported")
    await give_password(make, stub)
    other = await log_in()
    queue = await other.register(event_types=["realm_user"])
    browser = await visitor()
    await browser.look("/login/")
    await browser.submit("/login/", username=stub.email, password="wrong")
    assert await queue.poll(dont_block=True) == []
    for _ in range(2):
        await signed_in(visitor, stub)
    changes = [each["person"] for each in await queue.poll()]
    assert [sorted(each) for each in changes] == [
        ["is_imported_stub", "user_id"],
        ["date_joined", "user_id"],
    ]
    assert list((await kept(make)).values()) == [stub.user_id] * 2
