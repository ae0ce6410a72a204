"""Failed sign-ins in the log: who tried, why it failed, no secret, and readable by fail2ban."""

import re

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from storage.realms import by_id
from testkit.clients.api import basic
from testkit.clients.page_client import PASSWORD
from testkit.logs import lines
from testkit.sources import ROOT

pytestmark = pytest.mark.asyncio

FILTER = (ROOT / "docs" / "deploy" / "fail2ban-filter.conf").read_text()
TYPED = "hunter2-typed-by-mistake@example.com"


def failures(out) -> list[dict[str, object]]:
    shown = [line for line in lines(out) if line["event"] == "sign_in.failed"]
    return [{name: line[name] for name in ("address", "reason", "account")} for line in shown]


def banned(out) -> list[str]:
    """The addresses that fail2ban finds, with the filter of the documentation."""
    [pattern] = re.findall(r"^failregex = (.*)$", FILTER, re.MULTILINE)
    wanted = re.compile(pattern.replace("<ADDR>", "(?P<address>[0-9a-f:.]+)"))
    found = [wanted.search(line.decode()) for line in out.getvalue().splitlines()]
    return [match["address"] for match in found if match]


def failure(reason: str, account: str | None) -> dict[str, object]:
    return {"address": "127.0.0.1", "reason": reason, "account": account}


async def test_a_wrong_password_is_logged_on_the_page_and_over_the_api(
    log, visitor, ada, spectator
):
    out, browser, client = log(), await visitor(), await spectator()
    await browser.look("/login/")
    for username in (ada.email, TYPED):
        await browser.submit("/login/", username=username, password="wrong-4711")
        await client.call("POST", "/fetch_api_key", username=username, password="wrong-4711")
    await client.call("POST", "/fetch_api_key", username=ada.email, password=PASSWORD)

    known, unknown = (failure("authentication_failed", name) for name in (ada.email, None))
    assert failures(out) == [known, known, unknown, unknown]
    assert banned(out) == 4 * ["127.0.0.1"]
    for secret in (b"wrong-4711", TYPED.encode(), PASSWORD.encode()):
        assert secret not in out.getvalue()


async def test_wrong_keys_are_logged_and_requests_without_any_are_not(log, log_in, spectator, make):
    client, stranger = await log_in(), await spectator()
    out, wrong = log(), "wrongKEY12345678901234567890abcd"
    for authorization in (basic(client.email, wrong), basic("a@example.com", wrong)):
        await stranger.send("GET", "/users/me", headers={"Authorization": authorization})
    await stranger.send("POST", f"/external/json?api_key={wrong}", body=b"{}")
    await stranger.send("GET", "/users/me")
    assert failures(out) == [
        failure("invalid_api_key", client.email),
        failure("invalid_api_key", None),
        failure("invalid_api_key", None),
    ]
    assert wrong.encode() not in out.getvalue()


async def test_the_owner_of_a_closed_account_is_logged_and_not_banned(log, ada, spectator, make):
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(user_id)s", user_id=ada.user_id
    )
    out, client = log(), await spectator()
    await client.call("POST", "/fetch_api_key", username=ada.email, password=PASSWORD)
    assert failures(out) == [failure("user_deactivated", ada.email)]
    assert banned(out) == []


async def test_a_wrong_password_for_a_change_of_credentials_is_logged(log, log_in, ada):
    client = await log_in(ada)
    out = log()
    for name in ("new_password", "email"):
        changed = {name: "another-secret-4712@example.com", "old_password": "wrong-4711"}
        (await client.call("PATCH", "/settings", **changed)).refused()
    assert failures(out) == 2 * [failure("authentication_failed", ada.email)]
    assert banned(out) == 2 * ["127.0.0.1"]
    assert b"wrong-4711" not in out.getvalue()


async def test_a_token_of_another_key_is_logged(log, serving_with, make, connect, ada):
    realm = await by_id(make.connection, make.realm_id)
    assert realm is not None
    async with serving_with(jwt_keys={realm.subdomain: {"key": "secret" * 8}}) as server:
        out, client = log(), await connect(server, make.realm_id)
        key = OctKey.import_key("another secret " * 4)
        token = jwt.encode({"alg": "HS256"}, {"email": ada.email}, key)
        await client.call("POST", "/jwt/fetch_api_key", token=token)
    assert failures(out) == [failure("invalid_token", None)]
    assert banned(out) == ["127.0.0.1"]


async def test_nothing_that_a_client_sends_looks_like_a_line_of_another_address(log, spectator):
    fields = '"address":"6.6.6.6","reason":"invalid_api_key","method":"password"'
    forged = '","event":"sign_in.failed"}\n{' + fields + ',"event":"sign_in.failed"'
    out, client = log(PARLEY_ACCESS_LOG="on"), await spectator()
    for name in (forged, forged[::-1]):
        await client.call("POST", "/fetch_api_key", username=name, password=name)
    await client.send(
        "GET", "/users/me", headers={"X-Request-Id": forged.replace("\n", ""), "User-Agent": "x"}
    )
    assert set(banned(out)) == {"127.0.0.1"}
