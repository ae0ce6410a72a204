"""The fixtures give each test an empty database."""

import pytest

from storage.database import Connection, Database

pytestmark = pytest.mark.asyncio

INSERT = "INSERT INTO realm_clock (realm_id) VALUES (1)"
COUNT = "SELECT count(*) FROM realm_clock"


@pytest.mark.parametrize("_time", [1, 2])
async def test_a_rolled_back_connection_leaves_nothing(connection: Connection, _time):
    await connection.execute(INSERT)

    assert await connection.value(COUNT) == 1


@pytest.mark.parametrize("_time", [1, 2])
async def test_a_pool_is_emptied(database: Database, _time):
    async with database.transaction() as connection:
        await connection.execute(INSERT)

    async with database.connection() as connection:
        assert await connection.value(COUNT) == 1
