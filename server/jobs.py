"""Work for queue processors: what it says, and how a transaction asks for it."""

import secrets
from datetime import date
from typing import Any, ClassVar, Literal, Self

import msgspec

from server.domain.account_news import AccountNews
from server.domain.clock import SystemClock
from server.events.base import NOBODY
from server.events.log import JobEnqueued
from server.messaging.job_broker import OutgoingJob
from server.transactions import Tx
from storage.ids import (
    AttachmentId,
    GroupId,
    InvitationId,
    MessageId,
    PushDeviceId,
    RealmId,
    UserId,
)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job's payload. It names things by id, and doing it twice does no harm.

    `queue` is also the name of the processor's file. A release reads the payloads of its
    predecessor: new fields have defaults.
    """

    queue: ClassVar[str] = ""
    idempotent_by: ClassVar[str] = ""
    """What tells its processor that the work, or a part of it, is done already; in words."""

    realm_id: RealmId
    """Whose work it is, which is also by whom queues take turns; THE_SERVER: of no realm."""


class DeferredWork(Job, frozen=True, kw_only=True):
    """The rest of a long piece of work: a step of queue_processors/deferred_work.py."""

    queue: ClassVar[str] = "deferred_work"
    idempotent_by: ClassVar[str] = "the progress that the work's own rows keep"

    step: str
    arguments: msgspec.Raw

    @classmethod
    def of(cls, realm_id: RealmId, step: str, arguments: Any) -> Self:
        """`arguments` is of the type that the step declares."""
        encoded = msgspec.Raw(msgspec.json.encode(arguments))
        return cls(realm_id=realm_id, step=step, arguments=encoded)


class MessageFanout(Job, frozen=True, kw_only=True, omit_defaults=True):
    """Who is to be notified of messages, and who no longer: queue_processors/message_fanout.py."""

    queue: ClassVar[str] = "message_fanout"
    idempotent_by: ClassVar[str] = "the row of `notifications` for each person and message"

    sent: tuple[MessageId, ...] = ()
    """New messages: whoever may want to hear of them."""
    mentioning: tuple[MessageId, ...] = ()
    """Messages that mention everybody since they were edited."""
    newly_mentioned: tuple[tuple[UserId, MessageId], ...] = ()
    """Whom messages mention since they were edited."""
    again: tuple[tuple[UserId, MessageId], ...] = ()
    """Whoever was there when they could have been notified: are they still?"""
    look: int = 0
    """How often `again` has been looked at before."""
    read: tuple[tuple[UserId, MessageId], ...] = ()
    """What people have read since."""
    read_all: tuple[UserId, ...] = ()
    """Who has read too much to name."""
    gone: tuple[MessageId, ...] = ()
    """What is deleted, or out of somebody's sight."""


class EmailNotifications(Job, frozen=True, kw_only=True):
    """What somebody has missed is to be mailed: queue_processors/email_notifications.py."""

    queue: ClassVar[str] = "email_notifications"
    idempotent_by: ClassVar[str] = "the messages that are still in the batch"

    user_id: UserId
    batch_id: int


