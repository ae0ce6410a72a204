"""Push notifications: messages in the form that phones show, and what is shown now."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.database import Connection
from storage.ids import ChannelId, GroupId, MessageId, RealmId, UserId
from storage.users import DefaultAvatar


@dataclass(frozen=True, slots=True)
class PushedRow:
    message_id: MessageId
    sender_id: UserId
    sender_name: str
    sender_email: str
    sender_avatar_key: str | None
    sender_avatar_version: int
    sender_email_confirmed: bool
    sender_avatar_source: DefaultAvatar
    sender_settings: dict[str, Any]
    sent_at: datetime
    rendered_content: str
    channel_id: ChannelId | None
    channel_name: str | None
    topic: str | None
    user_ids: list[UserId]
    names: list[str]
    """Names of all users of a direct message, in the order of `user_ids`."""
    group_name: str | None

    @property
    def sender(self) -> "PushSender":
        return PushSender(
            self.sender_id,
            self.sender_email,
            self.sender_settings,
            self.sender_avatar_key,
            self.sender_avatar_version,
            self.sender_email_confirmed,
            self.sender_avatar_source,
            self.sender_name,
        )


@dataclass(frozen=True, slots=True)
class PushSender:
    """The sender's fields that decide how they are displayed."""

    user_id: UserId
    email: str
    settings: dict[str, Any]
    avatar_key: str | None
    avatar_version: int
    email_confirmed: bool
    avatar_source: DefaultAvatar
    full_name: str


async def message(
    connection: Connection, realm_id: RealmId, message_id: MessageId, group_id: GroupId | None
) -> PushedRow | None:
    """Return the message, with the name of the mentioned group; None if it is gone."""
    return await connection.one(
        PushedRow,
        """
        SELECT m.id AS message_id, m.sender_id, s.full_name AS sender_name,
               s.email AS sender_email, s.avatar_key AS sender_avatar_key,
               s.avatar_version AS sender_avatar_version,
               s.email_confirmed AS sender_email_confirmed,
               s.avatar_source AS sender_avatar_source,
               s.settings AS sender_settings, m.sent_at, m.rendered_content, m.channel_id,
               c.name AS channel_name, t.name AS topic,
               coalesce(p.user_ids, '{}') AS user_ids, coalesce(p.names, '{}') AS names,
               (SELECT g.name FROM user_groups g
                 WHERE g.realm_id = %(realm_id)s AND g.group_id = %(group_id)s) AS group_name
          FROM messages m
          JOIN users s ON s.realm_id = m.realm_id AND s.user_id = m.sender_id
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


async def is_unread(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_id: MessageId
) -> bool:
    """Return whether the user has received the message, may read it, and has not."""
    found: bool | None = await connection.value(
        """
        SELECT s.received AND s.unread
          FROM reader_states(%(realm_id)s, ARRAY[%(user_id)s]::bigint[],
                             ARRAY[%(message_id)s]::bigint[]) s
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_id=message_id,
    )
    return bool(found)


async def shown_beside(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_ids: Iterable[MessageId]
) -> int:
    """Return how many other messages the user's phones show, or are about to."""
    count: int = await connection.value(
        """
        SELECT count(*) FROM notifications
         WHERE realm_id = %(realm_id)s AND user_id = %(user_id)s AND push_handed
           AND message_id <> ALL (%(message_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_ids=list(message_ids),
    )
    return count
