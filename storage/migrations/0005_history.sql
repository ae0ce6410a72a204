-- Pages of history: which messages a reader sees before and after an anchor. Newest messages of
-- many channels and conversations are found by merging their indexes, never by a scan of what
-- nobody asked for. Bits of message_flags that occur here: 1 unread, 2 starred, 8 mentioned,
-- 16 alert word, 32 historical, 64 topic wildcard; of messages.traits: 2 channel wildcard.

-- Where to look: all of these channels and conversations, and of the partial ones only what the
-- reader received. p_scope: 'feed' (what they are subscribed to, and direct messages), 'direct'
-- (direct messages, all or of these conversations), 'given' (these topics and groups, or else
-- these channels).
CREATE FUNCTION history_sources(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[],
    OUT r_channels bigint[], OUT r_partial_channels bigint[],
    OUT r_conversations bigint[], OUT r_partial_conversations bigint[], OUT r_extra bigint[])
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET jit = off
    AS $$
BEGIN
    r_channels := '{}';
    r_partial_channels := '{}';
    r_conversations := '{}';
    r_partial_conversations := '{}';
    r_extra := '{}';
    IF p_scope = 'feed' THEN
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM reader_access(p_realm_id, p_user_id, ARRAY(
               SELECT s.channel_id FROM subscriptions s
                WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.active)) a;
        -- What they starred or reacted to elsewhere is part of their history.
        r_extra := ARRAY(
            SELECT f.message_id FROM message_flags f
             WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 32 <> 0);
        IF r_extra <> '{}' THEN
            r_extra := ARRAY(SELECT s.id FROM message_states(p_realm_id, p_user_id, r_extra) s
                              WHERE s.accessible AND NOT s.subscribed);
        END IF;
    END IF;
    IF p_scope IN ('feed', 'direct') THEN
        r_conversations := ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND (p_conversation_ids IS NULL OR g.dm_group_id = ANY (p_conversation_ids)));
    ELSIF p_conversation_ids IS NULL THEN
        SELECT coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(a.channel_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_channels, r_partial_channels
          FROM reader_access(p_realm_id, p_user_id, p_channel_ids) a;
    ELSE
        WITH wanted AS MATERIALIZED (
            SELECT t.topic_id, t.channel_id FROM topics t
             WHERE t.realm_id = p_realm_id AND t.topic_id = ANY (p_conversation_ids)
               AND (p_channel_ids IS NULL OR t.channel_id = ANY (p_channel_ids))
        )
        SELECT coalesce(array_agg(w.topic_id) FILTER (WHERE a.access = 2), '{}'),
               coalesce(array_agg(w.topic_id) FILTER (WHERE a.access = 1), '{}')
          INTO r_conversations, r_partial_conversations
          FROM reader_access(p_realm_id, p_user_id,
                             ARRAY(SELECT DISTINCT v.channel_id FROM wanted v)) a
          JOIN wanted w ON w.channel_id = a.channel_id;
        r_conversations := r_conversations || ARRAY(
            SELECT g.dm_group_id FROM dm_group_members g
             WHERE g.realm_id = p_realm_id AND g.user_id = p_user_id
               AND g.dm_group_id = ANY (p_conversation_ids) AND p_channel_ids IS NULL);
    END IF;
END $$;

-- What the user may read of these channels, whether or not they were ever in them. Who has no
-- account (user 0) reads what guests read who are in no channel.
CREATE FUNCTION reader_access(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
    RETURNS TABLE (channel_id bigint, access integer)
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

-- history_before gives the newest p_limit ids at or below p_edge, history_after the oldest at or
-- above it. Each of many sources first gives a small share: that bounds how far back the page
-- can reach, and all others give only what lies within. Both are made from one text.
DO $do$
DECLARE
    template text := $fn$
CREATE FUNCTION history_%1$s(
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

-- A page of everything in the sources: up to p_before ids below p_below, and up to p_after from
-- p_from on, in no order.
CREATE FUNCTION history_page(
    p_realm_id bigint, p_user_id bigint, p_scope text, p_channel_ids bigint[],
    p_conversation_ids bigint[], p_below bigint, p_before bigint, p_from bigint, p_after bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    AS $$
DECLARE
    s record;
    v_ids bigint[] := '{}';
BEGIN
    SELECT * INTO s FROM history_sources(
        p_realm_id, p_user_id, p_scope, p_channel_ids, p_conversation_ids);
    IF p_before > 0 THEN
        v_ids := history_before(
            p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
            s.r_partial_conversations, s.r_extra, p_below - 1, p_before);
    END IF;
    IF p_after > 0 THEN
        v_ids := v_ids || history_after(
            p_realm_id, p_user_id, s.r_channels, s.r_partial_channels, s.r_conversations,
            s.r_partial_conversations, s.r_extra, p_from, p_after);
    END IF;
    RETURN v_ids;
END $$;

-- The messages that may be the answer to is:unread, is:starred, is:mentioned or is:alerted;
-- access is checked later. A place only makes it cheaper.
CREATE FUNCTION flagged_candidates(
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

-- Messages from p_since on that mention the user, by name or group, or with a wildcard.
CREATE FUNCTION mentions_since(p_realm_id bigint, p_user_id bigint, p_since bigint)
    RETURNS TABLE (id bigint, by_name boolean)
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
