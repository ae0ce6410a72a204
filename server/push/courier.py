"""Deliver notifications through push services, and store their responses."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import structlog

from server.actions.client_devices import forget_tokens, settle_token
from server.actions.push_devices import REGISTERED, drop_devices, settle_device
from server.actions.push_status import PushStatus, keep_push_status
from server.actions.realm_services import RealmServices
from server.domain.realm_settings import RealmSettings
from server.push.browser_payloads import BrowserNotification, test_to_browser
from server.push.browsers import Browsers
from server.push.outcomes import ReachedDevice
from server.push.payloads import test_notice, test_to_seal
from server.push.recipients import addressee_of, recipient_of
from server.push.sealing import encrypted, sealed
from server.push.service import (
    DeliveryOutcome,
    DisallowedError,
    EncryptedNotice,
    PlainNotification,
    PushError,
    PushRecipient,
    PushRefusedError,
    PushService,
    SealedNotice,
    ServiceFaultError,
    UnknownDeviceError,
    the_longest_wait,
)
from server.telemetry.metrics import Metrics
from storage.ids import PushDeviceId, UserId
from storage.push_devices import DeviceRow, EncryptedDevice, PlainDevice, SealedDevice
from storage.realms import RealmRow
from storage.users import UserRow

logger = structlog.get_logger(__name__)

NOT_ALLOWED: Final = PushStatus(enabled=False)


@dataclass(frozen=True, slots=True)
class Parcel:
    """The payload of a notification in the form of each kind of device."""

    notices: Sequence[PlainNotification]
    to_seal: Sequence[Mapping[str, Any]]
    to_browsers: Sequence[BrowserNotification] = ()
    is_removal: bool = False


@dataclass(frozen=True, slots=True)
class Courier:
    """Deliveries for one organization: to phones through one push service, and to browsers."""

    services: RealmServices
    phones: PushService | None
    """None: no phone is reached."""
    browsers: Browsers
    metrics: Metrics

    @property
    def service(self) -> PushService:
        """The push service of phones, where there is one."""
        assert self.phones is not None, "callers check it"
        return self.phones

    async def deliver(
        self, realm: RealmRow, user_id: UserId, rows: Iterable[DeviceRow], parcel: Parcel
    ) -> DeliveryOutcome:
        """Deliver to these devices of the user; `again` of the outcome are devices to retry.

        Devices that no longer exist are deleted. Raises a PushError if no device was reached and
        either all may be retried or none.
        """
        tries = self._tries(recipient_of(realm, user_id), list(rows), parcel)
        found = await asyncio.gather(*tries)
        outcome = _merged(one for one, _ in found)
        await self._heed(realm, user_id, outcome)
        errors = [error for _, error in found if error is not None]
        errors = [error for error in errors if not isinstance(error, PushRefusedError)] or errors
        if errors and len(errors) == len(found):
            raise the_longest_wait(errors)
        return outcome

    def _tries(
        self, recipient: PushRecipient, rows: Sequence[DeviceRow], parcel: Parcel
    ) -> list[Awaitable[tuple[DeliveryOutcome, PushError | None]]]:
        """Return a delivery for each way in which some of the devices are reached."""
        tries: list[Awaitable[tuple[DeliveryOutcome, PushError | None]]] = []
        service = self.phones
        if service is not None:
            plain = [
                row.plain for row in rows if row.plain is not None and row.kind in service.kinds
            ]
            if plain and parcel.notices:
                tries.append(_tried(self._deliver_plain(recipient, plain, parcel), plain))
            tries.extend(self._sealed_tries(recipient, rows, parcel))
        browsers = [row.browser for row in rows if row.browser is not None]
        if browsers:
            delivery = self.browsers.push(recipient.user_id, parcel.to_browsers, browsers)
            tries.append(_tried(delivery, browsers))
        return tries

    def _sealed_tries(
        self, recipient: PushRecipient, rows: Sequence[DeviceRow], parcel: Parcel
    ) -> list[Awaitable[tuple[DeliveryOutcome, PushError | None]]]:
        """Return a delivery for each form of encryption; none if the service supports none."""
        tries: list[Awaitable[tuple[DeliveryOutcome, PushError | None]]] = []
        if self.service.sealed is None:
            return tries
        closed = [row.sealed for row in rows if row.sealed is not None]
        clients = [row.encrypted for row in rows if row.encrypted is not None]
        if closed:
            tries.append(_tried(self._deliver_sealed(recipient, closed, parcel), closed))
        if clients:
            tries.append(_tried(self._deliver_encrypted(recipient, clients, parcel), clients))
        return tries

    async def register(self, recipient: PushRecipient, device: PlainDevice) -> bool:
        """Register the device; return False if the service refuses it, or it was removed meanwhile.

        Raises a PushError. A refused device is deleted.
        """
        try:
            await self.service.register(recipient, device)
        except PushRefusedError as error:
            logger.warning("push.device_refused", user_id=recipient.user_id, reason=str(error))
            await self._drop(recipient.user_id, [device.device_id])
            return False
        if await self.settle(recipient, device.device_id, REGISTERED):
            return True
        await self.service.unregister(recipient, device.kind, device.token)
        return False

    async def settle(
        self,
        recipient: PushRecipient,
        device_id: PushDeviceId,
        bouncer_id: int | None,
        error_code: str | None = None,
    ) -> bool:
        """Store that the device is registered, or the error. Returns False if it was removed."""
        is_there: bool = await self.services.write(
            lambda tx: settle_device(
                tx, recipient.user_id, device_id, bouncer_id=bouncer_id, error_code=error_code
            )
        )
        return is_there

    async def settle_token(
        self,
        recipient: PushRecipient,
        device_id: PushDeviceId,
        token_id: bytes,
        error_code: str | None = None,
    ) -> None:
        """Store that the bouncer has taken the token, or the error, if it is still awaited."""
        await self.services.write(
            lambda tx: settle_token(tx, recipient.user_id, device_id, token_id, error_code)
        )

    async def test(self, realm: RealmRow, row: UserRow, devices: Sequence[DeviceRow]) -> None:
        """Send a test notification to each device. Raises a PushError."""
        recipient = recipient_of(realm, row.user_id)
        to = addressee_of(realm, self.services.realm_cache.address_of(realm), row)
        notice = test_notice(to, self.services.clock.now())
        for device in (each.plain for each in devices):
            if device is None or device.kind not in self.service.kinds:
                continue
            if not await self._is_registered(recipient, device):
                raise UnknownDeviceError("the service does not take it")
            try:
                await self.service.test(recipient, to.android_base(), notice, device)
            except UnknownDeviceError:
                await self._drop(row.user_id, [device.device_id])
                raise

    async def test_sealed(
        self, realm: RealmRow, row: UserRow, devices: Sequence[DeviceRow]
    ) -> None:
        """Send an encrypted test notification to all devices at once. Raises a PushError."""
        recipient = recipient_of(realm, row.user_id)
        to = addressee_of(realm, self.services.realm_cache.address_of(realm), row)
        parcel = Parcel([], [test_to_seal(to, self.services.clock.now())])
        found = await asyncio.gather(*self._sealed_tries(recipient, devices, parcel))
        outcome = _merged(one for one, _ in found)
        await self._heed(realm, row.user_id, outcome)
        if outcome.gone | outcome.dead_tokens.keys() == {each.device_id for each in devices}:
            # Some services count requests for them as sent.
            raise UnknownDeviceError("none of the devices is there any more")
        if any(what == "sent" for _, what in outcome.counts):
            return
        errors = [error for _, error in found if error is not None]
        if errors:
            raise the_longest_wait(errors)
        if outcome.status == NOT_ALLOWED:
            raise DisallowedError("the service accepts nothing of this organization")
        raise ServiceFaultError("the service sent to none of the devices")

    async def test_browsers(
        self, realm: RealmRow, row: UserRow, devices: Sequence[DeviceRow]
    ) -> None:
        """Send a test notification to all of these browsers at once. Raises a PushError."""
        to = addressee_of(realm, self.services.realm_cache.address_of(realm), row)
        notice = test_to_browser(to, self.services.clock.now())
        browsers = [each.browser for each in devices if each.browser is not None]
        outcome = await self.browsers.push(row.user_id, [notice], browsers)
        await self._heed(realm, row.user_id, outcome)
        if outcome.gone == {device.device_id for device in browsers}:
            raise UnknownDeviceError("none of the browsers is there any more")
        if not any(what == "sent" for _, what in outcome.counts):
            raise PushRefusedError("none of the services accepts it")

    async def _deliver_plain(
        self, recipient: PushRecipient, devices: Sequence[PlainDevice], parcel: Parcel
    ) -> DeliveryOutcome:
        known = [device for device in devices if await self._is_registered(recipient, device)]
        if not known:
            return DeliveryOutcome()
        return _merged(
            [await self.service.push(recipient, notice, known) for notice in parcel.notices]
        )

    async def _deliver_sealed(
        self, recipient: PushRecipient, devices: Sequence[SealedDevice], parcel: Parcel
    ) -> DeliveryOutcome:
        service = self.service.sealed
        assert service is not None, "callers check it"

        async def push(payload: Mapping[str, Any]) -> DeliveryOutcome:
            notices = [SealedNotice(each, sealed(each.public_key, payload)) for each in devices]
            return await service.push_sealed(
                recipient.realm_uuid, notices, is_removal=parcel.is_removal
            )

        return _merged([await push(payload) for payload in parcel.to_seal])

    async def _deliver_encrypted(
        self, recipient: PushRecipient, devices: Sequence[EncryptedDevice], parcel: Parcel
    ) -> DeliveryOutcome:
        service = self.service.sealed
        assert service is not None, "callers check it"

        async def push(payload: Mapping[str, Any]) -> DeliveryOutcome:
            notices = [EncryptedNotice(each, encrypted(each.key, payload)) for each in devices]
            return await service.push_encrypted(
                recipient.realm_uuid, notices, is_removal=parcel.is_removal
            )

        return _merged([await push(payload) for payload in parcel.to_seal])

    async def _is_registered(self, recipient: PushRecipient, device: PlainDevice) -> bool:
        """Return whether the device is registered, if the service requires that."""
        if device.is_registered or not self.service.wants_registration:
            return True
        return await self.register(recipient, device)

    async def _heed(self, realm: RealmRow, user_id: UserId, outcome: DeliveryOutcome) -> None:
        for (kind, what), count in outcome.counts.items():
            self.metrics.pushed(kind, what, count)
        if outcome.gone:
            await self._drop(user_id, outcome.gone)
        dead = outcome.dead_tokens
        if dead:
            logger.info("push.tokens_forgotten", user_id=user_id, count=len(dead))
            await self.services.write(lambda tx: forget_tokens(tx, user_id, dead))
        status = outcome.status
        if status is not None and not status.is_kept_in(RealmSettings.of(realm.settings)):
            await self.services.write(lambda tx: keep_push_status(tx, status))

    async def _drop(self, user_id: UserId, device_ids: Iterable[PushDeviceId]) -> None:
        ids = list(device_ids)
        logger.info("push.devices_removed", user_id=user_id, count=len(ids))
        await self.services.write(lambda tx: drop_devices(tx, user_id, ids))


async def _tried(
    delivery: Awaitable[DeliveryOutcome], devices: Sequence[ReachedDevice]
) -> tuple[DeliveryOutcome, PushError | None]:
    """Return the outcome of a delivery to these devices, and the error if all of it failed."""
    try:
        return await delivery, None
    except DisallowedError as error:
        logger.warning("push.bouncer_refused", reason=str(error))
        return DeliveryOutcome(counts=_counts(devices, "refused"), status=NOT_ALLOWED), None
    except PushRefusedError as error:
        return DeliveryOutcome(counts=_counts(devices, "refused")), error
    except PushError as error:
        again = frozenset(device.device_id for device in devices)
        counts = _counts(devices, "later")
        outcome = DeliveryOutcome(
            again=again, again_after_seconds=error.after_seconds, counts=counts
        )
        return outcome, error


def _counts(devices: Sequence[ReachedDevice], what: str) -> Counter[tuple[str, str]]:
    return Counter((device.kind, what) for device in devices)


def _merged(outcomes: Iterable[DeliveryOutcome]) -> DeliveryOutcome:
    """Return the combined outcome, with the last of several statuses."""
    merged = DeliveryOutcome()
    for one in outcomes:
        merged = replace(
            merged,
            gone=merged.gone | one.gone,
            dead_tokens={**merged.dead_tokens, **one.dead_tokens},
            again=merged.again | one.again,
            again_after_seconds=max(merged.again_after_seconds, one.again_after_seconds),
            counts=Counter(merged.counts) + Counter(one.counts),
            status=one.status or merged.status,
        )
    return replace(merged, again=merged.again - merged.gone)
