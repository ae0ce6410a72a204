-- The full-text index.

-- The text of rendered content that is searched.
CREATE OR REPLACE FUNCTION search_text(p_html text) RETURNS text
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

-- Fold text before it is indexed or searched: composed, in lower case, and with one form for
-- letters that have two: the final sigma becomes a sigma, and the i with a dot that lower() makes
-- of the dotted Turkish I an i. server/domain/folding.py does the same to search words. ASCII text,
-- which most is, costs one check.
--
-- Messages indexed before keep their keys, and searches ask for both forms of a sigma
-- (storage/search.py). Decomposed text that was indexed before is not found until it is edited, or
-- the realm is indexed anew after a change of language.
CREATE OR REPLACE FUNCTION search_folded(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN octet_length(p_text) = length(p_text) THEN lower(p_text)
                ELSE replace(replace(
                         lower(CASE WHEN p_text IS NFC NORMALIZED THEN p_text
                                    ELSE normalize(p_text, NFC) END),
                         U&'\03C2', U&'\03C3'), U&'i\0307', 'i')
           END
$$;

-- Words of a text, and lexemes (with =) that are not among its words.
CREATE OR REPLACE FUNCTION search_words(p_language regconfig, p_text text) RETURNS text
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

-- Search keys of a message: its lexemes, and those with the block of the message, for searches in a
-- range. The index message_terms_keys is over this function: do not change it, add another.
--
-- In PL/pgSQL: of 50 us that indexing a message cost, an SQL expression took 40 to start its query;
-- this takes 7.
CREATE OR REPLACE FUNCTION search_keys(p_realm_id bigint, p_message_id bigint, p_words text) RETURNS tsvector
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

-- Whether a message's text matches all words; each has a LIKE pattern or a regular expression, and
-- perhaps a stem.
CREATE OR REPLACE FUNCTION search_accepts(
    p_realm_id bigint, p_message_id bigint, p_text text, p_language regconfig,
    p_patterns text[], p_starts text[], p_stems text[])
    RETURNS boolean
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

-- Messages, of these topics or of all, whose keys match the query.
CREATE OR REPLACE FUNCTION search_indexed(p_realm_id bigint, p_query tsquery, p_topics bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    -- By the keys, which contain the realm, never by the realm alone.
    SET enable_seqscan = off
    SET enable_indexscan = off
    SET plan_cache_mode = force_generic_plan
    SET jit = off
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

-- Matches between two ids from the index. It is asked for a few blocks at a time: for a query over
-- many blocks it looks up each key of all blocks before it can match any.
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

-- Those of the ids that match the search.
CREATE OR REPLACE FUNCTION search_matches(p_realm_id bigint, p_ids bigint[], p_search jsonb) RETURNS bigint[]
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

-- Those of the ids that match p_search and do not match p_not.
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

-- Trigger: mark an edited message for indexing.
CREATE OR REPLACE FUNCTION note_stale_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM message_terms t WHERE t.realm_id = NEW.realm_id AND t.message_id = NEW.id;
    INSERT INTO search_stale (realm_id, message_id) VALUES (NEW.realm_id, NEW.id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;

-- Trigger: delete the terms of deleted messages. A message that is not indexed leaves a mark, like
-- an edited one: the worker that may be indexing it at that moment removes it again, and needs no
-- lock on the messages it reads.
CREATE OR REPLACE FUNCTION forget_terms() RETURNS trigger
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
