"""Messages about to change: locked, with everything that the change needs to know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from storage.database import Connection, Locking, Statement
from storage.ids import ChannelId, MessageId, Position, RealmId, UserId


@dataclass(frozen=True, slots=True)
class ChangingRow:
    id: MessageId
    sender_id: UserId
    channel_id: ChannelId | None
    conversation_id: int
    origin_channel_id: ChannelId | None
    sent_at: datetime
    traits: int
    content: str
    rendered_content: str
    entry_positions: list[Position] | None
    """Log entries that hold its content, besides the one at its own position."""


def lock_visible(realm_id: RealmId, user_id: UserId, message_id: MessageId) -> Locking[ChangingRow]:
    """Return the query that locks the message, if the user may read it."""
    return Locking(
        ChangingRow,
        """
        SELECT m.id, m.sender_id, m.channel_id, m.conversation_id, m.origin_channel_id, m.sent_at,
               m.traits, m.content, m.rendered_content, m.entry_positions
          FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
           AND EXISTS (SELECT FROM message_states(%(realm_id)s, %(user_id)s, ARRAY[m.id]) s
                        WHERE s.accessible)
        """,
        {"realm_id": realm_id, "user_id": user_id, "message_id": message_id},
        expected=1,
    )


async def visible(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_id: MessageId
) -> ChangingRow | None:
    """Return the same row without a lock, to find out what else has to be locked first."""
    query = lock_visible(realm_id, user_id, message_id)
    return await connection.one(ChangingRow, query.sql, **query.params)


@dataclass(frozen=True, slots=True)
class LockedRow:
    """A message about to be moved or deleted."""

    id: MessageId
    sender_id: UserId
    channel_id: ChannelId | None
    conversation_id: int
    sent_at: datetime
    entry_positions: list[Position] | None


def locking(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Locking[LockedRow]:
    """Return the query that locks these messages, by id."""
    return Locking(
        LockedRow,
        """
        SELECT m.id, m.sender_id, m.channel_id, m.conversation_id, m.sent_at, m.entry_positions
          FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
         ORDER BY m.id
        """,
        {"realm_id": realm_id, "message_ids": list(message_ids)},
        expected=len(message_ids),
    )


def locking_visible(
    realm_id: RealmId, user_id: UserId, message_ids: Sequence[MessageId]
) -> Locking[LockedRow]:
    """Return the query that locks those of the messages that the user may read, by id."""
    return Locking(
        LockedRow,
        """
        SELECT m.id, m.sender_id, m.channel_id, m.conversation_id, m.sent_at, m.entry_positions
          FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
           AND m.id IN (SELECT s.id FROM message_states(%(realm_id)s, %(user_id)s,
                                                        %(message_ids)s::bigint[]) s
                         WHERE s.accessible)
         ORDER BY m.id
        """,
        {"realm_id": realm_id, "user_id": user_id, "message_ids": list(message_ids)},
        expected=len(message_ids),
    )


async def all_visible(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_ids: Sequence[MessageId]
) -> list[LockedRow]:
    """Return the same rows without locks, to find out what else has to be locked first."""
    query = locking_visible(realm_id, user_id, message_ids)
    return await connection.many(LockedRow, query.sql, **query.params)


async def change_content(
    connection: Connection,
    realm_id: RealmId,
    message_id: MessageId,
    *,
    content: str,
    rendered: str,
    traits: int,
    edited_at: datetime,
    history_entry: Mapping[str, Any] | None,
) -> None:
    """Update the content of a locked message; without an entry its history stays as it is."""
    await connection.execute(
        """
        UPDATE messages m
           SET content = %(content)s, rendered_content = %(rendered)s, traits = %(traits)s,
               edited_at = %(edited_at)s,
               edit_history = CASE WHEN %(history_entry)s::jsonb IS NULL THEN m.edit_history
                   ELSE %(history_entry)s::jsonb || coalesce((
                   SELECT jsonb_build_object('renames', jsonb_array_length(t.renames))
                     FROM topics t
                    WHERE t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
                      AND m.channel_id IS NOT NULL AND t.renames IS NOT NULL), '{}')
                   || coalesce(m.edit_history, '[]'::jsonb) END
         WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
        """,
        realm_id=realm_id,
        message_id=message_id,
        content=content,
        rendered=rendered,
        traits=traits,
        edited_at=edited_at,
        history_entry=None if history_entry is None else connection.json(history_entry),
    )


def holds_content(realm_id: RealmId, message_id: MessageId) -> Statement:
    """At a log entry: record that it holds a locked message's content."""
    return Statement(
        """
        UPDATE messages
           SET entry_positions = array_append(entry_positions, current_position())
         WHERE realm_id = %(realm_id)s AND id = %(message_id)s
        """,
        {"realm_id": realm_id, "message_id": message_id},
    )


