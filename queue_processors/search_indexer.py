"""Index new and edited messages for search, a moment after their commit."""

from typing import Final

import structlog

from queue_processors.periodic import TRANSIENT_ERRORS, now_and_then
from server.domain.realm_settings import RealmSettings
from server.domain.search import language_of
from storage import search
from storage.database import Database
from storage.search import Behind

logger = structlog.get_logger(__name__)

POLL_INTERVAL_SECONDS: Final = 1.0
"""The interval between polls. Searches scan messages that are not indexed yet."""
MAX_BATCH: Final = 100
"""The maximum batch of a statement, some hundredths of a second of the database's time."""


class SearchIndexer:
    """Index the messages of all realms. Instances may run concurrently: each locks its realm."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Run until cancelled."""
        await now_and_then(self.catch_up, what="index messages", seconds=POLL_INTERVAL_SECONDS)

    async def catch_up(self) -> None:
        """Index all new messages. An error in one realm does not hold up the others."""
        async with self._database.connection() as connection:
            behind = await search.lagging(connection)
        for realm in behind:
            try:
                await self._in_realm(realm)
            except TRANSIENT_ERRORS:
                raise
            except Exception:
                logger.exception("search_index.failed", realm_id=realm.realm_id)

    async def _in_realm(self, realm: Behind) -> None:
        language = language_of(realm.language or RealmSettings().default_language)
        has_more = True
        while has_more:
            async with self._database.transaction() as connection:
                has_more = await search.index_some(
                    connection, realm.realm_id, language, limit=MAX_BATCH
                )
