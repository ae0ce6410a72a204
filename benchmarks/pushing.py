"""From a send to phones: through the log, the queues, and a bouncer on this machine."""

import asyncio
import json
import re
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks import world as worlds
from benchmarks.client import Client
from benchmarks.server import Server, temporary_data

PHONES = 1_000
SINGLE_SENDS = 100
SECONDS_BETWEEN = 0.05
PATIENCE_SECONDS = 120
_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ANSWER = json.dumps(
    {
        "result": "success",
        "total_android_devices": 1,
        "total_apple_devices": 0,
        "deleted_devices": {"android_devices": [], "apple_devices": []},
        "realm": {"can_push": True, "expected_end_timestamp": None},
        "realms": {},
    }
).encode()


@dataclass
class Bouncer:
    """Takes everything at once, and notes when."""

    arrivals: list[tuple[float, int]] = field(default_factory=list)
    """When, and which message."""
    wanted: int = 0
    enough: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                found = _LENGTH.search(head)
                body = await reader.readexactly(int(found[1])) if found else b""
                if b"/push/notify" in head.partition(b"\r\n")[0]:
                    self._note(body)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(_ANSWER))
                writer.write(_ANSWER)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    def _note(self, body: bytes) -> None:
        message_id = json.loads(body)["gcm_payload"]["zulip_message_id"]
        self.arrivals.append((time.perf_counter(), message_id))
        if len(self.arrivals) >= self.wanted:
            self.enough.set()

    async def until(self, wanted: int) -> None:
        """Wait until so many have arrived since the last time this was asked."""
        self.wanted = wanted
        if len(self.arrivals) < wanted:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self.enough.wait()
        self.enough.clear()


@asynccontextmanager
async def bouncing() -> AsyncIterator[tuple[Bouncer, int]]:
    bouncer = Bouncer()
    server = await asyncio.start_server(bouncer.serve, "127.0.0.1", 0)
    async with server:
        yield bouncer, server.sockets[0].getsockname()[1]


@dataclass
class Pushed:
    """The measurements."""

    single: list[float]
    """Seconds from the answer to a send to the bouncer, one after another."""
    at_once: list[float]
    """The same for each phone of a message that many phones show."""

    @property
    def a_second(self) -> float:
        return len(self.at_once) / max(self.at_once)


async def measure() -> Pushed:
    """Pushes of a server that does everything in one process, on its own Postgres."""
    with temporary_data() as data, tempfile.NamedTemporaryFile("w", suffix=".toml") as config:
        async with bouncing() as (bouncer, port):
            config.write(
                f'push_bouncer_url = "http://127.0.0.1:{port}"\n'
                'push_server_id = "6f0b7b0e-5a39-4c45-9d09-7a2d1f6b1c11"\n'
                f'push_server_key = "{"k" * 64}"\n'
            )
            config.flush()
            server = Server(data, "--config", config.name)
            await asyncio.to_thread(server.start)
            try:
                return await _measure(server, bouncer)
            finally:
                await asyncio.to_thread(server.stop)


async def _measure(server: Server, bouncer: Bouncer) -> Pushed:
    with server.database() as database:
        world = worlds.fill(database, people=PHONES + 1)
        channel_id = worlds.channel(database, world, "phones", PHONES + 1)
        worlds.phones(database, world, PHONES)
    sender = Client(server.port, world.email(PHONES + 1), worlds.API_KEY)
    sent: dict[int, float] = {}
    for number in range(SINGLE_SENDS):
        message_id = await _send(
            sender, type="direct", to=[world.first_user_id + number], content="A short question?"
        )
        sent[message_id] = time.perf_counter()
        await asyncio.sleep(SECONDS_BETWEEN)
    await bouncer.until(SINGLE_SENDS)
    single = [arrived - sent[message_id] for arrived, message_id in bouncer.arrivals]
    bouncer.arrivals.clear()
    with server.database() as database:
        database.execute(
            "UPDATE subscriptions SET push_notifications = true WHERE channel_id = %s",
            [channel_id],
        )
        database.execute("ANALYZE subscriptions")
    await _send(sender, type="channel", to=channel_id, topic="news", content="For all of you.")
    began = time.perf_counter()
    await bouncer.until(PHONES)
    sender.close()
    return Pushed(single, [arrived - began for arrived, _ in bouncer.arrivals])


async def _send(sender: Client, **fields: Any) -> int:
    answer = await sender.post("/messages", **fields)
    return int(json.loads(answer.rpartition(b"\r\n")[2] or answer)["id"])
