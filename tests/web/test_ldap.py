"""Signing in with the name and password of a directory, which is a real one."""

import asyncio

import pytest
import pytest_asyncio

import server.identity.ldap
from server.domain.access import MODERATOR
from server.identity.ldap import MAX_PASSWORD_LENGTH
from storage import realm_domains, second_factors, users
from storage.realm_domains import DomainRow
from testkit.clients.invitations import invite
from testkit.clients.ldap_server import SECRET
from testkit.clients.page_client import PASSWORD, Visitor
from testkit.factories import JOINED
from testkit.services.ldap import GROUPS, PEOPLE, READER, READER_PASSWORD

pytestmark = pytest.mark.asyncio

WRONG = "Your username or password is incorrect"


@pytest_asyncio.fixture
async def ask(asking, ldap_search, of_directory):
    async with asking(ldap_search) as asked:
        yield asked


async def names(make) -> dict[str, str]:
    rows = await users.all_of_realm(make.connection, make.realm_id)
    return {row.email: row.full_name for row in rows if row.bot_type is None}


@pytest.mark.parametrize("way", ["ldap_search", "ldap_names"])
async def test_people_of_the_directory_get_an_account_and_keep_it(
    asking, request, of_directory, grace, make, way
):
    async with asking(request.getfixturevalue(way)) as ask:
        body = (await ask("grace", SECRET)).succeeded()
        assert body["email"] == "grace@example.com"
        again = (await ask(" GRACE ", SECRET)).succeeded()
    assert (again["user_id"], again["api_key"]) == (body["user_id"], body["api_key"])
    assert await names(make) == {"grace@example.com": "Grace Hopper"}


async def test_an_address_is_as_good_as_a_name(ask, grace):
    (await ask("Grace@Example.com", SECRET)).succeeded()


async def test_the_second_factor_is_asked_for(ask, grace, make):
    user_id = (await ask("grace", SECRET)).succeeded()["user_id"]
    await second_factors.insert_totp(
        make.connection, make.realm_id, user_id, name="Phone", secret=b"sealed", step=0
    )
    (await ask("grace", SECRET)).refused("SECOND_FACTOR_REQUIRED", 403)
    (await ask("grace", "wrong")).refused("AUTHENTICATION_FAILED", 401)


TRIES = [
    ("grace", "wrong"),
    ("grace", ""),
    ("grace", "x" * (MAX_PASSWORD_LENGTH + 1)),
    ("nobody", SECRET),
    ("", SECRET),
    ("locked", ""),
    ("locked", "x"),
]
NAMES_THAT_SAY_MORE = [
    "*",
    "g*",
    "grace)(uid=*",
    "*)(|(mail=*",
    "grace\\2a",
    "grace,ou=people",
    "grace+cn=Grace",
    "#67",
    'gr"ace',
    "x" * 300,
    "gr\u00adace",
    "grace\ufe00",
]


@pytest.mark.parametrize("way", ["ldap_search", "ldap_names"])
async def test_all_others_stay_outside(asking, request, people, of_directory, grace, make, way):
    people.put("locked", None, mail="locked@example.com")
    async with asking(request.getfixturevalue(way)) as ask:
        for username, password in TRIES:
            refusal = (await ask(username, password)).refused("AUTHENTICATION_FAILED", 401)
            assert refusal["msg"] == WRONG
    assert await names(make) == {}


@pytest.mark.parametrize("way", ["ldap_search", "ldap_names"])
async def test_names_are_nothing_but_names(asking, request, of_directory, grace, make, way):
    async with asking(request.getfixturevalue(way)) as ask:
        for username in NAMES_THAT_SAY_MORE:
            (await ask(username, SECRET)).refused("AUTHENTICATION_FAILED", 401)
        (await ask("grace\0", SECRET)).refused("REQUEST_VARIABLE_INVALID")
        (await ask("grace", f"{SECRET}\0")).refused("REQUEST_VARIABLE_INVALID")
    assert await names(make) == {}


