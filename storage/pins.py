"""Pinned topics and messages of channels.

A pinned message has a bit among its traits, and a pinned topic a time. So a pin moves, is exported,
and is deleted with its message or topic.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection, Statement
from storage.ids import ChannelId, MessageId, RealmId, TopicId, UserId


@dataclass(frozen=True, slots=True)
class PinnedMessagesRow:
    channel_id: ChannelId
    message_ids: list[MessageId]


@dataclass(frozen=True, slots=True)
class PinnedTopicsRow:
    channel_id: ChannelId
    topics: list[str]
    """In the order of pinning."""


async def messages_of(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    channel_id: ChannelId | None = None,
) -> list[PinnedMessagesRow]:
    """Return pinned messages that the user may read, of all channels they are subscribed to.

    With `channel_id` of that channel, which the user may read.
    """
    return await connection.many(
        PinnedMessagesRow,
        """
        SELECT c.channel_id, array_agg(m.id ORDER BY m.id) AS message_ids
          FROM messages m
          JOIN channels c ON c.realm_id = m.realm_id AND c.channel_id = m.channel_id
          LEFT JOIN subscriptions s ON s.realm_id = m.realm_id AND s.channel_id = m.channel_id
               AND s.user_id = %(user_id)s AND s.active
         WHERE m.realm_id = %(realm_id)s AND m.traits & {PINNED} <> 0
           AND CASE WHEN %(channel_id)s::bigint IS NULL THEN s.user_id IS NOT NULL
                    ELSE m.channel_id = %(channel_id)s END
           AND (NOT protects_history(c) OR user_was_given(%(user_id)s, m))
         GROUP BY c.channel_id ORDER BY c.channel_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        channel_id=channel_id,
    )


async def topics_of(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    channel_id: ChannelId | None = None,
) -> list[PinnedTopicsRow]:
    """Return pinned topics that the user may know of, of all channels they are subscribed to.

    With `channel_id` of that channel, which the user may read.
    """
    return await connection.many(
        PinnedTopicsRow,
        """
        SELECT c.channel_id, array_agg(t.name ORDER BY t.pinned_at, t.topic_id) AS topics
          FROM topics t
          JOIN channels c ON c.realm_id = t.realm_id AND c.channel_id = t.channel_id
          LEFT JOIN subscriptions s ON s.realm_id = t.realm_id AND s.channel_id = t.channel_id
               AND s.user_id = %(user_id)s AND s.active
         WHERE t.realm_id = %(realm_id)s AND t.pinned_at IS NOT NULL
           AND CASE WHEN %(channel_id)s::bigint IS NULL THEN s.user_id IS NOT NULL
                    ELSE t.channel_id = %(channel_id)s END
           AND (NOT protects_history(c) OR user_was_given_topic(%(user_id)s, t))
         GROUP BY c.channel_id ORDER BY c.channel_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        channel_id=channel_id,
    )


async def message_ids(
    connection: Connection, realm_id: RealmId, channel_ids: Sequence[ChannelId] | None
) -> list[MessageId]:
    """Return the pinned messages of these channels or of all, for any user."""
    return await connection.values(
        """
        SELECT m.id FROM channels c
         CROSS JOIN LATERAL (
               -- By channel: the planner does not know how few messages are pinned.
               SELECT p.id FROM messages p
                WHERE p.realm_id = %(realm_id)s AND p.channel_id = c.channel_id
                  AND p.traits & {PINNED} <> 0
               OFFSET 0) m
         WHERE c.realm_id = %(realm_id)s
           AND (%(channel_ids)s::bigint[] IS NULL OR c.channel_id = ANY (%(channel_ids)s))
        """,
        realm_id=realm_id,
        channel_ids=None if channel_ids is None else list(channel_ids),
    )


async def count_topics(connection: Connection, realm_id: RealmId, channel_id: ChannelId) -> int:
    count: int = await connection.value(
        """
        SELECT count(*) FROM topics
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s AND pinned_at IS NOT NULL
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )
    return count


