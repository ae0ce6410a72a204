-- Who reads most of what is written finds a page of their feed among the realm's newest messages: a
-- few more of those are looked at than are wanted, one after the other, instead of some of each channel.

-- walk_before gives what history_before gives, and walk_after what history_after does, from the
-- messages that are next to p_edge; null if there may be more.
DO $do$
DECLARE
    template text := $fn$
CREATE FUNCTION walk_%1$s(
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
    v_seen bigint;
    v_ids bigint[];
BEGIN
    SELECT count(*), coalesce(array_agg(w.id ORDER BY w.id %3$s) FILTER (WHERE w.is_wanted), '{}')
      INTO v_seen, v_ids
      FROM (SELECT m.id,
                   m.channel_id IN (SELECT unnest(p_channels))
                   OR m.conversation_id IN (SELECT unnest(p_conversations))
                   OR m.id IN (SELECT unnest(p_extra))
                   OR (m.channel_id IN (SELECT unnest(p_partial_channels))
                       AND (SELECT s.spans @> m.id FROM subscriptions s
                             WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id
                               AND s.channel_id = m.origin_channel_id)) AS is_wanted
              FROM messages m
             WHERE m.realm_id = p_realm_id AND m.id %2$s p_edge
             ORDER BY m.id %3$s LIMIT v_most) w;
    IF cardinality(v_ids) < p_limit AND v_seen = v_most THEN
        RETURN NULL;
    END IF;
    RETURN v_ids[:p_limit];
END $$;
$fn$;
BEGIN
    EXECUTE format(template, 'before', '<=', 'DESC');
    EXECUTE format(template, 'after', '>=', 'ASC');
END $do$;

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
    -- To walk farther, or for a few sources, would cost more than it may save.
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