async def test_the_same_name_in_other_letters_is_counted_as_one(
    asking, ldap_search, of_directory, grace
):
    async with asking({**ldap_search, "rate_limits": True, "rate_limit_sign_in": "3/600"}) as ask:
        for name in ("grace", " GRACE", "\uff47race"):
            (await ask(name, "wrong")).refused("AUTHENTICATION_FAILED", 401)
        (await ask("grace", SECRET)).refused("RATE_LIMIT_HIT", 429)


async def test_a_successful_sign_in_resets_the_count(asking, ldap_search, of_directory, grace):
    async with asking({**ldap_search, "rate_limits": True, "rate_limit_sign_in": "2/600"}) as ask:
        for _ in range(3):
            (await ask("grace", "wrong")).refused("AUTHENTICATION_FAILED", 401)
            (await ask("grace", SECRET)).succeeded()


# -- accounts


async def test_newcomers_begin_as_all_others_do(ask, grace, make, database):
    general = await make.channel("general")
    await make.connection.execute(
        "UPDATE channels SET is_default = true WHERE channel_id = %(id)s", id=general.channel_id
    )
    body = (await ask("grace", SECRET)).succeeded()
    [row] = await users.by_ids(make.connection, make.realm_id, [body["user_id"]])
    assert (row.role, row.is_active) == (400, True)
    channels = await make.connection.values(
        "SELECT channel_id FROM subscriptions"
        " WHERE realm_id = %(r)s AND user_id = %(u)s AND active",
        r=make.realm_id,
        u=row.user_id,
    )
    assert channels == [general.channel_id]
    jobs = await make.connection.values(
        "SELECT convert_from(body, 'utf8') FROM event_log WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert len([job for job in jobs if "greetings" in job]) == 1
    audit = await make.connection.values(
        "SELECT action FROM audit_log WHERE realm_id = %(r)s ORDER BY audit_id",
        r=make.realm_id,
    )
    assert audit == ["subscribers_added", "user_created"]


async def test_two_windows_make_one_account(ask, grace, make):
    answers = await asyncio.gather(*(ask("grace", SECRET) for _ in range(4)))
    assert len({answer.succeeded()["user_id"] for answer in answers}) == 1


async def test_a_closed_organization_wants_an_invitation(ask, grace, make):
    await make.change_settings(authentication_methods=["LDAP"], invite_required=True)
    ask.server.forget(make.realm_id)
    refusal = (await ask("grace", SECRET)).refused("BAD_REQUEST")
    assert refusal["msg"] == "You need an invitation to join this organization."
    assert await names(make) == {}


async def test_an_invitation_is_taken_up_with_the_first_sign_in(ask, grace, make):
    await make.change_settings(authentication_methods=["LDAP"], invite_required=True)
    ask.server.forget(make.realm_id)
    await invite(make, "Grace@example.com", role=MODERATOR, ends_at=JOINED)
    (await ask("grace", SECRET)).refused("BAD_REQUEST")  # that one has ended
    await invite(make, "Grace@example.com", role=MODERATOR)
    body = (await ask("grace", SECRET)).succeeded()
    [row] = await users.by_ids(make.connection, make.realm_id, [body["user_id"]])
    assert (row.role, row.full_name) == (MODERATOR, "Grace Hopper")
    state = await make.connection.values(
        "SELECT state FROM invitations WHERE realm_id = %(r)s ORDER BY invitation_id",
        r=make.realm_id,
    )
    assert state == ["accepted", "accepted"]
    (await ask("grace", SECRET)).succeeded()


async def test_an_invitation_by_a_deactivated_user_is_void(ask, grace, make):
    await make.change_settings(authentication_methods=["LDAP"], invite_required=True)
    ask.server.forget(make.realm_id)
    inviter = await invite(make, "grace@example.com")
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=inviter.user_id
    )
    (await ask("grace", SECRET)).refused("BAD_REQUEST")
    assert "grace@example.com" not in await names(make)


async def test_the_rules_for_addresses_hold(ask, grace, make):
    row = DomainRow("parley.org", allow_subdomains=False)
    await realm_domains.insert(make.connection, make.realm_id, row)
    await make.change_settings(
        authentication_methods=["LDAP"], invite_required=False, emails_restricted_to_domains=True
    )
    ask.server.forget(make.realm_id)
    assert "not allowed" in (await ask("grace", SECRET)).refused("BAD_REQUEST")["msg"]


