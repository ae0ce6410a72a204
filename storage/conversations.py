"""Conversations: topics of channels, and direct-message groups."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, LiteralString

from storage.database import Connection
from storage.ids import ChannelId, DmGroupId, MessageId, RealmId, TopicId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class TopicRow:
    topic_id: TopicId
    channel_id: ChannelId
    name: str


async def topic_named(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, name: str
) -> TopicRow | None:
    """Return the channel's topic of this name.

    Several can have it only until `parley migrate` has renamed duplicates of an older release: then
    the oldest.
    """
    return await connection.one(
        TopicRow,
        """
        SELECT topic_id, channel_id, name FROM topics
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s
           AND folded_name = %(folded_name)s
         ORDER BY topic_id
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        folded_name=fold_name(name),
    )


async def topics_named(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, names: Sequence[str]
) -> dict[str, TopicRow]:
    """Return the channel's topics of these names, by the folded name; of duplicates the oldest."""
    folded_names = {fold_name(name) for name in names}
    rows = await connection.many(
        TopicRow,
        """
        SELECT topic_id, channel_id, name FROM topics
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s
           AND folded_name = ANY(%(folded_names)s::text[])
         ORDER BY topic_id DESC
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        folded_names=sorted(folded_names),
    )
    return {fold_name(row.name): row for row in rows}


async def topics_by_ids(
    connection: Connection, realm_id: RealmId, topic_ids: Sequence[TopicId]
) -> list[TopicRow]:
    return await connection.many(
        TopicRow,
        """
        SELECT topic_id, channel_id, name FROM topics
         WHERE realm_id = %(realm_id)s AND topic_id = ANY(%(topic_ids)s::bigint[])
         ORDER BY topic_id
        """,
        realm_id=realm_id,
        topic_ids=list(topic_ids),
    )


async def dm_group_of(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> DmGroupId | None:
    """Return the group of exactly these users (sorted), if it exists."""
    found: DmGroupId | None = await connection.value(
        """
        SELECT dm_group_id FROM dm_groups
         WHERE realm_id = %(realm_id)s AND user_ids = %(user_ids)s::bigint[]
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return found


async def dm_group_has_messages(
    connection: Connection, realm_id: RealmId, user_ids: Sequence[UserId]
) -> bool:
    """Return whether the group of exactly these users (sorted) has a message."""
    found: bool = await connection.value(
        """
        SELECT EXISTS (
            SELECT FROM dm_groups g
              JOIN messages m ON m.realm_id = g.realm_id AND m.conversation_id = g.dm_group_id
             WHERE g.realm_id = %(realm_id)s AND g.user_ids = %(user_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_ids=list(user_ids),
    )
    return found


async def new_dm_group_id(connection: Connection) -> DmGroupId:
    """Reserve the id of a new direct-message group."""
    new: DmGroupId = await connection.value("SELECT nextval('conversation_ids')")
    return new


_NAMED: Final[LiteralString] = """
    SELECT topic_id FROM topics WHERE realm_id = %(realm_id)s AND folded_name = %(folded_name)s
"""
_IN_CHANNELS: Final[LiteralString] = (
    " AND channel_id = ANY ((SELECT %(channel_ids)s::bigint[])::bigint[])"
)
"""Hides the number of channels from the planner, which would plan each search anew otherwise."""


async def topic_ids_named(
    connection: Connection, realm_id: RealmId, name: str, channel_ids: Sequence[int] | None
) -> list[int]:
    """Return the topics of this name, in these channels or in all."""
    return await connection.values(
        _NAMED + ("" if channel_ids is None else _IN_CHANNELS) + " ORDER BY topic_id",
        realm_id=realm_id,
        folded_name=fold_name(name),
        channel_ids=channel_ids,
    )


@dataclass(frozen=True, slots=True)
class RecentDmGroup:
    user_ids: list[UserId]
    """All members, sorted."""
    max_message_id: int
    is_imported: bool = False
    """Whether that message was imported while the realm was in use."""


async def recent_dm_groups(
    connection: Connection, realm_id: RealmId, user_id: UserId, *, limit: int = 1_000
) -> list[RecentDmGroup]:
    """Return the user's direct-message groups that have messages, most recent first."""
    found = await connection.many(
        RecentDmGroup,
        """
        SELECT g.user_ids, newest.id AS max_message_id, EXISTS (
               SELECT FROM imported_ranges r
                WHERE r.realm_id = d.realm_id AND newest.id BETWEEN r.first_id AND r.last_id)
               AS is_imported
          FROM dm_group_members d
          JOIN dm_groups g ON g.realm_id = d.realm_id AND g.dm_group_id = d.dm_group_id
         CROSS JOIN LATERAL (
               SELECT m.id, m.sent_at FROM messages m
                WHERE m.realm_id = d.realm_id AND m.conversation_id = d.dm_group_id
                ORDER BY m.id DESC LIMIT 1) AS newest
         WHERE d.realm_id = %(realm_id)s AND d.user_id = %(user_id)s
         ORDER BY CASE WHEN EXISTS (SELECT FROM imported_ranges r
                                     WHERE r.realm_id = %(realm_id)s) THEN newest.sent_at END DESC,
                  newest.id DESC
         LIMIT %(limit)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        limit=limit,
    )
    return _ranked_by_date(found)


def _ranked_by_date(found: Sequence[RecentDmGroup]) -> list[RecentDmGroup]:
    """Sort conversations by the date of an imported newest message: change their `max_message_id`.

    Clients sort by it, and the real ids would make old conversations the most recent ones.
    """
    ranked: list[RecentDmGroup] = []
    older = 0
    waiting: list[RecentDmGroup] = []

    def place(newer: int) -> None:
        for above, each in enumerate(waiting, start=1):
            ranked.append(replace(each, max_message_id=min(older + above, max(older, newer - 1))))
        waiting.clear()

    for each in reversed(found):
        if each.is_imported:
            waiting.append(each)
            continue
        place(each.max_message_id)
        older = each.max_message_id
        ranked.append(each)
    place(older + len(waiting) + 1)
    return ranked[::-1]


@dataclass(frozen=True, slots=True)
class TopicHead:
    """A topic and its newest message."""

    topic_id: TopicId
    name: str
    max_id: MessageId


async def topics_of(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> list[TopicHead]:
    """Return the channel's topics that have a message, latest first."""
    return await connection.many(
        TopicHead,
        """
        SELECT t.topic_id, t.name, newest.id AS max_id
          FROM topics t
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = %(realm_id)s AND m.conversation_id = t.topic_id
                ORDER BY m.id DESC LIMIT 1) AS newest
         WHERE t.realm_id = %(realm_id)s AND t.channel_id = %(channel_id)s
         ORDER BY newest.id DESC
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )


async def topics_given_to(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, user_id: UserId
) -> list[TopicHead]:
    """Return the same, restricted to messages that the user received."""
    return await connection.many(
        TopicHead,
        """
        SELECT t.topic_id, t.name, greatest(here.id, elsewhere.id) AS max_id
          FROM topics t
          LEFT JOIN LATERAL (
               -- Sent in the channel: the newest within each span.
               SELECT max(m.id) AS id
                 FROM subscriptions s
                CROSS JOIN LATERAL unnest(s.spans) AS span
                CROSS JOIN LATERAL (
                      SELECT m.id FROM messages m
                       WHERE m.realm_id = %(realm_id)s AND m.conversation_id = t.topic_id
                         AND m.origin_channel_id = t.channel_id AND m.id >= lower(span)
                         AND m.id < coalesce(upper(span), 9223372036854775807)
                       ORDER BY m.id DESC LIMIT 1) AS m
                WHERE s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s
                  AND s.channel_id = t.channel_id) AS here ON true
          LEFT JOIN LATERAL (
               -- Moved here, or moved away and back.
               SELECT max(m.id) AS id
                 FROM messages m
                 JOIN subscriptions s ON s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s
                      AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m)
                WHERE m.realm_id = %(realm_id)s AND m.conversation_id = t.topic_id
                  AND (m.conversation_id <> m.origin_conversation_id
                       OR m.entered_at IS NOT NULL)) AS elsewhere ON true
         WHERE t.realm_id = %(realm_id)s AND t.channel_id = %(channel_id)s
           AND coalesce(here.id, elsewhere.id) IS NOT NULL
         ORDER BY max_id DESC
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        user_id=user_id,
    )
