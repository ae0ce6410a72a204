"""Files that people have uploaded, and the messages that hold them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, LiteralString

from storage import messages
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
    width: int | None = None
    """Of a picture, in pixels; None as long as nobody has looked, 0 if it cannot be shown."""
    height: int | None = None
    is_animated: bool = False
    """Whether there is a small picture that moves."""

    @property
    def blob_key(self) -> str:
        """Where its content is kept."""
        return f"uploads/{self.path_id.rpartition('/')[0]}"


_OF_ATTACHMENT: Final = re.compile(
    r"(?:uploads|thumbnails)/([0-9]+/[0-9a-f]{2}/[A-Za-z0-9_-]{22})(?:-anim)?(?:\.webp)?"
)

_SELECT: LiteralString = """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at, a.width, a.height, a.is_animated
          FROM attachments a
"""


async def readable(
    connection: Connection, realm_id: RealmId, user_id: UserId, path_ids: Sequence[str]
) -> list[AttachmentRow]:
    """Those of the files that the user may read: their own, and what a message shows them."""
    return await connection.many(
        AttachmentRow,
        _SELECT
        + """
         WHERE a.realm_id = %(realm_id)s AND a.path_id = ANY(%(path_ids)s::text[])
           AND (a.owner_id = %(user_id)s
                OR shows_attachment(a.realm_id, %(user_id)s, a.attachment_id))
         ORDER BY a.attachment_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        path_ids=list(path_ids),
    )


async def shown_of_owner(
    connection: Connection, realm_id: RealmId, owner_id: UserId
) -> list[dict[str, Any]]:
    """Return what somebody has uploaded, as clients know it; the newest first."""
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
    """Return these as clients know them."""
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
    """Keep a new one; its own id does not count. The caller has locked the organization's space."""
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
    """Return the file, if it is theirs."""
    return Locking(
        AttachmentRow,
        _SELECT
        + """
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
    """What the messages hold, however much: for writes that run alone, and so wait for it."""
    return Locking(
        AttachmentRow,
        """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at, a.width, a.height, a.is_animated
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


async def held_by(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> list[AttachmentRow]:
    """Return what the message holds."""
    query = locking_held(realm_id, [message_id])
    return await connection.many(AttachmentRow, query.sql, **query.params)


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
    """Return those of somebody's files that a message holds."""
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


# -- small pictures


async def by_id(
    connection: Connection, realm_id: RealmId, attachment_id: AttachmentId
) -> AttachmentRow | None:
    return await connection.one(
        AttachmentRow,
        _SELECT
        + """
         WHERE a.realm_id = %(realm_id)s AND a.attachment_id = %(attachment_id)s
        """,
        realm_id=realm_id,
        attachment_id=attachment_id,
    )


async def note_picture(
    connection: Connection,
    realm_id: RealmId,
    attachment_id: AttachmentId,
    *,
    width: int,
    height: int,
    is_animated: bool,
) -> None:
    """Small ones are in the store; a width of 0: none can be made."""
    await connection.execute(
        """
        UPDATE attachments
           SET width = %(width)s, height = %(height)s, is_animated = %(is_animated)s
         WHERE realm_id = %(realm_id)s AND attachment_id = %(attachment_id)s
        """,
        realm_id=realm_id,
        attachment_id=attachment_id,
        width=width,
        height=height,
        is_animated=is_animated,
    )


async def waiting_messages(
    connection: Connection,
    realm_id: RealmId,
    attachment_id: AttachmentId,
    *,
    pending: str,
    before: MessageId | None,
    limit: int,
) -> list[MessageId]:
    """Messages that hold the picture and show what is `pending` in them, the newest first."""
    return await connection.values(
        """
        SELECT m.id FROM attachment_messages h
          JOIN messages m ON m.realm_id = h.realm_id AND m.id = h.message_id
         WHERE h.realm_id = %(realm_id)s AND h.attachment_id = %(attachment_id)s
           AND (%(before)s::bigint IS NULL OR h.message_id < %(before)s)
           AND strpos(m.rendered_content, %(pending)s) > 0
         ORDER BY h.message_id DESC LIMIT %(limit)s
        """,
        realm_id=realm_id,
        attachment_id=attachment_id,
        pending=pending,
        before=before,
        limit=limit,
    )


async def awaited(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId], *, pending: str
) -> list[AttachmentId]:
    """Return the pictures for which these messages show what is `pending`."""
    return await connection.values(
        """
        SELECT DISTINCT h.attachment_id FROM messages m
          JOIN attachment_messages h ON h.realm_id = m.realm_id AND h.message_id = m.id
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
           AND m.traits & %(has_attachment)s <> 0
           AND strpos(m.rendered_content, %(pending)s) > 0
         ORDER BY h.attachment_id
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        has_attachment=messages.HAS_ATTACHMENT,
        pending=pending,
    )


# -- what nobody needs


async def orphans(
    connection: Connection, realm_id: RealmId, *, before: datetime, limit: int
) -> list[AttachmentRow]:
    """Return files that have been in no message since then, and in none that is yet to be sent."""
    return await connection.many(
        AttachmentRow,
        _SELECT
        + """
         WHERE a.realm_id = %(realm_id)s AND is_orphan(a, %(before)s)
         ORDER BY a.attachment_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        before=before,
        limit=limit,
    )


def delete_orphan(
    realm_id: RealmId, attachment_id: AttachmentId, *, before: datetime, write_id: str
) -> Statement:
    """After the clock: a locked one goes if it is an orphan then, and its owner is told.

    Returns whether it went. The organization's space is locked too.
    """
    return Statement(
        "SELECT delete_orphan(%(realm_id)s, %(attachment_id)s, %(before)s, %(write_id)s)",
        {
            "realm_id": realm_id,
            "attachment_id": attachment_id,
            "before": before,
            "write_id": write_id,
        },
    )


async def known_blobs(connection: Connection, realm_id: RealmId, keys: Sequence[str]) -> list[str]:
    """Return those of the keys that an attachment has, or a small picture of one."""
    starts = {key: _OF_ATTACHMENT.fullmatch(key) for key in keys}
    known = await connection.values(
        """
        SELECT regexp_replace(a.path_id, '/[^/]*$', '') FROM attachments a
         WHERE a.realm_id = %(realm_id)s
           AND regexp_replace(a.path_id, '/[^/]*$', '') = ANY(%(starts)s::text[])
        """,
        realm_id=realm_id,
        starts=[start[1] for start in starts.values() if start],
    )
    return [key for key, start in starts.items() if start and start[1] in known]


# -- how much there is


@dataclass(frozen=True, slots=True)
class SpaceRow:
    bytes: int


def locking_space(realm_id: RealmId) -> Locking[SpaceRow]:
    """Return how much the organization has uploaded."""
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
    """So much more, or less, is used. The caller has locked the row. How much it is then."""
    used: int = await connection.value(
        """
        UPDATE upload_space SET bytes = bytes + %(size)s WHERE realm_id = %(realm_id)s
        RETURNING bytes
        """,
        realm_id=realm_id,
        size=size,
    )
    return used
