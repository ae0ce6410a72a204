-- A page of one place is read off its index; a search in one first looks at its newest messages; and
-- texts are compared all at once, one by one only where that does not decide.

-- Nothing is looked up where no term but a search has something to say.
CREATE OR REPLACE FUNCTION narrow_filter(
    p_realm_id bigint, p_user_id bigint, p_anywhere boolean, p_is_open boolean,
    p_channels bigint[], p_partial_channels bigint[], p_conversations bigint[],
    p_partial_conversations bigint[], p_extra bigint[], p_terms jsonb, p_ids bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
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
                    AND (SELECT s.spans @> m.id FROM subscriptions s
                          WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                            AND s.channel_id = m.origin_channel_id)))
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

-- Those of the messages whose text or topic has all words of p_search. Of most the text that is kept
-- decides: it has all words as they are, or nothing of which one of the stems could be. What is left
-- goes to search_accepts: what is not kept, or edited, or in a topic whose name has one of the words.
CREATE FUNCTION search_matches(p_realm_id bigint, p_ids bigint[], p_search jsonb)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
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
    -- Without parts nobody has looked for topics.
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
                   SELECT E'\x01' || lower(t.name) FROM topics t
                    WHERE t.realm_id = p_realm_id AND t.topic_id = m.conversation_id), ''),
               v_language, v_patterns, v_starts, v_stems));
END $$;

CREATE OR REPLACE FUNCTION search_filter(p_realm_id bigint, p_ids bigint[], p_search jsonb, p_not jsonb)
    RETURNS bigint[]
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

-- Of a query for many blocks the index looks at each key beside all others before it looks for any:
-- so it is asked for a few blocks at once.
CREATE OR REPLACE FUNCTION search_window(p_realm_id bigint, p_search jsonb, p_low bigint, p_high bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
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

-- history_before and history_after as they were, but that a single source needs no merging.
DO $do$
DECLARE
    template text := $fn$
CREATE OR REPLACE FUNCTION history_%1$s(
    p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[],
    p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[],
    p_edge bigint, p_limit bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
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
                            AND m.id %2$s p_edge
                          ORDER BY m.id %3$s LIMIT p_limit);
        ELSIF p_channels = '{}' AND cardinality(p_conversations) = 1 THEN
            RETURN ARRAY(SELECT m.id FROM messages m
                          WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversations[1]
                            AND m.id %2$s p_edge
                          ORDER BY m.id %3$s LIMIT p_limit);
        END IF;
    END IF;
    RETURN ARRAY(
    WITH shares AS MATERIALIZED (
        SELECT c.id AS source, m.id
          FROM unnest(p_channels) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id AND m.id %2$s p_edge
                ORDER BY m.id %3$s LIMIT v_share) m
        UNION ALL
        SELECT c.id, m.id
          FROM unnest(v_sharing_conversations) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id AND m.id %2$s p_edge
                ORDER BY m.id %3$s LIMIT v_share) m
    ), bound AS MATERIALIZED (
        -- No id beyond this one can be on the page.
        SELECT coalesce((SELECT s.id FROM shares s ORDER BY s.id %3$s OFFSET p_limit - 1 LIMIT 1),
                        %5$s) AS id
    ), more AS MATERIALIZED (
        -- A source of whose share everything may be on the page is asked for the rest.
        SELECT s.source, %4$s(s.id) AS id
          FROM shares s CROSS JOIN bound b
         GROUP BY s.source, b.id HAVING count(*) = v_share AND b.id %6$s %4$s(s.id)
    )
    SELECT page.id FROM (
        SELECT s.id FROM shares s
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = f.source
                  AND m.id %6$s f.id AND m.id %7$s b.id
                ORDER BY m.id %3$s LIMIT p_limit) m
         WHERE p_channels <> '{}'
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = f.source
                  AND m.id %6$s f.id AND m.id %7$s b.id
                ORDER BY m.id %3$s LIMIT p_limit) m
         WHERE p_channels = '{}'
        UNION ALL
        SELECT m.id FROM unnest(v_other_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.id %2$s p_edge AND m.id %7$s b.id
                ORDER BY m.id %3$s LIMIT p_limit) m
        UNION ALL
        SELECT e.id FROM unnest(p_extra) AS e(id) WHERE e.id %2$s p_edge
        UNION ALL
        -- Of partial sources, what was sent there while the reader was in the channel ...
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
          JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
               AND s.channel_id = c.id
         CROSS JOIN LATERAL unnest(s.spans) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND m.id >= lower(p.span) AND m.id < coalesce(upper(p.span), 9223372036854775807)
                  AND m.id %2$s p_edge AND m.id %7$s b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id %3$s LIMIT p_limit) m
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
                  AND m.id %2$s p_edge AND m.id %7$s b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id %3$s LIMIT p_limit) m
        UNION ALL
        -- ... and what was received elsewhere and has been moved there.
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND m.conversation_id <> m.origin_conversation_id
                  AND m.id %2$s p_edge AND m.id %7$s b.id AND m.origin_channel_id <> m.channel_id
                  AND (SELECT s.spans @> m.id FROM subscriptions s
                        WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                          AND s.channel_id = m.origin_channel_id)
                ORDER BY m.id %3$s LIMIT p_limit) m
        UNION ALL
        SELECT m.id
          FROM unnest(p_partial_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.conversation_id <> m.origin_conversation_id
                  AND m.id %2$s p_edge AND m.id %7$s b.id AND m.origin_channel_id <> m.channel_id
                  AND (SELECT s.spans @> m.id FROM subscriptions s
                        WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                          AND s.channel_id = m.origin_channel_id)
                ORDER BY m.id %3$s LIMIT p_limit) m) page
     ORDER BY page.id %3$s LIMIT p_limit);
