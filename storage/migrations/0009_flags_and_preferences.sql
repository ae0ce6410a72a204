-- Muted users, policies for topics, drafts and saved snippets.

CREATE SEQUENCE draft_ids;
CREATE SEQUENCE saved_snippet_ids;

CREATE TABLE drafts (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    draft_id bigint NOT NULL DEFAULT nextval('draft_ids'),
    -- As on the wire: stream, private, or empty for a draft that has no place yet.
    type text NOT NULL CHECK (type IN ('', 'stream', 'private')),
    -- A channel, or the people of a direct message.
    to_ids bigint[] NOT NULL,
    topic text NOT NULL,
    content text NOT NULL,
    edited_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, user_id, draft_id)
);

CREATE TABLE saved_snippets (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    saved_snippet_id bigint NOT NULL DEFAULT nextval('saved_snippet_ids'),
    title text NOT NULL,
    content text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, user_id, saved_snippet_id)
);

-- Whose messages somebody does not want to be told of. A row outlives the muting.
CREATE TABLE muted_users (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    muted_user_id bigint NOT NULL,
    -- NULL: no longer muted.
    muted_at timestamptz,
    -- Messages of that sender below this position count as read: all of them while muted.
    read_below bigint NOT NULL,
    PRIMARY KEY (realm_id, user_id, muted_user_id)
);

-- ---------------------------------------------------------------- muting users

-- Appends muted_users: all whom the user mutes now, and what has just changed.
CREATE FUNCTION append_muted_users(
    p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_audience bytea, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM append_entry(p_realm_id, 'muted_users', p_audience, convert_to((
        SELECT jsonb_build_object(
                   'user_id', p_user_id, 'muted_user_id', p_muted_user_id,
                   'is_muted', coalesce(bool_or(x.muted_user_id = p_muted_user_id), false),
                   'muted_users', coalesce(jsonb_agg(jsonb_build_object(
                       'id', x.muted_user_id,
                       'timestamp', floor(extract(epoch FROM x.muted_at))::bigint)
                       ORDER BY x.muted_at, x.muted_user_id), '[]'))::text
          FROM muted_users x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.muted_at IS NOT NULL),
        'UTF8'), p_write_id);
END $$;

-- Mutes a user: what they have sent and will send counts as read. False: they were muted already.
CREATE FUNCTION mute_user(
    p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_muted_at timestamptz,
    p_limit bigint, p_audience bytea, p_write_id uuid)
    RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_unread bigint[];
    v_told bigint[];
BEGIN
    IF EXISTS (SELECT FROM muted_users x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.muted_user_id = p_muted_user_id AND x.muted_at IS NOT NULL) THEN
        RETURN false;
    END IF;
    v_unread := ARRAY(
        SELECT unnest(u.r_ids) FROM unread_messages(p_realm_id, p_user_id, p_limit) u);
    v_told := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (v_unread)
           AND m.sender_id = p_muted_user_id ORDER BY m.id);
    INSERT INTO muted_users AS x (realm_id, user_id, muted_user_id, muted_at, read_below)
    VALUES (p_realm_id, p_user_id, p_muted_user_id, p_muted_at, 9223372036854775807)
    ON CONFLICT (realm_id, user_id, muted_user_id)
    DO UPDATE SET muted_at = excluded.muted_at, read_below = excluded.read_below;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, ARRAY(
        SELECT f.message_id FROM message_flags f
          JOIN messages m ON m.realm_id = p_realm_id AND m.id = f.message_id
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0
           AND m.sender_id = p_muted_user_id));
    PERFORM append_muted_users(p_realm_id, p_user_id, p_muted_user_id, p_audience, p_write_id);
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_told, p_audience, p_write_id);
    RETURN true;
END $$;

-- Mutes a user no longer: what they have sent so far stays read. False: they were not muted.
CREATE FUNCTION unmute_user(
    p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_audience bytea, p_write_id uuid)
    RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE muted_users SET muted_at = NULL, read_below = current_position() + 1
     WHERE realm_id = p_realm_id AND user_id = p_user_id
       AND muted_user_id = p_muted_user_id AND muted_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM append_muted_users(p_realm_id, p_user_id, p_muted_user_id, p_audience, p_write_id);
    RETURN true;
END $$;

-- ---------------------------------------------------------------- policies for topics

-- What the user has muted of the channels that they may read, for clients of old.
CREATE FUNCTION muted_topics_of(p_realm_id bigint, p_user_id bigint)
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

-- Gives the users a policy for a topic (0: none), and tells those whose policy that changes: all
-- of them user_topic, and each whose muted topics are others now muted_topics. p_empty_topic_name:
-- what clients call the empty topic that do not know it.
CREATE FUNCTION set_topic_policy(
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

-- The audience of an entry for these users alone.
CREATE FUNCTION to_users(p_user_ids bigint[]) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT convert_to('{"users":[' || array_to_string(p_user_ids, ',') || ']}', 'UTF8') $$;

-- The same for a topic that is known by its name, and made if it is to have a policy.
CREATE FUNCTION set_named_topic_policy(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_name text, p_policy smallint,
    p_at timestamptz, p_empty_topic_name text, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_topic_id bigint := (
        SELECT t.topic_id FROM topics t WHERE t.realm_id = p_realm_id
           AND t.channel_id = p_channel_id AND lower(t.name) = lower(p_topic_name));
BEGIN
    IF v_topic_id IS NULL AND p_policy <> 0 THEN
        INSERT INTO topics (realm_id, channel_id, name)
        VALUES (p_realm_id, p_channel_id, p_topic_name) RETURNING topic_id INTO v_topic_id;
    END IF;
    PERFORM set_topic_policy(p_realm_id, ARRAY[p_user_id], v_topic_id, p_policy, p_at,
                             p_empty_topic_name, p_write_id);
END $$;

-- Raises somebody's policy for a topic to the one that taking part in it gives them, unless it is
-- as high already.
CREATE FUNCTION raise_topic_policy(
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

-- What a send makes of the policies of its sender, and of those whom it mentions and whose
-- settings follow such topics: who has muted the topic keeps that. Gives the sender's, if it is new.
CREATE FUNCTION change_policies_by_send(
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
    -- Whoever has a policy for a topic knew of it, and so does not start it.
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

-- Whether a topic has a message before this one that the user may know of.
CREATE FUNCTION has_earlier_message(
    p_realm_id bigint, p_user_id bigint, p_topic_id bigint, p_id bigint)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_spans int8multirange := '{[0,)}';
BEGIN
    SELECT s.spans INTO v_spans
      FROM topics t
      JOIN channels c ON c.realm_id = p_realm_id AND c.channel_id = t.channel_id
           AND c.invite_only AND NOT c.is_web_public AND NOT c.history_public_to_subscribers
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
           AND s.channel_id = t.channel_id
     WHERE t.realm_id = p_realm_id AND t.topic_id = p_topic_id;
    RETURN EXISTS (
        SELECT FROM unnest(coalesce(v_spans, '{[0,)}')) AS p(span)
         CROSS JOIN LATERAL (
               SELECT FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id
                  AND m.id >= lower(p.span) AND m.id < least(upper(p.span), p_id) LIMIT 1) m);
END $$;
