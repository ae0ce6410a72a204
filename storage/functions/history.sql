-- Pages of history.

-- Channels, conversations and single messages in which a reader's page of history is looked up.
--
-- On plans: calls of reader_access are planned with the query around them unless an argument is a
-- query itself, which planned each page of a topic anew. And with a hundred channels, a join read
-- all of them for each subscription as soon as the planner knew how few pages they fill: a
-- millisecond of each page of the feed.
CREATE OR REPLACE FUNCTION history_sources(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], OUT r_channels bigint[], OUT r_partial_channels bigint[],
    OUT r_conversations bigint[], OUT r_partial_conversations bigint[], OUT r_extra bigint[]
) LANGUAGE plpgsql STABLE
SET plan_cache_mode TO 'force_generic_plan' SET enable_seqscan TO 'off' SET jit TO 'off'
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
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {HISTORICAL} <> 0);
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

-- history_before returns the newest p_limit ids at or below p_edge in the sources, history_after
-- the oldest at or above it.
-- @each way = before | after
-- @within = <= | >=
-- @order = DESC | ASC
-- @farthest = min | max
-- @end_of_ids = 0 | 9223372036854775807
-- @beyond = < | >
-- @before_bound = >= | <=
CREATE OR REPLACE FUNCTION history_@way(
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
                            AND m.id @within p_edge
                          ORDER BY m.id @order LIMIT p_limit);
        ELSIF p_channels = '{}' AND cardinality(p_conversations) = 1 THEN
            RETURN ARRAY(SELECT m.id FROM messages m
                          WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversations[1]
                            AND m.id @within p_edge
                          ORDER BY m.id @order LIMIT p_limit);
        END IF;
    END IF;
    RETURN ARRAY(
    WITH shares AS MATERIALIZED (
        SELECT c.id AS source, m.id
          FROM unnest(p_channels) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id AND m.id @within p_edge
                ORDER BY m.id @order LIMIT v_share) m
        UNION ALL
        SELECT c.id, m.id
          FROM unnest(v_sharing_conversations) AS c(id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id AND m.id @within p_edge
                ORDER BY m.id @order LIMIT v_share) m
    ), bound AS MATERIALIZED (
        -- Ids beyond this one cannot be on the page.
        SELECT coalesce((SELECT s.id FROM shares s ORDER BY s.id @order OFFSET p_limit - 1 LIMIT 1),
                        @end_of_ids) AS id
    ), more AS MATERIALIZED (
        -- Sources with a full share inside the bound may have more on the page.
        SELECT s.source, @farthest(s.id) AS id
          FROM shares s CROSS JOIN bound b
         GROUP BY s.source, b.id HAVING count(*) = v_share AND b.id @beyond @farthest(s.id)
    )
    SELECT page.id FROM (
        SELECT s.id FROM shares s
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = f.source
                  AND m.id @beyond f.id AND m.id @before_bound b.id
                ORDER BY m.id @order LIMIT p_limit) m
         WHERE p_channels <> '{}'
        UNION ALL
        SELECT m.id FROM more f CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = f.source
                  AND m.id @beyond f.id AND m.id @before_bound b.id
                ORDER BY m.id @order LIMIT p_limit) m
         WHERE p_channels = '{}'
        UNION ALL
        SELECT m.id FROM unnest(v_other_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND m.id @within p_edge AND m.id @before_bound b.id
                ORDER BY m.id @order LIMIT p_limit) m
        UNION ALL
        SELECT e.id FROM unnest(p_extra) AS e(id) WHERE e.id @within p_edge
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
                  AND m.id @within p_edge AND m.id @before_bound b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id @order LIMIT p_limit) m
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
                  AND m.id @within p_edge AND m.id @before_bound b.id AND m.origin_channel_id = m.channel_id
                ORDER BY m.id @order LIMIT p_limit) m
        UNION ALL
        -- ... and those moved there that were received elsewhere, or came while the reader was subscribed.
        SELECT m.id
          FROM unnest(p_partial_channels) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = c.id
                  AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)
                  AND m.id @within p_edge AND m.id @before_bound b.id
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
                ORDER BY m.id @order LIMIT p_limit) m
        UNION ALL
        SELECT m.id
          FROM unnest(p_partial_conversations) AS c(id) CROSS JOIN bound b
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.conversation_id = c.id
                  AND (m.conversation_id <> m.origin_conversation_id OR m.entered_at IS NOT NULL)
                  AND m.id @within p_edge AND m.id @before_bound b.id
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
                ORDER BY m.id @order LIMIT p_limit) m) page
     ORDER BY page.id @order LIMIT p_limit);
END $$;
-- @end

-- Like history_before and history_after, by walking the realm's messages next to p_edge: quicker
-- for readers of most of them. Null if there may be more than were looked at.
-- @each way = before | after
-- @within = <= | >=
-- @order = DESC | ASC
CREATE OR REPLACE FUNCTION walk_@way(
    p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[],
    p_conversations bigint[], p_extra bigint[], p_edge bigint, p_limit bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET enable_bitmapscan = off
    SET jit = off
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
                 WHERE m.realm_id = p_realm_id AND m.id @within p_edge
                 ORDER BY m.id @order LIMIT v_most) w
         WHERE w.is_wanted ORDER BY w.id @order LIMIT p_limit);
