-- What several people send at once into conversations that exist is one statement: of what a send cost the
-- database, starting a query for each of its checks and rows was more than half. Whatever else a send does
-- (it starts a topic, mentions somebody) is done by send_message.
CREATE FUNCTION send_messages(p_realm_id bigint, p_sends json)
    RETURNS TABLE (outcome text, message_id bigint, conversation_id bigint, new_policy smallint, known_digest bytea)
    LANGUAGE plpgsql
    -- A few rows are looked up by their keys, however large the tables are.
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_position bigint := current_setting('parley.position')::bigint;
    v_day date := current_setting('parley.day')::date;
    v_epoch bigint := current_setting('parley.epoch')::bigint;
    v_send record;
BEGIN
    FOR v_send IN
        WITH asked AS MATERIALIZED (
            SELECT * FROM ROWS FROM (json_to_recordset(p_sends) AS (
                sender_id bigint, sender_version bigint, realm_version bigint, groups_version bigint,
                channel_id bigint, channel_version bigint, subscription_version bigint,
                topic_id bigint, topic_name text,
                dm_group_id bigint, dm_user_ids bigint[], dm_versions bigint[],
                sent_at timestamptz, traits integer, client text, content text, rendered text,
                audience json, body json, write_id uuid,
                idempotency_key text, idempotency_digest text,
                policy_started smallint, policy_sent smallint, empty_topic_name text))
              WITH ORDINALITY AS a(
                sender_id, sender_version, realm_version, groups_version,
                channel_id, channel_version, subscription_version, topic_id, topic_name,
                dm_group_id, dm_user_ids, dm_versions,
                sent_at, traits, client, content, rendered, audience, body, write_id,
                idempotency_key, idempotency_digest, policy_started, policy_sent, empty_topic_name,
                place)
        ), sound AS MATERIALIZED (
            -- Each look-up is one by a whole key, whatever the planner thinks of the tables.
            SELECT a.*, v_position + row_number() OVER (ORDER BY a.place) AS id, c.hides_history
              FROM asked a
             CROSS JOIN LATERAL (
                   SELECT r.changed_at, r.groups_changed_at FROM realms r
                    WHERE r.realm_id = p_realm_id OFFSET 0) r
             CROSS JOIN LATERAL (
                   SELECT u.changed_at FROM users u
                    WHERE u.realm_id = p_realm_id AND u.user_id = a.sender_id OFFSET 0) u
              LEFT JOIN LATERAL (
                   SELECT c.changed_at, c.invite_only AND NOT c.is_web_public
                          AND NOT c.history_public_to_subscribers AS hides_history
                     FROM channels c
                    WHERE c.realm_id = p_realm_id AND c.channel_id = a.channel_id OFFSET 0) c
                ON true
              LEFT JOIN LATERAL (
                   SELECT s.changed_at FROM subscriptions s
                    WHERE s.realm_id = p_realm_id AND s.user_id = a.sender_id
                      AND s.channel_id = a.channel_id OFFSET 0) s ON true
              LEFT JOIN LATERAL (
                   SELECT t.channel_id, t.name FROM topics t
                    WHERE t.realm_id = p_realm_id AND t.topic_id = a.topic_id OFFSET 0) t ON true
             WHERE r.changed_at = a.realm_version AND r.groups_changed_at = a.groups_version
               AND u.changed_at = a.sender_version
               AND CASE WHEN a.channel_id IS NOT NULL THEN
                       c.changed_at = a.channel_version
                       AND s.changed_at IS NOT DISTINCT FROM a.subscription_version
                       AND t.channel_id = a.channel_id AND t.name = a.topic_name
                   ELSE
                       (SELECT count(*) FROM dm_groups g
                         WHERE g.realm_id = p_realm_id AND g.dm_group_id = a.dm_group_id) = 1
                       AND NOT EXISTS (
                           SELECT FROM unnest(a.dm_user_ids, a.dm_versions) AS d(user_id, version)
                             LEFT JOIN users p ON p.realm_id = p_realm_id AND p.user_id = d.user_id
                            WHERE p.changed_at IS DISTINCT FROM d.version)
                   END
               AND CASE WHEN a.idempotency_key IS NOT NULL THEN
                       (SELECT count(*) FROM idempotency_keys k
                         WHERE k.realm_id = p_realm_id AND k.user_id = a.sender_id
                           AND k.key = a.idempotency_key) = 0
                   ELSE true END
        ), logged AS (
            INSERT INTO event_log (realm_id, position, day, epoch, kind, audience, body, write_id)
            SELECT p_realm_id, o.id, v_day, v_epoch, 'message',
                   convert_to(o.audience::text, 'UTF8'), convert_to(o.body::text, 'UTF8'), o.write_id
              FROM sound o
        ), written AS (
            INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id,
                                  origin_channel_id, origin_conversation_id, sent_at, traits,
                                  client, content, rendered_content)
            SELECT p_realm_id, o.id, o.sender_id, o.channel_id, coalesce(o.topic_id, o.dm_group_id),
                   o.channel_id, coalesce(o.topic_id, o.dm_group_id), o.sent_at, o.traits,
                   o.client, o.content, o.rendered
              FROM sound o
        ), named AS (
            INSERT INTO idempotency_keys (realm_id, user_id, key, digest, message_id)
            SELECT p_realm_id, o.sender_id, o.idempotency_key,
                   decode(o.idempotency_digest, 'base64'), o.id
              FROM sound o WHERE o.idempotency_key IS NOT NULL
        )
        SELECT a.sender_id, a.idempotency_key, a.sent_at, a.write_id, a.policy_started,
               a.policy_sent, a.empty_topic_name, coalesce(a.topic_id, a.dm_group_id) AS place_id,
               o.id, (SELECT max(l.id) FROM sound l) AS last_id,
               -- Sends only raise a policy: whoever has as much already, before the first of
               -- these, is left out, and so is whoever does not start the topic.
               a.channel_id IS NOT NULL AND a.policy_started IS NOT NULL AND (
                   coalesce(a.policy_sent, 0) > coalesce(p.visibility_policy, 0)
                   OR p.visibility_policy IS NULL
                      AND a.policy_started > coalesce(a.policy_sent, 0)
                      AND (o.hides_history OR (
                              SELECT m.id FROM messages m
                               WHERE m.realm_id = p_realm_id AND m.conversation_id = a.topic_id
                                 AND m.id <= v_position LIMIT 1) IS NULL)) AS may_change_policy
          FROM asked a
          LEFT JOIN sound o ON o.place = a.place
          LEFT JOIN LATERAL (
               SELECT p.visibility_policy FROM user_topics p
                WHERE p.realm_id = p_realm_id AND p.user_id = a.sender_id
                  AND p.topic_id = a.topic_id OFFSET 0) p ON true
         ORDER BY a.place
    LOOP
        message_id := v_send.id;
        conversation_id := v_send.place_id;
        new_policy := NULL;
        known_digest := NULL;
        IF v_send.last_id > v_position THEN
            v_position := v_send.last_id;
            PERFORM set_config('parley.position', v_position::text, true);
        END IF;
        IF message_id IS NOT NULL THEN
            outcome := 'sent';
            IF v_send.may_change_policy THEN
                new_policy := change_policies_by_send(
                    p_realm_id, v_send.sender_id, v_send.place_id, v_send.id,
                    v_send.policy_started, v_send.policy_sent, '{}', false, v_send.sent_at,
                    v_send.empty_topic_name, v_send.write_id);
                IF new_policy IS NOT NULL AND v_send.idempotency_key IS NOT NULL THEN
                    UPDATE idempotency_keys k SET visibility_policy = new_policy
                     WHERE k.realm_id = p_realm_id AND k.user_id = v_send.sender_id
                       AND k.key = v_send.idempotency_key;
                END IF;
            END IF;
        ELSE
            outcome := 'stale';
            IF v_send.idempotency_key IS NOT NULL THEN
                SELECT k.digest, k.message_id, k.visibility_policy
                  INTO known_digest, message_id, new_policy
                  FROM idempotency_keys k
                 WHERE k.realm_id = p_realm_id AND k.user_id = v_send.sender_id
                   AND k.key = v_send.idempotency_key;
                IF FOUND THEN
                    outcome := 'known';
                END IF;
            END IF;
        END IF;
        RETURN NEXT;
    END LOOP;
