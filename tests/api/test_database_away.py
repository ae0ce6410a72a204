"""A database that goes away in the middle of a request: what its client is told, and may do."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
import pytest

from storage.database import Database
from testkit.clients.api import Answer, Client
from testkit.clients.server import Server, serve
from testkit.database import new_database
from testkit.factories import Make, new_realm
from testkit.services.proxy import Proxy, proxy_to
from tests.api.test_checks import taking_no_writes

BYTES_APART = 331
MOST_BYTES = 4_000
"""More than a send and its answers take."""


@asynccontextmanager
async def cut_off(database_url: str) -> AsyncIterator[tuple[Server, Proxy]]:
    """A server, and what is between it and its database."""
    port = int(psycopg.conninfo.conninfo_to_dict(database_url).get("port") or 5432)
    async with proxy_to(port) as proxy:
        through = database_url.replace(f":{port}/", f":{proxy.port}/")
        async with serve(through) as server:
            yield server, proxy


def check_told(answer: Answer) -> None:
    """It is done, or may be tried again."""
    if answer.status != 200:
        answer.refused("SERVER_NOT_READY", 503)
        assert answer.headers["Retry-After"] == "1"


@pytest.mark.asyncio
async def test_what_is_cut_off_is_tried_again_and_nothing_is_doubled(
    database_url: str, make: Make, connect
):
    """Connections end after every so many bytes of each request, wherever it is by then."""
    user = await make.user()
    channel = await make.channel("general", subscribers=[user])
    async with cut_off(database_url) as (server, proxy):
        client: Client = await connect(server, make.realm_id, user)
        queue_id = (await client.post("/register", event_types=["message"]))["queue_id"]
        sent: list[str] = []
        for count in range(0, MOST_BYTES, BYTES_APART):
            # What is known by heart is read anew.
            server.app.realm_caches.of(make.realm_id).forget_everything()
            proxy.cut_after(count)
            sent.append(f"message {count}")
            send: dict[str, Any] = {
                "type": "channel",
                "to": channel.name,
                "topic": "cut",
                "content": sent[-1],
                "queue_id": queue_id,
                "local_id": f"{count}",
            }
            first = await client.post("/messages", **send)
            assert (await client.post("/messages", **send))["id"] == first["id"]
            server.app.realm_caches.of(make.realm_id).forget_everything()
            proxy.cut_after(count)
            await client.get("/users/me")
            proxy.cut_after(count)
            check_told(await client.call("POST", "/register", event_types=["message"]))
        found = await client.get(
            "/messages",
            anchor="oldest",
            num_before=0,
            num_after=1000,
            narrow=[["topic", "cut"]],
            apply_markdown=False,
        )
    assert [message["content"] for message in found["messages"]] == sent


@pytest.mark.asyncio
async def test_a_database_that_takes_no_writes_is_as_one_that_is_away(
    server_url: str, template_database: str, connect
):
    """Another one leads now, and this server has not heard of it yet."""
    with new_database(server_url, template_database) as url:
        async with serve(url) as server:
            async with server.app.database.connection() as connection:
                make = await new_realm(connection)
                user = await make.user()
            client: Client = await connect(server, make.realm_id, user)
            send: dict[str, Any] = {
                "type": "direct",
                "to": [user.user_id],
                "content": "now?",
            }
            with taking_no_writes(url):
                while (answer := await client.call("POST", "/messages", **send)).status == 200:
                    pass
                answer.refused("SERVER_NOT_READY", 503)
                assert (await client.call("GET", "/users/me")).status == 200


@pytest.mark.asyncio
async def test_a_look_at_the_clocks_that_is_cancelled_ends_no_server(log_in, database: Database):
    """As by an operator, or by a limit that the database has for statements."""
    client: Client = await log_in()
    queue = await client.register(event_types=["message"])
    async with database.transaction() as holding, database.connection() as connection:
        await holding.execute("LOCK TABLE realm_clock IN ACCESS EXCLUSIVE MODE")
        cancelled = 0
        async with asyncio.timeout(60):
            while cancelled < 3:
                cancelled += await connection.value(
                    "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND wait_event_type = 'Lock'"
                )
    assert client.user is not None
    await client.post("/messages", type="direct", to=[client.user.user_id], content="still there")
    [event] = await queue.poll()
    assert event["message"]["content"] == "still there"
