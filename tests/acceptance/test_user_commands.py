"""`parley user`: an operator looks after accounts."""

import asyncio
import json
import subprocess

import pytest

from storage import user_grants, users
from testkit.factories import new_realm
from tests.acceptance.test_operations import PARLEY, environment, parley

pytestmark = pytest.mark.asyncio

FOUND = (
    *("realm", "create", "--name", "Root", "--owner-name", "Olga"),
    *("--owner-email", "olga@example.com"),
)


def on_its_own(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, which then says where it logs to."""
    return subprocess.run(
        [*PARLEY, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment(**settings),
    )


async def test_where_there_are_several_organizations_one_has_to_be_named(make, database_url):
    realms = {
        await row.connection.value(
            "SELECT subdomain FROM realms WHERE realm_id = %(realm_id)s", realm_id=row.realm_id
        ): row
        for row in (make, await new_realm(make.connection))
    }
    at_root = await make.connection.value("SELECT true FROM realms WHERE subdomain = ''")
    person = ("--email", "new@example.com", "--name", "New")
    for command in (
        ("realm", "deactivate"),
        ("realm", "quota", "--none"),
        ("user", "create", *person),
        ("export",),
    ):
        done = await asyncio.to_thread(parley, *command, DATABASE_URL=database_url)
        assert done.status == 1
        assert "There are several organizations: say which with --realm" in done.err
        assert all(subdomain in done.err for subdomain in realms)
    if not at_root:
        ungrouped = ("realm", "quota", "--none", "--realm", "")
        done = await asyncio.to_thread(parley, *ungrouped, DATABASE_URL=database_url)
        assert "There is no organization at the server's own address." in done.err
        founded = await asyncio.to_thread(parley, *FOUND, DATABASE_URL=database_url)
        assert founded.status == 0
    again = await asyncio.to_thread(parley, *FOUND, DATABASE_URL=database_url)
    assert again.err == (
        "parley: There is an organization at the server's own address already:"
        " name another --subdomain.\n"
    )
    done = await asyncio.to_thread(parley, "realm", "deactivate", DATABASE_URL=database_url)
    assert (done.status, "'' is the one at the server's own address" in done.err) == (1, True)
    named = ("realm", "deactivate", "--realm", "")
    done = await asyncio.to_thread(parley, *named, DATABASE_URL=database_url)
    assert "at the server's own address, is deactivated." in done.out


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
    assert (await run("deactivate")).out == "cook@example.com was deactivated already.\n"
    [other] = await users.by_ids(make.connection, elsewhere.realm_id, [namesake.user_id])
    assert other.is_active
    assert (await run("reactivate")).out == "cook@example.com is active again.\n"
    assert (await row()).is_active
    key = (await row()).api_key
    assert (await run("reactivate")).out == "cook@example.com was active already.\n"
    assert (await row()).api_key == key

    for option, expected in (("--create-users", True), ("--no-create-users", False)):
        assert (await run("grant", option)).status == 0
        may = await user_grants.can_create_users(make.connection, make.realm_id, cook.user_id)
        assert may == expected
    key = (await run("make-key", "--name", "CI", "--scope", "read", "--days", "7")).out.strip()
    [kept] = json.loads((await run("keys", "--json")).out)
    assert (kept["name"], kept["reaches"]) == ("CI", "read")
    assert key.startswith(kept["begins with"])
    number = str(kept["number"])
    assert (await run("revoke-key", "--number", number)).status == 0
    assert (await run("revoke-key", "--number", number)).status == 1
    assert (await run("keys")).out.strip() == "There are none."
    wrong = ("revoke-key", "--realm", subdomain, "--email", cook.email, "--number", "99")
    for level, least in (("info", 1), ("debug", 2)):
        settings = {"DATABASE_URL": database_url, "PARLEY_LOG_LEVEL": level}
        done = await asyncio.to_thread(on_its_own, "user", *wrong, **settings)
        told = done.stderr.splitlines()
        assert (done.returncode, done.stdout) == (1, "")
        assert len(told) >= least
        assert told[-1].startswith("parley: ")
        assert not [line for line in told[:-1] if not line.startswith("{")]
    unknown = await run("deactivate", email="nobody@example.com")
    assert (unknown.status, "No account has the address" in str(unknown)) == (1, True)