END $$;

-- What has been appended is read by a plan for any day: planning it for each commit took longer than reading.
ALTER FUNCTION clock_advance(bigint) SET plan_cache_mode TO 'force_generic_plan';

-- The whole turn of a realm's clock for nothing but such sends: what each gave; and what was appended beside
-- the messages, which whoever sends knows.
CREATE FUNCTION send_messages_in_turn(p_realm_id bigint, p_sends json)
    RETURNS TABLE (r_epoch bigint, r_outcome text, r_message_id bigint, r_policy smallint, r_digest bytea,
                   r_position bigint, r_kind text, r_audience bytea, r_body bytea, r_write_id text)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_start bigint;
    v_day date;
    v_position bigint;
    v_send record;
    v_has_more boolean := false;
BEGIN
    SELECT c.r_position, c.r_epoch, c.r_day INTO v_start, r_epoch, v_day FROM clock_lock(p_realm_id) c;
    FOR v_send IN SELECT * FROM send_messages(p_realm_id, p_sends) LOOP
        r_outcome := v_send.outcome;
        r_message_id := v_send.message_id;
        r_policy := v_send.new_policy;
        r_digest := v_send.known_digest;
        v_has_more := v_has_more OR v_send.new_policy IS NOT NULL;
        RETURN NEXT;
    END LOOP;
    v_position := current_position();
    IF v_position > v_start THEN
        UPDATE realm_clock c SET position = v_position, day = v_day
         WHERE c.realm_id = p_realm_id AND c.position = v_start;
    END IF;
    IF v_has_more THEN
        RETURN QUERY
        SELECT NULL::bigint, NULL::text, NULL::bigint, NULL::smallint, NULL::bytea,
               l.position, l.kind, l.audience, l.body, l.write_id::text
          FROM event_log l
         WHERE l.realm_id = p_realm_id AND l.position > v_start AND l.day = v_day
           AND l.kind <> 'message'
         ORDER BY l.position;
    END IF;
END $$;
