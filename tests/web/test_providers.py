"""Signing in at other sites, against one that follows the rules and can be told to break them."""

import re
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from joserfc.jwk import ECKey, RSAKey

from server.domain.access import GUEST
from server.domain.clock import SystemClock
from storage import second_factors
from testkit.clients.invitations import invite
from testkit.clients.page_client import PASSWORD, Visitor
from testkit.factories import new_realm
from testkit.services.oauth_provider import CLIENT_ID, SECRET, Provider

pytestmark = pytest.mark.asyncio

ALL = ["Email", "Google", "GitHub", "GitLab", "AzureAD", "Apple", "Discord"]
ALL += ["OAuth 2", "OpenID Connect"]
NOW = int(SystemClock().now().timestamp())
BEGIN = "/accounts/login/social/"


@pytest.fixture
def facts() -> dict[str, Any]:
    return {"email": "Ada@Example.com", "email_verified": True, "name": "Ada L."}


@pytest_asyncio.fixture
async def server(serving_with, provider, make, facts):
    provider.claims = facts
    provider.apple_key = None
    common = {"client_id": CLIENT_ID, "client_secret": SECRET, "issuer": provider.url}
    names = ("google", "gitlab", "azuread", "own", "github", "apple", "discord")
    providers = {name: dict(common) for name in names}
    providers["own"]["label"] = "Our RealmCache"
    providers["github"]["api_url"] = provider.url
    providers["forum"] = {
        "kind": "oauth2",
        "client_id": CLIENT_ID,
        "client_secret": SECRET,
        "authorize_url": f"{provider.url}/authorize?theme=dark",
        "token_url": f"{provider.url}/token",
        "user_url": f"{provider.url}/api/users/@me",
        "email_field": "user.email",
        "verified_field": "user.verified",
        "name_fields": ["user.first", "user.last"],
        "label": "Forum",
    }
    await make.change_settings(authentication_methods=ALL)
    async with serving_with(sign_in_providers=providers) as running:
        yield running


async def go_there(browser: Visitor, provider: Provider, name: str = "own", **query: str) -> str:
    """Go to the other site and sign in; the path to which the browser is sent back."""
    answer = await browser.look(f"{BEGIN}{name}?{urlencode(query)}")
    assert answer.status == 303, browser.text
    place = answer.headers["Location"]
    assert place.startswith(provider.url)
    return provider.sign_in(place)


async def signs_in(visitor, provider, name="own") -> Visitor:
    browser: Visitor = await visitor()
    back = await go_there(browser, provider, name)
    assert back.startswith(f"/complete/{name}?")
    await browser.look(back)
    return browser


@pytest.mark.parametrize("name", ["own", "google", "gitlab"])
async def test_users_known_to_another_site_are_let_in(visitor, ada, provider, name):
    browser = await visitor()
    await browser.look("/login/?next=%2Faccount")
    assert f'href="/accounts/login/social/{name}?next=%2Faccount"' in browser.page
    assert "Sign in with Our RealmCache" in browser.text
    back = await go_there(browser, provider, name, next="/account")
    answer = await browser.look(back)
    assert answer.headers["Location"] == "/account"
    assert "parley_flow" not in browser.cookies
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert me["user_id"] == ada.user_id


async def test_the_second_factor_is_the_providers_unless_the_organization_wants_it(
    visitor, ada, provider, make, server
):
    await second_factors.insert_totp(
        make.connection, make.realm_id, ada.user_id, name="Phone", secret=b"sealed", step=0
    )
    assert "parley_session" in (await signs_in(visitor, provider)).cookies
    await make.change_settings(
        authentication_methods=["Email", "OpenID Connect"], second_factor_after_provider=True
    )
    server.forget(make.realm_id)
    browser = await signs_in(visitor, provider)
    assert "parley_session" not in browser.cookies
    assert "Second factor" in browser.text


async def test_a_required_factor_does_not_limit_sessions_by_providers(
    visitor, ada, provider, make, server
):
    await make.change_settings(
        authentication_methods=["Email", "OpenID Connect"],
        second_factor_required_of="everyone",
        second_factor_grace_days=0,
    )
    server.forget(make.realm_id)
    browser = await signs_in(visitor, provider)
    assert (await browser.send("GET", "/json/users/me")).status == 200


async def test_an_app_gets_its_key_that_way_too(visitor, ada, provider):
    browser = await visitor()
    back = await go_there(browser, provider, mobile_flow_otp="ab" * 32)
    answer = await browser.look(back)
    assert answer.headers["Location"].startswith("zulip://login?realm=")
    assert f"user_id={ada.user_id}" in answer.headers["Location"]
    assert "parley_session" not in browser.cookies
    assert (await browser.look(f"{BEGIN}own?mobile_flow_otp=xyz")).status == 400


