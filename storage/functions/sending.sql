-- Sending messages.

-- Send one message, with the clock locked: check that what the caller has read is current, insert
-- the message and its flags, and append the entry. `outcome` is 'stale', with nothing written, if
-- something has changed; 'known' if the idempotency key was used before. p_widget: JSON of the
-- widget that the message becomes. p_tells_of_resolving: whether it is a notice of resolving.
CREATE OR REPLACE FUNCTION send_one(
    p_realm_id bigint, p_sender_id bigint, p_sender_version bigint, p_realm_version bigint,
    p_groups_version bigint, p_channel_id bigint, p_channel_version bigint,
    p_subscription_version bigint, p_topic_id bigint, p_topic_name text, p_dm_group_id bigint,
    p_dm_user_ids bigint[], p_dm_versions bigint[], p_sent_at timestamptz, p_traits integer,
    p_client text, p_content text, p_rendered text, p_flagged_user_ids bigint[],
    p_flags integer[], p_audience bytea, p_body bytea, p_write_id uuid,
    p_idempotency_key text, p_idempotency_digest bytea, p_policy_started smallint,
    p_policy_sent smallint, p_policy_mentioned bigint[], p_follows_by_default boolean,
    p_empty_topic_name text, p_topic_folding text, p_widget text, p_attachment_ids bigint[],
    p_tells_of_resolving boolean, OUT outcome text, OUT message_id bigint, OUT conversation_id bigint,
    OUT new_policy smallint, OUT known_digest bytea)
    RETURNS record
    LANGUAGE plpgsql
    AS $$
BEGIN
    outcome := 'stale';

    IF p_idempotency_key IS NOT NULL THEN
        SELECT k.digest, k.message_id, k.visibility_policy INTO known_digest, message_id, new_policy
          FROM idempotency_keys k
         WHERE k.realm_id = p_realm_id AND k.user_id = p_sender_id AND k.key = p_idempotency_key;
        IF FOUND THEN
            outcome := 'known';
            RETURN;
        END IF;
    END IF;

    PERFORM FROM realms r JOIN users u ON u.realm_id = r.realm_id AND u.user_id = p_sender_id
      WHERE r.realm_id = p_realm_id AND r.changed_at = p_realm_version
        AND r.groups_changed_at = p_groups_version AND u.changed_at = p_sender_version;
    IF NOT FOUND THEN RETURN; END IF;

    IF p_channel_id IS NOT NULL THEN
        PERFORM FROM channels c
          LEFT JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_sender_id
               AND s.channel_id = p_channel_id
         WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id
           AND c.changed_at = p_channel_version
           AND s.changed_at IS NOT DISTINCT FROM p_subscription_version;
        IF NOT FOUND THEN RETURN; END IF;
        IF p_topic_id IS NOT NULL THEN
            conversation_id := p_topic_id;
            PERFORM FROM topics t WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id
                AND t.channel_id = p_channel_id AND t.name = p_topic_name;
            IF NOT FOUND THEN RETURN; END IF;
        ELSE
            PERFORM FROM topics t WHERE t.realm_id = p_realm_id
                AND t.channel_id = p_channel_id AND t.folded_name = p_topic_folding;
            IF FOUND THEN RETURN; END IF;
            INSERT INTO topics (realm_id, channel_id, name, folded_name)
            VALUES (p_realm_id, p_channel_id, p_topic_name, p_topic_folding)
            ON CONFLICT DO NOTHING
            RETURNING topic_id INTO conversation_id;
            IF NOT FOUND THEN RETURN; END IF;
        END IF;
    ELSE
        PERFORM FROM unnest(p_dm_user_ids, p_dm_versions) AS d(user_id, version)
          LEFT JOIN users u ON u.realm_id = p_realm_id AND u.user_id = d.user_id
         WHERE u.changed_at IS DISTINCT FROM d.version;
        IF FOUND THEN RETURN; END IF;
        conversation_id := p_dm_group_id;
        PERFORM FROM dm_groups g WHERE g.realm_id = p_realm_id AND g.dm_group_id = p_dm_group_id;
        IF NOT FOUND THEN
            INSERT INTO dm_groups (realm_id, dm_group_id, user_ids)
            VALUES (p_realm_id, p_dm_group_id, p_dm_user_ids)
            ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN RETURN; END IF;
            INSERT INTO dm_group_members (realm_id, user_id, dm_group_id)
            SELECT p_realm_id, unnest(p_dm_user_ids), p_dm_group_id;
        END IF;
    END IF;

    outcome := 'sent';
    message_id := append_entry(p_realm_id, 'message', p_audience, p_body, p_write_id);
    INSERT INTO messages (realm_id, id, sender_id, channel_id, conversation_id, origin_channel_id,
                          origin_conversation_id, sent_at, traits, client, content, rendered_content)
    VALUES (p_realm_id, message_id, p_sender_id, p_channel_id, conversation_id, p_channel_id,
            conversation_id, p_sent_at, p_traits, p_client, p_content, p_rendered);

    IF cardinality(p_flagged_user_ids) > 0 THEN
        INSERT INTO message_flags (realm_id, user_id, message_id, flags)
        SELECT p_realm_id, f.user_id, message_id, f.flags
          FROM unnest(p_flagged_user_ids, p_flags) AS f(user_id, flags)
         -- By the span: `active` is changed before the clock, by writes of this commit that
         -- have their turn later.
         WHERE p_channel_id IS NULL OR EXISTS (
               SELECT FROM subscriptions s WHERE s.realm_id = p_realm_id AND s.user_id = f.user_id
                  AND s.channel_id = p_channel_id AND s.spans @> message_id);
    END IF;

    IF p_channel_id IS NOT NULL AND (p_policy_started IS NOT NULL OR p_policy_mentioned <> '{}') THEN
        new_policy := change_policies_by_send(
            p_realm_id, p_sender_id, conversation_id, message_id, p_policy_started, p_policy_sent,
            p_policy_mentioned, p_follows_by_default, p_sent_at, p_empty_topic_name, p_write_id);
    END IF;

    IF p_idempotency_key IS NOT NULL THEN
        INSERT INTO idempotency_keys (realm_id, user_id, key, digest, message_id, visibility_policy)
        VALUES (p_realm_id, p_sender_id, p_idempotency_key, p_idempotency_digest, message_id, new_policy);
    END IF;

    IF p_widget IS NOT NULL THEN
        INSERT INTO submessages (realm_id, message_id, id, sender_id, msg_type, content)
        VALUES (p_realm_id, message_id, message_id, p_sender_id, 'widget', p_widget);
    END IF;
    IF p_attachment_ids <> '{}' THEN
        PERFORM set_attachments(p_realm_id, message_id, p_attachment_ids);
    END IF;
    IF p_tells_of_resolving THEN
        PERFORM keep_notice_unread(p_realm_id, message_id);
    END IF;
