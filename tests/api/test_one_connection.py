"""A server with one connection in its pool: its holder never waits for another.

With more of them the same wait would be for each other, under load, and only sometimes.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from server.domain.access import OWNER
from storage.ids import RealmId
from testkit.clients.api import Client
from testkit.clients.server import Server
from testkit.factories import Make

pytestmark = pytest.mark.asyncio


@pytest_asyncio.fixture
async def narrow_server(serving_with) -> AsyncIterator[Server]:
    async with serving_with(database_pool_size=1) as server:
        yield server


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user("Owner", role=OWNER), await make.user("Alice"), await make.user("Bob")]


@pytest_asyncio.fixture
async def clients(narrow_server, make: Make, people, connect):
    return [await connect(narrow_server, make.realm_id, person) for person in people]


async def everything(client: Client, realm_id: RealmId, number: int) -> None:
    """What a client does on a day; each call with cold caches."""
    assert client.user is not None
    me = client.user.user_id

    async def ask(method: str, path: str, **fields):
        client.server.forget(realm_id)
        return (await client.call(method, path, **fields)).succeeded()

    await ask("POST", "/users/me/subscriptions", subscriptions=[{"name": f"channel {number}"}])
    await ask("POST", "/users/me/subscriptions", subscriptions=[{"name": "shared"}])
    queue = await ask("POST", "/register")
    sent = await ask(
        "POST",
        "/messages",
        type="channel",
        to="shared",
        topic="t",
        content="@**all** @**topic** @**Alice** and #**shared**",
    )
    await ask("POST", "/messages", type="direct", to=[me], content="note")
    await ask("POST", "/messages/flags", messages=[sent["id"]], op="add", flag="starred")
    await ask("POST", f"/messages/{sent['id']}/reactions", emoji_name="tada")
    await ask("GET", "/messages", anchor="newest", num_before=10, num_after=0)
    await ask("GET", f"/messages/{sent['id']}")
    await ask("GET", "/users")
    await ask("GET", "/users/me/subscriptions", include_subscribers=True)
    await ask("GET", "/streams")
    await ask("GET", "/user_groups")
    await ask("POST", "/typing", op="start", to=[me])
    await ask("GET", "/events", queue_id=queue["queue_id"], last_event_id=-1)
    await ask("DELETE", "/users/me/subscriptions", subscriptions=[f"channel {number}"])
    await ask("DELETE", "/events", queue_id=queue["queue_id"])


async def test_one_connection_is_enough_for_everything(clients, make):
    for number, client in enumerate(clients):
        await everything(client, make.realm_id, number)


async def test_one_connection_is_enough_for_many_at_once(clients, make):
    await asyncio.gather(
        *[everything(client, make.realm_id, n) for n, client in enumerate(clients)]
    )
