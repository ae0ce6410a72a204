"""Uploaded files (attachments), and the messages that refer to them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, LiteralString, NotRequired, TypedDict

from storage import message_bits
from storage.database import Connection, Locking, Statement
from storage.ids import AttachmentId, MessageId, RealmId, UserId


class HoldingMessage(TypedDict):
    """A message that holds a file."""

    id: MessageId
    date_sent: int
    """Seconds since 1970."""


class ShownAttachment(TypedDict):
    """A file as the API returns it."""

    id: AttachmentId
    name: str
    path_id: str
    """The part of the URL that identifies the file."""
    size: int
    create_time: int
    """Seconds since 1970."""
    messages: list[HoldingMessage]
    """At most a hundred, the newest."""
    message_ids: NotRequired[list[int]]
    """The same by their ids. Missing only in events of the previous release."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRow:
    attachment_id: AttachmentId
    path_id: str
    """The part of the URL that identifies the file."""
    name: str
    content_type: str
    size: int
    digest: bytes
    owner_id: UserId
    created_at: datetime
    width: int | None = None
    """Width of a picture in pixels; None until it has been examined, 0 if it cannot be displayed.
    """
    height: int | None = None
    is_animated: bool = False
    """Whether there is an animated thumbnail."""

    @property
    def blob_key(self) -> str:
        """Key of the content in the blob store."""
        return f"uploads/{self.path_id.rpartition('/')[0]}"


_OF_ATTACHMENT: Final = re.compile(
    r"(?:uploads|thumbnails)/([0-9]+/[0-9a-f]{2}/[A-Za-z0-9_-]{22})(?:-anim|-large)?(?:\.webp)?"
)

_SELECT: LiteralString = """
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at, a.width, a.height, a.is_animated
          FROM attachments a
"""


async def readable(
    connection: Connection, realm_id: RealmId, user_id: UserId, path_ids: Sequence[str]
) -> list[AttachmentRow]:
    """Return those of the files that the user may read: their own, and readable messages'."""
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
) -> list[ShownAttachment]:
    """Return the owner's files as the API returns them, newest first."""
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
) -> list[ShownAttachment]:
    """Return these files as the API returns them."""
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
    """Insert an attachment; the row's own id is ignored.

    The caller has locked the realm's upload space.
    """
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
    """Return the query that locks the file, if it belongs to this owner."""
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
    """Delete a locked attachment."""
    await connection.execute(
        """
        DELETE FROM attachments
         WHERE realm_id = %(realm_id)s AND attachment_id = %(attachment_id)s
        """,
        realm_id=realm_id,
        attachment_id=attachment_id,
    )


def forget_messages(realm_id: RealmId, attachment_id: AttachmentId) -> Statement:
    """Under the clock's lock: remove the references of a deleted attachment from messages.

    If its content is kept for a hold, they stay as former ones.
    """
    return Statement(
        """
        WITH gone AS (
            DELETE FROM attachment_messages
             WHERE realm_id = %(realm_id)s AND attachment_id = %(attachment_id)s
            RETURNING message_id
        ), kept AS (
            INSERT INTO former_attachment_messages (realm_id, attachment_id, message_id)
            SELECT %(realm_id)s, %(attachment_id)s, g.message_id FROM gone g
             WHERE EXISTS (SELECT FROM held_files f
                            WHERE f.realm_id = %(realm_id)s
                              AND f.attachment_id = %(attachment_id)s)
            ON CONFLICT DO NOTHING
        )
        DELETE FROM former_attachment_messages
         WHERE realm_id = %(realm_id)s AND attachment_id = %(attachment_id)s
           AND NOT EXISTS (SELECT FROM held_files f
                            WHERE f.realm_id = %(realm_id)s
                              AND f.attachment_id = %(attachment_id)s)
        """,
        {"realm_id": realm_id, "attachment_id": attachment_id},
    )


# -- what messages hold


def hold(realm_id: RealmId, message_id: MessageId, ids: Sequence[AttachmentId]) -> Statement:
    """Under the clock's lock: set a message's attachments; append events to their owners."""
    return Statement(
        """
        SELECT set_attachments(%(realm_id)s, %(message_id)s, %(attachment_ids)s::bigint[])
        """,
        {"realm_id": realm_id, "message_id": message_id, "attachment_ids": list(ids)},
    )


def let_go(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Statement:
    """Under the clock's lock: clear the messages' attachments; append events to their owners."""
    return Statement(
        "SELECT let_attachments_go(%(realm_id)s, %(message_ids)s::bigint[])",
        {"realm_id": realm_id, "message_ids": list(message_ids)},
    )


def locking_held(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Locking[AttachmentRow]:
    """Lock all attachments of the messages: for writes outside a batch, which may wait."""
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
    """Return the attachments of the message."""
    query = locking_held(realm_id, [message_id])
    return await connection.many(AttachmentRow, query.sql, **query.params)


async def note_letting_go(
    connection: Connection,
    realm_id: RealmId,
    attachment_ids: Sequence[AttachmentId],
    now: datetime,
) -> None:
    """Record that a message drops these locked attachments: their retention period starts now."""
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
    """Return those of the owner's attachments that the message refers to."""
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


# -- thumbnails


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


async def without_thumbnails(
    connection: Connection, realm_id: RealmId, above: AttachmentId, *, limit: int
) -> list[AttachmentId]:
    """Return pictures with larger ids that have not been examined yet, in the order of the ids."""
    return await connection.values(
        """
        SELECT attachment_id FROM attachments
         WHERE realm_id = %(realm_id)s AND attachment_id > %(above)s AND width IS NULL
           AND content_type LIKE 'image/%%'
         ORDER BY attachment_id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        above=above,
        limit=limit,
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
    """Record that thumbnails are in the store; a width of 0 means that none can be made."""
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
    """Return messages that refer to the picture and contain `pending`, newest first."""
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
    """Return the pictures for which these messages contain the placeholder `pending`."""
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
        has_attachment=message_bits.HAS_ATTACHMENT,
        pending=pending,
    )


# -- orphans


async def orphans(
    connection: Connection, realm_id: RealmId, *, before: datetime, limit: int
) -> list[AttachmentRow]:
    """Return files that have been in no message, sent or scheduled, since `before`."""
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
    """Under the clock's lock: delete a locked attachment if it is an orphan.

    Appends the event of its owner; the statement returns whether it was deleted. The upload space
    of the realm is locked too.
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
    """Return those of the keys that belong to an attachment or to a thumbnail of one.

    Deleted files that are kept for a legal hold count.
    """
    starts = {key: _OF_ATTACHMENT.fullmatch(key) for key in keys}
    known = await connection.values(
        """
        SELECT f.start
          FROM (SELECT a.realm_id, regexp_replace(a.path_id, '/[^/]*$', '') FROM attachments a
                UNION ALL
                SELECT h.realm_id, regexp_replace(h.attachment ->> 'path_id', '/[^/]*$', '')
                  FROM held_files h) AS f(realm_id, start)
         WHERE f.realm_id = %(realm_id)s AND f.start = ANY(%(starts)s::text[])
        """,
        realm_id=realm_id,
        starts=[start[1] for start in starts.values() if start],
    )
    return [key for key, start in starts.items() if start and start[1] in known]
