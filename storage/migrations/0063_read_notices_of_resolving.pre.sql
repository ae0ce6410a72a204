-- Notices of resolving (messages.traits 128) are read at once by whoever does not want them unread: that
-- is nearly everybody, so it is a bit of the message. Those who follow the topic, and want the notices of
-- followed topics, are flagged as any exception is; for whom all such notices are unread, positions say so.
CREATE TABLE unread_notices (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    spans int8multirange NOT NULL,
    PRIMARY KEY (realm_id, user_id)
);

-- Where all notices of resolving came to the user unread. Who has never changed that has no row.
CREATE FUNCTION notices_unread(p_realm_id bigint, p_user_id bigint) RETURNS int8multirange
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(
        (SELECT n.spans FROM unread_notices n
          WHERE n.realm_id = p_realm_id AND n.user_id = p_user_id),
        (SELECT '{[0,)}'::int8multirange FROM users u
          WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
            AND u.settings ->> 'resolved_topic_notice_auto_read_policy' = 'never'),
        '{}')
$$;

-- The notices that these channels show and that the user has read by what they are, flagged or not.
CREATE FUNCTION notices_read(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_from bigint,
                             p_until bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
DECLARE
    v_found bigint[] := ARRAY(
        SELECT m.id FROM unnest(p_channel_ids) AS o(channel_id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = o.channel_id
                  AND m.traits & 128 <> 0 AND m.id >= p_from AND m.id < p_until OFFSET 0) m);
BEGIN
    IF v_found = '{}' THEN
        RETURN v_found;
    END IF;
    RETURN ARRAY(SELECT i FROM unnest(v_found) AS i
                  WHERE NOT notices_unread(p_realm_id, p_user_id) @> i);
END $$;

-- Right after such a notice was sent: who follows the topic, and has left it at that, has it unread.
CREATE FUNCTION keep_notice_unread(p_realm_id bigint, p_message_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, t.user_id, m.id, 1
      FROM messages m
      JOIN user_topics t ON t.realm_id = p_realm_id AND t.topic_id = m.conversation_id
           AND t.visibility_policy = 3
      JOIN users u ON u.realm_id = p_realm_id AND u.user_id = t.user_id
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = t.user_id
           AND s.channel_id = m.channel_id AND s.spans @> m.id
     WHERE m.realm_id = p_realm_id AND m.id = p_message_id
       AND coalesce(u.settings ->> 'resolved_topic_notice_auto_read_policy', '')
           NOT IN ('always', 'never')
       AND NOT notices_unread(p_realm_id, t.user_id) @> m.id
       AND NOT EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = t.user_id
                          AND x.muted_user_id = m.sender_id AND m.id < x.read_below)
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    PERFORM add_reader_flags(p_realm_id, p_message_id);
END $$;

DO $do$
DECLARE
    v_changed text;
    v_edit record;
BEGIN
    FOR v_edit IN SELECT * FROM (VALUES
        ('message_states(bigint, bigint, bigint[])'::regprocedure, $old$
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)$old$, $new$
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)
               OR (l.traits & 128 <> 0 AND NOT notices_unread(p_realm_id, p_user_id) @> l.id)$new$),
        ('message_rows(bigint, bigint, bigint[], boolean)'::regprocedure, $old$
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)$old$, $new$
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)
               OR (l.traits & 128 <> 0 AND NOT notices_unread(p_realm_id, p_user_id) @> l.id)$new$),
        ('reader_states(bigint, bigint[], bigint[])'::regprocedure, $old$
               (l.traits & 1 <> 0 AND l.sender_id = l.user_id)$old$, $new$
               (l.traits & 1 <> 0 AND l.sender_id = l.user_id)
               OR (l.traits & 128 <> 0 AND NOT notices_unread(p_realm_id, l.user_id) @> l.id)$new$),
        ('unseen_in_place(bigint, bigint, bigint[], int8multirange[], bigint, bigint, bigint[])'
            ::regprocedure, $old$
           AND m.id >= p_from AND m.id < p_until AND m.traits & 1 <> 0
        UNION ALL$old$, $new$
           AND m.id >= p_from AND m.id < p_until AND m.traits & 1 <> 0
        UNION ALL
        SELECT unnest(notices_read(p_realm_id, p_user_id, p_channel_ids, p_from, p_until))
        UNION ALL$new$),
        ('unread_shown_in(bigint, bigint, bigint, bigint)'::regprocedure, $old$
                            || read_by_sender(p_realm_id, p_user_id, r_ids) || v_odd;$old$, $new$
                            || read_by_sender(p_realm_id, p_user_id, r_ids) || v_odd
                            || notices_read(p_realm_id, p_user_id, ARRAY[v_channel_id], r_ids[1],
                                            r_ids[cardinality(r_ids)] + 1);$new$)
    ) AS e (function, old, new) LOOP
        v_changed := replace(pg_get_functiondef(v_edit.function), v_edit.old, v_edit.new);
        ASSERT strpos(v_changed, v_edit.new) > 0, v_edit.function;
        EXECUTE v_changed;
    END LOOP;
END $do$;
