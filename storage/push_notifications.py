"""Messages as phones show them, and what phones show now."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection
from storage.ids import ChannelId, GroupId, MessageId, RealmId, UserId


@dataclass(frozen=True, slots=True)
class PushedRow:
    message_id: MessageId
    sender_id: UserId
    sent_at: datetime
    rendered_content: str
    channel_id: ChannelId | None
    channel_name: str | None
    topic: str | None
    user_ids: list[UserId]
    names: list[str]
    """Of everybody in a direct message, in the order of `user_ids`."""
    group_name: str | None


async def message(
    connection: Connection, realm_id: RealmId, message_id: MessageId, group_id: GroupId | None
) -> PushedRow | None:
    """The message, with the name of the group that it mentions; None if it is gone."""
    return await connection.one(
        PushedRow,
        """
        SELECT m.id AS message_id, m.sender_id, m.sent_at, m.rendered_content, m.channel_id,
               c.name AS channel_name, t.name AS topic,
               coalesce(p.user_ids, '{}') AS user_ids, coalesce(p.names, '{}') AS names,
               (SELECT g.name FROM user_groups g
                 WHERE g.realm_id = %(realm_id)s AND g.group_id = %(group_id)s) AS group_name
          FROM messages m
          LEFT JOIN channels c ON c.realm_id = m.realm_id AND c.channel_id = m.channel_id
          LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
               AND m.channel_id IS NOT NULL
          LEFT JOIN LATERAL (
               SELECT array_agg(u.user_id ORDER BY u.user_id) AS user_ids,
                      array_agg(u.full_name ORDER BY u.user_id) AS names
                 FROM dm_groups d
                 JOIN users u ON u.realm_id = d.realm_id AND u.user_id = ANY (d.user_ids)
                WHERE d.realm_id = m.realm_id AND d.dm_group_id = m.conversation_id) p
               ON m.channel_id IS NULL
         WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
        """,
        realm_id=realm_id,
        message_id=message_id,
        group_id=group_id,
    )


async def shown(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, but: Sequence[MessageId] = ()
) -> int:
    """How many messages somebody's phones show or are about to, but for these."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM notifications
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND push_reason IS NOT NULL
           AND message_id <> ALL (%(but)s::bigint[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        but=list(but),
    )
    return count
