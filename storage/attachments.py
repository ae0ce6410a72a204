"""Files that people have uploaded, and the messages that hold them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.database import Connection, Locking, Statement
from storage.ids import AttachmentId, MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRow:
    attachment_id: AttachmentId
    path_id: str
    """What stands in its address."""
    name: str
    content_type: str
    size: int
    digest: bytes
    owner_id: UserId
    created_at: datetime

    @property
    def blob_key(self) -> str:
        """Where its content is kept."""
        return f"uploads/{self.path_id.rpartition('/')[0]}"


async def readable(
    connection: Connection, realm_id: RealmId, user_id: UserId, path_ids: Sequence[str]
) -> list[AttachmentRow]:
    """Those of the files that the user may read: their own, and what a message shows them."""
    return await connection.many(
        AttachmentRow,
        """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at
          FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND a.path_id = ANY(%(path_ids)s::text[])
           AND (a.owner_id = %(user_id)s OR EXISTS (
                SELECT FROM message_states(%(realm_id)s, %(user_id)s, ARRAY(
                    SELECT h.message_id FROM attachment_messages h
                     WHERE h.realm_id = a.realm_id AND h.attachment_id = a.attachment_id)) s
                 WHERE s.accessible))
         ORDER BY a.attachment_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        path_ids=list(path_ids),
    )


async def shown_of_owner(
    connection: Connection, realm_id: RealmId, owner_id: UserId
) -> list[dict[str, Any]]:
    """What somebody has uploaded, as clients know it; the newest first."""
    return await connection.values(
        """
        SELECT shown_attachment(a.realm_id, a.attachment_id) FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND a.owner_id = %(owner_id)s
         ORDER BY a.attachment_id DESC
        """,
        realm_id=realm_id,
        owner_id=owner_id,
    )


async def shown(
    connection: Connection, realm_id: RealmId, attachment_ids: Sequence[AttachmentId]
) -> list[dict[str, Any]]:
    """These as clients know them."""
    return await connection.values(
        """
        SELECT shown_attachment(a.realm_id, a.attachment_id) FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND a.attachment_id = ANY(%(attachment_ids)s::bigint[])
         ORDER BY a.attachment_id
        """,
        realm_id=realm_id,
        attachment_ids=list(attachment_ids),
    )


async def insert(connection: Connection, realm_id: RealmId, row: AttachmentRow) -> AttachmentId:
    """Keep a new one; its own id does not count. The caller holds the organization's space."""
    attachment_id: AttachmentId = await connection.value(
        """
        INSERT INTO attachments (realm_id, path_id, name, content_type, size, digest, owner_id,
                                 created_at)
        VALUES (%(realm_id)s, %(path_id)s, %(name)s, %(content_type)s, %(size)s, %(digest)s,
                %(owner_id)s, %(created_at)s)
        RETURNING attachment_id
        """,
        realm_id=realm_id,
        path_id=row.path_id,
        name=row.name,
        content_type=row.content_type,
        size=row.size,
        digest=row.digest,
        owner_id=row.owner_id,
        created_at=row.created_at,
    )
    return attachment_id


def locking_of_owner(
    realm_id: RealmId, owner_id: UserId, attachment_id: AttachmentId
) -> Locking[AttachmentRow]:
    """The file, if it is theirs."""
    return Locking(
        AttachmentRow,
        """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at
          FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND a.owner_id = %(owner_id)s
           AND a.attachment_id = %(attachment_id)s
        """,
        {"realm_id": realm_id, "owner_id": owner_id, "attachment_id": attachment_id},
        expected=1,
    )


async def delete(connection: Connection, realm_id: RealmId, attachment_id: AttachmentId) -> None:
    """A locked one goes."""
    await connection.execute(
        """
        DELETE FROM attachments
         WHERE realm_id = %(realm_id)s AND attachment_id = %(attachment_id)s
        """,
        realm_id=realm_id,
        attachment_id=attachment_id,
    )


def forget_messages(realm_id: RealmId, attachment_id: AttachmentId) -> Statement:
    """After the clock: no message holds what has been deleted."""
    return Statement(
        """
        DELETE FROM attachment_messages
         WHERE realm_id = %(realm_id)s AND attachment_id = %(attachment_id)s
        """,
        {"realm_id": realm_id, "attachment_id": attachment_id},
    )


# -- what messages hold


def hold(realm_id: RealmId, message_id: MessageId, ids: Sequence[AttachmentId]) -> Statement:
    """After the clock: the message holds these and no others; their owners are told."""
    return Statement(
        """
        SELECT set_attachments(%(realm_id)s, %(message_id)s, %(attachment_ids)s::bigint[])
        """,
        {"realm_id": realm_id, "message_id": message_id, "attachment_ids": list(ids)},
    )


