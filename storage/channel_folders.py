"""Channel folders: named groups into which a realm sorts its channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.database import Connection
from storage.ids import FolderId, RealmId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class FolderRow:
    folder_id: FolderId
    name: str
    description: str
    rendered_description: str
    creator_id: UserId | None
    created_at: datetime
    is_archived: bool
    sort_order: int


_SELECT: LiteralString = """
    SELECT folder_id, name, description, rendered_description, creator_id, created_at,
           is_archived, sort_order
      FROM channel_folders WHERE realm_id = %(realm_id)s """


async def of_realm(connection: Connection, realm_id: RealmId) -> list[FolderRow]:
    """Return all folders in order, archived ones included."""
    return await connection.many(
        FolderRow, _SELECT + "ORDER BY sort_order, folder_id", realm_id=realm_id
    )


async def by_id(connection: Connection, realm_id: RealmId, folder_id: FolderId) -> FolderRow | None:
    return await connection.one(
        FolderRow,
        _SELECT + "AND folder_id = %(folder_id)s",
        realm_id=realm_id,
        folder_id=folder_id,
    )


async def insert(
    connection: Connection,
    realm_id: RealmId,
    *,
    name: str,
    description: str,
    rendered_description: str,
    creator_id: UserId | None,
    created_at: datetime,
) -> FolderRow:
    """Insert a folder at the end. The caller has locked the realm's row exclusively."""
    row = await connection.one(
        FolderRow,
        """
        INSERT INTO channel_folders (realm_id, name, folded_name, description,
                                     rendered_description, creator_id, created_at, sort_order)
        SELECT %(realm_id)s, %(name)s, %(folded_name)s, %(description)s,
               %(rendered_description)s, %(creator_id)s, %(created_at)s,
               coalesce(max(f.sort_order), -1) + 1
          FROM channel_folders f WHERE f.realm_id = %(realm_id)s
        RETURNING folder_id, name, description, rendered_description, creator_id, created_at,
                  is_archived, sort_order
        """,
        realm_id=realm_id,
        name=name,
        folded_name=fold_name(name),
        description=description,
        rendered_description=rendered_description,
        creator_id=creator_id,
        created_at=created_at,
    )
    assert row is not None
    return row


async def update(connection: Connection, realm_id: RealmId, row: FolderRow) -> None:
    """Update the folder, but for its place. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE channel_folders
           SET name = %(name)s, folded_name = %(folded_name)s, description = %(description)s,
               rendered_description = %(rendered_description)s, is_archived = %(is_archived)s
         WHERE realm_id = %(realm_id)s AND folder_id = %(folder_id)s
        """,
        realm_id=realm_id,
        folder_id=row.folder_id,
        name=row.name,
        folded_name=fold_name(row.name),
        description=row.description,
        rendered_description=row.rendered_description,
        is_archived=row.is_archived,
    )


async def update_order(
    connection: Connection, realm_id: RealmId, folder_ids: Sequence[FolderId]
) -> None:
    """Update the order of the folders. The caller has locked the realm's row exclusively."""
    await connection.execute(
        """
        UPDATE channel_folders f SET sort_order = n.place - 1
          FROM unnest(%(ids)s::bigint[]) WITH ORDINALITY AS n(folder_id, place)
         WHERE f.realm_id = %(realm_id)s AND f.folder_id = n.folder_id
        """,
        realm_id=realm_id,
        ids=list(folder_ids),
    )