def set_content_flags(
    realm_id: RealmId, message_id: MessageId, flags: Mapping[UserId, int]
) -> Statement:
    """Under the clock's lock: set the flags that follow from the new content, and clear others."""
    return Statement(
        """
        SELECT set_content_flags(%(realm_id)s, %(message_id)s, %(user_ids)s::bigint[],
                                 %(flags)s::integer[])
        """,
        {
            "realm_id": realm_id,
            "message_id": message_id,
            "user_ids": list(flags),
            "flags": list(flags.values()),
        },
    )


def add_reader_flags(realm_id: RealmId, message_id: MessageId) -> Statement:
    """At a log entry: add to it the flags that each reader has on the message."""
    return Statement(
        "SELECT add_reader_flags(%(realm_id)s, %(message_id)s)",
        {"realm_id": realm_id, "message_id": message_id},
    )


@dataclass(frozen=True, slots=True)
class ReaderRow:
    """A user concerned by messages of one channel, who may read there."""

    user_id: UserId
    is_subscribed: bool
    reads_all: bool
    """Whether they may also read messages that they did not receive."""


_READERS: Final = """
    WITH origins AS MATERIALIZED (
        SELECT m.origin_channel_id AS id, array_agg(m.id) AS ids,
               min(m.id) AS first, max(m.id) AS last
          FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
         GROUP BY m.origin_channel_id
    ), concerned AS (
        SELECT s.user_id FROM subscriptions s
         WHERE NOT %(outsiders_only)s AND s.realm_id = %(realm_id)s
           AND s.channel_id = %(channel_id)s AND s.active
        UNION
        SELECT unnest(%(also)s::bigint[])
        UNION
        SELECT f.user_id FROM message_flags f
         WHERE f.realm_id = %(realm_id)s AND f.message_id = ANY(%(message_ids)s::bigint[])
        UNION
        SELECT s.user_id
          FROM origins o
          JOIN subscriptions s ON s.realm_id = %(realm_id)s AND s.channel_id = o.id
               AND s.active AND o.id <> %(channel_id)s
         WHERE s.spans && int8range(o.first, o.last, '[]')
           AND (s.spans @> int8range(o.first, o.last, '[]')
                OR EXISTS (SELECT FROM unnest(o.ids) AS i WHERE s.spans @> i))
        UNION
        SELECT s.user_id
          FROM origins o
          JOIN subscriptions s ON s.realm_id = %(realm_id)s AND s.channel_id = o.id
               AND NOT s.active
         WHERE s.spans && int8range(o.first, o.last, '[]')
           AND (s.spans @> int8range(o.first, o.last, '[]')
                OR EXISTS (SELECT FROM unnest(o.ids) AS i WHERE s.spans @> i))
    )
    SELECT r.user_id, r.is_subscribed, r.access = 2 AS reads_all
      FROM (
        SELECT p.user_id, coalesce(s.active, false) AS is_subscribed,
               channel_access(p.user_id, u.role, s.active, c) AS access
          FROM concerned p
          JOIN users u ON u.realm_id = %(realm_id)s AND u.user_id = p.user_id
          JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = %(channel_id)s
          LEFT JOIN subscriptions s ON s.realm_id = %(realm_id)s AND s.user_id = p.user_id
               AND s.channel_id = %(channel_id)s) r
     WHERE r.access > 0 AND NOT (%(outsiders_only)s AND r.is_subscribed)
     ORDER BY r.user_id
"""


