"""The rows of channels that registers share: exact in each register's own snapshot."""

import pytest
from typing_extensions import override

from server.initial_state.channels import read_channels
from storage import channels
from storage.channels import ChannelRow
from storage.database import Connection
from tests.actions.test_channels import change

pytestmark = pytest.mark.asyncio


class Counting(Connection):
    """Counts the rows of channels that are read through it."""

    __slots__ = ("rows",)

    def __init__(self, raw) -> None:
        super().__init__(raw)
        self.rows = 0

    @override
    async def many(self, row, sql, **params):
        found = await super().many(row, sql, **params)
        if row is ChannelRow:
            self.rows += len(found)
        return found


async def read(hall, connection):
    """What is kept and what has changed; it has to be what a snapshot has. And how much is read."""
    counting = Counting(connection.raw)
    found = await read_channels(counting, hall.stage.realm_caches.of(hall.make.realm_id))
    realm_id = hall.make.realm_id
    ids = [row.channel_id for row in await channels.versions(connection, realm_id)]
    assert found == await channels.by_ids(connection, realm_id, ids)
    return counting.rows


async def test_only_what_has_changed_is_read_again(hall):
    plans = await hall.make.channel("plans", subscribers=[hall.admin])
    others = [await hall.make.channel(f"other {n}") for n in range(3)]

    async def again():
        async with hall.stage.database.snapshot() as connection:
            return await read(hall, connection)

    await again()
    assert await again() == 0
    await change(hall, plans, name="better")
    assert await again() == 1
    await change(hall, others[0], is_archived=True)
    await change(hall, others[1], description="What we do")
    assert await again() == 2
    await hall.subscribe(hall.admin, "new")
    assert await again() == 1
    # Who comes and goes changes a number, which is read each time.
    await hall.subscribe(hall.member, "better")
    await hall.unsubscribe(hall.admin, "better")
    assert await again() == 0


async def test_an_older_snapshot_has_what_was_then(hall):
    plans = await hall.make.channel("plans", subscribers=[hall.admin])
    async with hall.stage.database.snapshot() as older, hall.stage.database.snapshot() as newer:
        await read(hall, older)
        await change(hall, plans, name="better")
        await hall.subscribe(hall.member, "better", "new")
        for _ in range(2):
            await read(hall, newer)
            await read(hall, older)
