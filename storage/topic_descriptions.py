"""Descriptions of topics, in the topics' rows.

So a description is renamed and exported with its topic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from storage.database import Connection, Statement
from storage.ids import ChannelId, RealmId, TopicId, UserId


@dataclass(frozen=True, slots=True)
class TopicDescription:
    description: str
    rendered_description: str


@dataclass(frozen=True, slots=True)
class DescribedTopicRow:
    channel_id: ChannelId
    topic: str
    description: str
    rendered_description: str


async def of_channels(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    *,
    channel_id: ChannelId | None = None,
) -> list[DescribedTopicRow]:
    """Return described topics that the user may know of, of all channels they are subscribed to.

    With `channel_id` of that channel, which the user may read.
    """
    return await connection.many(
        DescribedTopicRow,
        """
        SELECT c.channel_id, t.name AS topic, t.description, t.rendered_description
          FROM topics t
          JOIN channels c ON c.realm_id = t.realm_id AND c.channel_id = t.channel_id
          LEFT JOIN subscriptions s ON s.realm_id = t.realm_id AND s.channel_id = t.channel_id
               AND s.user_id = %(user_id)s AND s.active
         WHERE t.realm_id = %(realm_id)s AND t.description IS NOT NULL
           AND CASE WHEN %(channel_id)s::bigint IS NULL THEN s.user_id IS NOT NULL
                    ELSE t.channel_id = %(channel_id)s END
           AND (NOT protects_history(c) OR user_was_given_topic(%(user_id)s, t))
         ORDER BY c.channel_id, t.topic_id
        """,
        realm_id=realm_id,
        user_id=user_id,
        channel_id=channel_id,
    )


async def of_topic(
    connection: Connection, realm_id: RealmId, topic_id: TopicId
) -> TopicDescription | None:
    """Return the topic's description, if it has one."""
    return await connection.one(
        TopicDescription,
        """
        SELECT description, rendered_description FROM topics
         WHERE realm_id = %(realm_id)s AND topic_id = %(topic_id)s AND description IS NOT NULL
        """,
        realm_id=realm_id,
        topic_id=topic_id,
    )


async def count(connection: Connection, realm_id: RealmId, channel_id: ChannelId) -> int:
    """Return how many topics of the channel have a description."""
    found: int = await connection.value(
        """
        SELECT count(*) FROM topics
         WHERE realm_id = %(realm_id)s AND channel_id = %(channel_id)s
           AND description IS NOT NULL
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )
    return found


async def set_description(
    connection: Connection, realm_id: RealmId, topic_id: TopicId, new: TopicDescription | None
) -> None:
    """Set the description of a locked topic; None removes it."""
    await connection.execute(
        """
        UPDATE topics
           SET description = %(description)s, rendered_description = %(rendered_description)s
         WHERE realm_id = %(realm_id)s AND topic_id = %(topic_id)s
        """,
        realm_id=realm_id,
        topic_id=topic_id,
        description=None if new is None else new.description,
        rendered_description=None if new is None else new.rendered_description,
    )


def append_changed(
    realm_id: RealmId,
    channel_id: ChannelId,
    topic_ids: Sequence[TopicId],
    *,
    gone: Mapping[str, Sequence[UserId]] | None = None,
    write_id: str,
) -> Statement:
    """Under the clock's lock: append the descriptions of these topics, or that they have none.

    Before them those of topics that are gone, by their names, with users who could read them; where
    history is not protected, all subscribers get them.
    """
    gone = gone or {}
    return Statement(
        """
        SELECT append_described_topics(%(realm_id)s, %(channel_id)s, NULL, %(topic_ids)s::bigint[],
                                       %(gone)s::jsonb, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "channel_id": channel_id,
            "topic_ids": list(topic_ids),
            "gone": Connection.json(
                [{"topic": name, "user_ids": [*user_ids]} for name, user_ids in gone.items()]
            ),
            "write_id": write_id,
        },
    )
