-- What happens to messages after they were sent: editing, moving, renaming, deleting.

-- What the topic was called before, oldest first: [{position, timestamp, user_id, prev_topic,
-- topic}]. A whole topic is renamed without touching its messages; they show it from here.
ALTER TABLE topics ADD COLUMN renames jsonb;
-- How often its topic had been renamed when the message came there; NULL: it was sent there.
ALTER TABLE messages ADD COLUMN renames_before integer;
-- The entries of the log that hold what the message said, beside the one at its own position.
ALTER TABLE messages ADD COLUMN entry_positions bigint[];

-- ---------------------------------------------------------------- what readers are told

-- The names on the wire of somebody's flags on one message.
CREATE FUNCTION flag_names(p_flags integer, p_traits integer, p_received boolean, p_unread boolean)
    RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT to_jsonb(array_remove(ARRAY[
        CASE WHEN NOT p_unread THEN 'read' END,
        CASE WHEN p_flags & 2 <> 0 THEN 'starred' END,
        CASE WHEN p_flags & 4 <> 0 THEN 'collapsed' END,
        CASE WHEN p_flags & 8 <> 0 THEN 'mentioned' END,
        CASE WHEN p_flags & 16 <> 0 THEN 'has_alert_word' END,
        CASE WHEN p_flags & 32 <> 0 OR NOT p_received THEN 'historical' END,
        CASE WHEN p_flags & 64 <> 0 THEN 'topic_wildcard_mentioned' END,
        CASE WHEN p_received AND p_traits & 2 <> 0 THEN 'stream_wildcard_mentioned' END,
        CASE WHEN p_flags & 64 <> 0 OR (p_received AND p_traits & 2 <> 0)
             THEN 'wildcard_mentioned' END], NULL))
$$;

