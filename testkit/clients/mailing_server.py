"""A server that sends mail, and the recipient of its mail."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
import pytest_asyncio

from queue_processors import account_emails, confirmation_emails, shipper
from queue_processors.shipper import jobs_of
from server.jobs import AccountEmail, ConfirmationEmail, Job
from storage import shipping
from storage.database import Database
from storage.ids import RealmId
from storage.shipping import CursorRow
from testkit.clients.server import Server, serve
from testkit.factories import Make
from testkit.services.mail_server import Sink, listening

PATIENCE_SECONDS = 60
_LINK = re.compile(r"https?://\S+/(?:accounts|new)\S*")


@dataclass
class Posting:
    server: Server
    sink: Sink
    realm_id: RealmId
    _shipped: CursorRow = field(init=False)

    def __post_init__(self) -> None:
        self._shipped = CursorRow(self.realm_id, 0, 0)  # type: ignore[arg-type]

    async def jobs(self) -> list[Job]:
        """The mails that the organization's log asks for since the last time."""
        async with self.server.app.database.connection() as connection:
            lagging = await shipping.lagging(connection, shard=0, shards=1, limit=100)
            realm = next((row for row in lagging if row.realm_id == self.realm_id), None)
            if realm is None:
                return []
            entries = await shipping.entries_between(
                connection,
                self._shipped,
                realm.caught_up,
                kinds=list(shipper.TRANSLATIONS),
                without_body=(),
                limit=10_000,
            )
        self._shipped = realm.caught_up
        return [
            msgspec.json.decode(job.body, type=kind)
            for job in jobs_of(self.realm_id, entries)
            for kind in (AccountEmail, ConfirmationEmail)
            if job.queue == kind.queue
        ]

    async def mail(self) -> EmailMessage:
        """The one mail that is asked for now, as it arrives."""
        [job] = await self.jobs()
        await self.send(job)
        return self.sink.mails[-1]

    async def send(self, job: Job) -> None:
        """Handle the job as a worker does."""
        if isinstance(job, AccountEmail):
            await account_emails.handle(self.server.app, job)
        elif isinstance(job, ConfirmationEmail):
            await confirmation_emails.handle(self.server.app, job)

    async def mail_of_the_server(self) -> EmailMessage:
        """The next mail that no organization asks for."""
        async with (
            asyncio.timeout(PATIENCE_SECONDS),
            self.server.app.jobs.consume(ConfirmationEmail.queue, prefetch=1) as deliveries,
        ):
            delivery = await anext(deliveries)
            await self.send(msgspec.json.decode(delivery.body, type=ConfirmationEmail))
            await delivery.ack()
        return self.sink.mails[-1]

    @staticmethod
    def link(mail: EmailMessage) -> str:
        """The place to which the mail leads, below the organization's address."""
        text = mail.get_body(("plain",))
        assert text is not None
        found = _LINK.search(text.get_content())
        assert found is not None, text.get_content()
        return urlsplit(found[0]).path


@pytest_asyncio.fixture
async def sink() -> AsyncIterator[Sink]:
    async with listening() as sink:
        yield sink


@pytest.fixture
def posting_settings() -> dict[str, object]:
    """Settings of the server, beside those for mail; a module or a test may have its own."""
    return {}


@pytest_asyncio.fixture
async def posting(
    database: Database,
    database_url: str,
    make: Make,
    sink: Sink,
    posting_settings: dict[str, object],
) -> AsyncIterator[Posting]:
    mail: dict[str, Any] = {"smtp_host": "127.0.0.1", "smtp_port": sink.port}
    settings = {**mail, "smtp_security": "none", **posting_settings}
    async with serve(database_url, **settings) as server:
        yield Posting(server, sink, make.realm_id)
