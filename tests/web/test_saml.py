"""Signing in by SAML, at a site that follows the rules, and against those who break them."""

import base64
from urllib.parse import quote, urlencode

import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509 import load_pem_x509_certificate
from lxml import etree

from server.domain.providers import Providers
from testkit.clients.page_client import Visitor
from testkit.factories import new_realm
from testkit.services.saml_provider import (
    NAMES,
    SIGN_IN_URL,
    SITE,
    SamlSite,
    encrypted,
    without_signatures,
    wrapped,
)

pytestmark = pytest.mark.asyncio

BEGIN, BACK = "/accounts/login/social/ours", "/complete/ours"
PAST, FUTURE = "2020-01-01T00:00:00Z", "2120-01-01T00:00:00Z"


@pytest.fixture
def described(pairs):
    """The settings of a site."""
    return {
        "kind": "saml",
        "entity_id": SITE,
        "sign_in_url": SIGN_IN_URL,
        "certificate": pairs["site"].certificate,
        "label": "Our Site",
        "domains": ["Example.com"],
    }


@pytest_asyncio.fixture
async def server(serving_with, make, described, pairs):
    await make.change_settings(authentication_methods=["Email", "SAML"])
    other = {**described, "entity_id": "https://other/", "certificate": pairs["other"].certificate}
    async with serving_with(sign_in_providers={"ours": described, "other": other}) as running:
        yield running


async def go_there(browser: Visitor, site: SamlSite, **query: str):
    """Go to the site; the authentication request that the browser brings there."""
    answer = await browser.look(f"{BEGIN}?{urlencode(query)}")
    assert answer.status == 303, browser.text
    return site.read(answer.headers["Location"])


async def come_back(browser: Visitor, xml: bytes, state: str, place: str = BACK):
    form = {
        "Content-Type": "application/x-www-form-urlencoded",
        "Origin": "https://id.example.com",
        "Sec-Fetch-Site": "cross-site",
    }
    fields = {"SAMLResponse": base64.b64encode(xml).decode(), "RelayState": state}
    return await browser.send("POST", place, body=urlencode(fields).encode(), headers=form)


async def signs_in(visitor, site: SamlSite, change=lambda xml: xml) -> Visitor:
    """Sign in there; `change` is what becomes of the response on its way."""
    browser: Visitor = await visitor()
    question = await go_there(browser, site)
    await come_back(browser, change(site.answer(question)), question.state)
    return browser


async def is_in(browser: Visitor) -> int | None:
    if "parley_session" not in browser.cookies:
        return None
    return int((await browser.send("GET", "/json/users/me")).succeeded()["user_id"])


@pytest.mark.parametrize("signs", ["assertion", "response", "both"])
async def test_users_known_to_the_site_are_let_in(visitor, ada, saml_site, signs):
    saml_site.signs = signs
    browser = await visitor()
    await browser.look("/login/?next=%2Faccount")
    assert "Sign in with Our Site" in browser.text
    question = await go_there(browser, saml_site, next="/account")
    answer = await come_back(browser, saml_site.answer(question), question.state)
    assert answer.headers.get("Location") == "/account", browser.text
    assert await is_in(browser) == ada.user_id
    assert "parley_flow" not in browser.cookies


async def test_an_app_gets_its_key_that_way_too(visitor, ada, saml_site):
    browser = await visitor()
    question = await go_there(browser, saml_site, mobile_flow_otp="ab" * 32)
    answer = await come_back(browser, saml_site.answer(question), question.state)
    assert answer.headers["Location"].startswith("zulip://login?realm=")
    assert f"user_id={ada.user_id}" in answer.headers["Location"]


async def test_one_comes_back_to_this_very_address(visitor, ada, saml_site):
    browser = await visitor()
    question = await go_there(browser, saml_site, next="//evil.example")
    answer = await come_back(browser, saml_site.answer(question), question.state)
    assert answer.headers["Location"] == "/"


LIES = [
    {"issuer": "https://elsewhere.example"},
    {"for": "https://elsewhere.example"},
    {"for": ""},
    {"ends": PAST, "begins": PAST},
    {"begins": FUTURE},
    {"confirmed_until": PAST},
    {"confirmed_until": None},
    {"confirms": "_another"},
    {"confirms": None},
    {"answers": "_another"},
    {"confirms": "_another", "answers": "_another"},
    {"confirms": None, "answers": None},
    {"recipient": "https://elsewhere.example/complete/ours"},
    {"recipient": None},
    {"destination_url": "https://elsewhere.example/complete/ours"},
    {"destination_url": ""},
    {"status": "AuthnFailed"},
    {"name_id": ""},
    {"name_id": "no address"},
    {"name_id": "ada@elsewhere.example"},
    {"name_id": "ada@sub.example.com"},
    {"format": "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"},
]


