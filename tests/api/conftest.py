"""Two people in a channel, and a server whose pushes go to a bouncer.

A file that wants others says so by a fixture of the same name.
"""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from testkit.clients.api import Client, LogIn
from testkit.clients.server import Server, ServerFactory
from testkit.factories import Make
from testkit.services.push_bouncer import SERVER_ID, SERVER_KEY, FakeBouncer


@pytest_asyncio.fixture
async def people(make: Make):
    return [await make.user(name) for name in ("Alice", "Bob")]


@pytest_asyncio.fixture
async def channel(make: Make, people):
    return await make.channel("general", subscribers=people)


@pytest_asyncio.fixture
async def alice(log_in, people, channel):
    return await log_in(people[0])


@pytest_asyncio.fixture
async def bob(log_in, people, channel):
    return await log_in(people[1])


@pytest_asyncio.fixture
async def pushing(
    serving_with: ServerFactory, bouncer: FakeBouncer, make: Make
) -> AsyncIterator[Server]:
    """A server with a bouncer."""
    settings = {
        "push_bouncer_url": bouncer.url,
        "push_server_id": SERVER_ID,
        "push_server_key": SERVER_KEY,
    }
    async with serving_with(**settings) as server:
        yield server


@pytest.fixture
def log_in_there(pushing: Server, make: Make, connect: Any) -> LogIn:
    async def log_in(user: Any = None, **facts: Any) -> Client:
        client: Client = await connect(pushing, make.realm_id, user or await make.user(**facts))
        return client

    return log_in
