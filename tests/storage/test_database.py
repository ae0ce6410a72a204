"""The pool and its connections."""

import asyncio

import pytest

from storage.database import Database, open_database


async def hold_for_a_query(database: Database) -> None:
    async with database.connection() as connection:
        await connection.value("SELECT 1")


@pytest.mark.asyncio
async def test_a_cancellation_is_not_lost_while_waiting_for_a_connection(server_url: str):
    """Whatever the moment: also that in which the connection comes in."""
    async with open_database(server_url, min_size=1, max_size=1) as database:
        for round_ in range(200):
            holder = asyncio.create_task(hold_for_a_query(database))
            await asyncio.sleep(0)
            waiting = asyncio.create_task(hold_for_a_query(database))
            for _ in range(round_ % 5):
                await asyncio.sleep(0)
            await holder
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