class PushNotification(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A message is to be shown on somebody's devices, or messages no longer.

    Whoever sends it looks first whether the message is still unread: its reader may have been
    faster than this job.
    """

    queue: ClassVar[str] = "push_notifications"
    idempotent_by: ClassVar[str] = "the message's id, by which devices replace what they show"

    user_id: UserId
    message_ids: tuple[MessageId, ...]
    """One, to be shown."""
    op: Literal["add", "remove"] = "add"
    reason: str = ""
    """As in server/domain/notifications.py."""
    group_id: GroupId | None = None
    """By which group the message mentions them, where it is not by name."""
    devices: tuple[PushDeviceId, ...] = ()
    """Those of their devices that are still to get it; none: all."""


class GoneDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device with a token whose row is gone."""

    kind: Literal["apns", "fcm"]
    token: str


class PushRegistration(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A bouncer is to know a device, or to forget it: queue_processors/push_registrations.py."""

    queue: ClassVar[str] = "push_registrations"
    idempotent_by: ClassVar[str] = "the device's row, and the bouncer, for which twice is as once"

    user_id: UserId
    device_id: PushDeviceId | None = None
    """One that it is to know."""
    registration: str = ""
    """What only the bouncer can read: the token of a device that this server does not know."""
    bouncer_key: str = ""
    """For which of its keys that is encrypted."""
    gone: GoneDevice | None = None
    """One that it is to forget."""
    all_gone: bool = False
    """It is to forget all that the user has."""


class OutgoingWebhook(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A bot is to be called for a message: queue_processors/outgoing_webhooks.py."""

    queue: ClassVar[str] = "outgoing_webhooks"
    idempotent_by: ClassVar[str] = "the row of `webhook_calls`, and the key of the bot's reply"

    message_id: MessageId
    bot_id: UserId
    failures: int = 0
    """How often it has been tried in vain."""


class EmbedLinks(Job, frozen=True, kw_only=True):
    """A message links pages, of which previews may be shown: queue_processors/embed_links.py."""

    queue: ClassVar[str] = "embed_links"
    idempotent_by: ClassVar[str] = "the message itself: its previews are replaced as a whole"

    message_id: MessageId


class AccountEmail(Job, frozen=True, kw_only=True):
    """Somebody is to be told something of their account: queue_processors/account_emails.py."""

    queue: ClassVar[str] = "account_emails"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and its Message-ID"

    user_id: UserId | None = None
    """Whose account; None: a release that did not say so has asked."""
    address: str = ""
    """Where it goes; empty: to the account's."""
    full_name: str = ""
    """Empty: the account's."""
    news: AccountNews
    key: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    """Of this email alone."""


class Thumbnails(Job, frozen=True, kw_only=True):
    """Small pictures of an uploaded one are to be made: queue_processors/thumbnails.py."""

    queue: ClassVar[str] = "thumbnails"
    idempotent_by: ClassVar[str] = "the attachment's row, and what messages that hold it show"

    attachment_id: AttachmentId


class InvitationEmail(Job, frozen=True, kw_only=True):
    """Somebody is to be asked to join: queue_processors/invitation_emails.py."""

    queue: ClassVar[str] = "invitation_emails"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and the mail's Message-ID"

    invitation_id: InvitationId


class DigestEmails(Job, frozen=True, kw_only=True):
    """People who were away are to be mailed what happened: queue_processors/digest_emails.py."""

    queue: ClassVar[str] = "digest_emails"
    idempotent_by: ClassVar[str] = "the row of `digests` for each person, and the Message-ID"

    user_ids: tuple[UserId, ...]
    day: date


class Greeting(Job, frozen=True, kw_only=True):
    """Somebody has joined: bots say so, to them, to who has invited them, and in a channel."""

    queue: ClassVar[str] = "greetings"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and the keys of the messages"

    user_id: UserId
    text: str | None = None
    """What the welcome bot adds; None: what the organization has for that."""
    inviter_id: UserId | None = None
    """Who wants to know."""


class BlobRemoval(Job, frozen=True, kw_only=True):
    """Content is to go of which no row speaks any more: queue_processors/blob_removals.py."""

    queue: ClassVar[str] = "blob_removals"
    idempotent_by: ClassVar[str] = "the store, in which nothing is there afterwards"

    keys: tuple[str, ...]


class ConfirmationEmail(Job, frozen=True, kw_only=True):
    """Somebody is to confirm something: queue_processors/confirmation_emails.py.

    It holds no link: whoever reads the log, or what waits here, could use it.
    """

    queue: ClassVar[str] = "confirmation_emails"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and its Message-ID"

    confirmation_id: int


def enqueue(tx: Tx, job: Job, *, after_seconds: float = 0.0) -> None:
    """Ask for the job in this transaction: it is done, at least once, if this commits.

    The log carries it, as an entry for nobody. `after_seconds` holds it back at least so long.
    """
    tx.append(asking_for(job, after_seconds=after_seconds), NOBODY)


def asking_for(job: Job, *, after_seconds: float = 0.0) -> JobEnqueued:
    """The entry by which `enqueue` asks, for a write that appends it in SQL."""
    return JobEnqueued(
        queue=job.queue,
        job=msgspec.Raw(msgspec.json.encode(job)),
        after_seconds=after_seconds,
        asked_at=SystemClock().now().timestamp(),
    )


def outgoing(
    job: Job, *, key: str, after_seconds: float = 0.0, asked_at: float = 0.0
) -> OutgoingJob:
    """A job that follows from another, for the broker: such jobs never enter the log.

    `key` is the work's own among those of its realm and queue. `asked_at` is when it all began,
    in seconds since 1970, where that is known.
    """
    return OutgoingJob(
        queue=job.queue,
        body=msgspec.json.encode(job),
        key=f"{job.realm_id}:{key}",
        realm_id=job.realm_id,
        asked_at=asked_at,
        after_seconds=after_seconds,
    )
