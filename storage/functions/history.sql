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
    v_ids bigint[] := '{}';
BEGIN
    SELECT * INTO s FROM history_sources(
        p_realm_id, p_user_id, p_scope, p_channel_ids, p_conversation_ids);
    -- Walking farther, or for a few sources, costs more than it may save.
    v_walks := p_scope = 'feed' AND cardinality(s.r_channels) > 3
               AND greatest(p_before, p_after) <= c_far;
    IF p_before > 0 THEN
        v_ids := coalesce(
            CASE WHEN v_walks THEN walk_before(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_extra, p_below - 1, p_before) END,
            history_before(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, p_below - 1, p_before));
    END IF;
    IF p_after > 0 THEN
        v_ids := v_ids || coalesce(
            CASE WHEN v_walks THEN walk_after(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_extra, p_from, p_after) END,
            history_after(
                p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
                s.r_partial_conversations, s.r_extra, p_from, p_after));
    END IF;
    RETURN v_ids;
END $$;

-- The first message sent at this time or later, by binary search, since ids rise with time. Null if
-- there is none.
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
