"""How fast each queue processor is: from the log, through its queue, to the end of the work."""

import asyncio
import hashlib
import json
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any, Final

import psycopg
from aiosmtpd.smtp import SMTP
from PIL import Image
from typing_extensions import override

from benchmarks import world as worlds
from benchmarks.pushing import bouncing
from benchmarks.server import Server
from queue_processors.registry import PROCESSORS, AnyProcessor
from queue_processors.work_log import WorkLog
from server.actions.channels.aftermath import AFTERMATH
from server.actions.stepped_work import Finish
from server.app import App, open_app
from server.domain.account_news import PasswordChanged
from server.domain.confirmations import RESET_PASSWORD
from server.domain.notifications import Reason
from server.events.base import Tx
from server.jobs import (
    AccountEmail,
    BlobRemoval,
    ConfirmationEmail,
    DeferredWork,
    DigestEmails,
    EmailNotifications,
    EmbedLinks,
    Greeting,
    InvitationEmail,
    Job,
    MessageFanout,
    OutgoingWebhook,
    PushNotification,
    PushRegistration,
    Thumbnails,
    enqueue,
)
from server.logs import configure_logging
from server.metrics import Metrics
from server.settings import load_settings
from storage import workers
from storage.blobs import new_key
from storage.ids import AttachmentId, InvitationId, MessageId, PushDeviceId, RealmId, UserId

COUNT: Final = 240
PICTURES: Final = 30
SINGLES_SHARE: Final = 6
"""One of so many is asked for alone, to see how long it takes; the others in one commit, to see
how many are done a second."""
SECONDS_BETWEEN: Final = 0.02
PATIENCE_SECONDS: Final = 120
SUBSCRIBERS: Final = 50
PICTURE: Final = (1_600, 1_200)
PAGE: Final = (
    b'<title>A page</title><meta property="og:image" content="https://pictures.example.com/a.png">'
)


@dataclass
class Processed:
    """Seconds of one processor."""

    single: list[float] = field(default_factory=list)
    """From the moment that asks for a job to its end, with nothing else to do."""
    a_second: float = 0.0
    """How many are done of those that were asked for in one commit."""


class Recorder(Metrics):
    """Notes how long jobs took, and when there are enough."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []
        self.failures = 0
        self._arrived = asyncio.Event()

    @override
    def done(self, queue: str, seconds: float) -> None:
        self.seconds.append(seconds)
        self._arrived.set()

    @override
    def answered(self, queue: str, answer: str) -> None:
        self.failures += answer != "done"
        self._arrived.set()

    async def until(self, count: int) -> None:
        """Wait until so many are done in all. Raises RuntimeError if one fails."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while len(self.seconds) < count:
                if self.failures:
                    raise RuntimeError("a job has failed: its figure would mean nothing")
                self._arrived.clear()
                await self._arrived.wait()


@dataclass(frozen=True)
class Ground:
    """What jobs are made of."""

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


async def measure(server: Server) -> dict[str, Processed]:
    """Each processor in turn, in this process; the server's own workers stand aside."""
    async with AsyncExitStack() as stack:
        database = stack.enter_context(server.database())
        ground = await stack.enter_async_context(_ground(server, database))
        async with ground.app.database.connection() as connection:
            for processor in PROCESSORS:
                await workers.pause(connection, processor.queue)
        await asyncio.sleep(3)  # they look whether they are to stop every second
        return {
            processor.queue: await _measure(processor, ground, await JOBS[processor.job](ground))
            for processor in PROCESSORS
        }


async def _measure(processor: AnyProcessor, ground: Ground, jobs: Sequence[Job]) -> Processed:
    app, recorder, found = ground.app, Recorder(), Processed()
    await asyncio.sleep(1)  # what those before have led to is shipped by then
    ground.database.execute("DELETE FROM jobs WHERE queue = %s", [processor.queue])
    log = WorkLog(app.jobs, recorder, lambda: app.clock.now().timestamp())
    working = asyncio.create_task(processor.run(app, log))
    singles = len(jobs) // SINGLES_SHARE
    try:
        for number, job in enumerate(jobs[:singles], start=1):
            await _ask(ground, [job])
            await recorder.until(number)
            await asyncio.sleep(SECONDS_BETWEEN)
        found.single = list(recorder.seconds)
        began = time.perf_counter()
        await _ask(ground, jobs[singles:])
        await recorder.until(len(jobs))
        found.a_second = (len(jobs) - singles) / (time.perf_counter() - began)
    finally:
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return found


async def _ask(ground: Ground, jobs: Sequence[Job]) -> None:
    async def ask(tx: Tx) -> None:
        for job in jobs:
            enqueue(tx, job)

    await ground.app.writers.of(ground.realm_id).write(ask)