async def test_the_desktop_app_signs_in_that_way_too(visitor, ada, provider):
    window, browser = await visitor(), await visitor()
    app = {"User-Agent": "ZulipElectron/5.12.4 (Linux) Electron/37.0"}
    answer = await window.look(f"{BEGIN}own?next=%2Faccount", headers=app)
    assert answer.status == 200
    [script] = re.findall(r'<script type="module" src="(.*?)"', window.page)
    assert b"decrypt_clipboard" in (await window.look(script)).content
    [form] = [form for form in window.forms() if form.action == "/sign-in-link/"]
    assert form.fields["next"] == "/account"

    key = "ab" * 32
    await browser.look(await go_there(browser, provider, desktop_flow_otp=key))
    assert "parley_session" not in browser.cookies
    [text] = re.findall(r'id="desktop-token" tabindex="0">([0-9a-f]+)<', browser.page)
    data = bytes.fromhex(text)
    token = AESGCM(bytes.fromhex(key)).decrypt(data[:12], data[12:], None).decode()
    answer = await window.submit("/sign-in-link/", token=token)
    assert answer.headers["Location"] == "/account"
    me = (await window.send("GET", "/json/users/me")).succeeded()
    assert me["user_id"] == ada.user_id
    assert (await browser.look(f"{BEGIN}own?desktop_flow_otp=xyz")).status == 400


@pytest.mark.parametrize("verified", [False, None, "false", "yes", 0])
async def test_an_unverified_address_opens_no_account(visitor, ada, provider, verified):
    provider.claims["email_verified"] = verified
    browser = await signs_in(visitor, provider)
    assert "has not been verified there" in browser.problem
    assert "parley_session" not in browser.cookies


@pytest.mark.parametrize(("claim", "let_in"), [({}, False), ({"xms_edov": True}, True)])
async def test_microsoft_says_otherwise_that_an_address_is_verified(
    visitor, ada, provider, claim, let_in
):
    provider.claims |= claim
    browser = await signs_in(visitor, provider, "azuread")
    assert ("parley_session" in browser.cookies) is let_in


@pytest.mark.parametrize(
    "lie",
    [
        {"iss": "https://elsewhere.example"},
        {"aud": "another client"},
        {"aud": [CLIENT_ID, "another client"]},
        {"azp": "another client"},
        {"nonce": "another"},
        {"nonce": None},
        {"exp": NOW - 3_600},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": NOW + 86_400},
        {"email": None},
        {"email": ["ada@example.com"]},
        {"email": "no address"},
    ],
)
async def test_a_token_that_is_not_for_us_now_is_refused(visitor, ada, provider, lie):
    provider.lies["claims"] = lie
    browser = await signs_in(visitor, provider)
    assert browser.problem
    assert "parley_session" not in browser.cookies


async def test_a_token_that_the_site_has_not_signed_is_refused(visitor, ada, provider):
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})
    assert "parley_session" not in (await signs_in(visitor, provider)).cookies
    provider.signs_with, provider.algorithm = None, "HS256"
    assert "parley_session" not in (await signs_in(visitor, provider)).cookies
    provider.algorithm = "none"
    assert "parley_session" not in (await signs_in(visitor, provider)).cookies
    provider.algorithm = "RS256"
    assert "parley_session" in (await signs_in(visitor, provider)).cookies


async def test_a_site_may_sign_with_another_key_from_now_on(visitor, ada, provider, server):
    assert "parley_session" in (await signs_in(visitor, provider)).cookies
    provider.key = RSAKey.generate_key(2048, {"kid": "two"})
    own = server.app.identities.providers["own"]
    own._keys = (own._keys[0] - 61, own._keys[1])
    assert "parley_session" in (await signs_in(visitor, provider)).cookies


async def test_keys_are_not_asked_for_with_each_bad_token(visitor, ada, provider):
    provider.signs_with = RSAKey.generate_key(2048, {"kid": "one"})
    for _ in range(3):
        await signs_in(visitor, provider)
    assert provider.asked.count("/keys") == 1
    assert provider.asked.count("/.well-known/openid-configuration") == 1


async def test_an_answer_is_good_in_the_browser_that_asked_alone(visitor, ada, provider):
    browser, other = await visitor(), await visitor()
    back = await go_there(browser, provider)
    await other.look(back)
    assert "took too long" in other.problem
    await go_there(other, provider)
    assert (await other.look(back)).status == 401
    assert "parley_session" not in other.cookies
    assert (await browser.look(back)).status == 303
    assert (await browser.look(back)).status == 401


async def test_an_answer_is_good_for_one_site_and_one_organization_alone(
    visitor, ada, provider, make, connect, server
):
    browser = await visitor()
    back = await go_there(browser, provider)
    assert (await browser.look(back.replace("/own", "/google"))).status == 401
    other = await new_realm(make.connection, authentication_methods=ALL)
    browser.client = await connect(server, other.realm_id)
    assert (await browser.look(back)).status == 401


