"""Cache of older pages of a realm's log, read from Postgres and shared by polls."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter

from server.events.base import LogEntry
from server.realtime.variants import TailEntry
from storage import event_log
from storage.database import Database
from storage.ids import Position, RealmId

PAGE_ENTRIES = 500
PAGE_BYTES = 1024 * 1024
CACHE_BYTES = 4 * 1024 * 1024
"""Maximum size of the cached pages of a realm."""

_position = attrgetter("position")


class LogPage:
    """Consecutive entries of the log after `cursor`."""

    def __init__(self, cursor: Position, entries: Sequence[TailEntry]) -> None:
        self.cursor = cursor
        self.entries = entries
        self.reached = entries[-1].position if entries else cursor
        self.size = sum(entry.size for entry in entries)

    def holds_after(self, cursor: Position) -> bool:
        return self.cursor <= cursor < self.reached

    def after(self, cursor: Position) -> Sequence[TailEntry]:
        return self.entries[bisect_right(self.entries, cursor, key=_position) :]


class LogPageCache:
    """Pages for polls that are behind the tail: concurrent polls share one read.

    Pages begin at rounded positions, so that polls which are about as far behind use the same one,
    during the read and for a while after. Memory is bounded by `CACHE_BYTES`, or one page.
    """

    def __init__(self, database: Database, realm_id: RealmId) -> None:
        self._database = database
        self._realm_id = realm_id
        self._pages: dict[Position, LogPage] = {}
        """By cursor, the most recently used last."""
        self._reading: dict[Position, asyncio.Task[LogPage]] = {}
        """Reads that new polls may share."""
        self._in_progress: set[asyncio.Task[LogPage]] = set()
        """All reads in progress."""
        self._blanked_meanwhile: set[Position] = set()

    async def after(self, cursor: Position) -> Sequence[TailEntry]:
        """Return some of the entries after the cursor, in order; empty if there are none.

        Raises DatabaseUnavailableError.
        """
        page = self._find(cursor) or await self._read(self._shared_start(cursor))
        if not page.holds_after(cursor):  # its entries are large, or it starts too early
            page = await self._read(cursor)
        return page.after(cursor)

    def blank(self, positions: Iterable[Position]) -> None:
        """Drop the bodies of these entries, also from reads in progress."""
        wanted = set(positions)
        if self._in_progress:
            self._blanked_meanwhile |= wanted
        for page in self._pages.values() if wanted else ():
            _blank(page.entries, wanted)

    def clear(self) -> None:
        """Empty the cache."""
        self._pages.clear()
        self._reading.clear()

    def _shared_start(self, cursor: Position) -> Position:
        """A start that polls share: a rounded position, or the end of the page read from it."""
        start = Position(cursor - cursor % PAGE_ENTRIES)
        while start in self._pages and self._pages[start].reached <= cursor:
            start = self._pages[start].reached
        return start

    def _find(self, cursor: Position) -> LogPage | None:
        for page in self._pages.values():
            if page.holds_after(cursor):
                self._keep(page)
                return page
        return None

    def _keep(self, page: LogPage) -> None:
        self._pages.pop(page.cursor, None)
        self._pages[page.cursor] = page
        size = sum(each.size for each in self._pages.values())
        while size > CACHE_BYTES and len(self._pages) > 1:
            size -= self._pages.pop(next(iter(self._pages))).size

    async def _read(self, cursor: Position) -> LogPage:
        """Return the page after the cursor; concurrent calls share one read."""
        reading = self._reading.get(cursor)
        if reading is None:
            reading = asyncio.create_task(self._read_from_the_log(cursor))
            self._reading[cursor] = reading
            self._in_progress.add(reading)
            reading.add_done_callback(lambda done: self._have_read(cursor, done))
        return await asyncio.shield(reading)  # cancelling one caller must not cancel the read

    async def _read_from_the_log(self, cursor: Position) -> LogPage:
        async with self._database.connection() as connection:
            rows = await event_log.after(
                connection,
                self._realm_id,
                cursor=cursor,
                limit=PAGE_ENTRIES,
                max_bytes=PAGE_BYTES,
            )
        return LogPage(
            cursor,
            [TailEntry(LogEntry(row.position, row.kind, row.audience, row.body)) for row in rows],
        )

    def _have_read(self, cursor: Position, reading: asyncio.Task[LogPage]) -> None:
        """Runs before the waiting polls resume."""
        read = not reading.cancelled() and reading.exception() is None
        if read:
            _blank(reading.result().entries, self._blanked_meanwhile)
        if self._reading.get(cursor) is reading:
            del self._reading[cursor]
            if read and reading.result().entries:
                self._keep(reading.result())
        self._in_progress.discard(reading)
        if not self._in_progress:
            self._blanked_meanwhile.clear()


def _blank(entries: Iterable[TailEntry], positions: set[Position]) -> None:
    for entry in entries if positions else ():
        if entry.position in positions:
            entry.blank()
