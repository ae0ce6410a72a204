"""Exports of their own data that users have asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.database import Connection, Locking
from storage.ids import AccountExportId, RealmId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountExportRow:
    export_id: AccountExportId
    user_id: UserId
    requested_at: datetime
    percent: int
    """How much is done, from 0 to 100."""
    blob_key: str | None
    size: int | None
    digest: bytes | None
    failed_at: datetime | None
    deleted_at: datetime | None

    @property
    def is_pending(self) -> bool:
        return self.blob_key is None and self.failed_at is None and self.deleted_at is None

    @property
    def is_there(self) -> bool:
        """Whether the file can be downloaded."""
        return self.blob_key is not None and self.deleted_at is None


_SELECT: LiteralString = """
    SELECT export_id, user_id, requested_at, percent, blob_key, size, digest, failed_at, deleted_at
      FROM account_exports WHERE realm_id = %(realm_id)s"""


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[AccountExportRow]:
    """Return the user's exports, newest first, without deleted ones."""
    sql = _SELECT + " AND user_id = %(user_id)s AND deleted_at IS NULL ORDER BY export_id DESC"
    return await connection.many(AccountExportRow, sql, realm_id=realm_id, user_id=user_id)


async def count_since(
    connection: Connection, realm_id: RealmId, user_id: UserId, since: datetime
) -> int:
    """Return how many exports the user has asked for since then; failed ones do not count."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM account_exports
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND requested_at > %(since)s
           AND failed_at IS NULL
        """,
        realm_id=realm_id,
        user_id=user_id,
        since=since,
    )
    return count


async def by_id(
    connection: Connection, realm_id: RealmId, export_id: AccountExportId
) -> AccountExportRow | None:
    sql = _SELECT + " AND export_id = %(export_id)s"
    return await connection.one(AccountExportRow, sql, realm_id=realm_id, export_id=export_id)


def locking(realm_id: RealmId, export_id: AccountExportId) -> Locking[AccountExportRow]:
    """Return the query that locks this export."""
    sql = _SELECT + " AND export_id = %(export_id)s"
    return Locking(AccountExportRow, sql, {"realm_id": realm_id, "export_id": export_id}, 1)


def locking_all(realm_id: RealmId) -> Locking[AccountExportRow]:
    """Return the query that locks all exports of the realm that are not deleted."""
    sql = _SELECT + " AND deleted_at IS NULL ORDER BY export_id"
    return Locking(AccountExportRow, sql, {"realm_id": realm_id}, expected=0)


async def insert(
    connection: Connection, realm_id: RealmId, user_id: UserId, now: datetime
) -> AccountExportId:
    """Insert a pending export; return its id."""
    export_id: AccountExportId = await connection.value(
        """
        INSERT INTO account_exports (realm_id, user_id, requested_at)
        VALUES (%(realm_id)s, %(user_id)s, %(now)s) RETURNING export_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        now=now,
    )
    return export_id


async def note_progress(
    connection: Connection, realm_id: RealmId, export_id: AccountExportId, percent: int
) -> None:
    """Record how much of a pending export is done."""
    await connection.execute(
        """
        UPDATE account_exports SET percent = %(percent)s
         WHERE realm_id = %(realm_id)s AND export_id = %(export_id)s
           AND blob_key IS NULL AND failed_at IS NULL AND deleted_at IS NULL
        """,
        realm_id=realm_id,
        export_id=export_id,
        percent=percent,
    )


async def update(connection: Connection, realm_id: RealmId, row: AccountExportRow) -> None:
    """Update the state of a locked export."""
    await connection.execute(
        """
        UPDATE account_exports
           SET percent = %(percent)s, blob_key = %(blob_key)s, size = %(size)s,
               digest = %(digest)s, failed_at = %(failed_at)s, deleted_at = %(deleted_at)s
         WHERE realm_id = %(realm_id)s AND export_id = %(export_id)s
        """,
        realm_id=realm_id,
        export_id=row.export_id,
        percent=row.percent,
        blob_key=row.blob_key,
        size=row.size,
        digest=row.digest,
        failed_at=row.failed_at,
        deleted_at=row.deleted_at,
    )


async def too_old(
    connection: Connection, realm_id: RealmId, *, before: datetime
) -> list[AccountExportId]:
    """Return exports that were asked for before then and are not deleted."""
    return await connection.values(
        """
        SELECT export_id FROM account_exports
         WHERE realm_id = %(realm_id)s AND requested_at < %(before)s AND deleted_at IS NULL
        """,
        realm_id=realm_id,
        before=before,
    )


async def forget(connection: Connection, realm_id: RealmId, *, before: datetime) -> None:
    """Delete the rows of deleted exports from before then."""
    await connection.execute(
        """
        DELETE FROM account_exports
         WHERE realm_id = %(realm_id)s AND requested_at < %(before)s AND deleted_at IS NOT NULL
        """,
        realm_id=realm_id,
        before=before,
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to an export."""
    return await connection.values(
        """
        SELECT blob_key FROM account_exports
         WHERE realm_id = %(realm_id)s AND blob_key = ANY(%(keys)s::text[])
           AND deleted_at IS NULL
        """,
        realm_id=realm_id,
        keys=list(keys),
    )
