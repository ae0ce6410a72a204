"""Process the digest queue: mail inactive users a summary of their channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import structlog

from queue_processors.processor import PermanentError, Processor
from server.app import App
from server.domain.access import GUEST
from server.domain.addresses import mail_domain
from server.domain.realm_settings import RealmSettings
from server.domain.unsubscribing import DIGESTS, PURPOSE, Subscriber, link_for
from server.domain.user_settings import UserSettings
from server.jobs import DigestEmails
from server.mail.digests import Digest, Talk, digest_email
from server.mail.folder import is_delivering
from server.mail.mailer import (
    AddressRefusedError,
    MailNotTakenNowError,
    MailRefusedError,
    addressee_of,
)
from server.mail.missed_messages import Letterhead, MailedMessage
from server.realm_cache import RealmCache
from storage import digests, email_notifications, server_keys, users
from storage.database import RETRYABLE_ERRORS, Connection
from storage.digests import HotTopic
from storage.ids import RealmId, UserId
from storage.realms import RealmRow
from storage.users import UserRow

logger = structlog.get_logger(__name__)

WEEK: Final = timedelta(days=7)
MAX_JOB_AGE: Final = timedelta(days=3)
"""The maximum age of a digest job; an older one is dropped, since the next one follows."""
MAX_CANDIDATES: Final = 500
"""The maximum number of an organization's conversations from which those of a user are chosen."""
MAX_CONVERSATIONS: Final = 5
MAX_MESSAGES: Final = 3
MAX_CHANNELS: Final = 10
MAX_REFUSALS: Final = 3
REFUSED_ADDRESS_PAUSE: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class _Week:
    """The activity of an organization, before it is filtered for a user."""

    realm_cache: RealmCache
    realm: RealmRow
    topics: Sequence[HotTopic]
    channels: Sequence[str]
    now: datetime


async def handle(app: App, job: DigestEmails) -> None:
    """Send each user of the batch one digest; users that have got theirs are skipped.

    A failure for one user does not hold up the others. Raises MailNotTakenNowError, and
    PermanentError if any digest was refused or could not be built.
    """
    now = app.clock.now()
    if app.mailer is None or now.date() - job.day > MAX_JOB_AGE:
        return
    async with app.database.connection() as connection:
        left = await digests.undone(connection, job.realm_id, job.user_ids, job.day)
    if not left:
        return
    week = await _week(app, job.realm_id, now)
    faults = [fault for user_id in left if (fault := await _mail(app, job, week, user_id))]
    if faults:
        raise PermanentError("; ".join(map(str, faults))) from faults[0]


async def _week(app: App, realm_id: RealmId, now: datetime) -> _Week:
    async with app.database.connection() as connection:
        topics = await digests.hot_topics(
            connection, realm_id, since=now - WEEK, limit=MAX_CANDIDATES, shown=MAX_MESSAGES
        )
        channels = await digests.new_public_channels(
            connection, realm_id, since=now - WEEK, limit=MAX_CHANNELS
        )
    realm_cache = app.realm_caches.afresh(realm_id)
    return _Week(realm_cache, await realm_cache.realm(), topics, channels, now)


async def _mail(app: App, job: DigestEmails, week: _Week, user_id: UserId) -> Exception | None:
    """Send the user's digest if it is not empty. Returns the reason of a permanent error."""
    assert app.mailer is not None, "the caller has looked"
    try:
        async with app.database.connection() as connection:
            digest = await _digest(app, connection, job, week, user_id)
        if digest is not None:
            message = digest_email(digest)
            await app.mailer.send(message, addressee_of(message))
    except AddressRefusedError as error:
        logger.warning("mail.address_refused", user_id=user_id, reason=str(error))
    except MailRefusedError as error:
        await _finish(app, job, user_id)
        return error
    except (*RETRYABLE_ERRORS, MailNotTakenNowError):
        raise
    except Exception as error:
        # The job stays, for a retry once this is fixed.
        logger.exception("digest.failed", user_id=user_id)
        return error
    await _finish(app, job, user_id)
    return None


async def _finish(app: App, job: DigestEmails, user_id: UserId) -> None:
    async with app.database.connection() as connection:
        await digests.finish(connection, job.realm_id, user_id, job.day)


async def _digest(
    app: App, connection: Connection, job: DigestEmails, week: _Week, user_id: UserId
) -> Digest | None:
    """Return the content of the user's digest; None if it is empty or the account is closed."""
    realm = week.realm
    [row] = await users.by_ids(connection, job.realm_id, [user_id])
    settings = UserSettings.of(row.settings)
    if not row.is_active or not settings.enable_digest_emails or realm.deactivated:
        return None
    if not row.email_confirmed and is_delivering(app.mailer):
        return None
    if await email_notifications.is_undeliverable(
        connection,
        job.realm_id,
        user_id,
        row.email,
        times=MAX_REFUSALS,
        within=REFUSED_ADDRESS_PAUSE,
    ):
        return None
    talks = await _talks(connection, job.realm_id, week, row)
    channels = () if row.role == GUEST else week.channels
    if not talks and not channels:
        return None
    head = await _head(app, connection, week, row)
    may_show = (
        settings.message_content_in_email_notifications
        and RealmSettings.of(realm.settings).message_content_allowed_in_email_notifications
    )
    return Digest(
        head=head,
        talks=talks,
        new_channels=channels,
        shows=may_show,
        language=settings.default_language,
        key=f"{job.realm_id}.{user_id}.{job.day.isoformat()}",
    )


async def _talks(
    connection: Connection, realm_id: RealmId, week: _Week, row: UserRow
) -> list[Talk]:
    """Return the most active conversations with a first message that the user has not read."""
    loud = await digests.loud_for(
        connection, realm_id, row.user_id, [topic.topic_id for topic in week.topics]
    )
    own = [topic for topic in week.topics if topic.topic_id in loud][: MAX_CONVERSATIONS * 4]
    ids = [message_id for topic in own for message_id in topic.message_ids]
    unread = {
        each.id: each for each in await digests.unread_of(connection, realm_id, row.user_id, ids)
    }
    empty = RealmSettings.of(week.realm.settings).empty_topic_display_name
    sight = await week.realm_cache.sight(row, [each.sender_id for each in unread.values()])
    talks = []
    for topic in own:
        found = [unread[each] for each in topic.message_ids if each in unread]
        if found:
            shown = [
                MailedMessage(
                    sight.name(each.sender_id, each.sender_name),
                    each.sent_at,
                    each.content,
                    each.rendered_content,
                )
                for each in found
            ]
            talks.append(
                Talk(
                    channel_id=topic.channel_id,
                    channel=topic.channel,
                    topic=topic.topic,
                    title=topic.topic or empty,
                    people=topic.people,
                    count=topic.count,
                    messages=shown,
                )
            )
    return talks[:MAX_CONVERSATIONS]


async def _head(app: App, connection: Connection, week: _Week, row: UserRow) -> Letterhead:
    realm = week.realm
    address = app.realm_caches.of(realm.realm_id).address_of(realm)
    key = await server_keys.key_for(connection, PURPOSE)
    subscriber = Subscriber(realm.realm_id, row.user_id, DIGESTS)
    return Letterhead(
        realm_name=realm.name,
        realm_url=address.url,
        domain=mail_domain(address.url),
        sender=app.settings.mail_address,
        address=row.email,
        full_name=row.full_name,
        names_realm=False,
        unsubscribe_url=link_for(key, subscriber, address),
        now=week.now,
    )


PROCESSOR = Processor(DigestEmails, handle)
