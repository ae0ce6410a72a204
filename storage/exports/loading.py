"""Import a realm from an export, beside the realms that the server has."""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, Any, Final

import orjson
from psycopg import sql

from storage.backups.archive import BackupTable, Progress, backup_errors, copying, pieces
from storage.exports.manifest import ExportError, ExportManifest, member
from storage.exports.renumbering import Renumbering
from storage.exports.tables import EXPORTED, IDS
from storage.migrate import Connection, known_migrations, unlimited

SIGNED: Final = b"/external_content/"
"""Found in rows with signed links to external content."""
REALM_SEQUENCE: Final = IDS["realm_id"]
IMPORTING: Final = 0x5041_0002_0000_0000
"""Advisory lock that serialises imports into a new server."""


@dataclass(frozen=True, slots=True)
class ImportTarget:
    """The destination of an import: the realm and the server."""

    subdomain: str
    new_key: Callable[[], str]
    """Generates secrets that are not in the export."""
    with_own_links: Callable[[str], str] = str
    """Replaces links signed by the other server by links that this one signs."""

    def read(self, line: bytes) -> Any:
        """Return a row of the export in its new form, except for the ids."""
        if SIGNED in line:
            line = self.with_own_links(line.decode()).encode()
        return orjson.loads(line)


def refusal_of_version(manifest: ExportManifest) -> str | None:
    """Return why this version cannot import it, as one sentence; None if it can."""
    known = {migration.name for migration in known_migrations()}
    unknown = next((name for name in reversed(manifest.migrations) if name not in known), None)
    if unknown is None:
        return None
    return f"The export was made by a newer Parley (it has {unknown}): use that version."


def renumbering(connection: Connection, manifest: ExportManifest, subdomain: str) -> Renumbering:
    """Return the mapping of ids for an import; new ids are reserved from now on.

    On a server without any ids, all stay what they are. Raises ExportError.
    """
    taken = connection.execute("SELECT FROM realms WHERE subdomain = %s", [subdomain]).fetchone()
    if taken is not None:
        place = f"at the subdomain `{subdomain}`" if subdomain else "at the server's own address"
        raise ExportError(f"There is an organization {place} already: name another --subdomain.")
    is_new = _is_new(connection)
    offsets = {}
    for sequence, last in sorted(manifest.sequences.items()):
        ids = (manifest.realm_id, manifest.realm_id) if sequence == REALM_SEQUENCE else (1, last)
        offsets[sequence] = _reserve(connection, sequence, *ids, is_new=is_new)
    return Renumbering(offsets, manifest.realm_id)


def _is_new(connection: Connection) -> bool:
    """Return whether the server has no realm, and no other import is running.

    Then the sequences were advanced by failed imports, and their values are free. The connection
    holds the advisory lock until it is closed.
    """
    row = connection.execute(
        "SELECT pg_try_advisory_lock(%s) AND NOT EXISTS (SELECT FROM realms)", [IMPORTING]
    ).fetchone()
    assert row is not None
    return bool(row[0])


def load(
    connection: Connection,
    archive: zipfile.ZipFile,
    manifest: ExportManifest,
    numbers: Renumbering,
    place: ImportTarget,
    progress: Progress,
) -> None:
    """Insert all rows in one transaction. Raises ExportError and BackupError.

    The realm starts a new epoch, so it uses no id again that it had used since the export.
    """
    with backup_errors("Nothing was imported"), connection.transaction():
        unlimited(connection)
        by_name = {table.name: table for table in manifest.tables}
        for exported in EXPORTED:
            table = by_name.pop(exported.name, None)
            if table is not None:
                _load_table(connection, archive, table, numbers, place, progress)
        if by_name:
            raise ExportError(f"The export holds tables that are not known: {', '.join(by_name)}.")
        _begin(connection, numbers.realm_id, manifest.position)


def _begin(connection: Connection, realm_id: int, position: int) -> None:
    """Restore the clock's position, and mark the realm as different from its original."""
    connection.execute(
        "INSERT INTO realm_clock (realm_id, position) VALUES (%s, %s)", [realm_id, position]
    )
    connection.execute("SELECT renew_epoch(%s)", [realm_id])
    connection.execute(
        "INSERT INTO shipper_cursors (realm_id, position, epoch)"
        " SELECT realm_id, position, epoch FROM realm_clock WHERE realm_id = %s",
        [realm_id],
    )
    connection.execute(
        """
        UPDATE realms r SET uuid = gen_random_uuid()
         WHERE r.realm_id = %s
           AND EXISTS (SELECT FROM realms o WHERE o.realm_id <> r.realm_id AND o.uuid = r.uuid)
        """,
        [realm_id],
    )


def _reserve(
    connection: Connection, sequence: str, lowest: int, highest: int, *, is_new: bool
) -> int:
    """Reserve the ids `lowest` to `highest` after adding an offset; return the offset."""
    with connection.transaction():
        # This locks the sequence without changing it, so that no id is taken in between.
        connection.execute(sql.SQL("ALTER SEQUENCE {} NO CYCLE").format(sql.Identifier(sequence)))
        row = connection.execute(
            sql.SQL("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {}").format(
                sql.Identifier(sequence)
            )
        ).fetchone()
        assert row is not None
        offset = 0 if is_new else max(0, int(row[0]) + 1 - lowest)
        if highest + offset > row[0]:
            connection.execute("SELECT setval(%s::regclass, %s)", [sequence, highest + offset])
    return offset


def _load_table(
    connection: Connection,
    archive: zipfile.ZipFile,
    table: BackupTable,
    numbers: Renumbering,
    place: ImportTarget,
    progress: Progress,
) -> None:
    columns = _columns(connection, table)
    imported = next(exported.imported for exported in EXPORTED if exported.name == table.name)
    rows = size = 0
    with archive.open(member(table.name)) as file, copying(connection, table) as copy:
        for line in _lines(file):
            row = numbers.row(table.name, place.read(line))
            if table.name == "realms":
                row["subdomain"] = place.subdomain
            row.update(imported)
            copy.write_row([column.value(row, place) for column in columns])
            rows += 1
            size += len(line) + 1
            progress(table.name, rows, size)


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    rest = b""
    for piece in pieces(file):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of a table of this server."""

    name: str
    is_array: bool
    is_filled: bool
    """Whether it holds a secret and is NOT NULL."""

    def value(self, row: dict[str, Any], place: ImportTarget) -> str | None:
        """Return the row's value in the format of COPY."""
        value = row[self.name]
        if value is None:
            return place.new_key() if self.is_filled else None
        if isinstance(value, str):
            return value
        if self.is_array:
            return f"{{{','.join(map(str, value))}}}"
        return orjson.dumps(value).decode()


def _columns(connection: Connection, table: BackupTable) -> list[_Column]:
    """Return the columns that the export has, in its order."""
    found = connection.execute(
        """
        SELECT a.attname::text, t.typcategory = 'A', a.attnotnull
          FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
         WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
        """,
        [table.name],
    ).fetchall()
    secrets = next(exported.secrets for exported in EXPORTED if exported.name == table.name)
    known = {
        name: _Column(name, is_array, is_filled=not_null and name in secrets)
        for name, is_array, not_null in found
    }
    if unknown := [name for name in table.columns if name not in known]:
        raise ExportError(f"The export holds what is not known of {table.name}: {unknown[0]}.")
    return [known[name] for name in table.columns]
