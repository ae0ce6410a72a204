"""Visibility policies of users for topics: follow, unmute or mute."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from storage.database import Connection, Statement
from storage.ids import ChannelId, RealmId, TopicId, UserId
from storage.name_folding import fold_name


@dataclass(frozen=True, slots=True)
class UserTopicRow:
    topic_id: TopicId
    channel_id: ChannelId
    name: str
    visibility_policy: int
    last_updated: datetime


async def user_ids_of(
    connection: Connection, realm_id: RealmId, topic_ids: Sequence[TopicId]
) -> dict[TopicId, list[UserId]]:
    """Return users who have a policy for these topics; topics without any are left out."""
    rows = await connection.tuples(
        """
        SELECT topic_id, array_agg(user_id ORDER BY user_id) FROM user_topics
         WHERE realm_id = %(realm_id)s AND topic_id = ANY(%(topic_ids)s::bigint[])
           AND visibility_policy <> 0
         GROUP BY topic_id
        """,
        realm_id=realm_id,
        topic_ids=list(topic_ids),
    )
    return dict(rows)


async def of_user(connection: Connection, realm_id: RealmId, user_id: UserId) -> list[UserTopicRow]:
    """Return the user's topic policies, in archived channels too."""
    return await connection.many(
        UserTopicRow,
        """
        SELECT u.topic_id, t.channel_id, t.name, u.visibility_policy, u.last_updated
          FROM user_topics u
          JOIN topics t ON t.realm_id = u.realm_id AND t.topic_id = u.topic_id
         WHERE u.realm_id = %(realm_id)s AND u.user_id = %(user_id)s
         ORDER BY u.topic_id
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


@dataclass(frozen=True, slots=True)
class MutedTopicRow:
    channel_name: str
    topic: str
    muted_at: int
    """Unix time."""


async def muted_by(
    connection: Connection, realm_id: RealmId, user_id: UserId
) -> list[MutedTopicRow]:
    """Return the user's muted topics in channels that they may read, archived ones excluded."""
    return await connection.many(
        MutedTopicRow,
        """
        SELECT channel_name, topic, muted_at
          FROM muted_topics_of(%(realm_id)s, %(user_id)s)
        """,
        realm_id=realm_id,
        user_id=user_id,
    )


def change(
    realm_id: RealmId,
    user_id: UserId,
    channel_id: ChannelId,
    topic: str,
    *,
    policy: int,
    changed_at: datetime,
    empty_topic_name: str,
    write_id: str,
) -> Statement:
    """Under the clock's lock: set the policy, 0 for none; create the topic if needed.

    Appends user_topic if that changes something, and muted_topics where it is concerned.
    `empty_topic_name` is the empty topic's name for clients that do not know it.
    """
    return Statement(
        """
        SELECT set_named_topic_policy(%(realm_id)s, %(user_id)s, %(channel_id)s, %(topic)s,
                                      %(folded_topic)s, %(policy)s::smallint, %(changed_at)s,
                                      %(empty_topic_name)s, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "channel_id": channel_id,
            "topic": topic,
            "folded_topic": fold_name(topic),
            "policy": policy,
            "changed_at": changed_at,
            "empty_topic_name": empty_topic_name,
            "write_id": write_id,
        },
    )


def raise_to(
    realm_id: RealmId,
    user_id: UserId,
    topic_id: TopicId,
    *,
    policy: int,
    changed_at: datetime,
    empty_topic_name: str,
    write_id: str,
) -> Statement:
    """Under the clock's lock: raise the policy (2 or 3) after participation, unless it is as high.

    Appends as `change` does.
    """
    return Statement(
        """
        SELECT raise_topic_policy(%(realm_id)s, %(user_id)s, %(topic_id)s, %(policy)s::smallint,
                                  %(changed_at)s, %(empty_topic_name)s, %(write_id)s::uuid)
        """,
        {
            "realm_id": realm_id,
            "user_id": user_id,
            "topic_id": topic_id,
            "policy": policy,
            "changed_at": changed_at,
            "empty_topic_name": empty_topic_name,
            "write_id": write_id,
        },
    )
