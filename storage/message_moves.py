"""Moves, renames and deletions of messages. A move changes no reader's state.

What a user received and has read follows from where a message was sent, which never changes; what
they may read follows from where it is, and when it came there. So a move writes the messages and no
row of any user.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
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
        """Under the clock's lock: rename; returns 'renamed', or 'stale' with nothing done.

        A pinned or described topic is published with its new name.
        """
        values = {name: getattr(self, name) for name in self.__slots__}
        values["old_name"] = self.history_entry["prev_topic"]
        for name in ("history_entry", "body", "old_policy_body", "new_policy_body", "work"):
            value = values[name]
            values[name] = None if value is None else Connection.json(value)
        values["folded_name"] = fold_name(self.name)
        values["message_ids"] = Connection.json(self.message_ids)
        return Statement(
            """
            SELECT renamed.outcome, CASE renamed.outcome WHEN 'renamed' THEN append_renamed_lists(
                       %(realm_id)s, %(topic_id)s, %(old_name)s, %(write_id)s::uuid) END
              FROM rename_topic(
                %(realm_id)s, %(topic_id)s, %(name)s, %(folded_name)s, %(history_entry)s::jsonb,
                %(last_id)s, %(audiences)b::bytea[], %(message_ids)s::jsonb, %(body)s::jsonb,
                %(message_id)s, %(old_policy_body)s::jsonb, %(new_policy_body)s::jsonb,
                %(work_id)s::uuid, %(work)s::jsonb, %(job)b, %(write_id)s::uuid) AS renamed(outcome)
            """,
            values,
        )


def ensure_topics(realm_id: RealmId, channel_id: ChannelId, names: Sequence[str]) -> Statement:
    """Under the clock's lock: create the topics of these names that the channel does not have."""
    by_folded_name = {fold_name(name): name for name in names}
    return Statement(
        """
        INSERT INTO topics (realm_id, channel_id, name, folded_name)
        SELECT %(realm_id)s, %(channel_id)s, w.name, w.folded_name
          FROM unnest(%(names)s::text[], %(folded_names)s::text[]) AS w(name, folded_name)
         WHERE NOT EXISTS (
               SELECT FROM topics t WHERE t.realm_id = %(realm_id)s
                  AND t.channel_id = %(channel_id)s AND t.folded_name = w.folded_name)
        ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "names": list(by_folded_name.values()),
            "folded_names": list(by_folded_name),
        },
    )


@dataclass(frozen=True, slots=True)
class TopicMove:
    """A move of messages from one locked topic to another."""

    old_topic_id: TopicId
    topic_id: TopicId
    history_entry: dict[str, Any]


async def move(
    connection: Connection,
    realm_id: RealmId,
    message_ids: Sequence[MessageId],
    moves: Sequence[TopicMove],
    *,
    channel_id: ChannelId,
    moved_at: datetime,
) -> int:
    """Move locked messages of these topics to others of the channel; return how many.

    Between channels, the subscribers at the next position are given the messages: then both
    channels are locked, and nothing else is in the transaction.
    """
    return await connection.execute(
        """
        WITH old AS MATERIALIZED (
            -- What all have in common that were sent there before it had another name.
            SELECT t.topic_id, t.renames, (t.renames -> 0 ->> 'position')::bigint AS renamed_since,
                   whole_history(0, NULL, NULL, t.renames) AS history,
                   w.topic_id AS new_topic_id, w.history_entry,
                   (SELECT coalesce(jsonb_array_length(n.renames), 0) FROM topics n
                     WHERE n.realm_id = %(realm_id)s AND n.topic_id = w.topic_id) AS new_renames
              FROM jsonb_to_recordset(%(moves)s::jsonb)
                   AS w(old_topic_id bigint, topic_id bigint, history_entry jsonb)
              JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = w.old_topic_id
        )
        UPDATE messages m
           SET channel_id = %(channel_id)s, conversation_id = old.new_topic_id,
               moved_at = %(moved_at)s,
               entered_at = CASE
                   WHEN m.channel_id = %(channel_id)s THEN m.entered_at
                   ELSE (SELECT c.position + 1 FROM realm_clock c
                          WHERE c.realm_id = %(realm_id)s) END,
               edit_history = old.history_entry || coalesce(
                   CASE WHEN old.renames IS NULL THEN m.edit_history
                        WHEN m.edit_history IS NULL AND m.renames_before IS NULL
                             AND m.id < old.renamed_since THEN old.history
                        ELSE whole_history(m.id, m.renames_before, m.edit_history, old.renames)
                   END, '[]'),
               renames_before = old.new_renames
          FROM old
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
           AND m.conversation_id = old.topic_id
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
        moves=connection.json([asdict(each) for each in moves]),
        channel_id=channel_id,
        moved_at=moved_at,
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


async def topics_with_messages(
    connection: Connection,
    realm_id: RealmId,
    topic_ids: Sequence[TopicId],
    *,
    besides: Sequence[MessageId] = (),
) -> set[TopicId]:
    """Return those of the topics that have a message, besides these."""
    found: list[TopicId] = await connection.values(
        """
        SELECT t.topic_id FROM unnest(%(topic_ids)s::bigint[]) AS t(topic_id)
         WHERE EXISTS (SELECT FROM messages m
                        WHERE m.realm_id = %(realm_id)s AND m.conversation_id = t.topic_id
                          AND m.id <> ALL (%(besides)s::bigint[]))
        """,
        realm_id=realm_id,
        topic_ids=list(topic_ids),
        besides=list(besides),
    )
    return {*found}


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
