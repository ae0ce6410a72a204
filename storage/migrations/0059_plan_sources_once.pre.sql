-- Two things about plans. Calls of reader_access are planned with the query around them, unless an
-- argument is a query itself: then each page of a topic planned it anew, for longer than it took.
-- And with a hundred channels each subscription had all of them read, as soon as the planner knew
-- how few pages they fill: a millisecond of each page of everything.
CREATE OR REPLACE FUNCTION history_sources(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], OUT r_channels bigint[], OUT r_partial_channels bigint[],
    OUT r_conversations bigint[], OUT r_partial_conversations bigint[], OUT r_extra bigint[]
) LANGUAGE plpgsql STABLE
SET plan_cache_mode TO 'force_generic_plan' SET enable_seqscan TO 'off' SET jit TO 'off'
AS $$
DECLARE
    v_role smallint;
    v_channel_ids bigint[];
BEGIN
    r_channels := '{}';
    r_partial_channels := '{}';
    r_conversations := '{}';
    r_partial_conversations := '{}';
    r_extra := '{}';
    IF p_scope = 'feed' THEN
        v_role := coalesce((SELECT u.role FROM users u
                             WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id), 600);
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM (SELECT s.channel_id, channel_access(p_user_id, v_role, s.active, c) AS access
                  FROM subscriptions s
                  JOIN channels c ON c.realm_id = p_realm_id AND c.channel_id = s.channel_id
                 WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.active OFFSET 0) a;
        -- What they starred or reacted to elsewhere is part of their history.
        r_extra := ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 32 <> 0);
        IF r_extra <> '{}' THEN
            r_extra := ARRAY(SELECT s.id FROM message_states(p_realm_id, p_user_id, r_extra) s
                              WHERE s.accessible AND NOT s.subscribed);
        END IF;
    END IF;
    IF p_scope IN ('feed', 'direct') THEN
        r_conversations := ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND (p_conversation_ids IS NULL OR g.dm_group_id = ANY (p_conversation_ids)));
    ELSIF p_conversation_ids IS NULL THEN
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM reader_access(p_realm_id, p_user_id, p_channel_ids) a;
    ELSE
        v_channel_ids := ARRAY(
            SELECT DISTINCT t.channel_id FROM topics t
             WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids)
               AND (p_channel_ids IS NULL OR t.channel_id = ANY (p_channel_ids)));
        SELECT coalesce(array_agg(t.topic_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(t.topic_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_conversations, r_partial_conversations
          FROM reader_access(p_realm_id, p_user_id, v_channel_ids) a
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids)
               AND t.channel_id = a.channel_id;
        r_conversations := r_conversations || ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND g.dm_group_id = ANY (p_conversation_ids) AND p_channel_ids IS NULL);
    END IF;
END $$;

-- Most lists of a narrow are empty. In SQL it was planned at each of its calls, six for each piece.
CREATE OR REPLACE FUNCTION ids_of(p_terms jsonb, p_name text)
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF coalesce(p_terms -> p_name, '[]') = '[]' THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(SELECT i::bigint FROM jsonb_array_elements_text(p_terms -> p_name) AS i);
END $$;
