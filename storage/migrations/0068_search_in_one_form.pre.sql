-- What is searched, and what is sought, in the same letters: composed (text from a Mac is often not),
-- small, and where one letter has two small forms, in one: the last sigma of a word is written like
-- the others, and the Turkish dotted I, which becomes an i with a dot where the locale says so, like
-- an i. server/domain/folding.py does the same to what is sought. Most texts have ASCII letters alone,
-- and pay for nothing but the look.
--
-- What has been indexed before stays as it is, and is found as it was: whatever is written with
-- composed letters, with a sigma at the end as well, since a search for one asks for both
-- (storage/search.py). What was sent decomposed is not found until it is edited, or until a change of
-- the organization's language makes its index anew. While a release still runs that does not fold
-- what is sought, it does not find a last sigma in what is indexed from now on.
CREATE FUNCTION search_folded(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT CASE WHEN octet_length(p_text) = length(p_text) THEN lower(p_text)
                ELSE replace(replace(
                         lower(CASE WHEN p_text IS NFC NORMALIZED THEN p_text
                                    ELSE normalize(p_text, NFC) END),
                         U&'\03C2', U&'\03C3'), U&'i\0307', 'i')
           END
$$;

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
                   SELECT E'\x01' || search_folded(t.name) FROM topics t
                    WHERE t.realm_id = p_realm_id AND t.topic_id = m.conversation_id), ''),
               v_language, v_patterns, v_starts, v_stems));
END $$;
