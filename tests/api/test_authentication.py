"""POST /fetch_api_key and its companion for developers."""

import argon2
import pytest
import pytest_asyncio
from joserfc import jwt
from joserfc.jwk import OctKey

from server.domain import passwords
from server.domain.passwords import Passwords

pytestmark = pytest.mark.asyncio

PASSWORD = "correct horse battery"
HASH_OF = "SELECT password_hash FROM users WHERE user_id = %(user_id)s"


async def keep(make, user, password_hash):
    await make.connection.execute(
        "UPDATE users SET password_hash = %(hash)s WHERE user_id = %(user_id)s",
        hash=password_hash,
        user_id=user.user_id,
    )


@pytest_asyncio.fixture
async def cook(make):
    """A user with a password."""
    cook = await make.user("Cook", email="Cook@example.com")
    with Passwords(1) as threads:
        await keep(make, cook, await threads.hash(PASSWORD))
    return cook


async def fetch(client, **fields):
    return await client.call("POST", "/fetch_api_key", **fields)


@pytest.mark.parametrize("username", ["Cook@example.com", " cook@EXAMPLE.com "])
async def test_a_password_is_worth_an_api_key(spectator, cook, username):
    client = await spectator()

    body = (await fetch(client, username=username, password=PASSWORD)).succeeded()

    assert (body["api_key"], body["email"], body["user_id"]) == (
        cook.api_key,
        cook.email,
        cook.user_id,
    )


@pytest.mark.parametrize(
    ("username", "password"),
    [
        ("Cook@example.com", "wrong"),
        ("Cook@example.com", ""),
        ("nobody@example.com", PASSWORD),
        ("", PASSWORD),
    ],
)
async def test_anything_else_is_refused_in_the_same_words(spectator, cook, username, password):
    refusal = (await fetch(await spectator(), username=username, password=password)).refused(
        "AUTHENTICATION_FAILED", 401
    )

    assert refusal["msg"] == "Your username or password is incorrect"


@pytest.mark.usefixtures("production_hashes")
async def test_it_takes_as_long_for_unknown_users(spectator, cook, make, monkeypatch):
    """For each name one hash is checked, of the same work."""
    checked = []

    def verify(password, known_hash):
        checked.append(argon2.extract_parameters(known_hash))
        return verified(password, known_hash)

    verified = passwords._verify
    monkeypatch.setattr(passwords, "_verify", verify)
    client = await spectator()
    closed = await make.user("Closed", is_active=False)
    await keep(make, closed, await make.connection.value(HASH_OF, user_id=cook.user_id))
    without = await make.user("Without")
    names = (cook.email, "nobody@example.com", without.email, closed.email, "", "x" * 5_000)
    for name in names:
        assert (await fetch(client, username=name, password="wrong")).status == 401
    assert len(checked) == len(names)
    assert len(set(map(repr, checked))) == 1


async def test_who_has_no_password_cannot_sign_in_with_one(spectator, make):
    user = await make.user()

    (await fetch(await spectator(), username=user.email, password="")).refused(
        "AUTHENTICATION_FAILED", 401
    )


async def test_a_deactivated_user_is_told_so_who_knows_the_password(spectator, make, cook):
    await make.connection.execute(
        "UPDATE users SET is_active = false WHERE user_id = %(user_id)s", user_id=cook.user_id
    )
    client = await spectator()

    right = await fetch(client, username=cook.email, password=PASSWORD)
    wrong = await fetch(client, username=cook.email, password="wrong")

    right.refused("USER_DEACTIVATED", 401)
    wrong.refused("AUTHENTICATION_FAILED", 401)


async def test_a_deactivated_realm_admits_no_user(spectator, make, cook):
    await make.connection.execute(
        "UPDATE realms SET deactivated = true WHERE realm_id = %(realm_id)s",
        realm_id=make.realm_id,
    )

    (await fetch(await spectator(), username=cook.email, password=PASSWORD)).refused(
        "REALM_DEACTIVATED", 401
    )


async def test_an_organization_may_do_without_passwords(spectator, make, cook):
    await make.change_settings(authentication_methods=[])

    (await fetch(await spectator(), username=cook.email, password=PASSWORD)).refused(
        "PASSWORD_AUTH_DISABLED", 401
    )


async def test_both_fields_are_needed(spectator):
    client = await spectator()

    for fields in ({"username": "cook"}, {"password": PASSWORD}):
        (await fetch(client, **fields)).refused("REQUEST_VARIABLE_MISSING")


