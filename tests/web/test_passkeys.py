"""Responses with passkeys that no authenticator has given: all are refused, and nothing breaks."""

import json
import re
from html import unescape

import pytest

from testkit.clients.page_client import PASSWORD, Visitor

pytestmark = pytest.mark.asyncio

REFUSED = "This passkey is not known here, or did not confirm that it is you."
B64 = "AAAA"
SOME = {
    "id": B64,
    "rawId": B64,
    "type": "public-key",
    "response": {
        "clientDataJSON": B64,
        "authenticatorData": B64,
        "signature": B64,
        "attestationObject": B64,
    },
}
MALFORMED = [
    "",
    "null",
    "[]",
    "1",
    '"x"',
    "{}",
    "{" * 1_000,
    "[" * 19_000,
    "x" * 30_000,
    json.dumps(SOME),
    json.dumps(SOME | {"response": {}}),
    json.dumps(SOME | {"response": None}),
    json.dumps(SOME | {"rawId": "ä"}),
    json.dumps(SOME | {"rawId": 1}),
    json.dumps(SOME | {"type": []}),
]


@pytest.mark.parametrize("credential", MALFORMED)
async def test_what_is_no_response_is_refused(serving_with, make, connect, ada, credential):
    async with serving_with(external_url="https://chat.example.com") as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/login/")
        assert "sign-in.js" in browser.page
        assert "passkeys.js" in browser.page
        answer = await browser.submit("/login/passkey", credential=credential)
        assert (answer.status, browser.problem) == (401, REFUSED)
        await browser.sign_in(ada.email, PASSWORD)
        await browser.look("/account/second-factors")
        answer = await browser.submit(
            "/account/second-factors/passkey", credential=credential, password=PASSWORD
        )
        assert (answer.status, browser.problem) == (401, REFUSED)


async def test_options_name_the_site_and_a_new_challenge(serving_with, make, connect, ada):
    async with serving_with(external_url="https://chat.example.com") as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.sign_in(ada.email, PASSWORD)
        found = []
        for _ in range(2):
            await browser.look("/account/second-factors")
            [options] = re.findall(r'data-options="([^"]*)"', browser.page)
            found.append(json.loads(unescape(options)))
        assert found[0]["rp"]["id"].endswith(".parley.test")
        assert found[0]["challenge"] != found[1]["challenge"]
        assert found[0]["user"]["id"] == found[1]["user"]["id"]
        assert str(ada.user_id) != found[0]["user"]["id"]


async def test_an_address_without_names_or_tls_has_no_passkeys(visitor, ada):
    browser = await visitor()
    await browser.look("/login/")
    assert "passkeys.js" not in browser.page
    await browser.sign_in(ada.email, PASSWORD)
    answer = await browser.look("/account/second-factors")
    assert "script-src" not in answer.headers["Content-Security-Policy"]
    assert "This browser has no passkeys, or this address is not secure (https)." in browser.text


async def test_an_organization_without_passwords_takes_no_passkeys_alone(
    serving_with, make, connect, ada
):
    async with serving_with(external_url="https://chat.example.com") as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/login/")
        form = next(each for each in browser.forms() if each.action == "/login/passkey").fields
        await make.change_settings(authentication_methods=["LDAP"])
        server.forget(make.realm_id)
        answer = await browser.post("/login/passkey", **form)
        assert answer.status == 401
        assert browser.problem == "Password authentication is disabled in your organization"


async def test_a_sign_in_without_a_passkey_takes_none(serving_with, make, connect, ada):
    async with serving_with(external_url="https://chat.example.com") as server:
        browser = Visitor(await connect(server, make.realm_id))
        await browser.look("/login/")
        token = browser.forms()[0].fields["csrfmiddlewaretoken"]
        answer = await browser.post(
            "/login/second-factor/passkey", csrfmiddlewaretoken=token, unfinished="x"
        )
        assert answer.headers["Location"] == "/login/?done=late"
