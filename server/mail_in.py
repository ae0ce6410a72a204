"""Incoming email over LMTP or SMTP. A message is confirmed only after it is written."""

import asyncio
import socket
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final

import structlog

from server.actions import incoming_mail
from server.actions.attachments import has_room, new_attachment
from server.actions.incoming_mail import Mailed
from server.actions.messages.content import typeset_ahead
from server.api.rate_limit import Limiter, network_of
from server.app import App
from server.domain.addresses import mail_domain
from server.domain.attachments import MIB, url_of
from server.domain.errors import DomainError, RateLimitedError
from server.domain.mail_addresses import Destination, MailAddresses, ToMessage
from server.mail import incoming
from server.mail.enclosures import Enclosure
from server.mail.incoming import Content, IncomingEmail, UnreadableError
from server.mail.sessions import LmtpSession, SmtpSession
from server.parsing.lane import ParserUnavailableError, TooCostlyError
from server.parsing.wire import MailOrder
from server.runtime.sockets import Choices, open_sockets, port_of
from server.settings import Settings, certificates
from storage import upload_space
from storage.attachments import AttachmentRow
from storage.blobs import BlobStore
from storage.database import DatabaseUnavailableError, StatementTimeoutError
from storage.ids import RealmId, UserId

logger = structlog.get_logger(__name__)

SETTINGS: Final = Choices("PARLEY_MAIL_IN_HOST", "PARLEY_MAIL_IN_PORT")

MAX_SESSIONS: Final = 100
MAX_OF_ONE_PEER: Final = 5
"""Limits per network address of connections from outside."""
MAX_HELD_BYTES: Final = 128 << 20
"""Total size of unanswered mails in all sessions."""
MAX_RECIPIENTS: Final = 50
MAX_ANSWER: Final = 400

NO_USER: Final = UserId(0)
"""Owner of attachments until the mail's sender is determined."""

LATER: Final = "451 4.3.0 Not now, try again later"


