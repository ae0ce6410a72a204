-- What the migrations and functions build. Made by scripts/dump-schema; do not edit.

CREATE FUNCTION public.add_channel_read(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_read int8multirange) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO channel_read AS r (realm_id, user_id, channel_id, read)
    VALUES (p_realm_id, p_user_id, p_channel_id, p_read)
    ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

CREATE FUNCTION public.add_conversation_read(p_realm_id bigint, p_user_id bigint, p_conversation_id bigint, p_read int8multirange) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO conversation_read AS r (realm_id, user_id, conversation_id, read)
    VALUES (p_realm_id, p_user_id, p_conversation_id, p_read)
    ON CONFLICT (realm_id, user_id, conversation_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

CREATE FUNCTION public.add_messages_read(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_origins bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH marked AS MATERIALIZED (
        SELECT p_user_ids[n] AS user_id, p_ids[n] AS id, p_origins[n] AS origin
          FROM generate_series(1, cardinality(p_ids)) AS n
         WHERE p_origins[n] IS NOT NULL
    ), whole AS MATERIALIZED (
        SELECT m.origin, min(m.id) AS first, max(m.id) AS last, 4 * count(DISTINCT m.id) AS enough
          FROM marked m GROUP BY m.origin
    ), scanned AS MATERIALIZED (
        -- The whole range between the marked messages, if they are a large part of it.
        SELECT w.origin, h.ids || a.ids AS ids
          FROM whole w
         CROSS JOIN LATERAL (
               SELECT ARRAY(
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.conversation_id = w.origin
                      AND m.id >= w.first AND m.id <= w.last
                    ORDER BY m.id LIMIT w.enough + 1) AS ids) h
         CROSS JOIN LATERAL (
               SELECT ARRAY(
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.origin_conversation_id = w.origin
                      AND m.conversation_id <> m.origin_conversation_id
                      AND m.id >= w.first AND m.id <= w.last
                    ORDER BY m.id LIMIT w.enough + 1) AS ids) a
         WHERE w.first < w.last
           AND cardinality(h.ids) <= w.enough AND cardinality(a.ids) <= w.enough
    ), before AS MATERIALIZED (
        SELECT s.origin, i.id, lag(i.id) OVER (PARTITION BY s.origin ORDER BY i.id) AS before
          FROM scanned s CROSS JOIN LATERAL unnest(s.ids) AS i(id)
    )
    INSERT INTO conversation_read AS r (realm_id, user_id, conversation_id, read)
    SELECT p_realm_id, m.user_id, m.origin, range_agg(int8range(b.before, m.id, '(]'))
      FROM marked m
      JOIN (SELECT o.origin, o.id,
                   coalesce(b.before, predecessor(p_realm_id, o.origin, o.id)) AS before
              FROM (SELECT DISTINCT n.origin, n.id FROM marked n) o
              LEFT JOIN before b ON b.origin = o.origin AND b.id = o.id) b
        ON b.origin = m.origin AND b.id = m.id
     GROUP BY m.user_id, m.origin
    ON CONFLICT (realm_id, user_id, conversation_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

CREATE FUNCTION public.add_reader_flags(p_realm_id bigint, p_message_id bigint) RETURNS void
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

CREATE FUNCTION public.append_attachment_entries(p_realm_id bigint, p_attachment_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM append_entries(
        p_realm_id, 'attachment',
        array_agg(convert_to(jsonb_build_object('users', jsonb_build_array(a.owner_id))::text,
                             'UTF8') ORDER BY a.attachment_id),
        array_agg(convert_to(jsonb_build_object(
                'op', 'update', 'attachment', shown_attachment(p_realm_id, a.attachment_id),
                'upload_space_used', coalesce((SELECT s.bytes FROM upload_space s
                                                WHERE s.realm_id = p_realm_id), 0))::text,
                             'UTF8') ORDER BY a.attachment_id),
        gen_random_uuid())
       FROM attachments a
      WHERE a.realm_id = p_realm_id AND a.attachment_id = ANY (p_attachment_ids)
     HAVING count(*) > 0;
END $$;

CREATE FUNCTION public.append_channel_list(p_realm_id bigint, p_kind text, p_channel_id bigint, p_user_ids bigint[], p_body jsonb, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.append_described_topics(p_realm_id bigint, p_channel_id bigint, p_user_ids bigint[], p_topic_ids bigint[], p_gone jsonb, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_channel channels;
    v_gone text[] := ARRAY(SELECT g ->> 'topic' FROM jsonb_array_elements(p_gone) AS g);
    v_all bigint[] := ARRAY(
        SELECT t.topic_id FROM topics t
         WHERE t.realm_id = p_realm_id AND t.channel_id = p_channel_id
           AND CASE WHEN p_topic_ids IS NULL THEN t.description IS NOT NULL
                    ELSE t.topic_id = ANY (p_topic_ids) END
         ORDER BY t.topic_id);
    v record;
BEGIN
    IF v_all = '{}' AND v_gone = '{}' THEN RETURN; END IF;
    SELECT * INTO v_channel FROM channels c
     WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id;
    FOR v IN
        SELECT p_user_ids AS user_ids, v_gone AS gone, v_all AS topic_ids
         WHERE NOT protects_history(v_channel)
        UNION ALL
        SELECT array_agg(r.user_id ORDER BY r.user_id), r.gone, r.topic_ids
          FROM (SELECT s.user_id,
                       ARRAY(SELECT g.topic ->> 'topic'
                               FROM jsonb_array_elements(p_gone) WITH ORDINALITY AS g(topic, place)
                              WHERE g.topic -> 'user_ids' @> to_jsonb(s.user_id)
                                 OR EXISTS (SELECT FROM topics t
                                             WHERE t.realm_id = p_realm_id
                                               AND t.topic_id = (g.topic -> 'topic_id')::bigint
                                               AND user_was_given_topic(s.user_id, t))
                              ORDER BY g.place) AS gone,
                       ARRAY(SELECT t.topic_id FROM topics t
                              WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (v_all)
                                AND user_was_given_topic(s.user_id, t)
                              ORDER BY t.topic_id) AS topic_ids
                  FROM subscriptions s
                 WHERE s.realm_id = p_realm_id AND s.channel_id = p_channel_id AND s.active
                   AND (p_user_ids IS NULL OR s.user_id = ANY (p_user_ids))
                   AND protects_history(v_channel)) r
         WHERE r.gone <> '{}' OR r.topic_ids <> '{}'
         GROUP BY r.gone, r.topic_ids ORDER BY gone, topic_ids
    LOOP
        PERFORM append_channel_list(
            p_realm_id, 'topic_descriptions', p_channel_id, v.user_ids,
            described_topics(p_realm_id, v.gone, v.topic_ids), p_write_id);
    END LOOP;
END $$;

CREATE FUNCTION public.append_entries(p_realm_id bigint, p_kind text, p_audiences bytea[], p_bodies bytea[], p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO event_log (realm_id, position, day, epoch, kind, audience, body, write_id)
    SELECT p_realm_id, next_position(), current_setting('parley.day')::date,
           current_setting('parley.epoch')::bigint, p_kind, e.audience, e.body, p_write_id
      FROM (SELECT n.audience, n.body FROM unnest(p_audiences, p_bodies)
                   WITH ORDINALITY AS n(audience, body, place) ORDER BY n.place) e;
END $$;

CREATE FUNCTION public.append_entry(p_realm_id bigint, p_kind text, p_audience bytea, p_body bytea, p_write_id uuid) RETURNS bigint
    LANGUAGE sql
    AS $$
    INSERT INTO event_log (realm_id, position, day, epoch, kind, audience, body, write_id)
    VALUES (p_realm_id, next_position(), current_setting('parley.day')::date,
            current_setting('parley.epoch')::bigint, p_kind, p_audience, p_body, p_write_id)
    RETURNING position
$$;

CREATE FUNCTION public.append_flag_entries(p_realm_id bigint, p_operation text, p_flag text, p_ids bigint[], p_audience bytea, p_write_id uuid, p_all boolean DEFAULT false, p_details jsonb DEFAULT NULL::jsonb, p_empty_topic_name text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF cardinality(p_ids) > 0 THEN
        -- The slice of everything is a plain array, which is sliced without a copy.
        PERFORM append_entries(
            p_realm_id, 'update_message_flags',
            array_fill(p_audience, ARRAY[cardinality(e.bodies)]), e.bodies, p_write_id)
           FROM (SELECT array_agg(flag_entry_body(
                            p_operation, p_flag, flat.ids[block : block + 999], p_all, p_details,
                            p_empty_topic_name) ORDER BY block) AS bodies
                   FROM (SELECT p_ids[:] AS ids OFFSET 0) flat
                  CROSS JOIN generate_series(1, cardinality(p_ids), 1000) AS block) e;
    END IF;
END $$;

CREATE FUNCTION public.append_gained_lists(p_realm_id bigint, p_user_ids bigint[], p_channel_ids bigint[], p_write_id uuid) RETURNS void
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
                WHERE m.realm_id = p_realm_id AND m.traits & 512 <> 0
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

CREATE FUNCTION public.append_hidden_descriptions(p_realm_id bigint, p_channel_id bigint, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v record;
BEGIN
    FOR v IN
        SELECT array_agg(r.user_id ORDER BY r.user_id) AS user_ids, r.names
          FROM (SELECT s.user_id, array_agg(t.name ORDER BY t.topic_id) AS names
                  FROM subscriptions s
                  JOIN topics t ON t.realm_id = p_realm_id AND t.channel_id = p_channel_id
                       AND t.description IS NOT NULL AND NOT user_was_given_topic(s.user_id, t)
                 WHERE s.realm_id = p_realm_id AND s.channel_id = p_channel_id AND s.active
                 GROUP BY s.user_id) r
         GROUP BY r.names ORDER BY r.names
    LOOP
        PERFORM append_channel_list(
            p_realm_id, 'topic_descriptions', p_channel_id, v.user_ids,
            described_topics(p_realm_id, v.names, NULL), p_write_id);
    END LOOP;
END $$;

CREATE FUNCTION public.append_hidden_lists(p_realm_id bigint, p_channel_id bigint, p_write_id uuid) RETURNS void
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
           AND m.traits & 512 <> 0)
    THEN
        PERFORM append_pinned_messages(p_realm_id, p_channel_id, NULL, NULL, true, p_write_id);
    END IF;
    PERFORM append_hidden_descriptions(p_realm_id, p_channel_id, p_write_id);
END $$;

CREATE FUNCTION public.append_muted_users(p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_audience bytea, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.append_pinned_messages(p_realm_id bigint, p_channel_id bigint, p_user_ids bigint[], p_changed bigint[], p_also_none boolean, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_channel channels;
    v_ids bigint[] := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id
           AND m.traits & 512 <> 0
         ORDER BY m.id);
    v record;
BEGIN
    IF v_ids = '{}' AND NOT p_also_none THEN RETURN; END IF;
    SELECT * INTO v_channel FROM channels c
     WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id;
    IF NOT protects_history(v_channel) THEN
        PERFORM append_channel_list(
            p_realm_id, 'pinned_messages', p_channel_id, p_user_ids,
            jsonb_build_object('message_ids', v_ids), p_write_id);
        RETURN;
    END IF;
    FOR v IN
        SELECT array_agg(r.user_id ORDER BY r.user_id) AS user_ids, r.ids
          FROM (SELECT s.user_id,
                       coalesce(array_agg(m.id ORDER BY m.id) FILTER (WHERE m.id = ANY (v_ids)), '{}')
                       AS ids
                  FROM subscriptions s
                  LEFT JOIN messages m ON m.realm_id = p_realm_id
                       AND m.id = ANY (v_ids || coalesce(p_changed, '{}'))
                       AND user_was_given(s.user_id, m)
                 WHERE s.realm_id = p_realm_id AND s.channel_id = p_channel_id AND s.active
                   AND (p_user_ids IS NULL OR s.user_id = ANY (p_user_ids))
                 GROUP BY s.user_id
                HAVING p_changed IS NULL OR bool_or(m.id = ANY (p_changed))) r
         WHERE p_also_none OR r.ids <> '{}'
         GROUP BY r.ids ORDER BY r.ids
    LOOP
        PERFORM append_channel_list(
            p_realm_id, 'pinned_messages', p_channel_id, v.user_ids,
            jsonb_build_object('message_ids', v.ids), p_write_id);
    END LOOP;
END $$;

CREATE FUNCTION public.append_renamed_lists(p_realm_id bigint, p_topic_id bigint, p_old_name text, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.append_reserving(p_realm_id bigint, p_kind text, p_body bytea, p_write_id uuid, p_count bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM set_config('parley.position', (current_position() + p_count)::text, true);
    RETURN append_entry(p_realm_id, p_kind, '', p_body, p_write_id);
END $$;

CREATE FUNCTION public.append_topic_pins(p_realm_id bigint, p_channel_id bigint, p_user_ids bigint[], p_changed bigint[], p_also_none boolean, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_channel channels;
    v_names text[] := ARRAY(
        SELECT t.name FROM topics t
         WHERE t.realm_id = p_realm_id AND t.channel_id = p_channel_id AND t.pinned_at IS NOT NULL
         ORDER BY t.pinned_at, t.topic_id);
    v record;
BEGIN
    IF v_names = '{}' AND NOT p_also_none THEN RETURN; END IF;
    SELECT * INTO v_channel FROM channels c
     WHERE c.realm_id = p_realm_id AND c.channel_id = p_channel_id;
    IF NOT protects_history(v_channel) THEN
        PERFORM append_channel_list(
            p_realm_id, 'pinned_topics', p_channel_id,
            CASE WHEN p_changed IS NULL THEN p_user_ids END,
            jsonb_build_object('topics', v_names), p_write_id);
        RETURN;
    END IF;
    FOR v IN
        SELECT array_agg(r.user_id ORDER BY r.user_id) AS user_ids, r.names
          FROM (SELECT s.user_id,
                       coalesce(array_agg(t.name ORDER BY t.pinned_at, t.topic_id)
                                FILTER (WHERE t.pinned_at IS NOT NULL), '{}') AS names
                  FROM subscriptions s
                  LEFT JOIN topics t ON t.realm_id = p_realm_id AND t.channel_id = p_channel_id
                       AND (t.pinned_at IS NOT NULL OR t.topic_id = ANY (p_changed))
                       AND user_was_given_topic(s.user_id, t)
                 WHERE s.realm_id = p_realm_id AND s.channel_id = p_channel_id AND s.active
                   AND (p_user_ids IS NULL OR p_changed IS NOT NULL OR s.user_id = ANY (p_user_ids))
                 GROUP BY s.user_id
                HAVING p_changed IS NULL OR s.user_id = ANY (p_user_ids)
                       OR bool_or(t.topic_id = ANY (p_changed))) r
         WHERE p_also_none OR r.names <> '{}'
         GROUP BY r.names ORDER BY r.names
    LOOP
        PERFORM append_channel_list(
            p_realm_id, 'pinned_topics', p_channel_id, v.user_ids,
            jsonb_build_object('topics', v.names), p_write_id);
    END LOOP;
END $$;

CREATE FUNCTION public.append_user_topic_entries(p_realm_id bigint, p_user_ids bigint[], p_policies integer[], p_body jsonb, p_write_id uuid) RETURNS void
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

CREATE TABLE public.messages (
    realm_id bigint NOT NULL,
    id bigint NOT NULL,
    sender_id bigint NOT NULL,
    channel_id bigint,
    conversation_id bigint NOT NULL,
    origin_channel_id bigint,
    origin_conversation_id bigint NOT NULL,
    sent_at timestamp with time zone NOT NULL,
    edited_at timestamp with time zone,
    moved_at timestamp with time zone,
    traits integer DEFAULT 0 NOT NULL,
    client text NOT NULL,
    content text NOT NULL,
    rendered_content text NOT NULL,
    edit_history jsonb,
    renames_before integer,
    entry_positions bigint[],
    entered_at bigint
)
WITH (autovacuum_vacuum_insert_threshold='2000', autovacuum_vacuum_insert_scale_factor='0.005');

CREATE FUNCTION public.archive_accepts(m public.messages, p_topic text, p_search jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT search_accepts(
        m.realm_id, m.id, search_text(m.rendered_content) || E'\x01' || search_folded(p_topic),
        (p_search ->> 'language')::regconfig,
        ARRAY(SELECT jsonb_array_elements_text(p_search -> 'patterns')),
        ARRAY(SELECT jsonb_array_elements_text(p_search -> 'starts')),
        ARRAY(SELECT jsonb_array_elements_text(p_search -> 'stems')))
$$;

CREATE TABLE public.expired_messages (
    realm_id bigint NOT NULL,
    id bigint NOT NULL,
    expired_at timestamp with time zone NOT NULL,
    message jsonb NOT NULL,
    is_kept_for_hold boolean DEFAULT false NOT NULL,
    actor_id bigint,
    context jsonb
);

CREATE FUNCTION public.archive_matches(e public.expired_messages, m public.messages, p_terms jsonb, p_topic text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT m.traits & (p_terms ->> 'traits')::integer = (p_terms ->> 'traits')::integer
       AND m.traits & (p_terms ->> 'not_traits')::integer = 0
       AND ((p_terms ->> 'reacted')::boolean IS NULL
            OR (p_terms ->> 'reacted')::boolean
               = (coalesce(e.context -> 'reactions', '[]') <> '[]'))
       AND m.conversation_id <> ALL (ids_of(p_terms, 'not_conversations'))
       AND (m.channel_id IS NULL OR m.channel_id <> ALL (ids_of(p_terms, 'not_channels')))
       AND m.sender_id <> ALL (ids_of(p_terms, 'not_senders'))
       AND m.id <> ALL (ids_of(p_terms, 'not_ids'))
       AND (NOT p_terms ? 'conversations'
            OR m.conversation_id = ANY (ids_of(p_terms, 'conversations')))
       AND (jsonb_typeof(p_terms -> 'search') <> 'object'
            OR archive_accepts(m, p_topic, p_terms -> 'search'))
       AND NOT EXISTS (SELECT FROM jsonb_array_elements(p_terms -> 'not_searches') AS n
                        WHERE archive_accepts(m, p_topic, n))
$$;

CREATE FUNCTION public.change_policies_by_send(p_realm_id bigint, p_sender_id bigint, p_topic_id bigint, p_message_id bigint, p_started smallint, p_sent smallint, p_mentioned bigint[], p_follows_by_default boolean, p_at timestamp with time zone, p_empty_topic_name text, p_write_id uuid) RETURNS smallint
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

CREATE SEQUENCE public.channel_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.channels (
    realm_id bigint NOT NULL,
    channel_id bigint DEFAULT nextval('public.channel_ids'::regclass) NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    rendered_description text DEFAULT ''::text NOT NULL,
    creator_id bigint,
    created_at timestamp with time zone NOT NULL,
    invite_only boolean DEFAULT false NOT NULL,
    is_web_public boolean DEFAULT false NOT NULL,
    history_public_to_subscribers boolean DEFAULT true NOT NULL,
    is_archived boolean DEFAULT false NOT NULL,
    is_default boolean DEFAULT false NOT NULL,
    topics_policy text DEFAULT 'inherit'::text NOT NULL,
    folder_id bigint,
    message_retention_days integer,
    permissions jsonb DEFAULT '{}'::jsonb NOT NULL,
    changed_at bigint DEFAULT 0 NOT NULL,
    subscriber_count integer DEFAULT 0 NOT NULL,
    folded_name text COLLATE pg_catalog."C",
    default_push_notifications boolean DEFAULT false NOT NULL
);

CREATE FUNCTION public.channel_access(p_user_id bigint, p_role smallint, p_is_subscribed boolean, p_channel public.channels) RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN p_channel.is_web_public OR (NOT p_channel.invite_only AND p_role <> 600) THEN 2
        WHEN p_is_subscribed IS NOT TRUE AND (
                 p_role = 600 OR NOT channel_grants_content(
                     p_channel.realm_id, p_user_id, p_channel.permissions)) THEN 0
        WHEN NOT p_channel.invite_only OR p_channel.history_public_to_subscribers THEN 2
        ELSE 1
    END
$$;

CREATE FUNCTION public.channel_grants_content(p_realm_id bigint, p_user_id bigint, p_permissions jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_settings jsonb[] := ARRAY(
        SELECT p_permissions -> name
          FROM unnest(ARRAY['can_subscribe_group', 'can_add_subscribers_group']) AS name
         WHERE p_permissions ? name);
    v_role smallint;
    v_is_full boolean;
BEGIN
    IF EXISTS (SELECT FROM unnest(v_settings) AS s
                WHERE jsonb_typeof(s) = 'object'
                  AND s -> 'direct_members' @> to_jsonb(p_user_id)) THEN
        RETURN true;
    END IF;

    SELECT u.role, u.role < 400 OR now() - u.date_joined >= make_interval(
               days => coalesce((r.settings ->> 'waiting_period_threshold')::integer, 0))
      INTO v_role, v_is_full
      FROM users u JOIN realms r ON r.realm_id = p_realm_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id;

    RETURN EXISTS (
        WITH RECURSIVE admitted AS (
            SELECT g.group_id, g.name, g.is_system_group
              FROM unnest(v_settings) AS s
             CROSS JOIN LATERAL jsonb_array_elements(
                   CASE WHEN jsonb_typeof(s) = 'object' THEN s -> 'direct_subgroups'
                        ELSE jsonb_build_array(s) END) AS start
              JOIN user_groups g ON g.realm_id = p_realm_id AND g.group_id = start::bigint
             WHERE NOT g.deactivated
            UNION
            SELECT g.group_id, g.name, g.is_system_group
              FROM admitted a
              JOIN group_subgroups s ON s.realm_id = p_realm_id AND s.group_id = a.group_id
              JOIN user_groups g ON g.realm_id = p_realm_id AND g.group_id = s.subgroup_id
             WHERE NOT g.deactivated)
        SELECT FROM admitted a
         WHERE CASE WHEN NOT a.is_system_group THEN EXISTS (
                   SELECT FROM group_members m
                    WHERE m.realm_id = p_realm_id AND m.group_id = a.group_id
                      AND m.user_id = p_user_id)
               ELSE CASE a.name
                   WHEN 'role:owners' THEN v_role <= 100
                   WHEN 'role:administrators' THEN v_role <= 200
                   WHEN 'role:moderators' THEN v_role <= 300
                   WHEN 'role:fullmembers' THEN v_role <= 400 AND v_is_full
                   WHEN 'role:members' THEN v_role <= 400
                   WHEN 'role:everyone' THEN v_role <= 600
                   WHEN 'role:internet' THEN v_role <= 600
                   ELSE false END
               END);
END $$;

CREATE FUNCTION public.channel_predecessor(p_realm_id bigint, p_channel_id bigint, p_id bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN greatest(0,
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id AND m.id < p_id),
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.origin_channel_id = p_channel_id
            AND m.conversation_id <> m.origin_conversation_id AND m.id < p_id));
END $$;

CREATE FUNCTION public.claim_lineage(p_generation bigint, p_system bigint, p_timeline bigint, p_keeps_positions boolean, OUT r_generation bigint, OUT r_system bigint, OUT r_timeline bigint, OUT r_outcome text) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_system bigint;
    v_timeline bigint;
BEGIN
    SELECT system_identifier INTO r_system FROM pg_control_system();
    r_timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
    SELECT d.generation, d.system_identifier, d.timeline
      INTO r_generation, v_system, v_timeline FROM database_identity d;
    IF NOT FOUND THEN
        IF p_generation IS NOT NULL AND (r_system, r_timeline) <> (p_system, p_timeline) THEN
            r_generation := -1; -- never served, and another one was
            r_outcome := 'older';
            RETURN;
        END IF;
        INSERT INTO database_identity (system_identifier, timeline, generation)
        VALUES (r_system, r_timeline,
                coalesce(p_generation, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))
        ON CONFLICT DO NOTHING;
        SELECT d.generation, d.system_identifier, d.timeline
          INTO STRICT r_generation, v_system, v_timeline FROM database_identity d;
    END IF;
    IF r_generation < p_generation
       OR (r_generation = p_generation AND r_system = p_system AND r_timeline < p_timeline) THEN
        r_outcome := 'older';
        RETURN;
    END IF;
    r_outcome := 'known';
    IF v_system = r_system AND v_timeline = r_timeline THEN RETURN; END IF;

    SELECT d.generation, d.system_identifier, d.timeline
      INTO STRICT r_generation, v_system, v_timeline FROM database_identity d FOR UPDATE;
    IF v_system = r_system AND v_timeline = r_timeline THEN RETURN; END IF;
    r_outcome := 'kept';
    -- A database restored to a point in time has a new timeline too.
    IF NOT p_keeps_positions OR v_system <> r_system OR v_timeline > r_timeline
       OR EXISTS (SELECT FROM pg_settings s
                   WHERE s.name IN ('recovery_target', 'recovery_target_lsn', 'recovery_target_name',
                                    'recovery_target_time', 'recovery_target_xid')
                     AND s.setting <> '') THEN
        r_outcome := 'renewed';
        PERFORM renew_epoch(c.realm_id) FROM realm_clock c ORDER BY c.realm_id;
    END IF;
    UPDATE database_identity d
       SET system_identifier = r_system, timeline = r_timeline,
           generation = greatest(
               d.generation + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    RETURNING d.generation INTO r_generation;
END $$;

CREATE FUNCTION public.clear_unread_flag(p_realm_id bigint, p_user_id bigint, p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Few messages have the flag, however many are read.
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0);
BEGIN
    IF v_flagged = '{}' THEN
        RETURN;
    END IF;
    v_flagged := ARRAY(SELECT unnest(v_flagged) INTERSECT SELECT unnest(p_ids));
    DELETE FROM message_flags
     WHERE realm_id = p_realm_id AND user_id = p_user_id AND message_id = ANY (v_flagged)
       AND flags = 1;
    UPDATE message_flags SET flags = flags & ~1
     WHERE realm_id = p_realm_id AND user_id = p_user_id AND message_id = ANY (v_flagged)
       AND flags & 1 <> 0;
END $$;

CREATE FUNCTION public.clock_advance(p_realm_id bigint) RETURNS TABLE(r_position bigint, r_kind text, r_audience bytea, r_body bytea, r_write_id uuid)
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
DECLARE
    v_day date := current_setting('parley.day')::date;
    v_start bigint := current_setting('parley.start')::bigint;
BEGIN
    IF current_position() > v_start THEN
        UPDATE realm_clock c SET position = current_position(), day = v_day
         WHERE c.realm_id = p_realm_id AND c.position = v_start;
        RETURN QUERY SELECT l.position, l.kind, l.audience, l.body, l.write_id
            FROM event_log l
           WHERE l.realm_id = p_realm_id AND l.position > v_start AND l.day = v_day
           ORDER BY l.position;
    END IF;
END $$;

CREATE FUNCTION public.clock_lock(p_realm_id bigint, OUT r_position bigint, OUT r_epoch bigint, OUT r_day date) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    IF current_setting('parley.strict', true) = 'on'
       AND current_setting('synchronous_standby_names') = '' THEN
        RAISE EXCEPTION 'synchronous_standby_names is empty' USING ERRCODE = '57PS1';
    END IF;
    SELECT c.position, c.epoch, greatest(c.day, (clock_timestamp() AT TIME ZONE 'utc')::date)
      INTO STRICT r_position, r_epoch, r_day
      FROM realm_clock c WHERE c.realm_id = p_realm_id
     ORDER BY c.position DESC LIMIT 1 FOR UPDATE;
    PERFORM set_config('parley.start', r_position::text, true),
            set_config('parley.position', r_position::text, true),
            set_config('parley.epoch', r_epoch::text, true),
            set_config('parley.day', r_day::text, true);
END $$;

CREATE FUNCTION public.clocks_now(p_realm_ids bigint[]) RETURNS TABLE(realm_id bigint, "position" bigint, day date, epoch bigint)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
BEGIN
    RETURN QUERY
    SELECT r, c.position, c.day, c.epoch
      FROM unnest(p_realm_ids) AS r
     CROSS JOIN LATERAL (
           SELECT x.position, x.day, x.epoch FROM realm_clock x
            WHERE x.realm_id = r ORDER BY x.position DESC LIMIT 1) AS c;
END $$;

CREATE FUNCTION public.confirm_identity() RETURNS boolean
    LANGUAGE sql
    AS $$
    SELECT r_outcome = 'renewed' FROM claim_lineage(NULL, NULL, NULL, false)
$$;

CREATE FUNCTION public.counts_as_mention(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint, p_flags integer, p_traits integer, p_received boolean) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT p_flags & 8 <> 0 OR (
        (p_flags & 64 <> 0 OR (p_received AND p_traits & 2 <> 0))
        AND NOT place_is_muted(p_realm_id, p_user_id, p_channel_id, p_conversation_id))
$$;

CREATE FUNCTION public.current_position() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$ SELECT current_setting('parley.position')::bigint $$;

CREATE FUNCTION public.delete_orphan(p_realm_id bigint, p_attachment_id bigint, p_before timestamp with time zone, p_write_id uuid) RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_gone attachments;
    v_used bigint;
BEGIN
    DELETE FROM attachments a
     WHERE a.realm_id = p_realm_id AND a.attachment_id = p_attachment_id
       AND is_orphan(a, p_before)
    RETURNING a.* INTO v_gone;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM former_attachment_messages l
     WHERE l.realm_id = p_realm_id AND l.attachment_id = p_attachment_id;
    UPDATE upload_space s SET bytes = s.bytes - v_gone.size WHERE s.realm_id = p_realm_id
    RETURNING s.bytes INTO v_used;
    PERFORM append_entry(
        p_realm_id, 'attachment_removed',
        convert_to(jsonb_build_object('users', jsonb_build_array(v_gone.owner_id))::text, 'UTF8'),
        convert_to(jsonb_build_object(
            'attachment', jsonb_build_object('id', p_attachment_id),
            'upload_space_used', v_used)::text, 'UTF8'),
        p_write_id);
    RETURN true;
END $$;

CREATE FUNCTION public.described_topic(p_name text, p_description text, p_rendered text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT jsonb_build_object('topic', p_name, 'description', coalesce(p_description, ''),
                              'rendered_description', coalesce(p_rendered, ''))
$$;

CREATE FUNCTION public.described_topics(p_realm_id bigint, p_gone text[], p_topic_ids bigint[]) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT jsonb_build_object('topics', coalesce(jsonb_agg(e.topic ORDER BY e.is_there, e.place), '[]'))
      FROM (SELECT false AS is_there, g.place, described_topic(g.name, NULL, NULL) AS topic
              FROM unnest(p_gone) WITH ORDINALITY AS g(name, place)
             UNION ALL
            SELECT true, t.topic_id, described_topic(t.name, t.description, t.rendered_description)
              FROM topics t
             WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_topic_ids)) e
$$;

CREATE FUNCTION public.driven_after(p_realm_id bigint, p_channels bigint[], p_conversations bigint[], p_extra bigint[], p_is_open boolean, p_driver text, p_terms jsonb, p_ids bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_traits integer := coalesce((p_terms ->> 'traits')::integer, 0);
BEGIN
    CASE p_driver
    WHEN 'ids' THEN
        RETURN ARRAY(SELECT DISTINCT i FROM unnest(p_ids) AS i WHERE i >= p_edge
                      ORDER BY i ASC LIMIT p_limit);
    WHEN 'sender' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.sender_id = (p_terms ->> 'sender')::bigint
                        AND m.id >= p_edge
                      ORDER BY m.id ASC LIMIT p_limit);
    WHEN 'held' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      -- From the index alone: most messages with the traits may be elsewhere.
                      WHERE m.realm_id = p_realm_id AND m.traits & 112 <> 0 AND m.id >= p_edge
                        AND m.traits & v_traits = v_traits
                        AND (p_is_open OR m.channel_id IN (SELECT unnest(p_channels))
                             OR m.conversation_id IN (SELECT unnest(p_conversations))
                             OR m.id IN (SELECT unnest(p_extra)))
                      ORDER BY m.id ASC LIMIT p_limit);
    WHEN 'reacted' THEN
        RETURN ARRAY(SELECT DISTINCT r.message_id FROM reactions r
                      WHERE r.realm_id = p_realm_id AND r.message_id >= p_edge
                      ORDER BY r.message_id ASC LIMIT p_limit);
    END CASE;
END $$;

CREATE FUNCTION public.driven_before(p_realm_id bigint, p_channels bigint[], p_conversations bigint[], p_extra bigint[], p_is_open boolean, p_driver text, p_terms jsonb, p_ids bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_traits integer := coalesce((p_terms ->> 'traits')::integer, 0);
BEGIN
    CASE p_driver
    WHEN 'ids' THEN
        RETURN ARRAY(SELECT DISTINCT i FROM unnest(p_ids) AS i WHERE i <= p_edge
                      ORDER BY i DESC LIMIT p_limit);
    WHEN 'sender' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.sender_id = (p_terms ->> 'sender')::bigint
                        AND m.id <= p_edge
                      ORDER BY m.id DESC LIMIT p_limit);
    WHEN 'held' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      -- From the index alone: most messages with the traits may be elsewhere.
                      WHERE m.realm_id = p_realm_id AND m.traits & 112 <> 0 AND m.id <= p_edge
                        AND m.traits & v_traits = v_traits
                        AND (p_is_open OR m.channel_id IN (SELECT unnest(p_channels))
                             OR m.conversation_id IN (SELECT unnest(p_conversations))
                             OR m.id IN (SELECT unnest(p_extra)))
                      ORDER BY m.id DESC LIMIT p_limit);
    WHEN 'reacted' THEN
        RETURN ARRAY(SELECT DISTINCT r.message_id FROM reactions r
                      WHERE r.realm_id = p_realm_id AND r.message_id <= p_edge
                      ORDER BY r.message_id DESC LIMIT p_limit);
    END CASE;
END $$;

CREATE FUNCTION public.event_log_partitions(p_days integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    d date;
    made integer := 0;
    partition text;
BEGIN
    FOR d IN SELECT generate_series(
            (now() AT TIME ZONE 'utc')::date - 1,
            (now() AT TIME ZONE 'utc')::date + p_days, interval '1 day')::date
    LOOP
        partition := 'event_log_' || to_char(d, 'YYYYMMDD');
        IF to_regclass(partition) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('event_log_partitions'));
            -- Not to_regclass again: its cache may be from before the wait.
            IF NOT EXISTS (SELECT FROM pg_class
                            WHERE relname = partition AND relnamespace = current_schema()::regnamespace) THEN
                EXECUTE format('CREATE TABLE %I (LIKE event_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', partition);
                EXECUTE format('ALTER TABLE event_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partition, d, d + 1);
                made := made + 1;
            END IF;
        END IF;
    END LOOP;
    RETURN made;
END $$;

CREATE FUNCTION public.feed_after(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_walks boolean, p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_edge bigint := p_edge;
    v_end bigint;
    v_piece bigint[];
    v_ids bigint[] := '{}';
BEGIN
    LOOP
        v_edge := coalesce((
            SELECT r.last_id FROM imported_ranges r
             WHERE r.realm_id = p_realm_id AND v_edge BETWEEN r.first_id AND r.last_id) + 1, v_edge);
        v_end := coalesce((
            SELECT min(r.first_id) FROM imported_ranges r
             WHERE r.realm_id = p_realm_id AND r.first_id >= v_edge), 9223372036854775807);
        IF v_edge <> v_end THEN
            v_piece := coalesce(
                CASE WHEN p_walks THEN walk_after(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations, p_extra,
                    v_edge, p_limit - cardinality(v_ids)) END,
                history_after(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, p_limit - cardinality(v_ids)));
            v_ids := v_ids || CASE WHEN v_end = 9223372036854775807 THEN v_piece ELSE ARRAY(
                SELECT i FROM unnest(v_piece) AS i WHERE i < v_end) END;
        END IF;
        EXIT WHEN cardinality(v_ids) >= p_limit OR v_end = 9223372036854775807;
        v_edge := v_end;
    END LOOP;
    RETURN v_ids;
END $$;

CREATE FUNCTION public.feed_before(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_walks boolean, p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_edge bigint := p_edge;
    v_end bigint;
    v_piece bigint[];
    v_ids bigint[] := '{}';
BEGIN
    LOOP
        v_edge := coalesce((
            SELECT r.first_id FROM imported_ranges r
             WHERE r.realm_id = p_realm_id AND v_edge BETWEEN r.first_id AND r.last_id) - 1, v_edge);
        v_end := coalesce((
            SELECT max(r.last_id) FROM imported_ranges r
             WHERE r.realm_id = p_realm_id AND r.last_id <= v_edge), 0);
        IF v_edge <> v_end THEN
            v_piece := coalesce(
                CASE WHEN p_walks THEN walk_before(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations, p_extra,
                    v_edge, p_limit - cardinality(v_ids)) END,
                history_before(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, p_limit - cardinality(v_ids)));
            v_ids := v_ids || CASE WHEN v_end = 0 THEN v_piece ELSE ARRAY(
                SELECT i FROM unnest(v_piece) AS i WHERE i > v_end) END;
        END IF;
        EXIT WHEN cardinality(v_ids) >= p_limit OR v_end = 0;
        v_edge := v_end;
    END LOOP;
    RETURN v_ids;
END $$;

CREATE FUNCTION public.first_message_since(p_realm_id bigint, p_moment timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    v_low bigint := 0;
    v_high bigint := (SELECT max(m.id) FROM messages m WHERE m.realm_id = p_realm_id);
    v_middle bigint;
    v_found record;
BEGIN
    IF (SELECT m.sent_at < p_moment FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = v_high) THEN
        RETURN NULL;
    END IF;
    WHILE v_low < v_high LOOP
        v_middle := (v_low + v_high) / 2;
        SELECT m.id, m.sent_at INTO v_found FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id >= v_middle ORDER BY m.id LIMIT 1;
        IF v_found.sent_at < p_moment THEN
            v_low := v_found.id + 1;
        ELSE
            v_high := v_middle;
        END IF;
    END LOOP;
    RETURN (SELECT min(m.id) FROM messages m WHERE m.realm_id = p_realm_id AND m.id >= v_low);
END $$;

CREATE FUNCTION public.first_messages_since(p_realm_id bigint, p_moment timestamp with time zone) RETURNS TABLE(first_id bigint, last_id bigint, is_imported boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    AS $$
DECLARE
    s record;
    v_low bigint;
    v_high bigint;
    v_middle bigint;
    v_found record;
BEGIN
    FOR s IN SELECT * FROM message_stretches(p_realm_id) x ORDER BY x.first_id LOOP
        v_low := s.first_id;
        v_high := (SELECT max(m.id) FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.id BETWEEN s.first_id AND s.last_id);
        CONTINUE WHEN v_high IS NULL OR (
            SELECT m.sent_at < p_moment FROM messages m
             WHERE m.realm_id = p_realm_id AND m.id = v_high);
        WHILE v_low < v_high LOOP
            v_middle := (v_low + v_high) / 2;
            SELECT m.id, m.sent_at INTO v_found FROM messages m
             WHERE m.realm_id = p_realm_id AND m.id >= v_middle ORDER BY m.id LIMIT 1;
            IF v_found.sent_at < p_moment THEN
                v_low := v_found.id + 1;
            ELSE
                v_high := v_middle;
            END IF;
        END LOOP;
        first_id := (SELECT min(m.id) FROM messages m WHERE m.realm_id = p_realm_id AND m.id >= v_low);
        last_id := s.last_id;
        is_imported := s.is_imported;
        RETURN NEXT;
    END LOOP;
END $$;

CREATE FUNCTION public.flag_entry_body(p_operation text, p_flag text, p_ids bigint[], p_all boolean DEFAULT false, p_details jsonb DEFAULT NULL::jsonb, p_empty_topic_name text DEFAULT NULL::text) RETURNS bytea
    LANGUAGE sql STABLE
    AS $_$
    SELECT convert_to(format(
        '{"type":"update_message_flags","op":%s,"operation":%1$s,"flag":%s,"messages":[%s],'
        '"all":%s%s}',
        to_json(p_operation), to_json(p_flag), array_to_string(p_ids, ','), p_all::text,
        CASE WHEN p_details IS NOT NULL THEN (
            SELECT format(',"message_details":%s%s', jsonb_object_agg(i::text, p_details -> i::text),
                          CASE WHEN bool_or(p_details -> i::text ->> 'topic' = '') THEN
                               ',"empty_topic_display_name":' || to_json(p_empty_topic_name) END)
              FROM unnest(p_ids) AS i) END), 'UTF8')
$_$;

CREATE FUNCTION public.flag_names(p_flags integer, p_traits integer, p_received boolean, p_unread boolean) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT to_jsonb(array_remove(ARRAY[
        CASE WHEN NOT p_unread THEN 'read' END,
        CASE WHEN p_flags & 2 <> 0 THEN 'starred' END,
        CASE WHEN p_flags & 4 <> 0 THEN 'collapsed' END,
        CASE WHEN p_flags & 128 <> 0 THEN 'hide_link_previews' END,
        CASE WHEN p_flags & 8 <> 0 THEN 'mentioned' END,
        CASE WHEN p_flags & 16 <> 0 THEN 'has_alert_word' END,
        CASE WHEN p_flags & 32 <> 0 OR NOT p_received THEN 'historical' END,
        CASE WHEN p_flags & 64 <> 0 THEN 'topic_wildcard_mentioned' END,
        CASE WHEN p_received AND p_traits & 2 <> 0 THEN 'stream_wildcard_mentioned' END,
        CASE WHEN p_flags & 64 <> 0 OR (p_received AND p_traits & 2 <> 0)
             THEN 'wildcard_mentioned' END], NULL))
$$;

CREATE FUNCTION public.flagged_candidates(p_realm_id bigint, p_user_id bigint, p_kind text, p_channel_id bigint, p_conversation_ids bigint[], p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    IF p_kind = 'unread' AND p_channel_id IS NOT NULL THEN
        RETURN (unread_shown_in(p_realm_id, p_user_id, p_channel_id, NULL)).r_ids;
    ELSIF p_kind = 'unread' AND p_conversation_ids IS NOT NULL THEN
        RETURN ARRAY(
            SELECT unnest(u.r_ids) FROM unnest(p_conversation_ids) AS c(id)
             CROSS JOIN LATERAL unread_shown_in(p_realm_id, p_user_id, NULL, c.id) u);
    ELSIF p_kind = 'unread' THEN
        RETURN ARRAY(
            SELECT unnest(u.r_ids) FROM unread_messages(p_realm_id, p_user_id, p_limit) u);
    ELSIF p_kind = 'starred' THEN
        RETURN ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 2 <> 0);
    ELSIF p_kind = 'alerted' THEN
        RETURN ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 16 <> 0);
    ELSIF p_kind = 'mentioned' THEN
        RETURN ARRAY(SELECT m.id FROM mentions_since(p_realm_id, p_user_id, 0) m);
    END IF;
    RAISE 'no flag to narrow by: %', p_kind;
END $$;

CREATE FUNCTION public.fold_email() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    NEW.folded_email := CASE WHEN octet_length(NEW.email) = length(NEW.email)
                             THEN lower(NEW.email COLLATE "C") END;
    RETURN NEW;
END $$;

CREATE FUNCTION public.fold_name() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_name text := to_jsonb(NEW) ->> TG_ARGV[0];
BEGIN
    -- A change of case only keeps the folding; an older release leaves the old name's folding.
    IF TG_OP = 'INSERT' OR NEW.folded_name IS NULL
       OR name_folding(v_name) <> name_folding(to_jsonb(OLD) ->> TG_ARGV[0]) THEN
        NEW.folded_name := name_folding(v_name);
    END IF;
    RETURN NEW;
END $$;

CREATE FUNCTION public.fold_reads(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_reads text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_channel_read(p_realm_id, p_user_id, f.channel_id, f.read::int8multirange)
       FROM unnest(p_channel_ids, p_reads) AS f(channel_id, read);
    PERFORM prune_conversation_read(p_realm_id, p_user_id, p_channel_ids);
END $$;

CREATE FUNCTION public.foldable_reads(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[]) RETURNS TABLE(channel_id bigint, read int8multirange)
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    c_end CONSTANT bigint := 9223372036854775807;
    v_position bigint := (SELECT max(c.position) FROM realm_clock c WHERE c.realm_id = p_realm_id);
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0);
    v_channel_ids bigint[];
    v_pending int8multirange[];
BEGIN
    SELECT array_agg(o.channel_id), array_agg(o.pending) INTO v_channel_ids, v_pending
      FROM reader_channels(p_realm_id, p_user_id) o
     WHERE o.channel_id = ANY (p_channel_ids) AND o.access > 0;

    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT o.channel_id, lower(o.pending) AS floor,
               coalesce((SELECT r.read FROM channel_read r
                          WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                            AND r.channel_id = o.channel_id), '{}') AS read
          FROM unnest(v_channel_ids, v_pending) AS o(channel_id, pending)
    ), in_place AS MATERIALIZED (
        SELECT u.* FROM unseen_in_place(
            p_realm_id, p_user_id, v_channel_ids, v_pending, 0, c_end, v_flagged) u
    ), unseen AS MATERIALIZED (
        SELECT u.channel_id, i.id FROM in_place u CROSS JOIN LATERAL unnest(u.ids) AS i(id)
        UNION
        SELECT coalesce(s.origin_channel_id, 0), s.id
          FROM message_states(p_realm_id, p_user_id, v_flagged
                   || pending_elsewhere(p_realm_id, v_channel_ids, v_pending, 0, c_end)) s
         WHERE s.received AND NOT s.seen
    ), stretches AS (
        SELECT u.channel_id, u.id + 1 AS first,
               lead(u.id, 1, v_position + 1) OVER (PARTITION BY u.channel_id ORDER BY u.id) AS next
          FROM unseen u
        UNION ALL
        SELECT o.channel_id, 0, coalesce(oldest.id, v_position + 1)
          FROM own o
          LEFT JOIN (SELECT u.channel_id, min(u.id) AS id FROM unseen u GROUP BY u.channel_id) oldest
            ON oldest.channel_id = o.channel_id
    ), density AS (
        SELECT o.channel_id, looked.skipped / greatest(v_position - o.floor, 1) AS messages
          FROM own o
          LEFT JOIN (SELECT u.channel_id, sum(u.skipped) AS skipped
                       FROM in_place u GROUP BY u.channel_id) looked
            ON looked.channel_id = o.channel_id
    ), absorbed AS (
        SELECT o.channel_id, o.read, range_agg(int8range(s.first, s.next)) AS more
          FROM stretches s
          JOIN own o ON o.channel_id = s.channel_id
          JOIN density d ON d.channel_id = s.channel_id
         WHERE s.first < s.next AND (s.first = 0 OR o.read && int8range(s.first, s.next)
               OR d.messages * (s.next - s.first) >= 16)
         GROUP BY o.channel_id, o.read
    )
    SELECT a.channel_id, a.more FROM absorbed a WHERE NOT a.more <@ a.read;
END $$;

CREATE FUNCTION public.forget_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH forgotten AS (
        DELETE FROM message_terms t USING gone g
         WHERE t.realm_id = g.realm_id AND t.message_id = g.id
        RETURNING t.realm_id, t.message_id
    )
    INSERT INTO search_stale (realm_id, message_id)
    SELECT g.realm_id, g.id FROM gone g
    EXCEPT SELECT f.realm_id, f.message_id FROM forgotten f
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.has_earlier_message(p_realm_id bigint, p_user_id bigint, p_topic_id bigint, p_id bigint) RETURNS boolean
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

CREATE FUNCTION public.has_holds(p_realm_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (SELECT FROM legal_holds h
                    WHERE h.realm_id = p_realm_id AND h.released_at IS NULL)
$$;

CREATE FUNCTION public.history_after(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    -- Either channels or conversations give shares: in a feed, channels.
    v_sharing_conversations bigint[] := CASE WHEN p_channels = '{}' THEN p_conversations ELSE '{}' END;
    v_other_conversations bigint[] := CASE WHEN p_channels = '{}' THEN '{}' ELSE p_conversations END;
    v_share bigint := ceil(2.0 * p_limit / greatest(1, cardinality(p_channels),
                                                    cardinality(v_sharing_conversations))) + 1;
BEGIN
    IF p_partial_channels = '{}' AND p_partial_conversations = '{}' AND p_extra = '{}' THEN
        IF cardinality(p_channels) = 1 AND p_conversations = '{}' THEN
            RETURN ARRAY(SELECT m.id FROM messages m
                          WHERE m.realm_id = p_realm_id AND m.channel_id = p_channels[1]
                            AND m.id >= p_edge
                          ORDER BY m.id ASC LIMIT p_limit);
        ELSIF p_channels = '{}' AND cardinality(p_conversations) = 1 THEN
            RETURN ARRAY(SELECT m.id FROM messages m
                          WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversations[1]
                            AND m.id >= p_edge
                          ORDER BY m.id ASC LIMIT p_limit);
        END IF;
    END IF;
    RETURN ARRAY(
    WITH shares AS MATERIALIZED (
        SELECT c.id AS source, m.id
          FROM unnest(p_channels) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id AND m.id >= p_edge
                ORDER BY m.id ASC LIMIT v_share) m
        UNION ALL
        SELECT c.id, m.id
          FROM unnest(v_sharing_conversations) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id AND m.id >= p_edge
                ORDER BY m.id ASC LIMIT v_share) m
    ), bound AS MATERIALIZED (
        -- Ids beyond this one cannot be on the page.
        SELECT coalesce((SELECT s.id FROM shares s ORDER BY s.id ASC OFFSET p_limit - 1 LIMIT 1),
                        9223372036854775807) AS id
    ), more AS MATERIALIZED (
        -- Sources with a full share inside the bound may have more on the page.
        SELECT s.source, max(s.id) AS id
          FROM shares s CROSS JOIN bound b
         GROUP BY s.source, b.id HAVING count(*) = v_share AND b.id > max(s.id)
    )
    SELECT page.id FROM (
        SELECT s.id FROM shares s
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = f.source
                  AND m.id > f.id AND m.id <= b.id
                ORDER BY m.id ASC LIMIT p_limit) m
         WHERE p_channels <> '{}'
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = f.source
                  AND m.id > f.id AND m.id <= b.id
                ORDER BY m.id ASC LIMIT p_limit) m
         WHERE p_channels = '{}'
        UNION ALL
        SELECT m.id FROM unnest(v_other_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.id >= p_edge AND m.id <= b.id
                ORDER BY m.id ASC LIMIT p_limit) m
        UNION ALL
        SELECT e.id FROM unnest(p_extra) AS e(id) WHERE e.id >= p_edge
        UNION ALL
        -- Of partial sources, messages sent there while the reader was subscribed ...
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
          JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
               AND s.channel_id = c.id
         CROSS JOIN LATERAL unnest(s.spans) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND m.id >= lower(p.span) AND m.id < coalesce(upper(p.span), 9223372036854775807)
                  AND m.id >= p_edge AND m.id <= b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id ASC LIMIT p_limit) m
        UNION ALL
        SELECT m.id
          FROM unnest(p_partial_conversations) AS c(id) CROSS JOIN bound b
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = c.id
          JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
               AND s.channel_id = t.channel_id
         CROSS JOIN LATERAL unnest(s.spans) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.id >= lower(p.span) AND m.id < coalesce(upper(p.span), 9223372036854775807)
                  AND m.id >= p_edge AND m.id <= b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id ASC LIMIT p_limit) m
        UNION ALL
        -- ... and those moved there that were received elsewhere, or came while the reader was subscribed.
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)
                  AND m.id >= p_edge AND m.id <= b.id
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
                              AND s.channel_id = m.channel_id)) END
                ORDER BY m.id ASC LIMIT p_limit) m
        UNION ALL
        SELECT m.id
          FROM unnest(p_partial_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)
                  AND m.id >= p_edge AND m.id <= b.id
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
                              AND s.channel_id = m.channel_id)) END
                ORDER BY m.id ASC LIMIT p_limit) m) page
     ORDER BY page.id ASC LIMIT p_limit);
END $$;

CREATE FUNCTION public.history_before(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    -- Either channels or conversations give shares: in a feed, channels.
    v_sharing_conversations bigint[] := CASE WHEN p_channels = '{}' THEN p_conversations ELSE '{}' END;
    v_other_conversations bigint[] := CASE WHEN p_channels = '{}' THEN '{}' ELSE p_conversations END;
    v_share bigint := ceil(2.0 * p_limit / greatest(1, cardinality(p_channels),
                                                    cardinality(v_sharing_conversations))) + 1;
BEGIN
    IF p_partial_channels = '{}' AND p_partial_conversations = '{}' AND p_extra = '{}' THEN
        IF cardinality(p_channels) = 1 AND p_conversations = '{}' THEN
            RETURN ARRAY(SELECT m.id FROM messages m
                          WHERE m.realm_id = p_realm_id AND m.channel_id = p_channels[1]
                            AND m.id <= p_edge
                          ORDER BY m.id DESC LIMIT p_limit);
        ELSIF p_channels = '{}' AND cardinality(p_conversations) = 1 THEN
            RETURN ARRAY(SELECT m.id FROM messages m
                          WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversations[1]
                            AND m.id <= p_edge
                          ORDER BY m.id DESC LIMIT p_limit);
        END IF;
    END IF;
    RETURN ARRAY(
    WITH shares AS MATERIALIZED (
        SELECT c.id AS source, m.id
          FROM unnest(p_channels) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id AND m.id <= p_edge
                ORDER BY m.id DESC LIMIT v_share) m
        UNION ALL
        SELECT c.id, m.id
          FROM unnest(v_sharing_conversations) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id AND m.id <= p_edge
                ORDER BY m.id DESC LIMIT v_share) m
    ), bound AS MATERIALIZED (
        -- Ids beyond this one cannot be on the page.
        SELECT coalesce((SELECT s.id FROM shares s ORDER BY s.id DESC OFFSET p_limit - 1 LIMIT 1),
                        0) AS id
    ), more AS MATERIALIZED (
        -- Sources with a full share inside the bound may have more on the page.
        SELECT s.source, min(s.id) AS id
          FROM shares s CROSS JOIN bound b
         GROUP BY s.source, b.id HAVING count(*) = v_share AND b.id < min(s.id)
    )
    SELECT page.id FROM (
        SELECT s.id FROM shares s
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = f.source
                  AND m.id < f.id AND m.id >= b.id
                ORDER BY m.id DESC LIMIT p_limit) m
         WHERE p_channels <> '{}'
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = f.source
                  AND m.id < f.id AND m.id >= b.id
                ORDER BY m.id DESC LIMIT p_limit) m
         WHERE p_channels = '{}'
        UNION ALL
        SELECT m.id FROM unnest(v_other_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.id <= p_edge AND m.id >= b.id
                ORDER BY m.id DESC LIMIT p_limit) m
        UNION ALL
        SELECT e.id FROM unnest(p_extra) AS e(id) WHERE e.id <= p_edge
        UNION ALL
        -- Of partial sources, messages sent there while the reader was subscribed ...
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
          JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
               AND s.channel_id = c.id
         CROSS JOIN LATERAL unnest(s.spans) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND m.id >= lower(p.span) AND m.id < coalesce(upper(p.span), 9223372036854775807)
                  AND m.id <= p_edge AND m.id >= b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id DESC LIMIT p_limit) m
        UNION ALL
        SELECT m.id
          FROM unnest(p_partial_conversations) AS c(id) CROSS JOIN bound b
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = c.id
          JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
               AND s.channel_id = t.channel_id
         CROSS JOIN LATERAL unnest(s.spans) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.id >= lower(p.span) AND m.id < coalesce(upper(p.span), 9223372036854775807)
                  AND m.id <= p_edge AND m.id >= b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id DESC LIMIT p_limit) m
        UNION ALL
        -- ... and those moved there that were received elsewhere, or came while the reader was subscribed.
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)
                  AND m.id <= p_edge AND m.id >= b.id
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
                              AND s.channel_id = m.channel_id)) END
                ORDER BY m.id DESC LIMIT p_limit) m
        UNION ALL
        SELECT m.id
          FROM unnest(p_partial_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)
                  AND m.id <= p_edge AND m.id >= b.id
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
                              AND s.channel_id = m.channel_id)) END
                ORDER BY m.id DESC LIMIT p_limit) m) page
     ORDER BY page.id DESC LIMIT p_limit);