END $$;

-- For older releases.
CREATE OR REPLACE FUNCTION send_message(
    p_realm_id bigint, p_sender_id bigint, p_sender_version bigint, p_realm_version bigint,
    p_groups_version bigint, p_channel_id bigint, p_channel_version bigint,
    p_subscription_version bigint, p_topic_id bigint, p_topic_name text, p_dm_group_id bigint,
    p_dm_user_ids bigint[], p_dm_versions bigint[], p_sent_at timestamptz, p_traits integer,
    p_client text, p_content text, p_rendered text, p_flagged_user_ids bigint[],
    p_flags integer[], p_audience bytea, p_body bytea, p_write_id uuid,
    p_idempotency_key text, p_idempotency_digest bytea, p_policy_started smallint,
    p_policy_sent smallint, p_policy_mentioned bigint[], p_follows_by_default boolean,
    p_empty_topic_name text, p_topic_folding text, OUT outcome text, OUT message_id bigint,
    OUT conversation_id bigint, OUT new_policy smallint, OUT known_digest bytea)
    RETURNS record
    LANGUAGE sql
    AS $$
    SELECT * FROM send_one(
          p_realm_id, p_sender_id, p_sender_version, p_realm_version, p_groups_version,
          p_channel_id, p_channel_version, p_subscription_version, p_topic_id,
          p_topic_name, p_dm_group_id, p_dm_user_ids, p_dm_versions, p_sent_at,
          p_traits, p_client, p_content, p_rendered, p_flagged_user_ids, p_flags,
          p_audience, p_body, p_write_id, p_idempotency_key, p_idempotency_digest,
          p_policy_started, p_policy_sent, p_policy_mentioned, p_follows_by_default,
          p_empty_topic_name, p_topic_folding, NULL, '{}', false)
$$;

