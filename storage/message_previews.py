"""Messages that may show previews of linked pages."""

from collections.abc import Sequence

from storage import message_bits
from storage.database import Connection, Locking
from storage.ids import MessageId, RealmId
from storage.message_edits import ChangingRow


async def wanting(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> list[MessageId]:
    """Return those by users that contain links, if the realm shows previews."""
    return await connection.values(
        """
        SELECT m.id FROM messages m
          JOIN realms r ON r.realm_id = m.realm_id
               AND (r.settings ->> 'inline_url_embed_preview')::boolean
          JOIN users u ON u.realm_id = m.realm_id AND u.user_id = m.sender_id
               AND u.bot_type IS NULL
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY (%(message_ids)s::bigint[])
           AND m.traits & %(has_link)s <> 0
         ORDER BY m.id
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        has_link=message_bits.HAS_LINK,
    )


def locking(realm_id: RealmId, message_id: MessageId) -> Locking[ChangingRow]:
    """Return the query that locks the message, readable for all or not."""
    return Locking(
        ChangingRow,
        """
        SELECT m.id, m.sender_id, m.channel_id, m.conversation_id, m.origin_channel_id, m.sent_at,
               m.traits, m.content, m.rendered_content, m.entry_positions
          FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
        """,
        {"realm_id": realm_id, "message_id": message_id},
        expected=1,
    )


async def current(
    connection: Connection, realm_id: RealmId, message_id: MessageId
) -> ChangingRow | None:
    """Return the same without a lock."""
    query = locking(realm_id, message_id)
    return await connection.one(ChangingRow, query.sql, **query.params)


async def update(
    connection: Connection, realm_id: RealmId, message_id: MessageId, rendered: str
) -> None:
    """Update the rendered content of a locked message."""
    await connection.execute(
        """
        UPDATE messages SET rendered_content = %(rendered)s
         WHERE realm_id = %(realm_id)s AND id = %(message_id)s
        """,
        realm_id=realm_id,
        message_id=message_id,
        rendered=rendered,
    )
