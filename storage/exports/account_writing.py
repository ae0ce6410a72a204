"""Write a user's own data as lines of JSON, with the files."""

import asyncio
import zipfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from psycopg import sql

from storage import message_bits
from storage.audit_log import actions_about
from storage.backups.archive import MANIFEST, backup_errors, writing
from storage.blobs import BlobStore
from storage.exports.account import SECTIONS
from storage.exports.files import put_file
from storage.exports.manifest import FOLDER, member
from storage.exports.writing import write_rows
from storage.ids import RealmId, UserId
from storage.migrate import Connection, connected, unlimited

FORMAT: Final = "parley-account-export-1"

Percent = Callable[[int], None]
"""Progress callback, from any thread."""


class SectionSummary(msgspec.Struct, frozen=True):
    """A file of the export."""

    name: str
    about: str
    rows: int
    sha256: str


class AccountManifest(msgspec.Struct, frozen=True, kw_only=True):
    """Describes an export of a user's own data."""

    format: str = FORMAT
    version: str
    made_at: datetime
    organization: str
    user_id: int
    sections: list[SectionSummary]
    files: int
    file_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountExportRequest:
    """Which account is exported."""

    realm_id: RealmId
    user_id: UserId
    organization: str
    version: str
    now: datetime


@dataclass(frozen=True, slots=True)
class _StoredFile:
    """A file of the user, by its key in the blob store and its name in the archive."""

    blob_key: str
    name: str


async def export_account(
    url: str, path: Path, request: AccountExportRequest, blobs: BlobStore, percent: Percent
) -> None:
    """Write a snapshot of the user's data to `path`; complete or not at all.

    Raises BackupError and MigrationError.
    """
    with writing(path) as archive:
        sections, stored = await asyncio.to_thread(_write_sections, url, archive, request, percent)
        count = size = 0
        for number, each in enumerate(stored):
            with suppress(FileNotFoundError):
                size += await put_file(archive, blobs, each.blob_key, FOLDER + each.name)
                count += 1
            percent(50 + 50 * (number + 1) // len(stored))
        manifest = AccountManifest(
            version=request.version,
            made_at=request.now.astimezone(UTC),
            organization=request.organization,
            user_id=request.user_id,
            sections=sections,
            files=count,
            file_bytes=size,
        )
        archive.writestr(MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))


def _write_sections(
    url: str, archive: zipfile.ZipFile, request: AccountExportRequest, percent: Percent
) -> tuple[list[SectionSummary], list[_StoredFile]]:
    """Add all sections, of one snapshot; return them, and the files that belong to them."""
    params = {
        "realm_id": request.realm_id,
        "user_id": request.user_id,
        "starred": message_bits.STARRED,
        "about_users": actions_about("user"),
    }
    with (
        connected(url) as connection,
        backup_errors("Nothing was exported"),
        connection.transaction(),
    ):
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        unlimited(connection)
        connection.execute("SET LOCAL timezone = 'UTC'")
        found = []
        for number, section in enumerate(SECTIONS):
            query = sql.SQL("COPY (SELECT row_to_json(x) FROM ({}) x) TO STDOUT").format(
                sql.SQL(section.query)
            )
            tally = write_rows(connection, archive, member(section.name), query, params)
            found.append(SectionSummary(section.name, section.about, tally.rows, tally.sha256))
            percent(50 * (number + 1) // len(SECTIONS))
        stored = _stored_files(connection, request.realm_id, request.user_id)
    return found, stored


def _stored_files(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[_StoredFile]:
    """Return the user's uploads and picture."""
    rows = connection.execute(
        """
        SELECT 'uploads/' || regexp_replace(a.path_id, '/[^/]*$', ''),
               a.attachment_id || '/' || translate(a.name, '/\\', '__')
          FROM attachments a
         WHERE a.realm_id = %(realm_id)s::bigint AND a.owner_id = %(user_id)s::bigint
         UNION ALL
        SELECT u.avatar_key, 'picture' FROM users u
         WHERE u.realm_id = %(realm_id)s::bigint AND u.user_id = %(user_id)s::bigint
           AND u.avatar_key IS NOT NULL
        """,
        {"realm_id": realm_id, "user_id": user_id},
    ).fetchall()
    return [_StoredFile(key, name) for key, name in rows]