-- Send messages of several senders into existing conversations in one statement: more than half of
-- a send's cost in the database was starting queries for its checks and rows. Sends that do more,
-- such as starting a topic or mentioning a user, go through send_one.
CREATE OR REPLACE FUNCTION send_messages(p_realm_id bigint, p_sends json)
    RETURNS TABLE (outcome text, message_id bigint, conversation_id bigint, new_policy smallint, known_digest bytea)
    LANGUAGE plpgsql
    -- A few rows are looked up by key, however large the tables are.
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
                policy_started smallint, policy_sent smallint, empty_topic_name text,
                valid_below bigint))
              WITH ORDINALITY AS a(
                sender_id, sender_version, realm_version, groups_version,
                channel_id, channel_version, subscription_version, topic_id, topic_name,
                dm_group_id, dm_user_ids, dm_versions,
                sent_at, traits, client, content, rendered, audience, body, write_id,
                idempotency_key, idempotency_digest, policy_started, policy_sent, empty_topic_name,
                valid_below, place)
        ), sound AS MATERIALIZED (
            -- Each look-up is by a whole key, whatever the statistics say.
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
               AND (a.valid_below IS NULL OR v_position < a.valid_below)
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
               -- Sends only raise a policy: leave out senders who have as much before the first of
               -- these, and senders who do not start the topic.
               a.channel_id IS NOT NULL AND a.policy_started IS NOT NULL AND (
                   coalesce(a.policy_sent, 0) > coalesce(p.visibility_policy, 0)
                   OR p.visibility_policy IS NULL
                      AND a.policy_started > coalesce(a.policy_sent, 0)
                      AND (o.hides_history OR (
                              SELECT (m.realm_id, m.conversation_id) = (p_realm_id, a.topic_id)
                                     AND m.id <= v_position
                                FROM messages m
                               WHERE (m.realm_id, m.conversation_id) >= (p_realm_id, a.topic_id)
                               ORDER BY m.realm_id, m.conversation_id, m.id LIMIT 1) IS NOT TRUE)) AS may_change_policy
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

-- A whole turn of a realm's clock for such sends: the result of each, and the entries appended
-- beside the messages' own, which the senders know.
CREATE OR REPLACE FUNCTION send_messages_in_turn(p_realm_id bigint, p_sends json)
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

-- Raise the topic policies that a send changes: the sender's, and those of mentioned users whose
-- settings follow such topics. Muted topics stay muted. Returns the sender's policy if it is new.
CREATE OR REPLACE FUNCTION change_policies_by_send(
    p_realm_id bigint, p_sender_id bigint, p_topic_id bigint, p_message_id bigint,
    p_started smallint, p_sent smallint, p_mentioned bigint[], p_follows_by_default boolean,
    p_at timestamptz, p_empty_topic_name text, p_write_id uuid)
    RETURNS smallint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_current smallint;
    v_new smallint := p_sent;
    v_followers bigint[] := '{}';
BEGIN
    IF p_mentioned <> '{}' THEN
        v_followers := ARRAY(
            SELECT u.user_id
              FROM users u
              JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = p_topic_id
              JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = u.user_id
                   AND s.channel_id = t.channel_id AND s.spans @> p_message_id
              LEFT JOIN user_topics ut ON ut.realm_id = p_realm_id AND ut.user_id = u.user_id
                   AND ut.topic_id = p_topic_id
             WHERE u.realm_id = p_realm_id AND u.user_id = ANY (p_mentioned)
               AND u.is_active AND u.bot_type IS NULL
               AND coalesce((u.settings ->> 'automatically_follow_topics_where_mentioned')::boolean,
                            p_follows_by_default)
               AND coalesce(ut.visibility_policy, 0) NOT IN (1, 3));
    END IF;
    SELECT ut.visibility_policy INTO v_current FROM user_topics ut
     WHERE ut.realm_id = p_realm_id AND ut.user_id = p_sender_id AND ut.topic_id = p_topic_id;
    IF p_sender_id = ANY (v_followers) THEN
        v_followers := array_remove(v_followers, p_sender_id);
        v_new := 3;
    -- Users with a policy for the topic knew it, and so do not start it.
    ELSIF v_current IS NULL AND p_started > coalesce(p_sent, 0)
            AND NOT has_earlier_message(p_realm_id, p_sender_id, p_topic_id, p_message_id) THEN
        v_new := p_started;
    END IF;
    IF v_followers <> '{}' THEN
        PERFORM set_topic_policy(p_realm_id, v_followers, p_topic_id, 3::smallint, p_at,
                                 p_empty_topic_name, p_write_id);
    END IF;
    IF v_new > coalesce(v_current, 0) THEN
        PERFORM set_topic_policy(p_realm_id, ARRAY[p_sender_id], p_topic_id, v_new, p_at,
                                 p_empty_topic_name, p_write_id);
        RETURN v_new;
    END IF;
    RETURN NULL;
END $$;
