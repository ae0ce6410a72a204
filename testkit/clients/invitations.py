"""A server that mails invitations, and their recipients."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from email.message import EmailMessage
from typing import Any
from urllib.parse import urlsplit

import pytest
import pytest_asyncio

from queue_processors import greetings, invitation_emails
from queue_processors.main import run
from server.domain.access import ADMINISTRATOR, MEMBER
from server.domain.clock import SystemClock
from server.domain.system_bots import NOTIFICATION_BOT, WELCOME_BOT
from server.messaging.background import running
from storage import invitations
from storage.invitations import InvitationTerms
from storage.users import UserRow
from testkit.clients.api import Client
from testkit.clients.page_client import Visitor
from testkit.clients.server import Server, serve
from testkit.factories import Make
from testkit.services.mail_server import Sink, listening

PATIENCE_SECONDS = 60
_LINK = re.compile(r"https?://\S+/join/\S+")


async def invite(make: Make, email: str, *, role: int = MEMBER, **terms: Any) -> UserRow:
    """Invite this address as a new user of the organization; returns the inviter."""
    inviter = await make.user("Inviter", role=ADMINISTRATOR)
    facts: dict[str, Any] = {
        "channel_ids": [],
        "group_ids": [],
        "includes_defaults": True,
        "welcome_text": None,
        "tells_inviter": False,
        "ends_at": None,
        **terms,
    }
    wish = InvitationTerms(inviter_id=inviter.user_id, role=role, **facts)
    now = SystemClock().now()
    await invitations.insert(make.connection, make.realm_id, wish, [email], now=now)
    return inviter


@dataclass
class Reception:
    """Invites people, reads what they are sent, and opens the links."""

    server: Server
    make: Make
    sink: Sink
    boss: Client
    """An administrator."""
    connect: Any

    async def client(self, row: UserRow) -> Client:
        client: Client = await self.connect(self.server, self.make.realm_id, row)
        return client

    async def visitor(self) -> Visitor:
        return Visitor(await self.connect(self.server, self.make.realm_id))

    async def mails(self, count: int) -> list[EmailMessage]:
        """The first so many, once they are there."""
        await self.until(lambda: len(self.sink.mails) >= count)
        return self.sink.mails[:count]

    async def invited(self, client: Client | None = None, **fields: Any) -> str:
        """Invite a user: the path of the link in their mail."""
        count = len(self.sink.mails)
        words = {"invitee_emails": "ada@example.com", "stream_ids": [], **fields}
        await (client or self.boss).post("/invites", **words)
        return link_of((await self.mails(count + 1))[-1])

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_so():  # noqa: ASYNC110 - a mail server has no callback
                await asyncio.sleep(0.01)

    async def person(self, email: str) -> UserRow:
        row = await self.server.app.realm_caches.of(self.make.realm_id).user_by_email(email)
        assert row is not None
        return row

    async def said_to(self, client: Client, count: int) -> list[tuple[str, str]]:
        """Wait for so many messages to the client's user, all by bots: their senders and texts."""
        queue = await client.register(event_types=["message"])
        async with asyncio.timeout(PATIENCE_SECONDS):
            while True:
                found = await client.get(
                    "/messages",
                    anchor="newest",
                    num_before=20,
                    num_after=0,
                    narrow=[{"operator": "is", "operand": "dm"}],
                    apply_markdown=False,
                )
                said = [(m["sender_full_name"], m["content"]) for m in found["messages"]]
                if len(said) >= count:
                    return said
                await queue.until("message")


def link_of(mail: EmailMessage) -> str:
    """The place to which the mail leads, at the organization's address."""
    text = mail.get_body(("plain",))
    assert text is not None
    found = _LINK.search(text.get_content())
    assert found is not None, text.get_content()
    return urlsplit(found[0]).path


@pytest.fixture
def reception_settings() -> dict[str, object]:
    """Settings of the server, beside those for mail; a module may have its own."""
    return {}


@pytest_asyncio.fixture
async def reception(
    database: Any,
    database_url: str,
    make: Make,
    connect: Any,
    reception_settings: dict[str, object],
) -> AsyncIterator[Reception]:
    for bot in (NOTIFICATION_BOT, WELCOME_BOT):
        await make.system_bot(bot)
    boss = await make.user("Boss", role=ADMINISTRATOR)
    async with listening() as sink:
        mail: dict[str, Any] = {"smtp_host": "127.0.0.1", "smtp_port": sink.port}
        settings = {**mail, "smtp_security": "none", **reception_settings}
        async with serve(database_url, **settings) as server:
            work = run(
                server.app,
                (invitation_emails.PROCESSOR, greetings.PROCESSOR),
                with_shipper=True,
            )
            async with running(work):
                client = await connect(server, make.realm_id, boss)
                yield Reception(server, make, sink, client, connect)
