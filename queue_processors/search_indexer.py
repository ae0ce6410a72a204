"""Brings new and edited messages into the search index, a moment after they are written."""

from typing import Final

import structlog

from queue_processors.periodic import PASSING, now_and_then
from server.domain.realm_settings import RealmSettings
from server.domain.search import language_of
from storage import search
from storage.database import Database
from storage.search import Behind

logger = structlog.get_logger(__name__)

LOOK_SECONDS: Final = 1.0
"""Until then searches look into new messages themselves: waiting costs them a little."""
MESSAGES_AT_ONCE: Final = 100
"""In one statement, which takes a processor of the database a few hundredths of a second."""


class SearchIndexer:
    """Several may run: each realm is worked on by one of them at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self) -> None:
        """Work until cancelled."""
        await now_and_then(self.catch_up, what="index messages", seconds=LOOK_SECONDS)

    async def catch_up(self) -> None:
        """Index all that there is. What cannot be indexed of one realm holds up no other."""
        async with self._database.connection() as connection:
            behind = await search.lagging(connection)
        for realm in behind:
            try:
                await self._in_realm(realm)
            except PASSING:
                raise
            except Exception:
                logger.exception("search_index.failed", realm_id=realm.realm_id)

    async def _in_realm(self, realm: Behind) -> None:
        language = language_of(realm.language or RealmSettings().default_language)
        has_more = True
        while has_more:
            async with self._database.transaction() as connection:
                has_more = await search.index_some(
                    connection, realm.realm_id, language, limit=MESSAGES_AT_ONCE
                )