async def test_who_has_an_account_gets_it_and_the_name_of_the_directory(ask, people, make):
    ada = await make.user("Ada L.", email="Ada@example.com")
    people.put("ada", SECRET, cn="Ada King", mail="ada@example.com")
    assert (await ask("ada", SECRET)).succeeded()["user_id"] == ada.user_id
    assert await names(make) == {"Ada@example.com": "Ada King"}


async def unconfirm(make, row):
    await make.connection.execute(
        "UPDATE users SET email_confirmed = false WHERE user_id = %(u)s", u=row.user_id
    )


async def test_an_account_that_only_entered_the_address_is_not_taken_for_theirs(ask, people, make):
    await unconfirm(make, await make.user("Ada L.", email="Ada@example.com"))
    people.put("ada", SECRET, cn="Ada King", mail="ada@example.com")
    refusal = (await ask("ada", SECRET)).refused("AUTHENTICATION_FAILED", 401)
    assert "has not confirmed it" in refusal["msg"]
    assert await names(make) == {"Ada@example.com": "Ada L."}


async def test_an_account_known_by_its_entry_has_the_address_confirmed(
    asking, ldap_search, of_directory, people, make
):
    ada = await make.user("Ada", email="ada@example.com")
    people.put("ada", SECRET, cn="Ada", mail="ada@example.com")
    async with asking({**ldap_search, "ldap_id_attribute": "entryUUID"}) as ask:
        (await ask("ada", SECRET)).succeeded()
        await unconfirm(make, ada)
        ask.server.forget(make.realm_id)
        assert (await ask("ada", SECRET)).succeeded()["user_id"] == ada.user_id
        [row] = await users.by_ids(make.connection, make.realm_id, [ada.user_id])
        assert row.email_confirmed


async def test_who_cannot_be_called_like_that_gets_in_all_the_same(ask, people, make):
    ada = await make.user("Ada L.", email="ada@example.com")
    await make.user("Ada King", email="other@example.com")
    await make.change_settings(authentication_methods=["LDAP"], require_unique_names=True)
    ask.server.forget(make.realm_id)
    people.put("ada", SECRET, cn="Ada King", mail="ada@example.com")
    assert (await ask("ada", SECRET)).succeeded()["user_id"] == ada.user_id
    assert (await names(make))["ada@example.com"] == "Ada L."


@pytest.mark.parametrize(
    ("cn", "name"),
    [
        ("*Ada* `L` @all", "Ada L all"),
        ("x" * 200, "x" * 100),
        ("*", "ada"),
        ("Ada\u202e L", "Ada L"),
    ],
)
async def test_names_become_such_as_people_may_have(ask, people, make, cn, name):
    people.put("ada", SECRET, cn=cn, mail="ada@example.com")
    (await ask("ada", SECRET)).succeeded()
    assert await names(make) == {"ada@example.com": name}


async def test_accounts_that_are_closed_and_bots_stay_outside(ask, people, make):
    ada = await make.user("Ada", email="ada@example.com")
    await make.user("Bot", email="bot@example.com", bot_type=1)
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
    )
    for uid in ("ada", "bot"):
        people.put(uid, SECRET, mail=f"{uid}@example.com")
        (await ask(uid, SECRET)).refused("USER_DEACTIVATED", 401)
        (await ask(uid, "wrong")).refused("AUTHENTICATION_FAILED", 401)


async def test_an_entry_without_an_address_is_told_so(ask, people, make):
    people.put("ada", SECRET)
    refusal = (await ask("ada", SECRET)).refused("AUTHENTICATION_FAILED", 401)
    assert refusal["msg"].startswith("The directory has no email address for you.")
    assert (await ask("ada", "wrong")).refused("AUTHENTICATION_FAILED", 401)["msg"] == WRONG


async def test_addresses_may_be_made_of_names(asking, ldap_names, of_directory, people, make):
    people.put("ada", SECRET)
    domain = {"ldap_email_attribute": "uid", "ldap_email_domain": "example.org"}
    async with asking({**ldap_names, **domain}) as ask:
        (await ask("ADA", SECRET)).succeeded()
    assert list(await names(make)) == ["ada@example.org"]


