-- Topics of the feed are a place like others: where they hold few messages they are walked.
CREATE OR REPLACE FUNCTION narrowed_page(p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[], p_conversation_ids bigint[], p_driver text, p_terms jsonb, p_ids bigint[], p_kinds text[], p_mentioned bigint[], p_unread_limit bigint, p_below bigint, p_before bigint, p_from bigint, p_after bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    c_few CONSTANT bigint := 2000;
    s record;
    v_driver text := p_driver;
    v_kind text;
    v_user_id bigint;
    v_ids bigint[] := p_ids;
    v_more bigint[];
    v_is_open boolean := p_scope = 'any';
BEGIN
    SELECT * INTO s FROM history_sources(
        p_realm_id, p_user_id, CASE p_scope WHEN 'any' THEN 'given' ELSE p_scope END,
        CASE WHEN v_is_open THEN '{}' ELSE p_channel_ids END, p_conversation_ids);
    FOREACH v_kind IN ARRAY p_kinds LOOP
        v_more := flagged_candidates(
            p_realm_id, p_user_id, v_kind,
            CASE WHEN p_conversation_ids IS NULL AND cardinality(p_channel_ids) = 1
                 THEN p_channel_ids[1] END,
            p_conversation_ids, p_unread_limit);
        v_ids := CASE WHEN v_ids IS NULL THEN v_more ELSE ARRAY(
            SELECT unnest(v_ids) INTERSECT SELECT unnest(v_more)) END;
    END LOOP;
    FOREACH v_user_id IN ARRAY p_mentioned LOOP
        v_more := ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = v_user_id AND f.flags & 8 <> 0);
        v_ids := CASE WHEN v_ids IS NULL THEN v_more ELSE ARRAY(
            SELECT unnest(v_ids) INTERSECT SELECT unnest(v_more)) END;
    END LOOP;
    -- A place of few messages is walked, whatever else is asked of them; a search begins so anyhow.
    IF (v_driver IN ('sender', 'held', 'reacted')
            OR (v_driver = 'search' AND cardinality(s.r_channels) > 3))
            AND (p_scope IN ('given', 'direct') OR p_conversation_ids IS NOT NULL)
            AND cardinality(history_before(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, 9223372036854775807, c_few)) < c_few THEN
        v_driver := 'history';
    END IF;
    v_more := '{}';
    IF p_before > 0 THEN
        v_more := narrowed_before(
            p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
            s.r_partial_conversations, s.r_extra, v_is_open, v_driver, p_terms, v_ids,
            p_below - 1, p_before);
    END IF;
    IF p_after > 0 THEN
        v_more := v_more || narrowed_after(
            p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
            s.r_partial_conversations, s.r_extra, v_is_open, v_driver, p_terms, v_ids,
            p_from, p_after);
    END IF;
    RETURN v_more;
END $$;