@pytest.mark.parametrize("signs", ["assertion", "response"])
async def test_an_answer_that_is_not_for_us_now_is_refused(visitor, ada, saml_site, signs):
    saml_site.signs = signs
    for lie in LIES:
        saml_site.lies = lie
        browser = await signs_in(visitor, saml_site)
        assert browser.problem, lie
        assert await is_in(browser) is None, lie
    saml_site.lies = {}
    assert await is_in(await signs_in(visitor, saml_site)) == ada.user_id


async def test_places_that_only_begin_like_ours_are_others(visitor, ada, saml_site):
    for name in ("recipient", "destination_url"):
        browser = await visitor()
        question = await go_there(browser, saml_site)
        saml_site.lies = {name: f"{question.place}-and-more"}
        await come_back(browser, saml_site.answer(question), question.state)
        assert await is_in(browser) is None


# -- signatures


async def test_unsigned_responses_are_refused(visitor, ada, saml_site, pairs):
    saml_site.signs = "nothing"
    assert await is_in(await signs_in(visitor, saml_site)) is None
    saml_site.signs = "both"
    saml_site.lies = {"pair": pairs["other"]}
    assert await is_in(await signs_in(visitor, saml_site)) is None


async def test_weak_signatures_are_refused(visitor, ada, saml_site):
    saml_site.algorithm = "http://www.w3.org/2000/09/xmldsig#rsa-sha1"
    saml_site.digest = "http://www.w3.org/2000/09/xmldsig#sha1"
    assert await is_in(await signs_in(visitor, saml_site)) is None


@pytest.mark.parametrize("signs", ["assertion", "response"])
async def test_what_is_changed_after_it_was_signed_is_refused(visitor, ada, saml_site, make, signs):
    await make.user("Eve", email="eve@example.com")
    saml_site.signs, saml_site.lies = signs, {"name_id": "eve@example.com"}
    browser = await signs_in(visitor, saml_site, lambda xml: xml.replace(b"eve@", b"ada@"))
    assert await is_in(browser) is None
    browser = await signs_in(visitor, saml_site, without_signatures)
    assert await is_in(browser) is None


async def test_comments_do_not_end_addresses(visitor, ada, saml_site, make):
    """A canonical form has no comments: what is signed with one and without one is the same."""
    saml_site.lies = {"name_id": "ada@example.com.evil.example"}
    browser = await signs_in(
        visitor,
        saml_site,
        lambda xml: xml.replace(b"example.com.evil", b"example.com<!-- -->.evil"),
    )
    assert await is_in(browser) is None


WRAPPINGS = (
    "same id before",
    "before",
    "after",
    "around",
    "in the signature",
    "in extensions",
    "same id, in the signature",
)


async def test_wrapped_signatures_are_refused(visitor, ada, saml_site, make):
    eve = await make.user("Eve", email="eve@example.com")
    saml_site.lies = {"name_id": "eve@example.com"}
    assert await is_in(await signs_in(visitor, saml_site)) == eve.user_id
    for how in WRAPPINGS:
        assert await is_in(await signs_in(visitor, saml_site, wrapped(how))) is None, how


async def test_a_whole_signed_answer_in_another_is_refused(visitor, ada, saml_site, make):
    await make.user("Eve", email="eve@example.com")
    saml_site.signs, saml_site.lies = "response", {"name_id": "eve@example.com"}

    def change(xml: bytes) -> bytes:
        signed, evil = etree.fromstring(xml), etree.fromstring(xml)
        own = evil.find("d:Signature", NAMES)
        evil.set("ID", "_evil")
        evil.xpath(".//a:NameID", namespaces=NAMES)[0].text = "ada@example.com"
        signed.remove(signed.find("d:Signature", NAMES))
        etree.SubElement(own, f"{{{NAMES['d']}}}Object").append(signed)
        return bytes(etree.tostring(evil))

    assert await is_in(await signs_in(visitor, saml_site, change)) is None