@pytest.mark.parametrize("cookie", ["", "x", "a.b.c", "x" * 5_000])
async def test_a_cookie_that_is_none_of_ours_is_refused(visitor, ada, provider, cookie):
    browser = await visitor()
    back = await go_there(browser, provider)
    browser.cookies["parley_flow"] = cookie
    assert (await browser.look(back)).status == 401


async def test_a_user_who_declines_is_told_so(visitor, ada, provider):
    browser = await visitor()
    back = await go_there(browser, provider)
    state = back.partition("state=")[2]
    answer = await browser.look(f"/complete/own?error=access_denied&state={state}")
    assert answer.status == 401
    assert "did not work" in browser.problem


async def test_apple_answers_with_a_form_and_takes_a_signed_secret(
    serving_with, provider, make, ada, facts, connect
):
    key = ECKey.generate_key("P-256")
    provider.claims, provider.apple_key = {**facts, "email_verified": "true"}, key
    apple = {
        "client_id": CLIENT_ID,
        "issuer": provider.url,
        "team_id": "TEAM",
        "key_id": "KEY",
        "private_key": key.as_pem(private=True).decode(),
    }
    await make.change_settings(authentication_methods=["Apple"])
    async with serving_with(sign_in_providers={"apple": apple}) as server:
        browser = Visitor(await connect(server, make.realm_id))
        back = await go_there(browser, provider, "apple")
        path, _, fields = back.partition("?")
        form = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Origin": provider.url,
            "Sec-Fetch-Site": "cross-site",
        }
        answer = await browser.send("POST", path, body=fields.encode(), headers=form)
        assert answer.headers.get("Location") == "/", browser.text
        assert (await browser.look("/")).status == 200


async def test_github_says_which_address_is_the_first_and_verified(visitor, ada, provider):
    spare = {"email": "spare@example.com", "verified": True, "primary": False}
    provider.emails = [spare, {"email": ada.email, "verified": True, "primary": True}]
    browser = await signs_in(visitor, provider, "github")
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert me["user_id"] == ada.user_id
    provider.emails = [{"email": ada.email, "verified": False, "primary": True}]
    browser = await signs_in(visitor, provider, "github")
    assert "has not been verified there" in browser.problem
    assert "parley_session" not in browser.cookies


async def test_discord_says_whether_the_address_is_verified(visitor, ada, provider):
    provider.profile = {"username": "ada", "email": ada.email, "verified": True}
    browser = await signs_in(visitor, provider, "discord")
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert me["user_id"] == ada.user_id
    for change in ({"verified": False}, {"verified": "yes"}, {"email": None}):
        provider.profile = {"username": "ada", "email": ada.email, "verified": True, **change}
        browser = await signs_in(visitor, provider, "discord")
        assert "has not been verified there" in browser.problem
        assert "parley_session" not in browser.cookies


async def test_names_of_discord_are_proposed_to_new_users(visitor, provider, make, server):
    await make.change_settings(authentication_methods=ALL, invite_required=False)
    server.forget(make.realm_id)
    names = {"global_name": "Grace Hopper", "username": "grace"}
    provider.profile = {"email": "grace@example.com", "verified": True, **names}
    browser = await visitor()
    answer = await browser.look(await go_there(browser, provider, "discord"))
    await browser.look(answer.headers["Location"])
    assert 'value="Grace Hopper"' in browser.page


async def test_a_site_of_which_only_addresses_and_fields_are_known(
    visitor, ada, provider, make, server, connect
):
    user = {"email": ada.email, "verified": True, "first": "Grace", "last": "Hopper"}
    provider.profile = {"user": user}
    methods = await (await connect(server, make.realm_id)).get("/server_settings")
    names = [each["name"] for each in methods["external_authentication_methods"]]
    assert "oauth2:forum" in names
    browser = await signs_in(visitor, provider, "forum")
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert me["user_id"] == ada.user_id
    lies = [{"user": {**user, "verified": each}} for each in (False, "yes", None, 1)]
    for profile in (*lies, {"user": {**user, "email": [ada.email]}}, {"user": []}, {}):
        provider.profile = profile
        browser = await signs_in(visitor, provider, "forum")
        assert "has not been verified there" in browser.problem, profile
        assert "parley_session" not in browser.cookies

    await make.change_settings(authentication_methods=ALL, invite_required=False)
    server.forget(make.realm_id)
    provider.profile = {"user": {**user, "email": "grace@example.com"}}
    browser = await visitor()
    answer = await browser.look(await go_there(browser, provider, "forum"))
    await browser.look(answer.headers["Location"])
    assert 'value="Grace Hopper"' in browser.page


