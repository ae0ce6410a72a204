"""Resumable uploads: files sent in several requests, and the parts received so far."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from storage.database import Connection
from storage.ids import RealmId, UserId

Purpose = Literal["attachment", "import"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumableRow:
    upload_id: str
    owner_id: UserId
    name: str
    size: int
    received: int
    blob_key: str
    """Key of the complete content."""
    expires_at: datetime
    is_finished: bool
    purpose: Purpose = "attachment"
    """What becomes of the complete content."""


async def insert(connection: Connection, realm_id: RealmId, row: ResumableRow) -> None:
    await connection.execute(
        """
        INSERT INTO resumable_uploads (realm_id, upload_id, owner_id, name, size, blob_key,
                                       expires_at, purpose)
        VALUES (%(realm_id)s, %(upload_id)s, %(owner_id)s, %(name)s, %(size)s, %(blob_key)s,
                %(expires_at)s, %(purpose)s)
        """,
        realm_id=realm_id,
        upload_id=row.upload_id,
        owner_id=row.owner_id,
        name=row.name,
        size=row.size,
        blob_key=row.blob_key,
        expires_at=row.expires_at,
        purpose=row.purpose,
    )


async def of_owner(
    connection: Connection, realm_id: RealmId, owner_id: UserId, upload_id: str, now: datetime
) -> ResumableRow | None:
    """Return the owner's upload, if it may still be resumed."""
    return await connection.one(
        ResumableRow,
        """
        SELECT upload_id, owner_id, name, size, received, blob_key, expires_at, is_finished,
               purpose
          FROM resumable_uploads
         WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
           AND owner_id = %(owner_id)s AND expires_at > %(now)s
        """,
        realm_id=realm_id,
        upload_id=upload_id,
        owner_id=owner_id,
        now=now,
    )


@dataclass(frozen=True, slots=True)
class UnfinishedRow:
    """Announced bytes of a user's unfinished uploads."""

    count: int
    bytes: int


async def unfinished(
    connection: Connection, realm_id: RealmId, owner_id: UserId, now: datetime
) -> UnfinishedRow:
    """Return the owner's uploads that are unfinished and may be resumed."""
    row = await connection.one(
        UnfinishedRow,
        """
        SELECT count(*) AS count, coalesce(sum(size), 0)::bigint AS bytes FROM resumable_uploads
         WHERE realm_id = %(realm_id)s AND owner_id = %(owner_id)s AND NOT is_finished
           AND expires_at > %(now)s
        """,
        realm_id=realm_id,
        owner_id=owner_id,
        now=now,
    )
    assert row is not None
    return row


async def add_part(
    connection: Connection,
    realm_id: RealmId,
    upload_id: str,
    *,
    start: int,
    size: int,
    blob_key: str,
    expires_at: datetime,
) -> bool:
    """Append a part in this blob. Return False if `start` is not the next byte any more."""
    added = await connection.execute(
        """
        WITH next AS (
            UPDATE resumable_uploads
               SET received = received + %(part_size)s, expires_at = %(expires_at)s
             WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
               AND received = %(start)s AND received + %(part_size)s <= size
            RETURNING upload_id
        )
        INSERT INTO upload_parts (realm_id, upload_id, start, blob_key)
        SELECT %(realm_id)s, next.upload_id, %(start)s, %(blob_key)s FROM next
        """,
        realm_id=realm_id,
        upload_id=upload_id,
        start=start,
        part_size=size,
        blob_key=blob_key,
        expires_at=expires_at,
    )
    return added == 1


async def parts(connection: Connection, realm_id: RealmId, upload_id: str) -> list[str]:
    """Return the blobs of the parts, in order."""
    return await connection.values(
        """
        SELECT blob_key FROM upload_parts
         WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s ORDER BY start
        """,
        realm_id=realm_id,
        upload_id=upload_id,
    )


async def claim(
    connection: Connection, realm_id: RealmId, upload_id: str, *, now: datetime, until: datetime
) -> bool:
    """Claim a complete upload for assembly until `until`; return False if it is claimed."""
    claimed = await connection.execute(
        """
        UPDATE resumable_uploads SET claimed_until = %(until)s
         WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
           AND received = size AND NOT is_finished
           AND (claimed_until IS NULL OR claimed_until < %(now)s)
        """,
        realm_id=realm_id,
        upload_id=upload_id,
        now=now,
        until=until,
    )
    return claimed == 1


async def claim_until(
    connection: Connection, realm_id: RealmId, upload_id: str, *, until: datetime | None
) -> None:
    """Extend the claim until then; None releases it."""
    await connection.execute(
        """
        UPDATE resumable_uploads SET claimed_until = %(until)s
         WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s AND NOT is_finished
        """,
        realm_id=realm_id,
        upload_id=upload_id,
        until=until,
    )


async def is_claimed(
    connection: Connection, realm_id: RealmId, upload_id: str, *, now: datetime
) -> bool:
    """Return whether the upload is being assembled."""
    return bool(
        await connection.value(
            """
            SELECT EXISTS (SELECT FROM resumable_uploads
             WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
               AND claimed_until >= %(now)s AND NOT is_finished)
            """,
            realm_id=realm_id,
            upload_id=upload_id,
            now=now,
        )
    )


async def finish(connection: Connection, realm_id: RealmId, upload_id: str) -> None:
    """Mark it as assembled: its parts become orphans."""
    await connection.execute(
        """
        WITH gone AS (
            DELETE FROM upload_parts
             WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
        )
        UPDATE resumable_uploads SET is_finished = true
         WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
        """,
        realm_id=realm_id,
        upload_id=upload_id,
    )


async def delete(connection: Connection, realm_id: RealmId, upload_id: str) -> None:
    """Delete the upload: its parts become orphans."""
    await connection.execute(
        """
        DELETE FROM resumable_uploads
         WHERE realm_id = %(realm_id)s AND upload_id = %(upload_id)s
        """,
        realm_id=realm_id,
        upload_id=upload_id,
    )


async def content_of_owner(
    connection: Connection, realm_id: RealmId, owner_id: UserId
) -> list[str]:
    """Return the blobs of all unfinished uploads of the owner."""
    return await connection.values(
        """
        SELECT p.blob_key FROM upload_parts p
          JOIN resumable_uploads r ON r.realm_id = p.realm_id AND r.upload_id = p.upload_id
         WHERE r.realm_id = %(realm_id)s AND r.owner_id = %(owner_id)s
         ORDER BY p.blob_key
        """,
        realm_id=realm_id,
        owner_id=owner_id,
    )


async def expired(
    connection: Connection, realm_id: RealmId, *, now: datetime, limit: int
) -> list[str]:
    """Return uploads that have expired."""
    return await connection.values(
        """
        SELECT upload_id FROM resumable_uploads
         WHERE realm_id = %(realm_id)s AND expires_at <= %(now)s LIMIT %(limit)s
        """,
        realm_id=realm_id,
        now=now,
        limit=limit,
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that belong to a part, or to the content of a live upload."""
    return await connection.values(
        """
        SELECT p.blob_key FROM upload_parts p
         WHERE p.realm_id = %(realm_id)s AND p.blob_key = ANY(%(keys)s::text[])
        UNION
        SELECT r.blob_key FROM resumable_uploads r
         WHERE r.realm_id = %(realm_id)s AND NOT r.is_finished
           AND r.blob_key = ANY(%(keys)s::text[])
        """,
        realm_id=realm_id,
        keys=list(keys),
    )
