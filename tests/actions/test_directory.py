"""The cache of a realm's rows, and the connections that filling it takes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import cast

import pytest

from server.domain.addresses import Addresses
from server.realm_cache import CAPACITY, REALM, RealmCache, Touch, topic_key, user_key
from storage import realms
from storage.database import Connection, Database, Statement, open_database
from storage.ids import ChannelId, UserId
from testkit.clock import StoppedClock
from testkit.factories import Make
from testkit.statement_trace import tapped

pytestmark = pytest.mark.asyncio


async def test_no_task_waits_for_a_connection_while_holding_one(database_url, make: Make):
    """With one connection in all, that would be for ever."""
    async with open_database(database_url, min_size=1, max_size=1) as database:
        realm_cache = RealmCache(make.realm_id, database, StoppedClock(), Addresses())
        async with asyncio.timeout(60):
            graph = await realm_cache.groups()
    assert graph.ids_by_name


async def test_rows_are_kept_while_messages_are_sent(database, make: Make):
    """A message touches no row, so it makes no row that is being read a stale one."""
    realm_cache = RealmCache(make.realm_id, database, StoppedClock(), Addresses())
    someone = await make.user()
    reading = asyncio.create_task(realm_cache.user(someone.user_id))
    await asyncio.sleep(0)
    realm_cache.forget(())
    row = await reading
    assert await realm_cache.user(someone.user_id) is row


async def test_a_row_that_changes_while_it_is_read_is_not_kept(database, make: Make):
    realm_cache = RealmCache(make.realm_id, database, StoppedClock(), Addresses())
    someone = await make.user()
    reading = asyncio.create_task(realm_cache.user(someone.user_id))
    await asyncio.sleep(0)
    realm_cache.forget([user_key(UserId(someone.user_id))])
    row = await reading
    assert await realm_cache.user(someone.user_id) is not row


async def test_callers_who_come_at_once_are_looked_for_together(database_url, make: Make):
    people = await make.users(50)
    async with tapped(database_url) as wiretap, open_database(wiretap.url) as database:
        realm_cache = RealmCache(make.realm_id, database, StoppedClock(), Addresses())
        await realm_cache.realm()
        wiretap.heard.statements.clear()
        emails = ["nobody@example.com", *(user.email.upper() for user in people)]
        found = await asyncio.gather(*[realm_cache.user_by_email(email) for email in emails])
        asked = [sql for sql in wiretap.heard.statements if "FROM users" in sql]
        assert found == [None, *people]
        assert len(asked) == 1
        assert await realm_cache.user_by_email(people[7].email) == people[7]
        assert len([sql for sql in wiretap.heard.statements if "FROM users" in sql]) == 1


async def test_a_caller_who_changes_while_they_are_looked_for_is_not_kept(database, make: Make):
    realm_cache = RealmCache(make.realm_id, database, StoppedClock(), Addresses())
    someone = await make.user()
    reading = asyncio.create_task(realm_cache.user_by_email(someone.email))
    for _ in range(3):
        await asyncio.sleep(0)
    realm_cache.forget([user_key(UserId(someone.user_id))])
    row = await reading
    assert await realm_cache.user_by_email(someone.email) is not row


async def test_what_was_asked_for_last_is_kept_longest(database, make: Make):
    realm_cache = RealmCache(make.realm_id, database, StoppedClock(), Addresses())
    for number in range(CAPACITY):
        realm_cache.remember(("made", number), number)
    assert realm_cache.recall(("made", 0)) == 0
    realm_cache.remember(("made", CAPACITY), CAPACITY)
    assert realm_cache.recall(("made", 0)) == 0
    assert realm_cache.recall(("made", 1)) is None


class Slow:
    """A database of which what is read comes when the gate is open."""

    is_held = False

    def __init__(self, database: Database) -> None:
        self.gate = asyncio.Event()
        self.has_read = asyncio.Event()
        self._database = database

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[Connection]:
        async with self._database.reading() as connection:
            yield connection
            self.has_read.set()
            await self.gate.wait()


async def read_slowly(realm_cache: RealmCache, slow: Slow, forgotten: Touch) -> None:
    """Read the groups; when the realm has been read and not yet come, this is forgotten."""
    reading = asyncio.create_task(realm_cache.groups())
    async with asyncio.timeout(60):
        await slow.has_read.wait()
    realm_cache.forget([forgotten])
    slow.gate.set()
    await reading


async def test_groups_are_never_older_than_the_version_that_they_are_verified_by(
    database, make: Make
):
    """The realm's row was not kept, and is read again before the change is applied here."""
    slow = Slow(database)
    realm_cache = RealmCache(make.realm_id, cast("Database", slow), StoppedClock(), Addresses())
    one, other = await make.users(2)
    group_id = await make.group("bakers", members=[one, other])
    await read_slowly(realm_cache, slow, topic_key(ChannelId(1), "anything"))
    await make.connection.execute(
        "DELETE FROM group_members WHERE realm_id = %(r)s AND user_id = %(user_id)s"
        " AND group_id = %(group_id)s",
        r=make.realm_id,
        user_id=other.user_id,
        group_id=group_id,
    )
    changed_at = await make.at_position(realms.groups_changed(make.realm_id))
    assert (await realm_cache.realm()).groups_changed_at == changed_at
    assert (await realm_cache.groups()).members[group_id] == {one.user_id}


async def test_the_groups_know_the_waiting_period_of_the_realms_row(database, make: Make):
    """It was changed, and that was applied, while the row from before was on its way."""
    slow = Slow(database)
    realm_cache = RealmCache(make.realm_id, cast("Database", slow), StoppedClock(), Addresses())
    reading = asyncio.create_task(realm_cache.groups())
    async with asyncio.timeout(60):
        await slow.has_read.wait()
    await make.at_position(
        Statement(
            "UPDATE realms SET changed_at = current_position(),"
            " settings = settings || '{\"waiting_period_threshold\": 30}'"
            " WHERE realm_id = %(r)s",
            {"r": make.realm_id},
        )
    )
    realm_cache.forget([REALM])
    slow.gate.set()
    await reading
    assert (await realm_cache.settings()).waiting_period_threshold == 30
    assert (await realm_cache.groups()).waiting_period == timedelta(days=30)