-- After the clock: the flags that everybody with an event queue has on a message go into the
-- audience of the entry that was just appended. Who registers later never gets the entry.
CREATE FUNCTION add_reader_flags(p_realm_id bigint, p_message_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_users bigint[] := ARRAY(
        SELECT DISTINCT q.user_id FROM event_queues q WHERE q.realm_id = p_realm_id);
    v_flags jsonb;
BEGIN
    SELECT jsonb_object_agg(s.user_id, flag_names(s.flags, s.traits, s.received, s.unread))
      INTO v_flags
      FROM reader_states(p_realm_id, v_users,
                         array_fill(p_message_id, ARRAY[cardinality(v_users)])) s
     WHERE s.accessible;
    IF v_flags IS NOT NULL THEN
        UPDATE event_log l
           SET audience = convert_to((convert_from(l.audience, 'UTF8')::jsonb
                              || jsonb_build_object('flags', v_flags))::text, 'UTF8')
         WHERE l.realm_id = p_realm_id AND l.position = current_position()
           AND l.day = current_setting('parley.day')::date AND l.audience <> '';
    END IF;
END $$;

-- After the clock: what the new content of a message means to its readers. Those who did not
-- receive it have no such flags.
CREATE FUNCTION set_content_flags(
    p_realm_id bigint, p_message_id bigint, p_user_ids bigint[], p_flags integer[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE message_flags f
       SET flags = f.flags & ~88
     WHERE f.realm_id = p_realm_id AND f.message_id = p_message_id AND f.flags & 88 <> 0;
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, n.user_id, m.id, n.flags
      FROM messages m
     CROSS JOIN unnest(p_user_ids, p_flags) AS n(user_id, flags)
     WHERE m.realm_id = p_realm_id AND m.id = p_message_id AND n.flags <> 0
       AND (m.channel_id IS NULL OR EXISTS (
            SELECT FROM subscriptions s
             WHERE s.realm_id = p_realm_id AND s.user_id = n.user_id
               AND s.channel_id = m.origin_channel_id AND s.spans @> m.id))
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    DELETE FROM message_flags f
     WHERE f.realm_id = p_realm_id AND f.message_id = p_message_id AND f.flags = 0;
END $$;

-- After the clock: those of these users for whom messages that came back into their sight are
-- unread are told so: their clients had forgotten them.
CREATE FUNCTION tell_regained(
    p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_empty_topic_name text,
    p_write_id uuid)
    RETURNS void
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
                   || CASE WHEN s.flags & 72 <> 0 OR (s.received AND s.traits & 2 <> 0)
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

-- ---------------------------------------------------------------- what people want of topics

-- Appends, for all who want the same of a topic, that they do. Who has left a private channel
-- keeps what they wanted, and hears no more of what its topics are called.
CREATE FUNCTION append_user_topic_entries(
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

-- Of these users those who may not read all of the channel, and have received nothing of the topic:
-- they are not to know what it is called.
CREATE FUNCTION strangers_to_topic(p_realm_id bigint, p_user_ids bigint[], p_topic_id bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT p.user_id
          FROM unnest(p_user_ids) AS p(user_id)
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = p_topic_id
         CROSS JOIN LATERAL reader_access(p_realm_id, p.user_id, ARRAY[t.channel_id]) a
         WHERE a.access < 2 AND NOT EXISTS (
               SELECT FROM messages m
                 JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p.user_id
                      AND s.channel_id = m.origin_channel_id AND s.spans @> m.id
                WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id));
END $$;

-- After the clock: what people want of a topic goes with its messages to another one. Of two
-- policies for the same topic the one that shows more stays; one for an empty topic counts for
-- nothing. Those who may not read the new place want nothing any more.
CREATE FUNCTION move_user_topics(
    p_realm_id bigint, p_from bigint, p_to bigint, p_was_empty boolean, p_losers bigint[],
    p_now timestamptz, p_from_body jsonb, p_to_body jsonb, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Muted shows less than nothing said does: policy by rank, and rank by policy.
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

-- ---------------------------------------------------------------- renaming a topic

-- After the clock: a whole topic, whose row is locked, gets a name that no other topic of its
-- channel has; its messages are not touched. Tells each audience of those of its messages that
-- it is given, and all of what was sent there since p_last_id, which needs an only audience.
-- 'stale': the name is taken by now, or there are messages that not everybody has received.
CREATE FUNCTION rename_topic(
    p_realm_id bigint, p_topic_id bigint, p_name text, p_rename jsonb, p_last_id bigint,
    p_audiences bytea[], p_ids jsonb, p_body jsonb, p_message_id bigint,
    p_from_body jsonb, p_to_body jsonb, p_work_id uuid, p_work jsonb, p_job bytea, p_write_id uuid)
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
        AND lower(o.name) = lower(p_name) AND o.topic_id <> t.topic_id
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
       SET name = p_name,
           renames = coalesce(t.renames, '[]')
                     || (p_rename || jsonb_build_object('position', current_position()))
     WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;

    -- The rows of user_topics belong to the topic, whatever it is called.
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

-- ---------------------------------------------------------------- history

-- What a message has been through, newest first: its own history and the renames of its topic
-- since it came there. An own entry says how often the topic had been renamed by then, if it had.
CREATE FUNCTION whole_history(
    p_id bigint, p_renames_before integer, p_own jsonb, p_renames jsonb)
    RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT jsonb_agg(h.entry ORDER BY h.renames DESC, h.is_rename, h.place)
      FROM (SELECT o.value - 'renames' AS entry,
                   coalesce((o.value ->> 'renames')::bigint, 0) AS renames,
                   false AS is_rename, o.place
              FROM jsonb_array_elements(p_own) WITH ORDINALITY AS o(value, place)
            UNION ALL
            SELECT r.value - 'position', r.place, true, 0
              FROM jsonb_array_elements(p_renames) WITH ORDINALITY AS r(value, place)
             WHERE CASE WHEN p_renames_before IS NULL
                        THEN (r.value ->> 'position')::bigint > p_id
                        ELSE r.place > p_renames_before END) h
$$;

-- ---------------------------------------------------------------- channels

-- After the clock: what a channel shows of its messages has changed, if it has, for those who may
-- know of it. p_age: how long before now its last message may be, or the channel made.
CREATE FUNCTION tell_channel_activity(
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
