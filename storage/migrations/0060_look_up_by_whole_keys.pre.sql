-- Plans made while the table of messages was empty, and kept until it is analyzed for the first time, took
-- any index of the realm: the first to write in a new topic walked through all older messages at each send,
-- and who is notified of messages was asked of all there are. Here no other index will do.
DO $do$
DECLARE
    v_changed text;
    v_edit record;
BEGIN
    FOR v_edit IN SELECT * FROM (VALUES
        ('send_messages(bigint, json)'::regprocedure, $old$(
                              SELECT m.id FROM messages m
                               WHERE m.realm_id = p_realm_id AND m.conversation_id = a.topic_id
                                 AND m.id <= v_position LIMIT 1) IS NULL))$old$, $new$(
                              SELECT (m.realm_id, m.conversation_id) = (p_realm_id, a.topic_id)
                                     AND m.id <= v_position
                                FROM messages m
                               WHERE (m.realm_id, m.conversation_id) >= (p_realm_id, a.topic_id)
                               ORDER BY m.realm_id, m.conversation_id, m.id LIMIT 1) IS NOT TRUE))$new$),
        ('reader_states(bigint, bigint[], bigint[])'::regprocedure, $old$
                  FROM messages x
                 WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids) OFFSET 0) m ON m.id = p.id$old$, $new$
                  FROM (SELECT DISTINCT i FROM unnest(p_ids) AS i) w
                 CROSS JOIN LATERAL (
                       SELECT y.* FROM messages y
                        WHERE (y.realm_id, y.id) >= (p_realm_id, w.i)
                        ORDER BY y.realm_id, y.id LIMIT 1) x
                 WHERE x.realm_id = p_realm_id AND x.id = w.i OFFSET 0) m ON m.id = p.id$new$)
    ) AS e (function, old, new) LOOP
        v_changed := replace(pg_get_functiondef(v_edit.function), v_edit.old, v_edit.new);
        ASSERT strpos(v_changed, v_edit.new) > 0, v_edit.function;
        EXECUTE v_changed;
    END LOOP;
END $do$;
