"""A realm's log before the tail, read from Postgres in stretches that polls share."""

import asyncio
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from operator import attrgetter

from server.events.base import LogEntry
from server.realtime.variants import TailEntry
from storage import event_log
from storage.database import Database
from storage.ids import Position, RealmId

STRETCH_ENTRIES = 500
STRETCH_BYTES = 1024 * 1024
PAST_BYTES = 4 * 1024 * 1024
"""How much of a realm's past a process remembers for those who ask next."""

_position = attrgetter("position")


class LogPage:
    """Entries of the log, every one above `cursor` and up to the last of them."""

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
    """What polls behind the tail read; those of a herd share what one of them reads.

    A stretch begins where anybody's would who is about as far behind, so it serves them all, while
    it is read and for a while after. Memory is bounded by `PAST_BYTES`, or one stretch.
    """

    def __init__(self, database: Database, realm_id: RealmId) -> None:
        self._database = database
        self._realm_id = realm_id
        self._stretches: dict[Position, LogPage] = {}
        """By their cursor; those used last at the end."""
        self._reading: dict[Position, asyncio.Task[LogPage]] = {}
        """Those that whoever asks now may share."""
        self._under_way: set[asyncio.Task[LogPage]] = set()
        """All for which somebody waits."""
        self._blanked_meanwhile: set[Position] = set()

    async def after(self, cursor: Position) -> Sequence[TailEntry]:
        """Some of the entries that follow the cursor, in order; none if there are none.

        Raises DatabaseUnavailableError.
        """
        stretch = self._find(cursor) or await self._read(self._shared_start(cursor))
        if not stretch.holds_after(cursor):  # its entries are large, or it was begun too early
            stretch = await self._read(cursor)
        return stretch.after(cursor)

    def blank(self, positions: Iterable[Position]) -> None:
        """Forget the bodies of these entries, and of what is being read."""
        wanted = set(positions)
        if self._under_way:
            self._blanked_meanwhile |= wanted
        for stretch in self._stretches.values() if wanted else ():
            _blank(stretch.entries, wanted)

    def clear(self) -> None:
        """Forget everything: nobody has asked for a while, or it did not happen."""
        self._stretches.clear()
        self._reading.clear()

    def _shared_start(self, cursor: Position) -> Position:
        """Where others begin too: at a round position, or at the end of what was read from it."""
        start = Position(cursor - cursor % STRETCH_ENTRIES)
        while start in self._stretches and self._stretches[start].reached <= cursor:
            start = self._stretches[start].reached
        return start

    def _find(self, cursor: Position) -> LogPage | None:
        for stretch in self._stretches.values():
            if stretch.holds_after(cursor):
                self._keep(stretch)
                return stretch
        return None

    def _keep(self, stretch: LogPage) -> None:
        self._stretches.pop(stretch.cursor, None)
        self._stretches[stretch.cursor] = stretch
        size = sum(each.size for each in self._stretches.values())
        while size > PAST_BYTES and len(self._stretches) > 1:
            size -= self._stretches.pop(next(iter(self._stretches))).size

    async def _read(self, cursor: Position) -> LogPage:
        """What follows the cursor; read once for all who ask while it is read."""
        reading = self._reading.get(cursor)
        if reading is None:
            reading = asyncio.create_task(self._read_from_the_log(cursor))
            self._reading[cursor] = reading
            self._under_way.add(reading)
            reading.add_done_callback(lambda done: self._have_read(cursor, done))
        return await asyncio.shield(reading)  # whoever began may go; others wait for it

    async def _read_from_the_log(self, cursor: Position) -> LogPage:
        async with self._database.connection() as connection:
            rows = await event_log.after(
                connection,
                self._realm_id,
                cursor=cursor,
                limit=STRETCH_ENTRIES,
                max_bytes=STRETCH_BYTES,
            )
        return LogPage(
            cursor,
            [TailEntry(LogEntry(row.position, row.kind, row.audience, row.body)) for row in rows],
        )

    def _have_read(self, cursor: Position, reading: asyncio.Task[LogPage]) -> None:
        """Runs before anybody who waits goes on."""
        read = not reading.cancelled() and reading.exception() is None
        if read:
            _blank(reading.result().entries, self._blanked_meanwhile)
        if self._reading.get(cursor) is reading:
            del self._reading[cursor]
            if read and reading.result().entries:
                self._keep(reading.result())
        self._under_way.discard(reading)
        if not self._under_way:
            self._blanked_meanwhile.clear()


def _blank(entries: Iterable[TailEntry], positions: set[Position]) -> None:
    for entry in entries if positions else ():
        if entry.position in positions:
            entry.blank()
