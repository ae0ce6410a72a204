"""Restore a database from a backup, in a new epoch."""

import zipfile
from pathlib import Path
from typing import Final

from psycopg import sql

from storage.backups.archive import (
    BackupError,
    BackupManifest,
    BackupTable,
    Progress,
    backup_errors,
    copying,
    damaged,
    member,
    pieces,
    reading,
)
from storage.backups.files import compare_files, take_files
from storage.migrate import (
    Connection,
    Migration,
    build,
    build_functions,
    connected,
    known_migrations,
    needed_before_deploy,
)

PUT_BACK: Final = """
    SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
           format('ALTER TABLE %s ADD CONSTRAINT %I %s',
                  conrelid::regclass, conname, pg_get_constraintdef(oid))
      FROM pg_constraint
     WHERE connamespace = 'public'::regnamespace AND contype = 'f' AND conparentid = 0
    UNION ALL
    SELECT format('DROP INDEX %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
      FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND NOT c.relispartition
       AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conindid = i.indexrelid)
"""
"""Constraints that are dropped while rows are loaded, with the statements that restore them."""

REMOVALS: Final = """
    SELECT format('DROP TABLE %s CASCADE', c.oid::regclass) FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
       AND NOT c.relispartition
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('DROP SEQUENCE IF EXISTS %s CASCADE', c.oid::regclass) FROM pg_class c
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'S'
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('e', 'i'))
    UNION ALL
    SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure) FROM pg_proc p
     WHERE p.pronamespace = 'public'::regnamespace
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
"""


RENEW_EPOCHS = "SELECT renew_epoch(realm_id) FROM realm_clock ORDER BY realm_id"

LEAD = "SELECT claim_lineage(NULL, NULL, NULL, false)"
"""A restored database starts a new generation, and leads whichever one led before."""


def refusal(url: str, *, replace: bool) -> str | None:
    """Return why the backup cannot be restored into this database; None if it can.

    The reason is one sentence.
    """
    with connected(url) as connection:
        if others := _others(connection):
            return (
                f"The database is in use, by {others} other"
                f" {'connection' if others == 1 else 'connections'}: stop `parley serve` and"
                " `parley worker` first."
            )
        return _occupied(connection, replace=replace)


def refusal_of_version(manifest: BackupManifest) -> str | None:
    """Return why this version cannot restore the backup anywhere; None if it can.

    The reason is one sentence.
    """
    known = {migration.name for migration in known_migrations()}
    unknown = next((name for name in reversed(manifest.migrations) if name not in known), None)
    if unknown is None:
        return None
    return f"The backup was made by a newer Parley (it has {unknown}): use that version."


def verify(path: Path, progress: Progress) -> BackupManifest:
    """Verify the whole backup; raise BackupError if it is damaged."""
    with reading(path) as (archive, manifest):
        table = damaged(archive, manifest.tables, member, progress)
        if table is not None:
            raise BackupError(f"The backup is damaged: {table} is not what was written.")
        compare_files(archive, manifest, progress)
    return manifest


def restore(url: str, path: Path, *, folder: Path, progress: Progress) -> BackupManifest:
    """Replace the content of the database by the backup, or change nothing.

    The backup has been verified, and both refusals returned None. Clients have to register again,
    and no position is used twice. The files are extracted first: without rows they would be deleted
    within a day. Raises BackupError.
    """
    with reading(path) as (archive, manifest), connected(url) as connection:
        theirs, later = _migrations(manifest)
        take_files(archive, folder, progress)
        with (
            backup_errors("The backup could not be restored, and nothing was changed"),
            connection.transaction(),
        ):
            _remove_everything(connection)
            build(connection, theirs)
            _load(connection, archive, manifest, progress)
            build(connection, later)
            build_functions(connection)
            connection.execute(RENEW_EPOCHS)
            connection.execute(LEAD)
        connection.execute("ANALYZE")
    return manifest


def _migrations(manifest: BackupManifest) -> tuple[list[Migration], list[Migration]]:
    """Return the migrations in the backup's database, and those that this release adds."""
    had = set(manifest.migrations)
    known = known_migrations()
    needed = needed_before_deploy(known)
    return [m for m in known if m.name in had], [m for m in needed if m.name not in had]


def _others(connection: Connection) -> int:
    row = connection.execute(
        """
        SELECT count(*) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()
           AND backend_type = 'client backend'
        """
    ).fetchone()
    assert row is not None
    return int(row[0])


def _occupied(connection: Connection, *, replace: bool) -> str | None:
    """Return what prevents the restore: a foreign object, or an existing realm."""
    row = connection.execute(
        """
        SELECT to_regclass('public.schema_migrations') IS NOT NULL,
               to_regclass('public.realms') IS NOT NULL,
               EXISTS (SELECT FROM pg_class c
                        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
                          AND NOT EXISTS (SELECT FROM pg_depend d
                                           WHERE d.objid = c.oid AND d.deptype = 'e'))
        """
    ).fetchone()
    assert row is not None
    is_ours, has_realms, holds_tables = row
    if holds_tables and not is_ours:
        return "The database holds tables that are not Parley's: make an empty one for it."
    if not has_realms or replace:
        return None
    if connection.execute("SELECT FROM realms LIMIT 1").fetchone() is None:
        return None
    return "The database holds an organization: --force puts the backup in the place of everything."


def _remove_everything(connection: Connection) -> None:
    for (statement,) in connection.execute(REMOVALS).fetchall():
        connection.execute(statement.encode())


def _load(
    connection: Connection, archive: zipfile.ZipFile, manifest: BackupManifest, progress: Progress
) -> None:
    taken_off = connection.execute(PUT_BACK).fetchall()
    for statement, _ in taken_off:
        connection.execute(statement.encode())
    _make_log_days(connection, manifest)
    for table in manifest.tables:
        _load_table(connection, archive, table, progress)
    for _, statement in reversed(taken_off):
        connection.execute(statement.encode())
    for name, last in manifest.sequences.items():
        if last is not None:
            connection.execute("SELECT setval(%s::regclass, %s)", [name, last])


def _make_log_days(connection: Connection, manifest: BackupManifest) -> None:
    for day in manifest.log_days:
        partition = sql.Identifier(f"event_log_{day:%Y%m%d}")
        connection.execute(
            sql.SQL(
                "CREATE TABLE {} (LIKE event_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS)"
            ).format(partition)
        )
        connection.execute(
            sql.SQL(
                "ALTER TABLE event_log ATTACH PARTITION {} FOR VALUES FROM ({}) TO (date {} + 1)"
            ).format(partition, sql.Literal(day.isoformat()), sql.Literal(day.isoformat()))
        )


def _load_table(
    connection: Connection, archive: zipfile.ZipFile, table: BackupTable, progress: Progress
) -> None:
    rows = size = 0
    with archive.open(member(table.name)) as file, copying(connection, table) as copy:
        for piece in pieces(file):
            copy.write(piece)
            rows += piece.count(b"\n")
            size += len(piece)
            progress(table.name, rows, size)
