"""Look up writes with an unknown outcome in the log."""

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from server.events.base import LogEntry, PositionsReserved
from server.writer.pending_write import PendingWrite
from storage import clock
from storage.database import (
    Connection,
    Database,
    DatabaseUnavailableError,
    StatementTimeoutError,
)
from storage.ids import Position, RealmId

RETRY_SECONDS: Final = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses before the database is asked again after it was unavailable."""


@dataclass(frozen=True, slots=True)
class LostWrites:
    """Writes that a backend of Postgres or a sibling has, or had, without a response."""

    write_ids: list[str]
    since: Position
    """A position below all of them."""
    backends: list[int]
    """Process ids of backends to which their COMMITs were sent."""
    valid_below: Position | None
    """Position below which a sibling may write them."""

    @classmethod
    def of(cls, writes: Sequence[PendingWrite]) -> "LostWrites":
        """Describe these writes, which have statements."""
        bounds = [write.valid_below for write in writes if write.valid_below is not None]
        return cls(
            sorted({write.tx.write_id for write in writes if write.tx is not None}),
            min(write.since for write in writes),
            sorted({write.backend for write in writes if write.backend is not None}),
            max(bounds, default=None),
        )


def is_lost(write: PendingWrite) -> bool:
    """Return whether something may have been written that is to be found in the log."""
    is_sent = write.backend is not None or write.valid_below is not None
    return is_sent and write.tx is not None and bool(write.tx.steps)


async def look_up(
    database: Database, realm_id: RealmId, lost: LostWrites
) -> tuple[int, list[LogEntry]]:
    """Return the epoch, and the entries of these writes in the log. None will come later.

    For that the backends, which may not have received a COMMIT yet, are terminated, and the clock
    is advanced to where siblings find the writes stale: by one more entry.
    """
    for pause in RETRY_SECONDS:
        try:
            return await _look_up_once(database, realm_id, lost)
        except (DatabaseUnavailableError, StatementTimeoutError):
            await asyncio.sleep(pause)
    return await _look_up_once(database, realm_id, lost)


async def _look_up_once(
    database: Database, realm_id: RealmId, lost: LostWrites
) -> tuple[int, list[LogEntry]]:
    async with database.transaction() as connection:
        await clock.end_backends(connection, lost.backends)
        [(position, epoch, _)] = await connection.run(clock.lock(realm_id))
        rows = await clock.written_by(
            connection, realm_id, write_ids=lost.write_ids, since=lost.since
        )
        if lost.valid_below is not None and position < lost.valid_below:
            rows += await _pass(connection, realm_id, position, lost.valid_below)
    return epoch, [LogEntry(Position(p), k, a, b, w) for p, k, a, b, w in rows]


async def _pass(
    connection: Connection, realm_id: RealmId, position: Position, valid_below: Position
) -> list[tuple[Any, ...]]:
    """Advance the clock past a position; return the entry that reserves those in between."""
    event = PositionsReserved(count=valid_below - position)
    await connection.run(
        clock.append(
            realm_id,
            kind=event.kind,
            audience=b"",
            body=msgspec.json.encode(event),
            write_id=str(uuid.uuid4()),
            reserves=event.count,
        )
    )
    return await connection.run(clock.advance(realm_id))
