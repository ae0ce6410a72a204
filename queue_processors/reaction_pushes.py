"""Process the queue of reaction pushes: show notifications of reactions in browsers.

Phones get none: their apps show any notification of a message as that message, newly sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from queue_processors.processor import Processor
from queue_processors.push_keeper import introducing
from queue_processors.push_notifications import (
    PREFETCH,
    RETRY_DELAY_SECONDS,
    NotifiedUser,
    deliver_to,
    href_of,
    notified_user,
)
from server.app import App
from server.domain.reaction_notifications import MAX_SHOWN, is_notified
from server.domain.user_settings import UserSettings
from server.jobs import ReactionPush, outgoing
from server.messaging.job_broker import JobPublisher
from server.push.browser_payloads import BrowserNotification
from server.push.courier import Courier, Parcel
from server.push.plain_text import as_notification
from server.push.reactions import PushedReactions, reactions_to_browser
from storage import push_devices, push_notifications, reaction_notifications, users
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.push_devices import WEB
from storage.reaction_notifications import NewReaction


@dataclass(frozen=True, slots=True)
class ReactionPusher:
    """Handle the jobs of one realm at a time."""

    courier: Courier
    broker: JobPublisher

    @property
    def realm_id(self) -> RealmId:
        return self.courier.services.realm_id

    async def handle(self, job: ReactionPush) -> None:
        """Deliver a notification of the reactions that are still new to the user's browsers.

        Raises RetryLaterError or PermanentError if no browser was reached.
        """
        async with self.courier.services.read() as connection:
            rows = await push_devices.of_user(connection, self.realm_id, job.user_id)
            browsers = [
                row
                for row in rows
                if row.kind == WEB and (not job.devices or row.device_id in job.devices)
            ]
            if not browsers:
                return
            reader = await notified_user(self.courier, connection, job.user_id)
            notice = await self._notice(connection, job, reader) if reader else None
        if reader is None or notice is None:
            return
        parcel = Parcel([], [], to_browsers=[notice])
        outcome = await deliver_to(self.courier, reader, browsers, parcel)
        if outcome.again:
            ids = tuple(sorted(outcome.again))
            names = ",".join(map(str, ids))
            again = outgoing(
                replace(job, devices=ids),
                key=f"{job.message_id}:{job.since}:{names}",
                after_seconds=max(outcome.again_after_seconds, RETRY_DELAY_SECONDS),
            )
            await self.broker.publish(again)

    async def _notice(
        self, connection: Connection, job: ReactionPush, reader: NotifiedUser
    ) -> BrowserNotification | None:
        """Return the notification, if it is still due."""
        here = (self.realm_id, job.user_id, job.message_id)
        recipient = await reaction_notifications.recipient(connection, *here)
        if recipient is None or not is_notified(recipient):
            return None
        new = await reaction_notifications.unseen(
            connection, *here, since=job.since, until=job.until
        )
        row = await push_notifications.message(connection, self.realm_id, job.message_id, None)
        if not new or row is None:
            return None
        settings = UserSettings.of(reader.row.settings)
        hides = row.channel_id is None and not settings.pm_content_in_desktop_notifications
        others = await push_notifications.shown_beside(connection, self.realm_id, job.user_id, [])
        reactions = PushedReactions(
            message_id=job.message_id,
            window_id=job.since,
            names=await self._names(connection, reader, new),
            emoji=[(each.reaction_type, each.emoji_code, each.emoji_name) for each in new],
            content="" if hides else as_notification(row.rendered_content),
            href=href_of(row),
        )
        return reactions_to_browser(
            reader.to, reactions, unread_count=others, is_silent=not settings.enable_sounds
        )

    async def _names(
        self, connection: Connection, reader: NotifiedUser, new: Sequence[NewReaction]
    ) -> list[str]:
        """Return the names of the users who have reacted, as far as the reader may know them."""
        ids: list[UserId] = list(dict.fromkeys(each.user_id for each in new))
        sight = await self.courier.services.realm_cache.sight(reader.row, ids)
        found = await users.by_ids(connection, self.realm_id, ids[:MAX_SHOWN])
        names = {row.user_id: row.full_name for row in found}
        unknown = reader.to.phrases.unknown_user
        return [
            unknown if user_id in sight.strangers else names.get(user_id, unknown)
            for user_id in ids
        ]


async def handle(app: App, job: ReactionPush) -> None:
    """Deliver to browsers."""
    courier = app.courier(app.uncached_realm_services(job.realm_id))
    await introducing(app, ReactionPusher(courier, app.jobs).handle(job))


PROCESSOR = Processor(ReactionPush, handle, prefetch=PREFETCH)
