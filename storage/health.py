"""What an operator wants to know of the database: is it fit for us, and how is it."""

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from storage import database
from storage.database import Statement
from storage.migrate import (
    Connection,
    connected,
    known_migrations,
    needed_before_deploy,
    refuse_stranger,
)
from storage.rights import lack
from storage.trial import refusal_of_serving


@dataclass(frozen=True, slots=True)
class Durability:
    """Settings of the server that decide whether what was answered can be lost."""

    version: str
    fsync: bool
    full_page_writes: bool
    synchronous_commit: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """The database in figures."""

    version: str
    size_bytes: int
    connections: int
    max_connections: int
    reads_only: bool
    """It is a standby, or was told to take no writes."""


@dataclass(frozen=True, slots=True)
class Migrations:
    """What the database has of the schema, and what it lacks."""

    applied: int
    latest: str | None
    pending: tuple[str, ...]
    """This code does not work before they are applied."""
    after_deploy: tuple[str, ...]
    """To be applied once this code runs everywhere."""


def durability(connection: Connection) -> Durability:
    with connection.cursor(row_factory=class_row(Durability)) as cursor:
        found = cursor.execute(
            """
            SELECT current_setting('server_version') AS version,
                   current_setting('fsync') = 'on' AS fsync,
                   current_setting('full_page_writes') = 'on' AS full_page_writes,
                   current_setting('synchronous_commit') <> 'off' AS synchronous_commit
            """
        ).fetchone()
    assert found is not None
    return found


async def facts(connection: database.Connection) -> Facts:
    found = await connection.one(
        Facts,
        """
        SELECT current_setting('server_version') AS version,
               pg_database_size(current_database()) AS size_bytes,
               (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
                   AS connections,
               current_setting('max_connections')::int AS max_connections,
               current_setting('transaction_read_only') = 'on' AS reads_only
        """,
    )
    assert found is not None
    return found


async def migrations(connection: database.Connection) -> Migrations:
    """Raises MigrationError where the database is newer than the code."""
    known = known_migrations()
    rows: list[tuple[int, str]] = []
    if await connection.value("SELECT to_regclass('schema_migrations') IS NOT NULL"):
        rows = await connection.tuples("SELECT number, name FROM schema_migrations ORDER BY 1")
    applied = dict(rows)
    refuse_stranger(applied, known)
    needed = needed_before_deploy(known)
    return Migrations(
        applied=len(applied),
        latest=next(reversed(applied.values()), None),
        pending=tuple(each.name for each in needed if each.number not in applied),
        after_deploy=tuple(
            each.name for each in known[len(needed) :] if each.number not in applied
        ),
    )


async def takes_writes(connection: database.Connection) -> bool:
    """Return whether it is neither a standby nor read only."""
    return bool(await connection.value("SELECT current_setting('transaction_read_only') = 'off'"))


PROBE: Final = (
    Statement("SELECT set_config('work_mem', '64kB', true)"),
    Statement(
        "SELECT count(*) FROM (SELECT repeat(md5(n::text), 8) AS text"
        " FROM generate_series(1, 2000) AS n ORDER BY 1) AS sorted"
    ),
)
"""More than fits into that memory is sorted on disk: half a megabyte that needs room there."""


async def has_room(connection: database.Connection) -> None:
    """Write something that does not last. Raises DatabaseUnavailableError where there is no room.

    Without room reads work as ever, and so do writes for as long as there are gaps to fill.
    """
    await connection.run_together(PROBE)


def refusal(found: Durability) -> str | None:
    """Return why no server may run on such a database, as one sentence; None where one may."""
    if not found.fsync:
        return "The database runs with fsync off and can lose everything: set fsync = on."
    if not found.full_page_writes:
        return (
            "The database runs with full_page_writes off and can be damaged by a crash:"
            " set full_page_writes = on."
        )
    return None


def refusal_of(url: str) -> str | None:
    """Return why no server may run on the database at this address; None where one may.

    Raises MigrationError where it does not answer.
    """
    with connected(url) as connection:
        found = refusal(durability(connection)) or lack(connection)
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        is_pooled = row != (connection.info.backend_pid,)
    return found or (refusal_of_serving(url) if is_pooled else None)


EXACT_MESSAGES = 100_000
"""Counting more of them would take too long for a glance."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What the database holds. Beyond EXACT_MESSAGES their number is an estimate."""

    realms: int
    users: int
    messages: int
    event_queues: int


async def contents(connection: database.Connection) -> Contents:
    found = await connection.one(
        Contents,
        """
        SELECT (SELECT count(*) FROM realms WHERE NOT deactivated) AS realms,
               (SELECT count(*) FROM users WHERE is_active AND NOT is_system_bot) AS users,
               (SELECT CASE WHEN counted.n <= %(exact)s THEN counted.n
                            ELSE greatest(counted.n, c.reltuples)::bigint END
                  FROM pg_class c, (SELECT count(*) AS n FROM (
                           SELECT FROM messages LIMIT %(exact)s + 1) AS some_messages) AS counted
                 WHERE c.oid = 'messages'::regclass) AS messages,
               (SELECT count(*) FROM event_queues) AS event_queues
        """,
        exact=EXACT_MESSAGES,
    )
    assert found is not None
    return found