async def test_the_key_of_another_site_opens_nothing_here(visitor, ada, saml_site, pairs):
    saml_site.lies = {"pair": pairs["other"], "issuer": "https://other/"}
    browser = await visitor()
    question = await go_there(browser, saml_site)
    answer = saml_site.answer(question)
    await come_back(browser, answer, question.state)
    assert await is_in(browser) is None
    await come_back(browser, answer, question.state, "/complete/other")
    assert await is_in(browser) is None


# -- once, and in one browser


async def test_an_answer_lets_in_once(visitor, ada, saml_site):
    browser, other = await visitor(), await visitor()
    question = await go_there(browser, saml_site)
    cookie, xml = browser.cookies["parley_flow"], saml_site.answer(question)
    await come_back(browser, xml, question.state)
    assert await is_in(browser) == ada.user_id
    other.cookies["parley_flow"] = cookie
    assert (await come_back(other, xml, question.state)).status == 401
    saml_site.lies = {"assertion_id": "_new", "response_id": "_other"}
    await come_back(other, saml_site.answer(question), question.state)
    assert await is_in(other) is None


async def test_an_answer_is_good_in_the_browser_that_asked_alone(visitor, ada, saml_site):
    browser, other = await visitor(), await visitor()
    question = await go_there(browser, saml_site)
    xml = saml_site.answer(question)
    for state in (question.state, "", "x" * 3_000):
        await come_back(other, xml, state)
        assert await is_in(other) is None
    theirs = await go_there(other, saml_site)
    await come_back(other, xml, theirs.state)
    assert await is_in(other) is None


async def test_an_answer_is_good_in_one_organization_alone(
    visitor, ada, saml_site, make, connect, server
):
    other = await new_realm(make.connection, authentication_methods=["SAML"])
    browser = await visitor()
    question = await go_there(browser, saml_site)
    browser.client = await connect(server, other.realm_id)
    await come_back(browser, saml_site.answer(question), question.state)
    assert await is_in(browser) is None


# -- what is no answer


LAUGHS = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10 if i else "ha" * 10}">' for i in range(12))


NO_ANSWERS = [
    b"",
    b"nothing",
    b"<a",
    b"\xff\xfe",
    b'<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>',
    f"<!DOCTYPE a [{LAUGHS}]><a>&a11;</a>".encode(),
    b'<!DOCTYPE a SYSTEM "http://127.0.0.1:1/a.dtd"><a/>',
    b"<a>" * 20_000,
    b"x" * 300_000,
    b'<p:Response xmlns:p="urn:oasis:names:tc:SAML:2.0:protocol"/>',
]


async def test_what_is_no_answer_is_refused(visitor, saml_site):
    browser = await visitor()
    question = await go_there(browser, saml_site)
    for xml in NO_ANSWERS:
        answer = await come_back(browser, xml, question.state)
        assert answer.status == 401, xml[:30]
        assert "root:" not in browser.page


async def test_entities_in_a_signed_answer_are_refused(visitor, ada, saml_site):
    head = b'<!DOCTYPE a [<!ENTITY who "ada">]>'
    saml_site.lies = {"name_id": "ada@example.com"}
    browser = await signs_in(
        visitor, saml_site, lambda xml: head + xml.replace(b">ada@", b">&who;@")
    )
    assert await is_in(browser) is None


# -- who it is


async def test_addresses_and_names_come_from_attributes(
    serving_with, connect, make, ada, saml_site, described, pairs
):
    wanted = {
        **described,
        "email_attribute": "workEmail",
        "name_attributes": ["first", "last"],
        "domains": [],
        "trusts_addresses": True,
        # While the site changes from one to the next, both count.
        "certificate": f"{pairs['other'].certificate}\n{pairs['site'].certificate}\n",
    }
    await make.change_settings(authentication_methods=["SAML"], invite_required=False)
    async with serving_with(sign_in_providers={"ours": wanted}) as server:
        browser = Visitor(await connect(server, make.realm_id))
        saml_site.attributes = {"workEmail": "ADA@example.com", "email": "eve@example.com"}
        question = await go_there(browser, saml_site)
        await come_back(browser, saml_site.answer(question), question.state)
        assert await is_in(browser) == ada.user_id
        other = Visitor(browser.client)
        saml_site.attributes = {"workEmail": "grace@x.org", "last": "Hopper", "first": "Grace"}
        question = await go_there(other, saml_site)
        answer = await come_back(other, saml_site.answer(question), question.state)
        await other.follow(answer)
        assert 'value="Grace Hopper"' in other.page
        place = answer.headers["Location"].partition("?")[0]
        assert (await other.submit(place, full_name="Grace")).headers["Location"] == "/"


