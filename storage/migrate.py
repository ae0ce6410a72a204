"""Apply migrations to a database, once each and in order, and install functions that are newer.

One process at a time does so.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from storage import function_files, lineage, rights
from storage.connection_names import connection_name
from storage.function_files import FunctionFile
from storage.reasons import reason_of

DIRECTORY = Path(__file__).parent / "migrations"

FILE_NAME = re.compile(r"(\d{4})_[a-z0-9_]+(\.pre|\.post)?\.sql")

WITHOUT_TRANSACTION = "-- no transaction"
"""A file that starts so is run statement by statement: for CREATE INDEX CONCURRENTLY."""

ADVISORY_LOCK = 0x5041524C4559
"""Held by the process that migrates this database."""

LAST_RELEASED = 68
"""Files up to this number belong to releases that run already, `.post` ones too."""

OLDEST_POSTGRES = 150_000

CONNECT_SECONDS = 10

NOT_OURS = (
    "The database belongs to another program, which has a table schema_migrations of its own:"
    " give Parley an empty one."
)

Connection = psycopg.Connection[Any]


class MigrationError(Exception):
    """The database cannot be brought to this version; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Migration:
    """One SQL file."""

    number: int
    path: Path

    @property
    def name(self) -> str:
        return self.path.name.removesuffix(".sql")

    @property
    def waits_for_new_code(self) -> bool:
        """Whether the previous release could not work with what this makes."""
        return self.name.endswith(".post")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long migrations wait for others, and how long others wait for them."""

    lock_milliseconds: int = 4_000
    """Statements on the table queue behind a waiting ALTER TABLE: so not for long."""
    statement_milliseconds: int = 60_000
    attempts: int = 5
    pause_seconds: float = 1.0
    other_migration_seconds: float = 600.0


def known_migrations(directory: Path = DIRECTORY) -> list[Migration]:
    """The files, in their order."""
    found = [
        Migration(int(match[1]), path)
        for path in sorted(directory.glob("*.sql"))
        if (match := FILE_NAME.fullmatch(path.name))
    ]
    return sorted(found, key=lambda migration: migration.number)


def migrate(
    url: str,
    *,
    before_deploy: bool = False,
    directory: Path = DIRECTORY,
    patience: Patience = Patience(),
) -> list[str]:
    """Apply missing migrations, then install newer functions; return the names of both.

    `before_deploy` leaves out the last `.post` files: they are for after the new code runs
    everywhere. Functions are in `functions`, beside the directory of the migrations. Raises
    MigrationError; everything before the failing file stays applied.
    """
    migrations = known_migrations(directory)
    functions = functions_beside(directory)
    wanted = needed_before_deploy(migrations) if before_deploy else migrations
    with connected(url) as connection:
        if not missing(connection, wanted, known=migrations) and not outdated_functions(
            connection, functions
        ):
            return []
        with alone(connection, patience):
            _make_table(connection)
            todo = missing(connection, wanted, known=migrations)
            for migration in todo:
                _apply(connection, migration, patience)
            newer = outdated_functions(connection, functions)
            if newer:
                _install(connection, newer, patience)
    return [m.name for m in todo] + [file.name for file in newer]


def pending(url: str, *, after_deploy: bool = False, directory: Path = DIRECTORY) -> list[str]:
    """The names of what this code needs and the database does not have yet.

    With `after_deploy` the `.post` files are among them, which it works without. Raises
    MigrationError where the database is newer than the code.
    """
    migrations = known_migrations(directory)
    needed = migrations if after_deploy else needed_before_deploy(migrations)
    with connected(url) as connection:
        lacking = missing(connection, needed, known=migrations)
        outdated = outdated_functions(connection, functions_beside(directory))
    return [m.name for m in lacking] + [file.name for file in outdated]


def applied(connection: Connection) -> list[str]:
    """The names of what the database has. Raises MigrationError where it is newer than the code."""
    try:
        rows = connection.execute(
            "SELECT number, name FROM schema_migrations ORDER BY 1"
        ).fetchall()
    except psycopg.errors.UndefinedTable:
        return []
    refuse_stranger(dict(rows), known_migrations())
    return [name for _, name in rows]


def build(connection: Connection, migrations: Sequence[Migration]) -> None:
    """Apply these in the caller's transaction: to tables that no other session sees yet."""
    _limit(connection, lock=0, statement=0)
    connection.execute("SELECT set_config('parley.one_transaction', 'on', true)")
    _make_table(connection)
    for migration in migrations:
        # What builds an index beside others needs no care here, and must not be in a transaction.
        connection.execute(migration.path.read_text().replace(" CONCURRENTLY", "").encode())
        _record(connection, migration)