class MailRoom:
    """State that all sessions share: connections, and delivery of mails."""

    def __init__(self, app: App, addresses: MailAddresses) -> None:
        self._app = app
        self._addresses = addresses
        self._limiter = Limiter("mail", app.settings.rate_limit_mail, app.database, app.clock)
        self._sessions: dict[SmtpSession, str] = {}
        self._in_hand = 0
        self._changed = asyncio.Event()
        self.is_lmtp = app.settings.mail_in_protocol == "lmtp"
        self.max_bytes = app.settings.mail_in_max_mib << 20

    # -- sessions

    def admit(self, session: SmtpSession, peer: str) -> bool:
        """Return whether there is room for one more session."""
        if session not in self._sessions:
            peer = network_of(peer)
            of_peer = Counter(self._sessions.values())[peer]
            if len(self._sessions) >= MAX_SESSIONS or (
                not self.is_lmtp and of_peer >= MAX_OF_ONE_PEER
            ):
                return False
            self._sessions[session] = peer
        return True

    def has_room_for(self, session: SmtpSession) -> bool:
        """Return whether the session's buffered data may stay in memory."""
        held = sum(each.received for each in self._sessions)
        return session.received <= 2 * self.max_bytes and held <= max(
            MAX_HELD_BYTES, 2 * self.max_bytes
        )

    def leave(self, session: SmtpSession) -> None:
        self._sessions.pop(session, None)
        self._changed.set()

    async def close(self, seconds: float) -> None:
        """Complete pending mails within this time, and end all sessions."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._in_hand:
                    await self._change()
                for session in list(self._sessions):
                    session.finish()
                while self._sessions:
                    await self._change()
        for session in list(self._sessions):
            session.abort()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()

    # -- what the library calls

    async def handle_RCPT(  # noqa: N802 - the library's name
        self,
        _session: SmtpSession,
        _state: Any,
        envelope: Any,
        address: str,
        _options: list[str],
    ) -> str:
        destination = self._read(address)
        if destination is None:
            return self._answered("refused", "550 5.1.1 There is no such address")
        # Only LMTP has one response per recipient, after the mail.
        if len(envelope.rcpt_tos) >= (MAX_RECIPIENTS if self.is_lmtp else 1):
            return "452 4.5.3 Too many recipients"
        try:
            if self._app.settings.rate_limits:
                await self._limiter.count(_place_of(destination), {})
        except RateLimitedError:
            return self._answered("later", "450 4.7.1 Too much mail to this address")
        envelope.rcpt_tos.append(address)
        return "250 2.1.5 OK"

    async def handle_DATA(self, _session: SmtpSession, _state: Any, envelope: Any) -> str:  # noqa: N802
        """Return one response for each recipient: whether the message is written."""
        sender = (envelope.mail_from or "").strip("<>")
        self._in_hand += 1
        try:
            addressed = self._addressed(envelope.rcpt_tos)
            mail = await self._parsed(envelope.content, addressed)
            answers = [await self._answer(mail, sender, destination) for destination in addressed]
        except UnreadableError as error:
            answers = [self._answered("refused", f"550 5.6.0 {error}")] * len(envelope.rcpt_tos)
        except ParserUnavailableError:
            answers = [self._answered("later", LATER)] * len(envelope.rcpt_tos)
        finally:
            self._in_hand -= 1
            self._changed.set()
        return "\r\n".join(answers)

    async def handle_exception(self, error: Exception) -> str:
        logger.error("mail_in.session_failed", error=type(error).__name__)
        return LATER

    # -- one mail for one address

    async def _parsed(self, raw: bytes, addressed: Sequence[Destination | None]) -> "_ParsedMail":
        """Parse the mail in a separate process. Raises UnreadableError."""
        known = [each for each in addressed if each is not None]
        wanted = list(dict.fromkeys(_variant(each) for each in known))
        order = MailOrder(raw, wanted)
        share = _place_of(known[0]) if known else ""
        try:
            read = await self._app.parser.mail(order, share=share)
        except TooCostlyError:
            raise UnreadableError("This email takes too long to read.") from None
        if read.refusal:
            raise UnreadableError(read.refusal)
        return _ParsedMail(
            IncomingEmail(read.headers), dict(zip(wanted, read.contents, strict=True))
        )

    def _addressed(self, addresses: Sequence[str]) -> list[Destination | None]:
        return [self._read(each) for each in addresses]

    async def _answer(
        self, mail: "_ParsedMail", mail_from: str, destination: Destination | None
    ) -> str:
        how, answer = "later", LATER
        try:
            await self._take(mail, mail_from, destination)
            how, answer = "taken", "250 2.6.0 Taken"
        except UnreadableError as error:
            how, answer = "refused", f"550 5.6.0 {error}"
        except DomainError as refusal:
            if refusal.status < HTTPStatus.INTERNAL_SERVER_ERROR:
                how, answer = "refused", f"550 5.7.1 {refusal.message}"
        except (DatabaseUnavailableError, StatementTimeoutError) as error:
            logger.warning("mail_in.deferred", error=str(error))
        except Exception:
            logger.exception("mail_in.failed")
        return self._answered(how, answer)

    async def _take(
        self, mail: "_ParsedMail", mail_from: str, destination: Destination | None
    ) -> None:
        """Write the message. Raises UnreadableError, or a DomainError."""
        letter = mail.letter
        if destination is None:
            raise UnreadableError("There is no such address.")
        target, app = destination.target, self._app
        to_person = isinstance(target, ToMessage)
        realm_cache = app.realm_caches.afresh(target.realm_id)
        domain = mail_domain((await realm_cache.address()).url)
        if objection := incoming.objection(letter, mail_from, domain, to_person=to_person):
            raise UnreadableError(objection)
        said = mail.contents[_variant(destination)]
        if isinstance(said, str):
            raise UnreadableError(said)
        now = app.clock.now()
        rows = await keep_enclosures(app, target.realm_id, said.enclosures.files, now)
        mailed = Mailed(
            topic=letter.topic(),
            content=said.written([url_of(row.path_id) if row else None for row in rows]),
            mail_id=letter.headers.get("message-id", ""),
            digest=said.digest,
            files=[row for row in rows if row is not None],
        )
        await typeset_ahead(realm_cache, mailed.content, share=_place_of(destination))
        writer = app.writers.of(target.realm_id)
        if mailed.files:
            await writer.write(lambda tx: incoming_mail.add_files(tx, target, mailed))
        await writer.write(lambda tx: incoming_mail.take(tx, target, mailed, now))

    def _read(self, address: str) -> Destination | None:
        return self._addresses.read(address, self._app.clock.now().date())

    def _answered(self, how: str, answer: str) -> str:
        """Return the response as one line that every client can read."""
        self._app.metrics.mail_in(how)
        line = " ".join(answer.split())[:MAX_ANSWER]
        return line.encode("ascii", "replace").decode("ascii")


async def keep_enclosures(
    app: App, realm_id: RealmId, files: Sequence[Enclosure], now: datetime
) -> list[AttachmentRow | None]:
    """Store the attachments of an email within the limits of uploads, without an owner yet.

    Attachments that no message links in the end have no row: the file sweeper removes them.
    """
    if not files:
        return []
    quota = (await app.realm_caches.of(realm_id).settings()).upload_quota_mib
    async with app.database.connection() as connection:
        await upload_space.begin(connection, realm_id)
        used = await upload_space.used(connection, realm_id)
    rows: list[AttachmentRow | None] = []
    for file in files:
        size = len(file.content)
        if size > app.settings.max_file_upload_mib * MIB or not has_room(quota, used, size):
            rows.append(None)
        else:
            used += size
            rows.append(await _keep(app.blobs, realm_id, file, now))
    return rows


async def _keep(
    blobs: BlobStore, realm_id: RealmId, file: Enclosure, now: datetime
) -> AttachmentRow:
    content = await blobs.receive()
    try:
        await content.write(file.content)
        row = new_attachment(realm_id, NO_USER, file.name, content, now)
        await content.keep(row.blob_key)
    finally:
        await content.discard()
    return row


@dataclass(frozen=True, slots=True)
class _ParsedMail:
    """A mail and its content for each variant of address, or why it is refused there."""

    letter: IncomingEmail
    contents: Mapping["_Variant", Content | str]


_Variant = tuple[tuple[str, ...], bool]


def _variant(destination: Destination) -> _Variant:
    """Options that affect the content: those of the address, and whether it is a reply."""
    return tuple(sorted(destination.options)), isinstance(destination.target, ToMessage)


def _place_of(destination: Destination) -> str:
    """Key of the rate limit: mails to a channel, or a user's replies."""
    target = destination.target
    if isinstance(target, ToMessage):
        return f"{target.realm_id}:user:{target.user_id}"
    return f"{target.realm_id}:channel:{target.channel_id}"


