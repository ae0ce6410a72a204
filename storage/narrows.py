"""Resolve narrow terms to channels and conversations."""

from collections.abc import Sequence

from storage.database import Connection
from storage.ids import ChannelId, RealmId, UserId


async def channels_that_are(
    connection: Connection, realm_id: RealmId, kind: str
) -> list[ChannelId]:
    """Return all channels that are `public`, `web-public` or `archived`."""
    return await connection.values(
        """
        SELECT channel_id FROM channels
         WHERE realm_id = %(realm_id)s
           AND CASE %(kind)s WHEN 'public' THEN NOT invite_only
                             WHEN 'web-public' THEN is_web_public
                             WHEN 'archived' THEN is_archived END
        """,
        realm_id=realm_id,
        kind=kind,
    )


async def topics_of_feed(
    connection: Connection, realm_id: RealmId, user_id: UserId, topic_ids: Sequence[int]
) -> list[int]:
    """Return those of the topics that may have messages in the user's feed.

    They are in channels to which the user is subscribed, or hold messages that are in the user's
    history without having been received.
    """
    return await connection.values(
        """
        SELECT t.topic_id FROM topics t
         WHERE t.realm_id = %(realm_id)s AND t.topic_id = ANY (%(topic_ids)s::bigint[])
           AND t.channel_id IN (
               SELECT s.channel_id FROM subscriptions s
                WHERE s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s AND s.active)
        UNION
        SELECT m.conversation_id
          FROM message_flags f
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         WHERE f.realm_id = %(realm_id)s AND f.user_id = %(user_id)s AND f.flags & {HISTORICAL} <> 0
           AND m.conversation_id = ANY (%(topic_ids)s::bigint[])
        """,
        realm_id=realm_id,
        user_id=user_id,
        topic_ids=list(topic_ids),
    )


async def dm_groups_including(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    others: Sequence[UserId],
    *,
    at_least: int,
) -> list[int]:
    """Return the user's groups of at least so many users that include all of the others."""
    return await connection.values(
        """
        SELECT g.dm_group_id
          FROM dm_group_members d
          JOIN dm_groups g ON g.realm_id = d.realm_id AND g.dm_group_id = d.dm_group_id
         WHERE d.realm_id = %(realm_id)s AND d.user_id = %(user_id)s
           AND g.user_ids @> %(others)s::bigint[] AND cardinality(g.user_ids) >= %(at_least)s
        """,
        realm_id=realm_id,
        user_id=user_id,
        others=list(others),
        at_least=at_least,
    )


async def resolved_topics(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    channel_ids: Sequence[int] | None,
) -> list[int]:
    """Return topics marked as resolved in these channels or in any, for any user."""
    del user_id
    return await connection.values(
        """
        SELECT topic_id FROM topics
         WHERE realm_id = %(realm_id)s AND left(name, 2) = '✔ '
           AND (%(channel_ids)s::bigint[] IS NULL OR channel_id = ANY (%(channel_ids)s))
        """,
        realm_id=realm_id,
        channel_ids=channel_ids,
    )


async def followed_topics(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    channel_ids: Sequence[int] | None,
) -> list[int]:
    """Return topics that the user follows, in these channels or in any."""
    return await _by_policy(connection, realm_id, user_id, channel_ids, policy=3)


async def muted_topics(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    channel_ids: Sequence[int] | None,
) -> list[int]:
    """Return topics that the user has muted, and those of muted channels that are not unmuted."""
    of_channels = await connection.values(
        """
        SELECT t.topic_id
          FROM subscriptions s
          JOIN topics t ON t.realm_id = s.realm_id AND t.channel_id = s.channel_id
          LEFT JOIN user_topics u ON u.realm_id = s.realm_id AND u.user_id = s.user_id
               AND u.topic_id = t.topic_id
         WHERE s.realm_id = %(realm_id)s AND s.user_id = %(user_id)s AND s.active AND s.is_muted
           AND coalesce(u.visibility_policy, 0) NOT IN (2, 3)
           AND (%(channel_ids)s::bigint[] IS NULL OR s.channel_id = ANY (%(channel_ids)s))
        """,
        realm_id=realm_id,
        user_id=user_id,
        channel_ids=channel_ids,
    )
    muted = await _by_policy(connection, realm_id, user_id, channel_ids, policy=1)
    return [*{*of_channels, *muted}]


async def _by_policy(
    connection: Connection,
    realm_id: RealmId,
    user_id: UserId,
    channel_ids: Sequence[int] | None,
    policy: int,
) -> list[int]:
    return await connection.values(
        """
        SELECT u.topic_id
          FROM user_topics u
          JOIN topics t ON t.realm_id = u.realm_id AND t.topic_id = u.topic_id
         WHERE u.realm_id = %(realm_id)s AND u.user_id = %(user_id)s
           AND u.visibility_policy = %(policy)s
           AND (%(channel_ids)s::bigint[] IS NULL OR t.channel_id = ANY (%(channel_ids)s))
        """,
        realm_id=realm_id,
        user_id=user_id,
        channel_ids=channel_ids,
        policy=policy,
    )