@pytest.mark.usefixtures("production_hashes")
async def test_a_hash_with_less_work_is_replaced(spectator, make, cook):
    weak = argon2.PasswordHasher(time_cost=1, memory_cost=8192, parallelism=1).hash(PASSWORD)
    await keep(make, cook, weak)
    client = await spectator()

    (await fetch(client, username=cook.email, password=PASSWORD)).succeeded()

    kept = await make.connection.value(
        "SELECT password_hash FROM users WHERE user_id = %(user_id)s", user_id=cook.user_id
    )
    assert kept != weak
    assert "m=19456,t=2,p=1" in kept
    (await fetch(client, username=cook.email, password=PASSWORD)).succeeded()


async def test_production_servers_give_no_key_away(spectator, cook):
    (await (await spectator()).call("POST", "/dev_fetch_api_key", username=cook.email)).refused()


async def test_development_servers_give_any_key_away(serving_with, connect, make, cook):
    async with serving_with(development=True) as server:
        client = await connect(server, make.realm_id)
        body = await client.post("/dev_fetch_api_key", username=cook.email)
        unknown = await client.call("POST", "/dev_fetch_api_key", username="nobody@example.com")

    assert body["api_key"] == cook.api_key
    unknown.refused("AUTHENTICATION_FAILED", 401)


# -- tokens of a site of one's own


async def test_a_token_of_ones_own_site_is_worth_a_key(serving_with, make, connect, cook):
    keys = {await subdomain_of(make): {"key": "secret" * 8}}
    async with serving_with(jwt_keys=keys) as server:
        client = await connect(server, make.realm_id)
        token = signed({"email": cook.email.upper()})
        body = await client.post("/jwt/fetch_api_key", token=token)
        assert (body["api_key"], body["email"]) == (cook.api_key, cook.email)
        assert "user" not in body
        body = await client.post("/jwt/fetch_api_key", token=token, include_profile=True)
        assert body["user"]["user_id"] == cook.user_id
        await make.connection.execute(
            "UPDATE users SET email_confirmed = false WHERE user_id = %(u)s", u=cook.user_id
        )
        answer = await client.call("POST", "/jwt/fetch_api_key", token=token)
        answer.refused("AUTHENTICATION_FAILED", 401)


@pytest.mark.parametrize(
    ("token", "code", "status"),
    [
        ("x", "BAD_REQUEST", 400),
        ("a.b.c", "BAD_REQUEST", 400),
        ({"email": "cook@example.com", "exp": 1}, "BAD_REQUEST", 400),
        ({"email": "cook@example.com", "nbf": 2**40}, "BAD_REQUEST", 400),
        ({"email": ""}, "BAD_REQUEST", 400),
        ({}, "BAD_REQUEST", 400),
        ({"email": "nobody@example.com"}, "AUTHENTICATION_FAILED", 401),
        ({"email": "bot@example.com"}, "AUTHENTICATION_FAILED", 401),
    ],
)
async def test_any_other_token_is_refused(serving_with, make, connect, cook, token, code, status):
    await make.user("Bot", email="bot@example.com", bot_type=1)
    async with serving_with(jwt_keys={await subdomain_of(make): {"key": "secret" * 8}}) as server:
        client = await connect(server, make.realm_id)
        text = token if isinstance(token, str) else signed(token)
        answer = await client.call("POST", "/jwt/fetch_api_key", token=text)
        answer.refused(code, status)
        text = signed({"email": cook.email}, key="another" * 8)
        (await client.call("POST", "/jwt/fetch_api_key", token=text)).refused()


async def test_tokens_are_taken_where_the_operator_says_so(spectator, cook):
    answer = await (await spectator()).call(
        "POST", "/jwt/fetch_api_key", token=signed({"email": cook.email})
    )
    assert "not enabled" in answer.refused()["msg"]


async def subdomain_of(make) -> str:
    found = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(r)s", r=make.realm_id
    )
    return str(found)


def signed(claims, key="secret" * 8):
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(key))


async def test_developers_see_who_is_there(serving_with, make, connect, cook):
    owner = await make.user("Owner", role=100)
    await make.user("Bot", bot_type=1)
    async with serving_with(development=True) as server:
        body = await (await connect(server, make.realm_id)).get("/dev_list_users")
        assert [each["email"] for each in body["direct_users"]] == [cook.email]
        assert [each["email"] for each in body["direct_admins"]] == [owner.email]
        assert body["direct_users"][0]["realm_url"].startswith("http://")


async def test_no_other_server_does(spectator, cook):
    (await (await spectator()).call("GET", "/dev_list_users")).refused()