def mail_sockets(settings: Settings) -> list[socket.socket]:
    """Return the sockets for incoming mail. Raises ListenError."""
    assert settings.mail_in_port is not None, "the caller has checked"
    certificates.mail_in(settings)
    return open_sockets(settings.mail_in_host, settings.mail_in_port, chosen_by=SETTINGS)


@asynccontextmanager
async def taking_mail(
    app: App, opened: Sequence[socket.socket] | None = None
) -> AsyncIterator[int]:
    """Receive mail as the settings say while the block runs; yields the port.

    `opened`: the sockets, if they are open already. Raises ListenError.
    """
    settings, addresses = app.settings, app.mail_addresses
    assert addresses is not None, "the caller has checked that there is a port"
    room = MailRoom(app, addresses)
    kind = LmtpSession if room.is_lmtp else SmtpSession
    loop = asyncio.get_running_loop()
    tls = certificates.mail_in(settings)
    sockets = list(opened or mail_sockets(settings))

    def session() -> SmtpSession:
        return kind(room, hostname=addresses.domain, tls_context=tls, loop=loop)

    logger.info("mail_in.listening", protocol=settings.mail_in_protocol, port=port_of(sockets))
    servers = [await loop.create_server(session, sock=each) for each in sockets]
    try:
        yield port_of(sockets)
    finally:
        for server in servers:
            server.close()
        await room.close(settings.drain_seconds)
