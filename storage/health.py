"""Health of the database for operators: whether it is fit for use, and its figures."""

from dataclasses import dataclass
from typing import Final

from psycopg.rows import class_row

from storage import database
from storage.database import Statement
from storage.function_files import known_functions, outdated
from storage.migrate import (
    Connection,
    connected,
    known_migrations,
    needed_before_deploy,
    refuse_stranger,
)
from storage.rights import missing_right
from storage.trial import refusal_of_serving


@dataclass(frozen=True, slots=True)
class Durability:
    """Settings of the server that decide whether acknowledged writes can be lost."""

    version: str
    fsync: bool
    full_page_writes: bool
    synchronous_commit: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """Figures of the database."""

    version: str
    size_bytes: int
    connections: int
    max_connections: int
    reads_only: bool
    """Whether it is a standby, or configured to be read-only."""


@dataclass(frozen=True, slots=True)
class Migrations:
    """Applied and missing migrations."""

    applied: int
    latest: str | None
    pending: tuple[str, ...]
    """Migrations and functions that must be applied before this code runs."""
    after_deploy: tuple[str, ...]
    """Migrations to apply once this code runs everywhere."""


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
    """Return the state of the migrations.

    Raise MigrationError if the database is newer than the code.
    """
    known = known_migrations()
    rows: list[tuple[int, str]] = []
    if await connection.value("SELECT to_regclass('schema_migrations') IS NOT NULL"):
        rows = await connection.tuples("SELECT number, name FROM schema_migrations ORDER BY 1")
    functions: list[tuple[str, int]] = []
    if await connection.value("SELECT to_regclass('schema_functions') IS NOT NULL"):
        functions = await connection.tuples("SELECT area, number FROM schema_functions")
    applied = dict(rows)
    refuse_stranger(applied, known)
    needed = needed_before_deploy(known)
    return Migrations(
        applied=len(applied),
        latest=next(reversed(applied.values()), None),
        pending=(
            *(each.name for each in needed if each.number not in applied),
            *(each.name for each in outdated(known_functions(), dict(functions))),
        ),
        after_deploy=tuple(
            each.name for each in known[len(needed) :] if each.number not in applied
        ),
    )


async def takes_writes(connection: database.Connection) -> bool:
    """Return whether it is neither a standby nor read-only."""
    return bool(await connection.value("SELECT current_setting('transaction_read_only') = 'off'"))


PROBE: Final = (
    Statement("SELECT set_config('work_mem', '64kB', true)"),
    Statement(
        "SELECT count(*) FROM (SELECT repeat(md5(n::text), 8) AS text"
        " FROM generate_series(1, 2000) AS n ORDER BY 1) AS sorted"
    ),
)
"""Sorts more than fits into work_mem, so that half a megabyte is written to disk."""


async def has_room(connection: database.Connection) -> None:
    """Write a temporary file; raise DatabaseUnavailableError if there is no room.

    On a full disk reads succeed, and so do writes while there are gaps to fill.
    """
    await connection.run_together(PROBE)


def refusal(found: Durability) -> str | None:
    """Return why no server may run on such a database, as one sentence; None if one may."""
    if not found.fsync:
        return "The database runs with fsync off and can lose everything: set fsync = on."
    if not found.full_page_writes:
        return (
            "The database runs with full_page_writes off and can be damaged by a crash:"
            " set full_page_writes = on."
        )
    return None


def refusal_of(url: str) -> str | None:
    """Return why no server may run on the database at this address; None if one may.

    Raises MigrationError if it does not respond.
    """
    with connected(url) as connection:
        found = refusal(durability(connection)) or missing_right(connection)
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        is_pooled = row != (connection.info.backend_pid,)
    return found or (refusal_of_serving(url) if is_pooled else None)


EXACT_MESSAGES = 100_000
"""Maximum number of messages that are counted exactly."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Row counts. Above EXACT_MESSAGES the number of messages is an estimate."""

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
