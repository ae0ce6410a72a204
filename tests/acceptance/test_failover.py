"""A standby is promoted, and the old primary comes back: one database leads, and all know which."""

import asyncio
import json
import os
import subprocess
import tempfile
from collections.abc import AsyncIterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from tornado.httpclient import AsyncHTTPClient

from server.domain.clock import SystemClock
from storage.backups import dump, restore
from storage.database import DatabaseUnavailableError, open_database
from storage.migrate import migrate
from testkit.clients.api import Answer, Client
from testkit.clients.parley_run import PARLEY
from testkit.clients.server import Server, serve
from testkit.factories import new_realm
from testkit.faults.postgres import PrivatePostgres
from testkit.free_ports import free_port
from testkit.services.postgres_clusters import (
    Clusters,
    ask,
    caught_up,
    clusters,
    crash,
    promote,
    until,
    url_of,
)

pytestmark = pytest.mark.asyncio

MESSAGE: dict[str, Any] = {"type": "channel", "topic": "failover", "content": "x"}


@pytest_asyncio.fixture
async def group() -> AsyncIterator[Clusters]:
    async with clusters() as made:
        yield made


async def served_pair(group: Clusters) -> tuple[PrivatePostgres, PrivatePostgres]:
    """A primary with Parley's tables, and a standby that follows it."""
    primary = await group.primary()
    await asyncio.to_thread(migrate, primary.url())
    standby = await group.standby_of(primary)
    return primary, standby


async def furnished(server: Server, connect) -> tuple[Client, int]:
    """A client of a new realm, and the channel that it is in."""
    async with server.app.database.connection() as connection:
        make = await new_realm(connection)
        alice = await make.user()
        channel = await make.channel("general", subscribers=[alice])
    return await connect(server, make.realm_id, alice), channel.channel_id


async def end_connections(cluster: PrivatePostgres) -> None:
    await ask(
        cluster,
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        " WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
    )


async def ready(server: Server) -> tuple[int, dict[str, Any]]:
    answer = await AsyncHTTPClient().fetch(f"{server.url}/ready", raise_error=False)
    return answer.code, json.loads(answer.body)


async def until_refused(server: Server) -> dict[str, Any]:
    _, found = await until(lambda: ready(server), lambda found: bool(found[1].get("refused")))
    return found


async def send(client: Client, channel_id: int) -> int:
    return int((await client.post("/messages", to=channel_id, **MESSAGE))["id"])


async def send_at_last(client: Client, channel_id: int) -> int:
    """Send, however long it takes until a database leads."""

    async def attempt() -> Answer:
        return await client.call("POST", "/messages", to=channel_id, **MESSAGE)

    answer = await until(attempt, lambda answer: answer.status == HTTPStatus.OK)
    return int(answer.body["id"])


async def test_a_revived_old_primary_is_refused_and_no_id_is_given_twice(group: Clusters, connect):
    primary, standby = await served_pair(group)
    both = url_of(primary, standby)
    async with serve(both) as server:
        client, channel = await furnished(server, connect)
        queue = await client.register()
        before = await send(client, channel)
        await caught_up(primary, standby)
        await crash(primary)
        await promote(standby)
        first = await send_at_last(client, channel)
        assert first >= before + 1_000_000  # what was sent after the last that arrived is not known
        gone = await client.call("GET", "/events", queue_id=queue.queue_id, last_event_id=-1)
        gone.refused("BAD_EVENT_QUEUE_ID")

        await primary.start()  # it is not fenced off
        await until_refused(server)
        await end_connections(standby)  # so each is made anew, and the old primary is named first
        second = await send_at_last(client, channel)
        assert second == first + 1
        [told] = (await until_refused(server))["refused"]
        assert told == "database 1 of 2: older than the one that leads"
    assert await ask(primary, "SELECT max(id) FROM messages") == before
    assert await ask(standby, "SELECT max(id) FROM messages") == second


async def failed_over(group: Clusters, connect) -> tuple[PrivatePostgres, PrivatePostgres]:
    """The old primary, which runs again, and the one that leads and was written to."""
    primary, standby = await served_pair(group)
    await crash(primary)
    await promote(standby)
    async with serve(standby.url()) as server:
        client, channel = await furnished(server, connect)
        await send(client, channel)
    await primary.start()
    return primary, standby