async def pinned_at(
    connection: Connection, realm_id: RealmId, topic_id: TopicId
) -> datetime | None:
    """Return when the topic was pinned; None if it is not."""
    found: datetime | None = await connection.value(
        "SELECT pinned_at FROM topics WHERE realm_id = %(realm_id)s AND topic_id = %(topic_id)s",
        realm_id=realm_id,
        topic_id=topic_id,
    )
    return found


async def set_topic(
    connection: Connection, realm_id: RealmId, topic_id: TopicId, pinned_at: datetime | None
) -> None:
    """Set when a locked topic was pinned; None removes the pin."""
    await connection.execute(
        """
        UPDATE topics SET pinned_at = %(pinned_at)s
         WHERE realm_id = %(realm_id)s AND topic_id = %(topic_id)s
        """,
        realm_id=realm_id,
        topic_id=topic_id,
        pinned_at=pinned_at,
    )


async def set_message(
    connection: Connection, realm_id: RealmId, message_id: MessageId, *, is_pinned: bool
) -> None:
    """Pin or unpin a locked message."""
    await connection.execute(
        """
        UPDATE messages
           SET traits = CASE WHEN %(is_pinned)s THEN traits | {PINNED} ELSE traits & ~{PINNED} END
         WHERE realm_id = %(realm_id)s AND id = %(message_id)s
        """,
        realm_id=realm_id,
        message_id=message_id,
        is_pinned=is_pinned,
    )


async def unpin_oldest(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, *, kept: int
) -> int:
    """Unpin all messages of a locked channel but the newest ones; return how many."""
    unpinned = await connection.values(
        """
        UPDATE messages SET traits = traits & ~{PINNED}
         WHERE realm_id = %(realm_id)s
           AND id IN (SELECT m.id FROM messages m
                       WHERE m.realm_id = %(realm_id)s AND m.channel_id = %(channel_id)s
                         AND m.traits & {PINNED} <> 0
                       ORDER BY m.id DESC OFFSET %(kept)s)
        RETURNING id
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        kept=kept,
    )
    return len(unpinned)


def append_messages(
    realm_id: RealmId, channel_id: ChannelId, message_id: MessageId | None, *, write_id: str
) -> Statement:
    """Under the clock's lock: append the channel's pinned messages, as this one has changed.

    None: as all of them are new; a channel without any appends nothing.
    """
    return Statement(
        """
        SELECT append_pinned_messages(
            %(realm_id)s, %(channel_id)s, NULL, %(changed)s::bigint[], %(changed)s IS NOT NULL,
            %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "changed": None if message_id is None else [message_id],
            "write_id": write_id,
        },
    )


def append_moved_messages(
    realm_id: RealmId, channel_id: ChannelId, message_ids: Sequence[MessageId], *, write_id: str
) -> Statement:
    """Under the clock's lock: append the same if one of the messages that came there is pinned."""
    return Statement(
        """
        SELECT append_pinned_messages(%(realm_id)s, %(channel_id)s, NULL, moved.ids, true,
                                      %(write_id)s::uuid)
          FROM (SELECT array_agg(m.id) AS ids FROM messages m
                 WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
                   AND m.traits & {PINNED} <> 0) moved
         WHERE moved.ids IS NOT NULL
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "message_ids": list(message_ids),
            "write_id": write_id,
        },
    )


def append_topics(
    realm_id: RealmId,
    channel_id: ChannelId,
    topic_ids: Sequence[TopicId],
    *,
    also: Sequence[UserId] = (),
    write_id: str,
) -> Statement:
    """Under the clock's lock: append the channel's pinned topics, as these have changed.

    Where history is protected, for readers of these, and for subscribers among `also`.
    """
    return Statement(
        """
        SELECT append_topic_pins(%(realm_id)s, %(channel_id)s, %(also)s::bigint[],
                                 %(topic_ids)s::bigint[], true, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "also": list(also),
            "topic_ids": list(topic_ids),
            "write_id": write_id,
        },
    )
