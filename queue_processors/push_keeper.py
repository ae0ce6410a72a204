"""Maintain the push status of organizations and the registrations of devices."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Final

from queue_processors.periodic import TRANSIENT_ERRORS, now_and_then
from queue_processors.processor import RetryLaterError
from server.actions.client_devices import expire_token
from server.actions.push_devices import expire_device
from server.actions.push_status import PushStatus, keep_push_status
from server.app import App
from server.domain.realm_settings import RealmSettings
from server.push.realms import introduce
from server.push.service import NeedsOperatorError, PushError, PushRefusedError, UnknownRealmError
from storage import client_devices, push_devices, realms
from storage.realms import RealmRow

INTERVAL_SECONDS: Final = 6 * 3600.0
REGISTRATION_LIFETIME: Final = timedelta(days=1)
"""The lifetime of a registration request; bouncers refuse older ones."""
OFF: Final = PushStatus(enabled=False)


@dataclass(frozen=True, slots=True)
class PushKeeper:
    """Query the push service at start and every few hours. Instances may run concurrently."""

    app: App

    async def run(self) -> None:
        """Run until cancelled."""
        async with asyncio.TaskGroup() as group:
            for look, what in (
                (self.settle, "settle who gets push notifications"),
                (self.expire, "let registrations of phones expire"),
            ):
                group.create_task(
                    now_and_then(
                        look,
                        what=what,
                        seconds=INTERVAL_SECONDS,
                        first_seconds=0.0,
                        passing=(*TRANSIENT_ERRORS, PushError),
                    )
                )

    async def settle(self) -> None:
        """Store for each organization whether its users get push notifications.

        While the service is unavailable, its last response holds; if it refuses all requests of
        this server, no organization has push notifications. Raises a PushError in both cases.
        """
        rows = await self._realms()
        try:
            said = await self._ask(rows)
        except (NeedsOperatorError, PushRefusedError):
            await self._keep(rows, {})
            raise
        await self._keep(rows, said)

    async def expire(self) -> None:
        """Mark registrations without a response in time as failed; clients may retry them."""
        before = self.app.clock.now() - REGISTRATION_LIFETIME
        for realm in await self._realms():
            async with self.app.database.connection() as connection:
                late = await push_devices.pending_since(connection, realm.realm_id, before)
                clients = await client_devices.pending_since(connection, realm.realm_id, before)
            write = self.app.writers.of(realm.realm_id).write
            for user_id, device_id in late:
                await write(partial(expire_device, user_id=user_id, device_id=device_id))
            for user_id, device_id in clients:
                expire = partial(expire_token, user_id=user_id, device_id=device_id, before=before)
                await write(expire)

    async def _realms(self) -> list[RealmRow]:
        async with self.app.database.connection() as connection:
            return await realms.all_of_them(connection)

    async def _ask(self, rows: list[RealmRow]) -> dict[str, PushStatus]:
        return {} if self.app.pushes is None else await introduce(self.app.pushes, rows, self.app)

    async def _keep(self, rows: list[RealmRow], said: dict[str, PushStatus]) -> None:
        for row in rows:
            status = said.get(row.uuid, OFF)
            if not (row.deactivated or status.is_kept_in(RealmSettings.of(row.settings))):
                write = self.app.writers.of(row.realm_id).write
                await write(partial(keep_push_status, status=status))


async def introducing(app: App, work: Awaitable[None]) -> None:
    """Handle a job; if the service does not know the organization, register the organization.

    Raises RetryLaterError then: the retry of the job finds it registered.
    """
    try:
        await work
    except UnknownRealmError as error:
        assert app.pushes is not None, "only a service reports this"
        async with app.database.connection() as connection:
            rows = await realms.all_of_them(connection)
        await introduce(app.pushes, rows, app)
        raise RetryLaterError(str(error), after_seconds=0.0) from error