async def test_an_ambiguous_name_is_refused(ask, people, grace, capfd):
    people.put("other", SECRET, mail="grace@example.com")
    refusal = (await ask("grace@example.com", SECRET)).refused("AUTHENTICATION_FAILED", 401)
    assert refusal["msg"] == WRONG
    assert "ldap.ambiguous_name" in "".join(capfd.readouterr())
    (await ask("grace", SECRET)).succeeded()


# -- people with changed entries


async def test_an_account_goes_along_with_its_entry(
    asking, ldap_search, of_directory, people, make
):
    ada = await make.user("Ada", email="ada@example.com")
    people.put("ada", SECRET, cn="Ada", mail="ada@example.com")
    async with asking({**ldap_search, "ldap_id_attribute": "entryUUID"}) as ask:
        first = (await ask("ada", SECRET)).succeeded()
        people.change("ada", cn="Ada King", mail="king@example.com")
        then = (await ask("ada", SECRET)).succeeded()
        assert first["user_id"] == then["user_id"] == ada.user_id
        assert then["email"] == "king@example.com"
        assert await names(make) == {"king@example.com": "Ada King"}
        people.put("other", SECRET, cn="Another Ada", mail="ada@example.com")
        other = (await ask("other", SECRET)).succeeded()
        assert other["user_id"] != ada.user_id


async def test_an_account_is_not_inherited_with_its_address(
    asking, ldap_search, of_directory, people, make
):
    people.put("ada", SECRET, mail="ada@example.com")
    async with asking({**ldap_search, "ldap_id_attribute": "entryUUID"}) as ask:
        (await ask("ada", SECRET)).succeeded()
        people.put("ada", SECRET, mail="ada@example.com")  # another entry, of the same name
        refusal = (await ask("ada", SECRET)).refused("AUTHENTICATION_FAILED", 401)
        assert "another account here" in refusal["msg"]


async def test_an_address_in_use_is_not_taken_from_its_user(
    asking, ldap_search, of_directory, people, make
):
    await make.user("King", email="king@example.com")
    people.put("ada", SECRET, mail="ada@example.com")
    async with asking({**ldap_search, "ldap_id_attribute": "entryUUID"}) as ask:
        first = (await ask("ada", SECRET)).succeeded()
        people.change("ada", mail="king@example.com")
        then = (await ask("ada", SECRET)).succeeded()
        assert (then["user_id"], then["email"]) == (first["user_id"], "ada@example.com")


async def test_an_entry_has_its_id_where_ids_count(asking, ldap_search, of_directory, people, make):
    people.put("ada", SECRET, mail="ada@example.com")
    people.put("bob", SECRET, mail="bob@example.com", employeeNumber="\u00e47")
    async with asking({**ldap_search, "ldap_id_attribute": "employeeNumber"}) as ask:
        (await ask("ada", SECRET)).refused("AUTHENTICATION_FAILED", 401)
        (await ask("bob", SECRET)).succeeded()
    ids = await make.connection.values(
        "SELECT directory_id FROM directory_ids WHERE realm_id = %(r)s", r=make.realm_id
    )
    assert ids == ["c3a437"]


@pytest.mark.parametrize("way", ["ldap_search", "ldap_names"])
async def test_a_listing_goes_on_to_the_last_page(monkeypatch, serving_with, request, people, way):
    monkeypatch.setattr(server.identity.ldap, "PAGE_SIZE", 2)
    for uid in "abcde":
        people.put(uid, None, mail=f"{uid}@example.com", ou="visitors")
    people.change("b", mail="x")
    names = {"ldap_bind_dn": READER, "ldap_bind_password": READER_PASSWORD}
    settings = {"ldap_id_attribute": "uid", "ldap_group_attribute": "ou", "ldap_group_base": GROUPS}
    roles = {"ldap_roles": {"visitors": "guest"}}
    here = {**request.getfixturevalue(way), **names, **settings, **roles}
    async with serving_with(**here) as running:
        listing = await running.app.identities.ldap.listing(["a", "b", "e", "gone"])
    assert (listing.count, set(listing.entries)) == (5, {"a", "b", "e"})
    assert listing.entries["b"] is None
    assert [each.partition(" has no address")[0] for each in listing.problems] == [
        f"uid=b,{PEOPLE}"
    ]
    assert listing.entries["e"].identity.groups == ("visitors",)


