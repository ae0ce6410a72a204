-- A mention of everybody in a muted place is no unread mention.

CREATE FUNCTION place_is_muted(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    -- The topic's policy (1: muted, 2: unmuted, 3: followed) goes before its channel's muting.
    SELECT p_channel_id IS NOT NULL AND coalesce((
        SELECT t.visibility_policy = 1 FROM user_topics t
         WHERE t.realm_id = p_realm_id AND t.user_id = p_user_id AND t.topic_id = p_topic_id
           AND t.visibility_policy <> 0), (
        SELECT s.is_muted FROM subscriptions s
         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.channel_id = p_channel_id
           AND s.active), false)
$$;

CREATE FUNCTION counts_as_mention(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint, p_flags integer, p_traits integer, p_received boolean) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    -- Flags 8: by name or group, 64: by the topic's wildcard; trait 2: by the channel's wildcard.
    SELECT p_flags & 8 <> 0 OR (
        (p_flags & 64 <> 0 OR (p_received AND p_traits & 2 <> 0))
        AND NOT place_is_muted(p_realm_id, p_user_id, p_channel_id, p_conversation_id))
$$;

CREATE OR REPLACE FUNCTION mark_unread(p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_empty_topic_name text, p_audience bytea, p_write_id uuid, OUT r_changed bigint[], OUT r_ignored_channel_ids bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_details jsonb;
    v_not_received bigint[];
BEGIN
    SELECT coalesce(array_agg(s.id ORDER BY s.id) FILTER (WHERE s.subscribed AND NOT s.unread), '{}'),
           array_agg(s.id) FILTER (WHERE s.subscribed AND NOT s.unread AND NOT s.received),
           coalesce(array_agg(DISTINCT s.channel_id) FILTER (WHERE NOT s.subscribed), '{}'),
           jsonb_object_agg(s.id::text, CASE
               WHEN s.channel_id IS NULL THEN jsonb_build_object('type', 'private', 'user_ids', (
                    SELECT to_jsonb(array_remove(g.user_ids, p_user_id)) FROM dm_groups g
                     WHERE g.realm_id = p_realm_id AND g.dm_group_id = s.conversation_id))
               ELSE jsonb_build_object('type', 'stream', 'stream_id', s.channel_id, 'topic', (
                    SELECT t.name FROM topics t
                     WHERE t.realm_id = p_realm_id AND t.topic_id = s.conversation_id))
               END || CASE WHEN counts_as_mention(p_realm_id, p_user_id, s.channel_id, s.conversation_id,
                                                  s.flags, s.traits, s.received)
                           THEN '{"mentioned": true}'::jsonb ELSE '{}'::jsonb END)
           FILTER (WHERE s.subscribed AND NOT s.unread)
      INTO r_changed, v_not_received, r_ignored_channel_ids, v_details
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible;

    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, i, CASE WHEN i = ANY (v_not_received) THEN 33 ELSE 1 END
      FROM unnest(r_changed) AS i
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    PERFORM append_flag_entries(p_realm_id, 'remove', 'read', r_changed, p_audience, p_write_id,
                                false, v_details, p_empty_topic_name);
END $$;

CREATE OR REPLACE FUNCTION tell_regained(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_empty_topic_name text, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_user_id bigint;
    v_audience bytea;
    v_unread bigint[];
    v_starred bigint[];
    v_details jsonb;
BEGIN
    FOREACH v_user_id IN ARRAY p_user_ids LOOP
        SELECT array_agg(s.id ORDER BY s.id) FILTER (WHERE s.unread),
               array_agg(s.id ORDER BY s.id) FILTER (WHERE s.flags & 2 <> 0),
               jsonb_object_agg(s.id::text, jsonb_build_object(
                   'type', 'stream', 'stream_id', s.channel_id, 'topic', (
                        SELECT t.name FROM topics t
                         WHERE t.realm_id = p_realm_id AND t.topic_id = s.conversation_id))
                   || CASE WHEN counts_as_mention(p_realm_id, v_user_id, s.channel_id, s.conversation_id,
                                                  s.flags, s.traits, s.received)
                           THEN '{"mentioned": true}'::jsonb ELSE '{}'::jsonb END)
               FILTER (WHERE s.unread)
          INTO v_unread, v_starred, v_details
          FROM message_states(p_realm_id, v_user_id, p_ids) s
         WHERE s.accessible;
        v_audience := convert_to(format('{"users":[%s]}', v_user_id), 'UTF8');
        PERFORM append_flag_entries(p_realm_id, 'remove', 'read', v_unread, v_audience,
                                    p_write_id, false, v_details, p_empty_topic_name);
        PERFORM append_flag_entries(p_realm_id, 'add', 'starred', v_starred, v_audience,
                                    p_write_id);
    END LOOP;
END $$;
