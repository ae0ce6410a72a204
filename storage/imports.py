"""Imports: their progress, the keys of their records, and bulk inserts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from storage.database import Connection, Locking, Statement
from storage.ids import (
    Position,
    RealmId,
)

ABANDONED: Final = "abandoned"
"""Phase of an import that has ended before all of it came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRow:
    import_id: int
    source: str
    options: dict[str, Any]
    phase: str
    done: int
    """Progress within the phase."""
    total: int
    """Number of messages."""
    first_position: Position
    """The position below those of its messages."""
    report: dict[str, Any]
    ended_at: datetime | None


async def insert(
    connection: Connection,
    realm_id: RealmId,
    row: ImportRow,
    *,
    fingerprint: bytes,
    now: datetime,
) -> int:
    """Insert an import that begins now; return its id. The row's own id is ignored."""
    import_id: int = await connection.value(
        """
        INSERT INTO imports (realm_id, source, fingerprint, options, phase, done, total,
                             first_position, report, started_at)
        VALUES (%(realm_id)s, %(source)s, %(fingerprint)b, %(options)s, %(phase)s, %(done)s,
                %(total)s, %(first_position)s, %(report)s, %(now)s)
        RETURNING import_id
        """,
        realm_id=realm_id,
        source=row.source,
        fingerprint=fingerprint,
        options=connection.json(row.options),
        phase=row.phase,
        done=row.done,
        total=row.total,
        first_position=row.first_position,
        report=connection.json(row.report),
        now=now,
    )
    return import_id


async def by_id(connection: Connection, realm_id: RealmId, import_id: int) -> ImportRow | None:
    """Return the import as it is now."""
    return await connection.one(
        ImportRow,
        """
        SELECT import_id, source, options, phase, done, total, first_position, report, ended_at
          FROM imports WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
        """,
        realm_id=realm_id,
        import_id=import_id,
    )


async def of_file(
    connection: Connection, realm_id: RealmId, fingerprint: bytes
) -> ImportRow | None:
    """Return the import of this file into the realm, if it was begun and not abandoned."""
    return await connection.one(
        ImportRow,
        """
        SELECT import_id, source, options, phase, done, total, first_position, report, ended_at
          FROM imports
         WHERE realm_id = %(realm_id)s AND fingerprint = %(fingerprint)b
           AND phase <> %(abandoned)s
         ORDER BY import_id DESC LIMIT 1
        """,
        realm_id=realm_id,
        fingerprint=fingerprint,
        abandoned=ABANDONED,
    )


def advance(
    realm_id: RealmId,
    row: ImportRow,
    *,
    phase: str,
    done: int,
    report: Mapping[str, Any],
    ended_at: datetime | None = None,
) -> Statement:
    """Record progress since `row`; returns a row unless another process has done so meanwhile."""
    return Statement(
        """
        UPDATE imports SET phase = %(phase)s, done = %(done)s, report = %(report)s,
                           ended_at = %(ended_at)s
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
           AND phase = %(old_phase)s AND done = %(old_done)s AND ended_at IS NULL
        RETURNING import_id
        """,
        {
            "realm_id": realm_id,
            "import_id": row.import_id,
            "phase": phase,
            "done": done,
            "report": Connection.json(report),
            "ended_at": ended_at,
            "old_phase": row.phase,
            "old_done": row.done,
        },
    )


async def set_report(
    connection: Connection, realm_id: RealmId, import_id: int, report: Mapping[str, Any]
) -> None:
    await connection.execute(
        """
        UPDATE imports SET report = %(report)s
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
        """,
        realm_id=realm_id,
        import_id=import_id,
        report=connection.json(report),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfinishedImportRow:
    """An import that has not ended, which keeps others from beginning."""

    import_id: int
    source: str
    fingerprint: bytes
    phase: str
    done: int
    total: int
    first_position: Position
    report: dict[str, Any]
    started_at: datetime


_UNFINISHED: LiteralString = """
    SELECT import_id, source, fingerprint, phase, done, total, first_position, report, started_at
      FROM imports WHERE realm_id = %(realm_id)s AND ended_at IS NULL"""


async def unfinished(connection: Connection, realm_id: RealmId) -> UnfinishedImportRow | None:
    """Return the import into the realm that has not ended; there is at most one."""
    return await connection.one(UnfinishedImportRow, _UNFINISHED, realm_id=realm_id)


def locking_unfinished(realm_id: RealmId) -> Locking[UnfinishedImportRow]:
    """Return the query that locks the import that has not ended: it makes no progress meanwhile."""
    return Locking(UnfinishedImportRow, _UNFINISHED, {"realm_id": realm_id}, expected=1)


def abandon(
    realm_id: RealmId, import_id: int, *, report: Mapping[str, Any], ended_at: datetime
) -> Statement:
    """End a locked import before all of it came."""
    return Statement(
        """
        UPDATE imports
           SET phase = %(phase)s, done = 0, report = %(report)s, ended_at = %(ended_at)s
         WHERE realm_id = %(realm_id)s AND import_id = %(import_id)s
        """,
        {
            "realm_id": realm_id,
            "import_id": import_id,
            "phase": ABANDONED,
            "report": Connection.json(report),
            "ended_at": ended_at,
        },
    )
