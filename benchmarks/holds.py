"""Measure how long hostile input to each entry point blocks the event loop.

The server under test runs in this process, so that its loop can be watched at close hand; who
sends to it are threads, which wait in system calls.
"""

import asyncio
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import psycopg

from benchmarks import hostile
from benchmarks import world as worlds
from benchmarks.hostile import Sender
from benchmarks.server import Server
from benchmarks.world import World
from scripts.cli.loading import set_start_apart
from server.app import App, open_app
from server.domain.clock import SystemClock
from server.domain.mail_addresses import ToMessage
from server.identity.errors import IdentityError
from server.identity.identities import SAML_WORKER
from server.identity.saml import SamlSite
from server.mail_in import taking_mail
from server.main import serving
from server.parsing.lane import Lane
from server.runtime.sockets import open_sockets
from server.settings import load_settings
from storage.ids import MessageId, RealmId, UserId
from testkit.free_ports import free_port

BEAT_SECONDS: Final = 0.001
BOT_KEY: Final = "b" * 32
SILENCE_SECONDS: Final = 120.0


@dataclass
class Meter:
    """The longest time between two beats, and the processor time that this process took in it.

    What another process takes of the processors shows in the first alone.
    """

    held: float = 0.0
    used: float = 0.0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            began, used = time.monotonic(), time.process_time()
            await asyncio.sleep(BEAT_SECONDS)
            self.held = max(self.held, time.monotonic() - began - BEAT_SECONDS)
            self.used = max(self.used, time.process_time() - used)


def measure(server: Server, database: psycopg.Connection[Any]) -> dict[str, Meter]:
    """The effect of each entry point's worst input on the event loop, by name."""
    world = worlds.fill(database, people=3)
    channel_id = worlds.channel(database, world, "hostile", 2)
    bot_id = world.first_user_id + 2
    database.execute(
        "UPDATE users SET bot_type = 2, bot_owner_id = %s, api_key = %s WHERE user_id = %s",
        [world.first_user_id, BOT_KEY, bot_id],
    )
    sender = Sender("localhost", world.email(1), worlds.API_KEY, BOT_KEY, channel_id)
    return asyncio.run(_measure(server.database_url, world, sender))


async def _measure(database_url: str, world: World, sender: Sender) -> dict[str, Meter]:
    found: dict[str, Meter] = {}
    with tempfile.TemporaryDirectory() as data:
        settings = load_settings(
            environ={},
            overrides={
                "database_url": database_url,
                "data": Path(data),
                "rate_limits": False,
                "mail_in_port": free_port(),
                "mail_in_address": "%s@in.example.com",
            },
        )
        [listening] = open_sockets("127.0.0.1", 0)
        port = listening.getsockname()[1]
        async with open_app(settings) as app, serving(app, [listening]), taking_mail(app) as mail:
            set_start_apart()
            for each in hostile.requests(sender):
                sending = _asking(port, each.request)
                if not any(entry_of(name) == entry_of(each.name) for name in found):
                    await sending()  # what is loaded by the first of its kind is no part of it
                found[each.name] = await held_by(sending)
            assert app.mail_addresses is not None
            to = _address(app, world)
            for name, raw in hostile.mails(to):
                found[f"mail: {name}"] = await held_by(_mailing(mail, to, raw))
            for name, raw in hostile.documents():
                found[f"SAML: {name}"] = await held_by(_identifying(raw))
            for name, body in hostile.web_pages():
                found[f"preview: {name}"] = await held_by(_previewing(app, body))
    return found


async def held_by(work: Callable[[], Any]) -> Meter:
    """Measure the event loop while the work goes on."""
    meter = Meter()
    beating = asyncio.create_task(meter.run())
    try:
        await asyncio.sleep(10 * BEAT_SECONDS)
        meter.held = meter.used = 0.0
        await work()
        await asyncio.sleep(10 * BEAT_SECONDS)
    finally:
        beating.cancel()
    return meter


def print_longest(found: dict[str, Meter], count: int = 15) -> None:
    """The longest of all, one a line."""
    for name, meter in sorted(found.items(), key=lambda item: -item[1].held)[:count]:
        print(
            f"{meter.held * 1000:8.1f} ms, {meter.used * 1000:6.1f} of them at work: {name}",
            file=sys.stderr,
        )


def entry_of(name: str) -> str:
    """The entry point to which something of this name is sent."""
    return re.split(r"[ :]", name, maxsplit=1)[0]


def ask(port: int, request: bytes) -> bytes:
    """The beginning of the answer; blocks its thread."""
    with socket.create_connection(("127.0.0.1", port), SILENCE_SECONDS) as connection:
        with suppress(ConnectionError):  # the answer may have come before all of it was read
            connection.sendall(request)
        with suppress(ConnectionError):
            return connection.recv(1 << 16)
    return b""


def mail(port: int, to: str, raw: bytes) -> bytes:
    """The answer to a mail by LMTP; blocks its thread."""
    with socket.create_connection(("127.0.0.1", port), SILENCE_SECONDS) as connection:
        answers = connection.makefile("rb")
        _answer(answers)
        for command in ("LHLO x", "MAIL FROM:<a@example.com>", f"RCPT TO:<{to}>", "DATA"):
            connection.sendall(f"{command}\r\n".encode())
            _answer(answers)
        with suppress(ConnectionError):
            connection.sendall(raw + b"\r\n.\r\n")
        return _answer(answers)


def _answer(answers: Iterator[bytes]) -> bytes:
    line = next(answers, b"")
    while line[3:4] == b"-":
        line = next(answers, b"")
    return line


def _asking(port: int, request: bytes) -> Callable[[], Any]:
    return lambda: asyncio.to_thread(ask, port, request)


def _mailing(port: int, to: str, raw: bytes) -> Callable[[], Any]:
    return lambda: asyncio.to_thread(mail, port, to, raw)


def _address(app: App, world: World) -> str:
    assert app.mail_addresses is not None
    today = app.clock.now().date().toordinal()
    realm_id, user_id = RealmId(world.realm_id), UserId(world.first_user_id)
    return app.mail_addresses.of_message(ToMessage(realm_id, user_id, MessageId(1), today))


def _identifying(document: bytes) -> Callable[[], Any]:
    return lambda: identify(document)


async def identify(document: bytes) -> None:
    """Have the site's answer read, as when a browser brings it."""
    lane = Lane(SAML_WORKER)
    site = SamlSite(hostile.SAML_PROVIDER, None, SystemClock(), lane)
    with suppress(IdentityError):
        await site.identify(hostile.SAML_FLOW, hostile.encoded(document), hostile.SAML_PLACE)
    await lane.close()


def _previewing(app: App, body: bytes) -> Callable[[], Any]:
    return lambda: app.parser.page(body, url="https://example.com/", content_type="text/html")
