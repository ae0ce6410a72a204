-- The feed may be asked for a few conversations: what it has of these, starred messages of elsewhere too.
DO $do$
DECLARE
    v_changed text;
    v_edit record;
BEGIN
    v_changed := pg_get_functiondef(
        'history_sources(bigint, bigint, text, bigint[], bigint[])'::regprocedure);
    FOR v_edit IN SELECT * FROM (VALUES
        ($old$
    IF p_scope IN ('feed', 'direct') THEN
        r_conversations := ARRAY($old$, $new$
    IF p_scope = 'feed' AND p_conversation_ids IS NOT NULL THEN
        SELECT coalesce(array_agg(t.topic_id) FILTER (WHERE t.channel_id = ANY (r_channels)), '{}'),
               coalesce(array_agg(t.topic_id)
                        FILTER (WHERE t.channel_id = ANY (r_partial_channels)), '{}')
          INTO r_conversations, r_partial_conversations
          FROM topics t
         WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids);
        r_channels := '{}';
        r_partial_channels := '{}';
        IF r_extra <> '{}' THEN
            r_extra := ARRAY(
                SELECT m.id FROM messages m
                 WHERE m.realm_id = p_realm_id AND m.id = ANY (r_extra)
                   AND m.conversation_id = ANY (p_conversation_ids));
        END IF;
    END IF;
    IF p_scope IN ('feed', 'direct') THEN
        r_conversations := r_conversations || ARRAY($new$)
    ) AS e (old, new) LOOP
        ASSERT strpos(v_changed, v_edit.old) > 0;
        v_changed := replace(v_changed, v_edit.old, v_edit.new);
    END LOOP;
    EXECUTE v_changed;
END $do$;
