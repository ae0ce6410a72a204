"""Process the push notification queue: deliver notifications to devices, and remove them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin

from msgspec.structs import replace

from queue_processors.processor import PermanentError, Processor, RetryLaterError
from queue_processors.push_keeper import introducing
from server.app import App
from server.domain.markdown.links import direct_href, narrow_href
from server.domain.notifications import NotificationFacts, Reason, decide
from server.domain.realm_settings import RealmSettings
from server.domain.shown_people import PeopleVisibility
from server.domain.user_settings import UserSettings
from server.jobs import PushNotification, outgoing
from server.messaging.job_broker import JobPublisher, OutgoingJob
from server.push.browser_payloads import (
    BrowserNotification,
    message_to_browser,
    removals_from_browser,
)
from server.push.courier import Courier, Parcel
from server.push.payloads import (
    Addressee,
    PushedMessage,
    message_notice,
    message_to_seal,
    removals,
    removals_to_seal,
)
from server.push.plain_text import as_notification
from server.push.recipients import addressee_of
from server.push.service import DeliveryOutcome, PushRefusedError, TryLaterError
from server.realm_cache import REALM
from storage import (
    notification_candidates,
    notifications,
    push_devices,
    push_notifications,
    realms,
    users,
)
from storage.database import Connection
from storage.ids import RealmId, UserId
from storage.push_devices import WEB, DeviceRow
from storage.push_notifications import PushedRow
from storage.realms import RealmRow
from storage.users import UserRow

PREFETCH: Final = 50
"""The maximum number of jobs in progress, most of which wait for a remote response."""
RETRY_DELAY_SECONDS: Final = 2.0
"""The delay before devices are retried that failed while others were reached."""


@dataclass(frozen=True, slots=True)
class Pusher:
    """Handle push jobs of one realm at a time."""

    courier: Courier
    broker: JobPublisher

    @property
    def realm_id(self) -> RealmId:
        return self.courier.services.realm_id

    async def handle(self, job: PushNotification) -> None:
        """Deliver a notification to the devices of a job, or remove notifications from them.

        Raises RetryLaterError or another PushError if no device was reached.
        """
        async with self.courier.services.read() as connection:
            rows = await push_devices.of_user(connection, self.realm_id, job.user_id)
            devices = [row for row in rows if not job.devices or row.device_id in job.devices]
            reader = await notified_user(self.courier, connection, job.user_id) if devices else None
            if reader is None:
                return
            badge = await self._badge(connection, job, devices)
            if job.op == "remove":
                parcel: Parcel | None = _removal(reader, job, badge)
            else:
                parcel = await self._message(connection, job, reader, badge)
        if parcel is None:
            return
        await self._deliver(job, reader, devices, parcel)
        if job.op == "remove":
            return
        async with self.courier.services.read() as connection:
            await notifications.pushed(connection, self.realm_id, job.user_id, job.message_ids)
        if not await self._is_unread(job):
            await self._take_back(job, reader, devices)

    async def _badge(
        self, connection: Connection, job: PushNotification, devices: Sequence[DeviceRow]
    ) -> int:
        """Return the unread count, for the devices that show one."""
        if not any(row.kind == WEB or (row.plain and row.kind == "apns") for row in devices):
            return 0
        others = await push_notifications.shown_beside(
            connection, self.realm_id, job.user_id, job.message_ids
        )
        return others + (job.op == "add")

    async def _message(
        self, connection: Connection, job: PushNotification, reader: "NotifiedUser", badge: int
    ) -> Parcel | None:
        """Return the message if its notification is still due."""
        [message_id] = job.message_ids
        facts = await notification_candidates.facts_of(
            connection, self.realm_id, [(job.user_id, message_id)]
        )
        if not facts or decide(NotificationFacts.of(facts[0])).push is None:
            return None
        row = await push_notifications.message(connection, self.realm_id, message_id, job.group_id)
        if row is None:
            return None
        realm_cache = self.courier.services.realm_cache
        sight = await realm_cache.sight(reader.row, [row.sender_id, *row.user_ids])
        message = self._as_known(job, reader, row, sight)
        plain = (
            [] if reader.is_encrypted_only else [message_notice(reader.to, message, badge=badge)]
        )
        return Parcel(
            notices=plain,
            to_seal=[message_to_seal(reader.to, message)],
            to_browsers=[_to_browsers(reader, message, badge)],
        )

    def _as_known(
        self,
        job: PushNotification,
        reader: "NotifiedUser",
        row: PushedRow,
        sight: PeopleVisibility,
    ) -> PushedMessage:
        """Return the message without user data that its recipient may not see."""
        address = self.courier.services.realm_cache.address_of(reader.realm)
        unknown = reader.to.phrases.unknown_user
        sender = sight.shown(row.sender, address, unknown=unknown)
        return PushedMessage(
            message_id=row.message_id,
            sent_at=row.sent_at,
            content=as_notification(row.rendered_content),
            sender_id=sender.user_id,
            sender_email=sender.email,
            sender_name=sender.full_name,
            # Phones fetch it as it is: they know nothing that a relative address would be below.
            sender_avatar_url=urljoin(f"{address.url}/", sender.avatar.url),
            reason=Reason(job.reason),
            group=None if row.group_name is None else (job.group_id or 0, row.group_name),
            channel=None if row.channel_id is None else (row.channel_id, row.channel_name or ""),
            topic=row.topic or reader.settings.empty_topic_display_name,
            people=[
                (user_id, unknown if user_id in sight.strangers else name)
                for user_id, name in zip(row.user_ids, row.names, strict=True)
            ],
            href=href_of(row),
        )

    async def _is_unread(self, job: PushNotification) -> bool:
        """Whether the recipient has not read the message; once read, a later job removes it."""
        [message_id] = job.message_ids
        async with self.courier.services.read() as connection:
            return await push_notifications.is_unread(
                connection, self.realm_id, job.user_id, message_id
            )

    async def _take_back(
        self, job: PushNotification, reader: "NotifiedUser", devices: Sequence[DeviceRow]
    ) -> None:
        removal = replace(job, op="remove")
        async with self.courier.services.read() as connection:
            badge = await self._badge(connection, removal, devices)
        await self._deliver(removal, reader, devices, _removal(reader, removal, badge))

    async def _deliver(
        self,
        job: PushNotification,
        reader: "NotifiedUser",
        devices: Sequence[DeviceRow],
        parcel: Parcel,
    ) -> None:
        """Deliver to the devices, and retry the failed ones in a job of their own.

        So no device gets a notification twice because another one was unavailable.
        """
        outcome = await deliver_to(self.courier, reader, devices, parcel)
        if outcome.again:
            await self.broker.publish(self._rest(job, outcome))

    def _rest(self, job: PushNotification, outcome: DeliveryOutcome) -> OutgoingJob:
        ids = tuple(sorted(outcome.again))
        names = ",".join(map(str, ids))
        return outgoing(
            replace(job, devices=ids),
            key=f"{job.message_ids[0]}:{job.user_id}:{job.op}:{names}",
            after_seconds=max(outcome.again_after_seconds, RETRY_DELAY_SECONDS),
        )


@dataclass(frozen=True, slots=True)
class NotifiedUser:
    """The recipient of a notification, in the organization."""

    realm: RealmRow
    row: UserRow
    to: Addressee

    @property
    def settings(self) -> RealmSettings:
        """The organization's settings."""
        return RealmSettings.of(self.realm.settings)

    @property
    def is_encrypted_only(self) -> bool:
        """Whether the organization sends phones nothing in the clear."""
        return self.settings.require_e2ee_push_notifications