BEGIN
    IF cardinality(v_ids) < p_limit AND (
            SELECT count(*) FROM (
                SELECT FROM messages m WHERE m.realm_id = p_realm_id AND m.id @within p_edge
                 ORDER BY m.id @order LIMIT v_most) seen) = v_most THEN
        RETURN NULL;
    END IF;
    RETURN v_ids;
END $$;
-- @end

-- feed_before returns the newest p_limit ids at or below p_edge of a feed, feed_after the oldest at
-- or above it: as history_before and history_after, but what was imported into the realm while it was
-- in use is left out. So the ids of feeds rise with time. p_walks: whether to walk first.
-- @each way = before | after
-- @beyond = > | <
-- @inner = first_id | last_id
-- @outer = last_id | first_id
-- @last = max | min
-- @passed = <= | >=
-- @end_of_ids = 0 | 9223372036854775807
-- @step = - | +
CREATE OR REPLACE FUNCTION feed_@way(
    p_realm_id bigint, p_user_id bigint, p_channels bigint[], p_partial_channels bigint[],
    p_conversations bigint[], p_partial_conversations bigint[], p_extra bigint[], p_walks boolean,
    p_edge bigint, p_limit bigint)
    RETURNS bigint[]
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
            SELECT r.@inner FROM imported_ranges r
             WHERE r.realm_id = p_realm_id AND v_edge BETWEEN r.first_id AND r.last_id) @step 1, v_edge);
        v_end := coalesce((
            SELECT @last(r.@outer) FROM imported_ranges r
             WHERE r.realm_id = p_realm_id AND r.@outer @passed v_edge), @end_of_ids);
        IF v_edge <> v_end THEN
            v_piece := coalesce(
                CASE WHEN p_walks THEN walk_@way(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations, p_extra,
                    v_edge, p_limit - cardinality(v_ids)) END,
                history_@way(
                    p_realm_id, p_user_id, p_channels, p_partial_channels, p_conversations,
                    p_partial_conversations, p_extra, v_edge, p_limit - cardinality(v_ids)));
            v_ids := v_ids || CASE WHEN v_end = @end_of_ids THEN v_piece ELSE ARRAY(
                SELECT i FROM unnest(v_piece) AS i WHERE i @beyond v_end) END;
        END IF;
        EXIT WHEN cardinality(v_ids) >= p_limit OR v_end = @end_of_ids;
        v_edge := v_end;
    END LOOP;
    RETURN v_ids;
END $$;
-- @end

-- A page of history around an anchor: ids at or below p_below as many as p_before, from p_from on
-- as many as p_after.
CREATE OR REPLACE FUNCTION history_page(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], p_below bigint, p_before bigint, p_from bigint, p_after bigint)
    RETURNS bigint[]
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

-- The stretches of a realm's ids within which ids rise with time: what was sent here, and each import
-- into the realm while it was in use. Together they hold all ids.
CREATE OR REPLACE FUNCTION message_stretches(p_realm_id bigint)
    RETURNS TABLE (first_id bigint, last_id bigint, is_imported boolean)
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

-- The first message sent at this time or later of each stretch that has one, by binary search.
CREATE OR REPLACE FUNCTION first_messages_since(p_realm_id bigint, p_moment timestamptz)
    RETURNS TABLE (first_id bigint, last_id bigint, is_imported boolean)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
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

-- For older releases, and to find the first message in a realm whose ids all rise with time.
CREATE OR REPLACE FUNCTION first_message_since(p_realm_id bigint, p_moment timestamptz) RETURNS bigint
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

-- Messages that may match is:unread, is:starred, is:mentioned or is:alerted; access is checked
-- later. A place only makes the look-up cheaper.
CREATE OR REPLACE FUNCTION flagged_candidates(
    p_realm_id bigint, p_user_id bigint, p_kind text, p_channel_id bigint,
    p_conversation_ids bigint[], p_limit bigint)
    RETURNS bigint[]
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
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {STARRED} <> 0);
    ELSIF p_kind = 'alerted' THEN
        RETURN ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {HAS_ALERT_WORD} <> 0);
    ELSIF p_kind = 'mentioned' THEN
        RETURN ARRAY(SELECT m.id FROM mentions_since(p_realm_id, p_user_id, 0) m);
    END IF;
    RAISE 'no flag to narrow by: %', p_kind;
END $$;

-- Edit history of a message, newest first: its own and the renames of its topic since it came
-- there. An own entry records how many renames the topic had by then.
CREATE OR REPLACE FUNCTION whole_history(
    p_id bigint, p_renames_before integer, p_own jsonb, p_renames jsonb)
    RETURNS jsonb
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
