-- Pages of history are of one reader: what reader_states looks up for each conversation of each
-- reader is looked up once, or once for each channel.

-- What reader_states says, of one user, each message once.
CREATE OR REPLACE FUNCTION message_states(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS TABLE (id bigint, sender_id bigint, channel_id bigint, conversation_id bigint,
                   origin_channel_id bigint, origin_conversation_id bigint, traits integer,
                   flags integer, subscribed boolean, received boolean, seen boolean,
                   accessible boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
DECLARE
    v_role smallint := (SELECT x.role FROM users x
                         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
    v_mutes boolean := EXISTS (SELECT FROM muted_users x
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
BEGIN
    RETURN QUERY
    WITH looked_at AS MATERIALIZED (
        SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits,
               coalesce(x.channel_id, 0) AS place, coalesce(x.origin_channel_id, 0) AS origin
          FROM messages x
         WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids)
    ), flagged AS MATERIALIZED (
        SELECT x.message_id AS id, x.flags FROM message_flags x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.message_id = ANY (p_ids)
    ), places AS MATERIALIZED (
        SELECT w.place, w.origin, there.spans,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(p_user_id, v_role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.channel_id = w.origin) AS read
          FROM (SELECT DISTINCT l.place, l.origin FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active WHERE w.place = w.origin
               UNION ALL
               SELECT x.active FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), conversations AS MATERIALIZED (
        SELECT w.place, w.origin_conversation_id,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.conversation_id = w.origin_conversation_id) AS read
          FROM (SELECT DISTINCT l.place, l.origin_conversation_id FROM looked_at l) w
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(c.is_in_group, g.spans @> l.id, false) AS received,
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)
               OR coalesce(g.read @> l.id, false)
               OR coalesce(c.read @> l.id, false)
               OR (v_mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen
          FROM looked_at l
          JOIN places g ON g.place = l.place AND g.origin = l.origin
          JOIN conversations c ON c.place = l.place
               AND c.origin_conversation_id = l.origin_conversation_id
          LEFT JOIN flagged f ON f.id = l.id
        OFFSET 0
    )
    SELECT a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & 1 <> 0 OR (a.received AND NOT a.seen))
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND j.received), false)
                        END AS accessible
              FROM judged j OFFSET 0) a;
END $$;