async def test_at_start_every_host_is_asked_and_commands_say_which_one_is_old(
    group: Clusters, connect
):
    primary, standby = await failed_over(group, connect)
    old = await ask(primary, "SELECT count(*) FROM realms")
    both, port = url_of(primary, standby), str(free_port())
    async with serve(both) as server:
        assert (await until_refused(server))["database"] == "ok"
        client, channel = await furnished(server, connect)
        await send(client, channel)
    for command in ("check", "status"):
        said = await asyncio.to_thread(
            subprocess.run,
            [*PARLEY, command, *(("--json",) if command == "status" else ())],
            env={**os.environ, "DATABASE_URL": both, "PARLEY_PORT": port},  # noqa: TID251
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"The database at 127.0.0.1:{primary.port} is older than the one" in said.stdout
        assert said.returncode == 1
    assert await asyncio.to_thread(migrate, both) == []
    assert await ask(primary, "SELECT count(*) FROM realms") == old


async def test_a_process_that_knows_only_the_old_primary_hears_of_the_new_one_by_the_bus(
    group: Clusters, connect, amqp_url: str
):
    primary, standby = await served_pair(group)
    async with serve(primary.url(), amqp_url=amqp_url) as lagging:
        client, channel = await furnished(lagging, connect)
        await send(client, channel)
        await caught_up(primary, standby)
        await promote(standby)  # while the old primary still runs, and is still written to
        before = await send(client, channel)
        async with serve(standby.url(), amqp_url=amqp_url):
            code, _ = await until(
                lambda: ready(lagging),
                lambda found: found[1]["database"] == "older than the one that leads",
            )
            assert code == HTTPStatus.SERVICE_UNAVAILABLE
            answer = await client.call("POST", "/messages", to=channel, **MESSAGE)
            assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE
    assert await ask(primary, "SELECT max(id) FROM messages") == before


async def test_a_restore_makes_a_database_that_leads_whatever_its_timeline(group: Clusters):
    """A new cluster is on its first timeline, and the one that it replaces on a later one."""
    primary, standby = await served_pair(group)
    await crash(primary)
    await promote(standby)
    async with open_database(standby.url(), serves=True) as before:
        seen = before.connector.seen
    other = await group.primary()
    with tempfile.TemporaryDirectory() as name:
        file, folder = Path(name) / "backup", Path(name) / "files"
        folder.mkdir()
        quietly: dict[str, Any] = {"folder": folder, "progress": lambda *_: None}
        now = SystemClock().now()
        await asyncio.to_thread(dump, standby.url(), file, version="0", now=now, **quietly)
        await asyncio.to_thread(restore, other.url(), file, **quietly)
    async with open_database(url_of(standby, other), serves=True) as after:
        assert seen is not None
        assert after.connector.seen is not None
        assert seen.timeline == 2
        assert after.connector.seen.timeline == 1
        assert seen.is_older_than(after.connector.seen)
        assert list(after.connector.refused) == [f"127.0.0.1:{standby.port}"]
        async with after.connection() as connection:
            assert await connection.value("SHOW port") == str(other.port)


async def test_a_standby_alone_is_not_served(group: Clusters):
    _, standby = await served_pair(group)
    with pytest.raises(DatabaseUnavailableError, match="is a standby, which takes no writes"):
        async with open_database(standby.url(), serves=True):
            pass


async def strict_pair(group: Clusters) -> tuple[PrivatePostgres, PrivatePostgres]:
    """The same, where each commit waits for the standby; which then waits for one of its own."""
    primary, standby = await served_pair(group)
    for cluster in (primary, standby):
        cluster.settings["synchronous_standby_names"] = "standby"
    await standby.stop()
    await primary.stop()
    await primary.start()
    await standby.start()
    return primary, standby


async def test_with_strict_replication_clients_keep_their_queues(group: Clusters, connect):
    primary, standby = await strict_pair(group)
    both = url_of(primary, standby)
    async with serve(both, database_strict_replication=True) as server:
        client, channel = await furnished(server, connect)
        queue = await client.register(event_types=["message"])
        before = await send(client, channel)
        await crash(primary)
        await promote(standby)
        # The promoted one has no standby yet, so nothing is confirmed.
        await until(lambda: ready(server), lambda found: found[0] != HTTPStatus.OK)
        following = await group.standby_of(standby)
        after = await send_at_last(client, channel)
        # A message that no client knew of may be confirmed after all; ids go on without a jump.
        assert before < after < before + 100
        told: list[int] = []
        while after not in told:
            told += [event["message"]["id"] for event in await queue.poll()]
        assert told[0] == before
        assert told == sorted(set(told))
        assert await ask(following, f"SELECT count(*) FROM messages WHERE id <= {after}") == len(
            told
        )

        await primary.start()
        await until_refused(server)
        assert await send_at_last(client, channel) < before + 100


async def test_with_strict_replication_a_write_that_no_standby_confirms_is_refused(
    group: Clusters, connect
):
    primary, standby = await strict_pair(group)
    async with serve(primary.url(), database_strict_replication=True) as server:
        client, channel = await furnished(server, connect)
        before = await send(client, channel)
        await crash(standby)
        answer = await client.call("POST", "/messages", to=channel, **MESSAGE)
        assert answer.status == HTTPStatus.SERVICE_UNAVAILABLE
        assert await ask(primary, "SELECT max(id) FROM messages") == before  # none may see it
        await standby.start()
        assert await send_at_last(client, channel) > before
