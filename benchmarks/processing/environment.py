"""The environment of jobs: an organization, a mail server, web pages and a push bouncer."""

import asyncio
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from aiosmtpd.smtp import SMTP

from benchmarks import world as worlds
from benchmarks.pushing import bouncing
from benchmarks.server import Server
from server.app import App, open_app
from server.settings import load_settings
from server.telemetry.logs import configure_logging
from storage.ids import MessageId, RealmId, UserId

COUNT: Final = 240
SUBSCRIBERS: Final = 50
PAGE: Final = (
    b'<title>A page</title><meta property="og:image" content="https://pictures.example.com/a.png">'
)


@dataclass(frozen=True)
class JobEnvironment:
    """The server and the data from which jobs are made."""

    app: App
    database: psycopg.Connection[Any]
    world: worlds.World
    message_ids: Sequence[MessageId]
    """In a channel in which a few people are; each links a page of its own."""
    web_port: int

    @property
    def realm_id(self) -> RealmId:
        return RealmId(self.world.realm_id)

    def user_id(self, number: int) -> UserId:
        return UserId(self.world.first_user_id + number % SUBSCRIBERS)

    def rows(self, sql: Any, *values: Any) -> list[Any]:
        return self.database.execute(sql, values).fetchall()


@asynccontextmanager
async def job_environment(
    server: Server, database: psycopg.Connection[Any]
) -> AsyncIterator[JobEnvironment]:
    """An organization with a few people, and what jobs reach from it."""
    async with AsyncExitStack() as stack:
        mail_port = await stack.enter_async_context(_mail_sink())
        web_port = await stack.enter_async_context(_web())
        _, bouncer_port = await stack.enter_async_context(bouncing())
        data = stack.enter_context(tempfile.TemporaryDirectory(prefix="parley-benchmark-"))
        settings = load_settings(
            environ={
                "DATABASE_URL": server.database_url,
                "PARLEY_DATA": data,
                "PARLEY_LOG_LEVEL": "warning",
                "PARLEY_EGRESS_ALLOW": "127.0.0.1/32",
                "PARLEY_EGRESS_PORTS": str(web_port),
                "PARLEY_PUSH_BOUNCER_URL": f"http://127.0.0.1:{bouncer_port}",
                "PARLEY_PUSH_SERVER_ID": "6f0b7b0e-5a39-4c45-9d09-7a2d1f6b1c11",
                "PARLEY_PUSH_SERVER_KEY": "k" * 64,
                "PARLEY_SMTP_HOST": "127.0.0.1",
                "PARLEY_SMTP_PORT": str(mail_port),
                "PARLEY_SMTP_SECURITY": "none",
            }
        )
        configure_logging(settings)
        world = worlds.fill(database, people=SUBSCRIBERS)
        message_ids = _messages(database, world, web_port)
        app = await stack.enter_async_context(open_app(settings))
        yield JobEnvironment(app, database, world, message_ids, web_port)


def _messages(
    database: psycopg.Connection[Any], world: worlds.World, web_port: int
) -> list[MessageId]:
    database.execute(
        "UPDATE realms SET settings = settings || '{\"inline_url_embed_preview\": true}'"
    )
    channel_id = worlds.channel(database, world, "busy", SUBSCRIBERS)
    worlds.messages(database, world, [channel_id], count=COUNT, topics_a_channel=5)
    database.execute(
        "UPDATE messages SET content = %s || id WHERE realm_id = %s AND channel_id = %s",
        [f"http://127.0.0.1:{web_port}/", world.realm_id, channel_id],
    )
    rows = database.execute(
        "SELECT id FROM messages WHERE realm_id = %s AND channel_id = %s ORDER BY id",
        [world.realm_id, channel_id],
    )
    return [MessageId(message_id) for [message_id] in rows]


@asynccontextmanager
async def _mail_sink() -> AsyncIterator[int]:
    class Sink:
        async def handle_DATA(self, *_: Any) -> str:  # noqa: N802 - the library's name
            return "250 OK"

    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(Sink(), loop=loop), "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]


@asynccontextmanager
async def _web() -> AsyncIterator[int]:
    """Pages below any path, and a bot that says nothing."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                lines = head.decode().lower().split("\r\n")
                length = next((int(x[15:]) for x in lines if x.startswith("content-length:")), 0)
                await reader.readexactly(length)
                body = b"{}" if head.startswith(b"POST") else PAGE
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s"
                    % (len(body), body)
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
