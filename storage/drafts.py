"""Drafts: unsent messages, stored for all clients of a user."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection, Locking
from storage.ids import DraftId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class Draft:
    """Content and recipient of a draft: a channel, users, or none yet."""

    type: str
    to_ids: list[int]
    topic: str
    content: str
    edited_at: datetime


@dataclass(frozen=True, slots=True)
class DraftRow(Draft):
    draft_id: DraftId


async def of_user(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int | None = None
) -> list[DraftRow]:
    """Return the user's drafts, last edited first."""
    return await connection.many(
        DraftRow,
        """
        SELECT draft_id, type, to_ids, topic, content, edited_at
          FROM drafts WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
         ORDER BY edited_at DESC, draft_id DESC LIMIT %(limit)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )


def locking(realm_id: RealmId, user_id: UserId, draft_id: DraftId) -> Locking[DraftRow]:
    """Return the query that locks the user's draft."""
    return Locking(
        DraftRow,
        """
        SELECT draft_id, type, to_ids, topic, content, edited_at
          FROM drafts WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s
           AND draft_id = %(draft_id)s
        """,
        {"realm_id": realm_id, "user_id": user_id, "draft_id": draft_id},
        expected=1,
    )


async def insert(
    connection: Connection, realm_id: RealmId, user_id: UserId, drafts: Sequence[Draft]
) -> list[DraftId]:
    """Insert drafts; return their ids, in order."""
    return [
        DraftId(
            await connection.value(
                """
                INSERT INTO drafts (realm_id, user_id, type, to_ids, topic, content, edited_at)
                VALUES (%(realm_id)s, %(user_id)s, %(type)s, %(to_ids)s::bigint[], %(topic)s,
                        %(content)s, %(edited_at)s)
                RETURNING draft_id
                """,
                realm_id=realm_id,
                user_id=user_id,
                type=draft.type,
                to_ids=draft.to_ids,
                topic=draft.topic,
                content=draft.content,
                edited_at=draft.edited_at,
            )
        )
        for draft in drafts
    ]


async def update(
    connection: Connection, realm_id: RealmId, user_id: UserId, draft_id: DraftId, draft: Draft
) -> None:
    """Update a locked draft."""
    await connection.execute(
        """
        UPDATE drafts SET type = %(type)s, to_ids = %(to_ids)s::bigint[], topic = %(topic)s,
               content = %(content)s, edited_at = %(edited_at)s
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND draft_id = %(draft_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        draft_id=draft_id,
        type=draft.type,
        to_ids=draft.to_ids,
        topic=draft.topic,
        content=draft.content,
        edited_at=draft.edited_at,
    )


async def delete(
    connection: Connection, realm_id: RealmId, user_id: UserId, draft_id: DraftId
) -> None:
    """Delete a locked draft."""
    await connection.execute(
        """
        DELETE FROM drafts
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND draft_id = %(draft_id)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        draft_id=draft_id,
    )


async def delete_of_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> None:
    """Delete all drafts of these users."""
    await connection.execute(
        "DELETE FROM drafts WHERE realm_id = %(realm_id)s AND user_id = ANY(%(user_ids)s)",
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