# -- beside passwords of our own


async def test_passwords_of_ours_go_before_and_never_to_the_directory(
    asking, ldap_search, make, ada, people
):
    people.put("ada", SECRET, mail=ada.email)
    await make.change_settings(authentication_methods=["Email", "LDAP"])
    async with asking(ldap_search) as ask:
        for name, password in ((ada.email, PASSWORD), (ada.email, SECRET), ("ada", SECRET)):
            assert (await ask(name, password)).succeeded()["user_id"] == ada.user_id
        (await ask("ada", PASSWORD)).refused("AUTHENTICATION_FAILED", 401)
    async with asking({**ldap_search, "ldap_url": "ldap://127.0.0.1:1"}) as ask:
        (await ask(ada.email, PASSWORD)).succeeded()
        (await ask(ada.email, "wrong")).refused("SERVER_NOT_READY", 503)


async def test_a_directory_is_not_asked_where_the_organization_does_not_want_it(
    asking, ldap_search, grace, make
):
    async with asking(ldap_search) as ask:
        (await ask("grace", SECRET)).refused("AUTHENTICATION_FAILED", 401)
        await make.change_settings(authentication_methods=[])
        ask.server.forget(make.realm_id)
        (await ask("grace", SECRET)).refused("PASSWORD_AUTH_DISABLED", 401)


async def test_an_organization_without_its_directory_signs_no_user_in(spectator, of_directory):
    client = await spectator()
    answer = await client.call("POST", "/fetch_api_key", username="grace", password=SECRET)
    answer.refused("PASSWORD_AUTH_DISABLED", 401)
    methods = (await client.get("/server_settings"))["authentication_methods"]
    assert (methods["ldap"], methods["password"]) == (False, False)


async def test_clients_are_told(ask):
    body = await ask.client.get("/server_settings")
    methods = body["authentication_methods"]
    assert (methods["ldap"], methods["password"], methods["email"]) == (True, True, False)
    assert body["require_email_format_usernames"] is False
    assert body["email_auth_enabled"] is False


async def test_owners_choose_the_directory(serving_with, ldap_search, make, connect):
    async with serving_with(**ldap_search) as server:
        owner = await connect(server, make.realm_id, await make.user(role=100))
        await owner.patch("/realm", authentication_methods={"Email": False, "LDAP": True})
        state = await owner.post("/register")
    methods = state["realm_authentication_methods"]
    assert methods["LDAP"] == {"enabled": True, "available": True}
    assert state["realm_password_auth_enabled"] is True
    assert state["realm_email_auth_enabled"] is False


# -- pages


async def test_a_user_signs_in_by_the_page_and_by_an_app(
    serving_with, connect, ldap_search, of_directory, make, grace
):
    async with serving_with(**ldap_search) as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/login/")
        assert "Name or email" in browser.text
        assert "Forgotten password" not in browser.text
        assert "No account yet?" not in browser.text
        answer = await browser.submit("/login/", username="grace", password="wrong")
        assert (answer.status, browser.problem) == (401, WRONG)
        assert 'value="grace"' in browser.page
        answer = await browser.submit("/login/", username="grace", password=SECRET)
        assert (await browser.follow(answer)).status == 200
        assert "Grace Hopper" in browser.text
        other = Visitor(browser.client)
        await other.look(f"/login/?mobile_flow_otp={'5c' * 32}")
        answer = await other.submit("/login/", username="grace", password=SECRET)
        assert answer.headers["Location"].startswith("zulip://login?realm=")


async def test_the_directory_cannot_be_bypassed(ask):
    """Otherwise any owner of an address would be in."""
    browser = Visitor(ask.client)
    await browser.look("/register")
    assert "do not join by email" in browser.text
    await browser.look("/login/")
    token = browser.forms()[0].fields["csrfmiddlewaretoken"]
    answer = await browser.post("/register", csrfmiddlewaretoken=token, email="eve@example.com")
    assert (answer.status, "do not join by email" in browser.problem) == (400, True)
