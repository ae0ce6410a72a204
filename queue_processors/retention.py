"""Delete messages past their retention period, and at last their archived copies."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Final

import structlog

from queue_processors.periodic import now_and_then
from server.actions.attachments import drop_released_files
from server.actions.messages.expire import expire
from server.actions.realm_services import RealmServices
from server.domain.clock import Clock
from server.domain.realm_settings import RealmSettings
from server.events.message_changes import MAX_GONE
from storage import legal_holds, realms, retention
from storage.database import Database, DatabaseUnavailableError
from storage.ids import RealmId
from storage.realms import RealmRow
from storage.retention import Expired

logger = structlog.get_logger(__name__)

START_DELAY_SECONDS: Final = 60.0
INTERVAL_SECONDS: Final = 3600.0
BATCH_PAUSE_SECONDS: Final = 0.1
"""The pause between batches of at most MAX_GONE deletions, which lets other writes go first."""
MAX_BATCH: Final = 1_000


class RetentionKeeper:
    """Run soon after start, then once an hour. Instances may run concurrently."""

    def __init__(
        self,
        database: Database,
        realm_services: Callable[[RealmId], RealmServices],
        clock: Clock,
        *,
        kept_aside: timedelta,
        pause_seconds: float = BATCH_PAUSE_SECONDS,
    ) -> None:
        self._database = database
        self._services_of = realm_services
        self._clock = clock
        self._kept_aside = kept_aside
        self._pause_seconds = pause_seconds

    async def run(self) -> None:
        """Run until cancelled. A batch in progress is finished."""
        await now_and_then(
            self.tidy,
            what="delete old messages",
            seconds=INTERVAL_SECONDS,
            first_seconds=START_DELAY_SECONDS,
        )

    async def tidy(self) -> int:
        """Delete all expired messages; return how many. Deactivated organizations are skipped.

        An error in one organization does not hold up the others. Raises DatabaseUnavailableError.
        """
        async with self._database.connection() as connection:
            rows = [row for row in await realms.all_of_them(connection) if not row.deactivated]
        total = 0
        for realm in rows:
            count = 0
            try:
                count = await self._in_realm(realm)
                await self._drop_released(realm.realm_id)
            except DatabaseUnavailableError:
                raise
            except Exception:
                logger.exception("retention.failed", realm_id=realm.realm_id)
            if count:
                logger.info("retention.messages_deleted", realm_id=realm.realm_id, count=count)
            total += count
        await self._forget()
        return total

    async def _in_realm(self, realm: RealmRow) -> int:
        now, total = self._clock.now(), 0
        days = RealmSettings.of(realm.settings).message_retention_days
        services = self._services_of(realm.realm_id)
        # They have changed since, or cannot be deleted now: in an hour they are looked at again.
        left: list[int] = []
        while found := await self._found(realm.realm_id, days, now, left):
            for each in found:
                done = await self._expire(services, each, now)
                if not done:
                    left.append(each.conversation_id)
                total += done
                await asyncio.sleep(self._pause_seconds)
        return total

    async def _expire(self, services: RealmServices, found: Expired, now: datetime) -> int:
        try:
            count: int = await services.write(lambda tx: expire(tx, found, now))
        except DatabaseUnavailableError:
            raise
        except Exception:
            logger.exception(
                "retention.failed",
                realm_id=services.realm_id,
                channel_id=found.channel_id,
                conversation_id=found.conversation_id,
            )
            return 0
        return count

    async def _found(
        self, realm_id: RealmId, days: int, now: datetime, left: Sequence[int]
    ) -> Sequence[Expired]:
        async with self._database.connection() as connection:
            found = await retention.in_channels(
                connection, realm_id, realm_days=days, now=now, limit=MAX_GONE, without=left
            )
            if days > 0:
                before = now - timedelta(days=days)
                found += await retention.directly(
                    connection, realm_id, before=before, limit=MAX_GONE, without=left
                )
        return found

    async def _drop_released(self, realm_id: RealmId) -> None:
        """Delete for good what only released legal holds have kept."""
        count = MAX_BATCH
        while count == MAX_BATCH:
            async with self._database.connection() as connection:
                count = await legal_holds.drop_released_messages(
                    connection, realm_id, limit=MAX_BATCH
                )
            await asyncio.sleep(self._pause_seconds)
        services, count = self._services_of(realm_id), MAX_GONE
        async with self._database.connection() as connection:
            if not await legal_holds.has_kept_files(connection, realm_id):
                return
        while count == MAX_GONE:
            count = await services.write(lambda tx: drop_released_files(tx, limit=MAX_GONE))

    async def _forget(self) -> None:
        before = self._clock.now() - self._kept_aside
        count = MAX_BATCH
        while count == MAX_BATCH:
            async with self._database.connection() as connection:
                count = await retention.forget(connection, before=before, limit=MAX_BATCH)
            await asyncio.sleep(self._pause_seconds)
