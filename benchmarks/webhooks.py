"""Webhooks: how many deliveries of a service a second, unsigned and signed."""

import asyncio
import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import Any

import psycopg
import uvloop

from benchmarks import world as worlds
from benchmarks.client import Client, clients
from benchmarks.server import Server
from benchmarks.webhook_fuzz import add_bot, address
from testkit.integration_samples import SAMPLES

SECONDS = 10.0
SENDERS = 16
SECRET = "a secret of the benchmark"
SAMPLE = "github/push.1_commit"
PADDING = "x" * 6_000
"""GitHub sends that much beside what is read."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was measured of deliveries."""

    taken: list[float]
    """Seconds of each, for `SECONDS` by `SENDERS` at once."""
    cpu_seconds: float
    """Processor time of the server."""


def measure(server: Server, database: psycopg.Connection[Any]) -> dict[str, Delivered]:
    """Return the deliveries by what is sent."""
    world = worlds.fill(database, people=1_000)
    worlds.channel(database, world, "webhooks", 1_000)
    add_bot(database, world)
    [bot_id] = database.execute("SELECT user_id FROM users WHERE bot_type = 2").fetchone() or [0]
    [owner] = clients(server, world, 1)
    return uvloop.run(_measure(server, owner, bot_id))


async def _measure(server: Server, owner: Client, bot_id: int) -> dict[str, Delivered]:
    unsigned = await _deliver(server, None)
    await owner.timed(owner.request("PUT", f"/bots/{bot_id}/webhook_secret", secret=SECRET))
    return {"unsigned": unsigned, "signed": await _deliver(server, SECRET)}


async def _deliver(server: Server, secret: str | None) -> Delivered:
    sample = json.loads((SAMPLES / f"{SAMPLE}.json").read_text())
    body = json.dumps({**sample["body"], "padding": PADDING}).encode()
    taken: list[float] = []
    number = 0

    async def one(client: Client, end: float) -> None:
        nonlocal number
        while time.perf_counter() < end:
            number += 1
            headers = {**sample["headers"], "X-GitHub-Delivery": f"{secret is None}-{number}"}
            if secret is not None:
                digest = hmac.digest(secret.encode(), body, hashlib.sha256).hex()
                headers["X-Hub-Signature-256"] = f"sha256={digest}"
            taken.append(await client.timed(_request(headers, body)))

    senders = [Client(server.port, "", "") for _ in range(SENDERS)]
    await one(senders[0], time.perf_counter() + 1)
    taken.clear()
    end, before = time.perf_counter() + SECONDS, server.cpu_seconds()
    await asyncio.gather(*[one(client, end) for client in senders])
    return Delivered(taken, server.cpu_seconds() - before)


def _request(headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"POST {address('github')} HTTP/1.1", "Host: localhost"]
    given = {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}
    lines += [f"{name}: {value}" for name, value in given.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body
