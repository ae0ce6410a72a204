-- Narrows: pages of what meets all terms, however selective each of them is. A page is walked
-- outwards from its anchor: one of the terms gives ids in order (its driver), the others filter.

-- The few messages that hold a link, an image or a file: traits 16, 32, 64.
CREATE INDEX messages_holding ON messages (realm_id, id)
    INCLUDE (channel_id, conversation_id, traits)
    WHERE traits & 112 <> 0;
CREATE INDEX topics_resolved ON topics (realm_id, channel_id, topic_id) WHERE left(name, 2) = '✔ ';

-- Who has left a channel may have read what they received there before.
CREATE INDEX subscriptions_left ON subscriptions (realm_id, channel_id, user_id) WHERE NOT active;

CREATE FUNCTION ids_of(p_terms jsonb, p_name text) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT ARRAY(SELECT i::bigint FROM jsonb_array_elements_text(p_terms -> p_name) AS i) $$;

-- Those of the messages that are in the sources (p_anywhere: which need not be asked) and meet the
-- terms, which storage/history.py names. Whether the reader may read them is only asked with
-- p_is_open: where the sources have not made sure of it.
CREATE FUNCTION narrow_filter(
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
    v_ids := ARRAY(
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
                WHERE f.flags & 8 <> 0));
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

-- ---------------------------------------------------------------- search
-- docs/adr/0013-search.md. A text matches a word if it contains it (a word of one or two ASCII
-- letters: if some word begins with it), or if one of its words has the same stem.

-- What readers see of each message (search_text) as a worker has last seen it, its words, and
-- '=stem' for stems that do not occur in the text. The index is on the keys of the words.
CREATE TABLE message_terms (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    words text NOT NULL,
    text text NOT NULL,
    PRIMARY KEY (realm_id, message_id)
);
-- How far it has come: what lies above is searched as it is.
CREATE TABLE search_progress (
    realm_id bigint PRIMARY KEY,
    indexed bigint NOT NULL DEFAULT 0,
    language text NOT NULL
);
-- Messages that have been edited since: searched as they are, too.
CREATE TABLE search_stale (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    PRIMARY KEY (realm_id, message_id)
);

-- What is searched of a rendered message, in small letters: the text that its readers see, where
-- inline elements join and blocks separate. After it, each behind \x01, which no phrase crosses:
-- the characters of its emoji, the targets of its links and their titles.
CREATE FUNCTION search_text(p_html text) RETURNS text
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
    RETURN lower(v_text);
END $$;

CREATE FUNCTION search_words(p_language regconfig, p_text text) RETURNS text
    LANGUAGE sql STABLE
    AS $$
    SELECT coalesce(string_agg(f.word, ' '), '') FROM (
        SELECT w[1] AS word FROM regexp_matches(lower(p_text), '\w+', 'g') AS w
        UNION
        SELECT '=' || s.lexeme FROM unnest(to_tsvector(p_language, p_text)) AS s
         WHERE s.lexeme !~ '\W' AND strpos(lower(p_text), s.lexeme) = 0) f
$$;

