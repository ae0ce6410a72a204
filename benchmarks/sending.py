"""Sends: how long one takes, and how many a second there are, alone and in bad times."""

import asyncio
import random
import time
from collections.abc import Iterator
from itertools import accumulate, repeat
from typing import cast

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.crowds.waiting import settled
from benchmarks.figures import Figures, milliseconds, percentile
from benchmarks.server import Server, running

SECONDS = 5.0
VOCABULARY = 20_000
SAME = repeat("A message of an ordinary length.")


def sends() -> Figures:
    """Latency of one sender, and sends a second of 8 and 16, by the number of subscribers."""
    figures: Figures = {}
    with running() as server:
        with server.database() as database:
            world = worlds.fill(database, people=10_000)
            channels = {
                n: worlds.channel(database, world, f"channel of {n}", n)
                for n in (20, 1_000, 10_000)
            }
        for subscribers, channel_id in channels.items():
            for senders in (1, 8, 16):
                uvloop.run(_send_for(clients(server, world, 1), channel_id, 0.5))
                before = server.cpu_seconds(), server.database_cpu_seconds()
                taken = uvloop.run(_measure_sends(server, world, senders, channel_id))
                after = server.cpu_seconds(), server.database_cpu_seconds()
                name = f"send to {subscribers}, {senders} senders"
                figures |= milliseconds(name, taken)
                figures[f"{name}, a second"] = len(taken) / SECONDS
                for part, begin, end in zip(("server", "database"), before, after, strict=True):
                    figures[f"{name}, CPU ms of the {part}"] = (end - begin) / len(taken) * 1000
    return figures


async def _measure_sends(
    server: Server, world: worlds.World, senders: int, channel_id: int
) -> list[float]:
    return await _send_for(clients(server, world, senders), channel_id, SECONDS)


def log() -> Figures:
    """Bytes of write-ahead log a send, and of what follows: who is notified, and the index.

    Each message has words of its own, as people's do: the index grows with different words.
    """
    figures: Figures = {}
    texts = varied_texts(random.Random(1))
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1_000)
        channel_id = worlds.channel(database, world, "log", 1_000)
        for senders in (1, 8):
            uvloop.run(_send_for(clients(server, world, senders), channel_id, 1.0, texts))
            uvloop.run(settled(server))
            with server.database() as holder, holder.transaction():
                # What follows begins with these.
                holder.execute("LOCK TABLE search_progress, shipper_cursors IN SHARE MODE")
                before = _log_bytes(database)
                crowd = clients(server, world, senders)
                count = len(uvloop.run(_send_for(crowd, channel_id, SECONDS, texts)))
                sent = _log_bytes(database)
            uvloop.run(settled(server))
            name = f"write-ahead log a send, {senders} senders"
            figures[f"{name}, bytes"] = (sent - before) / count
            figures[f"{name}, with what follows, bytes"] = (_log_bytes(database) - before) / count
    return figures


def varied_texts(rng: random.Random) -> Iterator[str]:
    """Endless texts of about eleven words, each as frequent as its rank says (Zipf's law)."""
    letters = "etaoinshrdlucmfwypvbgk"
    words = [
        "".join(rng.choices(letters, range(len(letters), 0, -1), k=rng.randint(2, 9)))
        for _ in range(VOCABULARY)
    ]
    weights = list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    while True:
        yield " ".join(rng.choices(words, cum_weights=weights, k=rng.randint(3, 19)))


def _log_bytes(database: psycopg.Connection[tuple[object, ...]]) -> float:
    [(written,)] = database.execute(
        "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8"
    ).fetchall()
    return cast("float", written)


def slow_disk() -> Figures:
    """16 senders where each flush takes 5 ms more."""
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1_000)
        channel_id = worlds.channel(database, world, "slow", 1_000)
        server.configure_postgres("commit_delay = 5000", "commit_siblings = 0")
        time.sleep(0.5)
        taken = uvloop.run(_measure_sends(server, world, 16, channel_id))
        [(writes,)] = database.execute(
            "SELECT count(*)::float8 / count(DISTINCT xmin::text) FROM event_log"
            " WHERE kind = 'message'"
        ).fetchall()
    return {
        "slow disk, 16 senders, a second": len(taken) / SECONDS,
        **milliseconds("slow disk, 16 senders", taken),
        "slow disk, writes a commit": cast("float", writes),
    }


SNAPSHOT_POSITIONS = 20_000
"""How much happens while the snapshot is open, before sends are measured again."""


def snapshot() -> Figures:
    """Sends while one session holds an old snapshot, and another an idle transaction, for long.

    Long is counted in positions: what the snapshot keeps is every version of the clock's row.
    """
    figures: Figures = {}
    with running() as server, server.database() as database:
        world = worlds.fill(database, people=1_000)
        channel_id = worlds.channel(database, world, "snapshot", 1_000)
        uvloop.run(_send_for(clients(server, world, 1), channel_id, 1.0))
        alone = uvloop.run(_measure_sends(server, world, 1, channel_id))
        with server.database() as dump, server.database() as forgotten:
            for holder, level in ((dump, "REPEATABLE READ"), (forgotten, "READ COMMITTED")):
                holder.execute(f"BEGIN ISOLATION LEVEL {level}")
                holder.execute("SELECT count(*) FROM realm_clock")
            worlds.let_time_pass(database, world, SNAPSHOT_POSITIONS)
            beside = uvloop.run(_measure_sends(server, world, 1, channel_id))
            for holder in (dump, forgotten):
                holder.execute("ROLLBACK")
    figures |= milliseconds("send, no snapshot open", alone)
    figures |= milliseconds(f"send, snapshot open for {SNAPSHOT_POSITIONS} positions", beside)
    figures["send p99, with a snapshot / without"] = percentile(beside, 0.99) / percentile(
        alone, 0.99
    )
    return figures


async def _send_for(
    senders: list[Client], channel_id: int, seconds: float, texts: Iterator[str] = SAME
) -> list[float]:
    """Each client sends one message after another."""
    end = time.perf_counter() + seconds
    taken: list[float] = []

    async def one(client: Client) -> None:
        while time.perf_counter() < end:
            request = client.send_request(channel_id, "benchmark", next(texts))
            taken.append(await client.timed(request))

    await asyncio.gather(*[one(client) for client in senders])
    return taken
