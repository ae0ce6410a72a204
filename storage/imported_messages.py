"""Bulk writes of imports: topics, messages, and what belongs to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from storage.array_literals import int_array, moment_array, text_array
from storage.database import Connection, Statement
from storage.ids import (
    ChannelId,
    MessageId,
    Position,
    RealmId,
    TopicId,
    UserId,
)
from storage.name_folding import fold_name

CLIENT: Final = "import"
"""What messages name as the client that sent them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedMessage:
    message_id: MessageId
    sender_id: UserId
    channel_id: ChannelId | None
    conversation_id: int
    sent_at: datetime
    edited_at: datetime | None
    traits: int
    content: str
    rendered_content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTopic:
    topic_id: TopicId
    channel_id: ChannelId
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedReaction:
    message_id: MessageId
    user_id: UserId
    reaction_type: str
    emoji_code: str
    emoji_name: str


async def reserve_positions(connection: Connection, realm_id: RealmId, count: int) -> None:
    """Begin the clock of a new realm at `count`: the positions up to there are the import's."""
    await connection.execute(
        """
        UPDATE realm_clock SET position = %(count)s
         WHERE realm_id = %(realm_id)s AND position = 0
        """,
        realm_id=realm_id,
        count=count,
    )
    await connection.execute(
        """
        INSERT INTO shipper_cursors (realm_id, position, epoch)
        SELECT realm_id, position, epoch FROM realm_clock WHERE realm_id = %(realm_id)s
        """,
        realm_id=realm_id,
    )


async def new_topic_ids(connection: Connection, count: int) -> list[TopicId]:
    """Reserve ids of topics."""
    return await connection.values(
        "SELECT nextval('conversation_ids') FROM generate_series(1, %(count)s)", count=count
    )


async def taken_names(
    connection: Connection,
    realm_id: RealmId,
    names: Sequence[tuple[ChannelId, str]],
    *,
    ignoring: Sequence[TopicId] = (),
) -> set[tuple[ChannelId, str]]:
    """Return those channels and folded names that topics have, except for those to be ignored."""
    rows = await connection.tuples(
        """
        SELECT t.channel_id, t.folded_name
          FROM unnest(%(channel_ids)s::bigint[], %(names)s::text[]) AS n(channel_id, folded_name)
          JOIN topics t ON t.realm_id = %(realm_id)s AND t.channel_id = n.channel_id
               AND t.folded_name = n.folded_name
         WHERE t.topic_id <> ALL (%(ignoring)s::bigint[])
        """,
        realm_id=realm_id,
        ignoring=list(ignoring),
        channel_ids=[channel_id for channel_id, _ in names],
        names=[name for _, name in names],
    )
    return {(channel_id, name) for channel_id, name in rows}


def insert_topics(realm_id: RealmId, topics: Sequence[ImportedTopic]) -> Statement:
    """Insert topics with names that are free; returns their ids."""
    return Statement(
        """
        INSERT INTO topics (realm_id, topic_id, channel_id, name, folded_name)
        SELECT %(realm_id)s, t.*
          FROM unnest(%(topic_ids)s::bigint[], %(channel_ids)s::bigint[], %(names)s::text[],
                      %(folded_names)s::text[]) AS t
            ON CONFLICT (realm_id, channel_id, folded_name) DO NOTHING
        RETURNING topic_id
        """,
        {
            "realm_id": realm_id,
            "topic_ids": [each.topic_id for each in topics],
            "channel_ids": [each.channel_id for each in topics],
            "names": [each.name for each in topics],
            "folded_names": [fold_name(each.name) for each in topics],
        },
    )


