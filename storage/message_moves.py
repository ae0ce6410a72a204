"""Moves, renames and deletions of messages. A move changes no reader's state.

What a user received and has read follows from where a message was sent, which never changes; what
they may read follows from where it is, and when it came there. So a move writes the messages and no
row of any user.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from storage.conversations import TopicRow
from storage.database import Connection, Locking, Statement
from storage.ids import ChannelId, MessageId, RealmId, TopicId, UserId
from storage.name_folding import fold_name


def topics(realm_id: RealmId, topic_ids: Sequence[TopicId]) -> Locking[TopicRow]:
    """Return the query that locks topics, for a rename or for messages to enter or leave."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Rename:
    """A rename of a whole topic, which writes none of its messages."""

    realm_id: RealmId
    topic_id: TopicId
    name: str
    history_entry: dict[str, Any]
    last_id: MessageId
    """The newest message in the topic when it was decided."""
    audiences: list[bytes]
    message_ids: list[list[MessageId]]
    """The messages in each audience's event; later messages are added if there is one audience."""
    body: dict[str, Any]
    message_id: MessageId
    old_policy_body: dict[str, Any]
    new_policy_body: dict[str, Any]
    work_id: str | None
    work: dict[str, Any] | None
    job: bytes | None
    write_id: str

    def statement(self) -> Statement:
        """Under the clock's lock: rename; returns 'renamed', or 'stale' with nothing done."""
        values = {name: getattr(self, name) for name in self.__slots__}
        for name in ("history_entry", "body", "old_policy_body", "new_policy_body", "work"):
            value = values[name]
            values[name] = None if value is None else Connection.json(value)
        values["folded_name"] = fold_name(self.name)
        values["message_ids"] = Connection.json(self.message_ids)
        return Statement(
            """
            SELECT rename_topic(
                %(realm_id)s, %(topic_id)s, %(name)s, %(folded_name)s, %(history_entry)s::jsonb,
                %(last_id)s, %(audiences)b::bytea[], %(message_ids)s::jsonb, %(body)s::jsonb,
                %(message_id)s, %(old_policy_body)s::jsonb, %(new_policy_body)s::jsonb,
                %(work_id)s::uuid, %(work)s::jsonb, %(job)b, %(write_id)s::uuid)
            """,
            values,
        )


def ensure_topic(realm_id: RealmId, channel_id: ChannelId, name: str) -> Statement:
    """Under the clock's lock: create a topic of this name in the channel if there is none."""
    return Statement(
        """
        INSERT INTO topics (realm_id, channel_id, name, folded_name)
        SELECT %(realm_id)s, %(channel_id)s, %(name)s, %(folded_name)s
         WHERE NOT EXISTS (
               SELECT FROM topics WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s
                  AND folded_name = %(folded_name)s)
        ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "name": name,
            "folded_name": fold_name(name),
        },
    )


async def move(
    connection: Connection,
    realm_id: RealmId,
    message_ids: Sequence[MessageId],
    *,
    old_topic_id: TopicId,
    channel_id: ChannelId,
    topic_id: TopicId,
    moved_at: datetime,
    history_entry: dict[str, Any],
) -> int:
    """Move locked messages of a topic to another locked topic; return how many.

    Between channels, the subscribers at the next position are given the messages: then both
    channels are locked, and nothing else is in the transaction.
    """
    return await connection.execute(
        """
        WITH old AS MATERIALIZED (
            -- What all have in common that were sent there before it had another name.
            SELECT t.topic_id, t.renames, (t.renames -> 0 ->> 'position')::bigint AS renamed_since,
                   whole_history(0, NULL, NULL, t.renames) AS history
              FROM topics t
             WHERE t.realm_id = %(realm_id)s AND t.topic_id = %(old_topic_id)s
        )
        UPDATE messages m
           SET channel_id = %(channel_id)s, conversation_id = %(topic_id)s,
               moved_at = %(moved_at)s,
               entered_at = CASE
                   WHEN m.channel_id = %(channel_id)s THEN m.entered_at
                   ELSE (SELECT c.position + 1 FROM realm_clock c
                          WHERE c.realm_id = %(realm_id)s) END,
               edit_history = %(history_entry)s::jsonb || coalesce(
                   CASE WHEN old.renames IS NULL THEN m.edit_history
                        WHEN m.edit_history IS NULL AND m.renames_before IS NULL
                             AND m.id < old.renamed_since THEN old.history
                        ELSE whole_history(m.id, m.renames_before, m.edit_history, old.renames)
                   END, '[]'),
               renames_before = (
                   SELECT coalesce(jsonb_array_length(t.renames), 0) FROM topics t
                    WHERE t.realm_id = %(realm_id)s AND t.topic_id = %(topic_id)s)
          FROM old
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
           AND m.conversation_id = old.topic_id
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        old_topic_id=old_topic_id,
        channel_id=channel_id,
        topic_id=topic_id,
        moved_at=moved_at,
        history_entry=connection.json(history_entry),
    )


