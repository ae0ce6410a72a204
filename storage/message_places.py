"""Where a message is and was, for actions upon it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from storage.database import Connection, Locking
from storage.ids import ChannelId, MessageId, Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class MessagePlace:
    id: MessageId
    sender_id: UserId
    channel_id: ChannelId | None
    conversation_id: int
    origin_channel_id: ChannelId | None
    entered_at: Position | None
    """Position of its move into the channel, if any: subscribers at that time were given it."""
    is_archived: bool
    """Whether its channel is archived."""


_VISIBLE: Final[LiteralString] = """
        SELECT m.id, m.sender_id, m.channel_id, m.conversation_id, m.origin_channel_id,
               m.entered_at,
               EXISTS (SELECT FROM channels c
                        WHERE c.realm_id = m.realm_id AND c.channel_id = m.channel_id
                          AND c.is_archived) AS is_archived
          FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
           AND EXISTS (SELECT FROM message_states(%(realm_id)s, %(user_id)s, ARRAY[m.id]) s
                        WHERE s.accessible)
"""


def lock_visible(
    realm_id: RealmId, user_id: UserId, message_id: MessageId
) -> Locking[MessagePlace]:
    """Return the query that locks the message, if the user may read it."""
    return Locking(
        MessagePlace,
        _VISIBLE,
        {"realm_id": realm_id, "user_id": user_id, "message_id": message_id},
        expected=1,
    )


async def visible(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_id: MessageId
) -> MessagePlace | None:
    """Return the message, if the user may read it, without a lock: it may move meanwhile."""
    return await connection.one(
        MessagePlace, _VISIBLE, realm_id=realm_id, user_id=user_id, message_id=message_id
    )


async def content(connection: Connection, realm_id: RealmId, message_id: MessageId) -> str:
    """Return the Markdown of a message that exists; empty if it was just deleted."""
    found: str | None = await connection.value(
        "SELECT content FROM messages WHERE realm_id = %(realm_id)s AND id = %(message_id)s",
        realm_id=realm_id,
        message_id=message_id,
    )
    return found or ""


async def dm_user_ids(connection: Connection, realm_id: RealmId, dm_group_id: int) -> list[UserId]:
    """Return all users of a direct-message group, by id."""
    user_ids: list[UserId] | None = await connection.value(
        """
        SELECT user_ids FROM dm_groups
         WHERE realm_id = %(realm_id)s AND dm_group_id = %(dm_group_id)s
        """,
        realm_id=realm_id,
        dm_group_id=dm_group_id,
    )
    return user_ids or []


async def members_of_dm_groups(
    connection: Connection, realm_id: RealmId, dm_group_ids: Sequence[int]
) -> dict[int, list[UserId]]:
    """Return all users of these direct-message groups, by id."""
    rows = await connection.tuples(
        """
        SELECT dm_group_id, user_ids FROM dm_groups
         WHERE realm_id = %(realm_id)s AND dm_group_id = ANY(%(dm_group_ids)s::bigint[])
        """,
        realm_id=realm_id,
        dm_group_ids=list(dm_group_ids),
    )
    return dict(rows)
