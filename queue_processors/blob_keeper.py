"""Delete unused files: uploads that no message links, and blobs without a row."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import structlog

from queue_processors.periodic import TRANSIENT_ERRORS, now_and_then
from server.actions import attachments as actions
from server.actions import imports
from server.actions.account_exports import expire_own_data
from server.actions.realm_exports import RETENTION, expire_export
from server.actions.realm_services import RealmServices
from server.app import App
from server.domain.account_exports import RETENTION as ACCOUNT_EXPORT_RETENTION
from server.domain.errors import DomainError
from storage import (
    account_exports,
    attachments,
    avatars,
    import_requests,
    realm_emoji,
    realm_exports,
    realms,
    resumable_uploads,
)
from storage.blobs import INCOMING, BlobStore, check_key
from storage.database import Database
from storage.ids import RealmId

logger = structlog.get_logger(__name__)

INTERVAL_SECONDS: Final = 6 * 3600.0
START_DELAY_SECONDS: Final = 600.0
"""The delay after start, short enough for a server that is restarted every night."""
MIN_ORPHAN_AGE: Final = timedelta(days=1)
"""The minimum age of a blob without a row, much longer than any upload takes."""
MAX_BATCH: Final = 500
KNOWN_BLOBS: Final = (
    account_exports.known_blobs,
    attachments.known_blobs,
    import_requests.known_blobs,
    realm_emoji.known_blobs,
    realm_exports.known_blobs,
    realms.known_blobs,
    resumable_uploads.known_blobs,
    avatars.known_blobs,
)
"""Callbacks that return which of the given blobs the rows of a table refer to."""


class BlobKeeper:
    """Run the clean-up of files a few times a day. Instances may run concurrently."""

    def __init__(
        self,
        database: Database,
        blobs: BlobStore,
        realm_services: Callable[[RealmId], RealmServices],
        now: Callable[[], datetime],
        *,
        first_look_seconds: float = START_DELAY_SECONDS,
    ) -> None:
        self._database = database
        self._blobs = blobs
        self._services_of = realm_services
        self._now = now
        self._first_look_seconds = first_look_seconds

    @classmethod
    def of(cls, app: App, *, first_look_seconds: float = START_DELAY_SECONDS) -> "BlobKeeper":
        return cls(
            app.database,
            app.blobs,
            app.realm_services,
            app.clock.now,
            first_look_seconds=first_look_seconds,
        )

    async def run(self) -> None:
        """Run until cancelled."""
        await now_and_then(
            self.tidy,
            what="tidy the files",
            seconds=INTERVAL_SECONDS,
            first_seconds=self._first_look_seconds,
            passing=(*TRANSIENT_ERRORS, OSError, DomainError),
        )

    async def tidy(self) -> None:
        """Delete expired unlinked uploads, then blobs of the store without a row."""
        before = self._now() - actions.ORPHAN_RETENTION
        async with self._database.connection() as connection:
            realm_ids = await realms.ids(connection)
        for realm_id in realm_ids:
            await self._delete_orphans(realm_id, before)
            await self._end_uploads(realm_id)
            await self._expire_exports(realm_id)
            await self._expire_account_exports(realm_id)
            await self._expire_imports(realm_id)
        await self._delete_strays()

    async def _expire_exports(self, realm_id: RealmId) -> None:
        now = self._now()
        async with self._database.connection() as connection:
            old = await realm_exports.too_old(connection, realm_id, before=now - RETENTION)
        for export_id in old:
            await self._services_of(realm_id).write(
                partial(expire_export, export_id=export_id, now=now)
            )

    async def _expire_account_exports(self, realm_id: RealmId) -> None:
        now = self._now()
        before = now - ACCOUNT_EXPORT_RETENTION
        async with self._database.connection() as connection:
            old = await account_exports.too_old(connection, realm_id, before=before)
            await account_exports.forget(connection, realm_id, before=before)
        for export_id in old:
            await self._services_of(realm_id).write(
                partial(expire_own_data, export_id=export_id, now=now)
            )

    async def _expire_imports(self, realm_id: RealmId) -> None:
        before = self._now() - imports.RETENTION
        async with self._database.connection() as connection:
            old = await import_requests.ended_before(connection, realm_id, before)
        for request_id in old:
            await self._services_of(realm_id).write(
                partial(imports.expire, request_id=request_id, before=before)
            )

    async def _delete_orphans(self, realm_id: RealmId, before: datetime) -> None:
        services = self._services_of(realm_id)
        while True:
            async with self._database.connection() as connection:
                rows = await attachments.orphans(
                    connection, realm_id, before=before, limit=MAX_BATCH
                )
            for row in rows:
                went = await services.write(partial(actions.delete_orphan, row=row, before=before))
                if went is not None and went.result:
                    for key in actions.blob_keys(row):
                        await self._blobs.delete(key)
            if len(rows) < MAX_BATCH:
                return

    async def _end_uploads(self, realm_id: RealmId) -> None:
        """Delete expired resumable uploads; their parts become blobs without a row."""
        async with self._database.connection() as connection:
            while expired := await resumable_uploads.expired(
                connection, realm_id, now=self._now(), limit=MAX_BATCH
            ):
                for upload_id in expired:
                    await resumable_uploads.delete(connection, realm_id, upload_id)

    async def _delete_strays(self) -> None:
        oldest = (self._now() - MIN_ORPHAN_AGE).timestamp()
        found: list[str] = []
        async for blob in self._blobs.kept():
            if blob.written_at < oldest:
                found.append(blob.key)
            if len(found) == MAX_BATCH:
                await self._delete_unknown(found)
                found = []
        await self._delete_unknown(found)

    async def _delete_unknown(self, keys: Sequence[str]) -> None:
        for key in [*_unfinished(keys), *await self._unknown(keys)]:
            await self._blobs.delete(key)
            logger.info("blobs.orphan_removed", key=key)

    async def _unknown(self, keys: Sequence[str]) -> list[str]:
        by_realm: dict[RealmId, list[str]] = {}
        for key in keys:
            if _is_key(key):
                by_realm.setdefault(RealmId(int(key.split("/")[1])), []).append(key)
        known: set[str] = set()
        async with self._database.connection() as connection:
            for realm_id, those in by_realm.items():
                for known_blobs in KNOWN_BLOBS:
                    known.update(await known_blobs(connection, realm_id, those))
        return [key for those in by_realm.values() for key in those if key not in known]


def _unfinished(keys: Sequence[str]) -> list[str]:
    return [key for key in keys if key.startswith(f"{INCOMING}/")]


def _is_key(key: str) -> bool:
    try:
        check_key(key)
    except ValueError:
        return False
    return True
