"""Clusters of Postgres of a test's own: a primary, standbys of it, and what becomes of them."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psycopg

from testkit.faults.postgres import IMMEDIATE, PrivatePostgres

Found = TypeVar("Found")

PATIENCE_SECONDS = 60
FRUGAL = {
    "shared_buffers": "16MB",
    "wal_sender_timeout": "5s",
    "wal_receiver_timeout": "5s",
    "fsync": "off",
}


@dataclass
class Clusters:
    """A directory of clusters, each on a port of its own."""

    realm_cache: Path
    made: list[PrivatePostgres] = field(default_factory=list)

    def new(self) -> PrivatePostgres:
        """One that is neither made nor started."""
        realm_cache = self.realm_cache / f"cluster-{len(self.made)}"
        realm_cache.mkdir(mode=0o711)
        self.made.append(PrivatePostgres(realm_cache, FRUGAL))
        return self.made[-1]

    async def primary(self) -> PrivatePostgres:
        """A new one that runs."""
        cluster = self.new()
        await asyncio.to_thread(cluster.create)
        await cluster.start()
        return cluster

    async def standby_of(self, primary: PrivatePostgres) -> PrivatePostgres:
        """A new one that follows the primary, which is restarted for it."""
        standby = self.new()
        await primary.stop()
        await asyncio.to_thread(standby.become_standby_of, primary)
        await primary.start()
        await standby.start()
        return standby


@asynccontextmanager
async def clusters() -> AsyncIterator[Clusters]:
    """Room for clusters, which end with the block."""
    with tempfile.TemporaryDirectory(prefix="parley-clusters-", ignore_cleanup_errors=True) as name:
        realm_cache = Path(name)
        realm_cache.chmod(0o711)  # noqa: ASYNC240 - one system call
        made = Clusters(realm_cache)
        try:
            yield made
        finally:
            for cluster in made.made:
                cluster.close()


def url_of(*members: PrivatePostgres) -> str:
    """One address that names all of them, in this order."""
    hosts = ",".join(f"127.0.0.1:{each.port}" for each in members)
    return f"postgresql://postgres@{hosts}/postgres"


async def caught_up(primary: PrivatePostgres, standby: PrivatePostgres) -> None:
    """Wait until the standby has replayed all that the primary has written."""
    target = await ask(primary, "SELECT pg_current_wal_insert_lsn()")
    replayed = f"SELECT pg_last_wal_replay_lsn() >= '{target}'"
    await until(lambda: ask(standby, replayed), bool)


async def until(look: Callable[[], Awaitable[Found]], is_good: Callable[[Found], bool]) -> Found:
    """Look again and again until what is found is good; that."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            found = await look()
            if is_good(found):
                return found
            await asyncio.sleep(0.05)


async def promote(standby: PrivatePostgres) -> None:
    assert await ask(standby, "SELECT pg_promote(true, 60)")


async def crash(cluster: PrivatePostgres) -> None:
    await cluster.stop(IMMEDIATE)


async def ask(cluster: PrivatePostgres, statement: str) -> object:
    """The first column of the first row."""
    async with await psycopg.AsyncConnection.connect(cluster.url(), autocommit=True) as connection:
        row = await (await connection.execute(statement.encode())).fetchone()
    return row and row[0]