async def notified_user(
    courier: Courier, connection: Connection, user_id: UserId
) -> NotifiedUser | None:
    """Return the recipient of a notification; None if there is no such user any more."""
    realm_cache = courier.services.realm_cache
    realm = await realms.by_id(connection, courier.services.realm_id)
    assert realm is not None, "a realm is never removed"
    realm_cache.remember(REALM, realm)
    found = await users.by_ids(connection, realm.realm_id, [user_id])
    if not found:
        return None
    return NotifiedUser(
        realm, found[0], addressee_of(realm, realm_cache.address_of(realm), found[0])
    )


async def deliver_to(
    courier: Courier, reader: NotifiedUser, devices: Sequence[DeviceRow], parcel: Parcel
) -> DeliveryOutcome:
    """Deliver to these devices of the user. Raises RetryLaterError or PermanentError."""
    try:
        return await courier.deliver(reader.realm, reader.row.user_id, devices, parcel)
    except TryLaterError as error:
        raise RetryLaterError(str(error), after_seconds=error.after_seconds) from error
    except PushRefusedError as error:
        raise PermanentError(str(error)) from error


def _to_browsers(reader: NotifiedUser, message: PushedMessage, badge: int) -> BrowserNotification:
    """Return the message as the user wants notifications of browsers to be."""
    settings = UserSettings.of(reader.row.settings)
    return message_to_browser(
        reader.to,
        message,
        unread_count=badge,
        hides=message.channel is None and not settings.pm_content_in_desktop_notifications,
        is_silent=not settings.enable_sounds,
    )


def href_of(row: PushedRow) -> str:
    """Return the path of the message in the web client."""
    if row.channel_id is None:
        return direct_href(row.user_ids, row.message_id)
    return narrow_href(row.channel_id, row.channel_name or "", row.topic or "", row.message_id)


def _removal(reader: NotifiedUser, job: PushNotification, badge: int) -> Parcel:
    plain = removals(reader.to, job.message_ids, badge=badge)
    return Parcel(
        notices=[] if reader.is_encrypted_only else list(plain),
        to_seal=list(removals_to_seal(reader.to, job.message_ids)),
        to_browsers=list(removals_from_browser(reader.to, job.message_ids, unread_count=badge)),
        is_removal=True,
    )


async def handle(app: App, job: PushNotification) -> None:
    """Deliver to browsers, and to phones through this server's push service, if it has one."""
    courier = app.courier(app.uncached_realm_services(job.realm_id))
    await introducing(app, Pusher(courier, app.jobs).handle(job))


PROCESSOR = Processor(PushNotification, handle, prefetch=PREFETCH)