def let_go(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Statement:
    """After the clock: the messages hold nothing any more; the owners are told."""
    return Statement(
        "SELECT let_attachments_go(%(realm_id)s, %(message_ids)s::bigint[])",
        {"realm_id": realm_id, "message_ids": list(message_ids)},
    )


def locking_held(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Locking[AttachmentRow]:
    """What the messages hold."""
    return Locking(
        AttachmentRow,
        """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at
          FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND a.attachment_id = ANY (ARRAY(
               SELECT h.attachment_id FROM attachment_messages h
                WHERE h.realm_id = %(realm_id)s
                  AND h.message_id = ANY(%(message_ids)s::bigint[])))
         ORDER BY a.attachment_id
        """,
        {"realm_id": realm_id, "message_ids": list(message_ids)},
        expected=0,
    )


async def note_letting_go(
    connection: Connection,
    realm_id: RealmId,
    attachment_ids: Sequence[AttachmentId],
    now: datetime,
) -> None:
    """Locked ones are about to be let go of by a message: from now on their days are counted."""
    await connection.execute(
        """
        UPDATE attachments SET let_go_at = %(now)s
         WHERE realm_id = %(realm_id)s AND attachment_id = ANY(%(attachment_ids)s::bigint[])
        """,
        realm_id=realm_id,
        attachment_ids=list(attachment_ids),
        now=now,
    )


async def own_held(
    connection: Connection, realm_id: RealmId, owner_id: UserId, message_id: MessageId
) -> list[AttachmentId]:
    """Those of somebody's files that a message holds."""
    return await connection.values(
        """
        SELECT a.attachment_id FROM attachments a
          JOIN attachment_messages h ON h.realm_id = a.realm_id
               AND h.attachment_id = a.attachment_id AND h.message_id = %(message_id)s
         WHERE a.realm_id = %(realm_id)s AND a.owner_id = %(owner_id)s
         ORDER BY a.attachment_id
        """,
        realm_id=realm_id,
        owner_id=owner_id,
        message_id=message_id,
    )


# -- what nobody needs


async def orphans(
    connection: Connection,
    realm_id: RealmId,
    *,
    before: datetime,
    limit: int,
    among: Sequence[AttachmentId] | None = None,
) -> list[AttachmentRow]:
    """Files that have been in no message since then, and in none that is yet to be sent."""
    return await connection.many(
        AttachmentRow,
        """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at
          FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND greatest(a.created_at, a.let_go_at) < %(before)s
           AND (%(among)s::bigint[] IS NULL OR a.attachment_id = ANY(%(among)s::bigint[]))
           AND NOT EXISTS (SELECT FROM attachment_messages h
                            WHERE h.realm_id = %(realm_id)s
                              AND h.attachment_id = a.attachment_id)
           AND NOT EXISTS (SELECT FROM scheduled_messages s
                            WHERE s.realm_id = %(realm_id)s AND s.sender_id = a.owner_id
                              AND strpos(s.content, a.path_id) > 0)
           AND NOT EXISTS (SELECT FROM drafts d
                            WHERE d.realm_id = %(realm_id)s AND d.user_id = a.owner_id
                              AND strpos(d.content, a.path_id) > 0)
           AND NOT EXISTS (SELECT FROM saved_snippets s
                            WHERE s.realm_id = %(realm_id)s AND s.user_id = a.owner_id
                              AND strpos(s.content, a.path_id) > 0)
         ORDER BY a.attachment_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        before=before,
        limit=limit,
        among=None if among is None else list(among),
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Those of the keys that an attachment has."""
    return await connection.values(
        """
        SELECT 'uploads/' || regexp_replace(a.path_id, '/[^/]*$', '') FROM attachments a
         WHERE a.realm_id = %(realm_id)s
           AND regexp_replace(a.path_id, '/[^/]*$', '') = ANY(%(starts)s::text[])
        """,
        realm_id=realm_id,
        starts=[key.removeprefix("uploads/") for key in keys],
    )


# -- how much there is


@dataclass(frozen=True, slots=True)
class SpaceRow:
    bytes: int


def locking_space(realm_id: RealmId) -> Locking[SpaceRow]:
    """How much the organization has uploaded."""
    return Locking(
        SpaceRow,
        "SELECT bytes FROM upload_space WHERE realm_id = %(realm_id)s",
        {"realm_id": realm_id},
        expected=1,
    )


async def space_used(connection: Connection, realm_id: RealmId) -> int:
    used: int | None = await connection.value(
        "SELECT bytes FROM upload_space WHERE realm_id = %(realm_id)s", realm_id=realm_id
    )
    return used or 0


async def begin_space(connection: Connection, realm_id: RealmId) -> None:
    """Let there be a row to lock."""
    await connection.execute(
        "INSERT INTO upload_space (realm_id) VALUES (%(realm_id)s) ON CONFLICT DO NOTHING",
        realm_id=realm_id,
    )


async def add_to_space(connection: Connection, realm_id: RealmId, size: int) -> int:
    """So much more, or less, is used. The caller holds the row. How much it is then."""
    used: int = await connection.value(
        """
        UPDATE upload_space SET bytes = bytes + %(size)s WHERE realm_id = %(realm_id)s
        RETURNING bytes
        """,
        realm_id=realm_id,
        size=size,
    )
    return used
