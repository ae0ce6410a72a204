"""The cache of a realm's rows, and the connections that filling it takes."""

import asyncio

import pytest

from server.directory import CAPACITY, Directory, user_key
from server.domain.addresses import Addresses
from storage.database import open_database
from storage.ids import UserId
from tests.factories import Make
from tests.fixtures.clock import StoppedClock
from tests.fixtures.wiretap import tapped

pytestmark = pytest.mark.asyncio


async def test_nobody_waits_for_a_connection_while_holding_one(database_url, make: Make):
    """With one connection in all, that would be for ever."""
    async with open_database(database_url, min_size=1, max_size=1) as database:
        directory = Directory(make.realm_id, database, StoppedClock(), Addresses())
        async with asyncio.timeout(60):
            graph = await directory.groups()
    assert graph.ids_by_name


async def test_rows_are_kept_while_messages_are_sent(database, make: Make):
    """A message touches no row, so it makes no row that is being read a stale one."""
    directory = Directory(make.realm_id, database, StoppedClock(), Addresses())
    someone = await make.user()
    reading = asyncio.create_task(directory.user(someone.user_id))
    await asyncio.sleep(0)
    directory.forget(())
    row = await reading
    assert await directory.user(someone.user_id) is row


async def test_a_row_that_changes_while_it_is_read_is_not_kept(database, make: Make):
    directory = Directory(make.realm_id, database, StoppedClock(), Addresses())
    someone = await make.user()
    reading = asyncio.create_task(directory.user(someone.user_id))
    await asyncio.sleep(0)
    directory.forget([user_key(UserId(someone.user_id))])
    row = await reading
    assert await directory.user(someone.user_id) is not row


async def test_callers_who_come_at_once_are_looked_for_together(database_url, make: Make):
    people = await make.users(50)
    async with tapped(database_url) as wiretap, open_database(wiretap.url) as database:
        directory = Directory(make.realm_id, database, StoppedClock(), Addresses())
        await directory.realm()
        wiretap.heard.statements.clear()
        emails = ["nobody@example.com", *(user.email.upper() for user in people)]
        found = await asyncio.gather(*[directory.user_by_email(email) for email in emails])
        asked = [sql for sql in wiretap.heard.statements if "FROM users" in sql]
        assert found == [None, *people]
        assert len(asked) == 1
        assert await directory.user_by_email(people[7].email) == people[7]
        assert len([sql for sql in wiretap.heard.statements if "FROM users" in sql]) == 1


async def test_a_caller_who_changes_while_they_are_looked_for_is_not_kept(database, make: Make):
    directory = Directory(make.realm_id, database, StoppedClock(), Addresses())
    someone = await make.user()
    reading = asyncio.create_task(directory.user_by_email(someone.email))
    for _ in range(3):
        await asyncio.sleep(0)
    directory.forget([user_key(UserId(someone.user_id))])
    row = await reading
    assert await directory.user_by_email(someone.email) is not row


async def test_what_was_asked_for_last_is_kept_longest(database, make: Make):
    directory = Directory(make.realm_id, database, StoppedClock(), Addresses())
    for number in range(CAPACITY):
        directory.remember(("made", number), number)
    assert directory.recall(("made", 0)) == 0
    directory.remember(("made", CAPACITY), CAPACITY)
    assert directory.recall(("made", 0)) == 0
    assert directory.recall(("made", 1)) is None
