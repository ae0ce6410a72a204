"""Behind a pooler of sessions everything works; one that shares them is found out and refused."""

import asyncio
import json
import os
import subprocess

import pytest
from tornado.httpclient import AsyncHTTPClient

from queue_processors.shipper import Shipper
from storage.database import Database, DatabaseUnavailableError, open_database
from testkit.clients.parley_run import PARLEY
from testkit.clients.server import Server, serve
from testkit.factories import new_realm
from testkit.services.pgbouncer import pooler
from testkit.services.postgres_clusters import until

pytestmark = pytest.mark.asyncio

SENTENCE = "let it pool sessions"
READERS, READS = 8, 40


async def test_behind_a_pooler_of_sessions_everything_works(database_url: str, connect):
    with pooler(database_url, mode="session", more="default_pool_size = 40") as between:
        url = between.url(database_url)
        async with serve(url) as one, serve(url) as other:
            async with one.app.database.connection() as connection:
                make = await new_realm(connection)
                alice = await make.user()
                channel = await make.channel("general", subscribers=[alice])
                assert await connection.value("SHOW timezone") == "UTC"
                assert await connection.value("SHOW jit") == "off"
                assert await connection.value("SHOW random_page_cost") == "1.1"
                # A pooler makes up a number of its own.
                assert connection.backend == await connection.value("SELECT pg_backend_pid()")
                assert connection.backend != connection.raw.info.backend_pid
            sender = await connect(one, make.realm_id, alice)
            queue = await (await connect(other, make.realm_id, alice)).register()
            for number in range(5):
                await sender.post(
                    "/messages",
                    type="channel",
                    to=channel.channel_id,
                    topic="t",
                    content=f"number {number}",
                )
                event = await queue.until("message")
                assert f"number {number}" in event["message"]["content"]
            await _ships(one.app.database)


async def _ships(database: Database) -> None:
    """One leads and another stands by, which takes over."""
    first, second = Shipper(database), Shipper(database)
    tasks = [asyncio.create_task(each.run()) for each in (first, second)]

    async def leaders() -> list[bool]:
        return [each.lag_seconds is not None for each in (first, second)]

    leading = await until(leaders, lambda found: sum(found) == 1)
    tasks[leading.index(True)].cancel()
    await until(leaders, lambda found: found == [not each for each in leading])
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    ("mode", "more"),
    [
        ("transaction", ""),
        ("transaction", "default_pool_size = 1"),
        ("transaction", "server_round_robin = 1\nmin_pool_size = 5"),
        ("transaction", "server_reset_query_always = 1"),
        ("statement", ""),
    ],
)
async def test_a_pooler_that_shares_sessions_is_refused_at_the_start(
    database_url: str, mode: str, more: str
):
    with pooler(database_url, mode=mode, more=more) as between:
        url = between.url(database_url)
        with pytest.raises(DatabaseUnavailableError, match=SENTENCE):
            async with open_database(url, serves=True):
                pass


@pytest.mark.parametrize("command", [("check",), ("serve", "--port", "0", "--processes", "2")])
async def test_commands_say_so_in_one_sentence(database_url: str, command: tuple[str, ...]):
    with pooler(database_url, mode="transaction") as between:
        said = await asyncio.to_thread(
            subprocess.run,
            [*PARLEY, *command],
            env={**os.environ, "DATABASE_URL": between.url(database_url)},  # noqa: TID251
            capture_output=True,
            text=True,
            check=False,
        )
        assert said.returncode == 1
        lines = (said.stdout + said.stderr).splitlines()
        told = [line for line in lines if SENTENCE in line and not line.startswith("{")]
        assert len(told) == 1
        assert "Traceback" not in said.stderr


async def test_one_that_begins_to_share_is_found_out_before_a_wrong_statement_runs(
    database_url: str,
):
    with pooler(database_url, mode="session", more="default_pool_size = 40") as between:
        url = between.url(database_url)
        async with serve(url) as server:
            await _all_right(server.app.database)
            between.set("pool_mode", "transaction")
            between.set("default_pool_size", "3")
            between.end_connections(database_url)
            await _right_or_refused(server.app.database)
            found = await until(lambda: _ready(server), lambda found: found[0] == 503)
            assert found[1]["database"] == "a pooler shares its connections between transactions"
            between.set("pool_mode", "session")
            between.set("default_pool_size", "40")
            between.end_connections(database_url)
            await until(lambda: _ready(server), lambda found: found[0] == 200)
            await _all_right(server.app.database)


async def _ready(server: Server) -> tuple[int, dict[str, str]]:
    answer = await AsyncHTTPClient().fetch(f"{server.url}/ready", raise_error=False)
    return answer.code, json.loads(answer.body)


async def _read(database: Database, reader: int) -> None:
    """A statement of the reader's own, which is prepared soon: it gives the reader's number."""
    async with database.connection() as connection:
        for _ in range(3):
            sql = f"SELECT {reader} + 0 * %(number)s::int"
            assert await connection.value(sql, number=reader) == reader


async def _all_right(database: Database) -> None:
    await asyncio.gather(*[_read(database, n) for n in range(READERS) for _ in range(READS)])


async def _right_or_refused(database: Database) -> None:
    reads = [_read(database, n) for n in range(READERS) for _ in range(READS)]
    for outcome in await asyncio.gather(*reads, return_exceptions=True):
        assert outcome is None or isinstance(outcome, DatabaseUnavailableError), repr(outcome)