def rename_topics(realm_id: RealmId, topics: Sequence[ImportedTopic]) -> Statement:
    """Name topics anew, unless they were renamed meanwhile or the name is taken."""
    return Statement(
        """
        UPDATE topics t SET name = n.name, folded_name = n.folded_name
          FROM unnest(%(topic_ids)s::bigint[], %(names)s::text[], %(folded_names)s::text[])
               AS n(topic_id, name, folded_name)
         WHERE t.realm_id = %(realm_id)s AND t.topic_id = n.topic_id AND t.renames IS NULL
           AND NOT EXISTS (
               SELECT FROM topics o
                WHERE o.realm_id = t.realm_id AND o.channel_id = t.channel_id
                  AND o.folded_name = n.folded_name AND o.topic_id <> t.topic_id)
        """,
        {
            "realm_id": realm_id,
            "topic_ids": [each.topic_id for each in topics],
            "names": [each.name for each in topics],
            "folded_names": [fold_name(each.name) for each in topics],
        },
    )


def insert_messages(realm_id: RealmId, messages: Sequence[ImportedMessage]) -> Statement:
    return Statement(
        """
        INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                              origin_channel_id, origin_conversation_id, sent_at, edited_at,
                              traits, client, content, rendered_content)
        SELECT %(realm_id)s, m.id, m.sender_id, m.channel_id, m.conversation_id, m.channel_id,
               m.conversation_id, m.sent_at, m.edited_at, m.traits, %(client)s, m.content,
               m.rendered_content
          FROM unnest(%(ids)s::bigint[], %(sender_ids)s::bigint[], %(channel_ids)s::bigint[],
                      %(conversation_ids)s::bigint[], %(sent)s::timestamptz[],
                      %(edited)s::timestamptz[], %(traits)s::integer[], %(contents)s::text[],
                      %(rendered)s::text[])
               AS m(id, sender_id, channel_id, conversation_id, sent_at, edited_at, traits,
                    content, rendered_content)
        """,
        {
            "realm_id": realm_id,
            "client": CLIENT,
            "ids": int_array(each.message_id for each in messages),
            "sender_ids": int_array(each.sender_id for each in messages),
            "channel_ids": int_array(each.channel_id for each in messages),
            "conversation_ids": int_array(each.conversation_id for each in messages),
            "sent": moment_array(each.sent_at for each in messages),
            "edited": moment_array(each.edited_at for each in messages),
            "traits": int_array(each.traits for each in messages),
            "contents": text_array(each.content for each in messages),
            "rendered": text_array(each.rendered_content for each in messages),
        },
    )