# -- what there is to do


async def _fanout(ground: Ground) -> list[Job]:
    return [MessageFanout(realm_id=ground.realm_id, sent=(each,)) for each in ground.message_ids]


async def _pushes(ground: Ground) -> list[Job]:
    worlds.phones(ground.database, ground.world, SUBSCRIBERS)
    ground.database.execute("UPDATE subscriptions SET push_notifications = true")
    return [
        PushNotification(
            realm_id=ground.realm_id,
            user_id=user_id,
            message_ids=(message_id,),
            reason=Reason.CHANNEL_BY_PUSH,
        )
        for message_id, user_id in _readers(ground)
    ]


async def _registrations(ground: Ground) -> list[Job]:
    rows = ground.rows(
        "INSERT INTO push_devices (realm_id, user_id, kind, token, created_at)"
        " SELECT %s, %s + g %% %s, 'fcm', 'new-' || g, now() FROM generate_series(1, %s) AS g"
        " RETURNING user_id, device_id",
        *(ground.realm_id, ground.world.first_user_id, SUBSCRIBERS, COUNT),
    )
    return [
        PushRegistration(
            realm_id=ground.realm_id, user_id=UserId(user_id), device_id=PushDeviceId(device_id)
        )
        for user_id, device_id in rows
    ]


async def _missed(ground: Ground) -> list[Job]:
    ground.database.execute("UPDATE subscriptions SET email_notifications = true")
    jobs: list[Job] = []
    for batch_id, (message_id, user_id) in enumerate(_readers(ground), start=10**6):
        ground.database.execute(
            "INSERT INTO notifications (realm_id, user_id, message_id, email_reason,"
            " email_batch_id) VALUES (%s, %s, %s, %s, %s)"
            " ON CONFLICT (realm_id, user_id, message_id) DO UPDATE"
            " SET email_reason = excluded.email_reason, email_batch_id = excluded.email_batch_id",
            [ground.realm_id, user_id, message_id, Reason.CHANNEL_BY_EMAIL, batch_id],
        )
        jobs.append(
            EmailNotifications(realm_id=ground.realm_id, user_id=user_id, batch_id=batch_id)
        )
    return jobs


async def _embeds(ground: Ground) -> list[Job]:
    return [EmbedLinks(realm_id=ground.realm_id, message_id=each) for each in ground.message_ids]


async def _calls(ground: Ground) -> list[Job]:
    [[bot_id]] = ground.rows(
        "INSERT INTO users (realm_id, email, full_name, role, api_key, date_joined, bot_type,"
        " bot_owner_id) VALUES (%s, 'asked-bot@example.com', 'Asked', 400, %s, now(), 3, %s)"
        " RETURNING user_id",
        *(ground.realm_id, uuid.uuid4().hex, ground.user_id(0)),
    )
    ground.database.execute(
        "INSERT INTO bot_services (realm_id, bot_id, interface, base_url, token)"
        " VALUES (%s, %s, 1, %s, 'token')",
        [ground.realm_id, bot_id, f"http://127.0.0.1:{ground.web_port}/bot"],
    )
    ground.database.execute(
        "INSERT INTO webhook_calls (realm_id, message_id, bot_id, trigger, is_handed)"
        " SELECT %s, m, %s, 'mention', true FROM unnest(%s::bigint[]) AS m",
        [ground.realm_id, bot_id, list(ground.message_ids)],
    )
    return [
        OutgoingWebhook(realm_id=ground.realm_id, message_id=each, bot_id=UserId(bot_id))
        for each in ground.message_ids
    ]


async def _rests(ground: Ground) -> list[Job]:
    channel_id = worlds.channel(ground.database, ground.world, "left behind", SUBSCRIBERS)
    jobs: list[Job] = []
    for number in range(COUNT):
        work_id = str(uuid.uuid4())
        plan = {"readers": [[ground.user_id(number), channel_id]], "notices": []}
        ground.database.execute(
            "INSERT INTO stepped_work (realm_id, work_id, plan, done) VALUES (%s, %s, %s, 0)",
            [ground.realm_id, work_id, json.dumps(plan)],
        )
        jobs.append(DeferredWork.of(ground.realm_id, AFTERMATH.step, Finish(work_id)))
    return jobs


async def _news(ground: Ground) -> list[Job]:
    return [
        AccountEmail(
            realm_id=ground.realm_id,
            address=f"person{number}@example.com",
            full_name="A person",
            news=PasswordChanged(),
        )
        for number in range(COUNT)
    ]


