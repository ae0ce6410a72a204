"""Load of the database: what it executes now, and how far the organizations have come."""

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg import errors

from storage.database import Connection


@dataclass(frozen=True, slots=True)
class RunningStatement:
    """A statement that a backend executes."""

    connection: str
    """Name of the connection (`application_name`)."""
    seconds: float
    waits_for: str
    """What the backend waits for, such as `Lock: transactionid`; empty if for nothing."""
    statement: str


@dataclass(frozen=True, slots=True)
class MeasuredStatement:
    """Totals of a statement since Postgres' statistics were reset."""

    calls: int
    mean_ms: float
    total_seconds: float
    statement: str


@dataclass(frozen=True, slots=True)
class RealmProgress:
    """How far an organization has come, and how many clients follow it."""

    realm_id: int
    name: str
    position: int
    """Of its newest event: a difference of two is the number of events between."""
    event_queues: int


async def running_statements(connection: Connection, *, limit: int) -> list[RunningStatement]:
    """Return statements of this database that run, longest first, without this one."""
    return await connection.many(
        RunningStatement,
        """
        SELECT coalesce(application_name, '') AS connection,
               greatest(extract(epoch FROM clock_timestamp() - query_start), 0)::float8 AS seconds,
               coalesce(wait_event_type || ': ' || wait_event, '') AS waits_for,
               query AS statement
          FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend' AND state = 'active' AND query_start IS NOT NULL
         ORDER BY query_start
         LIMIT %(limit)s
        """,
        limit=limit,
    )


async def slowest_statements(
    connection: Connection, *, limit: int
) -> Sequence[MeasuredStatement] | None:
    """Return the statements that took the most time in all.

    None where Postgres does not measure: the extension `pg_stat_statements` is not there, is not
    loaded, or may not be read.
    """
    if not await connection.value("SELECT to_regclass('pg_stat_statements') IS NOT NULL"):
        return None
    try:
        return await connection.many(
            MeasuredStatement,
            """
            SELECT calls, mean_exec_time AS mean_ms, total_exec_time / 1000 AS total_seconds,
                   query AS statement
              FROM pg_stat_statements
             WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
             ORDER BY total_exec_time DESC
             LIMIT %(limit)s
            """,
            limit=limit,
        )
    except (errors.ObjectNotInPrerequisiteState, errors.InsufficientPrivilege):
        return None


async def progress_of_realms(connection: Connection) -> list[RealmProgress]:
    """Return the organizations that are not deactivated, by id."""
    return await connection.many(
        RealmProgress,
        """
        SELECT r.realm_id, r.name, coalesce(c.position, 0) AS position,
               (SELECT count(*) FROM event_queues q WHERE q.realm_id = r.realm_id) AS event_queues
          FROM realms r
          LEFT JOIN realm_clock c USING (realm_id)
         WHERE NOT r.deactivated
         ORDER BY r.realm_id
        """,
    )