async def readers(
    connection: Connection,
    realm_id: RealmId,
    channel_id: ChannelId,
    message_ids: Sequence[MessageId],
    *,
    outsiders_only: bool,
    also: Sequence[UserId] = (),
) -> list[ReaderRow]:
    """Return the users concerned by these messages who may read the channel.

    Its subscribers, those who received them where they were sent, and those who have flags on them.
    With `outsiders_only` the subscribers are left out: their number is not bounded.
    """
    return await connection.many(
        ReaderRow,
        _READERS,
        realm_id=realm_id,
        channel_id=channel_id,
        message_ids=list(message_ids),
        outsiders_only=outsiders_only,
        also=list(also),
    )


@dataclass(frozen=True, slots=True)
class GivenRow:
    user_id: UserId
    message_ids: list[MessageId]


async def given(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    message_ids: Sequence[MessageId],
    *,
    only_received: bool,
) -> list[GivenRow]:
    """Return which of the channel messages each user was given.

    Users who were given all are left out.

    They received them, or were in the channel when the messages were moved there: with
    `only_received` that does not count.
    """
    return await connection.many(
        GivenRow,
        """
        SELECT s.user_id, array_agg(DISTINCT m.id ORDER BY m.id) AS message_ids
          FROM messages m
          JOIN subscriptions s ON s.realm_id = %(realm_id)s
               AND s.channel_id IN (m.origin_channel_id, m.channel_id)
               AND s.user_id = ANY(%(user_ids)s::bigint[]) AND was_given(s, m)
               AND (NOT %(only_received)s
                    OR (s.channel_id = m.origin_channel_id AND s.spans @> m.id))
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
         GROUP BY s.user_id ORDER BY s.user_id
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        message_ids=list(message_ids),
        only_received=only_received,
    )


async def may_remember(
    connection: Connection,
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    message_ids: Sequence[MessageId],
) -> list[UserId]:
    """Return those of the users who may have received, or have flags on, some of the messages."""
    return await connection.values(
        """
        SELECT s.user_id
          FROM (SELECT m.origin_channel_id AS id, min(m.id) AS first, max(m.id) AS last
                  FROM messages m
                 WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
                 GROUP BY m.origin_channel_id) o
          JOIN subscriptions s ON s.realm_id = %(realm_id)s AND s.channel_id = o.id
               AND s.user_id = ANY(%(user_ids)s::bigint[])
               AND s.spans && int8range(o.first, o.last, '[]')
        UNION
        SELECT f.user_id FROM message_flags f
         WHERE f.realm_id = %(realm_id)s AND f.message_id = ANY(%(message_ids)s::bigint[])
           AND f.user_id = ANY(%(user_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
        message_ids=list(message_ids),
    )


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """Edit history of a message."""

    sender_id: UserId
    sent_at: datetime
    channel_id: ChannelId | None
    topic: str | None
    content: str
    rendered_content: str
    edit_history: list[dict[str, Any]]
    """Newest first, topic renames included."""


async def history_of(
    connection: Connection, realm_id: RealmId, user_id: UserId, message_id: MessageId
) -> HistoryRow | None:
    """Return the history of a message that the user may read."""
    return await connection.one(
        HistoryRow,
        """
        SELECT m.sender_id, m.sent_at, m.channel_id, t.name AS topic, m.content,
               m.rendered_content,
               coalesce(whole_history(m.id, m.renames_before, m.edit_history, t.renames), '[]')
               AS edit_history
          FROM messages m
          LEFT JOIN topics t ON t.realm_id = m.realm_id AND t.topic_id = m.conversation_id
               AND m.channel_id IS NOT NULL
         WHERE m.realm_id = %(realm_id)s AND m.id = %(message_id)s
           AND EXISTS (SELECT FROM message_states(%(realm_id)s, %(user_id)s, ARRAY[m.id]) s
                        WHERE s.accessible)
        """,
        realm_id=realm_id,
        user_id=user_id,
        message_id=message_id,
    )