@dataclass(frozen=True, slots=True)
class MovableRow:
    """Messages of a topic, from some message on, that a user may read."""

    total: int
    first_id: MessageId | None
    last_id: MessageId | None
    first_recent_id: MessageId | None
    """The first that is not older than the limit."""
    recent: int
    holds_all: bool
    """Whether these are all messages of the topic."""


async def movable(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    topic_id: TopicId,
    *,
    since: MessageId,
    until: MessageId | None,
    sent_since: datetime | None,
    only_given: bool,
) -> MovableRow:
    """Return what the user may read, or was given, of the topic between two messages."""
    row = await connection.one(
        MovableRow,
        """
        WITH found AS MATERIALIZED (
            SELECT m.id, m.sent_at FROM messages m
             WHERE m.realm_id = %(realm_id)s AND m.conversation_id = %(topic_id)s
               AND m.id >= %(since)s AND (%(until)s::bigint IS NULL OR m.id <= %(until)s)
               AND (NOT %(only_given)s OR EXISTS (
                    SELECT FROM subscriptions s
                     WHERE s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s
                       AND s.channel_id IN (m.origin_channel_id, m.channel_id)
                       AND was_given(s, m)))
        ), recent AS MATERIALIZED (
            SELECT f.id FROM found f
             WHERE %(sent_since)s::timestamptz IS NULL OR f.sent_at >= %(sent_since)s
        )
        SELECT (SELECT count(*) FROM found) AS total,
               (SELECT min(id) FROM found) AS first_id, (SELECT max(id) FROM found) AS last_id,
               (SELECT min(id) FROM recent) AS first_recent_id,
               (SELECT count(*) FROM recent) AS recent,
               (SELECT count(*) FROM found) = (
                   SELECT count(*) FROM messages m
                    WHERE m.realm_id = %(realm_id)s AND m.conversation_id = %(topic_id)s)
               AS holds_all
        """,
        realm_id=realm_id,
        user_id=user_id,
        topic_id=topic_id,
        since=since,
        until=until,
        sent_since=sent_since,
        only_given=only_given,
    )
    assert row is not None
    return row


async def ids_in_topic(
    connection: Connection,
    realm_id: RealmId,
    topic_id: TopicId,
    *,
    since: MessageId,
    until: MessageId,
    limit: int,
    given_to: UserId | None = None,
) -> list[MessageId]:
    """Return the topic's oldest messages between these two, at most `limit`: a step of a long move.

    With `given_to` only what that user received, or what came while they were in the channel.
    """
    return await connection.values(
        """
        SELECT m.id FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.conversation_id = %(topic_id)s
           AND m.id >= %(since)s AND m.id <= %(until)s
           AND (%(user_id)s::bigint IS NULL OR EXISTS (
                SELECT FROM subscriptions s
                 WHERE s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s
                   AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m)))
         ORDER BY m.id LIMIT %(limit)s
        """,
        realm_id=realm_id,
        topic_id=topic_id,
        since=since,
        until=until,
        limit=limit,
        user_id=given_to,
    )


