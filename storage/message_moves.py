"""Moves, renames and deletions of messages. Nothing of any reader changes with a move.

What a user received and has read follows where a message was sent, which never changes; what
they may read follows where it is. So a move writes the messages and no row of anybody.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from storage.conversations import TopicRow
from storage.database import Connection, Locking, Statement
from storage.ids import ChannelId, MessageId, RealmId, TopicId


def topics(realm_id: RealmId, topic_ids: Sequence[TopicId]) -> Locking[TopicRow]:
    """The topics, to be locked before they are renamed or messages leave or join them."""
    wanted = sorted(set(topic_ids))
    return Locking(
        TopicRow,
        """
        SELECT topic_id, channel_id, name FROM topics
         WHERE realm_id = %(realm_id)s AND topic_id = ANY(%(topic_ids)s::bigint[])
         ORDER BY topic_id
        """,
        {"realm_id": realm_id, "topic_ids": wanted},
        expected=len(wanted),
    )


async def rename_topic(
    connection: Connection, realm_id: RealmId, topic_id: TopicId, name: str
) -> None:
    """Give a locked topic another name, which no other topic of its channel has."""
    await connection.execute(
        """
        UPDATE topics SET name = %(name)s
         WHERE realm_id = %(realm_id)s AND topic_id = %(topic_id)s
        """,
        realm_id=realm_id,
        topic_id=topic_id,
        name=name,
    )


async def new_topic_id(connection: Connection) -> TopicId:
    """An id for a topic that is about to be made."""
    new: TopicId = await connection.value("SELECT nextval('conversation_ids')")
    return new


def create_topic(
    realm_id: RealmId, *, topic_id: TopicId, channel_id: ChannelId, name: str
) -> Statement:
    """After the clock: make the topic. Gives no row if the channel has one of this name by now."""
    return Statement(
        """
        INSERT INTO topics (realm_id, topic_id, channel_id, name)
        VALUES (%(realm_id)s, %(topic_id)s, %(channel_id)s, %(name)s)
        ON CONFLICT DO NOTHING
        RETURNING topic_id
        """,
        {"realm_id": realm_id, "topic_id": topic_id, "channel_id": channel_id, "name": name},
    )


async def move(
    connection: Connection,
    realm_id: RealmId,
    message_ids: Sequence[MessageId],
    *,
    channel_id: ChannelId,
    topic_id: TopicId,
    moved_at: datetime,
    history_entry: dict[str, Any],
) -> int:
    """Put locked messages into a topic of the channel; how many. It may not exist yet."""
    return await connection.execute(
        """
        UPDATE messages
           SET channel_id = %(channel_id)s, conversation_id = %(topic_id)s,
               moved_at = %(moved_at)s,
               edit_history = %(history_entry)s::jsonb || coalesce(edit_history, '[]'::jsonb)
         WHERE realm_id = %(realm_id)s AND id = ANY(%(message_ids)s::bigint[])
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        channel_id=channel_id,
        topic_id=topic_id,
        moved_at=moved_at,
        history_entry=connection.json(history_entry),
    )


async def ids_in_topic(
    connection: Connection, realm_id: RealmId, topic_id: TopicId, *, since: MessageId, limit: int
) -> list[MessageId]:
    """The topic's oldest messages from `since` on, at most `limit`: a step of a long move."""
    return await connection.values(
        """
        SELECT id FROM messages
         WHERE realm_id = %(realm_id)s AND conversation_id = %(topic_id)s AND id >= %(since)s
         ORDER BY id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        topic_id=topic_id,
        since=since,
        limit=limit,
    )


def delete(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Statement:
    """After the clock: locked messages go, with everybody's flags and reactions. Gives the ids.

    What has been marked as read stays: a set may well cover what is gone.
    """
    return Statement(
        """
        WITH flags AS (
            DELETE FROM message_flags
             WHERE realm_id = %(realm_id)s AND message_id = ANY(%(message_ids)s::bigint[])
        ), reactions AS (
            DELETE FROM reactions
             WHERE realm_id = %(realm_id)s AND message_id = ANY(%(message_ids)s::bigint[])
        )
        DELETE FROM messages
         WHERE realm_id = %(realm_id)s AND id = ANY(%(message_ids)s::bigint[])
        RETURNING id
        """,
        {"realm_id": realm_id, "message_ids": list(message_ids)},
    )