@pytest.mark.parametrize(("verified", "let_in"), [("true", True), ("false", False), ("", False)])
async def test_an_address_of_elsewhere_counts_where_the_site_says_that_it_is_verified(
    visitor, make, saml_site, verified, let_in
):
    await make.user("Eve", email="eve@elsewhere.org")
    saml_site.attributes = {"mail": "eve@elsewhere.org", "email_verified": verified}
    assert (await is_in(await signs_in(visitor, saml_site)) is not None) is let_in


async def test_accounts_that_are_closed_and_bots_stay_outside(visitor, saml_site, make, ada):
    await make.user("Bot", email="bot@example.com", bot_type=1)
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(id)s", id=ada.user_id
    )
    for email in (ada.email, "bot@example.com"):
        saml_site.attributes = {"email": email}
        browser = await signs_in(visitor, saml_site)
        assert browser.problem == "Account is deactivated"


async def test_who_has_no_account_needs_an_invitation_to_a_closed_organization(visitor, saml_site):
    saml_site.attributes = {"email": "grace@example.com"}
    browser = await signs_in(visitor, saml_site)
    assert browser.problem == "You need an invitation to join this organization."


# -- what is known of it


async def test_an_organization_chooses_it_and_clients_are_told(spectator, make, server, visitor):
    client = await spectator()
    body = await client.get("/server_settings")
    assert body["authentication_methods"]["saml"] is True
    assert [
        (each["name"], each["display_name"], each["login_url"])
        for each in body["external_authentication_methods"]
    ] == [
        ("saml:ours", "Our Site", BEGIN),
        ("saml:other", "Our Site", BEGIN.replace("ours", "other")),
        *([("browser", "your browser", "/login/")] if body["email_auth_enabled"] else []),
    ]
    await make.change_settings(authentication_methods=["Email"])
    server.forget(make.realm_id)
    assert (await (await visitor()).look(BEGIN)).status == 404
    assert (await client.get("/server_settings"))["authentication_methods"]["saml"] is False


async def test_the_site_reads_who_we_are(visitor, server, saml_site):
    browser = await visitor()
    answer = await browser.look("/complete/ours/metadata")
    assert answer.headers["Content-Type"] == "application/samlmetadata+xml"
    root = etree.fromstring(answer.content)
    question = await go_there(browser, saml_site)
    assert root.get("entityID") == question.issuer == f"{question.place}/metadata"
    place = root.find(".//{*}AssertionConsumerService")
    assert place.get("Location") == question.place
    assert (await browser.look("/complete/unknown/metadata")).status == 404


async def test_questions_are_signed_and_answers_may_be_encrypted(
    serving_with, connect, make, ada, saml_site, described, pairs
):
    ours = pairs["ours"]
    await make.change_settings(authentication_methods=["SAML"])
    own = {"saml_certificate": ours.certificate, "saml_key": ours.key}
    async with serving_with(sign_in_providers={"ours": described}, **own) as server:
        browser = Visitor(await connect(server, make.realm_id))
        answer = await browser.look("/complete/ours/metadata")
        body = "".join(ours.certificate.splitlines()[1:-1])
        assert body in "".join(answer.content.decode().split())
        question = await go_there(browser, saml_site)
        signed = "&".join(
            f"{name}={quote(question.fields[name], safe='')}"
            for name in ("SAMLRequest", "RelayState", "SigAlg")
        )
        known = load_pem_x509_certificate(ours.certificate.encode()).public_key()
        assert isinstance(known, RSAPublicKey)
        signature = base64.b64decode(question.fields["Signature"])
        known.verify(signature, signed.encode(), PKCS1v15(), SHA256())
        xml = encrypted(saml_site.answer(question), ours.certificate)
        assert b"ada@" not in xml
        await come_back(browser, xml, question.state)
        assert await is_in(browser) == ada.user_id


@pytest.mark.parametrize(
    "wrong",
    [
        {"certificate": "none"},
        {"certificate": ""},
        {"sign_in_url": "id.example.com"},
        {"entity_id": ""},
        {"secret": "x"},
    ],
)
async def test_a_site_is_described_as_it_can_be_used(described, wrong):
    assert Providers({"ours": described}).methods == ("SAML",)
    with pytest.raises(ValueError):  # noqa: PT011 - any of those that settings turn into a sentence
        Providers({"ours": {**described, **wrong}})
    with pytest.raises(ValueError, match="saml"):
        Providers({"saml": {"client_id": "x", "client_secret": "y", "issuer": "https://x"}})
