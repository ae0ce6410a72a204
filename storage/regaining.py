"""What people find again in a channel that they could not read: unread, starred, set for topics."""

from collections.abc import Sequence

from storage.database import Connection, Statement
from storage.ids import ChannelId, RealmId, UserId


async def with_traces(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, user_ids: Sequence[UserId]
) -> list[UserId]:
    """Those of these users who have starred something there, or set something for a topic."""
    return await connection.values(
        """
        SELECT f.user_id FROM message_flags f
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         WHERE f.realm_id = %(realm_id)s AND f.flags & 2 <> 0
           AND f.user_id = ANY(%(user_ids)s::bigint[]) AND m.channel_id = %(channel_id)s
        UNION
        SELECT u.user_id FROM user_topics u
          JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = u.topic_id
         WHERE u.realm_id = %(realm_id)s AND u.visibility_policy <> 0
           AND u.user_id = ANY(%(user_ids)s::bigint[]) AND t.channel_id = %(channel_id)s
        """,
        realm_id=realm_id,
        channel_id=channel_id,
        user_ids=list(user_ids),
    )


def tell_flags(
    realm_id: RealmId,
    regained: Sequence[tuple[UserId, ChannelId]],
    *,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """After the clock: each is told what is unread and what is starred in the channel for them."""
    return Statement(
        """
        SELECT tell_regained(%(realm_id)s, ARRAY[g.user_id], shown.r_ids || ARRAY(
                   SELECT f.message_id FROM message_flags f
                     JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
                    WHERE f.realm_id = %(realm_id)s AND f.user_id = g.user_id
                      AND f.flags & 2 <> 0 AND m.channel_id = g.channel_id),
                   %(empty_topic_display_name)s, %(write_id)s::uuid)
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
               AS g(user_id, channel_id)
         CROSS JOIN LATERAL unread_shown_in(%(realm_id)s, g.user_id, g.channel_id, NULL) AS shown
        """,
        _parameters(realm_id, regained, empty_topic_display_name, write_id),
    )


def tell_policies(
    realm_id: RealmId,
    regained: Sequence[tuple[UserId, ChannelId]],
    *,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """After the clock: each is told what they have set for the channel's topics."""
    return Statement(
        """
        SELECT append_user_topic_entries(
                   %(realm_id)s, array_agg(u.user_id), array_agg(u.visibility_policy::integer),
                   jsonb_build_object(
                       'stream_id', t.channel_id, 'topic_name', t.name,
                       'last_updated', floor(extract(epoch FROM u.last_updated))::bigint,
                       'empty_topic_display_name', %(empty_topic_display_name)s::text),
                   %(write_id)s::uuid)
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
               AS g(user_id, channel_id)
          JOIN user_topics u ON u.realm_id = %(realm_id)s AND u.user_id = g.user_id
           AND u.visibility_policy <> 0
          JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = u.topic_id
           AND t.channel_id = g.channel_id
         GROUP BY t.channel_id, t.topic_id, t.name, floor(extract(epoch FROM u.last_updated))
         ORDER BY t.topic_id
        """,
        _parameters(realm_id, regained, empty_topic_display_name, write_id),
    )


def tell_muted(
    realm_id: RealmId,
    regained: Sequence[tuple[UserId, ChannelId]],
    *,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """After the clock: who has muted a topic there is told all that they have muted, as of old."""
    return Statement(
        """
        SELECT append_entry(
                   %(realm_id)s, 'muted_topics', to_users(ARRAY[g.user_id]),
                   convert_to((
                       SELECT jsonb_build_object(
                                  'muted_topics', coalesce(jsonb_agg(jsonb_build_array(
                                      m.channel_name, m.topic, m.muted_at)), '[]'),
                                  'empty_topic_display_name',
                                  %(empty_topic_display_name)s::text)::text
                         FROM muted_topics_of(%(realm_id)s, g.user_id) m), 'UTF8'),
                   %(write_id)s::uuid)
          FROM (SELECT DISTINCT u.user_id
                  FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
                       AS g(user_id, channel_id)
                  JOIN user_topics u ON u.realm_id = %(realm_id)s AND u.user_id = g.user_id
                   AND u.visibility_policy = 1
                  JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = u.topic_id
                   AND t.channel_id = g.channel_id) g
        """,
        _parameters(realm_id, regained, empty_topic_display_name, write_id),
    )


def _parameters(
    realm_id: RealmId,
    regained: Sequence[tuple[UserId, ChannelId]],
    empty_topic_display_name: str,
    write_id: str,
) -> dict[str, object]:
    return {
        "realm_id": realm_id,
        "user_ids": [user_id for user_id, _ in regained],
        "channel_ids": [channel_id for _, channel_id in regained],
        "empty_topic_display_name": empty_topic_display_name,
        "write_id": write_id,
    }
