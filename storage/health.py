"""What an operator wants to know of the database: is it fit for us, and how is it."""

from dataclasses import dataclass

from psycopg.rows import class_row

from storage import database
from storage.migrate import Connection, connected


@dataclass(frozen=True, slots=True)
class Durability:
    """Settings of the server that decide whether what was answered can be lost."""

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


def durability(connection: Connection) -> Durability:
    with connection.cursor(row_factory=class_row(Durability)) as cursor:
        found = cursor.execute(
            """
            SELECT current_setting('fsync') = 'on' AS fsync,
                   current_setting('full_page_writes') = 'on' AS full_page_writes,
                   current_setting('synchronous_commit') <> 'off' AS synchronous_commit
            """
        ).fetchone()
    assert found is not None
    return found


def facts(connection: Connection) -> Facts:
    with connection.cursor(row_factory=class_row(Facts)) as cursor:
        found = cursor.execute(
            """
            SELECT current_setting('server_version') AS version,
                   pg_database_size(current_database()) AS size_bytes,
                   (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
                       AS connections,
                   current_setting('max_connections')::int AS max_connections
            """
        ).fetchone()
    assert found is not None
    return found


def refusal(found: Durability) -> str | None:
    """Why no server may run on such a database, as one sentence; None where one may."""
    if not found.fsync:
        return "The database runs with fsync off and can lose everything: set fsync = on."
    if not found.full_page_writes:
        return (
            "The database runs with full_page_writes off and can be damaged by a crash:"
            " set full_page_writes = on."
        )
    return None


def refusal_of(url: str) -> str | None:
    """Why no server may run on the database at this address; None where one may.

    Raises MigrationError where it does not answer.
    """
    with connected(url) as connection:
        return refusal(durability(connection))


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
