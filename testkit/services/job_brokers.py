"""Brokers of jobs of both kinds, and what an operator sees of them."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from urllib.parse import urlsplit

import psycopg
import pytest
import pytest_asyncio

from server.messaging.job_broker import JobBroker
from server.messaging.job_desk import JobDesk
from server.messaging.job_topology import (
    DELAYS_SECONDS,
    dead_letter_queue_of,
    delay_queue,
    lanes_of,
)
from server.messaging.postgres import open_postgres_jobs
from server.messaging.postgres_desk import PostgresJobDesk
from server.messaging.rabbitmq_desk import RabbitJobDesk
from server.messaging.rabbitmq_jobs import Publisher, open_rabbitmq_jobs
from storage.database import Database, open_database
from testkit.services.proxy import Proxy, proxy_to

SHORT_LEASE_SECONDS = 2.0
TEST_QUEUES = (
    *("deferred_work", "other", "greet", "count"),
    *("message_fanout", "push_notifications", "email_notifications", "outgoing_webhooks"),
    "embed_links",
)


@dataclass
class Place:
    """One kind of broker, with a network in between that can be cut."""

    kind: str
    open: Callable[[], AbstractAsyncContextManager[JobBroker]]
    open_with_short_leases: Callable[[], AbstractAsyncContextManager[JobBroker]]
    open_directly: Callable[[], AbstractAsyncContextManager[JobBroker]]
    """Past the network that can be cut."""
    desk: JobDesk
    proxy: Proxy
    database: Database
    moments: Sequence[int]
    """Turns of the event loop after which to interrupt something: more where that is cheap."""


@pytest_asyncio.fixture(params=["postgres", "rabbitmq"])
async def place(
    request: pytest.FixtureRequest, database: Database, database_url: str
) -> AsyncIterator[Place]:
    async with AsyncExitStack() as stack:
        if request.param == "rabbitmq":
            amqp_url = request.getfixturevalue("amqp_url")
            # Processes that other tests started may have left jobs in the session's vhost.
            await _delete_all_queues(amqp_url)
            yield await _on_rabbitmq(stack, database, amqp_url)
            await _delete_all_queues(amqp_url)
        else:
            yield await _on_postgres(stack, database, database_url)


async def _on_postgres(stack: AsyncExitStack, database: Database, url: str) -> Place:
    port = int(psycopg.conninfo.conninfo_to_dict(url).get("port") or 5432)
    proxy = await stack.enter_async_context(proxy_to(port))
    through = psycopg.conninfo.make_conninfo(url, host="127.0.0.1", port=proxy.port)
    proxied = await stack.enter_async_context(open_database(through, min_size=0))
    return Place(
        kind="postgres",
        open=lambda: open_postgres_jobs(proxied),
        open_with_short_leases=lambda: open_postgres_jobs(
            proxied, lease_seconds=SHORT_LEASE_SECONDS
        ),
        open_directly=lambda: open_postgres_jobs(database),
        desk=PostgresJobDesk(database),
        proxy=proxy,
        database=database,
        moments=range(60),
    )


async def _on_rabbitmq(stack: AsyncExitStack, database: Database, amqp_url: str) -> Place:
    url = urlsplit(amqp_url)
    proxy = await stack.enter_async_context(proxy_to(url.port or 5672))
    proxied = url._replace(netloc=f"{url.username}:{url.password}@127.0.0.1:{proxy.port}").geturl()
    return Place(
        kind="rabbitmq",
        open=lambda: open_rabbitmq_jobs(proxied, now=time.time),  # noqa: TID251
        open_with_short_leases=lambda: open_rabbitmq_jobs(proxied, now=time.time),  # noqa: TID251
        open_directly=lambda: open_rabbitmq_jobs(amqp_url, now=time.time),  # noqa: TID251
        desk=RabbitJobDesk(amqp_url, database),
        proxy=proxy,
        database=database,
        moments=range(0, 60, 6),
    )


async def _delete_all_queues(amqp_url: str) -> None:
    """Delete all queues after a test, so that its messages do not reach the next one."""
    publisher = await Publisher.open(amqp_url, "test")
    lanes = [
        name for queue in TEST_QUEUES for name in (*lanes_of(queue), dead_letter_queue_of(queue))
    ]
    for name in (*(delay_queue(delay)[0] for delay in DELAYS_SECONDS), *lanes):
        deleted = publisher.link.request(publisher.link.channel.queue_delete, queue=name)
        await publisher.link.answered(deleted)
    await publisher.link.close()
