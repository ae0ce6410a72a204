"""Lets a bouncer know people's devices, and forget them."""

from dataclasses import dataclass
from typing import Final

import structlog

from queue_processors.processor import Processor, pause_after
from queue_processors.push_keeper import introducing
from server.actions.realm_services import RealmServices
from server.app import App
from server.jobs import GoneDevice, PushRegistration
from server.push.courier import Courier
from server.push.recipients import recipient_of
from server.push.service import PushRecipient, PushRefusedError, PushService
from storage import push_devices, realms
from storage.ids import PushDeviceId

logger = structlog.get_logger(__name__)

LONGEST_PAUSE_SECONDS: Final = 7_200.0
MAX_ATTEMPTS: Final = 26
"""More than a day: after that a bouncer takes no registration any more, and says so."""
CODES: Final = frozenset(
    {"INVALID_BOUNCER_PUBLIC_KEY", "INVALID_ENCRYPTED_PUSH_REGISTRATION", "REQUEST_EXPIRED"}
)
"""Why a bouncer takes no registration that is encrypted for it, as clients know it."""
ANY_OTHER: Final = "INVALID_ENCRYPTED_PUSH_REGISTRATION"


@dataclass(frozen=True, slots=True)
class Registrar:
    """Tells the courier's service of the devices of one organization."""

    courier: Courier

    @property
    def bench(self) -> RealmServices:
        return self.courier.bench

    @property
    def service(self) -> PushService:
        return self.courier.service

    async def handle(self, job: PushRegistration) -> None:
        """Do what the job says. Raises a PushError."""
        async with self.bench.read() as connection:
            realm = await realms.by_id(connection, self.bench.realm_id)
        assert realm is not None, "a realm is never removed"
        recipient = recipient_of(realm, job.user_id)
        if job.all_gone:
            await self._forget(recipient)
        if job.gone is not None:
            await self._unregister(job, recipient, job.gone)
        if job.device_id is None:
            return
        async with self.bench.read() as connection:
            row = await push_devices.by_id(
                connection, self.bench.realm_id, job.user_id, job.device_id
            )
        if row is None:
            return
        if row.plain is not None and not row.plain.is_registered:
            await self.courier.register(recipient, row.plain)
        elif row.account_id is not None and row.status == "pending":
            await self._register_sealed(job, recipient, row.account_id, job.device_id)

    async def _forget(self, recipient: PushRecipient) -> None:
        """Let the service forget all, and know again those that have come since."""
        await self.service.forget(recipient)
        async with self.bench.read() as connection:
            rows = await push_devices.of_user(connection, self.bench.realm_id, recipient.user_id)
        for row in rows:
            if row.plain is not None:
                await self.courier.register(recipient, row.plain)

    async def _register_sealed(
        self,
        job: PushRegistration,
        recipient: PushRecipient,
        account_id: int,
        device_id: PushDeviceId,
    ) -> None:
        if self.service.sealed is None:
            return
        bouncer_id, error_code = None, None
        try:
            bouncer_id = await self.service.sealed.register_sealed(
                recipient.realm_uuid,
                account_id,
                encrypted=job.registration,
                public_key=job.bouncer_key,
            )
        except PushRefusedError as error:
            logger.warning("push.device_refused", user_id=job.user_id, reason=str(error))
            error_code = error.code if error.code in CODES else ANY_OTHER
        await self.courier.settle(recipient, device_id, bouncer_id, error_code)

    async def _unregister(
        self, job: PushRegistration, recipient: PushRecipient, gone: GoneDevice
    ) -> None:
        async with self.bench.read() as connection:
            is_back = await push_devices.with_token(
                connection, self.bench.realm_id, job.user_id, gone.kind, gone.token
            )
        if is_back is None:
            await self.service.unregister(recipient, gone.kind, gone.token)


async def handle(app: App, job: PushRegistration) -> None:
    """Let the server's bouncer know; without one there is nobody to tell."""
    if app.pushes is not None and app.pushes.wants_registration:
        courier = Courier(app.realm_services(job.realm_id), app.pushes, app.metrics)
        await introducing(app, Registrar(courier).handle(job))


PROCESSOR = Processor(
    PushRegistration,
    handle,
    max_attempts=MAX_ATTEMPTS,
    pause_after=lambda attempt: pause_after(attempt, longest=LONGEST_PAUSE_SECONDS),
)
