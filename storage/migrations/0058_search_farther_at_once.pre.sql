-- narrowed_before and narrowed_after as they were, but that a search looks sixteen times as far, and not
-- four times, where the index had next to nothing to give; and where it gave nothing, nothing is looked at.
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
        WHILE v_start <= cardinality(v_piece) LOOP
            v_found := v_found || narrow_filter(
                p_realm_id, p_user_id, p_is_open OR v_driver = 'history', p_is_open, p_channels,
                p_partial_channels, p_conversations, p_partial_conversations, p_extra, p_terms,
                v_piece[v_start : v_start + v_size - 1]);
            v_start := v_start + v_size;
            EXIT WHEN cardinality(v_found) >= p_limit;
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
            v_blocks := CASE v_driver WHEN 'search' THEN least(256, v_blocks * CASE
                             -- The newest block may be nearly empty, and says nothing of others.
                             WHEN v_blocks > 1 AND 50 * cardinality(v_piece) < v_size THEN 16
                             ELSE 4 END) ELSE 1 END;
            v_size := least(4 * v_size, 10000);
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
