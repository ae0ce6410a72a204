-- Policies of users for topics, renaming and activity.

-- Append user_topic entries for the users who now have one policy for a topic. Users who left a
-- private channel keep their policy, and get no entry with its topics' names.
CREATE OR REPLACE FUNCTION append_user_topic_entries(
    p_realm_id bigint, p_user_ids bigint[], p_policies integer[], p_body jsonb, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v record;
BEGIN
    FOR v IN SELECT p.policy, jsonb_agg(p.user_id ORDER BY p.user_id) AS users
               FROM unnest(p_user_ids, p_policies) AS p(user_id, policy)
             CROSS JOIN LATERAL reader_access(
                   p_realm_id, p.user_id, ARRAY[(p_body ->> 'stream_id')::bigint]) a
             WHERE a.access > 0
             GROUP BY p.policy ORDER BY p.policy
    LOOP
        PERFORM append_entry(p_realm_id, 'user_topic',
            convert_to(jsonb_build_object('users', v.users)::text, 'UTF8'),
            convert_to((p_body || jsonb_build_object('visibility_policy', v.policy))::text, 'UTF8'),
            p_write_id);
    END LOOP;
END $$;

-- Set the users' policy for a topic (0: none), and append user_topic for each user it changes for,
-- and muted_topics for those whose muted topics change. p_empty_topic_name: what clients call the
-- empty topic that do not know it.
CREATE OR REPLACE FUNCTION set_topic_policy(
    p_realm_id bigint, p_user_ids bigint[], p_topic_id bigint, p_policy smallint,
    p_at timestamptz, p_empty_topic_name text, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed bigint[];
    v_muting bigint[];
    v_user_id bigint;
BEGIN
    SELECT array_agg(u.id ORDER BY u.id),
           array_agg(u.id ORDER BY u.id) FILTER (WHERE 1 IN (p_policy, ut.visibility_policy))
      INTO v_changed, v_muting
      FROM unnest(p_user_ids) AS u(id)
      LEFT JOIN user_topics ut ON ut.realm_id = p_realm_id AND ut.user_id = u.id
           AND ut.topic_id = p_topic_id
     WHERE coalesce(ut.visibility_policy, 0) <> p_policy;
    IF v_changed IS NULL THEN
        RETURN;
    END IF;
    IF p_policy = 0 THEN
        DELETE FROM user_topics ut WHERE ut.realm_id = p_realm_id
           AND ut.user_id = ANY (v_changed) AND ut.topic_id = p_topic_id;
    ELSE
        INSERT INTO user_topics (realm_id, user_id, topic_id, visibility_policy, last_updated)
        SELECT p_realm_id, u.id, p_topic_id, p_policy, p_at FROM unnest(v_changed) AS u(id)
        ON CONFLICT (realm_id, user_id, topic_id)
        DO UPDATE SET visibility_policy = excluded.visibility_policy,
                      last_updated = excluded.last_updated;
    END IF;
    FOREACH v_user_id IN ARRAY coalesce(v_muting, '{}') LOOP
        PERFORM append_entry(
            p_realm_id, 'muted_topics', to_users(ARRAY[v_user_id]),
            convert_to((SELECT jsonb_build_object(
                'muted_topics', coalesce(jsonb_agg(jsonb_build_array(
                    m.channel_name, m.topic, m.muted_at)), '[]'),
                'empty_topic_display_name', p_empty_topic_name)::text
               FROM muted_topics_of(p_realm_id, v_user_id) m), 'UTF8'),
            p_write_id);
    END LOOP;
    PERFORM append_entry(
        p_realm_id, 'user_topic', to_users(v_changed),
        convert_to(jsonb_build_object(
            'stream_id', t.channel_id, 'topic_name', t.name, 'visibility_policy', p_policy,
            'last_updated', floor(extract(epoch FROM p_at))::bigint,
            'empty_topic_display_name', p_empty_topic_name)::text, 'UTF8'),
        p_write_id)
       FROM topics t WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;
END $$;

-- Set a user's policy for a topic by name.
CREATE OR REPLACE FUNCTION set_named_topic_policy(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_name text,
    p_topic_folding text, p_policy smallint, p_at timestamptz, p_empty_topic_name text,
    p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_topic_id bigint := (ARRAY(
        SELECT t.topic_id FROM topics t WHERE t.realm_id = p_realm_id
           AND t.channel_id = p_channel_id AND t.folded_name = p_topic_folding
         ORDER BY t.topic_id))[1];
BEGIN
    IF v_topic_id IS NULL AND p_policy <> 0 THEN
        INSERT INTO topics (realm_id, channel_id, name, folded_name)
        VALUES (p_realm_id, p_channel_id, p_topic_name, p_topic_folding) RETURNING topic_id INTO v_topic_id;
    END IF;
    PERFORM set_topic_policy(p_realm_id, ARRAY[p_user_id], v_topic_id, p_policy, p_at,
                             p_empty_topic_name, p_write_id);
END $$;

-- Raise a user's policy for a topic to the one that participation gives, unless it is as high
-- already.
CREATE OR REPLACE FUNCTION raise_topic_policy(
    p_realm_id bigint, p_user_id bigint, p_topic_id bigint, p_policy smallint,
    p_at timestamptz, p_empty_topic_name text, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF p_policy > coalesce((
            SELECT ut.visibility_policy FROM user_topics ut
             WHERE ut.realm_id = p_realm_id AND ut.user_id = p_user_id
               AND ut.topic_id = p_topic_id), 0) THEN
        PERFORM set_topic_policy(p_realm_id, ARRAY[p_user_id], p_topic_id, p_policy, p_at,
                                 p_empty_topic_name, p_write_id);
    END IF;
END $$;

-- Move users' policies for a topic with its messages to another, with the clock locked. Of two
-- policies for the target the one that shows more stays; one for an empty topic does not count.
-- Users who may not read the target lose theirs.
CREATE OR REPLACE FUNCTION move_user_topics(
    p_realm_id bigint, p_from bigint, p_to bigint, p_was_empty boolean, p_losers bigint[],
    p_now timestamptz, p_from_body jsonb, p_to_body jsonb, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Muted shows less than no policy: policies by rank, and ranks by policy.
    c_rank CONSTANT integer[] := ARRAY[1, 0, 2, 3];
    v_gone bigint[];
    v_old integer[];
    v_strangers bigint[];
    v_users bigint[];
    v_policies integer[];
BEGIN
    WITH gone AS (
        DELETE FROM user_topics u WHERE u.realm_id = p_realm_id AND u.topic_id = p_from
        RETURNING u.user_id, u.visibility_policy
    )
    SELECT coalesce(array_agg(g.user_id), '{}'), coalesce(array_agg(g.visibility_policy), '{}')
      INTO v_gone, v_old FROM gone g WHERE g.visibility_policy <> 0;
    PERFORM append_user_topic_entries(
        p_realm_id, v_gone, array_fill(0, ARRAY[cardinality(v_gone)]), p_from_body, p_write_id);
    v_strangers := strangers_to_topic(p_realm_id, v_gone, p_to);

    SELECT array_agg(n.user_id), array_agg(n.policy) INTO v_users, v_policies
      FROM (
        SELECT a.user_id, a.there, CASE WHEN p_was_empty THEN a.brought
                 ELSE c_rank[1 + greatest(c_rank[1 + a.brought], c_rank[1 + a.there])]
               END AS policy
          FROM (SELECT coalesce(g.user_id, u.user_id) AS user_id,
                       coalesce(g.policy, 0) AS brought,
                       coalesce(u.visibility_policy, 0) AS there
                  FROM (SELECT o.user_id, o.policy FROM unnest(v_gone, v_old) AS o(user_id, policy)
                         WHERE o.user_id <> ALL (p_losers || v_strangers)) g
                  FULL JOIN (SELECT x.user_id, x.visibility_policy FROM user_topics x
                              WHERE x.realm_id = p_realm_id AND x.topic_id = p_to) u
                       ON u.user_id = g.user_id) a
      ) n WHERE n.policy <> n.there;
    DELETE FROM user_topics u USING unnest(v_users, v_policies) AS n(user_id, policy)
     WHERE u.realm_id = p_realm_id AND u.topic_id = p_to AND u.user_id = n.user_id
       AND n.policy = 0;
    INSERT INTO user_topics (realm_id, user_id, topic_id, visibility_policy, last_updated)
    SELECT p_realm_id, n.user_id, p_to, n.policy, p_now
      FROM unnest(v_users, v_policies) AS n(user_id, policy) WHERE n.policy <> 0
    ON CONFLICT (realm_id, user_id, topic_id) DO UPDATE
       SET visibility_policy = excluded.visibility_policy, last_updated = excluded.last_updated;
    PERFORM append_user_topic_entries(p_realm_id, v_users, v_policies, p_to_body, p_write_id);
END $$;

-- Rename a topic in place, with everything that refers to it by name, and append the entries.
CREATE OR REPLACE FUNCTION rename_topic(
    p_realm_id bigint, p_topic_id bigint, p_name text, p_folding text, p_rename jsonb,
    p_last_id bigint, p_audiences bytea[], p_ids jsonb, p_body jsonb, p_message_id bigint,
    p_from_body jsonb, p_to_body jsonb, p_work_id uuid, p_work jsonb, p_job bytea,
    p_write_id uuid)
    RETURNS text
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_new bigint[] := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id AND m.id > p_last_id
         ORDER BY m.id);
    v_ids bigint[];
    v_some bigint[];
    v_position bigint;
    v_users bigint[];
    v_policies integer[];
BEGIN
    IF v_new <> '{}' AND cardinality(p_audiences) > 1 THEN RETURN 'stale'; END IF;
    PERFORM FROM topics t JOIN topics o ON o.realm_id = t.realm_id AND o.channel_id = t.channel_id
        AND o.folded_name = p_folding AND o.topic_id <> t.topic_id
      WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;
    IF FOUND THEN RETURN 'stale'; END IF;

    FOR v_index IN 1 .. cardinality(p_audiences) LOOP
        v_ids := ARRAY(SELECT jsonb_array_elements_text(p_ids -> (v_index - 1))::bigint) || v_new;
        FOR v_start IN 1 .. cardinality(v_ids) BY 1000 LOOP
            v_some := v_ids[v_start : v_start + 999];
            v_position := append_entry(p_realm_id, 'update_message', p_audiences[v_index],
                convert_to((p_body || jsonb_build_object(
                    'message_ids', to_jsonb(v_some),
                    'message_id', CASE WHEN p_message_id = ANY (v_some) THEN p_message_id
                                       ELSE v_some[1] END))::text, 'UTF8'), p_write_id);
            IF p_message_id = ANY (v_some) THEN
                PERFORM add_reader_flags(p_realm_id, p_message_id);
            END IF;
        END LOOP;
    END LOOP;
    UPDATE topics t
       SET name = p_name, folded_name = p_folding,
           renames = coalesce(t.renames, '[]')
                     || (p_rename || jsonb_build_object('position', current_position()))
     WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;

    -- Rows of user_topics refer to the topic's id, whatever its name.
    SELECT array_agg(u.user_id) INTO v_users
      FROM user_topics u
     WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id AND u.visibility_policy <> 0;
    IF v_users IS NOT NULL THEN
        PERFORM append_user_topic_entries(p_realm_id, v_users,
            array_fill(0, ARRAY[cardinality(v_users)]), p_from_body, p_write_id);
        DELETE FROM user_topics u
         WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id
           AND u.user_id IN (
               SELECT unnest(strangers_to_topic(p_realm_id, v_users, p_topic_id)));
        SELECT array_agg(u.user_id), array_agg(u.visibility_policy) INTO v_users, v_policies
          FROM user_topics u
         WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id AND u.visibility_policy <> 0;
        PERFORM append_user_topic_entries(p_realm_id, v_users, v_policies, p_to_body, p_write_id);
        UPDATE user_topics u SET last_updated = to_timestamp((p_to_body ->> 'last_updated')::bigint)
         WHERE u.realm_id = p_realm_id AND u.topic_id = p_topic_id;
    END IF;

    IF p_work_id IS NOT NULL THEN
        INSERT INTO stepped_work (realm_id, work_id, plan) VALUES (p_realm_id, p_work_id, p_work);
        PERFORM append_entry(p_realm_id, 'job', ''::bytea, p_job, p_write_id);
    END IF;
    RETURN 'renamed';
END $$;

-- The user's muted topics in channels they may read, for older clients.
CREATE OR REPLACE FUNCTION muted_topics_of(p_realm_id bigint, p_user_id bigint)
    RETURNS TABLE (channel_name text, topic text, muted_at bigint)
    LANGUAGE sql STABLE
    AS $$
    SELECT c.name, t.name, floor(extract(epoch FROM ut.last_updated))::bigint
      FROM users u
      JOIN user_topics ut ON ut.realm_id = p_realm_id AND ut.user_id = p_user_id
           AND ut.visibility_policy = 1
      JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = ut.topic_id
      JOIN channels c ON c.realm_id = p_realm_id AND c.channel_id = t.channel_id
           AND NOT c.is_archived
      LEFT JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
           AND s.channel_id = t.channel_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
       AND channel_access(p_user_id, u.role, s.active, c) > 0
     ORDER BY ut.last_updated, ut.topic_id
$$;

-- Append entries where a channel's first message or recent activity has changed, with the clock
-- locked. p_age: the maximum age of its last message, or of the channel, for recent activity.
CREATE OR REPLACE FUNCTION tell_channel_activity(
    p_realm_id bigint, p_channel_id bigint, p_first_before bigint, p_last_before timestamptz,
    p_now timestamptz, p_age interval, p_audience bytea, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_channel channels;
    v_first bigint := (
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id ORDER BY m.id LIMIT 1);
    v_last timestamptz := (
        SELECT m.sent_at FROM messages m
         WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id ORDER BY m.id DESC LIMIT 1);
    v_recent boolean;
BEGIN
    SELECT * INTO v_channel FROM channels c
     WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id;
    IF v_first IS DISTINCT FROM p_first_before THEN
        PERFORM append_entry(p_realm_id, 'stream/update', p_audience, convert_to(jsonb_build_object(
            'stream_id', p_channel_id, 'name', v_channel.name, 'property', 'first_message_id',
            'value', v_first, 'archived', v_channel.is_archived)::text, 'UTF8'), p_write_id);
    END IF;
    v_recent := p_now - greatest(v_channel.created_at, v_last) < p_age;
    IF v_recent <> (p_now - greatest(v_channel.created_at, p_last_before) < p_age) THEN
        PERFORM append_entry(p_realm_id, 'stream/update', p_audience, convert_to(jsonb_build_object(
            'stream_id', p_channel_id, 'name', v_channel.name, 'property', 'is_recently_active',
            'value', v_recent, 'archived', v_channel.is_archived)::text, 'UTF8'), p_write_id);
    END IF;
END $$;
