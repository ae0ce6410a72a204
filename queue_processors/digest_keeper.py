"""Enqueue digests for inactive users once a week."""

from datetime import timedelta
from typing import Final

from queue_processors.periodic import now_and_then
from server.actions.digests import USERS_PER_JOB, begin_digests
from server.app import App
from server.domain.realm_settings import RealmSettings
from storage import realms
from storage.ids import RealmId

START_DELAY_SECONDS: Final = 120.0
INTERVAL_SECONDS: Final = 1800.0
FIRST_HOUR: Final = 6
"""The first hour of the day, in UTC, in which digests are enqueued."""
INACTIVE_AFTER: Final = timedelta(days=5)
"""The period without activity after which a user is inactive."""


class DigestKeeper:
    """Enqueue due digests. Instances may run concurrently: each enqueues what is missing."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def run(self) -> None:
        """Run until cancelled."""
        await now_and_then(
            self.look,
            what="ask for digests",
            seconds=INTERVAL_SECONDS,
            first_seconds=START_DELAY_SECONDS,
        )

    async def look(self) -> int:
        """Enqueue all due digests; return how many. Raises DatabaseUnavailableError."""
        now = self._app.clock.now()
        if self._app.mailer is None or now.hour < FIRST_HOUR:
            return 0
        async with self._app.database.connection() as connection:
            rows = await realms.all_of_them(connection)
        count = 0
        for realm in rows:
            settings = RealmSettings.of(realm.settings)
            if (
                settings.digest_emails_enabled
                and settings.digest_weekday == now.weekday()
                and not realm.deactivated
            ):
                count += await self._in_realm(realm.realm_id)
        return count

    async def _in_realm(self, realm_id: RealmId) -> int:
        now, writer = self._app.clock.now(), self._app.writers.of(realm_id)
        count = 0
        while True:
            asked: int = await writer.write(
                lambda tx: begin_digests(tx, now.date(), away_since=now - INACTIVE_AFTER)
            )
            count += asked
            if asked < USERS_PER_JOB:
                return count
