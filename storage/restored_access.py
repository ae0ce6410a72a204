"""Access to a channel's messages gained or lost: unread, starred, topic policies."""

from collections.abc import Sequence
from typing import Literal

from storage.database import Connection, Statement
from storage.ids import ChannelId, RealmId, UserId


async def starred_by(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId
) -> list[UserId]:
    """Return users who have starred messages in the channel."""
    return await connection.values(
        """
        SELECT DISTINCT f.user_id FROM message_flags f
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         WHERE f.realm_id = %(realm_id)s AND f.flags & {STARRED} <> 0
           AND m.channel_id = %(channel_id)s
         ORDER BY f.user_id
        """,
        realm_id=realm_id,
        channel_id=channel_id,
    )


async def with_traces(
    connection: Connection, realm_id: RealmId, channel_id: ChannelId, user_ids: Sequence[UserId]
) -> list[UserId]:
    """Return those of these users who have starred messages or topic policies in the channel."""
    return await connection.values(
        """
        SELECT f.user_id FROM message_flags f
          JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
         WHERE f.realm_id = %(realm_id)s AND f.flags & {STARRED} <> 0
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


def append_flag_events(
    realm_id: RealmId,
    regained: Sequence[tuple[UserId, ChannelId]],
    *,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """Under the clock's lock: append unread and starred messages that users regain there."""
    return Statement(
        """
        SELECT tell_regained(%(realm_id)s, ARRAY[g.user_id], shown.r_ids || ARRAY(
                   SELECT f.message_id FROM message_flags f
                     JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
                    WHERE f.realm_id = %(realm_id)s AND f.user_id = g.user_id
                      AND f.flags & {STARRED} <> 0 AND m.channel_id = g.channel_id),
                   %(empty_topic_display_name)s, %(write_id)s::uuid)
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
               AS g(user_id, channel_id)
         CROSS JOIN LATERAL unread_shown_in(%(realm_id)s, g.user_id, g.channel_id, NULL) AS shown
        """,
        _parameters(realm_id, regained, empty_topic_display_name, write_id),
    )


def append_unstarred_events(
    realm_id: RealmId, lost: Sequence[tuple[UserId, ChannelId]], *, write_id: str
) -> Statement:
    """Under the clock's lock: append the removal of stars on messages that users may not read.

    The stars themselves stay, for when they may read them again.
    """
    return Statement(
        """
        SELECT append_flag_entries(%(realm_id)s, 'remove', 'starred', gone.ids,
                                   to_users(ARRAY[l.user_id]), %(write_id)s::uuid)
          FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
               AS l(user_id, channel_id)
         CROSS JOIN LATERAL (
               SELECT array_agg(s.id ORDER BY s.id) AS ids
                 FROM message_states(%(realm_id)s, l.user_id, ARRAY(
                      SELECT f.message_id FROM message_flags f
                        JOIN messages m ON m.realm_id = %(realm_id)s AND m.id = f.message_id
                       WHERE f.realm_id = %(realm_id)s AND f.user_id = l.user_id
                         AND f.flags & {STARRED} <> 0 AND m.channel_id = l.channel_id)) s
                WHERE NOT s.accessible) gone
         WHERE gone.ids IS NOT NULL
        """,
        {**_pairs(realm_id, lost), "write_id": write_id},
    )


def append_policy_events(
    realm_id: RealmId,
    concerned: Sequence[tuple[UserId, ChannelId]],
    *,
    policy: Literal[0] | None = None,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """Under the clock's lock: append the users' policies for the channel's topics.

    With policy 0 it is appended for users who may not read the channel: for them nothing is set.
    """
    return Statement(
        """
        SELECT append_entry(%(realm_id)s, 'user_topic', to_users(entry.user_ids),
                            convert_to(entry.body::text, 'UTF8'), %(write_id)s::uuid)
          FROM (SELECT array_agg(u.user_id ORDER BY u.user_id) AS user_ids,
                       jsonb_build_object(
                           'stream_id', t.channel_id, 'topic_name', t.name,
                           'visibility_policy', p.policy, 'last_updated', p.last_updated,
                           'archived', c.is_archived,
                           'empty_topic_display_name', %(empty_topic_display_name)s::text) AS body
                  FROM unnest(%(user_ids)s::bigint[], %(channel_ids)s::bigint[])
                       AS g(user_id, channel_id)
                 CROSS JOIN LATERAL
                       reader_access(%(realm_id)s, g.user_id, ARRAY[g.channel_id]) a
                  JOIN user_topics u ON u.realm_id = %(realm_id)s AND u.user_id = g.user_id
                   AND u.visibility_policy <> 0
                  JOIN topics t ON t.realm_id = %(realm_id)s AND t.topic_id = u.topic_id
                   AND t.channel_id = g.channel_id
                  JOIN channels c ON c.realm_id = %(realm_id)s AND c.channel_id = g.channel_id
                 CROSS JOIN LATERAL (
                       SELECT coalesce(%(policy)s::integer, u.visibility_policy) AS policy,
                              floor(extract(epoch FROM u.last_updated))::bigint AS last_updated) p
                 WHERE (a.access > 0) = (%(policy)s::integer IS NULL)
                 GROUP BY t.channel_id, t.topic_id, t.name, c.is_archived, p.policy,
                          p.last_updated
                 ORDER BY t.topic_id, p.policy, p.last_updated) entry
        """,
        {
            **_parameters(realm_id, concerned, empty_topic_display_name, write_id),
            "policy": policy,
        },
    )


def append_muted_topics_events(
    realm_id: RealmId,
    concerned: Sequence[tuple[UserId, ChannelId]],
    *,
    empty_topic_display_name: str,
    write_id: str,
) -> Statement:
    """Under the clock's lock: append the legacy list of muted topics to users who muted one there.

    It lists topics of channels that they may read.
    """
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
        _parameters(realm_id, concerned, empty_topic_display_name, write_id),
    )


def _parameters(
    realm_id: RealmId,
    concerned: Sequence[tuple[UserId, ChannelId]],
    empty_topic_display_name: str,
    write_id: str,
) -> dict[str, object]:
    return {
        **_pairs(realm_id, concerned),
        "empty_topic_display_name": empty_topic_display_name,
        "write_id": write_id,
    }


def _pairs(realm_id: RealmId, concerned: Sequence[tuple[UserId, ChannelId]]) -> dict[str, object]:
    return {
        "realm_id": realm_id,
        "user_ids": [user_id for user_id, _ in concerned],
        "channel_ids": [channel_id for _, channel_id in concerned],
    }
