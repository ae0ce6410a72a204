"""Legal holds: what must be kept, and what is kept beyond its deletion."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import LiteralString

from storage.attachments import AttachmentRow
from storage.database import Connection, Locking
from storage.ids import ChannelId, LegalHoldId, MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True, kw_only=True)
class LegalHoldRow:
    hold_id: LegalHoldId
    name: str
    reason: str
    is_realm_wide: bool
    user_ids: list[UserId]
    """Users with messages, files and direct conversations that are held."""
    channel_ids: list[ChannelId]
    sent_from: datetime | None
    """The first moment of the range of sending times; None: from the beginning."""
    sent_until: datetime | None
    """The first moment after the range; None: it has no end."""
    creator_id: UserId
    created_at: datetime
    releaser_id: UserId | None = None
    released_at: datetime | None = None
    release_reason: str | None = None


_SELECT: LiteralString = """
    SELECT hold_id, name, reason, is_realm_wide, user_ids, channel_ids, sent_from, sent_until,
           creator_id, created_at, releaser_id, released_at, release_reason
      FROM legal_holds WHERE realm_id = %(realm_id)s"""


async def all_of_them(connection: Connection, realm_id: RealmId) -> list[LegalHoldRow]:
    """Return the realm's holds, newest first, released ones included."""
    return await connection.many(
        LegalHoldRow, _SELECT + " ORDER BY hold_id DESC", realm_id=realm_id
    )


def locking(realm_id: RealmId, hold_id: LegalHoldId) -> Locking[LegalHoldRow]:
    """Return the query that locks this hold."""
    sql = _SELECT + " AND hold_id = %(hold_id)s"
    return Locking(LegalHoldRow, sql, {"realm_id": realm_id, "hold_id": hold_id}, expected=1)


async def count_active(connection: Connection, realm_id: RealmId) -> int:
    count: int = await connection.value(
        "SELECT count(*) FROM legal_holds WHERE realm_id = %(realm_id)s AND released_at IS NULL",
        realm_id=realm_id,
    )
    return count


async def insert(connection: Connection, realm_id: RealmId, row: LegalHoldRow) -> LegalHoldId:
    """Insert a hold; the row's own id is ignored."""
    hold_id: LegalHoldId = await connection.value(
        """
        INSERT INTO legal_holds (realm_id, name, reason, is_realm_wide, user_ids, channel_ids,
                                 sent_from, sent_until, creator_id, created_at)
        VALUES (%(realm_id)s, %(name)s, %(reason)s, %(is_realm_wide)s, %(user_ids)s::bigint[],
                %(channel_ids)s::bigint[], %(sent_from)s, %(sent_until)s, %(creator_id)s,
                %(created_at)s)
        RETURNING hold_id
        """,
        realm_id=realm_id,
        name=row.name,
        reason=row.reason,
        is_realm_wide=row.is_realm_wide,
        user_ids=row.user_ids,
        channel_ids=row.channel_ids,
        sent_from=row.sent_from,
        sent_until=row.sent_until,
        creator_id=row.creator_id,
        created_at=row.created_at,
    )
    return hold_id


async def release(
    connection: Connection,
    realm_id: RealmId,
    hold_id: LegalHoldId,
    *,
    releaser_id: UserId,
    released_at: datetime,
    reason: str,
) -> None:
    """Mark a locked hold as released."""
    await connection.execute(
        """
        UPDATE legal_holds
           SET releaser_id = %(releaser_id)s, released_at = %(released_at)s,
               release_reason = %(reason)s
         WHERE realm_id = %(realm_id)s AND hold_id = %(hold_id)s
        """,
        realm_id=realm_id,
        hold_id=hold_id,
        releaser_id=releaser_id,
        released_at=released_at,
        reason=reason,
    )


# -- what holds cover