async def test_who_has_no_account_joins_an_open_organization(visitor, provider, make, server):
    provider.claims["email"] = "grace@example.com"
    browser = await signs_in(visitor, provider)
    assert browser.problem == "You need an invitation to join this organization."
    await make.change_settings(authentication_methods=ALL, invite_required=False)
    server.forget(make.realm_id)
    browser = await visitor()
    answer = await browser.look(await go_there(browser, provider))
    place = answer.headers["Location"]
    assert place.startswith("/accounts/join/")
    await browser.look(place)
    assert "grace@example.com" in browser.page
    assert 'value="Ada L."' in browser.page
    form = place.partition("?")[0]
    answer = await browser.submit(form, full_name="Grace", new_password=PASSWORD)
    assert answer.headers["Location"] == "/"


async def test_who_is_invited_joins_a_closed_organization(visitor, provider, make):
    provider.claims["email"] = "grace@example.com"
    await invite(make, "Grace@example.com", role=GUEST)
    browser = await visitor()
    answer = await browser.look(await go_there(browser, provider))
    place = answer.headers["Location"].partition("?")[0]
    await browser.look(place)
    await browser.submit(place, full_name="Grace", new_password=PASSWORD)
    me = (await browser.send("GET", "/json/users/me")).succeeded()
    assert (me["full_name"], me["role"]) == ("Grace", GUEST)


async def test_accounts_that_are_closed_and_bots_stay_outside(visitor, provider, make, ada):
    await make.user("Bot", email="bot@example.com", bot_type=1)
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
    )
    for email in (ada.email, "bot@example.com"):
        provider.claims["email"] = email
        browser = await signs_in(visitor, provider)
        assert browser.problem == "Account is deactivated"


async def test_an_organization_chooses_where_its_people_sign_in(
    visitor, provider, make, server, spectator
):
    await make.change_settings(authentication_methods=["Email", "Google"])
    server.forget(make.realm_id)
    browser = await visitor()
    assert (await browser.look(f"{BEGIN}own")).status == 404
    assert (await browser.look(f"{BEGIN}nobody")).status == 404
    assert (await browser.look("/accounts/register/social/google")).status == 303
    body = await (await spectator()).get("/server_settings")
    assert body["authentication_methods"]["google"] is True
    assert body["authentication_methods"]["openid connect"] is False
    assert body["external_authentication_methods"] == [
        {
            "name": "google",
            "display_name": "Google",
            "display_icon": None,
            "login_url": "/accounts/login/social/google",
            "signup_url": "/accounts/register/social/google",
        },
        {
            "name": "browser",
            "display_name": "your browser",
            "display_icon": None,
            "login_url": "/login/",
            "signup_url": "/register/",
        },
    ]


async def test_owners_choose_among_what_there_is(log_in, make, server):
    owner = await log_in(role=100)
    await owner.patch("/realm", authentication_methods={"Email": True, "GitHub": True})
    state = await owner.post("/register")
    methods = state["realm_authentication_methods"]
    assert methods["GitHub"] == {"enabled": True, "available": True}
    assert methods["Google"] == {"enabled": False, "available": True}
    answer = await owner.call("PATCH", "/realm", authentication_methods={"LDAP": True})
    answer.refused("REQUEST_VARIABLE_INVALID")


@pytest.mark.parametrize(
    "lie",
    [
        {"issuer": "https://elsewhere.example"},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": None},
    ],
)
async def test_a_site_that_describes_itself_wrongly_is_not_used(visitor, provider, lie):
    provider.lies["description"] = lie
    browser = await visitor()
    assert (await browser.look(f"{BEGIN}own")).status == 401
    provider.lies.clear()
    provider.is_down = True
    assert (await browser.look(f"{BEGIN}own")).status == 401
    assert "did not work" in browser.problem


async def test_no_secret_is_logged(visitor, ada, provider, capfd):
    provider.is_down = False
    browser = await visitor()
    back = await go_there(browser, provider)
    provider.is_down = True
    await browser.look(back)
    code = back.partition("code=")[2].partition("&")[0]
    told = "".join(capfd.readouterr())
    assert "identity_provider.assertion_refused" in told
    assert SECRET not in told
    assert code not in told


async def test_addresses_of_a_site_that_the_operator_vouches_for_are_taken(
    serving_with, provider, make, ada, connect
):
    provider.claims = {"email": ada.email}
    own = {
        "client_id": CLIENT_ID,
        "client_secret": SECRET,
        "issuer": provider.url,
        "trusts_addresses": True,
    }
    await make.change_settings(authentication_methods=ALL)
    async with serving_with(sign_in_providers={"own": own}) as server:
        browser = Visitor(await connect(server, make.realm_id))
        answer = await browser.look(await go_there(browser, provider))
        assert answer.headers["Location"] == "/"
        assert browser.cookies["parley_session"]
