-- Pinned topics and messages: their events. Each event has the whole list of a channel.

-- Append the channel's pinned messages, with the clock locked, for its subscribers or for those of
-- p_user_ids. p_changed: only for those who may read one of these messages. Nothing is appended for
-- p_user_ids who may read no pinned message, unless p_also_none.
CREATE OR REPLACE FUNCTION append_pinned_messages(
    p_realm_id bigint, p_channel_id bigint, p_user_ids bigint[], p_changed bigint[],
    p_also_none boolean, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_channel channels;
    v_ids bigint[] := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id
           AND m.traits & {PINNED} <> 0
         ORDER BY m.id);
    v record;
BEGIN
    IF v_ids = '{}' AND NOT p_also_none THEN RETURN; END IF;
    SELECT * INTO v_channel FROM channels c
     WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id;
    IF NOT protects_history(v_channel) THEN
        PERFORM append_channel_list(
            p_realm_id, 'pinned_messages', p_channel_id, p_user_ids,
            jsonb_build_object('message_ids', v_ids), p_write_id);
        RETURN;
    END IF;
    FOR v IN
        SELECT array_agg(r.user_id ORDER BY r.user_id) AS user_ids, r.ids
          FROM (SELECT s.user_id,
                       coalesce(array_agg(m.id ORDER BY m.id) FILTER (WHERE m.id = ANY (v_ids)), '{}')
                       AS ids
                  FROM subscriptions s
                  LEFT JOIN messages m ON m.realm_id = p_realm_id
                       AND m.id = ANY (v_ids || coalesce(p_changed, '{}'))
                       AND user_was_given(s.user_id, m)
                 WHERE s.realm_id = p_realm_id AND s.channel_id = p_channel_id AND s.active
                   AND (p_user_ids IS NULL OR s.user_id = ANY (p_user_ids))
                 GROUP BY s.user_id
                HAVING p_changed IS NULL OR bool_or(m.id = ANY (p_changed))) r
         WHERE p_also_none OR r.ids <> '{}'
         GROUP BY r.ids ORDER BY r.ids
    LOOP
        PERFORM append_channel_list(
            p_realm_id, 'pinned_messages', p_channel_id, v.user_ids,
            jsonb_build_object('message_ids', v.ids), p_write_id);
    END LOOP;
END $$;

-- The same for pinned topics, in the order in which they were pinned. p_changed, not null: after a
-- change of these topics, for all subscribers; where history is protected, for those who may read
-- something of these topics, and for subscribers among p_user_ids.
CREATE OR REPLACE FUNCTION append_topic_pins(
    p_realm_id bigint, p_channel_id bigint, p_user_ids bigint[], p_changed bigint[],
    p_also_none boolean, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_channel channels;
    v_names text[] := ARRAY(
        SELECT t.name FROM topics t
         WHERE t.realm_id = p_realm_id AND t.channel_id = p_channel_id AND t.pinned_at IS NOT NULL
         ORDER BY t.pinned_at, t.topic_id);
    v record;
BEGIN
    IF v_names = '{}' AND NOT p_also_none THEN RETURN; END IF;
    SELECT * INTO v_channel FROM channels c
     WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id;
    IF NOT protects_history(v_channel) THEN
        PERFORM append_channel_list(
            p_realm_id, 'pinned_topics', p_channel_id,
            CASE WHEN p_changed IS NULL THEN p_user_ids END,
            jsonb_build_object('topics', v_names), p_write_id);
        RETURN;
    END IF;
    FOR v IN
        SELECT array_agg(r.user_id ORDER BY r.user_id) AS user_ids, r.names
          FROM (SELECT s.user_id,
                       coalesce(array_agg(t.name ORDER BY t.pinned_at, t.topic_id)
                                FILTER (WHERE t.pinned_at IS NOT NULL), '{}') AS names
                  FROM subscriptions s
                  LEFT JOIN topics t ON t.realm_id = p_realm_id AND t.channel_id = p_channel_id
                       AND (t.pinned_at IS NOT NULL OR t.topic_id = ANY (p_changed))
                       AND user_was_given_topic(s.user_id, t)
                 WHERE s.realm_id = p_realm_id AND s.channel_id = p_channel_id AND s.active
                   AND (p_user_ids IS NULL OR p_changed IS NOT NULL OR s.user_id = ANY (p_user_ids))
                 GROUP BY s.user_id
                HAVING p_changed IS NULL OR s.user_id = ANY (p_user_ids)
                       OR bool_or(t.topic_id = ANY (p_changed))) r
         WHERE p_also_none OR r.names <> '{}'
         GROUP BY r.names ORDER BY r.names
    LOOP
        PERFORM append_channel_list(
            p_realm_id, 'pinned_topics', p_channel_id, v.user_ids,
            jsonb_build_object('topics', v.names), p_write_id);
    END LOOP;
END $$;