async def held_users(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> list[UserId]:
    """Return the users that a hold covers, or with anything sent or uploaded that is held."""
    return await connection.values(
        """
        SELECT u.user_id FROM unnest(%(user_ids)s::bigint[]) AS u(user_id)
         WHERE is_user_held(%(realm_id)s, u.user_id)
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )


async def names_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> bool:
    """Return whether a hold names the user, or covers the organization."""
    named: bool = await connection.value(
        "SELECT is_user_named_by_hold(%(realm_id)s, %(user_id)s)",
        realm_id=realm_id,
        user_id=user_id,
    )
    return named


async def held_messages(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> set[MessageId]:
    """Return those of the messages that are held."""
    found: list[MessageId] = await connection.values(
        """
        SELECT m.id FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
           AND has_holds(%(realm_id)s) AND is_held(m)
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )
    return {*found}


async def keep_messages(
    connection: Connection,
    realm_id: RealmId,
    message_ids: Sequence[MessageId],
    *,
    actor_id: UserId | None,
    now: datetime,
) -> None:
    """Copy those of the locked messages that are held to the archive, before their deletion.

    With the names of their places, reactions, widgets and links to files. The actor is who deletes
    them.
    """
    await connection.execute(
        """
        WITH held AS MATERIALIZED (
            SELECT m FROM messages m
             WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
               AND has_holds(%(realm_id)s) AND is_held(m)
        ), links AS (
            INSERT INTO former_attachment_messages (realm_id, attachment_id, message_id)
            SELECT l.realm_id, l.attachment_id, l.message_id FROM attachment_messages l
             WHERE l.realm_id = %(realm_id)s
               AND l.message_id = ANY (ARRAY(SELECT (h.m).id FROM held h))
            ON CONFLICT DO NOTHING
        )
        INSERT INTO expired_messages (realm_id, id, expired_at, message, is_kept_for_hold, actor_id,
                                      context)
        SELECT %(realm_id)s, (h.m).id, %(now)s, to_jsonb(h.m), true, %(actor_id)s,
               jsonb_build_object(
                   'channel', (SELECT c.name FROM channels c
                                WHERE c.realm_id = %(realm_id)s
                                  AND c.channel_id = (h.m).channel_id),
                   'topic', (SELECT t.name FROM topics t
                              WHERE t.realm_id = %(realm_id)s AND (h.m).channel_id IS NOT NULL
                                AND t.topic_id = (h.m).conversation_id),
                   'user_ids', (SELECT d.user_ids FROM dm_groups d
                                 WHERE d.realm_id = %(realm_id)s AND (h.m).channel_id IS NULL
                                   AND d.dm_group_id = (h.m).conversation_id),
                   'reactions', coalesce((
                       SELECT jsonb_agg(jsonb_build_object(
                                  'user_id', r.user_id, 'reaction_type', r.reaction_type,
                                  'emoji_code', r.emoji_code, 'emoji_name', r.emoji_name)
                                  ORDER BY r.position)
                         FROM reactions r
                        WHERE r.realm_id = %(realm_id)s AND r.message_id = (h.m).id), '[]'),
                   'submessages', coalesce((
                       SELECT jsonb_agg(jsonb_build_object(
                                  'sender_id', s.sender_id, 'msg_type', s.msg_type,
                                  'content', s.content) ORDER BY s.id)
                         FROM submessages s
                        WHERE s.realm_id = %(realm_id)s AND s.message_id = (h.m).id), '[]'))
          FROM held h
        ON CONFLICT (realm_id, id) DO NOTHING
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        actor_id=actor_id,
        now=now,
    )


async def keep_file(
    connection: Connection, realm_id: RealmId, row: AttachmentRow, *, now: datetime
) -> bool:
    """Keep the row of a locked file that is about to be deleted if it is held; return whether."""
    count = await connection.execute(
        """
        INSERT INTO held_files (realm_id, attachment_id, deleted_at, attachment)
        SELECT a.realm_id, a.attachment_id, %(now)s, to_jsonb(a) FROM attachments a
         WHERE a.realm_id = %(realm_id)s AND a.attachment_id = %(attachment_id)s
           AND is_file_held(a)
        """,
        realm_id=realm_id,
        attachment_id=row.attachment_id,
        now=now,
    )
    return count > 0


# -- what a release lets go


async def drop_released_messages(connection: Connection, realm_id: RealmId, *, limit: int) -> int:
    """Delete up to `limit` messages that were kept for holds alone, and are held no more."""
    return await connection.execute(
        """
        DELETE FROM expired_messages e
         USING (SELECT realm_id, id FROM expired_messages k
                 WHERE k.realm_id = %(realm_id)s AND k.is_kept_for_hold
                   AND NOT is_held_in_archive(k)
                 LIMIT %(limit)s FOR UPDATE SKIP LOCKED) AS gone
         WHERE e.realm_id = gone.realm_id AND e.id = gone.id
        """,
        realm_id=realm_id,
        limit=limit,
    )


async def has_kept_files(connection: Connection, realm_id: RealmId) -> bool:
    """Return whether any file has been deleted while it was held."""
    found: bool = await connection.value(
        "SELECT EXISTS (SELECT FROM held_files WHERE realm_id = %(realm_id)s)", realm_id=realm_id
    )
    return found


async def drop_released_files(
    connection: Connection, realm_id: RealmId, *, limit: int
) -> list[AttachmentRow]:
    """Delete up to `limit` rows of deleted files that are held no more; return them."""
    return await connection.many(
        AttachmentRow,
        """
        WITH gone AS (
            DELETE FROM held_files f
             WHERE f.realm_id = %(realm_id)s AND f.attachment_id = ANY (ARRAY(
                   SELECT k.attachment_id FROM held_files k
                    WHERE k.realm_id = %(realm_id)s
                      AND NOT is_file_held(jsonb_populate_record(NULL::attachments, k.attachment))
                    LIMIT %(limit)s FOR UPDATE SKIP LOCKED))
            RETURNING f.attachment_id, f.attachment
        ), links AS (
            DELETE FROM former_attachment_messages l
             WHERE l.realm_id = %(realm_id)s
               AND l.attachment_id = ANY (ARRAY(SELECT attachment_id FROM gone))
        )
        SELECT a.attachment_id, a.path_id, a.name, a.content_type, a.size, a.digest, a.owner_id,
               a.created_at, a.width, a.height, a.is_animated
          FROM gone g CROSS JOIN jsonb_populate_record(NULL::attachments, g.attachment) AS a
        """,
        realm_id=realm_id,
        limit=limit,
    )