async def newest_in_topic(
    connection: Connection,
    realm_id: RealmId,
    topic_id: TopicId,
    *,
    limit: int,
    given_to: UserId | None = None,
) -> list[MessageId]:
    """Return the topic's newest messages; with `given_to` only those that user was given."""
    return await connection.values(
        """
        SELECT m.id FROM messages m
         WHERE m.realm_id = %(realm_id)s AND m.conversation_id = %(topic_id)s
           AND (%(user_id)s::bigint IS NULL OR EXISTS (
                SELECT FROM subscriptions s
                 WHERE s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s
                   AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m)))
         ORDER BY m.id DESC LIMIT %(limit)s
        """,
        realm_id=realm_id,
        topic_id=topic_id,
        limit=limit,
        user_id=given_to,
    )


async def is_empty(connection: Connection, realm_id: RealmId, topic_id: TopicId) -> bool:
    """Return whether the topic has no message."""
    found: bool = await connection.value(
        """
        SELECT NOT EXISTS (SELECT FROM messages
                            WHERE realm_id = %(realm_id)s AND conversation_id = %(topic_id)s)
        """,
        realm_id=realm_id,
        topic_id=topic_id,
    )
    return found


def move_user_topics(
    realm_id: RealmId,
    *,
    old: TopicId,
    new: TopicId,
    was_empty: bool,
    losers: Sequence[UserId],
    now: datetime,
    old_body: dict[str, Any],
    new_body: dict[str, Any],
    write_id: str,
) -> Statement:
    """Under the clock's lock: transfer users' topic policies with all messages of a topic.

    `was_empty`: the new topic had no message. `losers` may not read there. Appends their events.
    """
    return Statement(
        """
        SELECT move_user_topics(%(realm_id)s, %(old)s, %(new)s, %(was_empty)s,
                                %(losers)s::bigint[], %(now)s, %(old_body)s::jsonb,
                                %(new_body)s::jsonb, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "old": old,
            "new": new,
            "was_empty": was_empty,
            "losers": list(losers),
            "now": now,
            "old_body": Connection.json(old_body),
            "new_body": Connection.json(new_body),
            "write_id": write_id,
        },
    )


def append_regained_unread(
    realm_id: RealmId,
    user_ids: Sequence[UserId],
    message_ids: Sequence[MessageId],
    *,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """Under the clock's lock: append events for users with unread messages they can see again."""
    return Statement(
        """
        SELECT tell_regained(%(realm_id)s, %(user_ids)s::bigint[], %(message_ids)s::bigint[],
                             %(empty_topic_display_name)s, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_ids": list(user_ids),
            "message_ids": list(message_ids),
            "empty_topic_display_name": empty_topic_display_name,
            "write_id": write_id,
        },
    )


def delete(realm_id: RealmId, message_ids: Sequence[MessageId]) -> Statement:
    """Under the clock's lock: delete locked messages with flags, reactions, widgets.

    Returns the ids.

    The sets of what was read stay: they may cover deleted messages.
    """
    return Statement(
        """
        WITH flags AS (
            DELETE FROM message_flags
             WHERE realm_id = %(realm_id)s AND message_id = ANY(%(message_ids)s::bigint[])
        ), reactions AS (
            DELETE FROM reactions
             WHERE realm_id = %(realm_id)s AND message_id = ANY(%(message_ids)s::bigint[])
        ), widgets AS (
            DELETE FROM submessages
             WHERE realm_id = %(realm_id)s AND message_id = ANY(%(message_ids)s::bigint[])
        )
        DELETE FROM messages
         WHERE realm_id = %(realm_id)s AND id = ANY(%(message_ids)s::bigint[])
        RETURNING id
        """,
        {"realm_id": realm_id, "message_ids": list(message_ids)},
    )
