"""Write a realm's rows as lines of JSON, while it is in use."""

import asyncio
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, LiteralString

import msgspec
from msgspec.structs import replace
from psycopg import sql

from storage.backups.archive import MANIFEST, BackupTable, Progress, Tally, backup_errors, writing
from storage.blobs import BlobStore
from storage.exports.files import put_files
from storage.exports.manifest import ExportError, ExportManifest, Scope, member
from storage.exports.tables import EXPORTED, NOTHING, SEQUENCES, Exported
from storage.migrate import Connection, applied, connected, unlimited

OF_UPLOADS: Final = ("uploads", "thumbnails")
"""Key prefixes of uploaded files and their thumbnails."""
KINDS_OF_THUMBNAILS: Final = re.compile("-(?:anim|large)$")
"""Suffixes of the keys of thumbnails other than the small still ones, before the extension."""
IN_PART, WHOLE = 1, 2
"""Values of `channel_access`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportRequest:
    """Options of an export."""

    realm_id: int
    scope: Scope
    secrets: bool
    version: str
    now: datetime


async def export(
    url: str, path: Path, request: ExportRequest, blobs: BlobStore, progress: Progress
) -> ExportManifest:
    """Write a snapshot of the realm to `path`, readable by its owner only; complete or not at all.

    Blocks only migrations. Raises ExportError, BackupError and MigrationError.
    """
    with writing(path) as archive:
        manifest, paths = await asyncio.to_thread(_write_rows, url, archive, request, progress)

        def is_wanted(key: str) -> bool:
            kind, _, path = key.partition("/")
            of_upload = KINDS_OF_THUMBNAILS.sub("", path.partition(".")[0])
            return paths is None or kind not in OF_UPLOADS or of_upload in paths

        count, size = await put_files(archive, blobs, request.realm_id, progress, is_wanted)
        manifest = replace(manifest, files=count, file_bytes=size)
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
    return manifest


def _write_rows(
    url: str, archive: zipfile.ZipFile, request: ExportRequest, progress: Progress
) -> tuple[ExportManifest, frozenset[str] | None]:
    """Add the realm's rows; return the manifest and the paths of their uploads, None for all."""
    with (
        connected(url) as connection,
        backup_errors("Nothing was exported"),
        connection.transaction(),
    ):
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        unlimited(connection)
        connection.execute("SET LOCAL timezone = 'UTC'")
        subdomain, name, position = _realm(connection, request.realm_id)
        known = _readable(connection, request.realm_id, request.scope)
        tables = [
            _write(connection, archive, table, request, known, progress) for table in EXPORTED
        ]
        manifest = ExportManifest(
            version=request.version,
            made_at=request.now.astimezone(UTC),
            scope=request.scope,
            secrets=request.secrets,
            realm_id=request.realm_id,
            subdomain=subdomain,
            name=name,
            position=position,
            sequences=_sequences(connection),
            migrations=applied(connection),
            tables=tables,
        )
        return manifest, None if known is None else _uploads(connection, request.realm_id, known)


def _realm(connection: Connection, realm_id: int) -> tuple[str, str, int]:
    row = connection.execute(
        """
        SELECT r.subdomain, r.name, c.position
          FROM realms r JOIN realm_clock c ON c.realm_id = r.realm_id
         WHERE r.realm_id = %s
        """,
        [realm_id],
    ).fetchone()
    if row is None:
        raise ExportError(f"There is no organization {realm_id}.")
    return row[0], row[1], row[2]


def _readable(
    connection: Connection, realm_id: int, scope: Scope
) -> Mapping[str, Sequence[int]] | None:
    """Return consenting users and the channels that a partial export may read; None for a full one.

    `protected` channels are read in part.
    """
    if scope == "everything":
        return None
    people: list[int] = []
    if scope == "consented":
        found = connection.execute(
            """
            SELECT user_id FROM users
             WHERE realm_id = %s AND (settings ->> 'allow_private_data_export')::boolean
             ORDER BY user_id
            """,
            [realm_id],
        ).fetchall()
        people = [user_id for (user_id,) in found]
    access = connection.execute(
        """
        SELECT c.channel_id, CASE WHEN NOT c.invite_only OR c.is_web_public THEN 2 ELSE coalesce((
                   SELECT max(channel_access(u.user_id, u.role, s.active, c))
                     FROM users u
                     LEFT JOIN subscriptions s ON s.realm_id = u.realm_id
                          AND s.user_id = u.user_id AND s.channel_id = c.channel_id
                    WHERE u.realm_id = c.realm_id AND u.user_id = ANY(%(people)s::bigint[])), 0) END
          FROM channels c WHERE c.realm_id = %(realm_id)s
        """,
        {"realm_id": realm_id, "people": people},
    ).fetchall()
    return {
        "people": people,
        "channels": [channel_id for channel_id, level in access if level == WHOLE],
        "protected": [channel_id for channel_id, level in access if level == IN_PART],
    }


