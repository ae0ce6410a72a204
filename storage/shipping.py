"""Cursors of the job shipper in each realm's log, and the election of the shipper."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import date
from typing import LiteralString

from storage import jobs
from storage.database import Connection, Database
from storage.ids import Position, RealmId

LOCK_CLASS = 0x5041_0001  # of advisory locks: the first of Parley's own
LEADER_SILENCE_SECONDS = 10
STANDBY_SECONDS = 0.5
"""Delay between attempts of a standby shipper to take the lock of its shard."""


@dataclass(frozen=True, slots=True)
class CursorRow:
    """The shipper's cursor: the realm's log is shipped up to `position`. Epoch 0: never."""

    realm_id: RealmId
    position: Position
    epoch: int


@dataclass(frozen=True, slots=True)
class LaggingRow:
    """A realm with unshipped entries: its cursor and its clock."""

    realm_id: RealmId
    position: Position
    epoch: int
    clock_position: Position
    clock_epoch: int

    @property
    def cursor(self) -> CursorRow:
        return CursorRow(self.realm_id, self.position, self.epoch)

    @property
    def caught_up(self) -> CursorRow:
        """Return the cursor for when no entry is left up to that clock."""
        return CursorRow(self.realm_id, self.clock_position, self.clock_epoch)


@dataclass(frozen=True, slots=True)
class ShippableRow:
    """A log entry that may become jobs."""

    position: Position
    epoch: int
    kind: str
    body: bytes
    audience: bytes = b""


@asynccontextmanager
async def leading(
    database: Database, shard: int, *, silence_seconds: int = LEADER_SILENCE_SECONDS
) -> AsyncIterator[Connection]:
    """Wait to become the shard's only shipper; yield the connection that holds the lock.

    It bypasses every pooler. A leader on a host that vanishes, or that is silent on it for
    `silence_seconds`, is disconnected by Postgres, and the next in line takes over.
    """
    async with database.direct("shipper lock") as raw:
        connection = Connection(raw)
        await _locked(connection, shard)
        await connection.execute(
            """
            SELECT set_config('idle_session_timeout', %(silence)s, false),
                   set_config('idle_in_transaction_session_timeout', %(silence)s, false),
                   set_config('tcp_keepalives_idle', %(seconds)s, false),
                   set_config('tcp_keepalives_interval', '2', false),
                   set_config('tcp_keepalives_count', '3', false)
            """,
            silence=f"{silence_seconds}s",
            seconds=str(silence_seconds),
        )
        yield connection


async def _locked(connection: Connection, shard: int) -> None:
    """Take the advisory lock of the shard; retry until it is free.

    A statement that waited for the lock would hold a snapshot for as long, and VACUUM would remove
    nothing in the whole database meanwhile.
    """
    attempt: LiteralString = "SELECT pg_try_advisory_lock(%(lock_class)s, %(shard)s)"
    while True:
        if await connection.value(attempt, lock_class=LOCK_CLASS, shard=shard):
            return
        await asyncio.sleep(STANDBY_SECONDS * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load


async def lagging(
    connection: Connection, *, shard: int, shards: int, limit: int
) -> list[LaggingRow]:
    """Return the shard's realms with a clock past their cursor, furthest behind first."""
    return await connection.many(
        LaggingRow,
        """
        SELECT c.realm_id, coalesce(s.position, 0) AS position, coalesce(s.epoch, 0) AS epoch,
               c.position AS clock_position, c.epoch AS clock_epoch
          FROM clocks_now(ARRAY(
                   SELECT r.realm_id FROM realms r WHERE r.realm_id %% %(shards)s = %(shard)s)) c
          LEFT JOIN shipper_cursors s USING (realm_id)
         WHERE c.position > coalesce(s.position, 0)
         ORDER BY c.position - coalesce(s.position, 0) DESC
         LIMIT %(limit)s
        """,
        shard=shard,
        shards=shards,
        limit=limit,
    )


async def entries_between(
    connection: Connection,
    after: CursorRow,
    until: CursorRow,
    *,
    kinds: Sequence[str],
    without_body: Sequence[str] = (),
    limit: int,
) -> list[ShippableRow]:
    """Return the first `limit` entries of these kinds between two cursors, in order.

    Exact, whatever the epochs, as long as the clock has been seen at `until`: positions become
    visible in order. Entries with a removed body are left out; the bodies of kinds
    `without_body` are, too.
    """
    return await connection.many(
        ShippableRow,
        """
        SELECT position, epoch, kind, audience,
               CASE WHEN kind = ANY(%(without_body)s::text[]) THEN ''::bytea ELSE body END AS body
          FROM event_log
         WHERE realm_id = %(realm_id)s AND position > %(after)s AND position <= %(until)s
           AND kind = ANY(%(kinds)s) AND body IS NOT NULL
         ORDER BY position
         LIMIT %(limit)s
        """,
        realm_id=after.realm_id,
        after=after.position,
        until=until.position,
        kinds=list(kinds),
        without_body=list(without_body),
        limit=limit,
    )


async def move(connection: Connection, old: CursorRow, new: CursorRow) -> bool:
    """Move the realm's cursor. Return False, with nothing moved, if it is not at `old` any more."""
    moved = await connection.execute(
        """
        INSERT INTO shipper_cursors AS mine (realm_id, position, epoch)
        SELECT %(realm_id)s, %(position)s, %(epoch)s
         WHERE %(old_epoch)s = 0 OR EXISTS (
               SELECT FROM shipper_cursors WHERE realm_id = %(realm_id)s)
            ON CONFLICT (realm_id)
            DO UPDATE SET position = excluded.position, epoch = excluded.epoch
         WHERE mine.position = %(old_position)s AND mine.epoch = %(old_epoch)s
        """,
        realm_id=old.realm_id,
        position=new.position,
        epoch=new.epoch,
        old_position=old.position,
        old_epoch=old.epoch,
    )
    return moved == 1


async def move_with_jobs(
    connection: Connection, old: CursorRow, new: CursorRow, new_jobs: Sequence[jobs.NewJob]
) -> bool:
    """Move the cursor and insert the jobs, both or neither.

    Return False for neither.
    """
    async with connection.raw.transaction():
        moved = await move(connection, old, new)
        if moved:
            await jobs.insert(connection, new_jobs)
    return moved


async def needed_since(connection: Connection) -> date | None:
    """Return the first day of the log with unshipped entries; None if there are none."""
    day: date | None = await connection.value(
        """
        SELECT min(next.day)
          FROM clocks_now(ARRAY(SELECT r.realm_id FROM realms r)) c
          LEFT JOIN shipper_cursors s USING (realm_id)
         CROSS JOIN LATERAL (
               SELECT l.day FROM event_log l
                WHERE l.realm_id = c.realm_id AND l.position > coalesce(s.position, 0)
                ORDER BY l.position LIMIT 1) AS next
         WHERE c.position > coalesce(s.position, 0)
        """
    )
    return day
