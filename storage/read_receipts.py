"""Read receipts: which users have read a message."""

from typing import Final

from storage.database import Connection
from storage.ids import MessageId, RealmId, UserId

_READERS: Final = """
    WITH m AS MATERIALIZED (
        SELECT m.id, m.sender_id, m.origin_channel_id, m.origin_conversation_id
          FROM messages m WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
    ), received AS MATERIALIZED (
        SELECT s.user_id FROM m JOIN subscriptions s
            ON s.realm_id = %(realm_id)s AND s.channel_id = m.origin_channel_id
               AND s.active AND s.spans @> m.id
        UNION ALL
        SELECT s.user_id FROM m JOIN subscriptions s
            ON s.realm_id = %(realm_id)s AND s.channel_id = m.origin_channel_id
               AND NOT s.active AND s.spans @> m.id
        UNION ALL
        SELECT unnest(g.user_ids) FROM m JOIN dm_groups g
            ON g.realm_id = %(realm_id)s AND g.dm_group_id = m.origin_conversation_id
    )
    SELECT u.user_id
      FROM m CROSS JOIN received r
      JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = r.user_id
     WHERE u.user_id <> m.sender_id AND u.is_active AND u.bot_type IS NULL
       AND coalesce((u.settings ->> 'send_read_receipts')::boolean, %(sends)s)
       AND NOT EXISTS (
           SELECT FROM muted_users x
            WHERE x.realm_id = %(realm_id)s AND x.user_id = u.user_id
              AND x.muted_user_id = %(asked_by)s AND x.muted_at IS NOT NULL)
       AND NOT EXISTS (
           SELECT FROM muted_users x
            WHERE x.realm_id = %(realm_id)s AND x.user_id = %(asked_by)s
              AND x.muted_user_id = u.user_id AND x.muted_at IS NOT NULL)
       AND NOT EXISTS (
           SELECT FROM message_flags f
            WHERE f.realm_id = %(realm_id)s AND f.user_id = u.user_id
              AND f.message_id = m.id AND f.flags & {UNREAD} <> 0)
       AND (EXISTS (
            SELECT FROM channel_read c
             WHERE c.realm_id = %(realm_id)s AND c.user_id = u.user_id
               AND c.channel_id = coalesce(m.origin_channel_id, 0) AND c.read @> m.id)
         OR EXISTS (
            SELECT FROM conversation_read c
             WHERE c.realm_id = %(realm_id)s AND c.user_id = u.user_id
               AND c.conversation_id = m.origin_conversation_id AND c.read @> m.id))
     ORDER BY u.user_id
"""


async def readers(
    connection: Connection,
    realm_id: RealmId,
    message_id: MessageId,
    asked_by: UserId,
    *,
    sends_by_default: bool,
) -> list[UserId]:
    """Return active users but the sender who received and read the message, and send receipts.

    Excludes users who have muted the one who asks, or are muted by them.
    """
    return await connection.values(
        _READERS,
        realm_id=realm_id,
        message_id=message_id,
        asked_by=asked_by,
        sends=sends_by_default,
    )
