"""The realm's event log: read after a cursor, create partitions ahead, drop old ones."""

from dataclasses import dataclass
from datetime import date

from psycopg import sql

from storage.database import Connection
from storage.ids import Position, RealmId

PARTITIONS_AHEAD_DAYS = 14


@dataclass(frozen=True, slots=True)
class LogRow:
    position: Position
    epoch: int
    kind: str
    audience: bytes
    body: bytes | None
    write_id: str


async def after(
    connection: Connection, realm_id: RealmId, *, cursor: Position, limit: int, max_bytes: int
) -> list[LogRow]:
    """Return entries above the cursor in order, at most `limit`.

    They have about `max_bytes`, but at least one is returned.
    """
    return await connection.many(
        LogRow,
        """
        SELECT position, epoch, kind, audience, body, write_id::text
          FROM (SELECT *, sum(length(body)) OVER (ORDER BY position) - coalesce(length(body), 0)
                       AS bytes_before
                  FROM (SELECT * FROM event_log
                         WHERE realm_id = %(realm_id)s AND position > %(cursor)s
                         ORDER BY position LIMIT %(limit)s) AS entries) AS measured
         WHERE coalesce(bytes_before, 0) < %(max_bytes)s
         ORDER BY position
        """,
        realm_id=realm_id,
        cursor=cursor,
        limit=limit,
        max_bytes=max_bytes,
    )


async def oldest(connection: Connection, realm_id: RealmId) -> Position | None:
    """Return the oldest position still in the log, or None if it is empty."""
    position: Position | None = await connection.value(
        "SELECT min(position) FROM event_log WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    return position


async def blank(connection: Connection, realm_id: RealmId, positions: list[Position]) -> int:
    """Remove the bodies of entries of deleted messages; return how many.

    Entries that reserve positions keep theirs: without it the log would have a gap.
    """
    return await connection.execute(
        """
        UPDATE event_log SET body = NULL
         WHERE realm_id = %(realm_id)s AND position = ANY(%(positions)s)
           AND kind <> 'positions_reserved'
        """,
        realm_id=realm_id,
        positions=positions,
    )


async def make_partitions(
    connection: Connection, *, days_ahead: int = PARTITIONS_AHEAD_DAYS
) -> int:
    """Create the partitions of the coming days; return how many were created."""
    made: int = await connection.value("SELECT event_log_partitions(%(days)s)", days=days_ahead)
    return made


async def trim(connection: Connection, *, before: date) -> list[str]:
    """Drop the partitions of days before this one; return their names.

    Call it without a transaction: a partition is detached while others read and write. A detach
    that an interrupted run left unfinished is completed first.
    """
    dropped = []
    for name, is_pending in await _partitions(connection, before=before):
        partition = sql.Identifier(name)
        how = "FINALIZE" if is_pending else "CONCURRENTLY"
        await connection.raw.execute(
            sql.SQL("ALTER TABLE event_log DETACH PARTITION {} {}").format(partition, sql.SQL(how))
        )
        await connection.raw.execute(sql.SQL("DROP TABLE {}").format(partition))
        dropped.append(name)
    return dropped


async def _partitions(connection: Connection, *, before: date) -> list[tuple[str, bool]]:
    """Return partitions of earlier days: (name, whether a detach of it was interrupted)."""
    rows = await connection.tuples(
        """
        SELECT c.relname::text, i.inhdetachpending
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
         WHERE i.inhparent = 'event_log'::regclass
           AND to_date(right(c.relname, 8), 'YYYYMMDD') < %(before)s
         ORDER BY c.relname
        """,
        before=before,
    )
    return [(name, is_pending) for name, is_pending in rows]