def functions_beside(directory: Path) -> list[FunctionFile]:
    """Return the functions that belong to the migrations in this directory."""
    return function_files.known_functions(directory.with_name("functions"))


def outdated_functions(connection: Connection, known: Sequence[FunctionFile]) -> list[FunctionFile]:
    """Return the areas of which the database has no version, or an older one. One query.

    Raises MigrationError where the database has another text under the same number.
    """
    try:
        rows = connection.execute("SELECT area, number, digest FROM schema_functions").fetchall()
    except psycopg.errors.UndefinedTable:
        return list(known)
    installed = {(area, number): digest for area, number, digest in rows}
    for file in known:
        if installed.get((file.area, file.number), file.digest) != file.digest:
            raise MigrationError(
                f"The database has other functions than this Parley under the same number"
                f" ({file.name}), as builds between releases may: use the version that it was last"
                " used with, or a newer one."
            )
    return function_files.outdated(known, {area: number for area, number, _ in rows})


def build_functions(connection: Connection) -> None:
    """Install this release's functions in the caller's transaction, after all migrations."""
    _install_once(connection, function_files.known_functions())


def needed_before_deploy(migrations: Sequence[Migration]) -> list[Migration]:
    """All but the `.post` files of this release, and those at the end.

    Earlier ones belong to releases that run already.
    """
    needed = list(migrations)
    while needed and needed[-1].waits_for_new_code:
        needed.pop()
    return [m for m in needed if m.number <= LAST_RELEASED or not m.waits_for_new_code]


@contextmanager
def connected(url: str) -> Iterator[Connection]:
    """A connection to a Postgres that we can work with; of several hosts to the one that leads.

    Raises MigrationError, also for what the block may not do there.
    """
    try:
        address = _leading(url)
        connection = psycopg.connect(
            address,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            fallback_application_name=connection_name("migrations"),
        )
    except psycopg.OperationalError as error:
        raise MigrationError(f"The database does not answer: {reason_of(error)}.") from error
    except psycopg.ProgrammingError as error:  # it may show a part of the password
        raise MigrationError(
            "DATABASE_URL is not an address that can be read: look at what follows its `?`, and"
            " write signs in names and passwords like %3F."
        ) from error
    with connection:
        if connection.info.server_version < OLDEST_POSTGRES:
            raise MigrationError(
                f"The database is Postgres {connection.info.server_version // 10_000},"
                f" and Parley needs {OLDEST_POSTGRES // 10_000} or newer."
            )
        if connection.info.parameter_status("server_encoding") != "UTF8":
            raise MigrationError(
                "The database does not store UTF-8: make one with ENCODING 'UTF8'."
            )
        try:
            yield connection
        except rights.REFUSALS as error:
            raise MigrationError(rights.explained(error, connection.info)) from error
        except psycopg.OperationalError as error:
            raise MigrationError(f"The database went away: {_first_line(error)}.") from error


def _leading(url: str) -> str:
    """The address of the one that leads of the hosts that this one names."""
    hosts = lineage.hosts_of(url)
    return lineage.survey(hosts)[0].conninfo if len(hosts) > 1 else url


def unlimited(connection: Connection) -> None:
    """Let the transaction take as long as it takes."""
    connection.execute(
        "SELECT set_config(name, '0', true) FROM unnest(%s::text[]) AS name",
        [["statement_timeout", "idle_in_transaction_session_timeout"]],
    )


def missing(
    connection: Connection, wanted: Sequence[Migration], *, known: Sequence[Migration]
) -> list[Migration]:
    """Those of `wanted` that the database does not have. One query."""
    try:
        rows = connection.execute("SELECT number, name FROM schema_migrations").fetchall()
    except psycopg.errors.UndefinedTable:
        return list(wanted)
    except psycopg.errors.UndefinedColumn as error:
        raise MigrationError(NOT_OURS) from error
    applied: dict[int, str] = dict(rows)
    refuse_stranger(applied, known)
    return [migration for migration in wanted if migration.number not in applied]


def refuse_stranger(applied: dict[int, str], known: Sequence[Migration]) -> None:
    """A release works with what the next one's `.pre` files make, and with nothing later.

    Nor with what has another history, as some had that were never released.
    """
    numbers = {migration.number: migration.name for migration in known}
    for number, name in sorted(applied.items()):
        if numbers.get(number, name) != name:
            raise MigrationError(
                f"The database was made by a version of Parley from which no way leads to this one"
                f" (it has {name}, where this has {numbers[number]}): write out its organizations"
                " with that version (`parley export`), and read them into a new database here"
                " (`parley import`)."
            )
    later = [
        name
        for number, name in sorted(applied.items())
        if number not in numbers and not name.endswith(".pre")
    ]
    if later:
        raise MigrationError(
            f"The database is newer than this Parley (it has {later[-1]}):"
            " use the version that it was last used with, or a newer one."
        )


