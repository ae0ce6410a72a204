-- Descriptions of topics: their events. Each event has the topics of a channel that have changed;
-- one without a description has empty texts.

-- A topic in an event.
CREATE OR REPLACE FUNCTION described_topic(p_name text, p_description text, p_rendered text)
    RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_build_object('topic', p_name, 'description', coalesce(p_description, ''),
                              'rendered_description', coalesce(p_rendered, ''))
$$;

-- Topics in an event: those that have no description any more, and others as they are.
CREATE OR REPLACE FUNCTION described_topics(p_realm_id bigint, p_gone text[], p_topic_ids bigint[])
    RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_build_object('topics', coalesce(jsonb_agg(e.topic ORDER BY e.is_there, e.place), '[]'))
      FROM (SELECT false AS is_there, g.place, described_topic(g.name, NULL, NULL) AS topic
              FROM unnest(p_gone) WITH ORDINALITY AS g(name, place)
             UNION ALL
            SELECT true, t.topic_id, described_topic(t.name, t.description, t.rendered_description)
              FROM topics t
             WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_topic_ids)) e
$$;

-- Append these topics of a channel, or all that have a description, with the clock locked, for its
-- subscribers or for those of p_user_ids; before them p_gone, names without a description any more,
-- as objects with `topic` and its readers: `user_ids`, or those of the topic `topic_id`.
CREATE OR REPLACE FUNCTION append_described_topics(
    p_realm_id bigint, p_channel_id bigint, p_user_ids bigint[], p_topic_ids bigint[],
    p_gone jsonb, p_write_id uuid)
    RETURNS void
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

-- Append, with the clock locked, what each subscriber of a channel may not read any more after its
-- history was hidden.
CREATE OR REPLACE FUNCTION append_hidden_descriptions(
    p_realm_id bigint, p_channel_id bigint, p_write_id uuid)
    RETURNS void
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
