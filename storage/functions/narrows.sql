-- Pages of history that match search terms.

-- A list of ids among the terms. In PL/pgSQL, because an SQL function was planned anew by each of
-- six calls per piece, and most lists are empty.
CREATE OR REPLACE FUNCTION ids_of(p_terms jsonb, p_name text)
RETURNS bigint[] LANGUAGE plpgsql IMMUTABLE
AS $$
BEGIN
    IF coalesce(p_terms -> p_name, '[]') = '[]' THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(SELECT i::bigint FROM jsonb_array_elements_text(p_terms -> p_name) AS i);
END $$;

-- Those of the ids that the reader may see and that match all terms, sorted. Looks up nothing if
-- only search terms are left.
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
    v_not_wildcards boolean := v_not_flags & {MENTIONED} <> 0;
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
                WHERE f.flags & {MENTIONED} <> 0)) END;
    IF jsonb_typeof(p_terms -> 'search') = 'object' OR p_terms -> 'not_searches' <> '[]' THEN
        v_ids := search_filter(
            p_realm_id, v_ids, p_terms -> 'search', p_terms -> 'not_searches');
    END IF;
    IF p_is_open OR v_not_flags <> 0 THEN
        v_ids := ARRAY(
            SELECT s.id FROM message_states(p_realm_id, p_user_id, v_ids) s
             WHERE s.accessible AND s.flags & v_not_flags & ~{UNREAD} = 0
               AND (v_not_flags & {UNREAD} = 0 OR NOT s.unread)
               AND NOT (v_not_wildcards AND s.received AND s.traits & {CHANNEL_WILDCARD} <> 0));
    END IF;
    RETURN v_ids;
END $$;

-- Candidates from the index that suits the terms best (p_driver): driven_before the newest at or
-- below p_edge, driven_after the oldest at or above it.
-- @each way = before | after
-- @within = <= | >=
-- @order = DESC | ASC
CREATE OR REPLACE FUNCTION driven_@way(
    p_realm_id bigint, p_channels bigint[], p_conversations bigint[], p_extra bigint[],
    p_is_open boolean, p_driver text, p_terms jsonb, p_ids bigint[], p_edge bigint, p_limit bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
    AS $$
DECLARE
    v_traits integer := coalesce((p_terms ->> 'traits')::integer, 0);
BEGIN
    CASE p_driver
    WHEN 'ids' THEN
        RETURN ARRAY(SELECT DISTINCT i FROM unnest(p_ids) AS i WHERE i @within p_edge
                      ORDER BY i @order LIMIT p_limit);
    WHEN 'sender' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.sender_id = (p_terms ->> 'sender')::bigint
                        AND m.id @within p_edge
                      ORDER BY m.id @order LIMIT p_limit);
    WHEN 'held' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      -- From the index alone: most messages with the traits may be elsewhere.
                      WHERE m.realm_id = p_realm_id AND m.traits & {HAS_LINK | HAS_IMAGE | HAS_ATTACHMENT} <> 0 AND m.id @within p_edge
                        AND m.traits & v_traits = v_traits
                        AND (p_is_open OR m.channel_id IN (SELECT unnest(p_channels))
                             OR m.conversation_id IN (SELECT unnest(p_conversations))
                             OR m.id IN (SELECT unnest(p_extra)))
                      ORDER BY m.id @order LIMIT p_limit);
    WHEN 'reacted' THEN
        RETURN ARRAY(SELECT DISTINCT r.message_id FROM reactions r
                      WHERE r.realm_id = p_realm_id AND r.message_id @within p_edge
                      ORDER BY r.message_id @order LIMIT p_limit);
    END CASE;
END $$;
-- @end

-- narrowed_before returns the newest p_limit ids at or below p_edge that are in the sources and
-- match the terms, narrowed_after the oldest at or above it. The candidates of the driver are
-- filtered in growing pieces until there are enough. A search looks sixteen times as far where the
-- index had next to nothing.
-- @each way = before | after
-- @order = DESC | ASC
-- @farthest = min | max
-- @step = - | +
-- @edge_of_blocks = greatest(0, ((v_edge >> 13) - v_blocks + 1) << 13) | (((v_edge >> 13) + v_blocks) << 13) - 1
-- @window = v_far, v_edge | v_edge, least(v_far, v_position)
-- @is_last = v_far = 0 | v_far >= v_position
CREATE OR REPLACE FUNCTION narrowed_@way(
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
            v_far := @edge_of_blocks;
            v_piece := ARRAY(
                SELECT i FROM unnest(search_window(p_realm_id, p_terms -> 'search', @window)) AS i
                 ORDER BY i @order);
        ELSIF v_driver = 'history' THEN
            v_piece := coalesce(
                CASE WHEN cardinality(p_channels) > 3 AND v_size <= 1000 THEN walk_@way(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_extra, v_edge, v_size) END,
                history_@way(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, v_size));
        ELSE
            v_piece := driven_@way(
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
            OR CASE v_driver WHEN 'search' THEN @is_last ELSE cardinality(v_piece) < v_size END;
        v_edge := CASE v_driver WHEN 'search' THEN v_far
                  ELSE (SELECT @farthest(i) FROM unnest(v_piece) AS i) END @step 1;
        v_looked := v_looked + cardinality(v_piece);
        IF v_walks_first AND v_driver = 'history' AND NOT v_is_small
                AND (v_looked >= c_few OR cardinality(v_found) * c_few < p_limit * v_looked) THEN
            -- With so few matches, walk only if the rest is short.
            v_is_small := cardinality(history_@way(
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
    RETURN ARRAY(SELECT i FROM unnest(v_found) AS i ORDER BY i @order LIMIT p_limit);
END $$;
-- @end

-- A page of matching history around an anchor. Where the sources hold few messages they are walked,
-- whatever the terms.
CREATE OR REPLACE FUNCTION narrowed_page(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], p_driver text, p_terms jsonb, p_ids bigint[], p_kinds text[],
    p_mentioned bigint[], p_unread_limit bigint, p_below bigint, p_before bigint,
    p_from bigint, p_after bigint)
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
             WHERE f.realm_id = p_realm_id AND f.user_id = v_user_id AND f.flags & {MENTIONED} <> 0);
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