END $$;

CREATE FUNCTION public.history_page(p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[], p_conversation_ids bigint[], p_below bigint, p_before bigint, p_from bigint, p_after bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    c_far CONSTANT bigint := 1000;
    s record;
    v_walks boolean;
    v_is_feed boolean := p_scope IN ('feed', 'direct') AND p_conversation_ids IS NULL;
    v_ids bigint[] := '{}';
BEGIN
    SELECT * INTO s FROM history_sources(
        p_realm_id, p_user_id, p_scope, p_channel_ids, p_conversation_ids);
    -- Walking farther, or for a few sources, costs more than it may save.
    v_walks := p_scope = 'feed' AND cardinality(s.r_channels) > 3
               AND greatest(p_before, p_after) <= c_far;
    IF p_before > 0 THEN
        v_ids := CASE WHEN v_is_feed THEN feed_before(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, v_walks, p_below - 1, p_before)
            ELSE history_before(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, p_below - 1, p_before) END;
    END IF;
    IF p_after > 0 THEN
        v_ids := v_ids || CASE WHEN v_is_feed THEN feed_after(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, v_walks, p_from, p_after)
            ELSE history_after(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, p_from, p_after) END;
    END IF;
    RETURN v_ids;
END $$;

CREATE FUNCTION public.history_sources(p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[], p_conversation_ids bigint[], OUT r_channels bigint[], OUT r_partial_channels bigint[], OUT r_conversations bigint[], OUT r_partial_conversations bigint[], OUT r_extra bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_role smallint;
    v_channel_ids bigint[];
BEGIN
    r_channels := '{}';
    r_partial_channels := '{}';
    r_conversations := '{}';
    r_partial_conversations := '{}';
    r_extra := '{}';
    IF p_scope = 'feed' THEN
        v_role := coalesce((SELECT u.role FROM users u
                             WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id), 600);
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM (SELECT s.channel_id, channel_access(p_user_id, v_role, s.active, c) AS access
                  FROM subscriptions s
                  JOIN channels c ON c.realm_id = p_realm_id AND c.channel_id = s.channel_id
                 WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.active OFFSET 0) a;
        -- Messages that the user starred or reacted to elsewhere are part of their history.
        r_extra := ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 32 <> 0);
        IF r_extra <> '{}' THEN
            r_extra := ARRAY(SELECT s.id FROM message_states(p_realm_id, p_user_id, r_extra) s
                              WHERE s.accessible AND NOT s.subscribed);
        END IF;
    END IF;
    IF p_scope = 'feed' AND p_conversation_ids IS NOT NULL THEN
        SELECT coalesce(array_agg(t.topic_id) FILTER (WHERE t.channel_id = ANY (r_channels)), '{}'),
               coalesce(array_agg(t.topic_id)
                        FILTER (WHERE t.channel_id = ANY (r_partial_channels)), '{}')
          INTO r_conversations, r_partial_conversations
          FROM topics t
         WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids);
        r_channels := '{}';
        r_partial_channels := '{}';
        IF r_extra <> '{}' THEN
            r_extra := ARRAY(
                SELECT m.id FROM messages m
                 WHERE m.realm_id = p_realm_id AND m.id = ANY (r_extra)
                   AND m.conversation_id = ANY (p_conversation_ids));
        END IF;
    END IF;
    IF p_scope IN ('feed', 'direct') THEN
        r_conversations := r_conversations || ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND (p_conversation_ids IS NULL OR g.dm_group_id = ANY (p_conversation_ids)));
    ELSIF p_conversation_ids IS NULL THEN
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM reader_access(p_realm_id, p_user_id, p_channel_ids) a;
    ELSE
        v_channel_ids := ARRAY(
            SELECT DISTINCT t.channel_id FROM topics t
             WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids)
               AND (p_channel_ids IS NULL OR t.channel_id = ANY (p_channel_ids)));
        SELECT coalesce(array_agg(t.topic_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(t.topic_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_conversations, r_partial_conversations
          FROM reader_access(p_realm_id, p_user_id, v_channel_ids) a
          JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids)
               AND t.channel_id = a.channel_id;
        r_conversations := r_conversations || ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND g.dm_group_id = ANY (p_conversation_ids) AND p_channel_ids IS NULL);
    END IF;
END $$;

CREATE FUNCTION public.ids_of(p_terms jsonb, p_name text) RETURNS bigint[]
    LANGUAGE plpgsql IMMUTABLE
    AS $$
BEGIN
    IF coalesce(p_terms -> p_name, '[]') = '[]' THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(SELECT i::bigint FROM jsonb_array_elements_text(p_terms -> p_name) AS i);
END $$;

CREATE SEQUENCE public.attachment_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.attachments (
    realm_id bigint NOT NULL,
    attachment_id bigint DEFAULT nextval('public.attachment_ids'::regclass) NOT NULL,
    path_id text NOT NULL,
    name text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL,
    digest bytea NOT NULL,
    owner_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    let_go_at timestamp with time zone,
    width integer,
    height integer,
    is_animated boolean DEFAULT false NOT NULL
);

CREATE FUNCTION public.is_file_held(a public.attachments) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT has_holds(a.realm_id) AND (
        EXISTS (SELECT FROM legal_holds h
                 WHERE h.realm_id = a.realm_id AND h.released_at IS NULL
                   AND (h.is_realm_wide OR a.owner_id = ANY (h.user_ids))
                   AND (h.sent_from IS NULL OR a.created_at >= h.sent_from)
                   AND (h.sent_until IS NULL OR a.created_at < h.sent_until))
        OR EXISTS (SELECT FROM attachment_messages l
                     JOIN messages m ON m.realm_id = l.realm_id AND m.id = l.message_id
                    WHERE l.realm_id = a.realm_id AND l.attachment_id = a.attachment_id
                      AND is_held(m))
        OR EXISTS (SELECT FROM former_attachment_messages l
                     JOIN messages m ON m.realm_id = l.realm_id AND m.id = l.message_id
                    WHERE l.realm_id = a.realm_id AND l.attachment_id = a.attachment_id
                      AND is_held(m))
        OR EXISTS (SELECT FROM former_attachment_messages l
                     JOIN expired_messages e ON e.realm_id = l.realm_id AND e.id = l.message_id
                    WHERE l.realm_id = a.realm_id AND l.attachment_id = a.attachment_id
                      AND is_held_in_archive(e)))
$$;

CREATE FUNCTION public.is_held(m public.messages) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (
        SELECT FROM legal_holds h
         WHERE h.realm_id = m.realm_id AND h.released_at IS NULL
           AND (h.sent_from IS NULL OR m.sent_at >= h.sent_from)
           AND (h.sent_until IS NULL OR m.sent_at < h.sent_until)
           AND (h.is_realm_wide
                OR m.sender_id = ANY (h.user_ids)
                OR m.channel_id = ANY (h.channel_ids)
                OR m.origin_channel_id = ANY (h.channel_ids)
                OR m.edit_history IS NOT NULL AND cardinality(h.channel_ids) > 0 AND EXISTS (
                       SELECT FROM jsonb_array_elements(m.edit_history) e
                        WHERE (e ->> 'prev_stream')::bigint = ANY (h.channel_ids))
                OR m.channel_id IS NULL AND EXISTS (
                       SELECT FROM dm_groups d
                        WHERE d.realm_id = m.realm_id AND d.dm_group_id = m.conversation_id
                          AND d.user_ids && h.user_ids)))
$$;

CREATE FUNCTION public.is_held_in_archive(e public.expired_messages) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT has_holds(e.realm_id) AND is_held(jsonb_populate_record(NULL::messages, e.message))
$$;

CREATE FUNCTION public.is_orphan(public.attachments, p_before timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $_$
    SELECT greatest($1.created_at, $1.let_go_at) < p_before
       AND NOT EXISTS (SELECT FROM attachment_messages h
                        WHERE h.realm_id = $1.realm_id AND h.attachment_id = $1.attachment_id)
       AND NOT is_file_held($1)
       AND NOT EXISTS (SELECT FROM scheduled_messages s
                        WHERE s.realm_id = $1.realm_id AND s.sender_id = $1.owner_id
                          AND strpos(s.content, regexp_replace($1.path_id, '[^/]*$', '')) > 0)
       AND NOT EXISTS (SELECT FROM drafts d
                        WHERE d.realm_id = $1.realm_id AND d.user_id = $1.owner_id
                          AND strpos(d.content, regexp_replace($1.path_id, '[^/]*$', '')) > 0)
       AND NOT EXISTS (SELECT FROM saved_snippets s
                        WHERE s.realm_id = $1.realm_id AND s.user_id = $1.owner_id
                          AND strpos(s.content, regexp_replace($1.path_id, '[^/]*$', '')) > 0)
$_$;

CREATE FUNCTION public.is_user_held(p_realm_id bigint, p_user_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT has_holds(p_realm_id) AND (
        is_user_named_by_hold(p_realm_id, p_user_id)
        OR EXISTS (
            SELECT FROM legal_holds h
              JOIN messages m ON m.realm_id = h.realm_id AND m.sender_id = p_user_id
                   AND (h.sent_from IS NULL OR m.sent_at >= h.sent_from)
                   AND (h.sent_until IS NULL OR m.sent_at < h.sent_until)
                   AND (m.channel_id = ANY (h.channel_ids)
                        OR m.origin_channel_id = ANY (h.channel_ids)
                        OR m.edit_history IS NOT NULL AND is_held(m))
             WHERE h.realm_id = p_realm_id AND h.released_at IS NULL
               AND cardinality(h.channel_ids) > 0)
        OR EXISTS (
            SELECT FROM legal_holds h
              JOIN dm_group_members g ON g.realm_id = h.realm_id AND g.user_id = p_user_id
              JOIN dm_groups d ON d.realm_id = g.realm_id AND d.dm_group_id = g.dm_group_id
                   AND d.user_ids && h.user_ids
              JOIN messages m ON m.realm_id = h.realm_id AND m.conversation_id = d.dm_group_id
                   AND m.sender_id = p_user_id
                   AND (h.sent_from IS NULL OR m.sent_at >= h.sent_from)
                   AND (h.sent_until IS NULL OR m.sent_at < h.sent_until)
             WHERE h.realm_id = p_realm_id AND h.released_at IS NULL)
        OR EXISTS (SELECT FROM expired_messages e
                    WHERE e.realm_id = p_realm_id
                      AND (e.message ->> 'sender_id')::bigint = p_user_id
                      AND is_held_in_archive(e))
        OR EXISTS (SELECT FROM attachments a
                    WHERE a.realm_id = p_realm_id AND a.owner_id = p_user_id
                      AND is_file_held(a)))
$$;

CREATE FUNCTION public.is_user_named_by_hold(p_realm_id bigint, p_user_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (SELECT FROM legal_holds h
                    WHERE h.realm_id = p_realm_id AND h.released_at IS NULL
                      AND (h.is_realm_wide OR p_user_id = ANY (h.user_ids)))
$$;

CREATE FUNCTION public.keep_notice_unread(p_realm_id bigint, p_message_id bigint) RETURNS void
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

CREATE FUNCTION public.let_attachments_go(p_realm_id bigint, p_message_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM attachment_messages h
         WHERE h.realm_id = p_realm_id AND h.message_id = ANY (p_message_ids)
        RETURNING h.attachment_id
    )
    SELECT array_agg(DISTINCT g.attachment_id) INTO v_changed FROM gone g;
    PERFORM append_attachment_entries(p_realm_id, v_changed);
END $$;

CREATE FUNCTION public.mark_all_read(p_realm_id bigint, p_user_id bigint, p_limit bigint, p_audience bytea, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_told bigint[] := ARRAY(
        SELECT i FROM unread_messages(p_realm_id, p_user_id, p_limit) u, unnest(u.r_ids) AS i
         ORDER BY i);
BEGIN
    v_told := v_told[greatest(1, cardinality(v_told) - p_limit + 1) :];
    INSERT INTO channel_read AS r (realm_id, user_id, channel_id, read)
    SELECT p_realm_id, p_user_id, o.channel_id,
           int8multirange(int8range(0, current_position(), '[]'))
      FROM reader_channels(p_realm_id, p_user_id) o
     WHERE o.pending && int8range(0, current_position(), '[]')
    ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET read = r.read + excluded.read;
    DELETE FROM conversation_read v WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0));
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_told, p_audience, p_write_id, true);
END $$;

CREATE FUNCTION public.mark_historical(p_realm_id bigint, p_user_id bigint, p_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, s.id, 32
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible AND NOT s.received
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
END $$;

CREATE FUNCTION public.mark_left_read(p_realm_id bigint, p_user_ids bigint[], p_channel_ids bigint[], p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM mark_shown_read(p_realm_id, l.user_id, l.channel_id, NULL, to_users(ARRAY[l.user_id]),
                            p_write_id)
       FROM unnest(p_user_ids, p_channel_ids) AS l(user_id, channel_id);
END $$;

CREATE FUNCTION public.mark_reads(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_readers bigint[], p_audiences bytea[], p_write_id uuid) RETURNS TABLE(r_user_id bigint, r_id bigint)
    LANGUAGE plpgsql ROWS 100
    AS $$
DECLARE
    v_users bigint[];
    v_ids bigint[];
    v_flagged boolean[];
    v_origins bigint[];
BEGIN
    SELECT array_agg(s.user_id), array_agg(s.id), array_agg(s.flags & 1 <> 0),
           array_agg(CASE WHEN s.received AND NOT s.seen THEN s.origin_conversation_id END)
      INTO v_users, v_ids, v_flagged, v_origins
      FROM (SELECT r.* FROM reader_states(p_realm_id, p_user_ids, p_ids) r
             WHERE r.unread ORDER BY r.user_id, r.id) s;
    IF v_ids IS NULL THEN
        RETURN;
    END IF;

    PERFORM add_messages_read(p_realm_id, v_users, v_ids, v_origins);
    IF true = ANY (v_flagged) THEN
        PERFORM clear_unread_flag(p_realm_id, f.user_id, f.ids)
           FROM (SELECT c.user_id, array_agg(c.id) AS ids
                   FROM unnest(v_users, v_ids, v_flagged) AS c(user_id, id, flagged)
                  WHERE c.flagged GROUP BY c.user_id) f;
    END IF;

    PERFORM append_entries(p_realm_id, 'update_message_flags', e.audiences, e.bodies, p_write_id)
       FROM (SELECT array_agg(a.audience ORDER BY c.user_id, c.block) AS audiences,
                    array_agg(flag_entry_body('add', 'read', c.ids)
                              ORDER BY c.user_id, c.block) AS bodies
               FROM (SELECT n.user_id, n.block, array_agg(n.id ORDER BY n.id) AS ids
                       FROM (SELECT o.user_id, o.id, (row_number() OVER (
                                    PARTITION BY o.user_id ORDER BY o.id) - 1) / 1000 AS block
                               FROM unnest(v_users, v_ids) AS o(user_id, id)) n
                      GROUP BY n.user_id, n.block) c
               JOIN unnest(p_readers, p_audiences) AS a(user_id, audience)
                 ON a.user_id = c.user_id) e;
    RETURN QUERY SELECT c.user_id, c.id FROM unnest(v_users, v_ids) AS c(user_id, id);
END $$;

CREATE FUNCTION public.mark_shown_read(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint, p_audience bytea, p_write_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_shown record;
    v_oldest bigint;
    v_read int8multirange := int8multirange(int8range(0, current_position(), '[]'));
BEGIN
    v_shown := unread_shown_in(p_realm_id, p_user_id, p_channel_id, p_conversation_id);
    IF v_shown.r_ids = '{}' THEN
        RETURN;
    END IF;
    IF v_shown.r_has_unseen THEN
        SELECT min(lower(o.pending)) INTO v_oldest
          FROM reader_channels(p_realm_id, p_user_id) o
         WHERE o.channel_id = coalesce(p_channel_id, (
               SELECT t.channel_id FROM topics t
                WHERE t.realm_id = p_realm_id AND t.topic_id = p_conversation_id));
        v_read := v_read - coalesce((
            SELECT range_agg(int8range(CASE
                       WHEN p_channel_id IS NULL
                       THEN predecessor(p_realm_id, p_conversation_id, s.id)
                       ELSE channel_predecessor(p_realm_id, p_channel_id, s.id) END, s.id, '(]'))
              FROM message_states(p_realm_id, p_user_id, ARRAY(
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.origin_channel_id = p_channel_id
                      AND m.conversation_id <> m.origin_conversation_id
                      AND m.channel_id <> p_channel_id AND m.id >= v_oldest
                   UNION ALL
                   SELECT m.id FROM messages m
                    WHERE p_channel_id IS NULL AND m.realm_id = p_realm_id
                      AND m.origin_conversation_id = p_conversation_id
                      AND m.conversation_id <> m.origin_conversation_id
                      AND m.id >= v_oldest)) s
             WHERE s.received AND NOT s.seen), '{}');
        IF p_channel_id IS NULL THEN
            PERFORM add_conversation_read(p_realm_id, p_user_id, p_conversation_id, v_read);
        ELSE
            PERFORM add_channel_read(p_realm_id, p_user_id, p_channel_id, v_read);
            PERFORM prune_conversation_read(p_realm_id, p_user_id, ARRAY[p_channel_id]);
        END IF;
    END IF;
    IF v_shown.r_moved_ids IS NOT NULL THEN
        PERFORM add_messages_read(
            p_realm_id, array_fill(p_user_id, ARRAY[cardinality(v_shown.r_moved_ids)]),
            v_shown.r_moved_ids, v_shown.r_moved_origins);
    END IF;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, v_shown.r_ids);
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_shown.r_ids, p_audience, p_write_id);
END $$;

CREATE FUNCTION public.mark_unread(p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_empty_topic_name text, p_audience bytea, p_write_id uuid, OUT r_changed bigint[], OUT r_ignored_channel_ids bigint[]) RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_details jsonb;
    v_not_received bigint[];
BEGIN
    SELECT coalesce(array_agg(s.id ORDER BY s.id) FILTER (WHERE s.subscribed AND NOT s.unread), '{}'),
           array_agg(s.id) FILTER (WHERE s.subscribed AND NOT s.unread AND NOT s.received),
           coalesce(array_agg(DISTINCT s.channel_id) FILTER (WHERE NOT s.subscribed), '{}'),
           jsonb_object_agg(s.id::text, CASE
               WHEN s.channel_id IS NULL THEN jsonb_build_object('type', 'private', 'user_ids', (
                    SELECT to_jsonb(array_remove(g.user_ids, p_user_id)) FROM dm_groups g
                     WHERE g.realm_id = p_realm_id AND g.dm_group_id = s.conversation_id))
               ELSE jsonb_build_object('type', 'stream', 'stream_id', s.channel_id, 'topic', (
                    SELECT t.name FROM topics t
                     WHERE t.realm_id = p_realm_id AND t.topic_id = s.conversation_id))
               END || CASE WHEN counts_as_mention(p_realm_id, p_user_id, s.channel_id, s.conversation_id,
                                                  s.flags, s.traits, s.received)
                           THEN '{"mentioned": true}'::jsonb ELSE '{}'::jsonb END)
           FILTER (WHERE s.subscribed AND NOT s.unread)
      INTO r_changed, v_not_received, r_ignored_channel_ids, v_details
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible;

    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, i, CASE WHEN i = ANY (v_not_received) THEN 33 ELSE 1 END
      FROM unnest(r_changed) AS i
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    PERFORM append_flag_entries(p_realm_id, 'remove', 'read', r_changed, p_audience, p_write_id,
                                false, v_details, p_empty_topic_name);
END $$;

CREATE FUNCTION public.mentions_since(p_realm_id bigint, p_user_id bigint, p_since bigint) RETURNS TABLE(id bigint, by_name boolean)
    LANGUAGE sql STABLE
    AS $$
    SELECT f.message_id, f.flags & 8 <> 0
      FROM message_flags f
     WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.message_id >= p_since
       AND f.flags & 72 <> 0
    UNION
    SELECT m.id, false
      FROM subscriptions s
     CROSS JOIN LATERAL (
           SELECT m.id FROM messages m
            WHERE m.realm_id = p_realm_id AND m.origin_channel_id = s.channel_id
              AND m.traits & 2 <> 0 AND m.id >= p_since) m
     WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.spans @> m.id
    UNION
    SELECT m.id, false
      FROM messages m
      JOIN dm_group_members g ON g.realm_id = p_realm_id AND g.user_id = p_user_id
           AND g.dm_group_id = m.conversation_id
     WHERE m.realm_id = p_realm_id AND m.origin_channel_id IS NULL AND m.traits & 2 <> 0
       AND m.id >= p_since
$$;

CREATE FUNCTION public.message_rows(p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_rendered boolean) RETURNS TABLE(id bigint, sender_id bigint, channel_id bigint, conversation_id bigint, topic text, user_ids bigint[], sent_at bigint, edited_at bigint, traits integer, client text, content text, edit_history jsonb, reactions text, submessages text, flag_bits integer, received boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_role smallint := (SELECT x.role FROM users x
                         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
    v_mutes boolean := EXISTS (SELECT FROM muted_users x
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
    -- One look-up each: a plan made while the table was empty must not scan a full one.
    v_reacted bigint[] := ARRAY(
        SELECT i FROM unnest(p_ids) AS i
         CROSS JOIN LATERAL (
               SELECT FROM reactions x
                WHERE x.realm_id = p_realm_id AND x.message_id = i LIMIT 1) x);
    v_built_on bigint[] := CASE WHEN EXISTS (
        SELECT FROM submessages x
         WHERE x.realm_id = p_realm_id AND x.message_id >= (SELECT min(i) FROM unnest(p_ids) AS i)
           AND x.message_id <= (SELECT max(i) FROM unnest(p_ids) AS i)) THEN ARRAY(
        SELECT i FROM unnest(p_ids) AS i
         CROSS JOIN LATERAL (
               SELECT FROM submessages x
                WHERE x.realm_id = p_realm_id AND x.message_id = i LIMIT 1) x) ELSE '{}' END;
BEGIN
    RETURN QUERY
    WITH looked_at AS MATERIALIZED (
        SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits, x.entered_at,
               coalesce(x.channel_id, 0) AS place, coalesce(x.origin_channel_id, 0) AS origin,
               x.sent_at, x.edited_at, x.client, x.edit_history, x.renames_before,
               CASE WHEN p_rendered THEN x.rendered_content ELSE x.content END AS content
          FROM messages x
         WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids)
    ), flagged AS MATERIALIZED (
        SELECT x.message_id AS id, x.flags FROM message_flags x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.message_id = ANY (p_ids)
    ), places AS MATERIALIZED (
        SELECT w.place, w.origin, there.spans, here.spans AS spans_here,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(p_user_id, v_role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.channel_id = w.origin) AS read
          FROM (SELECT DISTINCT l.place, l.origin FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active, there.spans WHERE w.place = w.origin
               UNION ALL
               SELECT x.active, x.spans + '{}'::int8multirange FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), conversations AS MATERIALIZED (
        SELECT w.*,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.conversation_id = w.origin_conversation_id) AS read,
               t.name, t.renames, CASE WHEN w.place = 0 THEN (
                    SELECT x.user_ids FROM dm_groups x
                     WHERE x.realm_id = p_realm_id
                       AND x.dm_group_id = w.conversation_id) END AS user_ids
          FROM (SELECT DISTINCT l.place, l.origin_conversation_id, l.conversation_id FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.name, x.renames FROM topics x
                WHERE w.place <> 0
                  AND x.realm_id = p_realm_id AND x.topic_id = w.conversation_id LIMIT 1) t ON true
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(c.is_in_group, g.spans @> l.id, false) AS received,
               coalesce(g.spans_here @> l.entered_at, false) AS was_here,
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)
               OR (l.traits & 128 <> 0 AND NOT notices_unread(p_realm_id, p_user_id) @> l.id)
               OR coalesce(g.read @> l.id, false)
               OR coalesce(c.read @> l.id, false)
               OR (v_mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen, c.name, c.renames, c.user_ids
          FROM looked_at l
          JOIN places g ON g.place = l.place AND g.origin = l.origin
          JOIN conversations c ON c.place = l.place
               AND c.origin_conversation_id = l.origin_conversation_id AND c.conversation_id = l.conversation_id
          LEFT JOIN flagged f ON f.id = l.id
        OFFSET 0
    )
    SELECT a.id, a.sender_id, nullif(a.place, 0), a.conversation_id, a.name, a.user_ids,
           floor(date_part('epoch', a.sent_at))::bigint,
           floor(date_part('epoch', a.edited_at))::bigint, a.traits, a.client, a.content,
           CASE WHEN a.renames IS NULL THEN a.edit_history
                ELSE whole_history(a.id, a.renames_before, a.edit_history, a.renames) END,
           CASE WHEN a.id = ANY (v_reacted) THEN (
                SELECT json_agg(json_build_object(
                           'user_id', x.user_id, 'reaction_type', x.reaction_type,
                           'emoji_code', x.emoji_code, 'emoji_name', x.emoji_name)
                           ORDER BY x.position)::text
                  FROM reactions x WHERE x.realm_id = p_realm_id AND x.message_id = a.id) END,
           CASE WHEN a.id = ANY (v_built_on) THEN (
                SELECT json_agg(json_build_object(
                           'id', x.id, 'message_id', x.message_id, 'sender_id', x.sender_id,
                           'msg_type', x.msg_type, 'content', x.content) ORDER BY x.id)::text
                  FROM submessages x WHERE x.realm_id = p_realm_id AND x.message_id = a.id) END,
           a.flags, a.received,
           a.flags & 1 <> 0 OR (a.received AND NOT a.seen)
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND (j.received OR j.was_here)), false)
                        END AS accessible
              FROM judged j OFFSET 0) a
     WHERE a.accessible
     ORDER BY a.id;
END $$;

CREATE FUNCTION public.message_states(p_realm_id bigint, p_user_id bigint, p_ids bigint[]) RETURNS TABLE(id bigint, sender_id bigint, channel_id bigint, conversation_id bigint, origin_channel_id bigint, origin_conversation_id bigint, traits integer, flags integer, subscribed boolean, received boolean, seen boolean, accessible boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_role smallint := (SELECT x.role FROM users x
                         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
    v_mutes boolean := EXISTS (SELECT FROM muted_users x
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
BEGIN
    RETURN QUERY
    WITH looked_at AS MATERIALIZED (
        SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits, x.entered_at,
               coalesce(x.channel_id, 0) AS place, coalesce(x.origin_channel_id, 0) AS origin
          FROM messages x
         WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids)
    ), flagged AS MATERIALIZED (
        SELECT x.message_id AS id, x.flags FROM message_flags x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.message_id = ANY (p_ids)
    ), places AS MATERIALIZED (
        SELECT w.place, w.origin, there.spans, here.spans AS spans_here,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(p_user_id, v_role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.channel_id = w.origin) AS read
          FROM (SELECT DISTINCT l.place, l.origin FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active, there.spans WHERE w.place = w.origin
               UNION ALL
               SELECT x.active, x.spans + '{}'::int8multirange FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), conversations AS MATERIALIZED (
        SELECT w.*,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                   AND x.conversation_id = w.origin_conversation_id) AS read
          FROM (SELECT DISTINCT l.place, l.origin_conversation_id FROM looked_at l) w
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(c.is_in_group, g.spans @> l.id, false) AS received,
               coalesce(g.spans_here @> l.entered_at, false) AS was_here,
               (l.traits & 1 <> 0 AND l.sender_id = p_user_id)
               OR (l.traits & 128 <> 0 AND NOT notices_unread(p_realm_id, p_user_id) @> l.id)
               OR coalesce(g.read @> l.id, false)
               OR coalesce(c.read @> l.id, false)
               OR (v_mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen
          FROM looked_at l
          JOIN places g ON g.place = l.place AND g.origin = l.origin
          JOIN conversations c ON c.place = l.place
               AND c.origin_conversation_id = l.origin_conversation_id
          LEFT JOIN flagged f ON f.id = l.id
        OFFSET 0
    )
    SELECT a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & 1 <> 0 OR (a.received AND NOT a.seen))
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND (j.received OR j.was_here)), false)
                        END AS accessible
              FROM judged j OFFSET 0) a;
END $$;

CREATE FUNCTION public.message_stretches(p_realm_id bigint) RETURNS TABLE(first_id bigint, last_id bigint, is_imported boolean)
    LANGUAGE sql STABLE
    AS $$
    SELECT r.first_id, r.last_id, true FROM imported_ranges r WHERE r.realm_id = p_realm_id
    UNION ALL
    SELECT s.first_id, s.last_id, false
      FROM (SELECT b.after + 1 AS first_id,
                   coalesce(lead(b.before) OVER (ORDER BY b.after) - 1, 9223372036854775806) AS last_id
              FROM (SELECT 0 AS after, 0 AS before
                    UNION ALL
                    SELECT r.last_id, r.first_id FROM imported_ranges r
                     WHERE r.realm_id = p_realm_id) b) s
     WHERE s.first_id <= s.last_id
$$;

CREATE FUNCTION public.move_user_topics(p_realm_id bigint, p_from bigint, p_to bigint, p_was_empty boolean, p_losers bigint[], p_now timestamp with time zone, p_from_body jsonb, p_to_body jsonb, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.mute_user(p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_muted_at timestamp with time zone, p_limit bigint, p_audience bytea, p_write_id uuid) RETURNS boolean
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

CREATE FUNCTION public.muted_topics_of(p_realm_id bigint, p_user_id bigint) RETURNS TABLE(channel_name text, topic text, muted_at bigint)
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

CREATE FUNCTION public.name_folding(p_name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
DECLARE
    v_name text := lower(p_name COLLATE "C");
BEGIN
    IF octet_length(v_name) = length(v_name) THEN RETURN v_name; END IF;
    -- Each range of letters is replaced only if the name has one of them.
    v_name := lower(normalize(p_name, NFD) COLLATE "C");
    IF v_name ~ '[\u00B5-\u024E]' THEN
        v_name := translate(
            v_name,
            U&'\00B5\00C6\00D0\00D8\00DE\0110\0126\0132\013F\0141\014A\0152\0166\017F\0181\0182\0184'
              '\0186\0187\0189\018A\018B\018E\018F\0190\0191\0193\0194\0196\0197\0198\019C\019D\019F'
              '\01A2\01A4\01A6\01A7\01A9\01AC\01AE\01B1\01B2\01B3\01B5\01B7\01B8\01BC\01C4\01C5\01C7'
              '\01C8\01CA\01CB\01E4\01F1\01F2\01F6\01F7\021C\0220\0222\0224\023A\023B\023D\023E\0241'
              '\0243\0244\0245\0246\0248\024A\024C\024E',
            U&'\03BC\00E6\00F0\00F8\00FE\0111\0127\0133\0140\0142\014B\0153\0167s\0253\0183\0185\0254'
              '\0188\0256\0257\018C\01DD\0259\025B\0192\0260\0263\0269\0268\0199\026F\0272\0275\01A3'
              '\01A5\0280\01A8\0283\01AD\0288\028A\028B\01B4\01B6\0292\01B9\01BD\01C6\01C6\01C9\01C9'
              '\01CC\01CC\01E5\01F3\01F3\0195\01BF\021D\019E\0223\0225\2C65\023C\019A\2C66\0242\0180'
              '\0289\028C\0247\0249\024B\024D\024F');
        v_name := replace(v_name, U&'\00DF', U&'ss');
        v_name := replace(v_name, U&'\0149', U&'\02BCn');
    END IF;
    IF v_name ~ '[\u0345-\u03FF]' THEN
        v_name := translate(
            v_name,
            U&'\0345\0370\0372\0376\037F\0391\0392\0393\0394\0395\0396\0397\0398\0399\039A\039B\039C'
              '\039D\039E\039F\03A0\03A1\03A3\03A4\03A5\03A6\03A7\03A8\03A9\03C2\03CF\03D0\03D1\03D5'
              '\03D6\03D8\03DA\03DC\03DE\03E0\03E2\03E4\03E6\03E8\03EA\03EC\03EE\03F0\03F1\03F4\03F5'
              '\03F7\03F9\03FA\03FD\03FE\03FF',
            U&'\03B9\0371\0373\0377\03F3\03B1\03B2\03B3\03B4\03B5\03B6\03B7\03B8\03B9\03BA\03BB\03BC'
              '\03BD\03BE\03BF\03C0\03C1\03C3\03C4\03C5\03C6\03C7\03C8\03C9\03C3\03D7\03B2\03B8\03C6'
              '\03C0\03D9\03DB\03DD\03DF\03E1\03E3\03E5\03E7\03E9\03EB\03ED\03EF\03BA\03C1\03B8\03B5'
              '\03F8\03F2\03FB\037B\037C\037D');
    END IF;
    IF v_name ~ '[\u0402-\u052E]' THEN
        v_name := translate(
            v_name,
            U&'\0402\0404\0405\0406\0408\0409\040A\040B\040F\0410\0411\0412\0413\0414\0415\0416\0417'
              '\0418\041A\041B\041C\041D\041E\041F\0420\0421\0422\0423\0424\0425\0426\0427\0428\0429'
              '\042A\042B\042C\042D\042E\042F\0460\0462\0464\0466\0468\046A\046C\046E\0470\0472\0474'
              '\0478\047A\047C\047E\0480\048A\048C\048E\0490\0492\0494\0496\0498\049A\049C\049E\04A0'
              '\04A2\04A4\04A6\04A8\04AA\04AC\04AE\04B0\04B2\04B4\04B6\04B8\04BA\04BC\04BE\04C0\04C3'
              '\04C5\04C7\04C9\04CB\04CD\04D4\04D8\04E0\04E8\04F6\04FA\04FC\04FE\0500\0502\0504\0506'
              '\0508\050A\050C\050E\0510\0512\0514\0516\0518\051A\051C\051E\0520\0522\0524\0526\0528'
              '\052A\052C\052E',
            U&'\0452\0454\0455\0456\0458\0459\045A\045B\045F\0430\0431\0432\0433\0434\0435\0436\0437'
              '\0438\043A\043B\043C\043D\043E\043F\0440\0441\0442\0443\0444\0445\0446\0447\0448\0449'
              '\044A\044B\044C\044D\044E\044F\0461\0463\0465\0467\0469\046B\046D\046F\0471\0473\0475'
              '\0479\047B\047D\047F\0481\048B\048D\048F\0491\0493\0495\0497\0499\049B\049D\049F\04A1'
              '\04A3\04A5\04A7\04A9\04AB\04AD\04AF\04B1\04B3\04B5\04B7\04B9\04BB\04BD\04BF\04CF\04C4'
              '\04C6\04C8\04CA\04CC\04CE\04D5\04D9\04E1\04E9\04F7\04FB\04FD\04FF\0501\0503\0505\0507'
              '\0509\050B\050D\050F\0511\0513\0515\0517\0519\051B\051D\051F\0521\0523\0525\0527\0529'
              '\052B\052D\052F');
    END IF;
    IF v_name ~ '[\u0531-\u0587]' THEN
        v_name := translate(
            v_name,
            U&'\0531\0532\0533\0534\0535\0536\0537\0538\0539\053A\053B\053C\053D\053E\053F\0540\0541'
              '\0542\0543\0544\0545\0546\0547\0548\0549\054A\054B\054C\054D\054E\054F\0550\0551\0552'
              '\0553\0554\0555\0556',
            U&'\0561\0562\0563\0564\0565\0566\0567\0568\0569\056A\056B\056C\056D\056E\056F\0570\0571'
              '\0572\0573\0574\0575\0576\0577\0578\0579\057A\057B\057C\057D\057E\057F\0580\0581\0582'
              '\0583\0584\0585\0586');
        v_name := replace(v_name, U&'\0587', U&'\0565\0582');
    END IF;
    IF v_name ~ '[\u10A0-\u10CD]' THEN
        v_name := translate(
            v_name,
            U&'\10A0\10A1\10A2\10A3\10A4\10A5\10A6\10A7\10A8\10A9\10AA\10AB\10AC\10AD\10AE\10AF\10B0'
              '\10B1\10B2\10B3\10B4\10B5\10B6\10B7\10B8\10B9\10BA\10BB\10BC\10BD\10BE\10BF\10C0\10C1'
              '\10C2\10C3\10C4\10C5\10C7\10CD',
            U&'\2D00\2D01\2D02\2D03\2D04\2D05\2D06\2D07\2D08\2D09\2D0A\2D0B\2D0C\2D0D\2D0E\2D0F\2D10'
              '\2D11\2D12\2D13\2D14\2D15\2D16\2D17\2D18\2D19\2D1A\2D1B\2D1C\2D1D\2D1E\2D1F\2D20\2D21'
              '\2D22\2D23\2D24\2D25\2D27\2D2D');
    END IF;
    IF v_name ~ '[\u13F8-\u1CBF]' THEN
        v_name := translate(
            v_name,
            U&'\13F8\13F9\13FA\13FB\13FC\13FD\1C80\1C81\1C82\1C83\1C84\1C85\1C86\1C87\1C88\1C90\1C91'
              '\1C92\1C93\1C94\1C95\1C96\1C97\1C98\1C99\1C9A\1C9B\1C9C\1C9D\1C9E\1C9F\1CA0\1CA1\1CA2'
              '\1CA3\1CA4\1CA5\1CA6\1CA7\1CA8\1CA9\1CAA\1CAB\1CAC\1CAD\1CAE\1CAF\1CB0\1CB1\1CB2\1CB3'
              '\1CB4\1CB5\1CB6\1CB7\1CB8\1CB9\1CBA\1CBD\1CBE\1CBF',
            U&'\13F0\13F1\13F2\13F3\13F4\13F5\0432\0434\043E\0441\0442\0442\044A\0463\A64B\10D0\10D1'
              '\10D2\10D3\10D4\10D5\10D6\10D7\10D8\10D9\10DA\10DB\10DC\10DD\10DE\10DF\10E0\10E1\10E2'
              '\10E3\10E4\10E5\10E6\10E7\10E8\10E9\10EA\10EB\10EC\10ED\10EE\10EF\10F0\10F1\10F2\10F3'
              '\10F4\10F5\10F6\10F7\10F8\10F9\10FA\10FD\10FE\10FF');
    END IF;
    IF v_name ~ '[\u1E9A-\u1EFE]' THEN
        v_name := translate(
            v_name,
            U&'\1EFA\1EFC\1EFE',
            U&'\1EFB\1EFD\1EFF');
        v_name := replace(v_name, U&'\1E9A', U&'a\02BE');
        v_name := replace(v_name, U&'\1E9E', U&'ss');
    END IF;
    IF v_name ~ '[\u2132-\u24CF]' THEN
        v_name := translate(
            v_name,
            U&'\2132\2160\2161\2162\2163\2164\2165\2166\2167\2168\2169\216A\216B\216C\216D\216E\216F'
              '\2183\24B6\24B7\24B8\24B9\24BA\24BB\24BC\24BD\24BE\24BF\24C0\24C1\24C2\24C3\24C4\24C5'
              '\24C6\24C7\24C8\24C9\24CA\24CB\24CC\24CD\24CE\24CF',
            U&'\214E\2170\2171\2172\2173\2174\2175\2176\2177\2178\2179\217A\217B\217C\217D\217E\217F'
              '\2184\24D0\24D1\24D2\24D3\24D4\24D5\24D6\24D7\24D8\24D9\24DA\24DB\24DC\24DD\24DE\24DF'
              '\24E0\24E1\24E2\24E3\24E4\24E5\24E6\24E7\24E8\24E9');
    END IF;
    IF v_name ~ '[\u2C00-\u2CF2]' THEN
        v_name := translate(
            v_name,
            U&'\2C00\2C01\2C02\2C03\2C04\2C05\2C06\2C07\2C08\2C09\2C0A\2C0B\2C0C\2C0D\2C0E\2C0F\2C10'
              '\2C11\2C12\2C13\2C14\2C15\2C16\2C17\2C18\2C19\2C1A\2C1B\2C1C\2C1D\2C1E\2C1F\2C20\2C21'
              '\2C22\2C23\2C24\2C25\2C26\2C27\2C28\2C29\2C2A\2C2B\2C2C\2C2D\2C2E\2C2F\2C60\2C62\2C63'
              '\2C64\2C67\2C69\2C6B\2C6D\2C6E\2C6F\2C70\2C72\2C75\2C7E\2C7F\2C80\2C82\2C84\2C86\2C88'
              '\2C8A\2C8C\2C8E\2C90\2C92\2C94\2C96\2C98\2C9A\2C9C\2C9E\2CA0\2CA2\2CA4\2CA6\2CA8\2CAA'
              '\2CAC\2CAE\2CB0\2CB2\2CB4\2CB6\2CB8\2CBA\2CBC\2CBE\2CC0\2CC2\2CC4\2CC6\2CC8\2CCA\2CCC'
              '\2CCE\2CD0\2CD2\2CD4\2CD6\2CD8\2CDA\2CDC\2CDE\2CE0\2CE2\2CEB\2CED\2CF2',
            U&'\2C30\2C31\2C32\2C33\2C34\2C35\2C36\2C37\2C38\2C39\2C3A\2C3B\2C3C\2C3D\2C3E\2C3F\2C40'
              '\2C41\2C42\2C43\2C44\2C45\2C46\2C47\2C48\2C49\2C4A\2C4B\2C4C\2C4D\2C4E\2C4F\2C50\2C51'
              '\2C52\2C53\2C54\2C55\2C56\2C57\2C58\2C59\2C5A\2C5B\2C5C\2C5D\2C5E\2C5F\2C61\026B\1D7D'
              '\027D\2C68\2C6A\2C6C\0251\0271\0250\0252\2C73\2C76\023F\0240\2C81\2C83\2C85\2C87\2C89'
              '\2C8B\2C8D\2C8F\2C91\2C93\2C95\2C97\2C99\2C9B\2C9D\2C9F\2CA1\2CA3\2CA5\2CA7\2CA9\2CAB'
              '\2CAD\2CAF\2CB1\2CB3\2CB5\2CB7\2CB9\2CBB\2CBD\2CBF\2CC1\2CC3\2CC5\2CC7\2CC9\2CCB\2CCD'
              '\2CCF\2CD1\2CD3\2CD5\2CD7\2CD9\2CDB\2CDD\2CDF\2CE1\2CE3\2CEC\2CEE\2CF3');
    END IF;
    IF v_name ~ '[\uA640-\uA7F5]' THEN
        v_name := translate(
            v_name,
            U&'\A640\A642\A644\A646\A648\A64A\A64C\A64E\A650\A652\A654\A656\A658\A65A\A65C\A65E\A660'
              '\A662\A664\A666\A668\A66A\A66C\A680\A682\A684\A686\A688\A68A\A68C\A68E\A690\A692\A694'
              '\A696\A698\A69A\A722\A724\A726\A728\A72A\A72C\A72E\A732\A734\A736\A738\A73A\A73C\A73E'
              '\A740\A742\A744\A746\A748\A74A\A74C\A74E\A750\A752\A754\A756\A758\A75A\A75C\A75E\A760'
              '\A762\A764\A766\A768\A76A\A76C\A76E\A779\A77B\A77D\A77E\A780\A782\A784\A786\A78B\A78D'
              '\A790\A792\A796\A798\A79A\A79C\A79E\A7A0\A7A2\A7A4\A7A6\A7A8\A7AA\A7AB\A7AC\A7AD\A7AE'
              '\A7B0\A7B1\A7B2\A7B3\A7B4\A7B6\A7B8\A7BA\A7BC\A7BE\A7C0\A7C2\A7C4\A7C5\A7C6\A7C7\A7C9'
              '\A7D0\A7D6\A7D8\A7F5',
            U&'\A641\A643\A645\A647\A649\A64B\A64D\A64F\A651\A653\A655\A657\A659\A65B\A65D\A65F\A661'
              '\A663\A665\A667\A669\A66B\A66D\A681\A683\A685\A687\A689\A68B\A68D\A68F\A691\A693\A695'
              '\A697\A699\A69B\A723\A725\A727\A729\A72B\A72D\A72F\A733\A735\A737\A739\A73B\A73D\A73F'
              '\A741\A743\A745\A747\A749\A74B\A74D\A74F\A751\A753\A755\A757\A759\A75B\A75D\A75F\A761'
              '\A763\A765\A767\A769\A76B\A76D\A76F\A77A\A77C\1D79\A77F\A781\A783\A785\A787\A78C\0265'
              '\A791\A793\A797\A799\A79B\A79D\A79F\A7A1\A7A3\A7A5\A7A7\A7A9\0266\025C\0261\026C\026A'
              '\029E\0287\029D\AB53\A7B5\A7B7\A7B9\A7BB\A7BD\A7BF\A7C1\A7C3\A794\0282\1D8E\A7C8\A7CA'
              '\A7D1\A7D7\A7D9\A7F6');
    END IF;
    IF v_name ~ '[\uAB70-\uABBF]' THEN
        v_name := translate(
            v_name,
            U&'\AB70\AB71\AB72\AB73\AB74\AB75\AB76\AB77\AB78\AB79\AB7A\AB7B\AB7C\AB7D\AB7E\AB7F\AB80'
              '\AB81\AB82\AB83\AB84\AB85\AB86\AB87\AB88\AB89\AB8A\AB8B\AB8C\AB8D\AB8E\AB8F\AB90\AB91'
              '\AB92\AB93\AB94\AB95\AB96\AB97\AB98\AB99\AB9A\AB9B\AB9C\AB9D\AB9E\AB9F\ABA0\ABA1\ABA2'
              '\ABA3\ABA4\ABA5\ABA6\ABA7\ABA8\ABA9\ABAA\ABAB\ABAC\ABAD\ABAE\ABAF\ABB0\ABB1\ABB2\ABB3'
              '\ABB4\ABB5\ABB6\ABB7\ABB8\ABB9\ABBA\ABBB\ABBC\ABBD\ABBE\ABBF',
            U&'\13A0\13A1\13A2\13A3\13A4\13A5\13A6\13A7\13A8\13A9\13AA\13AB\13AC\13AD\13AE\13AF\13B0'
              '\13B1\13B2\13B3\13B4\13B5\13B6\13B7\13B8\13B9\13BA\13BB\13BC\13BD\13BE\13BF\13C0\13C1'
              '\13C2\13C3\13C4\13C5\13C6\13C7\13C8\13C9\13CA\13CB\13CC\13CD\13CE\13CF\13D0\13D1\13D2'
              '\13D3\13D4\13D5\13D6\13D7\13D8\13D9\13DA\13DB\13DC\13DD\13DE\13DF\13E0\13E1\13E2\13E3'
              '\13E4\13E5\13E6\13E7\13E8\13E9\13EA\13EB\13EC\13ED\13EE\13EF');
    END IF;
    IF v_name ~ '[\uFB00-\uFB17]' THEN
        v_name := replace(v_name, U&'\FB00', U&'ff');
        v_name := replace(v_name, U&'\FB01', U&'fi');
        v_name := replace(v_name, U&'\FB02', U&'fl');
        v_name := replace(v_name, U&'\FB03', U&'ffi');
        v_name := replace(v_name, U&'\FB04', U&'ffl');
        v_name := replace(v_name, U&'\FB05', U&'st');
        v_name := replace(v_name, U&'\FB06', U&'st');
        v_name := replace(v_name, U&'\FB13', U&'\0574\0576');
        v_name := replace(v_name, U&'\FB14', U&'\0574\0565');
        v_name := replace(v_name, U&'\FB15', U&'\0574\056B');
        v_name := replace(v_name, U&'\FB16', U&'\057E\0576');
        v_name := replace(v_name, U&'\FB17', U&'\0574\056D');
    END IF;
    IF v_name ~ '[\uFF21-\uFF3A]' THEN
        v_name := translate(
            v_name,
            U&'\FF21\FF22\FF23\FF24\FF25\FF26\FF27\FF28\FF29\FF2A\FF2B\FF2C\FF2D\FF2E\FF2F\FF30\FF31'
              '\FF32\FF33\FF34\FF35\FF36\FF37\FF38\FF39\FF3A',
            U&'\FF41\FF42\FF43\FF44\FF45\FF46\FF47\FF48\FF49\FF4A\FF4B\FF4C\FF4D\FF4E\FF4F\FF50\FF51'
              '\FF52\FF53\FF54\FF55\FF56\FF57\FF58\FF59\FF5A');
    END IF;
    IF v_name ~ '[\U00010400-\U00010595]' THEN
        v_name := translate(
            v_name,
            U&'\+010400\+010401\+010402\+010403\+010404\+010405\+010406\+010407\+010408\+010409\+01040A'
              '\+01040B\+01040C\+01040D\+01040E\+01040F\+010410\+010411\+010412\+010413\+010414\+010415'
              '\+010416\+010417\+010418\+010419\+01041A\+01041B\+01041C\+01041D\+01041E\+01041F\+010420'
              '\+010421\+010422\+010423\+010424\+010425\+010426\+010427\+0104B0\+0104B1\+0104B2\+0104B3'
              '\+0104B4\+0104B5\+0104B6\+0104B7\+0104B8\+0104B9\+0104BA\+0104BB\+0104BC\+0104BD\+0104BE'
              '\+0104BF\+0104C0\+0104C1\+0104C2\+0104C3\+0104C4\+0104C5\+0104C6\+0104C7\+0104C8\+0104C9'
              '\+0104CA\+0104CB\+0104CC\+0104CD\+0104CE\+0104CF\+0104D0\+0104D1\+0104D2\+0104D3\+010570'
              '\+010571\+010572\+010573\+010574\+010575\+010576\+010577\+010578\+010579\+01057A\+01057C'
              '\+01057D\+01057E\+01057F\+010580\+010581\+010582\+010583\+010584\+010585\+010586\+010587'
              '\+010588\+010589\+01058A\+01058C\+01058D\+01058E\+01058F\+010590\+010591\+010592\+010594'
              '\+010595',
            U&'\+010428\+010429\+01042A\+01042B\+01042C\+01042D\+01042E\+01042F\+010430\+010431\+010432'
              '\+010433\+010434\+010435\+010436\+010437\+010438\+010439\+01043A\+01043B\+01043C\+01043D'
              '\+01043E\+01043F\+010440\+010441\+010442\+010443\+010444\+010445\+010446\+010447\+010448'
              '\+010449\+01044A\+01044B\+01044C\+01044D\+01044E\+01044F\+0104D8\+0104D9\+0104DA\+0104DB'
              '\+0104DC\+0104DD\+0104DE\+0104DF\+0104E0\+0104E1\+0104E2\+0104E3\+0104E4\+0104E5\+0104E6'
              '\+0104E7\+0104E8\+0104E9\+0104EA\+0104EB\+0104EC\+0104ED\+0104EE\+0104EF\+0104F0\+0104F1'
              '\+0104F2\+0104F3\+0104F4\+0104F5\+0104F6\+0104F7\+0104F8\+0104F9\+0104FA\+0104FB\+010597'
              '\+010598\+010599\+01059A\+01059B\+01059C\+01059D\+01059E\+01059F\+0105A0\+0105A1\+0105A3'
              '\+0105A4\+0105A5\+0105A6\+0105A7\+0105A8\+0105A9\+0105AA\+0105AB\+0105AC\+0105AD\+0105AE'
              '\+0105AF\+0105B0\+0105B1\+0105B3\+0105B4\+0105B5\+0105B6\+0105B7\+0105B8\+0105B9\+0105BB'
              '\+0105BC');
    END IF;
    IF v_name ~ '[\U00010C80-\U00010CB2]' THEN
        v_name := translate(
            v_name,
            U&'\+010C80\+010C81\+010C82\+010C83\+010C84\+010C85\+010C86\+010C87\+010C88\+010C89\+010C8A'
              '\+010C8B\+010C8C\+010C8D\+010C8E\+010C8F\+010C90\+010C91\+010C92\+010C93\+010C94\+010C95'
              '\+010C96\+010C97\+010C98\+010C99\+010C9A\+010C9B\+010C9C\+010C9D\+010C9E\+010C9F\+010CA0'
              '\+010CA1\+010CA2\+010CA3\+010CA4\+010CA5\+010CA6\+010CA7\+010CA8\+010CA9\+010CAA\+010CAB'
              '\+010CAC\+010CAD\+010CAE\+010CAF\+010CB0\+010CB1\+010CB2',
            U&'\+010CC0\+010CC1\+010CC2\+010CC3\+010CC4\+010CC5\+010CC6\+010CC7\+010CC8\+010CC9\+010CCA'
              '\+010CCB\+010CCC\+010CCD\+010CCE\+010CCF\+010CD0\+010CD1\+010CD2\+010CD3\+010CD4\+010CD5'
              '\+010CD6\+010CD7\+010CD8\+010CD9\+010CDA\+010CDB\+010CDC\+010CDD\+010CDE\+010CDF\+010CE0'
              '\+010CE1\+010CE2\+010CE3\+010CE4\+010CE5\+010CE6\+010CE7\+010CE8\+010CE9\+010CEA\+010CEB'
              '\+010CEC\+010CED\+010CEE\+010CEF\+010CF0\+010CF1\+010CF2');
    END IF;
    IF v_name ~ '[\U000118A0-\U0001E921]' THEN
        v_name := translate(
            v_name,
            U&'\+0118A0\+0118A1\+0118A2\+0118A3\+0118A4\+0118A5\+0118A6\+0118A7\+0118A8\+0118A9\+0118AA'
              '\+0118AB\+0118AC\+0118AD\+0118AE\+0118AF\+0118B0\+0118B1\+0118B2\+0118B3\+0118B4\+0118B5'
              '\+0118B6\+0118B7\+0118B8\+0118B9\+0118BA\+0118BB\+0118BC\+0118BD\+0118BE\+0118BF\+016E40'
              '\+016E41\+016E42\+016E43\+016E44\+016E45\+016E46\+016E47\+016E48\+016E49\+016E4A\+016E4B'
              '\+016E4C\+016E4D\+016E4E\+016E4F\+016E50\+016E51\+016E52\+016E53\+016E54\+016E55\+016E56'
              '\+016E57\+016E58\+016E59\+016E5A\+016E5B\+016E5C\+016E5D\+016E5E\+016E5F\+01E900\+01E901'
              '\+01E902\+01E903\+01E904\+01E905\+01E906\+01E907\+01E908\+01E909\+01E90A\+01E90B\+01E90C'
              '\+01E90D\+01E90E\+01E90F\+01E910\+01E911\+01E912\+01E913\+01E914\+01E915\+01E916\+01E917'
              '\+01E918\+01E919\+01E91A\+01E91B\+01E91C\+01E91D\+01E91E\+01E91F\+01E920\+01E921',
            U&'\+0118C0\+0118C1\+0118C2\+0118C3\+0118C4\+0118C5\+0118C6\+0118C7\+0118C8\+0118C9\+0118CA'
              '\+0118CB\+0118CC\+0118CD\+0118CE\+0118CF\+0118D0\+0118D1\+0118D2\+0118D3\+0118D4\+0118D5'
              '\+0118D6\+0118D7\+0118D8\+0118D9\+0118DA\+0118DB\+0118DC\+0118DD\+0118DE\+0118DF\+016E60'
              '\+016E61\+016E62\+016E63\+016E64\+016E65\+016E66\+016E67\+016E68\+016E69\+016E6A\+016E6B'
              '\+016E6C\+016E6D\+016E6E\+016E6F\+016E70\+016E71\+016E72\+016E73\+016E74\+016E75\+016E76'
              '\+016E77\+016E78\+016E79\+016E7A\+016E7B\+016E7C\+016E7D\+016E7E\+016E7F\+01E922\+01E923'
              '\+01E924\+01E925\+01E926\+01E927\+01E928\+01E929\+01E92A\+01E92B\+01E92C\+01E92D\+01E92E'
              '\+01E92F\+01E930\+01E931\+01E932\+01E933\+01E934\+01E935\+01E936\+01E937\+01E938\+01E939'
              '\+01E93A\+01E93B\+01E93C\+01E93D\+01E93E\+01E93F\+01E940\+01E941\+01E942\+01E943');
    END IF;
    RETURN normalize(v_name, NFC);
END $$;

CREATE FUNCTION public.narrow_filter(p_realm_id bigint, p_user_id bigint, p_anywhere boolean, p_is_open boolean, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_terms jsonb, p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_sender bigint := (p_terms ->> 'sender')::bigint;
    v_traits integer := coalesce((p_terms ->> 'traits')::integer, 0);
    v_not_traits integer := coalesce((p_terms ->> 'not_traits')::integer, 0);
    v_reacted boolean := (p_terms ->> 'reacted')::boolean;
    v_direct boolean := (p_terms ->> 'direct')::boolean;
    v_among boolean := p_terms ? 'conversations';
    v_conversations bigint[] := ids_of(p_terms, 'conversations');
    v_not_conversations bigint[] := ids_of(p_terms, 'not_conversations');
    v_not_channels bigint[] := ids_of(p_terms, 'not_channels');
    v_not_senders bigint[] := ids_of(p_terms, 'not_senders');
    v_not_ids bigint[] := ids_of(p_terms, 'not_ids');
    v_not_mentioned bigint[] := ids_of(p_terms, 'not_mentioned');
    v_not_flags integer := coalesce((p_terms ->> 'not_flags')::integer, 0);
    v_not_wildcards boolean := v_not_flags & 8 <> 0;
    v_ids bigint[];
BEGIN
    v_ids := CASE WHEN p_anywhere AND v_sender IS NULL AND v_traits | v_not_traits = 0
                       AND v_reacted IS NULL AND v_direct IS NULL AND NOT v_among
                       AND v_not_conversations = '{}' AND v_not_channels = '{}'
                       AND v_not_senders = '{}' AND v_not_ids = '{}' AND v_not_mentioned = '{}'
    THEN p_ids ELSE ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
           AND (p_anywhere
                OR m.channel_id IN (SELECT unnest(p_channels))
                OR m.conversation_id IN (SELECT unnest(p_conversations))
                OR m.id IN (SELECT unnest(p_extra))
                OR ((m.channel_id = ANY (p_partial_channels)
                     OR m.conversation_id = ANY (p_partial_conversations))
                    AND ((SELECT s.spans @> m.id FROM subscriptions s
                          WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                            AND s.channel_id = m.origin_channel_id)
                    OR (m.entered_at IS NOT NULL AND (
                        SELECT s.spans @> m.entered_at FROM subscriptions s
                         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                           AND s.channel_id = m.channel_id)))))
           AND (v_sender IS NULL OR m.sender_id = v_sender)
           AND m.traits & v_traits = v_traits AND m.traits & v_not_traits = 0
           AND (v_direct IS NULL OR (m.channel_id IS NULL) = v_direct)
           AND (NOT v_among OR m.conversation_id IN (SELECT unnest(v_conversations)))
           AND m.conversation_id NOT IN (SELECT unnest(v_not_conversations))
           AND (m.channel_id IS NULL OR m.channel_id NOT IN (SELECT unnest(v_not_channels)))
           AND m.sender_id <> ALL (v_not_senders) AND m.id <> ALL (v_not_ids)
           AND (v_reacted IS NULL OR v_reacted = EXISTS (
                SELECT FROM reactions r
                 WHERE r.realm_id = p_realm_id AND r.message_id = m.id))
           AND NOT EXISTS (
               SELECT FROM unnest(v_not_mentioned) AS n(user_id)
                 JOIN message_flags f ON f.realm_id = p_realm_id AND f.user_id = n.user_id
                      AND f.message_id = m.id
                WHERE f.flags & 8 <> 0)) END;
    IF jsonb_typeof(p_terms -> 'search') = 'object' OR p_terms -> 'not_searches' <> '[]' THEN
        v_ids := search_filter(
            p_realm_id, v_ids, p_terms -> 'search', p_terms -> 'not_searches');
    END IF;
    IF p_is_open OR v_not_flags <> 0 THEN
        v_ids := ARRAY(
            SELECT s.id FROM message_states(p_realm_id, p_user_id, v_ids) s
             WHERE s.accessible AND s.flags & v_not_flags & ~1 = 0
               AND (v_not_flags & 1 = 0 OR NOT s.unread)
               AND NOT (v_not_wildcards AND s.received AND s.traits & 2 <> 0));
    END IF;
    RETURN v_ids;
END $$;

CREATE FUNCTION public.narrowed_after(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_is_open boolean, p_driver text, p_terms jsonb, p_ids bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_position bigint := (
        SELECT c.position FROM realm_clock c WHERE c.realm_id = p_realm_id
         ORDER BY c.position DESC LIMIT 1);
    v_edge bigint := least(p_edge, v_position + 1);
    c_few CONSTANT bigint := 2000;
    -- For all sources of a reader the index is as quick.
    v_walks_first CONSTANT boolean := p_driver = 'search' AND NOT p_is_open
                                      AND cardinality(p_channels) <= 3;
    v_driver text := CASE WHEN v_walks_first THEN 'history' ELSE p_driver END;
    v_size bigint := CASE WHEN v_walks_first THEN 200 ELSE greatest(2 * p_limit, 200) END;
    v_blocks bigint := 1;
    v_looked bigint := 0;
    v_is_small boolean := false;
    v_far bigint;
    v_start bigint;
    v_piece bigint[];
    v_found bigint[] := '{}';
BEGIN
    LOOP
        IF v_driver = 'search' THEN
            v_far := (((v_edge >> 13) + v_blocks) << 13) - 1;
            v_piece := ARRAY(
                SELECT i FROM unnest(search_window(p_realm_id, p_terms -> 'search', v_edge, least(v_far, v_position))) AS i
                 ORDER BY i ASC);
        ELSIF v_driver = 'history' THEN
            v_piece := coalesce(
                CASE WHEN cardinality(p_channels) > 3 AND v_size <= 1000 THEN walk_after(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_extra, v_edge, v_size) END,
                history_after(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, v_size));
        ELSE
            v_piece := driven_after(
                p_realm_id, p_channels || p_partial_channels,
                p_conversations || p_partial_conversations, p_extra, p_is_open, v_driver, p_terms,
                p_ids, v_edge, v_size);
        END IF;
        -- A block may have many matches: filter only as many as are needed.
        v_start := 1;
        WHILE v_start <= cardinality(v_piece) LOOP
            v_found := v_found || narrow_filter(
                p_realm_id, p_user_id, p_is_open OR v_driver = 'history', p_is_open, p_channels,
                p_partial_channels, p_conversations, p_partial_conversations, p_extra, p_terms,
                v_piece[v_start : v_start + v_size - 1]);
            v_start := v_start + v_size;
            EXIT WHEN cardinality(v_found) >= p_limit;
        END LOOP;
        EXIT WHEN cardinality(v_found) >= p_limit
            OR CASE v_driver WHEN 'search' THEN v_far >= v_position ELSE cardinality(v_piece) < v_size END;
        v_edge := CASE v_driver WHEN 'search' THEN v_far
                  ELSE (SELECT max(i) FROM unnest(v_piece) AS i) END + 1;
        v_looked := v_looked + cardinality(v_piece);
        IF v_walks_first AND v_driver = 'history' AND NOT v_is_small
                AND (v_looked >= c_few OR cardinality(v_found) * c_few < p_limit * v_looked) THEN
            -- With so few matches, walk only if the rest is short.
            v_is_small := cardinality(history_after(
                p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                p_partial_conversations, p_extra, v_edge, c_few)) < c_few;
            v_driver := CASE WHEN v_is_small THEN 'history' ELSE 'search' END;
            v_size := CASE WHEN v_is_small THEN c_few ELSE greatest(2 * p_limit, 200) END;
        ELSE
            v_blocks := CASE v_driver WHEN 'search' THEN least(256, v_blocks * CASE
                             -- The newest block may be nearly empty, unlike the others.
                             WHEN v_blocks > 1 AND 50 * cardinality(v_piece) < v_size THEN 16
                             ELSE 4 END) ELSE 1 END;
            v_size := least(4 * v_size, 10000);
        END IF;
    END LOOP;
    RETURN ARRAY(SELECT i FROM unnest(v_found) AS i ORDER BY i ASC LIMIT p_limit);
END $$;

CREATE FUNCTION public.narrowed_before(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_is_open boolean, p_driver text, p_terms jsonb, p_ids bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_position bigint := (
        SELECT c.position FROM realm_clock c WHERE c.realm_id = p_realm_id
         ORDER BY c.position DESC LIMIT 1);
    v_edge bigint := least(p_edge, v_position + 1);
    c_few CONSTANT bigint := 2000;
    -- For all sources of a reader the index is as quick.
    v_walks_first CONSTANT boolean := p_driver = 'search' AND NOT p_is_open
                                      AND cardinality(p_channels) <= 3;
    v_driver text := CASE WHEN v_walks_first THEN 'history' ELSE p_driver END;
    v_size bigint := CASE WHEN v_walks_first THEN 200 ELSE greatest(2 * p_limit, 200) END;
    v_blocks bigint := 1;
    v_looked bigint := 0;
    v_is_small boolean := false;
    v_far bigint;
    v_start bigint;
    v_piece bigint[];
    v_found bigint[] := '{}';
BEGIN
    LOOP
        IF v_driver = 'search' THEN
            v_far := greatest(0, ((v_edge >> 13) - v_blocks + 1) << 13);
            v_piece := ARRAY(
                SELECT i FROM unnest(search_window(p_realm_id, p_terms -> 'search', v_far, v_edge)) AS i
                 ORDER BY i DESC);
        ELSIF v_driver = 'history' THEN
            v_piece := coalesce(
                CASE WHEN cardinality(p_channels) > 3 AND v_size <= 1000 THEN walk_before(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_extra, v_edge, v_size) END,
                history_before(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, v_size));
        ELSE
            v_piece := driven_before(
                p_realm_id, p_channels || p_partial_channels,
                p_conversations || p_partial_conversations, p_extra, p_is_open, v_driver, p_terms,
                p_ids, v_edge, v_size);
        END IF;
        -- A block may have many matches: filter only as many as are needed.
        v_start := 1;
        WHILE v_start <= cardinality(v_piece) LOOP
            v_found := v_found || narrow_filter(
                p_realm_id, p_user_id, p_is_open OR v_driver = 'history', p_is_open, p_channels,
                p_partial_channels, p_conversations, p_partial_conversations, p_extra, p_terms,
                v_piece[v_start : v_start + v_size - 1]);
            v_start := v_start + v_size;
            EXIT WHEN cardinality(v_found) >= p_limit;
        END LOOP;
        EXIT WHEN cardinality(v_found) >= p_limit
            OR CASE v_driver WHEN 'search' THEN v_far = 0 ELSE cardinality(v_piece) < v_size END;
        v_edge := CASE v_driver WHEN 'search' THEN v_far
                  ELSE (SELECT min(i) FROM unnest(v_piece) AS i) END - 1;
        v_looked := v_looked + cardinality(v_piece);
        IF v_walks_first AND v_driver = 'history' AND NOT v_is_small
                AND (v_looked >= c_few OR cardinality(v_found) * c_few < p_limit * v_looked) THEN
            -- With so few matches, walk only if the rest is short.
            v_is_small := cardinality(history_before(
                p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                p_partial_conversations, p_extra, v_edge, c_few)) < c_few;
            v_driver := CASE WHEN v_is_small THEN 'history' ELSE 'search' END;
            v_size := CASE WHEN v_is_small THEN c_few ELSE greatest(2 * p_limit, 200) END;
        ELSE
            v_blocks := CASE v_driver WHEN 'search' THEN least(256, v_blocks * CASE
                             -- The newest block may be nearly empty, unlike the others.
                             WHEN v_blocks > 1 AND 50 * cardinality(v_piece) < v_size THEN 16
                             ELSE 4 END) ELSE 1 END;
            v_size := least(4 * v_size, 10000);
        END IF;
    END LOOP;
    RETURN ARRAY(SELECT i FROM unnest(v_found) AS i ORDER BY i DESC LIMIT p_limit);
END $$;

CREATE FUNCTION public.narrowed_page(p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[], p_conversation_ids bigint[], p_driver text, p_terms jsonb, p_ids bigint[], p_kinds text[], p_mentioned bigint[], p_unread_limit bigint, p_below bigint, p_before bigint, p_from bigint, p_after bigint) RETURNS bigint[]
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
    -- Few messages are walked, whatever the terms; a search begins that way anyway.
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

CREATE FUNCTION public.next_position() RETURNS bigint
    LANGUAGE sql
    AS $$ SELECT set_config('parley.position', (current_setting('parley.position')::bigint + 1)::text, true)::bigint $$;

CREATE FUNCTION public.note_stale_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM message_terms t WHERE t.realm_id = NEW.realm_id AND t.message_id = NEW.id;
    INSERT INTO search_stale (realm_id, message_id) VALUES (NEW.realm_id, NEW.id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

CREATE FUNCTION public.notices_read(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_from bigint, p_until bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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

CREATE FUNCTION public.notices_unread(p_realm_id bigint, p_user_id bigint) RETURNS int8multirange
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

CREATE FUNCTION public.own_among(p_realm_id bigint, p_user_id bigint, p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    -- For few messages look up their senders, for many the user's messages in the range.
    IF cardinality(p_ids) < 1000 THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
                        AND m.sender_id = p_user_id AND m.traits & 1 <> 0);
    END IF;
    RETURN ARRAY(SELECT m.id FROM messages m
                  WHERE m.realm_id = p_realm_id AND m.sender_id = p_user_id
                    AND m.id BETWEEN p_ids[1] AND p_ids[cardinality(p_ids)]
                    AND m.traits & 1 <> 0);
END $$;

CREATE FUNCTION public.pending_elsewhere(p_realm_id bigint, p_channel_ids bigint[], p_pending int8multirange[], p_from bigint, p_until bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT m.id
          FROM unnest(p_channel_ids, p_pending) AS o(channel_id, pending)
         CROSS JOIN LATERAL unnest(o.pending * int8range(p_from, p_until)::int8multirange) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.origin_channel_id = o.channel_id
                  AND m.conversation_id <> m.origin_conversation_id
                  AND m.id >= lower(p.span) AND m.id < upper(p.span) OFFSET 0) m);
END $$;

CREATE FUNCTION public.place_is_muted(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_id bigint) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    -- The topic's policy (1: muted, 2: unmuted, 3: followed) overrides its channel's muting.
    SELECT p_channel_id IS NOT NULL AND coalesce((
        SELECT t.visibility_policy = 1 FROM user_topics t
         WHERE t.realm_id = p_realm_id AND t.user_id = p_user_id AND t.topic_id = p_topic_id
           AND t.visibility_policy <> 0), (
        SELECT s.is_muted FROM subscriptions s
         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.channel_id = p_channel_id
           AND s.active), false)
$$;

CREATE FUNCTION public.predecessor(p_realm_id bigint, p_conversation_id bigint, p_id bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN greatest(0,
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversation_id AND m.id < p_id),
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.origin_conversation_id = p_conversation_id
            AND m.conversation_id <> m.origin_conversation_id AND m.id < p_id));
END $$;

CREATE FUNCTION public.presence_turn(p_realm_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_first bigint;
    v_update_id bigint;
BEGIN
    SELECT (c.epoch - 1) << 40 INTO v_first FROM clocks_now(ARRAY[p_realm_id]) AS c;
    INSERT INTO presence_clocks AS p (realm_id, last_update_id) VALUES (p_realm_id, v_first + 1)
    ON CONFLICT (realm_id) DO UPDATE SET last_update_id = greatest(p.last_update_id, v_first) + 1
    RETURNING p.last_update_id INTO v_update_id;
    RETURN v_update_id;
END $$;

CREATE FUNCTION public.protects_history(c public.channels) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT c.invite_only AND NOT c.is_web_public AND NOT c.history_public_to_subscribers
$$;

CREATE FUNCTION public.prune_conversation_read(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH covered AS MATERIALIZED (
        SELECT v.conversation_id, v.read - r.read AS left_over
          FROM conversation_read v
          JOIN channel_read r ON r.realm_id = p_realm_id AND r.user_id = p_user_id
               AND r.channel_id = coalesce((
                   SELECT t.channel_id FROM topics t
                    WHERE t.realm_id = p_realm_id AND t.topic_id = v.conversation_id), 0)
         WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id
           AND r.channel_id = ANY (p_channel_ids) AND v.read && r.read
    ), deleted AS (
        DELETE FROM conversation_read v USING covered c
         WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id
           AND v.conversation_id = c.conversation_id AND isempty(c.left_over)
    )
    UPDATE conversation_read v SET read = c.left_over FROM covered c
     WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id
       AND v.conversation_id = c.conversation_id AND NOT isempty(c.left_over);
END $$;

CREATE FUNCTION public.put_integration_message(p_realm_id bigint, p_bot_id bigint, p_about bytea, p_message_id bigint, p_is_open boolean, p_delivery bytea, p_changed_at timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$
    INSERT INTO integration_messages AS m
           (realm_id, bot_id, about, message_id, is_open, delivery, changed_at)
    VALUES (p_realm_id, p_bot_id, p_about, p_message_id, p_is_open, p_delivery, p_changed_at)
        ON CONFLICT (realm_id, bot_id, about) DO UPDATE
       SET message_id = excluded.message_id, is_open = excluded.is_open,
           delivery = excluded.delivery, changed_at = excluded.changed_at
     WHERE m.message_id < excluded.message_id OR m.is_open
$$;

CREATE FUNCTION public.put_message_buttons(p_realm_id bigint, p_message_id bigint, p_id bigint, p_sender_id bigint, p_buttons text) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE submessages SET content = p_buttons
     WHERE realm_id = p_realm_id AND message_id = p_message_id AND msg_type = 'buttons';
    IF NOT FOUND THEN
        INSERT INTO submessages (realm_id, message_id, id, sender_id, msg_type, content)
        VALUES (p_realm_id, p_message_id, p_id, p_sender_id, 'buttons', p_buttons);
        UPDATE messages SET traits = traits | 256
         WHERE realm_id = p_realm_id AND id = p_message_id AND traits & 256 = 0;
    END IF;
END $$;

CREATE FUNCTION public.raise_topic_policy(p_realm_id bigint, p_user_id bigint, p_topic_id bigint, p_policy smallint, p_at timestamp with time zone, p_empty_topic_name text, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.read_by_sender(p_realm_id bigint, p_user_id bigint, p_ids bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
           AND EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                          AND x.muted_user_id = m.sender_id AND m.id < x.read_below));
END $$;

CREATE FUNCTION public.read_from_the_start(p_realm_id bigint, p_user_id bigint, p_message_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_state record;
BEGIN
    SELECT s.origin_conversation_id, s.received AND NOT s.seen AS is_unseen INTO v_state
      FROM reader_states(p_realm_id, ARRAY[p_user_id], ARRAY[p_message_id]) s
     WHERE s.unread;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF v_state.is_unseen THEN
        PERFORM add_messages_read(p_realm_id, ARRAY[p_user_id], ARRAY[p_message_id],
                                  ARRAY[v_state.origin_conversation_id]);
    END IF;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, ARRAY[p_message_id]);
    PERFORM add_reader_flags(p_realm_id, p_message_id);
END $$;

CREATE FUNCTION public.reader_access(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[]) RETURNS TABLE(channel_id bigint, access integer)
    LANGUAGE sql STABLE
    AS $$
    SELECT c.channel_id,
           channel_access(p_user_id, coalesce(u.role, 600::smallint), s.active, c)
      FROM channels c
      LEFT JOIN users u ON u.realm_id = p_realm_id AND u.user_id = p_user_id
      LEFT JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
           AND s.channel_id = c.channel_id
     WHERE c.realm_id = p_realm_id AND c.channel_id = ANY (p_channel_ids)
$$;

CREATE FUNCTION public.reader_channels(p_realm_id bigint, p_user_id bigint) RETURNS TABLE(channel_id bigint, active boolean, access integer, pending int8multirange)
    LANGUAGE sql STABLE
    AS $$
    SELECT s.channel_id, s.active,
           (SELECT channel_access(p_user_id, u.role, s.active, c)
              FROM channels c
             WHERE c.realm_id = p_realm_id AND c.channel_id = s.channel_id),
           s.spans - coalesce((SELECT r.read FROM channel_read r
                                WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                                  AND r.channel_id = s.channel_id), '{}')
      FROM users u
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
    UNION ALL
    SELECT 0, true, 2,
           '{[0,)}' - coalesce((SELECT r.read FROM channel_read r
                                 WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                                   AND r.channel_id = 0), '{}')
$$;

CREATE FUNCTION public.reader_states(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[]) RETURNS TABLE(user_id bigint, id bigint, sender_id bigint, channel_id bigint, conversation_id bigint, origin_channel_id bigint, origin_conversation_id bigint, traits integer, flags integer, subscribed boolean, received boolean, seen boolean, accessible boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
BEGIN
    -- One look-up per message, and a few per conversation of a reader. OFFSET 0 and LIMIT keep the
    -- planner from moving look-ups; adding the empty multirange makes a set a value in memory that
    -- is not unpacked for each message.
    RETURN QUERY
    WITH pairs AS MATERIALIZED (
        -- The planner expects so many rows of a series that it hashes the joins below.
        SELECT p_user_ids[n] AS user_id, p_ids[n] AS id
          FROM generate_series(1, cardinality(p_ids)) AS n
    ), flagged AS MATERIALIZED (
        SELECT r.user_id, f.message_id AS id, f.flags
          FROM (SELECT p.user_id, array_agg(p.id) AS ids FROM pairs p GROUP BY p.user_id) r
         CROSS JOIN LATERAL (
               SELECT x.message_id, x.flags FROM message_flags x
                WHERE x.realm_id = p_realm_id AND x.user_id = r.user_id
                  AND x.message_id = ANY (r.ids) OFFSET 0) f
    ), looked_at AS MATERIALIZED (
        SELECT p.user_id, m.*
          FROM pairs p
          JOIN (SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits, x.entered_at,
                       coalesce(x.channel_id, 0) AS place,
                       coalesce(x.origin_channel_id, 0) AS origin
                  FROM (SELECT DISTINCT i FROM unnest(p_ids) AS i) w
                 CROSS JOIN LATERAL (
                       SELECT y.* FROM messages y
                        WHERE (y.realm_id, y.id) >= (p_realm_id, w.i)
                        ORDER BY y.realm_id, y.id LIMIT 1) x
                 WHERE x.realm_id = p_realm_id AND x.id = w.i OFFSET 0) m ON m.id = p.id
    ), grounds AS MATERIALIZED (
        SELECT w.user_id, w.place, w.origin, w.origin_conversation_id, there.spans, here.spans AS spans_here,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(w.user_id, u.role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                   AND x.channel_id = w.origin) AS place_read,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                   AND x.conversation_id = w.origin_conversation_id) AS conversation_read,
               EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id) AS mutes
          FROM (SELECT DISTINCT l.user_id, l.place, l.origin, l.origin_conversation_id
                  FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.role FROM users x
                WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id LIMIT 1) u ON true
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active, there.spans WHERE w.place = w.origin
               UNION ALL
               SELECT x.active, x.spans + '{}'::int8multirange FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = w.user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(g.is_in_group, g.spans @> l.id, false) AS received,
               coalesce(g.spans_here @> l.entered_at, false) AS was_here,
               (l.traits & 1 <> 0 AND l.sender_id = l.user_id)
               OR (l.traits & 128 <> 0 AND NOT notices_unread(p_realm_id, l.user_id) @> l.id)
               OR coalesce(g.place_read @> l.id, false)
               OR coalesce(g.conversation_read @> l.id, false)
               OR (g.mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = l.user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen
          FROM looked_at l
          JOIN grounds g ON g.user_id = l.user_id AND g.place = l.place AND g.origin = l.origin
               AND g.origin_conversation_id = l.origin_conversation_id
          LEFT JOIN flagged f ON f.user_id = l.user_id AND f.id = l.id
        OFFSET 0
    )
    SELECT a.user_id, a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & 1 <> 0 OR (a.received AND NOT a.seen))
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND (j.received OR j.was_here)), false)
                        END AS accessible
              FROM judged j OFFSET 0) a;
END $$;

CREATE FUNCTION public.realms_with_jobs(p_queue text, p_after bigint, p_until bigint, p_limit integer) RETURNS TABLE(realm_id bigint, place bigint)
    LANGUAGE sql STABLE
    AS $$
    WITH RECURSIVE found AS (
        (SELECT j.realm_id, 1::bigint AS place FROM jobs j
          WHERE j.queue = p_queue AND j.realm_id > p_after AND j.realm_id <= p_until
          ORDER BY j.realm_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.realm_id FROM jobs j
                 WHERE j.queue = p_queue AND j.realm_id > f.realm_id AND j.realm_id <= p_until
                 ORDER BY j.realm_id LIMIT 1), f.place + 1
          FROM found f WHERE f.realm_id IS NOT NULL AND f.place < p_limit)
    SELECT f.realm_id, f.place FROM found f WHERE f.realm_id IS NOT NULL
$$;

CREATE FUNCTION public.record_presences(p_realm_id bigint, p_user_ids bigint[], p_active_at timestamp with time zone[], p_seen_at timestamp with time zone[]) RETURNS TABLE(r_user_id bigint, r_active_before timestamp with time zone, r_seen_before timestamp with time zone)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_update_id bigint := presence_turn(p_realm_id);
BEGIN
    RETURN QUERY
    WITH before AS MATERIALIZED (
        SELECT p.user_id, p.active_at, p.seen_at FROM presences p
         WHERE p.realm_id = p_realm_id AND p.user_id = ANY (p_user_ids)
    ), kept AS (
        INSERT INTO presences AS p (realm_id, user_id, active_at, seen_at, update_id)
        SELECT u.realm_id, u.user_id, coalesce(n.active_at, u.date_joined), n.seen_at, v_update_id
          FROM unnest(p_user_ids, p_active_at, p_seen_at) AS n(user_id, active_at, seen_at)
          JOIN users u ON u.realm_id = p_realm_id AND u.user_id = n.user_id
         WHERE u.is_active AND u.bot_type IS NULL
           AND u.settings ->> 'presence_enabled' IS DISTINCT FROM 'false'
         ORDER BY u.user_id
        ON CONFLICT (realm_id, user_id) DO UPDATE
           SET active_at = greatest(p.active_at, excluded.active_at),
               seen_at = greatest(p.seen_at, excluded.seen_at),
               update_id = excluded.update_id
        RETURNING p.user_id
    )
    SELECT k.user_id, b.active_at, b.seen_at FROM kept k LEFT JOIN before b USING (user_id);
END $$;

CREATE FUNCTION public.reminder_sent(p_realm_id bigint, p_id bigint, p_audience bytea, p_body bytea, p_write_id uuid) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM reminders r WHERE r.realm_id = p_realm_id AND r.reminder_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'reminder % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'reminders/remove', p_audience, p_body, p_write_id);
END $$;

CREATE FUNCTION public.rename_topic(p_realm_id bigint, p_topic_id bigint, p_name text, p_folding text, p_rename jsonb, p_last_id bigint, p_audiences bytea[], p_ids jsonb, p_body jsonb, p_message_id bigint, p_from_body jsonb, p_to_body jsonb, p_work_id uuid, p_work jsonb, p_job bytea, p_write_id uuid) RETURNS text
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

CREATE FUNCTION public.renew_epoch(p_realm_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_last timestamptz;
BEGIN
    PERFORM FROM realm_clock c WHERE c.realm_id = p_realm_id FOR UPDATE;
    SELECT greatest(c.day::timestamp AT TIME ZONE 'utc', (
               SELECT m.sent_at FROM messages m
                WHERE m.realm_id = p_realm_id ORDER BY m.id DESC LIMIT 1))
      INTO v_last FROM realm_clock c WHERE c.realm_id = p_realm_id;
    UPDATE realm_clock c
       SET epoch = c.epoch + 1,
           day = greatest(c.day, (now() AT TIME ZONE 'utc')::date),
           position = c.position + greatest(
               1000000, 50000 * ceil(extract(epoch FROM now() - v_last))::bigint)
     WHERE c.realm_id = p_realm_id;
END $$;

CREATE FUNCTION public.scheduled_message_failed(p_realm_id bigint, p_id bigint, p_failure text, p_audience bytea, p_body bytea, p_write_id uuid) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE scheduled_messages s SET failure = p_failure
     WHERE s.realm_id = p_realm_id AND s.scheduled_message_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'scheduled message % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'scheduled_messages/update', p_audience, p_body, p_write_id);
END $$;

CREATE FUNCTION public.scheduled_message_sent(p_realm_id bigint, p_id bigint, p_audience bytea, p_body bytea, p_write_id uuid) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM scheduled_messages s
     WHERE s.realm_id = p_realm_id AND s.scheduled_message_id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'scheduled message % is gone', p_id; END IF;
    RETURN append_entry(p_realm_id, 'scheduled_messages/remove', p_audience, p_body, p_write_id);
END $$;

CREATE FUNCTION public.search_accepts(p_realm_id bigint, p_message_id bigint, p_text text, p_language regconfig, p_patterns text[], p_starts text[], p_stems text[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_terms text;
    v_lexemes text[];
BEGIN
    FOR i IN 1 .. cardinality(p_patterns) LOOP
        CONTINUE WHEN p_text LIKE p_patterns[i] OR p_text ~ p_starts[i];
        IF p_stems[i] IS NULL THEN
            RETURN false;
        END IF;
        IF v_lexemes IS NULL AND v_terms IS NULL THEN
            v_terms := coalesce((
                SELECT ' ' || t.words || ' ' FROM message_terms t
                 WHERE t.realm_id = p_realm_id AND t.message_id = p_message_id
                   AND NOT EXISTS (SELECT FROM search_stale x WHERE x.realm_id = p_realm_id
                                      AND x.message_id = p_message_id)), '');
        END IF;
        -- Stems of indexed messages are stored, except those that occur in the text.
        CONTINUE WHEN strpos(v_terms, ' =' || p_stems[i] || ' ') > 0;
        IF v_terms <> '' AND strpos(p_text, p_stems[i]) = 0 THEN
            RETURN false;
        END IF;
        v_lexemes := coalesce(v_lexemes, tsvector_to_array(to_tsvector(p_language, p_text)));
        IF p_stems[i] <> ALL (v_lexemes) THEN
            RETURN false;
        END IF;
    END LOOP;
    RETURN true;
END $$;

CREATE FUNCTION public.search_filter(p_realm_id bigint, p_ids bigint[], p_search jsonb, p_not jsonb) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_ids bigint[] := p_ids;
    v_not jsonb;
BEGIN
    IF jsonb_typeof(p_search) = 'object' THEN
        v_ids := search_matches(p_realm_id, v_ids, p_search);
    END IF;
    FOR v_not IN SELECT n FROM jsonb_array_elements(p_not) AS n LOOP
        v_ids := ARRAY(SELECT unnest(v_ids)
                       EXCEPT SELECT unnest(search_matches(p_realm_id, v_ids, v_not)));
    END LOOP;
    RETURN v_ids;
END $$;

CREATE FUNCTION public.search_folded(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN octet_length(p_text) = length(p_text) THEN lower(p_text)
                ELSE replace(replace(
                         lower(CASE WHEN p_text IS NFC NORMALIZED THEN p_text
                                    ELSE normalize(p_text, NFC) END),
                         U&'\03C2', U&'\03C3'), U&'i\0307', 'i')
           END
$$;

CREATE FUNCTION public.search_indexed(p_realm_id bigint, p_query tsquery, p_topics bigint[]) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET enable_seqscan TO 'off'
    SET enable_indexscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    AS $$
DECLARE
    v_found bigint[] := ARRAY(
        SELECT t.message_id FROM message_terms t
         WHERE search_keys(t.realm_id, t.message_id, t.words) @@ p_query
           AND t.realm_id + 0 = p_realm_id);
BEGIN
    IF p_topics IS NOT NULL AND v_found <> '{}' THEN
        v_found := ARRAY(
            SELECT m.id FROM messages m
             WHERE m.realm_id = p_realm_id AND m.id = ANY (v_found)
               AND m.conversation_id IN (SELECT unnest(p_topics)));
    END IF;
    RETURN v_found;
END $$;

CREATE FUNCTION public.search_keys(p_realm_id bigint, p_message_id bigint, p_words text) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    v_block text := p_realm_id || '.' || (p_message_id >> 13) || '.';
    v_keys text[] := '{}';
    v_word text;
    v_ends integer;
BEGIN
    FOREACH v_word IN ARRAY string_to_array(p_words, ' ') LOOP
        IF left(v_word, 1) = '=' THEN
            v_keys := v_keys || (v_block || v_word);
        ELSIF v_word <> '' THEN
            v_ends := length(v_word);
            IF octet_length(v_word) = v_ends THEN
                v_ends := greatest(1, v_ends - 2);
            END IF;
            FOR i IN 1 .. v_ends LOOP
                v_keys := v_keys || (v_block || substr(v_word, i, 6));
            END LOOP;
        END IF;
    END LOOP;
    RETURN array_to_tsvector(v_keys);
END $$;

CREATE FUNCTION public.search_matches(p_realm_id bigint, p_ids bigint[], p_search jsonb) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_language regconfig := (p_search ->> 'language')::regconfig;
    v_patterns text[] := ARRAY(SELECT jsonb_array_elements_text(p_search -> 'patterns'));
    v_starts text[] := ARRAY(SELECT jsonb_array_elements_text(p_search -> 'starts'));
    v_stems text[] := ARRAY(SELECT jsonb_array_elements_text(p_search -> 'stems'));
    v_likes text[] := array_remove(v_patterns, NULL);
    v_regexes text[] := array_remove(v_starts, NULL);
    v_stem_likes text[] := ARRAY(SELECT '%' || s || '%' FROM unnest(v_stems) AS s
                                  WHERE s IS NOT NULL);
    v_topics bigint[] := ARRAY(
        SELECT i::bigint
          FROM jsonb_array_elements(p_search -> 'parts') AS p
         CROSS JOIN LATERAL jsonb_array_elements_text(
               CASE WHEN jsonb_typeof(p -> 'topics') = 'array' THEN p -> 'topics' END) AS i);
    -- Without parts, topics have not been looked up.
    v_knows_topics boolean := p_search -> 'parts' <> '[]';
    v_stale bigint[] := ARRAY(
        SELECT x.message_id FROM search_stale x
         WHERE x.realm_id = p_realm_id AND x.message_id = ANY (p_ids));
    v_kept bigint[];
    v_found bigint[];
    v_open bigint[];
BEGIN
    SELECT coalesce(array_agg(k.id), '{}'),
           coalesce(array_agg(k.id) FILTER (WHERE k.has_all), '{}'),
           coalesce(array_agg(k.id) FILTER (WHERE NOT k.has_all AND k.has_stem), '{}')
      INTO v_kept, v_found, v_open
      FROM (SELECT t.message_id AS id,
                   t.text LIKE ALL (v_likes) AND t.text ~ ALL (v_regexes) AS has_all,
                   NOT v_knows_topics OR t.words LIKE ANY (v_stem_likes) AS has_stem
              FROM message_terms t
             WHERE t.realm_id = p_realm_id AND t.message_id = ANY (p_ids)
               AND t.message_id <> ALL (v_stale) OFFSET 0) k;
    IF cardinality(v_kept) < cardinality(p_ids) THEN
        v_open := v_open || ARRAY(SELECT unnest(p_ids) EXCEPT SELECT unnest(v_kept));
    END IF;
    IF v_topics <> '{}' THEN
        v_open := ARRAY(
            SELECT unnest(v_open)
            UNION
            SELECT m.id FROM messages m
             WHERE m.realm_id = p_realm_id
               AND m.id = ANY (ARRAY(SELECT unnest(v_kept) EXCEPT SELECT unnest(v_found)))
               AND m.conversation_id IN (SELECT unnest(v_topics)));
    END IF;
    IF v_open = '{}' THEN
        RETURN v_found;
    END IF;
    RETURN v_found || ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (v_open)
           AND search_accepts(
               p_realm_id, m.id,
               coalesce((
                   SELECT k.text FROM message_terms k
                    WHERE k.realm_id = p_realm_id AND k.message_id = m.id
                      AND m.id <> ALL (v_stale)), search_text(m.rendered_content))
               || coalesce((
                   SELECT E'\x01' || search_folded(t.name) FROM topics t
                    WHERE t.realm_id = p_realm_id AND t.topic_id = m.conversation_id), ''),
               v_language, v_patterns, v_starts, v_stems));
END $$;

CREATE FUNCTION public.search_text(p_html text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$
DECLARE
    v_text text := p_html;
BEGIN
    IF strpos(p_html, '<') > 0 THEN
        IF strpos(p_html, '<img alt="') > 0 THEN
            v_text := regexp_replace(v_text, '<img alt="([^"]*)"[^>]*>', '\1', 'g');
        END IF;
        v_text := regexp_replace(
            v_text,
            '</?(?:p|div|br|hr|li|ul|ol|h[1-6]|pre|blockquote|table|tr|td|th)\y[^>]*>', E'\n', 'g');
        v_text := regexp_replace(v_text, '<[^>]*>', '', 'g');
        IF strpos(p_html, 'class="emoji emoji-') > 0 THEN
            v_text := v_text || coalesce((
                SELECT string_agg(DISTINCT E'\x01' || (
                           SELECT string_agg(chr(('x' || lpad(c, 8, '0'))::bit(32)::integer), '')
                             FROM string_to_table(e[1], '-') AS c WHERE c <> 'fe0f'), '')
                  FROM regexp_matches(
                       p_html, '<span aria-label="[^"]*" class="emoji emoji-([0-9a-f-]+)"', 'g')
                       AS e), '');
        END IF;
        IF strpos(p_html, '<a href="') > 0 THEN
            v_text := v_text || (
                SELECT coalesce(string_agg(DISTINCT E'\x01' || concat_ws(E'\x01', a[1], a[2]), ''), '')
                  FROM regexp_matches(p_html, '<a href="([^"]*)"(?: title="([^"]*)")?', 'g') AS a);
        END IF;
    END IF;
    IF strpos(v_text, '&') > 0 THEN
        v_text := replace(replace(replace(replace(replace(v_text, '&lt;', '<'), '&gt;', '>'),
                                          '&quot;', '"'), '&#x27;', ''''), '&amp;', '&');
    END IF;
    RETURN search_folded(v_text);
END $$;

CREATE FUNCTION public.search_window(p_realm_id bigint, p_search jsonb, p_low bigint, p_high bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    c_blocks_at_once CONSTANT bigint := 16;
    v_indexed bigint := coalesce((
        SELECT p.indexed FROM search_progress p WHERE p.realm_id = p_realm_id), 0);
    v_template text;
    v_topics bigint[];
    v_found bigint[];
    v_last bigint := least(p_high, v_indexed) >> 13;
    v_first bigint;
BEGIN
    v_found := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id > v_indexed AND m.id BETWEEN p_low AND p_high
        UNION ALL
        SELECT s.message_id FROM search_stale s
         WHERE s.realm_id = p_realm_id AND s.message_id BETWEEN p_low AND p_high);
    FOR v_template, v_topics IN
        SELECT p.template, CASE WHEN jsonb_typeof(p.topics) = 'array' THEN ARRAY(
                   SELECT i::bigint FROM jsonb_array_elements_text(p.topics) AS i) END
          FROM jsonb_to_recordset(p_search -> 'parts') AS p(template text, topics jsonb)
    LOOP
        IF v_template = '' THEN
            v_found := v_found || ARRAY(
                SELECT m.id FROM unnest(v_topics) AS t(id)
                 CROSS JOIN LATERAL (
                       SELECT m.id FROM messages m
                        WHERE m.realm_id = p_realm_id AND m.conversation_id = t.id
                          AND m.id BETWEEN p_low AND p_high OFFSET 0) m);
        ELSE
            FOR v_first IN SELECT generate_series(p_low >> 13, v_last, c_blocks_at_once) LOOP
                v_found := v_found || search_indexed(p_realm_id, (
                    SELECT string_agg('(' || replace(
                               v_template, '@', p_realm_id || '.' || block || '.') || ')', '|')
                      FROM generate_series(
                           v_first, least(v_first + c_blocks_at_once - 1, v_last)) AS block
                    )::tsquery, v_topics);
            END LOOP;
        END IF;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT i FROM unnest(v_found) AS i WHERE i BETWEEN p_low AND p_high);
END $$;

CREATE FUNCTION public.search_words(p_language regconfig, p_text text) RETURNS text
    LANGUAGE plpgsql STABLE STRICT
    AS $$
DECLARE
    v_text text := lower(p_text);
BEGIN
    RETURN (
        SELECT coalesce(string_agg(f.word, ' '), '') FROM (
            SELECT w[1] AS word FROM regexp_matches(v_text, '\w+', 'g') AS w
            UNION
            SELECT '=' || s.lexeme
              FROM unnest(tsvector_to_array(to_tsvector(p_language, p_text))) AS s(lexeme)
             WHERE strpos(v_text, s.lexeme) = 0 AND s.lexeme !~ '\W') f);
END $$;

CREATE FUNCTION public.send_message(p_realm_id bigint, p_sender_id bigint, p_sender_version bigint, p_realm_version bigint, p_groups_version bigint, p_channel_id bigint, p_channel_version bigint, p_subscription_version bigint, p_topic_id bigint, p_topic_name text, p_dm_group_id bigint, p_dm_user_ids bigint[], p_dm_versions bigint[], p_sent_at timestamp with time zone, p_traits integer, p_client text, p_content text, p_rendered text, p_flagged_user_ids bigint[], p_flags integer[], p_audience bytea, p_body bytea, p_write_id uuid, p_idempotency_key text, p_idempotency_digest bytea, p_policy_started smallint, p_policy_sent smallint, p_policy_mentioned bigint[], p_follows_by_default boolean, p_empty_topic_name text, p_topic_folding text, OUT outcome text, OUT message_id bigint, OUT conversation_id bigint, OUT new_policy smallint, OUT known_digest bytea) RETURNS record
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

CREATE FUNCTION public.send_messages(p_realm_id bigint, p_sends json) RETURNS TABLE(outcome text, message_id bigint, conversation_id bigint, new_policy smallint, known_digest bytea)
    LANGUAGE plpgsql
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

CREATE FUNCTION public.send_messages_in_turn(p_realm_id bigint, p_sends json) RETURNS TABLE(r_epoch bigint, r_outcome text, r_message_id bigint, r_policy smallint, r_digest bytea, r_position bigint, r_kind text, r_audience bytea, r_body bytea, r_write_id text)
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

CREATE FUNCTION public.send_one(p_realm_id bigint, p_sender_id bigint, p_sender_version bigint, p_realm_version bigint, p_groups_version bigint, p_channel_id bigint, p_channel_version bigint, p_subscription_version bigint, p_topic_id bigint, p_topic_name text, p_dm_group_id bigint, p_dm_user_ids bigint[], p_dm_versions bigint[], p_sent_at timestamp with time zone, p_traits integer, p_client text, p_content text, p_rendered text, p_flagged_user_ids bigint[], p_flags integer[], p_audience bytea, p_body bytea, p_write_id uuid, p_idempotency_key text, p_idempotency_digest bytea, p_policy_started smallint, p_policy_sent smallint, p_policy_mentioned bigint[], p_follows_by_default boolean, p_empty_topic_name text, p_topic_folding text, p_widget text, p_attachment_ids bigint[], p_tells_of_resolving boolean, OUT outcome text, OUT message_id bigint, OUT conversation_id bigint, OUT new_policy smallint, OUT known_digest bytea) RETURNS record
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

CREATE FUNCTION public.set_attachments(p_realm_id bigint, p_message_id bigint, p_attachment_ids bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed bigint[];
BEGIN
    WITH gone AS (
        DELETE FROM attachment_messages h
         WHERE h.realm_id = p_realm_id AND h.message_id = p_message_id
           AND h.attachment_id <> ALL (p_attachment_ids)
        RETURNING h.attachment_id
    ), former AS (
        INSERT INTO former_attachment_messages (realm_id, attachment_id, message_id)
        SELECT p_realm_id, g.attachment_id, p_message_id FROM gone g
        ON CONFLICT DO NOTHING
    ), new AS (
        INSERT INTO attachment_messages (realm_id, message_id, attachment_id)
        SELECT a.realm_id, p_message_id, a.attachment_id FROM attachments a
         WHERE a.realm_id = p_realm_id AND a.attachment_id = ANY (p_attachment_ids)
        ON CONFLICT DO NOTHING
        RETURNING attachment_id
    )
    SELECT array_agg(c.attachment_id) INTO v_changed
      FROM (SELECT attachment_id FROM gone UNION ALL SELECT attachment_id FROM new) c;
    PERFORM append_attachment_entries(p_realm_id, v_changed);
END $$;

CREATE FUNCTION public.set_content_flags(p_realm_id bigint, p_message_id bigint, p_user_ids bigint[], p_flags integer[]) RETURNS void
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

CREATE FUNCTION public.set_message_flag(p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_bit integer, p_name text, p_operation text, p_audience bytea, p_write_id uuid) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed bigint[];
    v_historical integer[];
BEGIN
    SELECT coalesce(array_agg(s.id), '{}'), array_agg(CASE WHEN s.received THEN 0 ELSE 32 END)
      INTO v_changed, v_historical
      FROM (SELECT o.id, o.received FROM message_states(p_realm_id, p_user_id, p_ids) o
             WHERE o.accessible AND (o.flags & p_bit = 0) = (p_operation = 'add')
             ORDER BY o.id) s;
    IF p_operation = 'add' THEN
        INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
        SELECT p_realm_id, p_user_id, c.id, p_bit | c.historical
          FROM unnest(v_changed, v_historical) AS c(id, historical)
        ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    ELSE
        DELETE FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id
           AND f.message_id = ANY (v_changed) AND f.flags = p_bit;
        UPDATE message_flags f SET flags = f.flags & ~p_bit
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id
           AND f.message_id = ANY (v_changed) AND f.flags & p_bit <> 0;
    END IF;
    PERFORM append_flag_entries(p_realm_id, p_operation, p_name, v_changed, p_audience, p_write_id);
    RETURN v_changed;
END $$;

CREATE FUNCTION public.set_named_topic_policy(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_topic_name text, p_topic_folding text, p_policy smallint, p_at timestamp with time zone, p_empty_topic_name text, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.set_topic_policy(p_realm_id bigint, p_user_ids bigint[], p_topic_id bigint, p_policy smallint, p_at timestamp with time zone, p_empty_topic_name text, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.shown_attachment(p_realm_id bigint, p_attachment_id bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
    SELECT jsonb_build_object(
               'id', a.attachment_id, 'name', a.name, 'path_id', a.path_id, 'size', a.size,
               'create_time', floor(extract(epoch FROM a.created_at))::bigint,
               'messages', coalesce((
                   SELECT jsonb_agg(jsonb_build_object(
                              'id', m.id,
                              'date_sent', floor(extract(epoch FROM m.sent_at))::bigint)
                              ORDER BY m.id)
                     FROM (SELECT h.message_id FROM attachment_messages h
                            WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id
                            ORDER BY h.message_id DESC LIMIT 100) newest
                     JOIN messages m ON m.realm_id = p_realm_id AND m.id = newest.message_id),
                   '[]'),
               'message_ids', ARRAY(
                   SELECT newest.message_id
                     FROM (SELECT h.message_id FROM attachment_messages h
                            WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id
                            ORDER BY h.message_id DESC LIMIT 100) newest
                    ORDER BY newest.message_id))
      FROM attachments a
     WHERE a.realm_id = p_realm_id AND a.attachment_id = p_attachment_id
$$;

CREATE FUNCTION public.shows_attachment(p_realm_id bigint, p_user_id bigint, p_attachment_id bigint) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_before bigint;
    v_ids bigint[];
BEGIN
    LOOP
        v_ids := ARRAY(SELECT h.message_id FROM attachment_messages h
                        WHERE h.realm_id = p_realm_id AND h.attachment_id = p_attachment_id
                          AND (v_before IS NULL OR h.message_id < v_before)
                        ORDER BY h.message_id DESC LIMIT 100);
        IF cardinality(v_ids) = 0 THEN
            RETURN false;
        END IF;
        IF EXISTS (SELECT FROM message_states(p_realm_id, p_user_id, v_ids) s
                    WHERE s.accessible) THEN
            RETURN true;
        END IF;
        v_before := v_ids[cardinality(v_ids)];
    END LOOP;
END $$;

CREATE FUNCTION public.strangers_to_topic(p_realm_id bigint, p_user_ids bigint[], p_topic_id bigint) RETURNS bigint[]
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
                      AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m)
                WHERE m.realm_id = p_realm_id AND m.conversation_id = p_topic_id));
END $$;

CREATE FUNCTION public.tell_channel_activity(p_realm_id bigint, p_channel_id bigint, p_first_before bigint, p_last_before timestamp with time zone, p_now timestamp with time zone, p_age interval, p_audience bytea, p_write_id uuid) RETURNS void
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

CREATE FUNCTION public.tell_regained(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_empty_topic_name text, p_write_id uuid) RETURNS void
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
                   || CASE WHEN counts_as_mention(p_realm_id, v_user_id, s.channel_id, s.conversation_id,
                                                  s.flags, s.traits, s.received)
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

CREATE FUNCTION public.to_users(p_user_ids bigint[]) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT convert_to('{"users":[' || array_to_string(p_user_ids, ',') || ']}', 'UTF8') $$;

CREATE FUNCTION public.unmute_user(p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_audience bytea, p_write_id uuid) RETURNS boolean
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

CREATE FUNCTION public.unread_messages(p_realm_id bigint, p_user_id bigint, p_limit bigint) RETURNS TABLE(r_channel_id bigint, r_conversation_id bigint, r_ids bigint[], r_skipped bigint, r_floor bigint)
    LANGUAGE plpgsql STABLE ROWS 100
    SET jit TO 'off'
    AS $$
DECLARE
    v_position bigint := (SELECT max(c.position) FROM realm_clock c WHERE c.realm_id = p_realm_id);
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0);
    v_odd bigint[] := v_flagged;
    v_channel_ids bigint[];
    v_pending int8multirange[];
    v_open_ids bigint[];
    v_open int8multirange[];
    v_oldest bigint;
    v_size bigint := 2 * p_limit;
    v_from bigint;
    v_until bigint := 9223372036854775807;
    v_found bigint := 0;
BEGIN
    SELECT array_agg(o.channel_id), array_agg(o.pending),
           array_agg(o.channel_id) FILTER (WHERE o.access > 0),
           array_agg(o.pending) FILTER (WHERE o.access > 0), min(lower(o.pending))
      INTO v_channel_ids, v_pending, v_open_ids, v_open, v_oldest
      FROM reader_channels(p_realm_id, p_user_id) o;
    v_from := greatest(v_oldest, v_position - v_size);
    LOOP
        v_odd := v_odd || ARRAY(
            SELECT unnest(pending_elsewhere(p_realm_id, v_channel_ids, v_pending, v_from, v_until))
            EXCEPT SELECT unnest(v_flagged));
        IF v_odd <> '{}' THEN
            FOR r_channel_id, r_conversation_id, r_ids, r_skipped IN
                SELECT coalesce(s.channel_id, 0), s.conversation_id,
                       coalesce(array_agg(s.id) FILTER (WHERE s.unread), '{}'),
                       count(*) FILTER (WHERE s.seen AND NOT s.unread)
                  FROM message_states(p_realm_id, p_user_id, v_odd) s GROUP BY 1, 2
            LOOP
                v_found := v_found + cardinality(r_ids);
                RETURN NEXT;
            END LOOP;
        END IF;
        FOR r_channel_id, r_conversation_id, r_ids, r_skipped IN
            SELECT * FROM unseen_in_place(
                p_realm_id, p_user_id, v_open_ids, v_open, v_from, v_until, v_flagged)
        LOOP
            v_found := v_found + cardinality(r_ids);
            RETURN NEXT;
        END LOOP;
        EXIT WHEN v_from <= v_oldest OR v_found >= p_limit;
        v_odd := '{}';
        v_until := v_from;
        v_size := v_size * 4;
        v_from := greatest(v_oldest, v_from - v_size);
    END LOOP;

    RETURN QUERY
    SELECT o.channel_id, NULL::bigint, '{}'::bigint[], 0::bigint, lower(o.pending)
      FROM unnest(v_open_ids, v_open) AS o(channel_id, pending)
     WHERE lower(o.pending) < v_position - 100000;
END $$;

CREATE FUNCTION public.unread_shown_in(p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint, OUT r_ids bigint[], OUT r_has_unseen boolean, OUT r_moved_ids bigint[], OUT r_moved_origins bigint[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_channel_id bigint := coalesce(p_channel_id, (
        SELECT t.channel_id FROM topics t
         WHERE t.realm_id = p_realm_id AND t.topic_id = p_conversation_id), 0);
    v_oldest bigint;
    v_pending int8multirange;
    v_odd bigint[];
    v_odd_ids bigint[];
    v_read_by_sender bigint[];
BEGIN
    r_ids := '{}';
    r_has_unseen := false;
    SELECT min(lower(o.pending)), range_agg(o.pending) FILTER (WHERE o.channel_id = v_channel_id)
      INTO v_oldest, v_pending
      FROM reader_channels(p_realm_id, p_user_id) o;
    IF v_channel_id = 0 AND NOT EXISTS (
            SELECT FROM dm_group_members g WHERE g.realm_id = p_realm_id
               AND g.user_id = p_user_id AND g.dm_group_id = p_conversation_id) THEN
        RETURN;
    END IF;

    v_odd := ARRAY(
        SELECT f.message_id FROM message_flags f
          JOIN messages m ON m.realm_id = p_realm_id AND m.id = f.message_id
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0
           AND CASE WHEN p_channel_id IS NULL THEN m.conversation_id = p_conversation_id
                    ELSE m.channel_id = p_channel_id END
        UNION
        SELECT m.id FROM messages m
         WHERE p_channel_id IS NOT NULL AND m.realm_id = p_realm_id
           AND m.channel_id = p_channel_id
           AND m.conversation_id <> m.origin_conversation_id AND m.id >= v_oldest
        UNION
        SELECT m.id FROM messages m
         WHERE p_channel_id IS NULL AND m.realm_id = p_realm_id
           AND m.conversation_id = p_conversation_id
           AND m.conversation_id <> m.origin_conversation_id AND m.id >= v_oldest);

    IF p_channel_id IS NULL THEN
        -- From the index alone: few messages were moved here, and few were read by sending them.
        r_ids := ARRAY(
            SELECT m.id
              FROM unnest(v_pending - coalesce((
                       SELECT r.read FROM conversation_read r
                        WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                          AND r.conversation_id = p_conversation_id), '{}')) AS p(span)
             CROSS JOIN LATERAL (
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversation_id
                      AND m.id >= lower(p.span)
                      AND m.id < coalesce(upper(p.span), 9223372036854775807)
                    ORDER BY m.id OFFSET 0) m);
        v_read_by_sender := own_among(p_realm_id, p_user_id, r_ids)
                            || read_by_sender(p_realm_id, p_user_id, r_ids) || v_odd
                            || notices_read(p_realm_id, p_user_id, ARRAY[v_channel_id], r_ids[1],
                                            r_ids[cardinality(r_ids)] + 1);
        IF v_read_by_sender <> '{}' THEN
            r_ids := ARRAY(SELECT i FROM unnest(r_ids) AS i
                            WHERE i NOT IN (SELECT unnest(v_read_by_sender)));
        END IF;
    ELSE
        r_ids := ARRAY(
            SELECT i FROM unseen_in_place(
                   p_realm_id, p_user_id, ARRAY[p_channel_id], ARRAY[v_pending], 0,
                   9223372036854775807, v_odd) u, unnest(u.ids) AS i
             ORDER BY i);
    END IF;
    r_has_unseen := r_ids <> '{}';

    IF v_odd <> '{}' THEN
        SELECT coalesce(array_agg(s.id), '{}'),
               r_has_unseen OR coalesce(bool_or(s.unseen AND NOT s.moved), false),
               array_agg(s.id) FILTER (WHERE s.unseen AND s.moved),
               array_agg(s.origin_conversation_id) FILTER (WHERE s.unseen AND s.moved)
          INTO v_odd_ids, r_has_unseen, r_moved_ids, r_moved_origins
          FROM (SELECT o.id, o.origin_conversation_id, o.flags, o.received AND NOT o.seen AS unseen,
                       CASE WHEN p_channel_id IS NULL
                            THEN o.origin_conversation_id <> p_conversation_id
                            ELSE o.origin_channel_id <> p_channel_id END AS moved
                  FROM message_states(p_realm_id, p_user_id, v_odd) o) s
         WHERE s.flags & 1 <> 0 OR s.unseen;
        IF v_odd_ids <> '{}' THEN
            r_ids := ARRAY(SELECT i FROM unnest(r_ids || v_odd_ids) AS i ORDER BY i);
        END IF;
    END IF;
END $$;

CREATE FUNCTION public.unseen_in_place(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_pending int8multirange[], p_from bigint, p_until bigint, p_flagged bigint[]) RETURNS TABLE(channel_id bigint, conversation_id bigint, ids bigint[], skipped bigint)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_sort TO 'off'
    SET jit TO 'off'
    AS $$
#variable_conflict use_column
DECLARE
    v_mutes boolean := EXISTS (SELECT FROM muted_users x
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
BEGIN
    -- OFFSET 0 keeps each look-up one scan of an index between two bounds.
    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT o.channel_id, lower(p.span) AS first, upper(p.span) AS next
          FROM unnest(p_channel_ids, p_pending) AS o(channel_id, pending)
         CROSS JOIN LATERAL unnest(o.pending * int8range(p_from, p_until)::int8multirange) AS p(span)
    ), excluded AS MATERIALIZED (
        SELECT unnest(p_flagged) AS id
        UNION ALL
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.sender_id = p_user_id
           AND m.id >= p_from AND m.id < p_until AND m.traits & 1 <> 0
        UNION ALL
        SELECT unnest(notices_read(p_realm_id, p_user_id, p_channel_ids, p_from, p_until))
        UNION ALL
        SELECT m.id FROM unnest(p_channel_ids) AS o(channel_id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = o.channel_id
                  AND m.conversation_id <> m.origin_conversation_id
                  AND m.id >= p_from AND m.id < p_until OFFSET 0) m
    ), found AS MATERIALIZED (
        SELECT o.channel_id, n.conversation_id, n.ids
          FROM own o
         CROSS JOIN LATERAL (
               SELECT m.conversation_id, array_agg(m.id) AS ids
                 FROM (SELECT m.id, m.conversation_id FROM messages m
                        WHERE m.realm_id = p_realm_id AND m.channel_id = o.channel_id
                          AND m.id >= o.first AND m.id < o.next OFFSET 0) m
                WHERE m.id NOT IN (SELECT e.id FROM excluded e)
                GROUP BY m.conversation_id) n
         WHERE o.channel_id <> 0
        UNION ALL
        SELECT 0, g.dm_group_id, n.ids
          FROM own o
         CROSS JOIN dm_group_members g
         CROSS JOIN LATERAL (
               SELECT array_agg(m.id) AS ids
                 FROM (SELECT m.id FROM messages m
                        WHERE m.realm_id = p_realm_id AND m.conversation_id = g.dm_group_id
                          AND m.id >= o.first AND m.id < o.next OFFSET 0) m
                WHERE m.id NOT IN (SELECT e.id FROM excluded e)) n
         WHERE o.channel_id = 0 AND g.realm_id = p_realm_id AND g.user_id = p_user_id
           AND n.ids IS NOT NULL
    ), judged AS MATERIALIZED (
        SELECT f.channel_id, f.conversation_id, f.ids AS all_ids,
               CASE WHEN v.read IS NULL THEN f.ids
                    ELSE ARRAY(SELECT i FROM unnest(f.ids) AS i WHERE NOT v.read @> i) END AS ids
          FROM found f
          LEFT JOIN LATERAL (
               -- The sum is a value in memory: a long set is not unpacked for each message.
               SELECT x.read + '{}'::int8multirange AS read FROM conversation_read x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.conversation_id = f.conversation_id LIMIT 1) v ON true
    ), heard AS MATERIALIZED (
        SELECT j.channel_id, j.conversation_id, j.all_ids,
               CASE WHEN NOT v_mutes THEN j.ids
                    ELSE ARRAY(SELECT unnest(j.ids)
                               EXCEPT SELECT unnest(read_by_sender(p_realm_id, p_user_id, j.ids))
                                ORDER BY 1) END AS ids
          FROM judged j
    )
    SELECT h.channel_id, h.conversation_id, h.ids,
           (cardinality(h.all_ids) - cardinality(h.ids))::bigint
      FROM heard h;
END $$;

CREATE FUNCTION public.user_was_given(p_user_id bigint, m public.messages) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (
        SELECT FROM subscriptions s
         WHERE s.realm_id = m.realm_id AND s.user_id = p_user_id
           AND s.channel_id IN (m.origin_channel_id, m.channel_id) AND was_given(s, m))
$$;

CREATE SEQUENCE public.conversation_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.topics (
    realm_id bigint NOT NULL,
    topic_id bigint DEFAULT nextval('public.conversation_ids'::regclass) NOT NULL,
    channel_id bigint NOT NULL,
    name text NOT NULL,
    renames jsonb,
    folded_name text COLLATE pg_catalog."C",
    pinned_at timestamp with time zone,
    description text,
    rendered_description text
);

CREATE FUNCTION public.user_was_given_topic(p_user_id bigint, t public.topics) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$
    SELECT EXISTS (
        SELECT FROM messages m
         WHERE m.realm_id = t.realm_id AND m.conversation_id = t.topic_id
           AND user_was_given(p_user_id, m))
$$;

CREATE FUNCTION public.walk_after(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_extra bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_most bigint := 2 * p_limit + 50;
    v_ids bigint[] := ARRAY(
        SELECT w.id
          FROM (SELECT m.id,
                       m.channel_id IN (SELECT unnest(p_channels))
                       OR m.conversation_id IN (SELECT unnest(p_conversations))
                       OR m.id IN (SELECT unnest(p_extra))
                       OR (m.channel_id IN (SELECT unnest(p_partial_channels))
                           AND ((SELECT s.spans @> m.id FROM subscriptions s
                                 WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                                   AND s.channel_id = m.origin_channel_id)
                    OR (m.entered_at IS NOT NULL AND (
                        SELECT s.spans @> m.entered_at FROM subscriptions s
                         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                           AND s.channel_id = m.channel_id)))) AS is_wanted
                  FROM messages m
                 WHERE m.realm_id = p_realm_id AND m.id >= p_edge
                 ORDER BY m.id ASC LIMIT v_most) w
         WHERE w.is_wanted ORDER BY w.id ASC LIMIT p_limit);
BEGIN
    IF cardinality(v_ids) < p_limit AND (
            SELECT count(*) FROM (
                SELECT FROM messages m WHERE m.realm_id = p_realm_id AND m.id >= p_edge
                 ORDER BY m.id ASC LIMIT v_most) seen) = v_most THEN
        RETURN NULL;
    END IF;
    RETURN v_ids;
END $$;

CREATE FUNCTION public.walk_before(p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[], p_extra bigint[], p_edge bigint, p_limit bigint) RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET jit TO 'off'
    AS $$
DECLARE
    v_most bigint := 2 * p_limit + 50;
    v_ids bigint[] := ARRAY(
        SELECT w.id
          FROM (SELECT m.id,
                       m.channel_id IN (SELECT unnest(p_channels))
                       OR m.conversation_id IN (SELECT unnest(p_conversations))
                       OR m.id IN (SELECT unnest(p_extra))
                       OR (m.channel_id IN (SELECT unnest(p_partial_channels))
                           AND ((SELECT s.spans @> m.id FROM subscriptions s
                                 WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                                   AND s.channel_id = m.origin_channel_id)
                    OR (m.entered_at IS NOT NULL AND (
                        SELECT s.spans @> m.entered_at FROM subscriptions s
                         WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                           AND s.channel_id = m.channel_id)))) AS is_wanted
                  FROM messages m
                 WHERE m.realm_id = p_realm_id AND m.id <= p_edge
                 ORDER BY m.id DESC LIMIT v_most) w
         WHERE w.is_wanted ORDER BY w.id DESC LIMIT p_limit);
BEGIN
    IF cardinality(v_ids) < p_limit AND (
            SELECT count(*) FROM (
                SELECT FROM messages m WHERE m.realm_id = p_realm_id AND m.id <= p_edge
                 ORDER BY m.id DESC LIMIT v_most) seen) = v_most THEN
        RETURN NULL;
    END IF;
    RETURN v_ids;
END $$;

CREATE TABLE public.subscriptions (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    active boolean DEFAULT false NOT NULL,
    spans int8multirange DEFAULT '{}'::int8multirange NOT NULL,
    color text NOT NULL,
    is_muted boolean DEFAULT false NOT NULL,
    pin_to_top boolean DEFAULT false NOT NULL,
    desktop_notifications boolean,
    audible_notifications boolean,
    push_notifications boolean,
    email_notifications boolean,
    wildcard_mentions_notify boolean,
    changed_at bigint DEFAULT 0 NOT NULL
);

CREATE FUNCTION public.was_given(s public.subscriptions, m public.messages) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    -- Without a query of its own, so that it is inlined.
    SELECT (s.channel_id = m.origin_channel_id AND s.spans @> m.id)
        OR (s.channel_id = m.channel_id AND s.spans @> m.entered_at)
$$;

CREATE FUNCTION public.whole_history(p_id bigint, p_renames_before integer, p_own jsonb, p_renames jsonb) RETURNS jsonb
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

CREATE SEQUENCE public.account_export_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.account_exports (
    realm_id bigint NOT NULL,
    export_id bigint DEFAULT nextval('public.account_export_ids'::regclass) NOT NULL,
    user_id bigint NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    percent smallint DEFAULT 0 NOT NULL,
    blob_key text,
    size bigint,
    digest bytea,
    failed_at timestamp with time zone,
    deleted_at timestamp with time zone
);

CREATE TABLE public.alert_words (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    word text NOT NULL
);

CREATE SEQUENCE public.api_key_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.api_keys (
    realm_id bigint NOT NULL,
    key_id bigint DEFAULT nextval('public.api_key_ids'::regclass) NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone
);

CREATE TABLE public.attachment_messages (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    attachment_id bigint NOT NULL
);

CREATE SEQUENCE public.audit_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.audit_log (
    realm_id bigint NOT NULL,
    audit_id bigint DEFAULT nextval('public.audit_ids'::regclass) NOT NULL,
    "position" bigint NOT NULL,
    happened_at timestamp with time zone DEFAULT now() NOT NULL,
    actor_id bigint,
    action text NOT NULL,
    subject_id bigint,
    before jsonb NOT NULL,
    after jsonb NOT NULL
);

CREATE TABLE public.bot_defaults (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    sending_channel_id bigint,
    events_channel_id bigint,
    all_public_channels boolean DEFAULT false NOT NULL
);

CREATE TABLE public.bot_services (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    interface smallint NOT NULL,
    base_url text NOT NULL,
    token text NOT NULL,
    told_at timestamp with time zone,
    CONSTRAINT bot_services_interface_check CHECK ((interface = ANY (ARRAY[1, 2])))
);

CREATE TABLE public.bot_storage (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL
);

CREATE SEQUENCE public.button_click_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.button_clicks (
    realm_id bigint NOT NULL,
    click_id bigint DEFAULT nextval('public.button_click_ids'::regclass) NOT NULL,
    message_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    user_id bigint NOT NULL,
    local_id text NOT NULL,
    button text NOT NULL,
    button_id text NOT NULL,
    clicked_at timestamp with time zone NOT NULL,
    is_open boolean DEFAULT true NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    not_before timestamp with time zone,
    answer_token text NOT NULL,
    answers_left smallint NOT NULL
);

CREATE TABLE public.call_tokens (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    service text NOT NULL,
    tokens bytea NOT NULL
);

CREATE SEQUENCE public.channel_folder_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.channel_folders (
    realm_id bigint NOT NULL,
    folder_id bigint DEFAULT nextval('public.channel_folder_ids'::regclass) NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    rendered_description text NOT NULL,
    creator_id bigint,
    created_at timestamp with time zone NOT NULL,
    is_archived boolean DEFAULT false NOT NULL,
    sort_order integer NOT NULL,
    folded_name text COLLATE pg_catalog."C"
);

CREATE TABLE public.channel_read (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    read int8multirange NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.channel_traffic (
    realm_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    messages integer NOT NULL,
    day date NOT NULL
);

CREATE TABLE public.command_calls (
    realm_id bigint NOT NULL,
    call_id text NOT NULL,
    answer_token text NOT NULL,
    bot_id bigint NOT NULL,
    caller_id bigint NOT NULL,
    command text NOT NULL,
    channel_id bigint,
    topic text NOT NULL,
    user_ids bigint[] NOT NULL,
    called_at timestamp with time zone NOT NULL,
    answers_left smallint NOT NULL
);

CREATE SEQUENCE public.compliance_case_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.compliance_cases (
    realm_id bigint NOT NULL,
    case_id bigint DEFAULT nextval('public.compliance_case_ids'::regclass) NOT NULL,
    creator_id bigint NOT NULL,
    reason text NOT NULL,
    hours integer NOT NULL,
    needs_approval boolean NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    approver_id bigint,
    ends_at timestamp with time zone,
    closed_at timestamp with time zone,
    searches integer DEFAULT 0 NOT NULL
);

CREATE TABLE public.compliance_officers (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    creator_id bigint NOT NULL,
    appointed_at timestamp with time zone NOT NULL
);

CREATE TABLE public.compliance_rules (
    realm_id bigint NOT NULL,
    needs_two_persons boolean NOT NULL
);

CREATE SEQUENCE public.confirmation_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.confirmations (
    realm_id bigint NOT NULL,
    confirmation_id bigint DEFAULT nextval('public.confirmation_ids'::regclass) NOT NULL,
    purpose text NOT NULL,
    email text NOT NULL,
    user_id bigint,
    token_digests bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    folded_email text COLLATE pg_catalog."C"
);

CREATE TABLE public.conversation_read (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    conversation_id bigint NOT NULL,
    read int8multirange NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE public.database_identity (
    is_only boolean DEFAULT true NOT NULL,
    system_identifier bigint NOT NULL,
    timeline bigint NOT NULL,
    generation bigint DEFAULT 0 NOT NULL,
    CONSTRAINT database_identity_is_only_check CHECK (is_only)
);

CREATE TABLE public.dead_jobs (
    id bigint NOT NULL,
    queue text NOT NULL,
    key text NOT NULL,
    body bytea NOT NULL,
    enqueued_at timestamp with time zone NOT NULL,
    attempts integer NOT NULL,
    reason text NOT NULL,
    died_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    realm_id bigint DEFAULT 0 NOT NULL,
    trace text DEFAULT ''::text NOT NULL
);

CREATE SEQUENCE public.default_channel_group_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.default_channel_groups (
    realm_id bigint NOT NULL,
    group_id bigint DEFAULT nextval('public.default_channel_group_ids'::regclass) NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    channel_ids bigint[] NOT NULL,
    folded_name text COLLATE pg_catalog."C"
);

CREATE TABLE public.digests (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    day date NOT NULL,
    done boolean DEFAULT false NOT NULL
);

CREATE TABLE public.directory_ids (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    directory_id text NOT NULL
);

CREATE TABLE public.dm_group_members (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    dm_group_id bigint NOT NULL
);

CREATE TABLE public.dm_groups (
    realm_id bigint NOT NULL,
    dm_group_id bigint DEFAULT nextval('public.conversation_ids'::regclass) NOT NULL,
    user_ids bigint[] NOT NULL
);

CREATE TABLE public.done_jobs (
    realm_id bigint NOT NULL,
    queue text NOT NULL,
    key text NOT NULL,
    done_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE SEQUENCE public.draft_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.drafts (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    draft_id bigint DEFAULT nextval('public.draft_ids'::regclass) NOT NULL,
    type text NOT NULL,
    to_ids bigint[] NOT NULL,
    topic text NOT NULL,
    content text NOT NULL,
    edited_at timestamp with time zone NOT NULL,
    CONSTRAINT drafts_type_check CHECK ((type = ANY (ARRAY[''::text, 'stream'::text, 'private'::text])))
);

CREATE SEQUENCE public.email_batch_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.email_batches (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    batch_id bigint DEFAULT nextval('public.email_batch_ids'::regclass) NOT NULL,
    opened_by bigint NOT NULL,
    due_at timestamp with time zone NOT NULL,
    handed boolean DEFAULT false NOT NULL
);

CREATE TABLE public.ended_flows (
    realm_id bigint NOT NULL,
    flow_digest bytea NOT NULL,
    ends_at timestamp with time zone NOT NULL
);

CREATE TABLE public.event_log (
    realm_id bigint NOT NULL,
    "position" bigint NOT NULL,
    day date NOT NULL,
    epoch bigint NOT NULL,
    kind text NOT NULL,
    audience bytea NOT NULL,
    body bytea,
    write_id uuid NOT NULL
)
PARTITION BY RANGE (day);

CREATE TABLE public.event_queues (
    realm_id bigint NOT NULL,
    queue_id text NOT NULL,
    user_id bigint NOT NULL,
    epoch bigint NOT NULL,
    base bigint NOT NULL,
    params jsonb NOT NULL,
    lifespan_seconds integer NOT NULL,
    last_seen_at timestamp with time zone NOT NULL
);

CREATE TABLE public.former_attachment_messages (
    realm_id bigint NOT NULL,
    attachment_id bigint NOT NULL,
    message_id bigint NOT NULL
);

CREATE SEQUENCE public.group_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.group_members (
    realm_id bigint NOT NULL,
    group_id bigint NOT NULL,
    user_id bigint NOT NULL
);

CREATE TABLE public.group_subgroups (
    realm_id bigint NOT NULL,
    group_id bigint NOT NULL,
    subgroup_id bigint NOT NULL
);

CREATE TABLE public.held_files (
    realm_id bigint NOT NULL,
    attachment_id bigint NOT NULL,
    deleted_at timestamp with time zone NOT NULL,
    attachment jsonb NOT NULL
);

CREATE TABLE public.idempotency_keys (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    message_id bigint NOT NULL,
    visibility_policy smallint,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE SEQUENCE public.import_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.import_keys (
    realm_id bigint NOT NULL,
    import_id bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    id bigint NOT NULL
);

CREATE SEQUENCE public.import_request_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.import_requests (
    realm_id bigint NOT NULL,
    request_id bigint DEFAULT nextval('public.import_request_ids'::regclass) NOT NULL,
    acting_user_id bigint NOT NULL,
    file_name text NOT NULL,
    size bigint NOT NULL,
    blob_key text,
    state text NOT NULL,
    source text DEFAULT ''::text NOT NULL,
    topic text DEFAULT ''::text NOT NULL,
    fingerprint bytea,
    problem text DEFAULT ''::text NOT NULL,
    crashes smallint DEFAULT 0 NOT NULL,
    report jsonb,
    requested_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);

CREATE TABLE public.imported_ranges (
    realm_id bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL
);

CREATE TABLE public.imports (
    realm_id bigint NOT NULL,
    import_id bigint DEFAULT nextval('public.import_ids'::regclass) NOT NULL,
    source text NOT NULL,
    fingerprint bytea NOT NULL,
    options jsonb NOT NULL,
    phase text NOT NULL,
    done bigint DEFAULT 0 NOT NULL,
    total bigint NOT NULL,
    first_position bigint NOT NULL,
    report jsonb NOT NULL,
    started_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone
);

CREATE TABLE public.integration_messages (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    about bytea NOT NULL,
    message_id bigint NOT NULL,
    is_open boolean NOT NULL,
    delivery bytea,
    changed_at timestamp with time zone NOT NULL
)
WITH (fillfactor='80');

CREATE SEQUENCE public.invitation_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.invitations (
    realm_id bigint NOT NULL,
    invitation_id bigint DEFAULT nextval('public.invitation_ids'::regclass) NOT NULL,
    inviter_id bigint NOT NULL,
    email text,
    by_link bigint,
    role integer NOT NULL,
    channel_ids bigint[] NOT NULL,
    group_ids bigint[] NOT NULL,
    includes_defaults boolean NOT NULL,
    welcome_text text,
    tells_inviter boolean NOT NULL,
    invited_at timestamp with time zone NOT NULL,
    ends_at timestamp with time zone,
    state text DEFAULT 'open'::text NOT NULL,
    token_digests bytea[] DEFAULT '{}'::bytea[] NOT NULL,
    mails integer DEFAULT 0 NOT NULL,
    mailed_at timestamp with time zone,
    folded_email text COLLATE pg_catalog."C",
    CONSTRAINT invitations_state_check CHECK ((state = ANY (ARRAY['open'::text, 'accepted'::text, 'revoked'::text])))
);

CREATE TABLE public.job_queues (
    queue text NOT NULL,
    paused_at timestamp with time zone,
    seen_empty_at timestamp with time zone
);

CREATE TABLE public.jobs (
    id bigint NOT NULL,
    queue text NOT NULL,
    key text NOT NULL,
    body bytea NOT NULL,
    enqueued_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    due_at timestamp with time zone NOT NULL,
    claimed boolean DEFAULT false NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    fence integer DEFAULT 0 NOT NULL,
    realm_id bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

ALTER TABLE public.jobs ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE SEQUENCE public.legal_hold_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.legal_holds (
    realm_id bigint NOT NULL,
    hold_id bigint DEFAULT nextval('public.legal_hold_ids'::regclass) NOT NULL,
    name text NOT NULL,
    reason text NOT NULL,
    is_realm_wide boolean NOT NULL,
    user_ids bigint[] NOT NULL,
    channel_ids bigint[] NOT NULL,
    sent_from timestamp with time zone,
    sent_until timestamp with time zone,
    creator_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    releaser_id bigint,
    released_at timestamp with time zone,
    release_reason text
);

CREATE SEQUENCE public.linkifier_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.linkifiers (
    realm_id bigint NOT NULL,
    linkifier_id bigint DEFAULT nextval('public.linkifier_ids'::regclass) NOT NULL,
    pattern text NOT NULL,
    url_template text NOT NULL,
    sort_order integer NOT NULL,
    example_input text,
    reverse_template text,
    alternative_url_templates text[] DEFAULT '{}'::text[] NOT NULL
);

CREATE TABLE public.message_flags (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    message_id bigint NOT NULL,
    flags integer NOT NULL
);

CREATE TABLE public.message_terms (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    words text NOT NULL,
    text text NOT NULL
);

CREATE TABLE public.muted_users (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    muted_user_id bigint NOT NULL,
    muted_at timestamp with time zone,
    read_below bigint NOT NULL
);

CREATE SEQUENCE public.navigation_view_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.navigation_views (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    fragment text NOT NULL,
    is_pinned boolean NOT NULL,
    name text,
    view_id bigint DEFAULT nextval('public.navigation_view_ids'::regclass) NOT NULL
);

CREATE TABLE public.notifications (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    message_id bigint NOT NULL,
    email_reason text,
    push_reason text,
    group_id bigint,
    email_batch_id bigint,
    push_handed boolean DEFAULT false NOT NULL,
    decided_at timestamp with time zone DEFAULT now() NOT NULL,
    pushed boolean DEFAULT false NOT NULL
);

CREATE TABLE public.onboarding_steps (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    step text NOT NULL
);

CREATE SEQUENCE public.playground_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.playgrounds (
    realm_id bigint NOT NULL,
    playground_id bigint DEFAULT nextval('public.playground_ids'::regclass) NOT NULL,
    name text NOT NULL,
    pygments_language text NOT NULL,
    url_template text NOT NULL
);

CREATE TABLE public.presence_clocks (
    realm_id bigint NOT NULL,
    last_update_id bigint NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE public.presences (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    active_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone NOT NULL,
    update_id bigint NOT NULL
)
WITH (fillfactor='70');

CREATE SEQUENCE public.profile_field_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.profile_fields (
    realm_id bigint NOT NULL,
    field_id bigint DEFAULT nextval('public.profile_field_ids'::regclass) NOT NULL,
    field_type smallint NOT NULL,
    name text NOT NULL,
    hint text NOT NULL,
    field_data text NOT NULL,
    required boolean NOT NULL,
    editable_by_user boolean NOT NULL,
    display_in_profile_summary boolean NOT NULL,
    sort_order integer NOT NULL,
    use_for_user_matching boolean DEFAULT false NOT NULL
);

CREATE TABLE public.profile_values (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    field_id bigint NOT NULL,
    value text NOT NULL,
    rendered_value text
);

CREATE SEQUENCE public.push_device_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.push_devices (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    device_id bigint DEFAULT nextval('public.push_device_ids'::regclass) NOT NULL,
    kind text,
    token text,
    app_id text,
    account_id bigint,
    public_key bytea,
    bouncer_id bigint,
    error_code text,
    created_at timestamp with time zone NOT NULL,
    endpoint text,
    auth_secret bytea,
    user_agent text,
    wants_removals boolean DEFAULT false NOT NULL,
    session_digest bytea,
    is_client_device boolean DEFAULT false NOT NULL,
    push_key bytea,
    push_key_id bigint,
    push_token_id bytea,
    pending_push_token_id bytea,
    push_token_changed_at timestamp with time zone,
    CONSTRAINT push_devices_endpoint CHECK ((((endpoint IS NOT NULL) = (kind = 'web'::text)) AND ((auth_secret IS NOT NULL) = (kind = 'web'::text)) AND ((user_agent IS NOT NULL) = (kind = 'web'::text)))),
    CONSTRAINT push_devices_kind CHECK ((kind = ANY (ARRAY['apns'::text, 'fcm'::text, 'web'::text]))),
    CONSTRAINT push_devices_of_a_kind CHECK (((kind IS NOT NULL) OR (is_client_device AND (num_nonnulls(push_token_id, pending_push_token_id) = 0)))),
    CONSTRAINT push_devices_public_key CHECK (((public_key IS NULL) = ((token IS NOT NULL) OR is_client_device))),
    CONSTRAINT push_devices_push_key CHECK ((((push_key IS NULL) = (push_key_id IS NULL)) AND ((push_key IS NOT NULL) OR (num_nonnulls(push_token_id, pending_push_token_id) = 0)) AND (is_client_device OR (push_key IS NULL)))),
    CONSTRAINT push_devices_way CHECK (((num_nonnulls(token, account_id, endpoint) + (is_client_device)::integer) = 1))
);

CREATE UNLOGGED TABLE public.rate_limits (
    key text NOT NULL,
    window_start timestamp with time zone NOT NULL,
    used integer NOT NULL
);

CREATE TABLE public.reaction_notifications (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    user_id bigint NOT NULL,
    first_position bigint NOT NULL,
    due_at timestamp with time zone NOT NULL
);

CREATE TABLE public.reactions (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    user_id bigint NOT NULL,
    reaction_type text NOT NULL,
    emoji_code text NOT NULL,
    emoji_name text NOT NULL,
    "position" bigint NOT NULL
);

CREATE TABLE public.realm_clock (
    realm_id bigint NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    day date DEFAULT ((now() AT TIME ZONE 'utc'::text))::date NOT NULL,
    epoch bigint DEFAULT 1 NOT NULL
)
WITH (autovacuum_vacuum_scale_factor='0', autovacuum_vacuum_threshold='1000');

CREATE SEQUENCE public.realm_domain_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.realm_domains (
    realm_id bigint NOT NULL,
    domain_id bigint DEFAULT nextval('public.realm_domain_ids'::regclass) NOT NULL,
    domain text NOT NULL,
    allow_subdomains boolean NOT NULL
);

CREATE SEQUENCE public.realm_emoji_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.realm_emoji (
    realm_id bigint NOT NULL,
    emoji_id bigint DEFAULT nextval('public.realm_emoji_ids'::regclass) NOT NULL,
    name text NOT NULL,
    author_id bigint NOT NULL,
    blob_key text NOT NULL,
    still_key text,
    deactivated boolean DEFAULT false NOT NULL
);

CREATE SEQUENCE public.realm_export_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.realm_exports (
    realm_id bigint NOT NULL,
    export_id bigint DEFAULT nextval('public.realm_export_ids'::regclass) NOT NULL,
    export_type smallint NOT NULL,
    acting_user_id bigint NOT NULL,
    requested_at timestamp with time zone NOT NULL,
    blob_key text,
    size bigint,
    digest bytea,
    failed_at timestamp with time zone,
    deleted_at timestamp with time zone,
    link_secret text,
    from_prior_server boolean DEFAULT false NOT NULL,
    CONSTRAINT realm_exports_export_type_check CHECK ((export_type = ANY (ARRAY[1, 2])))
);

CREATE TABLE public.realms (
    realm_id bigint NOT NULL,
    subdomain text NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    rendered_description text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    deactivated boolean DEFAULT false NOT NULL,
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    changed_at bigint DEFAULT 0 NOT NULL,
    groups_changed_at bigint DEFAULT 0 NOT NULL
);

ALTER TABLE public.realms ALTER COLUMN realm_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.realms_realm_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.recovery_codes (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    digest bytea NOT NULL,
    used_at timestamp with time zone
);

CREATE TABLE public.reminders (
    realm_id bigint NOT NULL,
    reminder_id bigint NOT NULL,
    user_id bigint NOT NULL,
    message_id bigint,
    note text NOT NULL,
    content text NOT NULL,
    rendered_content text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    failure text
);

CREATE TABLE public.resumable_uploads (
    realm_id bigint NOT NULL,
    upload_id text NOT NULL,
    owner_id bigint NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    received bigint DEFAULT 0 NOT NULL,
    blob_key text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    claimed_until timestamp with time zone,
    is_finished boolean DEFAULT false NOT NULL,
    purpose text DEFAULT 'attachment'::text NOT NULL
);

CREATE SEQUENCE public.saved_snippet_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.saved_snippets (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    saved_snippet_id bigint DEFAULT nextval('public.saved_snippet_ids'::regclass) NOT NULL,
    title text NOT NULL,
    content text NOT NULL,
    created_at timestamp with time zone NOT NULL
);

CREATE TABLE public.scheduled_messages (
    realm_id bigint NOT NULL,
    scheduled_message_id bigint NOT NULL,
    sender_id bigint NOT NULL,
    channel_id bigint,
    topic text NOT NULL,
    user_ids bigint[] NOT NULL,
    content text NOT NULL,
    rendered_content text NOT NULL,
    due_at timestamp with time zone NOT NULL,
    read_by_sender boolean NOT NULL,
    client text NOT NULL,
    failure text
);

CREATE TABLE public.schema_functions (
    area text NOT NULL,
    number integer NOT NULL,
    digest text NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.scim_accounts (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    external_id text,
    user_name text NOT NULL,
    folded_user_name text NOT NULL,
    attributes jsonb NOT NULL,
    is_deleted boolean DEFAULT false NOT NULL,
    closed_at timestamp with time zone,
    modified_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.scim_allowances (
    realm_id bigint NOT NULL,
    ends_at timestamp with time zone NOT NULL
);

CREATE TABLE public.scim_groups (
    realm_id bigint NOT NULL,
    group_id bigint NOT NULL,
    external_id text,
    modified_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE SEQUENCE public.scim_token_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.scim_tokens (
    realm_id bigint NOT NULL,
    token_id bigint DEFAULT nextval('public.scim_token_ids'::regclass) NOT NULL,
    digest bytea NOT NULL,
    hint text NOT NULL,
    name text NOT NULL,
    creator_id bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone
);

CREATE TABLE public.search_progress (
    realm_id bigint NOT NULL,
    indexed bigint DEFAULT 0 NOT NULL,
    language text NOT NULL
);

CREATE TABLE public.search_stale (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL
);

CREATE TABLE public.second_factor_deadlines (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    ends_at timestamp with time zone NOT NULL
);

CREATE SEQUENCE public.second_factor_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.second_factors (
    realm_id bigint NOT NULL,
    factor_id bigint DEFAULT nextval('public.second_factor_ids'::regclass) NOT NULL,
    user_id bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    secret bytea,
    last_step bigint,
    credential_id bytea,
    public_key bytea,
    sign_count bigint,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    last_used_at timestamp with time zone,
    CONSTRAINT second_factors_kind CHECK ((((kind = 'totp'::text) AND (num_nonnulls(secret, last_step) = 2) AND (num_nonnulls(credential_id, public_key, sign_count) = 0)) OR ((kind = 'passkey'::text) AND (num_nonnulls(secret, last_step) = 0) AND (num_nonnulls(credential_id, public_key, sign_count) = 3))))
);

CREATE TABLE public.server_keys (
    purpose text NOT NULL,
    key bytea NOT NULL
);

CREATE TABLE public.sessions (
    realm_id bigint NOT NULL,
    token_digest bytea NOT NULL,
    user_id bigint NOT NULL,
    user_agent text NOT NULL,
    began_at timestamp with time zone DEFAULT now() NOT NULL,
    ends_at timestamp with time zone NOT NULL
);

CREATE TABLE public.shipper_cursors (
    realm_id bigint NOT NULL,
    "position" bigint DEFAULT 0 NOT NULL,
    epoch bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

CREATE SEQUENCE public.slash_command_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.slash_commands (
    realm_id bigint NOT NULL,
    command_id bigint DEFAULT nextval('public.slash_command_ids'::regclass) NOT NULL,
    name text NOT NULL,
    folded_name text NOT NULL,
    description text NOT NULL,
    parameter_hint text NOT NULL,
    bot_id bigint NOT NULL
);

CREATE TABLE public.stepped_work (
    realm_id bigint NOT NULL,
    work_id uuid NOT NULL,
    plan jsonb NOT NULL,
    done bigint
);

CREATE TABLE public.submessages (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    id bigint NOT NULL,
    sender_id bigint NOT NULL,
    msg_type text NOT NULL,
    content text NOT NULL
);

CREATE TABLE public.undeliverable_addresses (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    address text NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    reason text NOT NULL,
    refused_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.unread_notices (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    spans int8multirange NOT NULL
);

CREATE TABLE public.upload_parts (
    realm_id bigint NOT NULL,
    upload_id text NOT NULL,
    start bigint NOT NULL,
    blob_key text NOT NULL
);

CREATE TABLE public.upload_space (
    realm_id bigint NOT NULL,
    bytes bigint DEFAULT 0 NOT NULL
);

CREATE TABLE public.user_activity (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    client text NOT NULL,
    what text NOT NULL,
    count bigint NOT NULL,
    last_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.user_groups (
    realm_id bigint NOT NULL,
    group_id bigint DEFAULT nextval('public.group_ids'::regclass) NOT NULL,
    name text NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    is_system_group boolean DEFAULT false NOT NULL,
    deactivated boolean DEFAULT false NOT NULL,
    creator_id bigint,
    created_at timestamp with time zone,
    permissions jsonb DEFAULT '{}'::jsonb NOT NULL,
    changed_at bigint DEFAULT 0 NOT NULL,
    folded_name text COLLATE pg_catalog."C"
);

CREATE SEQUENCE public.user_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.user_statuses (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    status_text text NOT NULL,
    emoji_name text NOT NULL,
    emoji_code text NOT NULL,
    reaction_type text NOT NULL
);

CREATE TABLE public.user_topics (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    topic_id bigint NOT NULL,
    visibility_policy smallint NOT NULL,
    last_updated timestamp with time zone NOT NULL
);

CREATE TABLE public.users (
    realm_id bigint NOT NULL,
    user_id bigint DEFAULT nextval('public.user_ids'::regclass) NOT NULL,
    email text NOT NULL,
    full_name text NOT NULL,
    role smallint NOT NULL,
    is_active boolean DEFAULT true NOT NULL,
    bot_type smallint,
    bot_owner_id bigint,
    is_system_bot boolean DEFAULT false NOT NULL,
    api_key text NOT NULL,
    password_hash text,
    avatar_source text DEFAULT 'G'::text NOT NULL,
    avatar_version integer DEFAULT 1 NOT NULL,
    timezone text DEFAULT ''::text NOT NULL,
    date_joined timestamp with time zone NOT NULL,
    settings jsonb DEFAULT '{}'::jsonb NOT NULL,
    changed_at bigint DEFAULT 0 NOT NULL,
    can_create_users boolean DEFAULT false NOT NULL,
    avatar_key text,
    folded_name text COLLATE pg_catalog."C",
    folded_email text COLLATE pg_catalog."C",
    credentials_changed_at timestamp with time zone,
    webhook_secret text,
    email_confirmed boolean DEFAULT true NOT NULL,
    stub text,
    is_deleted boolean DEFAULT false NOT NULL,
    CONSTRAINT users_bot_type_check CHECK ((bot_type = ANY (ARRAY[1, 2, 3, 4]))),
    CONSTRAINT users_role_check CHECK ((role = ANY (ARRAY[100, 200, 300, 400, 600]))),
    CONSTRAINT users_stub CHECK ((stub = ANY (ARRAY['imported'::text, 'created'::text])))
);

CREATE TABLE public.webhook_calls (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    trigger text NOT NULL,
    asked_at timestamp with time zone DEFAULT now() NOT NULL,
    is_handed boolean DEFAULT false NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    outcome text
);

CREATE TABLE public.webhook_deliveries (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    service text NOT NULL,
    outcome text NOT NULL,
    received_at timestamp with time zone NOT NULL
)
WITH (fillfactor='70');

CREATE TABLE public.workers (
    id text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    started_at timestamp with time zone NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    ship_lag_seconds double precision,
    queues jsonb NOT NULL,
    serves boolean DEFAULT false NOT NULL,
    state jsonb DEFAULT '{}'::jsonb NOT NULL,
    takes_mail boolean DEFAULT false NOT NULL
);

ALTER TABLE ONLY public.account_exports
    ADD CONSTRAINT account_exports_pkey PRIMARY KEY (realm_id, export_id);

ALTER TABLE ONLY public.alert_words
    ADD CONSTRAINT alert_words_pkey PRIMARY KEY (realm_id, user_id, word);

ALTER TABLE ONLY public.api_keys
    ADD CONSTRAINT api_keys_pkey PRIMARY KEY (realm_id, key_id);

ALTER TABLE ONLY public.attachment_messages
    ADD CONSTRAINT attachment_messages_pkey PRIMARY KEY (realm_id, message_id, attachment_id);

ALTER TABLE ONLY public.attachments
    ADD CONSTRAINT attachments_pkey PRIMARY KEY (realm_id, attachment_id);

ALTER TABLE ONLY public.audit_log
    ADD CONSTRAINT audit_log_pkey PRIMARY KEY (realm_id, audit_id);

ALTER TABLE ONLY public.bot_defaults
    ADD CONSTRAINT bot_defaults_pkey PRIMARY KEY (realm_id, bot_id);

ALTER TABLE ONLY public.bot_services
    ADD CONSTRAINT bot_services_pkey PRIMARY KEY (realm_id, bot_id);

ALTER TABLE ONLY public.bot_storage
    ADD CONSTRAINT bot_storage_pkey PRIMARY KEY (realm_id, user_id, key);

ALTER TABLE ONLY public.button_clicks
    ADD CONSTRAINT button_clicks_pkey PRIMARY KEY (realm_id, click_id);

ALTER TABLE ONLY public.button_clicks
    ADD CONSTRAINT button_clicks_realm_id_answer_token_key UNIQUE (realm_id, answer_token);

ALTER TABLE ONLY public.button_clicks
    ADD CONSTRAINT button_clicks_realm_id_message_id_user_id_local_id_key UNIQUE (realm_id, message_id, user_id, local_id);

ALTER TABLE ONLY public.call_tokens
    ADD CONSTRAINT call_tokens_pkey PRIMARY KEY (realm_id, user_id, service);

ALTER TABLE ONLY public.channel_folders
    ADD CONSTRAINT channel_folders_pkey PRIMARY KEY (realm_id, folder_id);

ALTER TABLE ONLY public.channel_read
    ADD CONSTRAINT channel_read_pkey PRIMARY KEY (realm_id, user_id, channel_id);

ALTER TABLE ONLY public.channel_traffic
    ADD CONSTRAINT channel_traffic_pkey PRIMARY KEY (realm_id, channel_id);

ALTER TABLE ONLY public.channels
    ADD CONSTRAINT channels_pkey PRIMARY KEY (realm_id, channel_id);

ALTER TABLE ONLY public.command_calls
    ADD CONSTRAINT command_calls_pkey PRIMARY KEY (realm_id, call_id);

ALTER TABLE ONLY public.command_calls
    ADD CONSTRAINT command_calls_realm_id_answer_token_key UNIQUE (realm_id, answer_token);

ALTER TABLE ONLY public.compliance_cases
    ADD CONSTRAINT compliance_cases_pkey PRIMARY KEY (realm_id, case_id);

ALTER TABLE ONLY public.compliance_officers
    ADD CONSTRAINT compliance_officers_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.compliance_rules
    ADD CONSTRAINT compliance_rules_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.confirmations
    ADD CONSTRAINT confirmations_pkey PRIMARY KEY (realm_id, confirmation_id);

ALTER TABLE ONLY public.conversation_read
    ADD CONSTRAINT conversation_read_pkey PRIMARY KEY (realm_id, user_id, conversation_id);

ALTER TABLE ONLY public.database_identity
    ADD CONSTRAINT database_identity_pkey PRIMARY KEY (is_only);

ALTER TABLE ONLY public.dead_jobs
    ADD CONSTRAINT dead_jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.default_channel_groups
    ADD CONSTRAINT default_channel_groups_pkey PRIMARY KEY (realm_id, group_id);

ALTER TABLE ONLY public.digests
    ADD CONSTRAINT digests_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.directory_ids
    ADD CONSTRAINT directory_ids_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.directory_ids
    ADD CONSTRAINT directory_ids_realm_id_directory_id_key UNIQUE (realm_id, directory_id);

ALTER TABLE ONLY public.dm_group_members
    ADD CONSTRAINT dm_group_members_pkey PRIMARY KEY (realm_id, user_id, dm_group_id);

ALTER TABLE ONLY public.dm_groups
    ADD CONSTRAINT dm_groups_pkey PRIMARY KEY (realm_id, dm_group_id);

ALTER TABLE ONLY public.done_jobs
    ADD CONSTRAINT done_jobs_pkey PRIMARY KEY (realm_id, queue, key);

ALTER TABLE ONLY public.drafts
    ADD CONSTRAINT drafts_pkey PRIMARY KEY (realm_id, user_id, draft_id);

ALTER TABLE ONLY public.email_batches
    ADD CONSTRAINT email_batches_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.ended_flows
    ADD CONSTRAINT ended_flows_pkey PRIMARY KEY (realm_id, flow_digest);

ALTER TABLE ONLY public.event_log
    ADD CONSTRAINT event_log_pkey PRIMARY KEY (realm_id, "position", day);

ALTER TABLE ONLY public.event_queues
    ADD CONSTRAINT event_queues_pkey PRIMARY KEY (realm_id, queue_id);

ALTER TABLE ONLY public.expired_messages
    ADD CONSTRAINT expired_messages_pkey PRIMARY KEY (realm_id, id);

ALTER TABLE ONLY public.former_attachment_messages
    ADD CONSTRAINT former_attachment_messages_pkey PRIMARY KEY (realm_id, attachment_id, message_id);

ALTER TABLE ONLY public.group_members
    ADD CONSTRAINT group_members_pkey PRIMARY KEY (realm_id, group_id, user_id);

ALTER TABLE ONLY public.group_subgroups
    ADD CONSTRAINT group_subgroups_pkey PRIMARY KEY (realm_id, group_id, subgroup_id);

ALTER TABLE ONLY public.held_files
    ADD CONSTRAINT held_files_pkey PRIMARY KEY (realm_id, attachment_id);

ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (realm_id, user_id, key);

ALTER TABLE ONLY public.import_keys
    ADD CONSTRAINT import_keys_pkey PRIMARY KEY (realm_id, import_id, kind, key);

ALTER TABLE ONLY public.import_requests
    ADD CONSTRAINT import_requests_pkey PRIMARY KEY (realm_id, request_id);

ALTER TABLE ONLY public.imported_ranges
    ADD CONSTRAINT imported_ranges_pkey PRIMARY KEY (realm_id, first_id);

ALTER TABLE ONLY public.imports
    ADD CONSTRAINT imports_pkey PRIMARY KEY (realm_id, import_id);

ALTER TABLE ONLY public.integration_messages
    ADD CONSTRAINT integration_messages_pkey PRIMARY KEY (realm_id, bot_id, about);

ALTER TABLE ONLY public.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (realm_id, invitation_id);

ALTER TABLE ONLY public.job_queues
    ADD CONSTRAINT job_queues_pkey PRIMARY KEY (queue);

ALTER TABLE ONLY public.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.legal_holds
    ADD CONSTRAINT legal_holds_pkey PRIMARY KEY (realm_id, hold_id);

ALTER TABLE ONLY public.linkifiers
    ADD CONSTRAINT linkifiers_pkey PRIMARY KEY (realm_id, linkifier_id);

ALTER TABLE ONLY public.linkifiers
    ADD CONSTRAINT linkifiers_realm_id_pattern_key UNIQUE (realm_id, pattern);

ALTER TABLE ONLY public.message_flags
    ADD CONSTRAINT message_flags_pkey PRIMARY KEY (realm_id, user_id, message_id);

ALTER TABLE ONLY public.message_terms
    ADD CONSTRAINT message_terms_pkey PRIMARY KEY (realm_id, message_id);

ALTER TABLE ONLY public.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (realm_id, id);

ALTER TABLE ONLY public.muted_users
    ADD CONSTRAINT muted_users_pkey PRIMARY KEY (realm_id, user_id, muted_user_id);

ALTER TABLE ONLY public.navigation_views
    ADD CONSTRAINT navigation_views_pkey PRIMARY KEY (realm_id, user_id, fragment);

ALTER TABLE ONLY public.notifications
    ADD CONSTRAINT notifications_pkey PRIMARY KEY (realm_id, user_id, message_id);

ALTER TABLE ONLY public.onboarding_steps
    ADD CONSTRAINT onboarding_steps_pkey PRIMARY KEY (realm_id, user_id, step);

ALTER TABLE ONLY public.playgrounds
    ADD CONSTRAINT playgrounds_pkey PRIMARY KEY (realm_id, playground_id);

ALTER TABLE ONLY public.playgrounds
    ADD CONSTRAINT playgrounds_realm_id_pygments_language_name_key UNIQUE (realm_id, pygments_language, name);

ALTER TABLE ONLY public.presence_clocks
    ADD CONSTRAINT presence_clocks_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.presences
    ADD CONSTRAINT presences_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.profile_fields
    ADD CONSTRAINT profile_fields_pkey PRIMARY KEY (realm_id, field_id);

ALTER TABLE ONLY public.profile_fields
    ADD CONSTRAINT profile_fields_realm_id_name_key UNIQUE (realm_id, name);

ALTER TABLE ONLY public.profile_values
    ADD CONSTRAINT profile_values_pkey PRIMARY KEY (realm_id, user_id, field_id);

ALTER TABLE ONLY public.push_devices
    ADD CONSTRAINT push_devices_pkey PRIMARY KEY (realm_id, user_id, device_id);

ALTER TABLE ONLY public.rate_limits
    ADD CONSTRAINT rate_limits_pkey PRIMARY KEY (key, window_start);

ALTER TABLE ONLY public.reaction_notifications
    ADD CONSTRAINT reaction_notifications_pkey PRIMARY KEY (realm_id, message_id);

ALTER TABLE ONLY public.reactions
    ADD CONSTRAINT reactions_pkey PRIMARY KEY (realm_id, message_id, user_id, reaction_type, emoji_code);

ALTER TABLE ONLY public.realm_clock
    ADD CONSTRAINT realm_clock_pkey PRIMARY KEY (realm_id, "position");

ALTER TABLE ONLY public.realm_domains
    ADD CONSTRAINT realm_domains_pkey PRIMARY KEY (realm_id, domain);

ALTER TABLE ONLY public.realm_emoji
    ADD CONSTRAINT realm_emoji_pkey PRIMARY KEY (realm_id, emoji_id);

ALTER TABLE ONLY public.realm_exports
    ADD CONSTRAINT realm_exports_pkey PRIMARY KEY (realm_id, export_id);

ALTER TABLE ONLY public.realms
    ADD CONSTRAINT realms_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.realms
    ADD CONSTRAINT realms_subdomain_key UNIQUE (subdomain);

ALTER TABLE ONLY public.recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (realm_id, user_id, digest);

ALTER TABLE ONLY public.reminders
    ADD CONSTRAINT reminders_pkey PRIMARY KEY (realm_id, reminder_id);

ALTER TABLE ONLY public.resumable_uploads
    ADD CONSTRAINT resumable_uploads_pkey PRIMARY KEY (realm_id, upload_id);

ALTER TABLE ONLY public.saved_snippets
    ADD CONSTRAINT saved_snippets_pkey PRIMARY KEY (realm_id, user_id, saved_snippet_id);

ALTER TABLE ONLY public.scheduled_messages
    ADD CONSTRAINT scheduled_messages_pkey PRIMARY KEY (realm_id, scheduled_message_id);

ALTER TABLE ONLY public.schema_functions
    ADD CONSTRAINT schema_functions_pkey PRIMARY KEY (area);

ALTER TABLE ONLY public.scim_accounts
    ADD CONSTRAINT scim_accounts_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.scim_allowances
    ADD CONSTRAINT scim_allowances_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.scim_groups
    ADD CONSTRAINT scim_groups_pkey PRIMARY KEY (realm_id, group_id);

ALTER TABLE ONLY public.scim_tokens
    ADD CONSTRAINT scim_tokens_pkey PRIMARY KEY (realm_id, token_id);

ALTER TABLE ONLY public.search_progress
    ADD CONSTRAINT search_progress_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.search_stale
    ADD CONSTRAINT search_stale_pkey PRIMARY KEY (realm_id, message_id);

ALTER TABLE ONLY public.second_factor_deadlines
    ADD CONSTRAINT second_factor_deadlines_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.second_factors
    ADD CONSTRAINT second_factors_pkey PRIMARY KEY (realm_id, factor_id);

ALTER TABLE ONLY public.server_keys
    ADD CONSTRAINT server_keys_pkey PRIMARY KEY (purpose);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (realm_id, token_digest);

ALTER TABLE ONLY public.shipper_cursors
    ADD CONSTRAINT shipper_cursors_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.slash_commands
    ADD CONSTRAINT slash_commands_pkey PRIMARY KEY (realm_id, command_id);

ALTER TABLE ONLY public.slash_commands
    ADD CONSTRAINT slash_commands_realm_id_folded_name_key UNIQUE (realm_id, folded_name);

ALTER TABLE ONLY public.stepped_work
    ADD CONSTRAINT stepped_work_pkey PRIMARY KEY (realm_id, work_id);

ALTER TABLE ONLY public.submessages
    ADD CONSTRAINT submessages_pkey PRIMARY KEY (realm_id, message_id, id);

ALTER TABLE ONLY public.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (realm_id, user_id, channel_id);

ALTER TABLE ONLY public.topics
    ADD CONSTRAINT topics_pkey PRIMARY KEY (realm_id, topic_id);

ALTER TABLE ONLY public.undeliverable_addresses
    ADD CONSTRAINT undeliverable_addresses_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.unread_notices
    ADD CONSTRAINT unread_notices_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.upload_parts
    ADD CONSTRAINT upload_parts_pkey PRIMARY KEY (realm_id, upload_id, start);

ALTER TABLE ONLY public.upload_space
    ADD CONSTRAINT upload_space_pkey PRIMARY KEY (realm_id);

ALTER TABLE ONLY public.user_activity
    ADD CONSTRAINT user_activity_pkey PRIMARY KEY (realm_id, user_id, client, what);

ALTER TABLE ONLY public.user_groups
    ADD CONSTRAINT user_groups_pkey PRIMARY KEY (realm_id, group_id);

ALTER TABLE ONLY public.user_statuses
    ADD CONSTRAINT user_statuses_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.user_topics
    ADD CONSTRAINT user_topics_pkey PRIMARY KEY (realm_id, user_id, topic_id);

ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (realm_id, user_id);

ALTER TABLE ONLY public.webhook_calls
    ADD CONSTRAINT webhook_calls_pkey PRIMARY KEY (realm_id, message_id, bot_id);

ALTER TABLE ONLY public.webhook_deliveries
    ADD CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (realm_id, bot_id);

ALTER TABLE ONLY public.workers
    ADD CONSTRAINT workers_pkey PRIMARY KEY (id);

CREATE INDEX account_exports_by_user ON public.account_exports USING btree (realm_id, user_id);

CREATE UNIQUE INDEX api_keys_digest ON public.api_keys USING btree (realm_id, digest);

CREATE INDEX api_keys_user ON public.api_keys USING btree (realm_id, user_id);

CREATE INDEX attachment_messages_attachment ON public.attachment_messages USING btree (realm_id, attachment_id, message_id);

CREATE INDEX attachments_blob ON public.attachments USING btree (realm_id, regexp_replace(path_id, '/[^/]*$'::text, ''::text));

CREATE INDEX attachments_owner ON public.attachments USING btree (realm_id, owner_id, attachment_id);

CREATE UNIQUE INDEX attachments_path ON public.attachments USING btree (realm_id, path_id);

CREATE INDEX audit_log_by_action ON public.audit_log USING btree (realm_id, action, audit_id);

CREATE INDEX audit_log_by_actor ON public.audit_log USING btree (realm_id, actor_id, audit_id);

CREATE INDEX button_clicks_by_age ON public.button_clicks USING btree (clicked_at);

CREATE UNIQUE INDEX channel_folders_folding ON public.channel_folders USING btree (realm_id, folded_name) WHERE (NOT is_archived);

CREATE UNIQUE INDEX channels_folding ON public.channels USING btree (realm_id, folded_name);

CREATE INDEX command_calls_by_age ON public.command_calls USING btree (called_at);

CREATE INDEX confirmations_tokens ON public.confirmations USING gin (token_digests);

CREATE INDEX confirmations_user ON public.confirmations USING btree (realm_id, user_id);

CREATE INDEX dead_jobs_queue ON public.dead_jobs USING btree (queue, died_at);

CREATE UNIQUE INDEX default_channel_groups_folding ON public.default_channel_groups USING btree (realm_id, folded_name);

CREATE UNIQUE INDEX dm_groups_user_ids ON public.dm_groups USING btree (realm_id, user_ids);

CREATE INDEX done_jobs_by_age ON public.done_jobs USING btree (done_at);

CREATE INDEX email_batches_unhanded ON public.email_batches USING btree (realm_id, opened_by) WHERE (NOT handed);

CREATE INDEX event_queues_last_seen ON public.event_queues USING btree (last_seen_at);

CREATE INDEX event_queues_user ON public.event_queues USING btree (realm_id, user_id);

CREATE INDEX expired_messages_age ON public.expired_messages USING btree (expired_at);

CREATE INDEX expired_messages_kept ON public.expired_messages USING btree (realm_id) WHERE is_kept_for_hold;

CREATE INDEX group_members_user ON public.group_members USING btree (realm_id, user_id);

CREATE INDEX idempotency_keys_created ON public.idempotency_keys USING btree (created_at);

CREATE INDEX integration_messages_changed_at ON public.integration_messages USING brin (changed_at);

CREATE INDEX invitations_email ON public.invitations USING btree (realm_id, lower(email)) WHERE (state = 'open'::text);

CREATE INDEX invitations_folded_emails ON public.invitations USING btree (realm_id, folded_email) WHERE (state = 'open'::text);

CREATE INDEX invitations_mailed ON public.invitations USING btree (realm_id, mailed_at);

CREATE INDEX jobs_due ON public.jobs USING btree (queue, due_at, id);

CREATE INDEX jobs_of_realm ON public.jobs USING btree (queue, realm_id, due_at, id);

CREATE INDEX legal_holds_active ON public.legal_holds USING btree (realm_id) WHERE (released_at IS NULL);

CREATE INDEX message_flags_historical ON public.message_flags USING btree (realm_id, user_id, message_id) WHERE ((flags & 32) <> 0);

CREATE INDEX message_flags_of_message ON public.message_flags USING btree (realm_id, message_id, user_id);

CREATE INDEX message_flags_starred ON public.message_flags USING btree (realm_id, user_id, message_id) WHERE ((flags & 2) <> 0);

CREATE INDEX message_flags_unread ON public.message_flags USING btree (realm_id, user_id, message_id) WHERE ((flags & 1) <> 0);

CREATE INDEX message_terms_keys ON public.message_terms USING gin (public.search_keys(realm_id, message_id, words)) WITH (fastupdate='on', gin_pending_list_limit='512');
ALTER INDEX public.message_terms_keys ALTER COLUMN 1 SET STATISTICS 0;

CREATE INDEX messages_channel ON public.messages USING btree (realm_id, channel_id, id) INCLUDE (conversation_id) WHERE (channel_id IS NOT NULL);

CREATE INDEX messages_come ON public.messages USING btree (realm_id, conversation_id, id) INCLUDE (origin_conversation_id) WHERE ((conversation_id <> origin_conversation_id) OR (entered_at IS NOT NULL));

CREATE INDEX messages_come_to_channel ON public.messages USING btree (realm_id, channel_id, id) INCLUDE (conversation_id, origin_conversation_id) WHERE ((conversation_id <> origin_conversation_id) OR (entered_at IS NOT NULL));

CREATE INDEX messages_conversation ON public.messages USING btree (realm_id, conversation_id, id);

CREATE INDEX messages_direct ON public.messages USING btree (realm_id, id) INCLUDE (conversation_id) WHERE (channel_id IS NULL);

CREATE INDEX messages_direct_wildcard ON public.messages USING btree (realm_id, conversation_id, id) WHERE ((origin_channel_id IS NULL) AND ((traits & 2) <> 0));

CREATE INDEX messages_holding ON public.messages USING btree (realm_id, id) INCLUDE (channel_id, conversation_id, traits) WHERE ((traits & 112) <> 0);

CREATE INDEX messages_moved_from ON public.messages USING btree (realm_id, origin_conversation_id, id) WHERE (conversation_id <> origin_conversation_id);

CREATE INDEX messages_moved_from_channel ON public.messages USING btree (realm_id, origin_channel_id, id) WHERE (conversation_id <> origin_conversation_id);

CREATE INDEX messages_notices ON public.messages USING btree (realm_id, channel_id, id) WHERE ((traits & 128) <> 0);

CREATE INDEX messages_pinned ON public.messages USING btree (realm_id, channel_id, id) WHERE ((traits & 512) <> 0);

CREATE INDEX messages_sender ON public.messages USING btree (realm_id, sender_id, id);

CREATE INDEX messages_wildcard ON public.messages USING btree (realm_id, origin_channel_id, id) WHERE ((traits & 2) <> 0);

CREATE INDEX notifications_age ON public.notifications USING brin (decided_at);

CREATE INDEX notifications_message ON public.notifications USING btree (realm_id, message_id);

CREATE INDEX open_button_clicks ON public.button_clicks USING btree (realm_id, message_id, click_id) WHERE is_open;

CREATE INDEX presences_by_update ON public.presences USING btree (realm_id, update_id);

CREATE INDEX profile_values_of_field ON public.profile_values USING btree (realm_id, field_id);

CREATE UNIQUE INDEX push_devices_account ON public.push_devices USING btree (realm_id, user_id, account_id) WHERE (account_id IS NOT NULL);

CREATE UNIQUE INDEX push_devices_browser ON public.push_devices USING btree (realm_id, endpoint) WHERE (endpoint IS NOT NULL);

CREATE INDEX push_devices_session ON public.push_devices USING btree (realm_id, session_digest) WHERE (session_digest IS NOT NULL);

CREATE UNIQUE INDEX push_devices_token ON public.push_devices USING btree (realm_id, user_id, kind, md5(token)) WHERE (token IS NOT NULL);

CREATE INDEX reaction_notifications_due ON public.reaction_notifications USING btree (due_at, realm_id);

CREATE INDEX reaction_notifications_of_user ON public.reaction_notifications USING btree (realm_id, user_id);

CREATE UNIQUE INDEX realm_emoji_name ON public.realm_emoji USING btree (realm_id, name) WHERE (NOT deactivated);

CREATE INDEX reminders_due ON public.reminders USING btree (due_at, realm_id) WHERE (failure IS NULL);

CREATE INDEX reminders_of_realm ON public.reminders USING btree (realm_id, due_at, reminder_id) WHERE (failure IS NULL);

CREATE INDEX reminders_of_user ON public.reminders USING btree (realm_id, user_id);

CREATE INDEX resumable_uploads_owner ON public.resumable_uploads USING btree (realm_id, owner_id);

CREATE INDEX scheduled_messages_due ON public.scheduled_messages USING btree (due_at, realm_id) WHERE (failure IS NULL);

CREATE INDEX scheduled_messages_of_realm ON public.scheduled_messages USING btree (realm_id, due_at, scheduled_message_id) WHERE (failure IS NULL);

CREATE INDEX scheduled_messages_of_sender ON public.scheduled_messages USING btree (realm_id, sender_id);

CREATE INDEX scim_accounts_closed ON public.scim_accounts USING btree (realm_id, closed_at) WHERE (closed_at IS NOT NULL);

CREATE UNIQUE INDEX scim_accounts_external_id ON public.scim_accounts USING btree (realm_id, external_id) WHERE (NOT is_deleted);

CREATE UNIQUE INDEX scim_accounts_user_name ON public.scim_accounts USING btree (realm_id, folded_user_name) WHERE (NOT is_deleted);

CREATE UNIQUE INDEX scim_tokens_digest ON public.scim_tokens USING btree (realm_id, digest);

CREATE UNIQUE INDEX second_factors_credential ON public.second_factors USING btree (realm_id, credential_id);

CREATE INDEX second_factors_of_user ON public.second_factors USING btree (realm_id, user_id);

CREATE INDEX sessions_user ON public.sessions USING btree (realm_id, user_id);

CREATE INDEX subscriptions_channel ON public.subscriptions USING btree (realm_id, channel_id, user_id) WHERE active;

CREATE INDEX subscriptions_left ON public.subscriptions USING btree (realm_id, channel_id, user_id) WHERE (NOT active);

CREATE INDEX subscriptions_noisy ON public.subscriptions USING btree (realm_id, channel_id, user_id) WHERE (active AND (push_notifications OR email_notifications));

CREATE INDEX topics_described ON public.topics USING btree (realm_id, channel_id) WHERE (description IS NOT NULL);

CREATE UNIQUE INDEX topics_folding ON public.topics USING btree (realm_id, channel_id, folded_name);

CREATE INDEX topics_pinned ON public.topics USING btree (realm_id, channel_id) WHERE (pinned_at IS NOT NULL);

CREATE INDEX topics_resolved ON public.topics USING btree (realm_id, channel_id, topic_id) WHERE ("left"(name, 2) = '✔ '::text);

CREATE INDEX upload_parts_blob ON public.upload_parts USING btree (realm_id, blob_key);

CREATE INDEX user_activity_age ON public.user_activity USING btree (last_at);

CREATE UNIQUE INDEX user_groups_folding ON public.user_groups USING btree (realm_id, folded_name);

CREATE INDEX user_topics_followers ON public.user_topics USING btree (realm_id, topic_id, user_id) WHERE (visibility_policy = 3);

CREATE INDEX users_api_key ON public.users USING btree (realm_id, sha256((api_key)::bytea));

CREATE INDEX users_changed ON public.users USING btree (realm_id, changed_at);

CREATE UNIQUE INDEX users_email ON public.users USING btree (realm_id, lower(email));

CREATE INDEX users_folded_emails ON public.users USING btree (realm_id, folded_email);

CREATE INDEX users_folded_names ON public.users USING btree (realm_id, folded_name);

CREATE INDEX users_inactive ON public.users USING btree (realm_id, user_id) WHERE (NOT is_active);

CREATE INDEX users_noisy ON public.users USING btree (realm_id, user_id) WHERE ((settings @> '{"enable_stream_push_notifications": true}'::jsonb) OR (settings @> '{"enable_stream_email_notifications": true}'::jsonb));

CREATE INDEX users_role ON public.users USING btree (realm_id, role);

CREATE INDEX users_without_presence ON public.users USING btree (realm_id, user_id) WHERE ((settings ->> 'presence_enabled'::text) = 'false'::text);

CREATE INDEX webhook_calls_by_age ON public.webhook_calls USING btree (asked_at);

CREATE TRIGGER fold_changed_email BEFORE UPDATE OF email ON public.invitations FOR EACH ROW WHEN (((new.email IS DISTINCT FROM old.email) AND (NOT (new.folded_email IS DISTINCT FROM old.folded_email)))) EXECUTE FUNCTION public.fold_email();

CREATE TRIGGER fold_changed_email BEFORE UPDATE OF email ON public.users FOR EACH ROW WHEN (((new.email IS DISTINCT FROM old.email) AND (NOT (new.folded_email IS DISTINCT FROM old.folded_email)))) EXECUTE FUNCTION public.fold_email();

CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON public.channel_folders FOR EACH ROW WHEN (((new.name IS DISTINCT FROM old.name) AND (NOT (new.folded_name IS DISTINCT FROM old.folded_name)))) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON public.channels FOR EACH ROW WHEN (((new.name IS DISTINCT FROM old.name) AND (NOT (new.folded_name IS DISTINCT FROM old.folded_name)))) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON public.default_channel_groups FOR EACH ROW WHEN (((new.name IS DISTINCT FROM old.name) AND (NOT (new.folded_name IS DISTINCT FROM old.folded_name)))) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON public.topics FOR EACH ROW WHEN (((new.name IS DISTINCT FROM old.name) AND (NOT (new.folded_name IS DISTINCT FROM old.folded_name)))) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_changed_name BEFORE UPDATE OF name ON public.user_groups FOR EACH ROW WHEN (((new.name IS DISTINCT FROM old.name) AND (NOT (new.folded_name IS DISTINCT FROM old.folded_name)))) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_changed_name BEFORE UPDATE OF full_name ON public.users FOR EACH ROW WHEN (((new.full_name IS DISTINCT FROM old.full_name) AND (NOT (new.folded_name IS DISTINCT FROM old.folded_name)))) EXECUTE FUNCTION public.fold_name('full_name');

CREATE TRIGGER fold_new_email BEFORE INSERT ON public.confirmations FOR EACH ROW WHEN ((new.folded_email IS NULL)) EXECUTE FUNCTION public.fold_email();

CREATE TRIGGER fold_new_email BEFORE INSERT ON public.invitations FOR EACH ROW WHEN ((new.folded_email IS NULL)) EXECUTE FUNCTION public.fold_email();

CREATE TRIGGER fold_new_email BEFORE INSERT ON public.users FOR EACH ROW WHEN ((new.folded_email IS NULL)) EXECUTE FUNCTION public.fold_email();

CREATE TRIGGER fold_new_name BEFORE INSERT ON public.channel_folders FOR EACH ROW WHEN ((new.folded_name IS NULL)) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_new_name BEFORE INSERT ON public.channels FOR EACH ROW WHEN ((new.folded_name IS NULL)) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_new_name BEFORE INSERT ON public.default_channel_groups FOR EACH ROW WHEN ((new.folded_name IS NULL)) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_new_name BEFORE INSERT ON public.topics FOR EACH ROW WHEN ((new.folded_name IS NULL)) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_new_name BEFORE INSERT ON public.user_groups FOR EACH ROW WHEN ((new.folded_name IS NULL)) EXECUTE FUNCTION public.fold_name('name');

CREATE TRIGGER fold_new_name BEFORE INSERT ON public.users FOR EACH ROW WHEN ((new.folded_name IS NULL)) EXECUTE FUNCTION public.fold_name('full_name');

CREATE TRIGGER forget_terms AFTER DELETE ON public.messages REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.forget_terms();

CREATE TRIGGER note_stale_terms AFTER UPDATE OF rendered_content ON public.messages FOR EACH ROW WHEN ((old.rendered_content IS DISTINCT FROM new.rendered_content)) EXECUTE FUNCTION public.note_stale_terms();

ALTER TABLE ONLY public.push_devices
    ADD CONSTRAINT push_devices_of_session FOREIGN KEY (realm_id, session_digest) REFERENCES public.sessions(realm_id, token_digest) ON DELETE CASCADE;

ALTER TABLE ONLY public.upload_parts
    ADD CONSTRAINT upload_parts_of_upload FOREIGN KEY (realm_id, upload_id) REFERENCES public.resumable_uploads(realm_id, upload_id) ON DELETE CASCADE;