END $$;
$fn$;
BEGIN
    EXECUTE format(template, 'before', '<=', 'DESC', 'min', '0', '<', '>=');
    EXECUTE format(template, 'after', '>=', 'ASC', 'max', '9223372036854775807', '>', '<=');
END $do$;

-- What the narrow's driver gives is looked at piece by piece, in growing pieces, until there are enough.
-- A search in a place begins with a walk: what is common is found at once, and what is rare has cost
-- little.
DO $do$
DECLARE
    template text := $fn$
CREATE OR REPLACE FUNCTION narrowed_%1$s(
    p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[],
    p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[],
    p_is_open boolean, p_driver text, p_terms jsonb, p_ids bigint[], p_edge bigint, p_limit bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    v_position bigint := (
        SELECT c.position FROM realm_clock c WHERE c.realm_id = p_realm_id
         ORDER BY c.position DESC LIMIT 1);
    v_edge bigint := least(p_edge, v_position + 1);
    c_few CONSTANT bigint := 2000;
    -- In everything that somebody reads the index is as quick.
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
            v_far := %6$s;
            v_piece := ARRAY(
                SELECT i FROM unnest(search_window(p_realm_id, p_terms -> 'search', %7$s)) AS i
                 ORDER BY i %3$s);
        ELSIF v_driver = 'history' THEN
            v_piece := coalesce(
                CASE WHEN cardinality(p_channels) > 3 AND v_size <= 1000 THEN walk_%1$s(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_extra, v_edge, v_size) END,
                history_%1$s(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, v_size));
        ELSE
            v_piece := driven_%1$s(
                p_realm_id, p_channels || p_partial_channels,
                p_conversations || p_partial_conversations, p_extra, p_is_open, v_driver, p_terms,
                p_ids, v_edge, v_size);
        END IF;
        -- A block may hold many that match: no more of them are looked at than are needed.
        v_start := 1;
        LOOP
            v_found := v_found || narrow_filter(
                p_realm_id, p_user_id, p_is_open OR v_driver = 'history', p_is_open, p_channels,
                p_partial_channels, p_conversations, p_partial_conversations, p_extra, p_terms,
                v_piece[v_start : v_start + v_size - 1]);
            v_start := v_start + v_size;
            EXIT WHEN cardinality(v_found) >= p_limit OR v_start > cardinality(v_piece);
        END LOOP;
        EXIT WHEN cardinality(v_found) >= p_limit
            OR CASE v_driver WHEN 'search' THEN %8$s ELSE cardinality(v_piece) < v_size END;
        v_edge := CASE v_driver WHEN 'search' THEN v_far
                  ELSE (SELECT %4$s(i) FROM unnest(v_piece) AS i) END %5$s 1;
        v_looked := v_looked + cardinality(v_piece);
        IF v_walks_first AND v_driver = 'history' AND NOT v_is_small
                AND (v_looked >= c_few OR cardinality(v_found) * c_few < p_limit * v_looked) THEN
            -- So few of them are not worth a walk, but of what is short.
            v_is_small := cardinality(history_%1$s(
                p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                p_partial_conversations, p_extra, v_edge, c_few)) < c_few;
            v_driver := CASE WHEN v_is_small THEN 'history' ELSE 'search' END;
            v_size := CASE WHEN v_is_small THEN c_few ELSE greatest(2 * p_limit, 200) END;
        ELSE
            v_size := least(4 * v_size, 10000);
            v_blocks := CASE v_driver WHEN 'search' THEN least(4 * v_blocks, 256) ELSE 1 END;
        END IF;
    END LOOP;
    RETURN ARRAY(SELECT i FROM unnest(v_found) AS i ORDER BY i %3$s LIMIT p_limit);
END $$;
$fn$;
BEGIN
    EXECUTE format(template, 'before', '<=', 'DESC', 'min', '-',
                   'greatest(0, ((v_edge >> 13) - v_blocks + 1) << 13)', 'v_far, v_edge',
                   'v_far = 0');
    EXECUTE format(template, 'after', '>=', 'ASC', 'max', '+',
                   '(((v_edge >> 13) + v_blocks) << 13) - 1', 'v_edge, least(v_far, v_position)',
                   'v_far >= v_position');
END $do$;

CREATE OR REPLACE FUNCTION narrowed_page(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], p_driver text, p_terms jsonb, p_ids bigint[], p_kinds text[],
    p_mentioned bigint[], p_unread_limit bigint,
    p_below bigint, p_before bigint, p_from bigint, p_after bigint)
    RETURNS bigint[]
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
    -- A place of few messages is walked, whatever else is asked of them; a search begins so anyhow.
    IF (v_driver IN ('sender', 'held', 'reacted')
            OR (v_driver = 'search' AND cardinality(s.r_channels) > 3)) AND p_scope IN ('given', 'direct')
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
