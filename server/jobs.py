"""Jobs for queue processors: their payloads, and how a transaction enqueues them.

The event log is the outbox: a job is an entry of it, and the shipper publishes it after the commit.
"""

import secrets
from datetime import date
from typing import Any, ClassVar, Literal, Self

import msgspec

from server.domain.account_news import AccountNews
from server.domain.clock import SystemClock
from server.events.base import NO_AUDIENCE
from server.events.log import JobEnqueued
from server.messaging.job_broker import OutgoingJob
from server.telemetry import traces
from server.transactions import Tx
from storage.ids import (
    AttachmentId,
    ButtonClickId,
    ChannelId,
    GroupId,
    ImportRequestId,
    InvitationId,
    MessageId,
    Position,
    PushDeviceId,
    RealmId,
    UserId,
)


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job's payload. It refers to things by id, and the job is idempotent.

    `queue` is also the name of the processor's module. A release reads the payloads of its
    predecessor: new fields have defaults.
    """

    queue: ClassVar[str] = ""
    idempotent_by: ClassVar[str] = ""
    """Key by which the processor detects that the job, or a part of it, is done already."""

    realm_id: RealmId
    """The realm of the job, also the key of fair queueing; THE_SERVER for none."""


class DeferredWork(Job, frozen=True, kw_only=True):
    """The next step of a long operation: queue_processors/deferred_work.py."""

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
    """Messages to notify users of, or no longer: queue_processors/message_fanout.py."""

    queue: ClassVar[str] = "message_fanout"
    idempotent_by: ClassVar[str] = "the row of `notifications` for each person and message"

    sent: tuple[MessageId, ...] = ()
    """New messages."""
    mentioning: tuple[MessageId, ...] = ()
    """Messages that have mentioned all users since an edit."""
    newly_mentioned: tuple[tuple[UserId, MessageId], ...] = ()
    """By message: users that are mentioned since an edit."""
    again: tuple[tuple[UserId, MessageId], ...] = ()
    """Users that were online at the first check: are they still?"""
    look: int = 0
    """Number of checks of `again` so far."""
    read: tuple[tuple[UserId, MessageId], ...] = ()
    """By user: messages read since."""
    read_all: tuple[UserId, ...] = ()
    """Users that have read too many messages to list."""
    gone: tuple[MessageId, ...] = ()
    """Messages that are deleted, or no longer visible to a user."""


class EmailNotifications(Job, frozen=True, kw_only=True):
    """Missed messages to email to a user: queue_processors/email_notifications.py."""

    queue: ClassVar[str] = "email_notifications"
    idempotent_by: ClassVar[str] = "the messages that are still in the batch"

    user_id: UserId
    batch_id: int


class PushNotification(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A message to show on a user's devices, or messages to remove from them.

    The sender checks first whether the message is still unread: its reader may have been faster
    than this job.
    """

    queue: ClassVar[str] = "push_notifications"
    idempotent_by: ClassVar[str] = "the message's id, by which devices replace what they show"

    user_id: UserId
    message_ids: tuple[MessageId, ...]
    """The message to show."""
    op: Literal["add", "remove"] = "add"
    reason: str = ""
    """As in server/domain/notifications.py."""
    group_id: GroupId | None = None
    """The group by which the message mentions the user, unless it is by name."""
    devices: tuple[PushDeviceId, ...] = ()
    """The devices that are still to receive it; empty: all."""


class ReactionPush(Job, frozen=True, kw_only=True, omit_defaults=True):
    """Reactions to notify the sender of a message of: queue_processors/reaction_pushes.py."""

    queue: ClassVar[str] = "reaction_pushes"
    idempotent_by: ClassVar[str] = "the window, by which browsers replace what they show"

    user_id: UserId
    message_id: MessageId
    since: Position
    until: Position
    """The positions of the first and the last reaction."""
    devices: tuple[PushDeviceId, ...] = ()
    """The browsers that are still to receive it; empty: all."""


class GoneDevice(msgspec.Struct, frozen=True, kw_only=True):
    """A device whose row is deleted, with its token."""

    kind: Literal["apns", "fcm"]
    token: str


