"""A pool of connections to a mail server, kept open while there are emails to send."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from email.message import EmailMessage
from http import HTTPStatus
from typing import Final, Literal

import aiosmtplib

from server.mail.mailer import (
    AddressRefusedError,
    MailNotTakenNowError,
    MailRefusedError,
    as_sent,
)
from server.settings import Settings
from server.telemetry import traces

IDLE_TIMEOUT_SECONDS: Final = 30.0
MAX_MAILS_PER_CONNECTION: Final = 100
QUIT_TIMEOUT_SECONDS: Final = 2.0
PERMANENT: Final = HTTPStatus.INTERNAL_SERVER_ERROR
"""SMTP responses from 500 on are permanent errors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """Address and credentials of a mail server."""

    host: str
    port: int
    security: Literal["starttls", "tls", "none"]
    user: str | None
    password: str | None
    sender: str
    """The envelope sender, which receives later bounces."""
    connections: int
    timeout_seconds: float
    tls: ssl.SSLContext | None = None
    """None: certificates are validated by the system's trust store."""


def server_of(settings: Settings) -> MailServer:
    """Return the mail server of the settings, which must have one."""
    assert settings.smtp_host is not None, "callers check it"
    return MailServer(
        host=settings.smtp_host,
        port=settings.smtp_port,
        security=settings.smtp_security,
        user=settings.smtp_user,
        password=settings.smtp_password,
        sender=settings.mail_address,
        connections=settings.smtp_connections,
        timeout_seconds=settings.smtp_timeout_seconds,
    )


@dataclass(slots=True)
class _Idle:
    client: aiosmtplib.SMTP
    since: float
    mails: int


class SmtpMailer:
    """A Mailer over SMTP. A request on an idle connection that was lost is retried once."""

    def __init__(self, server: MailServer) -> None:
        self._server = server
        self._room = asyncio.Semaphore(server.connections)
        self._idle: list[_Idle] = []
        self.connected = 0
        """The number of connections opened."""

    async def send(self, message: EmailMessage, address: str) -> None:
        """See Mailer."""
        async with self._room:
            try:
                with traces.ended(traces.child("send mail")):
                    await self._send(message, address)
            except aiosmtplib.SMTPRecipientsRefused as error:
                [refused] = error.recipients
                if refused.code >= PERMANENT:
                    raise AddressRefusedError(_told(refused)) from error
                raise MailNotTakenNowError(_told(refused)) from error
            except aiosmtplib.SMTPDataError as error:
                if error.code >= PERMANENT:
                    raise MailRefusedError(_told(error)) from error
                raise MailNotTakenNowError(_told(error)) from error
            except (aiosmtplib.SMTPException, OSError) as error:
                # Also a name, a password or a sender that are refused: those are settings. A
                # certificate that is not trusted is a ValueError as well, so this comes first.
                raise MailNotTakenNowError(f"{type(error).__name__}: {error}") from error
            except ValueError as error:
                raise AddressRefusedError(str(error)) from error

    async def check(self) -> None:
        """Sign in and disconnect. Raises MailNotTakenNowError."""
        try:
            client = await self._connect()
            await client.noop()
            await self._leave(client)
        except (aiosmtplib.SMTPException, OSError) as error:
            raise MailNotTakenNowError(str(error)) from error

    async def close(self) -> None:
        """Close all connections."""
        idle, self._idle = self._idle, []
        for each in idle:
            await self._leave(each.client)

    async def _send(self, message: EmailMessage, address: str) -> None:
        kept = await self._kept()
        if kept is not None:
            try:
                await self._over(kept, message, address)
            except aiosmtplib.SMTPServerDisconnected:
                kept.client.close()
            else:
                return
        fresh = _Idle(await self._connect(), 0.0, 0)
        await self._over(fresh, message, address)

    async def _over(self, one: _Idle, message: EmailMessage, address: str) -> None:
        """Send over this connection, and return it to the pool unless it failed."""
        is_in_order = False
        try:
            await one.client.sendmail(self._server.sender, [address], as_sent(message))
            is_in_order = True
        except (aiosmtplib.SMTPRecipientsRefused, aiosmtplib.SMTPDataError):
            is_in_order = one.client.is_connected
            raise
        finally:
            one.mails += 1
            if is_in_order and one.mails < MAX_MAILS_PER_CONNECTION:
                one.since = asyncio.get_running_loop().time()
                self._idle.append(one)
            elif is_in_order:
                await self._leave(one.client)
            else:
                one.client.close()

    async def _kept(self) -> _Idle | None:
        """Return a connection that was used lately; close the others."""
        long_ago = asyncio.get_running_loop().time() - IDLE_TIMEOUT_SECONDS
        stale = [
            each for each in self._idle if each.since < long_ago or not each.client.is_connected
        ]
        self._idle = [each for each in self._idle if each not in stale]
        for each in stale:
            await self._leave(each.client)
        return self._idle.pop() if self._idle else None

    async def _connect(self) -> aiosmtplib.SMTP:
        server = self._server
        client = aiosmtplib.SMTP(
            hostname=server.host,
            port=server.port,
            timeout=server.timeout_seconds,
            use_tls=server.security == "tls",
            start_tls=server.security == "starttls",
            tls_context=server.tls,
        )
        self.connected += 1
        await client.connect()
        if server.user is not None:
            try:
                await client.login(server.user, server.password or "")
            except BaseException:
                client.close()
                raise
        return client

    async def _leave(self, client: aiosmtplib.SMTP) -> None:
        with suppress(aiosmtplib.SMTPException, OSError):
            await client.quit(timeout=QUIT_TIMEOUT_SECONDS)
        client.close()


def _told(answer: aiosmtplib.SMTPResponseException) -> str:
    """Return the server's response, as one line."""
    return f"{answer.code} {' '.join(answer.message.split())}"[:500]


@asynccontextmanager
async def open_smtp_mailer(server: MailServer) -> AsyncIterator[SmtpMailer]:
    """Return a Mailer for this server; connections are opened on demand."""
    mailer = SmtpMailer(server)
    try:
        yield mailer
    finally:
        await mailer.close()
