"""`parley user`: an operator looks after accounts."""

import asyncio
import json

import pytest

from storage import users
from tests.acceptance.test_operations import parley
from tests.factories import new_realm

pytestmark = pytest.mark.asyncio


async def test_an_operator_closes_opens_and_lets(make, database_url):
    await make.user("Owner", role=100)
    cook = await make.user(email="cook@example.com")
    subdomain = await make.connection.value(
        "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=make.realm_id
    )
    elsewhere = await new_realm(make.connection)
    namesake = await elsewhere.user(email="cook@example.com")

    async def run(command, *options, email="cook@example.com"):
        arguments = ("user", command, "--realm", subdomain, "--email", email, *options)
        # In a thread: the command runs an event loop of its own.
        return await asyncio.to_thread(parley, *arguments, DATABASE_URL=database_url)

    async def row():
        [found] = await users.by_ids(make.connection, make.realm_id, [cook.user_id])
        return found

    assert (await run("deactivate")).out == "cook@example.com is deactivated.\n"
    assert not (await row()).is_active
    [other] = await users.by_ids(make.connection, elsewhere.realm_id, [namesake.user_id])
    assert other.is_active
    assert (await run("reactivate")).out == "cook@example.com is active again.\n"
    assert (await row()).is_active
    again = await run("reactivate")
    assert (again.status, "already active" in str(again)) == (1, True)

    for option, expected in (("--create-users", True), ("--no-create-users", False)):
        assert (await run("grant", option)).status == 0
        may = await users.can_create_users(make.connection, make.realm_id, cook.user_id)
        assert may == expected
    key = (await run("make-key", "--name", "CI", "--scope", "read", "--days", "7")).out.strip()
    [kept] = json.loads((await run("keys", "--json")).out)
    assert (kept["name"], kept["reaches"]) == ("CI", "read")
    assert key.startswith(kept["begins with"])
    number = str(kept["number"])
    assert (await run("revoke-key", "--number", number)).status == 0
    assert (await run("revoke-key", "--number", number)).status == 1
    assert (await run("keys")).out.strip() == "There are none."
    nobody = await run("deactivate", email="nobody@example.com")
    assert (nobody.status, "Nobody has the address" in str(nobody)) == (1, True)
