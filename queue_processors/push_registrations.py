"""Process the push registration queue: register devices with a bouncer, and remove them."""

import base64
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
from storage.push_devices import ClientDevice

logger = structlog.get_logger(__name__)

MAX_RETRY_DELAY_SECONDS: Final = 7_200.0
MAX_ATTEMPTS: Final = 26
"""Retries for more than a day, past which a bouncer refuses the registration."""
KNOWN_ERROR_CODES: Final = frozenset(
    {"INVALID_BOUNCER_PUBLIC_KEY", "INVALID_ENCRYPTED_PUSH_REGISTRATION", "REQUEST_EXPIRED"}
)
"""Error codes of bouncers for encrypted registrations that clients know."""
DEFAULT_ERROR_CODE: Final = "INVALID_ENCRYPTED_PUSH_REGISTRATION"
CLIENT_ERROR_CODES: Final = frozenset({"INVALID_BOUNCER_PUBLIC_KEY", "REQUEST_EXPIRED"})
"""The same for client devices."""
DEFAULT_CLIENT_ERROR_CODE: Final = "BAD_REQUEST"


@dataclass(frozen=True, slots=True)
class Registrar:
    """Register the devices of one organization with the push service."""

    courier: Courier

    @property
    def services(self) -> RealmServices:
        return self.courier.services

    @property
    def service(self) -> PushService:
        return self.courier.service

    async def handle(self, job: PushRegistration) -> None:
        """Handle a job. Raises a PushError."""
        async with self.services.read() as connection:
            realm = await realms.by_id(connection, self.services.realm_id)
        assert realm is not None, "a realm is never removed"
        recipient = recipient_of(realm, job.user_id)
        if job.all_gone:
            await self._forget(recipient)
        if job.gone is not None:
            await self._unregister(job, recipient, job.gone)
        if job.device_id is None:
            return
        async with self.services.read() as connection:
            row = await push_devices.by_id(
                connection, self.services.realm_id, job.user_id, job.device_id
            )
        if row is None:
            return
        if row.plain is not None and not row.plain.is_registered:
            await self.courier.register(recipient, row.plain)
        elif row.account_id is not None and row.status == "pending":
            await self._register_sealed(job, recipient, row.account_id, job.device_id)
        elif row.client is not None and job.token_id:
            await self._register_token(job, recipient, row.client)

    async def _forget(self, recipient: PushRecipient) -> None:
        """Remove all devices from the service, then register those that were added meanwhile."""
        await self.service.forget(recipient)
        async with self.services.read() as connection:
            rows = await push_devices.of_user(connection, self.services.realm_id, recipient.user_id)
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
            error_code = error.code if error.code in KNOWN_ERROR_CODES else DEFAULT_ERROR_CODE
        await self.courier.settle(recipient, device_id, bouncer_id, error_code)

    async def _register_token(
        self, job: PushRegistration, recipient: PushRecipient, device: ClientDevice
    ) -> None:
        """Register the token of a client device, unless it has been replaced meanwhile."""
        token_id = base64.b64decode(job.token_id)
        if self.service.sealed is None or device.pending_push_token_id != token_id:
            return
        error_code = None
        try:
            await self.service.sealed.register_token(
                recipient.realm_uuid,
                job.token_id,
                encrypted=job.registration,
                public_key=job.bouncer_key,
            )
        except PushRefusedError as error:
            logger.warning("push.device_refused", user_id=job.user_id, reason=str(error))
            is_known = error.code in CLIENT_ERROR_CODES
            error_code = error.code if is_known else DEFAULT_CLIENT_ERROR_CODE
        await self.courier.settle_token(recipient, device.device_id, token_id, error_code)

    async def _unregister(
        self, job: PushRegistration, recipient: PushRecipient, gone: GoneDevice
    ) -> None:
        async with self.services.read() as connection:
            is_back = await push_devices.with_token(
                connection, self.services.realm_id, job.user_id, gone.kind, gone.token
            )
        if is_back is None:
            await self.service.unregister(recipient, gone.kind, gone.token)


async def handle(app: App, job: PushRegistration) -> None:
    """Register with the server's bouncer; do nothing without one."""
    if app.pushes is not None and app.pushes.wants_registration:
        courier = app.courier(app.realm_services(job.realm_id))
        await introducing(app, Registrar(courier).handle(job))


PROCESSOR = Processor(
    PushRegistration,
    handle,
    max_attempts=MAX_ATTEMPTS,
    pause_after=lambda attempt: pause_after(attempt, longest=MAX_RETRY_DELAY_SECONDS),
)