async def _confirmations(ground: Ground) -> list[Job]:
    rows = ground.rows(
        "INSERT INTO confirmations (realm_id, purpose, email, user_id, ends_at)"
        " SELECT %s, %s, 'person' || g || '@example.com', %s, now() + interval '1 day'"
        " FROM generate_series(1, %s) AS g RETURNING confirmation_id",
        *(ground.realm_id, RESET_PASSWORD, ground.user_id(0), COUNT),
    )
    return [
        ConfirmationEmail(realm_id=ground.realm_id, confirmation_id=number) for [number] in rows
    ]


async def _invitations(ground: Ground) -> list[Job]:
    rows = ground.rows(
        "INSERT INTO invitations (realm_id, inviter_id, email, role, channel_ids, group_ids,"
        " includes_defaults, tells_inviter, invited_at, ends_at)"
        " SELECT %s, %s, 'asked' || g || '@example.com', 400, '{}', '{}', true, true, now(),"
        " now() + interval '1 day' FROM generate_series(1, %s) AS g RETURNING invitation_id",
        *(ground.realm_id, ground.user_id(0), COUNT),
    )
    return [
        InvitationEmail(realm_id=ground.realm_id, invitation_id=InvitationId(number))
        for [number] in rows
    ]


async def _digests(ground: Ground) -> list[Job]:
    """One for each person, who has read nothing."""
    day = ground.app.clock.now().date()
    ground.database.execute(
        "INSERT INTO digests (realm_id, user_id, day)"
        " SELECT %s, %s + g, %s FROM generate_series(0, %s - 1) AS g",
        [ground.realm_id, ground.world.first_user_id, day, SUBSCRIBERS],
    )
    return [
        DigestEmails(realm_id=ground.realm_id, user_ids=(ground.user_id(number),), day=day)
        for number in range(SUBSCRIBERS)
    ]


async def _greetings(ground: Ground) -> list[Job]:
    """One for each person, whom somebody has invited: two messages."""
    return [
        Greeting(
            realm_id=ground.realm_id,
            user_id=ground.user_id(number),
            inviter_id=ground.user_id(number + 1),
        )
        for number in range(SUBSCRIBERS)
    ]


async def _removals(ground: Ground) -> list[Job]:
    keys = [await _kept(ground, "uploads", b"x" * 1_024) for _ in range(COUNT)]
    return [BlobRemoval(realm_id=ground.realm_id, keys=(key,)) for key in keys]


async def _thumbnails(ground: Ground) -> list[Job]:
    target = BytesIO()
    Image.effect_noise(PICTURE, 60).convert("RGB").save(target, "JPEG")
    jobs: list[Job] = []
    for _ in range(PICTURES):
        key = await _kept(ground, "uploads", target.getvalue())
        [[attachment_id]] = ground.rows(
            "INSERT INTO attachments (realm_id, path_id, name, content_type, size, digest,"
            " owner_id, created_at) VALUES (%s, %s, 'a.jpg', 'image/jpeg', %s, %s, %s, now())"
            " RETURNING attachment_id",
            *(ground.realm_id, f"{key.partition('/')[2]}/a.jpg", len(target.getvalue())),
            *(hashlib.sha256(key.encode()).digest(), ground.user_id(0)),
        )
        jobs.append(Thumbnails(realm_id=ground.realm_id, attachment_id=AttachmentId(attachment_id)))
    return jobs


JOBS: Final[dict[type[Job], Callable[[Ground], Awaitable[list[Job]]]]] = {
    AccountEmail: _news,
    BlobRemoval: _removals,
    ConfirmationEmail: _confirmations,
    DeferredWork: _rests,
    DigestEmails: _digests,
    EmailNotifications: _missed,
    EmbedLinks: _embeds,
    Greeting: _greetings,
    InvitationEmail: _invitations,
    MessageFanout: _fanout,
    OutgoingWebhook: _calls,
    PushNotification: _pushes,
    PushRegistration: _registrations,
    Thumbnails: _thumbnails,
}
"""Jobs of each kind, which are really something to do. A test holds that none is left out."""


def _readers(ground: Ground) -> list[tuple[MessageId, UserId]]:
    """Each message, and one of its readers who has not written it."""
    senders = dict(
        ground.rows(
            "SELECT id, sender_id FROM messages WHERE realm_id = %s AND id = ANY (%s)",
            *(ground.realm_id, list(ground.message_ids)),
        )
    )
    return [
        (each, ground.user_id(senders[each] - ground.world.first_user_id + 1))
        for each in ground.message_ids
    ]


async def _kept(ground: Ground, kind: str, content: bytes) -> str:
    key = new_key(kind, ground.realm_id)
    incoming = await ground.app.blobs.receive()
    await incoming.write(content)
    await incoming.keep(key)
    return key


# -- everything around it


@asynccontextmanager
async def _ground(server: Server, database: psycopg.Connection[Any]) -> AsyncIterator[Ground]:
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
        yield Ground(app, database, world, message_ids, web_port)


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
