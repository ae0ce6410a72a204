"""Two people in a channel. A file that wants others says so by a fixture of the same name."""

import pytest_asyncio

from testkit.factories import Make


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
