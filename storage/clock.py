"""A realm's clock: the only writer of event_log."""

from dataclasses import dataclass
from typing import Any

from storage.database import Connection, Statement, StatementTimeoutError
from storage.ids import Position, RealmId

BEGIN = Statement("BEGIN")
COMMIT = Statement("COMMIT")
WAIT_SHORTLY = Statement("SET LOCAL lock_timeout = 10")
ENDING_MILLISECONDS = 5_000
WAIT_FOR_THE_CLOCK = Statement("SET LOCAL lock_timeout = 0")


def lock(realm_id: RealmId) -> Statement:
    """Lock the realm's clock until commit; returns (position, epoch, day)."""
    return Statement(
        "SELECT r_position, r_epoch, r_day FROM clock_lock(%(realm_id)s)", {"realm_id": realm_id}
    )


def append(
    realm_id: RealmId, *, kind: str, audience: bytes, body: bytes, write_id: str, reserves: int = 0
) -> Statement:
    """Append one entry at the next position, and return that position.

    `reserves`: the number of positions before it that are used without entries.
    """
    if reserves:
        return Statement(
            """
            SELECT append_reserving(%(realm_id)s, %(kind)s, %(body)b, %(write_id)s::uuid,
                                    %(reserves)s)
            """,
            {
                "realm_id": realm_id,
                "kind": kind,
                "body": body,
                "write_id": write_id,
                "reserves": reserves,
            },
        )
    return Statement(
        "SELECT append_entry(%(realm_id)s, %(kind)s, %(audience)b, %(body)b, %(write_id)s::uuid)",
        {
            "realm_id": realm_id,
            "kind": kind,
            "audience": audience,
            "body": body,
            "write_id": write_id,
        },
    )


def advance(realm_id: RealmId) -> Statement:
    """Advance the clock; returns (position, kind, audience, body, write_id) of each new entry."""
    return Statement(
        "SELECT r_position, r_kind, r_audience, r_body, r_write_id::text"
        " FROM clock_advance(%(realm_id)s)",
        {"realm_id": realm_id},
    )


@dataclass(frozen=True, slots=True)
class ClockRow:
    realm_id: RealmId
    position: Position
    epoch: int


async def read(connection: Connection, realm_id: RealmId) -> ClockRow | None:
    """Return the realm's clock as of the connection's snapshot."""
    return await connection.one(
        ClockRow,
        "SELECT realm_id, position, epoch FROM clocks_now(ARRAY[%(realm_id)s::bigint])",
        realm_id=realm_id,
    )


async def read_many(connection: Connection, realm_ids: list[RealmId]) -> list[ClockRow]:
    return await connection.many(
        ClockRow,
        "SELECT realm_id, position, epoch FROM clocks_now(%(realm_ids)s::bigint[])",
        realm_ids=realm_ids,
    )


async def create(connection: Connection, realm_id: RealmId) -> None:
    await connection.execute(
        "INSERT INTO realm_clock (realm_id) VALUES (%(realm_id)s)", realm_id=realm_id
    )


async def end_backends(connection: Connection, pids: list[int]) -> None:
    """Terminate these backends of Postgres, so that nothing they were sent runs later.

    Raises StatementTimeoutError if one of them does not end soon. A backend that waits for a
    standby's confirmation is left alone: ended, it would commit what no standby has.
    """
    ended = await connection.values(
        """
        SELECT CASE WHEN %(strict)s AND wait_event IS NOT DISTINCT FROM 'SyncRep' THEN false
                    ELSE pg_terminate_backend(pid, %(milliseconds)s) END
          FROM pg_stat_activity
         WHERE pid = ANY(%(pids)s) AND usename = current_user
        """,
        pids=pids,
        milliseconds=ENDING_MILLISECONDS,
        strict=connection.raw.is_strict,
    )
    if not all(ended):
        raise StatementTimeoutError("a lost connection has not ended yet")


async def written_by(
    connection: Connection, realm_id: RealmId, *, write_ids: list[str], since: Position
) -> list[tuple[Any, ...]]:
    """Return the log entries above `since` of these writes, in the form that `advance` returns."""
    return await connection.tuples(
        """
        SELECT position, kind, audience, body, write_id::text
          FROM event_log
         WHERE realm_id = %(realm_id)s AND position > %(since)s
           AND write_id = ANY(%(write_ids)s::uuid[])
         ORDER BY position
        """,
        realm_id=realm_id,
        write_ids=write_ids,
        since=since,
    )
