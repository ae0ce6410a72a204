-- Of a private channel that keeps its history from newcomers, whoever is in it sees what is moved there, as
-- they see what is sent there.
CREATE FUNCTION was_given(s subscriptions, m messages) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    -- Without a query of its own, so that it is part of the one that asks.
    SELECT (s.channel_id = m.origin_channel_id AND s.spans @> m.id)
        OR (s.channel_id = m.channel_id AND s.spans @> m.entered_at)
$$;

CREATE OR REPLACE FUNCTION strangers_to_topic(p_realm_id bigint, p_user_ids bigint[], p_topic_id bigint)
RETURNS bigint[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT p.user_id
          FROM unnest(p_user_ids) AS p(user_id)
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = p_topic_id
         CROSS JOIN LATERAL reader_access(p_realm_id, p.user_id, ARRAY[t.channel_id]) a
         WHERE a.access < 2 AND NOT EXISTS (
               SELECT FROM messages m
                 JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p.user_id
                      AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m)
                WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id));
END $$;

DO $do$
DECLARE
    v_changed text;
    v_edit record;
    v_function record;
BEGIN
    -- How messages stand to their readers.
    FOR v_function IN SELECT f AS id FROM unnest(ARRAY[
        'message_rows(bigint, bigint, bigint[], boolean)', 'message_states(bigint, bigint, bigint[])',
        'reader_states(bigint, bigint[], bigint[])']::regprocedure[]) AS f
    LOOP
        v_changed := pg_get_functiondef(v_function.id);
        FOR v_edit IN SELECT * FROM (VALUES
            ('x.origin_conversation_id, x.traits,', 'x.origin_conversation_id, x.traits, x.entered_at,'),
            ('there.spans,', 'there.spans, here.spans AS spans_here,'),
            ('SELECT there.active WHERE', 'SELECT there.active, there.spans WHERE'),
            ('SELECT x.active FROM', 'SELECT x.active, x.spans + ''{}''::int8multirange FROM'),
            ('g.spans @> l.id, false) AS received,', 'g.spans @> l.id, false) AS received,
               coalesce(g.spans_here @> l.entered_at, false) AS was_here,'),
            ('(j.access = 1 AND j.received)', '(j.access = 1 AND (j.received OR j.was_here))')
        ) AS e (old, new) LOOP
            ASSERT strpos(v_changed, v_edit.old) > 0, v_edit.old;
            v_changed := replace(v_changed, v_edit.old, v_edit.new);
        END LOOP;
        EXECUTE v_changed;
    END LOOP;

    -- What of partial sources is whose.
    FOR v_function IN SELECT f AS id FROM unnest(ARRAY[
        'walk_after(bigint, bigint, bigint[], bigint[], bigint[], bigint[], bigint, bigint)',
        'walk_before(bigint, bigint, bigint[], bigint[], bigint[], bigint[], bigint, bigint)',
        'narrow_filter(bigint, bigint, boolean, boolean, bigint[], bigint[], bigint[], bigint[], bigint[], jsonb, bigint[])'
        ]::regprocedure[]) AS f
    LOOP
        v_changed := pg_get_functiondef(v_function.id);
        FOR v_edit IN SELECT * FROM (VALUES
            ('AND (SELECT s.spans @> m.id FROM', 'AND ((SELECT s.spans @> m.id FROM'),
            ('s.channel_id = m.origin_channel_id)', 's.channel_id = m.origin_channel_id)
                    OR (m.entered_at IS NOT NULL AND (
                        SELECT s.spans @> m.entered_at FROM subscriptions s
                         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                           AND s.channel_id = m.channel_id)))')
        ) AS e (old, new) LOOP
            ASSERT strpos(v_changed, v_edit.old) > 0, v_edit.old;
            v_changed := replace(v_changed, v_edit.old, v_edit.new);
        END LOOP;
        EXECUTE v_changed;
    END LOOP;

    FOR v_function IN SELECT f AS id FROM unnest(ARRAY[
        'history_after(bigint, bigint, bigint[], bigint[], bigint[], bigint[], bigint[], bigint, bigint)',
        'history_before(bigint, bigint, bigint[], bigint[], bigint[], bigint[], bigint[], bigint, bigint)'
        ]::regprocedure[]) AS f
    LOOP
        v_changed := pg_get_functiondef(v_function.id);
        FOR v_edit IN SELECT * FROM (VALUES
            ('-- ... and what was received elsewhere and has been moved there.',
             '-- ... and what has been moved there: received elsewhere, or come while they were there.'),
            (' AND m.origin_channel_id <> m.channel_id
                  AND (SELECT s.spans @> m.id FROM subscriptions s
                        WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                          AND s.channel_id = m.origin_channel_id)', '
                  AND CASE WHEN m.origin_channel_id = m.channel_id THEN m.entered_at IS NOT NULL AND (
                      SELECT s.spans @> m.entered_at AND NOT s.spans @> m.id FROM subscriptions s
                       WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                         AND s.channel_id = m.channel_id)
                  ELSE (SELECT s.spans @> m.id FROM subscriptions s
                         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                           AND s.channel_id = m.origin_channel_id)
                       OR (m.entered_at IS NOT NULL AND (
                           SELECT s.spans @> m.entered_at FROM subscriptions s
                            WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                              AND s.channel_id = m.channel_id)) END'),
            ('AND m.conversation_id <> m.origin_conversation_id',
             'AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)')
        ) AS e (old, new) LOOP
            ASSERT strpos(v_changed, v_edit.old) > 0, v_edit.old;
            v_changed := replace(v_changed, v_edit.old, v_edit.new);
        END LOOP;
        EXECUTE v_changed;
    END LOOP;
END $do$;
