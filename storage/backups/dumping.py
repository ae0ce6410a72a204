"""Write a backup of a database while it is in use."""

import shutil
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec.structs import replace
from psycopg import sql

from storage.backups.archive import (
    MANIFEST,
    BackupError,
    BackupManifest,
    BackupTable,
    Progress,
    Tally,
    backup_errors,
    member,
    writing,
)
from storage.backups.files import put_files, size_of
from storage.migrate import Connection, applied, connected, unlimited

OF_THIS_INSTALLATION: Final = [
    "database_identity",
    "event_queues",
    "schema_functions",
    "schema_migrations",
    "workers",
]
"""Tables that are meaningless in another installation: identity, worker and client state."""


def dump(
    url: str, path: Path, *, folder: Path, version: str, now: datetime, progress: Progress
) -> BackupManifest:
    """Write a snapshot of the database, and the files in the folder, to `path`.

    Blocks only migrations. Raises BackupError and MigrationError.
    """
    with connected(url) as connection, backup_errors("No backup was made"):
        if not applied(connection):
            raise BackupError("There is nothing to back up: the database has no migrations.")
        _require_room(connection, path, folder)
        with writing(path) as archive:
            with connection.transaction():
                manifest = _dump_rows(connection, archive, progress, version=version, now=now)
            count, size = put_files(archive, folder, progress)
            manifest = replace(manifest, files=count, file_bytes=size)
            archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def _dump_rows(
    connection: Connection,
    archive: zipfile.ZipFile,
    progress: Progress,
    *,
    version: str,
    now: datetime,
) -> BackupManifest:
    connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
    unlimited(connection)
    written = [
        _write(connection, archive, *table, progress=progress) for table in _tables(connection)
    ]
    return BackupManifest(
        version=version,
        made_at=now.astimezone(UTC),
        postgres=connection.info.parameter_status("server_version") or "",
        migrations=applied(connection),
        database_bytes=_value(connection, "SELECT pg_database_size(current_database())"),
        log_days=_log_days(connection),
        tables=written,
        sequences=_sequences(connection),
    )


def _tables(connection: Connection) -> list[tuple[str, list[str]]]:
    """Return the tables with their columns, locked against schema changes until the commit."""
    found = connection.execute(
        """
        SELECT c.relname, array_agg(a.attname::text ORDER BY a.attnum)
          FROM pg_class c
          JOIN pg_attribute a
            ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
           AND NOT c.relispartition AND c.relpersistence = 'p'
           AND c.relname <> ALL(%s::text[])
         GROUP BY c.relname ORDER BY c.relname
        """,
        [OF_THIS_INSTALLATION],
    ).fetchall()
    names = sql.SQL(", ").join(sql.Identifier(name) for name, _ in found)
    connection.execute(sql.SQL("LOCK TABLE {} IN ACCESS SHARE MODE").format(names))
    return [(name, columns) for name, columns in found]


def _require_room(connection: Connection, path: Path, folder: Path) -> None:
    """Raise BackupError unless there is room for everything uncompressed."""
    needed = _value(
        connection,
        """
        SELECT coalesce(sum(pg_table_size(c.oid)), 0)::bigint FROM pg_class c
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
        """,
    )
    if not path.parent.is_dir():
        raise BackupError(f"There is no directory {path.parent}.")
    needed += size_of(folder)
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise BackupError(
            f"The backup may need {needed / 1024**2:,.0f} MB, and only {free / 1024**2:,.0f} MB are"
            f" free in {path.parent}."
        )


def _write(
    connection: Connection,
    archive: zipfile.ZipFile,
    name: str,
    columns: list[str],
    *,
    progress: Progress,
) -> BackupTable:
    tally = Tally()
    statement = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(name)
    )
    with (
        archive.open(member(name), "w", force_zip64=True) as file,
        connection.cursor() as cursor,
        cursor.copy(statement) as rows,
    ):
        for row in rows:
            piece = bytes(row)
            file.write(piece)
            tally.add(piece)
            progress(name, tally.rows, tally.size)
    return BackupTable(
        name=name, columns=columns, rows=tally.rows, size=tally.size, sha256=tally.sha256
    )


def _log_days(connection: Connection) -> list[date]:
    found = connection.execute(
        """
        SELECT to_date(right(inhrelid::regclass::text, 8), 'YYYYMMDD') FROM pg_inherits
         WHERE inhparent = 'event_log'::regclass ORDER BY 1
        """
    ).fetchall()
    return [day for (day,) in found]


def _sequences(connection: Connection) -> dict[str, int | None]:
    """Return the sequences' last values. Read last, so that they are above all ids in the rows."""
    found = connection.execute(
        "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'public' ORDER BY 1"
    ).fetchall()
    return dict(found)


def _value(connection: Connection, query: Any) -> Any:
    row = connection.execute(query).fetchone()
    assert row is not None
    return row[0]
