"""Saved snippets: texts that users keep for reuse."""

from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection, Locking
from storage.ids import RealmId, SavedSnippetId, UserId


@dataclass(frozen=True, slots=True)
class SavedSnippetRow:
    saved_snippet_id: SavedSnippetId
    title: str
    content: str
    created_at: datetime


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[SavedSnippetRow]:
    """Return the user's snippets, in the order of creation."""
    return await connection.many(
        SavedSnippetRow,
        """
        SELECT saved_snippet_id, title, content, created_at FROM saved_snippets
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
         ORDER BY saved_snippet_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


def locking(
    realm_id: RealmId, user_id: UserId, saved_snippet_id: SavedSnippetId
) -> Locking[SavedSnippetRow]:
    """Return the query that locks the user's snippet."""
    return Locking(
        SavedSnippetRow,
        """
        SELECT saved_snippet_id, title, content, created_at FROM saved_snippets
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND saved_snippet_id = %(saved_snippet_id)s
        """,
        {"realm_id": realm_id, "user_id": user_id, "saved_snippet_id": saved_snippet_id},
        expected=1,
    )


async def insert(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    title: str,
    content: str,
    created_at: datetime,
) -> SavedSnippetId:
    """Insert a snippet; return its id."""
    new: SavedSnippetId = await connection.value(
        """
        INSERT INTO saved_snippets (realm_id, user_id, title, content, created_at)
        VALUES (%(realm_id)s, %(user_id)s, %(title)s, %(content)s, %(created_at)s)
        RETURNING saved_snippet_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        title=title,
        content=content,
        created_at=created_at,
    )
    return new


async def update(
    connection: Connection, realm_id: RealmId, user_id: UserId, snippet: SavedSnippetRow
) -> None:
    """Update title and content of a locked snippet."""
    await connection.execute(
        """
        UPDATE saved_snippets SET title = %(title)s, content = %(content)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND saved_snippet_id = %(saved_snippet_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        saved_snippet_id=snippet.saved_snippet_id,
        title=snippet.title,
        content=snippet.content,
    )


async def delete(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    saved_snippet_id: SavedSnippetId,
) -> None:
    """Delete a locked snippet."""
    await connection.execute(
        """
        DELETE FROM saved_snippets
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND saved_snippet_id = %(saved_snippet_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        saved_snippet_id=saved_snippet_id,
    )
