"""`parley activity`: an operator sees who uses what."""

import asyncio
import json

import pytest

from tests.acceptance.test_operations import parley

pytestmark = pytest.mark.asyncio


async def test_an_operator_sees_who_uses_what(server, log_in, make, database_url):
    cook, baker = [await make.user(email=f"{n}@example.com") for n in ("cook", "baker")]
    for row in (cook, baker):
        client = await log_in(row)
        await client.get("/users/me", client="Kitchen")
    await server.app.activity.write()
    subdomain = (await server.app.realm_caches.of(make.realm_id).realm()).subdomain

    def activity(*options):
        # In a thread: the command runs an event loop of its own.
        return parley("activity", "--realm", subdomain, *options, DATABASE_URL=database_url)

    done = await asyncio.to_thread(activity, "--json")
    rows = json.loads(done.out)
    assert {(row["who"], row["client"], row["what"], row["times"]) for row in rows} == {
        ("cook@example.com", "Kitchen", "users", 1),
        ("baker@example.com", "Kitchen", "users", 1),
    }
    done = await asyncio.to_thread(activity, "--of", "COOK@example.com")
    assert "cook@example.com" in done.out
    assert "baker@example.com" not in done.out
    done = await asyncio.to_thread(activity, "--of", "nobody@example.com")
    assert "No account has the address" in str(done)