-- What the index holds of a message: every end of every word, cut at six characters, under its
-- realm and the block of 8,192 positions: whoever wants the newest looks into the last blocks
-- only, however many messages a word is in. Ends of less than three ASCII letters are left out.
CREATE FUNCTION search_keys(p_realm_id bigint, p_message_id bigint, p_words text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$
    SELECT array_to_tsvector(ARRAY(
        SELECT p_realm_id || '.' || (p_message_id >> 13) || '.' ||
               CASE WHEN left(w, 1) = '=' THEN w ELSE substr(w, i, 6) END
          FROM string_to_table(p_words, ' ') AS w
         CROSS JOIN LATERAL generate_series(1, CASE
               WHEN left(w, 1) = '=' THEN 1
               WHEN octet_length(w) > length(w) THEN length(w)
               ELSE greatest(1, length(w) - 2) END) AS i
         WHERE w <> ''))
$$;
CREATE INDEX message_terms_keys ON message_terms USING gin (search_keys(realm_id, message_id, words))
    WITH (fastupdate = off);
ALTER INDEX message_terms_keys ALTER COLUMN 1 SET STATISTICS 0;

CREATE FUNCTION forget_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM message_terms t USING gone g
     WHERE t.realm_id = g.realm_id AND t.message_id = g.id;
    RETURN NULL;
END $$;
CREATE TRIGGER forget_terms AFTER DELETE ON messages
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION forget_terms();

CREATE FUNCTION note_stale_terms() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM message_terms t WHERE t.realm_id = NEW.realm_id AND t.message_id = NEW.id;
    INSERT INTO search_stale (realm_id, message_id) VALUES (NEW.realm_id, NEW.id)
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END $$;
CREATE TRIGGER note_stale_terms AFTER UPDATE OF rendered_content ON messages FOR EACH ROW
    WHEN (OLD.rendered_content IS DISTINCT FROM NEW.rendered_content)
    EXECUTE FUNCTION note_stale_terms();

-- Whether a message's text matches all of the words: each has a pattern for LIKE or a regular
-- expression, and perhaps a stem.
CREATE FUNCTION search_accepts(
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
        -- The stems of indexed messages are known, but for those that occur in the text.
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

-- Those of the messages whose text or topic has all words of p_search, and all words of none of
-- p_not.
CREATE FUNCTION search_filter(p_realm_id bigint, p_ids bigint[], p_search jsonb, p_not jsonb)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
DECLARE
    v_ids bigint[] := p_ids;
    v_one jsonb;
    v_wanted boolean;
    v_stale bigint[] := ARRAY(
        SELECT x.message_id FROM search_stale x
         WHERE x.realm_id = p_realm_id AND x.message_id = ANY (p_ids));
BEGIN
    FOR v_one, v_wanted IN
        SELECT p_search, true WHERE jsonb_typeof(p_search) = 'object'
        UNION ALL
        SELECT n, false FROM jsonb_array_elements(p_not) AS n
    LOOP
        v_ids := ARRAY(
            SELECT m.id FROM messages m
             WHERE m.realm_id = p_realm_id AND m.id = ANY (v_ids)
               AND v_wanted = search_accepts(
                   p_realm_id, m.id,
                   coalesce((
                       SELECT k.text FROM message_terms k
                        WHERE k.realm_id = p_realm_id AND k.message_id = m.id
                          AND m.id <> ALL (v_stale)), search_text(m.rendered_content))
                   || coalesce((
                       SELECT E'\x01' || lower(t.name) FROM topics t
                        WHERE t.realm_id = p_realm_id AND t.topic_id = m.conversation_id), ''),
                   (v_one ->> 'language')::regconfig,
                   ARRAY(SELECT jsonb_array_elements_text(v_one -> 'patterns')),
                   ARRAY(SELECT jsonb_array_elements_text(v_one -> 'starts')),
                   ARRAY(SELECT jsonb_array_elements_text(v_one -> 'stems'))));
    END LOOP;
    RETURN v_ids;
END $$;

-- Messages between two positions that may match: by the index, by their topics, and all that the
-- index does not hold yet. p_search -> 'parts': queries of the index with @ for where the keys of
-- a block begin, each for some topics (null: all; '': whatever is in these topics).
CREATE FUNCTION search_window(p_realm_id bigint, p_search jsonb, p_low bigint, p_high bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
DECLARE
    v_indexed bigint := coalesce((
        SELECT p.indexed FROM search_progress p WHERE p.realm_id = p_realm_id), 0);
    v_template text;
    v_topics bigint[];
    v_found bigint[];
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
            v_found := v_found || search_indexed(p_realm_id, (
                SELECT string_agg('(' || replace(
                           v_template, '@', p_realm_id || '.' || block || '.') || ')', '|')
                  FROM generate_series(p_low >> 13, least(p_high, v_indexed) >> 13) AS block
                )::tsquery, v_topics);
        END IF;
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT i FROM unnest(v_found) AS i WHERE i BETWEEN p_low AND p_high);
END $$;

-- The messages, of these topics or of all, whose keys meet the query.
CREATE FUNCTION search_indexed(p_realm_id bigint, p_query tsquery, p_topics bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    -- By the keys, which name the realm, never by the realm alone.
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

-- ---------------------------------------------------------------- pages

-- narrowed_before gives the newest p_limit ids at or below p_edge that are in the sources and meet
-- the terms, narrowed_after the oldest at or above it. What the driver gives is looked at piece by
-- piece, in growing pieces, until there are enough.
DO $do$
DECLARE
    template text := $fn$
CREATE FUNCTION driven_%1$s(
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
        RETURN ARRAY(SELECT DISTINCT i FROM unnest(p_ids) AS i WHERE i %2$s p_edge
                      ORDER BY i %3$s LIMIT p_limit);
    WHEN 'sender' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.sender_id = (p_terms ->> 'sender')::bigint
                        AND m.id %2$s p_edge
                      ORDER BY m.id %3$s LIMIT p_limit);
    WHEN 'held' THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      -- By the index alone, which is long where all but a few are elsewhere.
                      WHERE m.realm_id = p_realm_id AND m.traits & 112 <> 0 AND m.id %2$s p_edge
                        AND m.traits & v_traits = v_traits
                        AND (p_is_open OR m.channel_id IN (SELECT unnest(p_channels))
                             OR m.conversation_id IN (SELECT unnest(p_conversations))
                             OR m.id IN (SELECT unnest(p_extra)))
                      ORDER BY m.id %3$s LIMIT p_limit);
    WHEN 'reacted' THEN
        RETURN ARRAY(SELECT DISTINCT r.message_id FROM reactions r
                      WHERE r.realm_id = p_realm_id AND r.message_id %2$s p_edge
                      ORDER BY r.message_id %3$s LIMIT p_limit);
    END CASE;
END $$;

CREATE FUNCTION narrowed_%1$s(
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
    v_size bigint := greatest(2 * p_limit, 200);
    v_blocks bigint := 1;
    v_far bigint;
    v_start bigint;
    v_piece bigint[];
    v_found bigint[] := '{}';
BEGIN
    LOOP
        IF p_driver = 'search' THEN
            v_far := %6$s;
            v_piece := ARRAY(
                SELECT i FROM unnest(search_window(p_realm_id, p_terms -> 'search', %7$s)) AS i
                 ORDER BY i %3$s);
        ELSIF p_driver = 'history' THEN
            v_piece := history_%1$s(
                p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                p_partial_conversations, p_extra, v_edge, v_size);
        ELSE
            v_piece := driven_%1$s(
                p_realm_id, p_channels || p_partial_channels,
                p_conversations || p_partial_conversations, p_extra, p_is_open, p_driver, p_terms,
                p_ids, v_edge, v_size);
        END IF;
        -- A block may hold many that match: no more of them are looked at than are needed.
        v_start := 1;
        LOOP
            v_found := v_found || narrow_filter(
                p_realm_id, p_user_id, p_is_open OR p_driver = 'history', p_is_open, p_channels,
                p_partial_channels, p_conversations, p_partial_conversations, p_extra, p_terms,
                v_piece[v_start : v_start + v_size - 1]);
            v_start := v_start + v_size;
            EXIT WHEN cardinality(v_found) >= p_limit OR v_start > cardinality(v_piece);
        END LOOP;
        EXIT WHEN cardinality(v_found) >= p_limit
            OR CASE p_driver WHEN 'search' THEN %8$s ELSE cardinality(v_piece) < v_size END;
        v_edge := CASE p_driver WHEN 'search' THEN v_far
                  ELSE (SELECT %4$s(i) FROM unnest(v_piece) AS i) END %5$s 1;
        v_size := least(4 * v_size, 10000);
        v_blocks := least(4 * v_blocks, 256);
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

-- A page of what meets the terms: up to p_before ids below p_below, and up to p_after from p_from
-- on, in no order. p_scope as in history_sources, or 'any': whatever the reader may read.
-- p_kinds: flags that all have to be there (flagged_candidates); p_mentioned: users who all are
-- mentioned by name; p_ids: these only.
CREATE FUNCTION narrowed_page(
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
    -- A place of few messages is walked, whatever else is asked of them.
    IF v_driver IN ('sender', 'held', 'reacted', 'search') AND p_scope IN ('given', 'direct')
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

-- The first message sent at this time or later, by halves: ids rise with time. Null: there is none.
CREATE FUNCTION first_message_since(p_realm_id bigint, p_moment timestamptz) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
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