class PushRegistration(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A device to register at the bouncer, or to remove: queue_processors/push_registrations.py."""

    queue: ClassVar[str] = "push_registrations"
    idempotent_by: ClassVar[str] = "the device's row, and the bouncer, for which twice is as once"

    user_id: UserId
    device_id: PushDeviceId | None = None
    """The device to register."""
    token_id: str = ""
    """Of a client device: the id of the token to register, in base64."""
    registration: str = ""
    """Readable by the bouncer only: the token of a device, which this server does not know."""
    bouncer_key: str = ""
    """The bouncer's key with which that is encrypted."""
    gone: GoneDevice | None = None
    """The device to remove."""
    all_gone: bool = False
    """Whether to remove all devices of the user."""


class OutgoingWebhook(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A message to post to an outgoing webhook: queue_processors/outgoing_webhooks.py."""

    queue: ClassVar[str] = "outgoing_webhooks"
    idempotent_by: ClassVar[str] = "the row of `webhook_calls`, and the key of the bot's reply"

    message_id: MessageId
    bot_id: UserId
    failures: int = 0
    """Failed attempts so far."""


class SlashCommandCall(Job, frozen=True, kw_only=True, omit_defaults=True):
    """A slash command to call a bot's service for: queue_processors/slash_commands.py."""

    queue: ClassVar[str] = "slash_commands"
    idempotent_by: ClassVar[str] = "the call's id, by which the service and clients detect repeats"

    call_id: str
    caller_id: UserId
    bot_id: UserId
    command: str
    text: str
    channel_id: ChannelId | None = None
    """The channel in which it was called; None: direct messages."""
    topic: str = ""
    user_ids: tuple[UserId, ...] = ()
    """The participants of the direct messages."""
    failures: int = 0
    """Failed attempts so far."""


class ButtonClick(Job, frozen=True, kw_only=True):
    """A click on a button of a message to deliver: queue_processors/message_buttons.py."""

    queue: ClassVar[str] = "message_buttons"
    idempotent_by: ClassVar[str] = "the click's row, which is open until there is an answer"

    message_id: MessageId
    click_id: ButtonClickId


class EmbedLinks(Job, frozen=True, kw_only=True):
    """A message with links to preview: queue_processors/embed_links.py."""

    queue: ClassVar[str] = "embed_links"
    idempotent_by: ClassVar[str] = "the message itself: its previews are replaced as a whole"

    message_id: MessageId


class AccountEmail(Job, frozen=True, kw_only=True):
    """An email to a user about their account: queue_processors/account_emails.py."""

    queue: ClassVar[str] = "account_emails"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and its Message-ID"

    user_id: UserId | None = None
    """The account; None in payloads of an older release."""
    address: str = ""
    """The recipient; empty: the account's address."""
    full_name: str = ""
    """Empty: the account's."""
    news: AccountNews
    key: str = msgspec.field(default_factory=lambda: secrets.token_hex(8))
    """Values of this email."""


class Thumbnails(Job, frozen=True, kw_only=True):
    """An uploaded image to make thumbnails of: queue_processors/thumbnails.py."""

    queue: ClassVar[str] = "thumbnails"
    idempotent_by: ClassVar[str] = "the attachment's row, and what messages that hold it show"

    attachment_id: AttachmentId


class InvitationEmail(Job, frozen=True, kw_only=True):
    """An invitation to email: queue_processors/invitation_emails.py."""

    queue: ClassVar[str] = "invitation_emails"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and the mail's Message-ID"

    invitation_id: InvitationId


class DigestEmails(Job, frozen=True, kw_only=True):
    """Inactive users to email a digest: queue_processors/digest_emails.py."""

    queue: ClassVar[str] = "digest_emails"
    idempotent_by: ClassVar[str] = "the row of `digests` for each person, and the Message-ID"

    user_ids: tuple[UserId, ...]
    day: date


class Greeting(Job, frozen=True, kw_only=True):
    """A new user: bots write to them, to their inviter and in a channel."""

    queue: ClassVar[str] = "greetings"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and the keys of the messages"

    user_id: UserId
    text: str | None = None
    """Text of the welcome bot; None: the organization's default."""
    inviter_id: UserId | None = None
    """Users to notify."""


class BlobRemoval(Job, frozen=True, kw_only=True):
    """Content without a row, to remove: queue_processors/blob_removals.py."""

    queue: ClassVar[str] = "blob_removals"
    idempotent_by: ClassVar[str] = "the store, in which nothing is there afterwards"

    keys: tuple[str, ...]


class Imports(Job, frozen=True, kw_only=True):
    """An import that an owner asked for: queue_processors/imports.py."""

    queue: ClassVar[str] = "imports"
    idempotent_by: ClassVar[str] = "the state of the request, and the progress of the import"

    request_id: ImportRequestId


class ConfirmationEmail(Job, frozen=True, kw_only=True):
    """An email with a confirmation link: queue_processors/confirmation_emails.py.

    The payload has no link: a reader of the log or of the queue could use it.
    """

    queue: ClassVar[str] = "confirmation_emails"
    idempotent_by: ClassVar[str] = "the row of `done_jobs`, and its Message-ID"

    confirmation_id: int
    language: str = ""
    """Language of the page that the address was entered on; empty if an older release asked."""
    is_invitation: bool = False
    """Whether it invites a person with an imported account, rather than answers a request."""


def enqueue(tx: Tx, job: Job, *, after_seconds: float = 0.0) -> None:
    """Enqueue the job in this transaction: if it commits, the job runs at least once.

    The log carries it, as an entry without an audience. `after_seconds` is the minimum delay.
    """
    tx.append(asking_for(job, after_seconds=after_seconds), NO_AUDIENCE)


def asking_for(job: Job, *, after_seconds: float = 0.0) -> JobEnqueued:
    """The entry by which `enqueue` does so, for a write that appends it in SQL."""
    return JobEnqueued(
        queue=job.queue,
        job=msgspec.Raw(msgspec.json.encode(job)),
        after_seconds=after_seconds,
        asked_at=SystemClock().now().timestamp(),
    )


def outgoing(
    job: Job, *, key: str, after_seconds: float = 0.0, asked_at: float = 0.0
) -> OutgoingJob:
    """A job that follows from another, for the broker: such jobs are not logged.

    `key` is unique among those of its realm and queue. `asked_at` is the time of the original
    request, in seconds since 1970, if it is known.
    """
    return OutgoingJob(
        queue=job.queue,
        body=msgspec.json.encode(job),
        key=f"{job.realm_id}:{key}",
        realm_id=job.realm_id,
        asked_at=asked_at,
        after_seconds=after_seconds,
        traceparents=traces.current_context(),
    )