@contextmanager
def alone(connection: Connection, patience: Patience) -> Iterator[None]:
    """Hold the advisory lock.

    It is asked for again and again: a query that waited for it would hold a snapshot, and
    CREATE INDEX CONCURRENTLY in the process that has the lock would wait for that in turn.
    """
    deadline = time.monotonic() + patience.other_migration_seconds
    while not _try_lock(connection):
        if time.monotonic() > deadline:
            raise MigrationError("Another process has been migrating this database for too long.")
        time.sleep(min(0.1, patience.other_migration_seconds))
    try:
        yield
    finally:
        # An interrupt may leave a statement in progress: then the connection's end is the unlock.
        if connection.info.transaction_status is TransactionStatus.IDLE:
            connection.execute("SELECT pg_advisory_unlock(%s)", [ADVISORY_LOCK])


def _try_lock(connection: Connection) -> bool:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [ADVISORY_LOCK]).fetchone()
    return row is not None and bool(row[0])


def _make_table(connection: Connection) -> None:
    connection.execute(
        """
        CREATE TABLE IF NOT EXISTS schema_migrations (
            number integer PRIMARY KEY,
            name text NOT NULL,
            applied_at timestamptz NOT NULL DEFAULT now()
        )
        """
    )


def _apply(connection: Connection, migration: Migration, patience: Patience) -> None:
    """Apply one file."""
    _retry(
        f"Migration {migration.name}",
        lambda: _apply_once(connection, migration, patience),
        patience,
    )


def _install(connection: Connection, files: Sequence[FunctionFile], patience: Patience) -> None:
    """Replace the functions of these areas in one transaction: they call each other."""

    def install() -> None:
        with connection.transaction():
            _limit(
                connection,
                lock=patience.lock_milliseconds,
                statement=patience.statement_milliseconds,
            )
            _install_once(connection, files)

    _retry(f"Installing {', '.join(file.name for file in files)}", install, patience)


def _retry(what: str, apply: Callable[[], None], patience: Patience) -> None:
    """Retry if a lock that is needed is held by others."""
    attempt = 1
    while True:
        try:
            apply()
        except psycopg.errors.LockNotAvailable as error:
            if attempt == patience.attempts:
                raise MigrationError(
                    f"{what} did not get a lock it needs in {attempt} attempts:"
                    " try again when the database is less busy."
                ) from error
            time.sleep(patience.pause_seconds * attempt)
            attempt += 1
        except rights.REFUSALS:
            raise
        except psycopg.Error as error:
            raise MigrationError(f"{what} failed: {_first_line(error)}.") from error
        else:
            return


def _install_once(connection: Connection, files: Sequence[FunctionFile]) -> None:
    # A function may call one that is created after it.
    connection.execute("SELECT set_config('check_function_bodies', 'off', true)")
    for file in files:
        connection.execute(file.text.encode())
        connection.execute(
            """
            INSERT INTO schema_functions (area, number, digest) VALUES (%s, %s, %s)
            ON CONFLICT (area) DO UPDATE
                SET number = excluded.number, digest = excluded.digest, applied_at = now()
            """,
            [file.area, file.number, file.digest],
        )


def _apply_once(connection: Connection, migration: Migration, patience: Patience) -> None:
    text = migration.path.read_text()
    if text.startswith(WITHOUT_TRANSACTION):
        # Building an index takes long, and blocks no other session.
        _limit(connection, lock=0, statement=0)
        for statement in re.split(r";[ \t]*\n", text):
            connection.execute(statement.encode())
        _record(connection, migration)
        return
    with connection.transaction():
        _limit(
            connection, lock=patience.lock_milliseconds, statement=patience.statement_milliseconds
        )
        connection.execute(text.encode())
        _record(connection, migration)


def _limit(connection: Connection, *, lock: int, statement: int) -> None:
    connection.execute(
        """
        SELECT set_config('lock_timeout', %s, false), set_config('statement_timeout', %s, false)
        """,
        [str(lock), str(statement)],
    )


def _record(connection: Connection, migration: Migration) -> None:
    connection.execute(
        "INSERT INTO schema_migrations (number, name) VALUES (%s, %s)",
        [migration.number, migration.name],
    )


def _first_line(error: psycopg.Error) -> str:
    return str(error).strip().split("\n")[0].rstrip(".")
