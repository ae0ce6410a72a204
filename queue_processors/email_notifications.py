"""Process the email notification queue: one email for each conversation of a due batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from email.message import EmailMessage
from functools import partial
from typing import Final

import structlog

from queue_processors.email_batches import job_of
from queue_processors.processor import PermanentError, Processor
from server.app import App
from server.domain.addresses import mail_domain
from server.domain.clock import Clock
from server.domain.mail_addresses import MailAddresses, ToMessage
from server.domain.notifications import NotificationFacts, Reason, decide
from server.domain.page_links import message_page
from server.domain.realm_settings import RealmSettings
from server.domain.unsubscribing import PURPOSE, Subscriber, link_for
from server.domain.user_settings import UserSettings
from server.i18n import _, catalogue_language
from server.jobs import EmailNotifications
from server.mail.folder import is_delivering
from server.mail.mailer import (
    AddressRefusedError,
    Mailer,
    MailNotTakenNowError,
    MailRefusedError,
    addressee_of,
)
from server.mail.missed_messages import (
    Conversation,
    Letterhead,
    MailedMessage,
    about,
    without_content,
)
from server.messaging.job_broker import JobPublisher
from server.realm_cache import REALM, RealmCache
from storage import (
    email_notifications,
    notification_candidates,
    realms,
    server_keys,
    users,
)
from storage.database import Connection, Database
from storage.email_notifications import MissedRow
from storage.ids import MessageId, UserId
from storage.notifications import BatchRow
from storage.realms import RealmRow
from storage.users import UserRow

logger = structlog.get_logger(__name__)

MAX_EMAILS: Final = 25
"""The maximum number of emails of a batch; messages of further conversations are counted only."""
MAX_MESSAGES_SHOWN: Final = 30
"""The maximum number of messages in an email."""
MAX_REFUSALS: Final = 3
REFUSED_ADDRESS_PAUSE: Final = timedelta(days=7)
"""The pause for an address after MAX_REFUSALS consecutive refusals."""
AUTOMATIC, ALWAYS = 1, 2
"""Values of realm_name_in_email_notifications_policy: with several organizations, and always."""

_REASONS: Final[dict[Reason, str]] = {
    Reason.DIRECT: _("You get this because you were sent a direct message."),
    Reason.MENTIONED: _("You get this because you were mentioned."),
    Reason.TOPIC_WILDCARD: _("You get this because everyone in the topic was mentioned."),
    Reason.TOPIC_WILDCARD_WHERE_FOLLOWED: _(
        "You get this because everyone in a topic that you follow was mentioned."
    ),
    Reason.CHANNEL_WILDCARD: _("You get this because everyone in the channel was mentioned."),
    Reason.CHANNEL_WILDCARD_WHERE_FOLLOWED: _(
        "You get this because everyone in the channel of a topic that you follow was mentioned."
    ),
    Reason.ALERT_WORD: _("You get this because one of your alert words was used."),
    Reason.FOLLOWED_BY_EMAIL: _("You get this because you follow this topic."),
    Reason.CHANNEL_BY_EMAIL: _("You get this because you want emails about this channel."),
}


@dataclass(frozen=True, slots=True)
class Post:
    """The services needed to send a batch."""

    database: Database
    broker: JobPublisher
    clock: Clock
    mailer: Mailer | None
    """None if the server sends no mail."""
    realm_cache: RealmCache
    sender: str
    addresses: MailAddresses | None
    """Reply addresses; None if the server receives no mail."""

    async def handle(self, job: EmailNotifications) -> None:
        """Send the unread messages of a batch, and delete what was sent from the batch.

        Raises MailNotTakenNowError, and PermanentError if the mail server refused an email.
        """
        realm_id, user_id = job.realm_id, job.user_id
        async with self.database.connection() as connection:
            seconds = await email_notifications.close(connection, realm_id, user_id, job.batch_id)
        if seconds > 0:
            await self.broker.publish(job_of(realm_id, BatchRow(user_id, job.batch_id, seconds)))
            return
        async with self.database.connection() as connection:
            parcel = await self._open(connection, job)
        if parcel is not None:
            await self._send(parcel)

    async def _open(self, connection: Connection, job: EmailNotifications) -> "_Parcel | None":
        """Load the batch and its recipient; delete notifications that are no longer wanted."""
        realm_id, user_id = job.realm_id, job.user_id
        ids = await email_notifications.in_batch(connection, realm_id, user_id, job.batch_id)
        row = await self._addressee(connection, job) if ids else None
        reasons = await self._wanted(connection, job, ids) if row is not None else {}
        dropped = [message_id for message_id in ids if message_id not in reasons]
        await email_notifications.take_out(connection, realm_id, user_id, dropped)
        if row is None or not reasons:
            return None
        realm = await realms.by_id(connection, realm_id)
        assert realm is not None, "a realm is never removed"
        self.realm_cache.remember(REALM, realm)
        parcel = _Parcel(
            job=job,
            realm=realm,
            row=row,
            head=await self._head(connection, realm, row),
            reasons=reasons,
            addresses=self.addresses,
        )
        return await self._filled(connection, parcel) if parcel.may_show else parcel

    async def _filled(self, connection: Connection, parcel: "_Parcel") -> "_Parcel":
        """Return the batch with the content of its messages."""
        realm_id = parcel.job.realm_id
        found = await email_notifications.conversations_of(connection, realm_id, parcel.reasons)
        mailed = {each.message_ids[0]: each.message_ids for each in found[:MAX_EMAILS]}
        missed = await email_notifications.missed(
            connection,
            realm_id,
            [each for ids in mailed.values() for each in ids[-MAX_MESSAGES_SHOWN:]],
        )
        people = {user for each in missed for user in (each.sender_id, *(each.user_ids or ()))}
        sight = await self.realm_cache.sight(parcel.row, people)
        address = self.realm_cache.address_of(parcel.realm)
        shown = [
            sight.shown(row, address)
            for row in await users.by_ids(connection, realm_id, sorted(people))
        ]
        return replace(
            parcel,
            conversations=[ids for _, ids in sorted(mailed.items())],
            missed={each.id: each for each in missed},
            left_out=[each for row in found[MAX_EMAILS:] for each in row.message_ids],
            names={person.user_id: person.full_name for person in shown},
        )

    async def _wanted(
        self, connection: Connection, job: EmailNotifications, ids: Sequence[MessageId]
    ) -> dict[MessageId, Reason]:
        """Return the reason of each notification that the current settings still want."""
        rows = await notification_candidates.facts_of(
            connection, job.realm_id, [(job.user_id, message_id) for message_id in ids]
        )
        decided = {row.message_id: decide(NotificationFacts.of(row)).email for row in rows}
        return {message_id: reason for message_id, reason in decided.items() if reason is not None}

    async def _addressee(self, connection: Connection, job: EmailNotifications) -> UserRow | None:
        """Return the recipient; None if the account is closed or has no usable address."""
        found = await users.by_ids(connection, job.realm_id, [job.user_id])
        if not found or self.mailer is None:
            return None
        if not found[0].email_confirmed and is_delivering(self.mailer):
            return None
        is_lost = await email_notifications.is_undeliverable(
            connection,
            job.realm_id,
            job.user_id,
            found[0].email,
            times=MAX_REFUSALS,
            within=REFUSED_ADDRESS_PAUSE,
        )
        return None if is_lost else found[0]

    async def _head(self, connection: Connection, realm: RealmRow, row: UserRow) -> Letterhead:
        address = self.realm_cache.address_of(realm)
        policy = UserSettings.of(row.settings).realm_name_in_email_notifications_policy
        names_realm = policy == ALWAYS
        if policy == AUTOMATIC:
            names_realm = await email_notifications.is_elsewhere_too(
                connection, realm.realm_id, row.email
            )
        key = await server_keys.key_for(connection, PURPOSE)
        return Letterhead(
            realm_name=realm.name,
            realm_url=address.url,
            domain=mail_domain(address.url),
            sender=self.sender,
            address=row.email,
            full_name=row.full_name,
            names_realm=names_realm,
            unsubscribe_url=link_for(key, Subscriber(realm.realm_id, row.user_id), address),
            now=self.clock.now(),
            language=catalogue_language(UserSettings.of(row.settings).default_language),
        )

    async def _send(self, parcel: "_Parcel") -> None:
        """Send the emails one by one; delete the messages of each accepted email from the batch.

        An email that cannot be built, or is refused, does not hold up the others, and its messages
        stay in the batch for a retry.
        """
        assert self.mailer is not None, "without a mailer, batches have no recipient"
        job, faults, taken = parcel.job, list[Exception](), False
        for mail in parcel.mails():
            try:
                message = mail.build()
                await self.mailer.send(message, addressee_of(message))
            except AddressRefusedError as error:
                await self._note_refusal(parcel, str(error))
                return
            except MailNotTakenNowError:
                raise
            except MailRefusedError as error:
                logger.warning("mail.refused", user_id=job.user_id, reason=str(error))
                faults.append(error)
            except Exception as error:
                logger.exception("mail.build_failed", user_id=job.user_id)
                faults.append(error)
            else:
                taken = True
                async with self.database.connection() as connection:
                    await email_notifications.take_out(
                        connection, job.realm_id, job.user_id, mail.message_ids
                    )
        if taken:
            async with self.database.connection() as connection:
                await email_notifications.taken(connection, job.realm_id, job.user_id)
        if faults:
            raise PermanentError("; ".join(map(str, faults))) from faults[0]

    async def _note_refusal(self, parcel: "_Parcel", reason: str) -> None:
        """Record that the address refuses mail, so that the batch is not retried."""
        job = parcel.job
        logger.warning("mail.address_refused", user_id=job.user_id, reason=reason)
        async with self.database.connection() as connection:
            await email_notifications.refused(
                connection, job.realm_id, job.user_id, parcel.row.email, reason
            )
            await email_notifications.take_out(
                connection, job.realm_id, job.user_id, list(parcel.reasons)
            )


@dataclass(frozen=True, slots=True)
class _Mail:
    build: Callable[[], EmailMessage]
    """Build the email. Raises AddressRefusedError."""
    message_ids: Sequence[MessageId]
    """The messages of the email."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parcel:
    """A batch with everything needed to build its emails."""

    job: EmailNotifications
    realm: RealmRow
    row: UserRow
    head: Letterhead
    reasons: dict[MessageId, Reason]
    conversations: Sequence[Sequence[MessageId]] = ()
    """The messages of the conversations that get an email each."""
    missed: dict[MessageId, MissedRow] = field(default_factory=dict)
    """The messages that are shown."""
    left_out: Sequence[MessageId] = ()
    """The number of messages in further conversations."""
    names: dict[UserId, str] = field(default_factory=dict)
    """Names of senders and direct-message members, as far as the recipient may see them."""
    addresses: MailAddresses | None

    @property
    def may_show(self) -> bool:
        """Whether the settings allow message content in email notifications."""
        return (
            RealmSettings.of(self.realm.settings).message_content_allowed_in_email_notifications
            and UserSettings.of(self.row.settings).message_content_in_email_notifications
        )

    def mails(self) -> list[_Mail]:
        """Return an email for each conversation, or a single one without any content."""
        if not self.may_show:
            return [self._counting(list(self.reasons), shown_elsewhere=False)]
        mails = [
            _Mail(partial(self._about, ids), ids)
            for ids in self.conversations
            if not self.missed.keys().isdisjoint(ids)  # the last of it may be gone by now
        ]
        if self.left_out:
            mails.append(self._counting(self.left_out, shown_elsewhere=True))
        return mails

    def _counting(self, ids: Sequence[MessageId], *, shown_elsewhere: bool) -> _Mail:
        build = partial(
            without_content,
            self.head,
            count=len(ids),
            batch_id=self.job.batch_id,
            last_id=max(ids),
            shown_elsewhere=shown_elsewhere,
        )
        return _Mail(build, ids)

    def _about(self, ids: Sequence[MessageId]) -> EmailMessage:
        rows = [self.missed[each] for each in ids if each in self.missed]
        first, last = rows[0], rows[-1]
        realm_id, user_id = self.job.realm_id, self.job.user_id
        conversation = Conversation(
            key=f"missed.{realm_id}.{user_id}.{first.conversation_id}",
            last_id=last.id,
            title=self._title(first),
            url=f"{self.head.realm_url}{message_page(last.id)}",
            reason=_REASONS[self.reasons[last.id]],
            messages=[
                MailedMessage(
                    self.names[row.sender_id], row.sent_at, row.content, row.rendered_content
                )
                for row in rows
            ],
            earlier=len(ids) - len(rows),
            answers_to=self._answers_to(last.id),
        )
        return about(self.head, conversation)

    def _answers_to(self, message_id: MessageId) -> str | None:
        if self.addresses is None:
            return None
        today = self.head.now.date().toordinal()
        return self.addresses.of_message(
            ToMessage(self.job.realm_id, self.job.user_id, message_id, today)
        )

    def _title(self, row: MissedRow) -> str:
        if row.channel_id is not None:
            empty = RealmSettings.of(self.realm.settings).empty_topic_display_name
            return f"#{row.channel_name} > {row.topic or empty}"
        others = [self.names[each] for each in self._others(row)]
        if len(others) == 1:
            return _("Direct messages with {names}", names=others[0])
        names = ", ".join(others[:-1])
        return _("Group direct messages with {names} and {last}", names=names, last=others[-1])

    def _others(self, row: MissedRow) -> list[UserId]:
        return [each for each in row.user_ids or () if each != self.job.user_id]


async def handle(app: App, job: EmailNotifications) -> None:
    """Send the batch of a job from this server's address."""
    realm_cache = app.realm_caches.afresh(job.realm_id)
    post = Post(
        database=app.database,
        broker=app.jobs,
        clock=app.clock,
        mailer=app.mailer,
        realm_cache=realm_cache,
        sender=app.settings.mail_address,
        addresses=app.mail_addresses,
    )
    await post.handle(job)


PROCESSOR = Processor(EmailNotifications, handle)
