"""Exports of realms that administrators have requested."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.database import Connection, Locking
from storage.ids import RealmId, UserId


@dataclass(frozen=True, slots=True)
class ExportRow:
    export_id: int
    export_type: int
    acting_user_id: UserId
    requested_at: datetime
    blob_key: str | None
    size: int | None
    digest: bytes | None
    failed_at: datetime | None
    deleted_at: datetime | None
    link_secret: str | None = None
    """The secret in its link, if it differs from the one in the blob's key."""
    from_prior_server: bool = False
    """Whether it was made on the server from which the realm was imported: there is no file."""

    @property
    def is_there(self) -> bool:
        """Whether the file can be downloaded."""
        return self.blob_key is not None and self.deleted_at is None

    @property
    def is_pending(self) -> bool:
        is_done = self.blob_key is not None or self.failed_at is not None
        return not (is_done or self.from_prior_server) and self.deleted_at is None


_SELECT: LiteralString = """
    SELECT export_id, export_type, acting_user_id, requested_at, blob_key, size, digest, failed_at,
           deleted_at, link_secret, from_prior_server
      FROM realm_exports WHERE realm_id = %(realm_id)s"""


async def all_of_them(connection: Connection, realm_id: RealmId) -> list[ExportRow]:
    """Return the realm's exports in the order of creation, deleted ones included."""
    return await connection.many(ExportRow, _SELECT + " ORDER BY export_id", realm_id=realm_id)


async def by_link(
    connection: Connection, realm_id: RealmId, *, blob_key: str, secret: str
) -> ExportRow | None:
    """Return the export of this link: by its own secret, or by its blob's key if it has none."""
    sql = (
        _SELECT
        + """
       AND deleted_at IS NULL
       AND (link_secret = %(secret)s OR (link_secret IS NULL AND blob_key = %(blob_key)s))
    """
    )
    return await connection.one(ExportRow, sql, realm_id=realm_id, blob_key=blob_key, secret=secret)


async def by_id(connection: Connection, realm_id: RealmId, export_id: int) -> ExportRow | None:
    sql = _SELECT + " AND export_id = %(export_id)s"
    return await connection.one(ExportRow, sql, realm_id=realm_id, export_id=export_id)


def locking(realm_id: RealmId, export_id: int) -> Locking[ExportRow]:
    """Return the query that locks this export."""
    sql = _SELECT + " AND export_id = %(export_id)s"
    return Locking(ExportRow, sql, {"realm_id": realm_id, "export_id": export_id}, expected=1)


def locking_there(realm_id: RealmId, *, expected: int) -> Locking[ExportRow]:
    """Return the query that locks exports with a file that can be downloaded."""
    sql = _SELECT + " AND blob_key IS NOT NULL AND deleted_at IS NULL ORDER BY export_id"
    return Locking(ExportRow, sql, {"realm_id": realm_id}, expected=expected)


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    export_type: int,
    acting_user_id: UserId,
    requested_at: datetime,
) -> int:
    """Insert a pending export; return its id."""
    export_id: int = await connection.value(
        """
        INSERT INTO realm_exports (realm_id, export_type, acting_user_id, requested_at)
        VALUES (%(realm_id)s, %(export_type)s, %(acting_user_id)s, %(requested_at)s)
        RETURNING export_id
        """,
        realm_id=realm_id,
        export_type=export_type,
        acting_user_id=acting_user_id,
        requested_at=requested_at,
    )
    return export_id


async def update(connection: Connection, realm_id: RealmId, row: ExportRow) -> None:
    """Update the state of a locked export."""
    await connection.execute(
        """
        UPDATE realm_exports
           SET blob_key = %(blob_key)s, size = %(size)s, digest = %(digest)s,
               failed_at = %(failed_at)s, deleted_at = %(deleted_at)s,
               link_secret = %(link_secret)s
         WHERE realm_id = %(realm_id)s AND export_id = %(export_id)s
        """,
        realm_id=realm_id,
        export_id=row.export_id,
        blob_key=row.blob_key,
        size=row.size,
        digest=row.digest,
        failed_at=row.failed_at,
        deleted_at=row.deleted_at,
        link_secret=row.link_secret,
    )


async def too_old(connection: Connection, realm_id: RealmId, *, before: datetime) -> list[int]:
    """Return exports with a file that has existed since before then."""
    return await connection.values(
        """
        SELECT export_id FROM realm_exports
         WHERE realm_id = %(realm_id)s AND requested_at < %(before)s
           AND blob_key IS NOT NULL AND deleted_at IS NULL
        """,
        realm_id=realm_id,
        before=before,
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to an export."""
    return await connection.values(
        """
        SELECT blob_key FROM realm_exports
         WHERE realm_id = %(realm_id)s AND blob_key = ANY(%(keys)s::text[])
           AND deleted_at IS NULL
        """,
        realm_id=realm_id,
        keys=list(keys),
    )