def _write(
    connection: Connection,
    archive: zipfile.ZipFile,
    table: Exported,
    request: ExportRequest,
    known: Mapping[str, Sequence[int]] | None,
    progress: Progress,
) -> BackupTable:
    columns = _columns(connection, table.name)
    query = _query(table, columns, request, is_limited=known is not None)
    params = {"realm_id": request.realm_id, **(known or {})}

    def report(tally: Tally) -> None:
        progress(table.name, tally.rows, tally.size)

    tally = write_rows(connection, archive, member(table.name), query, params, report)
    return BackupTable(
        name=table.name, columns=columns, rows=tally.rows, size=tally.size, sha256=tally.sha256
    )


def write_rows(
    connection: Connection,
    archive: zipfile.ZipFile,
    name: str,
    query: sql.Composed,
    params: Mapping[str, Any],
    report: Callable[[Tally], None] = lambda _: None,
) -> Tally:
    """Add a file with the rows of a COPY of JSON objects, one a line."""
    tally = Tally()
    with (
        archive.open(name, "w", force_zip64=True) as file,
        connection.cursor() as cursor,
        cursor.copy(query, params) as rows,
    ):
        for row in rows:
            # JSON escapes everything that COPY would, except its own backslashes.
            line = bytes(row).replace(b"\\\\", b"\\")
            file.write(line)
            tally.add(line)
            report(tally)
    return tally


def _query(
    table: Exported, columns: Sequence[str], request: ExportRequest, *, is_limited: bool
) -> sql.Composed:
    """Return the COPY of the rows, each as a JSON object."""
    instead: dict[str, LiteralString] = dict(table.withheld) if is_limited else {}
    if not request.secrets:
        instead |= dict.fromkeys(table.secrets, "NULL")
    chosen = [
        sql.SQL("{} AS {}").format(
            sql.SQL(instead[name]) if name in instead else sql.Identifier("t", name),
            sql.Identifier(name),
        )
        for name in columns
    ]
    which = table.limited if is_limited and table.limited is not None else "true"
    if table.is_secret and not request.secrets:
        which = NOTHING
    return sql.SQL(
        "COPY (SELECT row_to_json(x) FROM ("
        "SELECT {} FROM {} t WHERE t.realm_id = %(realm_id)s::bigint AND ({})) x) TO STDOUT"
    ).format(sql.SQL(", ").join(chosen), sql.Identifier(table.name), sql.SQL(which))


def _uploads(
    connection: Connection, realm_id: int, known: Mapping[str, Sequence[int]]
) -> frozenset[str]:
    """Return the paths of the uploads with exported rows."""
    table = next(each for each in EXPORTED if each.name == "attachments")
    assert table.limited is not None
    found = connection.execute(
        sql.SQL(
            "SELECT regexp_replace(t.path_id, '/[^/]*$', '') FROM attachments t"
            " WHERE t.realm_id = %(realm_id)s::bigint AND ({})"
        ).format(sql.SQL(table.limited)),
        {"realm_id": realm_id, **known},
    )
    return frozenset(path for (path,) in found)


def _columns(connection: Connection, table: str) -> list[str]:
    found = connection.execute(
        """
        SELECT attname::text FROM pg_attribute
         WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
         ORDER BY attnum
        """,
        [table],
    ).fetchall()
    return [name for (name,) in found]


def _sequences(connection: Connection) -> dict[str, int]:
    """Return the sequences' last values. Read last, so that they are above all ids in the rows."""
    found = connection.execute(
        "SELECT sequencename::text, coalesce(last_value, 0) FROM pg_sequences"
        " WHERE schemaname = 'public' AND sequencename = ANY(%s) ORDER BY 1",
        [sorted(SEQUENCES)],
    ).fetchall()
    return dict(found)
