-- Lists of channels in events, of pins and of descriptions of topics. In channels with protected
-- history each subscriber gets what they were given; in others all subscribers get the same.

-- Whether readers of the channel may read only what they were given.
CREATE OR REPLACE FUNCTION protects_history(c channels) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT c.invite_only AND NOT c.is_web_public AND NOT c.history_public_to_subscribers
$$;

-- Whether the user was given the message, where it was sent or where it is.
CREATE OR REPLACE FUNCTION user_was_given(p_user_id bigint, m messages) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM subscriptions s
         WHERE s.realm_id = m.realm_id AND s.user_id = p_user_id
           AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m))
$$;

-- Whether the user was given a message of the topic.
CREATE OR REPLACE FUNCTION user_was_given_topic(p_user_id bigint, t topics) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM messages m
         WHERE m.realm_id = t.realm_id AND m.conversation_id = t.topic_id
           AND user_was_given(p_user_id, m))
$$;

-- Append a list of a channel, with the clock locked, for these users or for its subscribers.
CREATE OR REPLACE FUNCTION append_channel_list(
    p_realm_id bigint, p_kind text, p_channel_id bigint, p_user_ids bigint[], p_body jsonb,
    p_write_id uuid)
    RETURNS void
    LANGUAGE sql
    AS $$
    SELECT append_entry(
        p_realm_id, p_kind,
        CASE WHEN p_user_ids IS NULL
             THEN convert_to(jsonb_build_object('channel_id', p_channel_id)::text, 'UTF8')
             ELSE to_users(p_user_ids) END,
        convert_to((p_body || jsonb_build_object('stream_id', p_channel_id))::text, 'UTF8'),
        p_write_id)
$$;

-- Append all lists, with the clock locked, for those of the pairs of user and channel that are
-- subscribed: they joined, or may read more than before.
CREATE OR REPLACE FUNCTION append_gained_lists(
    p_realm_id bigint, p_user_ids bigint[], p_channel_ids bigint[], p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v record;
BEGIN
    FOR v IN
        SELECT s.channel_id, array_agg(s.user_id ORDER BY s.user_id) AS user_ids
          FROM unnest(p_user_ids, p_channel_ids) AS g(user_id, channel_id)
          JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = g.user_id
               AND s.channel_id = g.channel_id AND s.active
         WHERE g.channel_id IN (
               SELECT m.channel_id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.traits & {PINNED} <> 0
                  AND m.channel_id = ANY (p_channel_ids)
               UNION
               SELECT t.channel_id FROM topics t
                WHERE t.realm_id = p_realm_id AND t.pinned_at IS NOT NULL
                  AND t.channel_id = ANY (p_channel_ids)
               UNION
               SELECT t.channel_id FROM topics t
                WHERE t.realm_id = p_realm_id AND t.description IS NOT NULL
                  AND t.channel_id = ANY (p_channel_ids))
         GROUP BY s.channel_id ORDER BY s.channel_id
    LOOP
        PERFORM append_topic_pins(p_realm_id, v.channel_id, v.user_ids, NULL, false, p_write_id);
        PERFORM append_pinned_messages(
            p_realm_id, v.channel_id, v.user_ids, NULL, false, p_write_id);
        PERFORM append_described_topics(
            p_realm_id, v.channel_id, v.user_ids, NULL, '[]', p_write_id);
    END LOOP;
END $$;

-- Append, with the clock locked, what each subscriber of a channel may read and may not read any
-- more after its history was hidden.
CREATE OR REPLACE FUNCTION append_hidden_lists(
    p_realm_id bigint, p_channel_id bigint, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF EXISTS (
        SELECT FROM topics t
         WHERE t.realm_id = p_realm_id AND t.channel_id = p_channel_id AND t.pinned_at IS NOT NULL)
    THEN
        PERFORM append_topic_pins(p_realm_id, p_channel_id, NULL, NULL, true, p_write_id);
    END IF;
    IF EXISTS (
        SELECT FROM messages m
         WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id
           AND m.traits & {PINNED} <> 0)
    THEN
        PERFORM append_pinned_messages(p_realm_id, p_channel_id, NULL, NULL, true, p_write_id);
    END IF;
    PERFORM append_hidden_descriptions(p_realm_id, p_channel_id, p_write_id);
END $$;

-- Append what was published of a topic, with the clock locked, after it was renamed.
CREATE OR REPLACE FUNCTION append_renamed_lists(
    p_realm_id bigint, p_topic_id bigint, p_old_name text, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    t topics;
BEGIN
    SELECT * INTO t FROM topics WHERE realm_id = p_realm_id AND topic_id = p_topic_id;
    IF t.pinned_at IS NOT NULL THEN
        PERFORM append_topic_pins(
            p_realm_id, t.channel_id, NULL, ARRAY[t.topic_id], true, p_write_id);
    END IF;
    IF t.description IS NOT NULL THEN
        PERFORM append_described_topics(
            p_realm_id, t.channel_id, NULL, ARRAY[t.topic_id],
            jsonb_build_array(jsonb_build_object('topic', p_old_name, 'topic_id', t.topic_id)),
            p_write_id);
    END IF;
END $$;
