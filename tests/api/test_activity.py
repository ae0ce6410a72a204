"""What clients ask for is counted and written together; names of clients fill no table."""

from dataclasses import replace
from datetime import timedelta

import pytest

from queue_processors.log_keeper import ACTIVITY_RETENTION, LogKeeper
from server.presences import activity
from storage import user_activity
from storage.user_activity import MAX_CLIENTS, OTHERS, Visits
from testkit.clock import StoppedClock
from testkit.factories import JOINED

pytestmark = pytest.mark.asyncio


async def kept(make, user_id=None):
    rows = await user_activity.newest(make.connection, make.realm_id, limit=1_000, user_id=user_id)
    return {(row.user_id, row.client, row.what): row.count for row in rows}


async def test_it_is_by_person_client_and_kind(server, log_in, make):
    alice, bob = [await make.user(name) for name in ("Alice", "Bob")]
    one, other = await log_in(alice), await log_in(bob)
    for _ in range(3):
        await one.get("/users/me")
    await one.get(f"/users/{bob.user_id}")
    await one.get("/users/me", client="Other Client")
    await one.get("/drafts")
    await other.get("/drafts")
    assert await kept(make) == {}, "nothing is written at a request"
    await server.app.activity.write()
    expected = {
        (alice.user_id, "ParleyTests", "users"): 4,
        (alice.user_id, "Other Client", "users"): 1,
        (alice.user_id, "ParleyTests", "drafts"): 1,
        (bob.user_id, "ParleyTests", "drafts"): 1,
    }
    assert await kept(make) == expected
    before = server.app.clock.now() - timedelta(minutes=1)
    rows = await user_activity.newest(make.connection, make.realm_id, limit=9)
    assert all(before < row.last_at <= server.app.clock.now() for row in rows)
    # What is written is not written again, and what comes is added.
    await server.app.activity.write()
    await other.get("/drafts")
    await server.app.activity.write()
    expected[bob.user_id, "ParleyTests", "drafts"] = 2
    assert await kept(make) == expected
    assert await kept(make, bob.user_id) == {(bob.user_id, "ParleyTests", "drafts"): 2}


async def test_who_is_not_known_is_not_counted(server, log_in, make):
    client = await log_in(await make.user())
    stranger = replace(client, api_key="x" * 32)
    (await stranger.call("GET", "/users/me")).refused("INVALID_API_KEY", 401)
    await replace(client, email=None, api_key=None).get("/server_settings")
    await server.app.activity.write()
    assert await kept(make) == {}


async def test_it_is_written_when_a_server_stops(serving_with, connect, make):
    row = await make.user()
    async with serving_with() as server:
        client = await connect(server, make.realm_id, row)
        await client.get("/users/me")
    assert (row.user_id, "ParleyTests", "users") in await kept(make)


async def test_names_of_clients_have_an_end(server, log_in, make, monkeypatch):
    row = await make.user()
    client = await log_in(row)
    for number in range(activity.MAX_CLIENTS + 5):
        await client.get("/drafts", client=f"c{number}")
    await server.app.activity.write()
    found = await kept(make)
    assert len(found) == activity.MAX_CLIENTS + 1
    assert found[row.user_id, OTHERS, "drafts"] == 5

    for number in range(100):
        visit = Visits(make.realm_id, row.user_id, f"d{number}", "drafts", 1, JOINED)
        await user_activity.add(make.connection, [visit])
    found = await kept(make)
    assert MAX_CLIENTS <= len(found) <= MAX_CLIENTS + 1
    assert sum(found.values()) == activity.MAX_CLIENTS + 5 + 100

    monkeypatch.setattr(activity, "MAX_COUNTED", 1)
    await client.get("/drafts")
    await client.get("/users/me")
    await server.app.activity.write()
    assert not [what for _, _, what in await kept(make) if what == "users"]


async def test_what_was_long_ago_is_forgotten(make, database):
    visits = [
        Visits(make.realm_id, (await make.user()).user_id, "c", "drafts", 1, at)
        for at in (
            StoppedClock().now() - ACTIVITY_RETENTION - timedelta(days=10_000),
            StoppedClock().now() + timedelta(days=10_000),
        )
    ]
    await user_activity.add(make.connection, visits)
    await LogKeeper(database, StoppedClock()).tidy()
    assert list(await kept(make)) == [(visits[1].user_id, "c", "drafts")]


async def test_a_name_that_no_text_may_hold_is_refused(server, log_in, make):
    client = await log_in(await make.user())
    (await client.call("GET", "/users/me", client="a\0b")).refused("REQUEST_VARIABLE_INVALID")
    await client.get("/users/me")
    await server.app.activity.write()
    assert [name for _, name, _ in await kept(make)] == ["ParleyTests"]


async def test_what_cannot_be_written_keeps_back_nothing_else(server, log_in, make, monkeypatch):
    client = await log_in(await make.user())
    await client.get("/users/me", client="Odd")
    add = user_activity.add

    async def refuse_odd(connection, visits):
        if any(each.client == "Odd" for each in visits):
            raise ValueError("no such text")
        await add(connection, visits)

    monkeypatch.setattr(user_activity, "add", refuse_odd)
    await server.app.activity.write()
    await client.get("/users/me")
    await server.app.activity.write()
    assert [name for _, name, _ in await kept(make)] == ["ParleyTests"]