def insert_reactions(realm_id: RealmId, reactions: Sequence[ImportedReaction]) -> Statement:
    return Statement(
        """
        INSERT INTO reactions (realm_id, message_id, user_id, reaction_type, emoji_code,
                               emoji_name, position)
        SELECT %(realm_id)s, r.message_id, r.user_id, r.reaction_type, r.emoji_code,
               r.emoji_name, r.message_id
          FROM unnest(%(message_ids)s::bigint[], %(user_ids)s::bigint[], %(types)s::text[],
                      %(codes)s::text[], %(names)s::text[])
               AS r(message_id, user_id, reaction_type, emoji_code, emoji_name)
            ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "message_ids": int_array(each.message_id for each in reactions),
            "user_ids": int_array(each.user_id for each in reactions),
            "types": text_array(each.reaction_type for each in reactions),
            "codes": text_array(each.emoji_code for each in reactions),
            "names": text_array(each.emoji_name for each in reactions),
        },
    )


def insert_flags(realm_id: RealmId, flags: Mapping[tuple[MessageId, UserId], int]) -> Statement:
    """Give messages these flags, for readers who received them.

    Stars of others stay if the channel's history is open to them.
    """
    return Statement(
        """
        INSERT INTO message_flags (realm_id, user_id, message_id, flags)
        SELECT %(realm_id)s, f.user_id, f.message_id,
               CASE WHEN r.received THEN f.bits ELSE {STARRED | HISTORICAL} END
          FROM unnest(%(message_ids)s::bigint[], %(user_ids)s::bigint[], %(bits)s::integer[])
               AS f(message_id, user_id, bits)
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         CROSS JOIN LATERAL (
                SELECT EXISTS (SELECT FROM subscriptions s
                                WHERE s.realm_id = %(realm_id)s AND s.user_id = f.user_id
                                  AND s.channel_id = m.channel_id AND s.spans @> m.id)
                    OR EXISTS (SELECT FROM dm_group_members d
                                WHERE d.realm_id = %(realm_id)s AND d.user_id = f.user_id
                                  AND d.dm_group_id = m.conversation_id) AS received
               ) r
         WHERE r.received
            OR f.bits & {STARRED} <> 0
               AND EXISTS (SELECT FROM channels c, users u
                            WHERE c.realm_id = %(realm_id)s AND c.channel_id = m.channel_id
                              AND u.realm_id = %(realm_id)s AND u.user_id = f.user_id
                              AND NOT c.invite_only
                              AND (c.is_web_public OR u.role < 600))
        """,
        {
            "realm_id": realm_id,
            "message_ids": int_array(message_id for message_id, _ in flags),
            "user_ids": int_array(user_id for _, user_id in flags),
            "bits": int_array(flags.values()),
        },
    )


def insert_attachment_messages(
    realm_id: RealmId, pairs: Sequence[tuple[MessageId, int]]
) -> Statement:
    """Let new messages hold these attachments."""
    return Statement(
        """
        INSERT INTO attachment_messages (realm_id, message_id, attachment_id)
        SELECT %(realm_id)s, h.message_id, h.attachment_id
          FROM unnest(%(message_ids)s::bigint[], %(attachment_ids)s::bigint[])
               AS h(message_id, attachment_id)
            ON CONFLICT DO NOTHING
        """,
        {
            "realm_id": realm_id,
            "message_ids": [message_id for message_id, _ in pairs],
            "attachment_ids": [attachment_id for _, attachment_id in pairs],
        },
    )


# -- afterwards


@dataclass(frozen=True, slots=True)
class LinkedMessage:
    """What is needed for a link to a message."""

    message_id: MessageId
    channel_id: ChannelId | None
    topic: str | None
    user_ids: list[UserId] | None
    """Of a direct conversation."""


async def linked_messages(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> list[LinkedMessage]:
    return await connection.many(
        LinkedMessage,
        """
        SELECT m.id AS message_id, m.channel_id, t.name AS topic, g.user_ids
          FROM messages m
          LEFT JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = m.conversation_id
          LEFT JOIN dm_groups g ON g.realm_id = %(realm_id)s AND g.dm_group_id = m.conversation_id
         WHERE m.realm_id = %(realm_id)s AND m.id = ANY(%(message_ids)s::bigint[])
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )


async def contents(
    connection: Connection, realm_id: RealmId, message_ids: Sequence[MessageId]
) -> dict[MessageId, str]:
    """Return the texts of those messages that have not been edited or deleted here."""
    rows = await connection.tuples(
        """
        SELECT id, content FROM messages
         WHERE realm_id = %(realm_id)s AND id = ANY(%(message_ids)s::bigint[])
           AND edit_history IS NULL
        """,
        realm_id=realm_id,
        message_ids=list(message_ids),
    )
    return dict(rows)


def update_contents(
    realm_id: RealmId, contents: Mapping[MessageId, tuple[str, str, str]]
) -> Statement:
    """Replace texts, given the old text, the new one and its HTML; the edited are left alone."""
    return Statement(
        """
        UPDATE messages m SET content = c.content, rendered_content = c.rendered
          FROM unnest(%(ids)s::bigint[], %(old)s::text[], %(contents)s::text[],
                      %(rendered)s::text[]) AS c(id, old, content, rendered)
         WHERE m.realm_id = %(realm_id)s AND m.id = c.id AND m.content = c.old
        """,
        {
            "realm_id": realm_id,
            "ids": list(contents),
            "old": [old for old, _, _ in contents.values()],
            "contents": [content for _, content, _ in contents.values()],
            "rendered": [rendered for _, _, rendered in contents.values()],
        },
    )


def index_again(realm_id: RealmId, after: Position) -> Statement:
    """Let the search index begin again after this position, if it is past it: it skips what it has.

    The last statement of a transaction that inserts messages there: the index waits for its end.
    """
    return Statement(
        """
        UPDATE search_progress SET indexed = %(after)s
         WHERE realm_id = %(realm_id)s AND indexed > %(after)s
        """,
        {"realm_id": realm_id, "after": after},
    )
