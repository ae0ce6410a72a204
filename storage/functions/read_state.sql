-- What users have read.

-- Add positions to what the user has read in a channel.
CREATE OR REPLACE FUNCTION add_channel_read(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_read int8multirange)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO channel_read AS r (realm_id, user_id, channel_id, read)
    VALUES (p_realm_id, p_user_id, p_channel_id, p_read)
    ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

-- Add positions to what the user has read in a conversation.
CREATE OR REPLACE FUNCTION add_conversation_read(
    p_realm_id bigint, p_user_id bigint, p_conversation_id bigint, p_read int8multirange)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO conversation_read AS r (realm_id, user_id, conversation_id, read)
    VALUES (p_realm_id, p_user_id, p_conversation_id, p_read)
    ON CONFLICT (realm_id, user_id, conversation_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

-- Mark single messages as read for the users beside them, in the conversations they were sent to;
-- skip nulls.
CREATE OR REPLACE FUNCTION add_messages_read(
    p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_origins bigint[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH marked AS MATERIALIZED (
        SELECT p_user_ids[n] AS user_id, p_ids[n] AS id, p_origins[n] AS origin
          FROM generate_series(1, cardinality(p_ids)) AS n
         WHERE p_origins[n] IS NOT NULL
    ), whole AS MATERIALIZED (
        SELECT m.origin, min(m.id) AS first, max(m.id) AS last, 4 * count(DISTINCT m.id) AS enough
          FROM marked m GROUP BY m.origin
    ), scanned AS MATERIALIZED (
        -- The whole range between the marked messages, if they are a large part of it.
        SELECT w.origin, h.ids || a.ids AS ids
          FROM whole w
         CROSS JOIN LATERAL (
               SELECT ARRAY(
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.conversation_id = w.origin
                      AND m.id >= w.first AND m.id <= w.last
                    ORDER BY m.id LIMIT w.enough + 1) AS ids) h
         CROSS JOIN LATERAL (
               SELECT ARRAY(
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.origin_conversation_id = w.origin
                      AND m.conversation_id <> m.origin_conversation_id
                      AND m.id >= w.first AND m.id <= w.last
                    ORDER BY m.id LIMIT w.enough + 1) AS ids) a
         WHERE w.first < w.last
           AND cardinality(h.ids) <= w.enough AND cardinality(a.ids) <= w.enough
    ), before AS MATERIALIZED (
        SELECT s.origin, i.id, lag(i.id) OVER (PARTITION BY s.origin ORDER BY i.id) AS before
          FROM scanned s CROSS JOIN LATERAL unnest(s.ids) AS i(id)
    )
    INSERT INTO conversation_read AS r (realm_id, user_id, conversation_id, read)
    SELECT p_realm_id, m.user_id, m.origin, range_agg(int8range(b.before, m.id, '(]'))
      FROM marked m
      JOIN (SELECT o.origin, o.id,
                   coalesce(b.before, predecessor(p_realm_id, o.origin, o.id)) AS before
              FROM (SELECT DISTINCT n.origin, n.id FROM marked n) o
              LEFT JOIN before b ON b.origin = o.origin AND b.id = o.id) b
        ON b.origin = m.origin AND b.id = m.id
     GROUP BY m.user_id, m.origin
    ON CONFLICT (realm_id, user_id, conversation_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

-- The newest message before this one that was sent to the conversation or is there now: none that
-- was sent there lies between. 0 if there is none.
CREATE OR REPLACE FUNCTION predecessor(p_realm_id bigint, p_conversation_id bigint, p_id bigint)
    RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN greatest(0,
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversation_id AND m.id < p_id),
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.origin_conversation_id = p_conversation_id
            AND m.conversation_id <> m.origin_conversation_id AND m.id < p_id));
END $$;

-- Like predecessor, for a channel.
CREATE OR REPLACE FUNCTION channel_predecessor(p_realm_id bigint, p_channel_id bigint, p_id bigint)
    RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
BEGIN
    RETURN greatest(0,
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.channel_id = p_channel_id AND m.id < p_id),
        (SELECT max(m.id) FROM messages m
          WHERE m.realm_id = p_realm_id AND m.origin_channel_id = p_channel_id
            AND m.conversation_id <> m.origin_conversation_id AND m.id < p_id));
END $$;

-- Pending messages that are not where they were sent. There are few, and each is judged by itself.
CREATE OR REPLACE FUNCTION pending_elsewhere(
    p_realm_id bigint, p_channel_ids bigint[], p_pending int8multirange[],
    p_from bigint, p_until bigint)
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
BEGIN
    RETURN ARRAY(
        SELECT m.id
          FROM unnest(p_channel_ids, p_pending) AS o(channel_id, pending)
         CROSS JOIN LATERAL unnest(o.pending * int8range(p_from, p_until)::int8multirange) AS p(span)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.origin_channel_id = o.channel_id
                  AND m.conversation_id <> m.origin_conversation_id
                  AND m.id >= lower(p.span) AND m.id < upper(p.span) OFFSET 0) m);
END $$;

-- Messages of the channels (0: direct messages) that are pending there, from p_from up to p_until,
-- where they were sent, and covered by no read set; and how many covered ones were looked at.
-- Leaves out p_flagged.
CREATE OR REPLACE FUNCTION unseen_in_place(
    p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_pending int8multirange[],
    p_from bigint, p_until bigint, p_flagged bigint[])
    RETURNS TABLE (channel_id bigint, conversation_id bigint, ids bigint[], skipped bigint)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    -- The ids of a conversation arrive in order, and hashing by conversation keeps the order.
    SET enable_sort = off
    SET jit = off
    AS $$
#variable_conflict use_column
DECLARE
    v_mutes boolean := EXISTS (SELECT FROM muted_users x
                                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id);
BEGIN
    -- OFFSET 0 keeps each look-up one scan of an index between two bounds.
    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT o.channel_id, lower(p.span) AS first, upper(p.span) AS next
          FROM unnest(p_channel_ids, p_pending) AS o(channel_id, pending)
         CROSS JOIN LATERAL unnest(o.pending * int8range(p_from, p_until)::int8multirange) AS p(span)
    ), excluded AS MATERIALIZED (
        SELECT unnest(p_flagged) AS id
        UNION ALL
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.sender_id = p_user_id
           AND m.id >= p_from AND m.id < p_until AND m.traits & {READ_BY_SENDER} <> 0
        UNION ALL
        SELECT unnest(notices_read(p_realm_id, p_user_id, p_channel_ids, p_from, p_until))
        UNION ALL
        SELECT m.id FROM unnest(p_channel_ids) AS o(channel_id)
         CROSS JOIN LATERAL (
               SELECT m.id FROM messages m
                WHERE m.realm_id = p_realm_id AND m.channel_id = o.channel_id
                  AND m.conversation_id <> m.origin_conversation_id
                  AND m.id >= p_from AND m.id < p_until OFFSET 0) m
    ), found AS MATERIALIZED (
        SELECT o.channel_id, n.conversation_id, n.ids
          FROM own o
         CROSS JOIN LATERAL (
               SELECT m.conversation_id, array_agg(m.id) AS ids
                 FROM (SELECT m.id, m.conversation_id FROM messages m
                        WHERE m.realm_id = p_realm_id AND m.channel_id = o.channel_id
                          AND m.id >= o.first AND m.id < o.next OFFSET 0) m
                WHERE m.id NOT IN (SELECT e.id FROM excluded e)
                GROUP BY m.conversation_id) n
         WHERE o.channel_id <> 0
        UNION ALL
        SELECT 0, g.dm_group_id, n.ids
          FROM own o
         CROSS JOIN dm_group_members g
         CROSS JOIN LATERAL (
               SELECT array_agg(m.id) AS ids
                 FROM (SELECT m.id FROM messages m
                        WHERE m.realm_id = p_realm_id AND m.conversation_id = g.dm_group_id
                          AND m.id >= o.first AND m.id < o.next OFFSET 0) m
                WHERE m.id NOT IN (SELECT e.id FROM excluded e)) n
         WHERE o.channel_id = 0 AND g.realm_id = p_realm_id AND g.user_id = p_user_id
           AND n.ids IS NOT NULL
    ), judged AS MATERIALIZED (
        SELECT f.channel_id, f.conversation_id, f.ids AS all_ids,
               CASE WHEN v.read IS NULL THEN f.ids
                    ELSE ARRAY(SELECT i FROM unnest(f.ids) AS i WHERE NOT v.read @> i) END AS ids
          FROM found f
          LEFT JOIN LATERAL (
               -- The sum is a value in memory: a long set is not unpacked for each message.
               SELECT x.read + '{}'::int8multirange AS read FROM conversation_read x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.conversation_id = f.conversation_id LIMIT 1) v ON true
    ), heard AS MATERIALIZED (
        SELECT j.channel_id, j.conversation_id, j.all_ids,
               CASE WHEN NOT v_mutes THEN j.ids
                    ELSE ARRAY(SELECT unnest(j.ids)
                               EXCEPT SELECT unnest(read_by_sender(p_realm_id, p_user_id, j.ids))
                                ORDER BY 1) END AS ids
          FROM judged j
    )
    SELECT h.channel_id, h.conversation_id, h.ids,
           (cardinality(h.all_ids) - cardinality(h.ids))::bigint
      FROM heard h;
END $$;

-- The user's newest unread messages, found in steps that begin with twice as many positions as are
-- wanted. Searching half of a million unread messages at once took 0.3 s; in steps it takes 0.05 s.
CREATE OR REPLACE FUNCTION unread_messages(
    p_realm_id bigint, p_user_id bigint, p_limit bigint)
    RETURNS TABLE (
        r_channel_id bigint, r_conversation_id bigint, r_ids bigint[], r_skipped bigint,
        r_floor bigint)
    LANGUAGE plpgsql STABLE ROWS 100
    SET jit TO 'off'
    AS $$
DECLARE
    v_position bigint := (SELECT max(c.position) FROM realm_clock c WHERE c.realm_id = p_realm_id);
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {UNREAD} <> 0);
    v_odd bigint[] := v_flagged;
    v_channel_ids bigint[];
    v_pending int8multirange[];
    v_open_ids bigint[];
    v_open int8multirange[];
    v_oldest bigint;
    v_size bigint := 2 * p_limit;
    v_from bigint;
    v_until bigint := 9223372036854775807;
    v_found bigint := 0;
BEGIN
    SELECT array_agg(o.channel_id), array_agg(o.pending),
           array_agg(o.channel_id) FILTER (WHERE o.access > 0),
           array_agg(o.pending) FILTER (WHERE o.access > 0), min(lower(o.pending))
      INTO v_channel_ids, v_pending, v_open_ids, v_open, v_oldest
      FROM reader_channels(p_realm_id, p_user_id) o;
    v_from := greatest(v_oldest, v_position - v_size);
    LOOP
        v_odd := v_odd || ARRAY(
            SELECT unnest(pending_elsewhere(p_realm_id, v_channel_ids, v_pending, v_from, v_until))
            EXCEPT SELECT unnest(v_flagged));
        IF v_odd <> '{}' THEN
            FOR r_channel_id, r_conversation_id, r_ids, r_skipped IN
                SELECT coalesce(s.channel_id, 0), s.conversation_id,
                       coalesce(array_agg(s.id) FILTER (WHERE s.unread), '{}'),
                       count(*) FILTER (WHERE s.seen AND NOT s.unread)
                  FROM message_states(p_realm_id, p_user_id, v_odd) s GROUP BY 1, 2
            LOOP
                v_found := v_found + cardinality(r_ids);
                RETURN NEXT;
            END LOOP;
        END IF;
        FOR r_channel_id, r_conversation_id, r_ids, r_skipped IN
            SELECT * FROM unseen_in_place(
                p_realm_id, p_user_id, v_open_ids, v_open, v_from, v_until, v_flagged)
        LOOP
            v_found := v_found + cardinality(r_ids);
            RETURN NEXT;
        END LOOP;
        EXIT WHEN v_from <= v_oldest OR v_found >= p_limit;
        v_odd := '{}';
        v_until := v_from;
        v_size := v_size * 4;
        v_from := greatest(v_oldest, v_from - v_size);
    END LOOP;

    RETURN QUERY
    SELECT o.channel_id, NULL::bigint, '{}'::bigint[], 0::bigint, lower(o.pending)
      FROM unnest(v_open_ids, v_open) AS o(channel_id, pending)
     WHERE lower(o.pending) < v_position - 100000;
END $$;

-- Unread messages that a channel or a conversation shows, whether or not the user may read them
-- now: all, sorted; whether some are covered by no read set of the place itself; and those sent
-- elsewhere, with their origins, that no read set there covers.
CREATE OR REPLACE FUNCTION unread_shown_in(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint,
    OUT r_ids bigint[], OUT r_has_unseen boolean, OUT r_moved_ids bigint[],
    OUT r_moved_origins bigint[])
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
DECLARE
    v_channel_id bigint := coalesce(p_channel_id, (
        SELECT t.channel_id FROM topics t
         WHERE t.realm_id = p_realm_id AND t.topic_id = p_conversation_id), 0);
    v_oldest bigint;
    v_pending int8multirange;
    v_odd bigint[];
    v_odd_ids bigint[];
    v_read_by_sender bigint[];
BEGIN
    r_ids := '{}';
    r_has_unseen := false;
    SELECT min(lower(o.pending)), range_agg(o.pending) FILTER (WHERE o.channel_id = v_channel_id)
      INTO v_oldest, v_pending
      FROM reader_channels(p_realm_id, p_user_id) o;
    IF v_channel_id = 0 AND NOT EXISTS (
            SELECT FROM dm_group_members g WHERE g.realm_id = p_realm_id
               AND g.user_id = p_user_id AND g.dm_group_id = p_conversation_id) THEN
        RETURN;
    END IF;

    v_odd := ARRAY(
        SELECT f.message_id FROM message_flags f
          JOIN messages m ON m.realm_id = p_realm_id AND m.id = f.message_id
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {UNREAD} <> 0
           AND CASE WHEN p_channel_id IS NULL THEN m.conversation_id = p_conversation_id
                    ELSE m.channel_id = p_channel_id END
        UNION
        SELECT m.id FROM messages m
         WHERE p_channel_id IS NOT NULL AND m.realm_id = p_realm_id
           AND m.channel_id = p_channel_id
           AND m.conversation_id <> m.origin_conversation_id AND m.id >= v_oldest
        UNION
        SELECT m.id FROM messages m
         WHERE p_channel_id IS NULL AND m.realm_id = p_realm_id
           AND m.conversation_id = p_conversation_id
           AND m.conversation_id <> m.origin_conversation_id AND m.id >= v_oldest);

    IF p_channel_id IS NULL THEN
        -- From the index alone: few messages were moved here, and few were read by sending them.
        r_ids := ARRAY(
            SELECT m.id
              FROM unnest(v_pending - coalesce((
                       SELECT r.read FROM conversation_read r
                        WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                          AND r.conversation_id = p_conversation_id), '{}')) AS p(span)
             CROSS JOIN LATERAL (
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.conversation_id = p_conversation_id
                      AND m.id >= lower(p.span)
                      AND m.id < coalesce(upper(p.span), 9223372036854775807)
                    ORDER BY m.id OFFSET 0) m);
        v_read_by_sender := own_among(p_realm_id, p_user_id, r_ids)
                            || read_by_sender(p_realm_id, p_user_id, r_ids) || v_odd
                            || notices_read(p_realm_id, p_user_id, ARRAY[v_channel_id], r_ids[1],
                                            r_ids[cardinality(r_ids)] + 1);
        IF v_read_by_sender <> '{}' THEN
            r_ids := ARRAY(SELECT i FROM unnest(r_ids) AS i
                            WHERE i NOT IN (SELECT unnest(v_read_by_sender)));
        END IF;
    ELSE
        r_ids := ARRAY(
            SELECT i FROM unseen_in_place(
                   p_realm_id, p_user_id, ARRAY[p_channel_id], ARRAY[v_pending], 0,
                   9223372036854775807, v_odd) u, unnest(u.ids) AS i
             ORDER BY i);
    END IF;
    r_has_unseen := r_ids <> '{}';

    IF v_odd <> '{}' THEN
        SELECT coalesce(array_agg(s.id), '{}'),
               r_has_unseen OR coalesce(bool_or(s.unseen AND NOT s.moved), false),
               array_agg(s.id) FILTER (WHERE s.unseen AND s.moved),
               array_agg(s.origin_conversation_id) FILTER (WHERE s.unseen AND s.moved)
          INTO v_odd_ids, r_has_unseen, r_moved_ids, r_moved_origins
          FROM (SELECT o.id, o.origin_conversation_id, o.flags, o.received AND NOT o.seen AS unseen,
                       CASE WHEN p_channel_id IS NULL
                            THEN o.origin_conversation_id <> p_conversation_id
                            ELSE o.origin_channel_id <> p_channel_id END AS moved
                  FROM message_states(p_realm_id, p_user_id, v_odd) o) s
         WHERE s.flags & {UNREAD} <> 0 OR s.unseen;
        IF v_odd_ids <> '{}' THEN
            r_ids := ARRAY(SELECT i FROM unnest(r_ids || v_odd_ids) AS i ORDER BY i);
        END IF;
    END IF;
END $$;

-- Positions that a channel's read set may absorb, found in one pass over everything unread. One
-- pass for each channel took 4 s for 50,000 unread messages in 100 channels; this takes 0.3 s.
CREATE OR REPLACE FUNCTION foldable_reads(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
    RETURNS TABLE (channel_id bigint, read int8multirange)
    LANGUAGE plpgsql STABLE
    SET jit = off
    AS $$
#variable_conflict use_column
DECLARE
    c_end CONSTANT bigint := 9223372036854775807;
    v_position bigint := (SELECT max(c.position) FROM realm_clock c WHERE c.realm_id = p_realm_id);
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {UNREAD} <> 0);
    v_channel_ids bigint[];
    v_pending int8multirange[];
BEGIN
    SELECT array_agg(o.channel_id), array_agg(o.pending) INTO v_channel_ids, v_pending
      FROM reader_channels(p_realm_id, p_user_id) o
     WHERE o.channel_id = ANY (p_channel_ids) AND o.access > 0;

    RETURN QUERY
    WITH own AS MATERIALIZED (
        SELECT o.channel_id, lower(o.pending) AS floor,
               coalesce((SELECT r.read FROM channel_read r
                          WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                            AND r.channel_id = o.channel_id), '{}') AS read
          FROM unnest(v_channel_ids, v_pending) AS o(channel_id, pending)
    ), in_place AS MATERIALIZED (
        SELECT u.* FROM unseen_in_place(
            p_realm_id, p_user_id, v_channel_ids, v_pending, 0, c_end, v_flagged) u
    ), unseen AS MATERIALIZED (
        SELECT u.channel_id, i.id FROM in_place u CROSS JOIN LATERAL unnest(u.ids) AS i(id)
        UNION
        SELECT coalesce(s.origin_channel_id, 0), s.id
          FROM message_states(p_realm_id, p_user_id, v_flagged
                   || pending_elsewhere(p_realm_id, v_channel_ids, v_pending, 0, c_end)) s
         WHERE s.received AND NOT s.seen
    ), stretches AS (
        SELECT u.channel_id, u.id + 1 AS first,
               lead(u.id, 1, v_position + 1) OVER (PARTITION BY u.channel_id ORDER BY u.id) AS next
          FROM unseen u
        UNION ALL
        SELECT o.channel_id, 0, coalesce(oldest.id, v_position + 1)
          FROM own o
          LEFT JOIN (SELECT u.channel_id, min(u.id) AS id FROM unseen u GROUP BY u.channel_id) oldest
            ON oldest.channel_id = o.channel_id
    ), density AS (
        SELECT o.channel_id, looked.skipped / greatest(v_position - o.floor, 1) AS messages
          FROM own o
          LEFT JOIN (SELECT u.channel_id, sum(u.skipped) AS skipped
                       FROM in_place u GROUP BY u.channel_id) looked
            ON looked.channel_id = o.channel_id
    ), absorbed AS (
        SELECT o.channel_id, o.read, range_agg(int8range(s.first, s.next)) AS more
          FROM stretches s
          JOIN own o ON o.channel_id = s.channel_id
          JOIN density d ON d.channel_id = s.channel_id
         WHERE s.first < s.next AND (s.first = 0 OR o.read && int8range(s.first, s.next)
               OR d.messages * (s.next - s.first) >= 16)
         GROUP BY o.channel_id, o.read
    )
    SELECT a.channel_id, a.more FROM absorbed a WHERE NOT a.more <@ a.read;
END $$;

-- Add to channel_read what foldable_reads returned.
CREATE OR REPLACE FUNCTION fold_reads(
    p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_reads text[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_channel_read(p_realm_id, p_user_id, f.channel_id, f.read::int8multirange)
       FROM unnest(p_channel_ids, p_reads) AS f(channel_id, read);
    PERFORM prune_conversation_read(p_realm_id, p_user_id, p_channel_ids);
END $$;

-- Delete from conversation_read what channel_read covers in these channels (0: direct messages).
CREATE OR REPLACE FUNCTION prune_conversation_read(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH covered AS MATERIALIZED (
        SELECT v.conversation_id, v.read - r.read AS left_over
          FROM conversation_read v
          JOIN channel_read r ON r.realm_id = p_realm_id AND r.user_id = p_user_id
               AND r.channel_id = coalesce((
                   SELECT t.channel_id FROM topics t
                    WHERE t.realm_id = p_realm_id AND t.topic_id = v.conversation_id), 0)
         WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id
           AND r.channel_id = ANY (p_channel_ids) AND v.read && r.read
    ), deleted AS (
        DELETE FROM conversation_read v USING covered c
         WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id
           AND v.conversation_id = c.conversation_id AND isempty(c.left_over)
    )
    UPDATE conversation_read v SET read = c.left_over FROM covered c
     WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id
       AND v.conversation_id = c.conversation_id AND NOT isempty(c.left_over);
END $$;

-- Mark messages as read for the users beside them (distinct pairs) where they are unread and
-- accessible; return the changed pairs. Each of p_readers gets its entry with the audience beside
-- it.
CREATE OR REPLACE FUNCTION mark_reads(
    p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_readers bigint[],
    p_audiences bytea[], p_write_id uuid)
    RETURNS TABLE (r_user_id bigint, r_id bigint)
    LANGUAGE plpgsql ROWS 100
    AS $$
DECLARE
    v_users bigint[];
    v_ids bigint[];
    v_flagged boolean[];
    v_origins bigint[];
BEGIN
    SELECT array_agg(s.user_id), array_agg(s.id), array_agg(s.flags & {UNREAD} <> 0),
           array_agg(CASE WHEN s.received AND NOT s.seen THEN s.origin_conversation_id END)
      INTO v_users, v_ids, v_flagged, v_origins
      FROM (SELECT r.* FROM reader_states(p_realm_id, p_user_ids, p_ids) r
             WHERE r.unread ORDER BY r.user_id, r.id) s;
    IF v_ids IS NULL THEN
        RETURN;
    END IF;

    PERFORM add_messages_read(p_realm_id, v_users, v_ids, v_origins);
    IF true = ANY (v_flagged) THEN
        PERFORM clear_unread_flag(p_realm_id, f.user_id, f.ids)
           FROM (SELECT c.user_id, array_agg(c.id) AS ids
                   FROM unnest(v_users, v_ids, v_flagged) AS c(user_id, id, flagged)
                  WHERE c.flagged GROUP BY c.user_id) f;
    END IF;

    PERFORM append_entries(p_realm_id, 'update_message_flags', e.audiences, e.bodies, p_write_id)
       FROM (SELECT array_agg(a.audience ORDER BY c.user_id, c.block) AS audiences,
                    array_agg(flag_entry_body('add', 'read', c.ids)
                              ORDER BY c.user_id, c.block) AS bodies
               FROM (SELECT n.user_id, n.block, array_agg(n.id ORDER BY n.id) AS ids
                       FROM (SELECT o.user_id, o.id, (row_number() OVER (
                                    PARTITION BY o.user_id ORDER BY o.id) - 1) / 1000 AS block
                               FROM unnest(v_users, v_ids) AS o(user_id, id)) n
                      GROUP BY n.user_id, n.block) c
               JOIN unnest(p_readers, p_audiences) AS a(user_id, audience)
                 ON a.user_id = c.user_id) e;
    RETURN QUERY SELECT c.user_id, c.id FROM unnest(v_users, v_ids) AS c(user_id, id);
END $$;

-- Mark everything as read that the user ever received or flagged. The entry lists the newest
-- p_limit ids that the user saw as unread, and says that everything is read.
CREATE OR REPLACE FUNCTION mark_all_read(
    p_realm_id bigint, p_user_id bigint, p_limit bigint, p_audience bytea, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_told bigint[] := ARRAY(
        SELECT i FROM unread_messages(p_realm_id, p_user_id, p_limit) u, unnest(u.r_ids) AS i
         ORDER BY i);
BEGIN
    v_told := v_told[greatest(1, cardinality(v_told) - p_limit + 1) :];
    INSERT INTO channel_read AS r (realm_id, user_id, channel_id, read)
    SELECT p_realm_id, p_user_id, o.channel_id,
           int8multirange(int8range(0, current_position(), '[]'))
      FROM reader_channels(p_realm_id, p_user_id) o
     WHERE o.pending && int8range(0, current_position(), '[]')
    ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET read = r.read + excluded.read;
    DELETE FROM conversation_read v WHERE v.realm_id = p_realm_id AND v.user_id = p_user_id;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {UNREAD} <> 0));
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_told, p_audience, p_write_id, true);
END $$;

-- Mark what each channel shows as read for the user beside it, who leaves it, with an entry for
-- each user.
CREATE OR REPLACE FUNCTION mark_left_read(
    p_realm_id bigint, p_user_ids bigint[], p_channel_ids bigint[], p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM mark_shown_read(p_realm_id, l.user_id, l.channel_id, NULL, to_users(ARRAY[l.user_id]),
                            p_write_id)
       FROM unnest(p_user_ids, p_channel_ids) AS l(user_id, channel_id);
END $$;

-- Mark as read what a channel, or (if that is null) a conversation, shows, whether or not the user
-- may read it now. Messages that were sent there and moved away stay as they are.
CREATE OR REPLACE FUNCTION mark_shown_read(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_conversation_id bigint,
    p_audience bytea, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_shown record;
    v_oldest bigint;
    v_read int8multirange := int8multirange(int8range(0, current_position(), '[]'));
BEGIN
    v_shown := unread_shown_in(p_realm_id, p_user_id, p_channel_id, p_conversation_id);
    IF v_shown.r_ids = '{}' THEN
        RETURN;
    END IF;
    IF v_shown.r_has_unseen THEN
        SELECT min(lower(o.pending)) INTO v_oldest
          FROM reader_channels(p_realm_id, p_user_id) o
         WHERE o.channel_id = coalesce(p_channel_id, (
               SELECT t.channel_id FROM topics t
                WHERE t.realm_id = p_realm_id AND t.topic_id = p_conversation_id));
        v_read := v_read - coalesce((
            SELECT range_agg(int8range(CASE
                       WHEN p_channel_id IS NULL
                       THEN predecessor(p_realm_id, p_conversation_id, s.id)
                       ELSE channel_predecessor(p_realm_id, p_channel_id, s.id) END, s.id, '(]'))
              FROM message_states(p_realm_id, p_user_id, ARRAY(
                   SELECT m.id FROM messages m
                    WHERE m.realm_id = p_realm_id AND m.origin_channel_id = p_channel_id
                      AND m.conversation_id <> m.origin_conversation_id
                      AND m.channel_id <> p_channel_id AND m.id >= v_oldest
                   UNION ALL
                   SELECT m.id FROM messages m
                    WHERE p_channel_id IS NULL AND m.realm_id = p_realm_id
                      AND m.origin_conversation_id = p_conversation_id
                      AND m.conversation_id <> m.origin_conversation_id
                      AND m.id >= v_oldest)) s
             WHERE s.received AND NOT s.seen), '{}');
        IF p_channel_id IS NULL THEN
            PERFORM add_conversation_read(p_realm_id, p_user_id, p_conversation_id, v_read);
        ELSE
            PERFORM add_channel_read(p_realm_id, p_user_id, p_channel_id, v_read);
            PERFORM prune_conversation_read(p_realm_id, p_user_id, ARRAY[p_channel_id]);
        END IF;
    END IF;
    IF v_shown.r_moved_ids IS NOT NULL THEN
        PERFORM add_messages_read(
            p_realm_id, array_fill(p_user_id, ARRAY[cardinality(v_shown.r_moved_ids)]),
            v_shown.r_moved_ids, v_shown.r_moved_origins);
    END IF;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, v_shown.r_ids);
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_shown.r_ids, p_audience, p_write_id);
END $$;

-- Mark messages as unread; return the changed ids, and the channels whose messages were skipped
-- because the user is not subscribed.
CREATE OR REPLACE FUNCTION mark_unread(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_empty_topic_name text,
    p_audience bytea, p_write_id uuid, OUT r_changed bigint[],
    OUT r_ignored_channel_ids bigint[])
    RETURNS record
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_details jsonb;
    v_not_received bigint[];
BEGIN
    SELECT coalesce(array_agg(s.id ORDER BY s.id) FILTER (WHERE s.subscribed AND NOT s.unread), '{}'),
           array_agg(s.id) FILTER (WHERE s.subscribed AND NOT s.unread AND NOT s.received),
           coalesce(array_agg(DISTINCT s.channel_id) FILTER (WHERE NOT s.subscribed), '{}'),
           jsonb_object_agg(s.id::text, CASE
               WHEN s.channel_id IS NULL THEN jsonb_build_object('type', 'private', 'user_ids', (
                    SELECT to_jsonb(array_remove(g.user_ids, p_user_id)) FROM dm_groups g
                     WHERE g.realm_id = p_realm_id AND g.dm_group_id = s.conversation_id))
               ELSE jsonb_build_object('type', 'stream', 'stream_id', s.channel_id, 'topic', (
                    SELECT t.name FROM topics t
                     WHERE t.realm_id = p_realm_id AND t.topic_id = s.conversation_id))
               END || CASE WHEN counts_as_mention(p_realm_id, p_user_id, s.channel_id, s.conversation_id,
                                                  s.flags, s.traits, s.received)
                           THEN '{"mentioned": true}'::jsonb ELSE '{}'::jsonb END)
           FILTER (WHERE s.subscribed AND NOT s.unread)
      INTO r_changed, v_not_received, r_ignored_channel_ids, v_details
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible;

    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, i, CASE WHEN i = ANY (v_not_received) THEN {UNREAD | HISTORICAL} ELSE {UNREAD} END
      FROM unnest(r_changed) AS i
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    PERFORM append_flag_entries(p_realm_id, 'remove', 'read', r_changed, p_audience, p_write_id,
                                false, v_details, p_empty_topic_name);
END $$;

-- Keep a notice of resolving, right after it was sent, unread for followers of the topic who have
-- not changed when such notices are read.
CREATE OR REPLACE FUNCTION keep_notice_unread(p_realm_id bigint, p_message_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, t.user_id, m.id, {UNREAD}
      FROM messages m
      JOIN user_topics t ON t.realm_id = p_realm_id AND t.topic_id = m.conversation_id
           AND t.visibility_policy = 3
      JOIN users u ON u.realm_id = p_realm_id AND u.user_id = t.user_id
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = t.user_id
           AND s.channel_id = m.channel_id AND s.spans @> m.id
     WHERE m.realm_id = p_realm_id AND m.id = p_message_id
       AND coalesce(u.settings ->> 'resolved_topic_notice_auto_read_policy', '')
           NOT IN ('always', 'never')
       AND NOT notices_unread(p_realm_id, t.user_id) @> m.id
       AND NOT EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = t.user_id
                          AND x.muted_user_id = m.sender_id AND m.id < x.read_below)
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    PERFORM add_reader_flags(p_realm_id, p_message_id);
END $$;

-- Mark a message as read for a user right after it was sent; the flags of its entry say so.
CREATE OR REPLACE FUNCTION read_from_the_start(
    p_realm_id bigint, p_user_id bigint, p_message_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_state record;
BEGIN
    SELECT s.origin_conversation_id, s.received AND NOT s.seen AS is_unseen INTO v_state
      FROM reader_states(p_realm_id, ARRAY[p_user_id], ARRAY[p_message_id]) s
     WHERE s.unread;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF v_state.is_unseen THEN
        PERFORM add_messages_read(p_realm_id, ARRAY[p_user_id], ARRAY[p_message_id],
                                  ARRAY[v_state.origin_conversation_id]);
    END IF;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, ARRAY[p_message_id]);
    PERFORM add_reader_flags(p_realm_id, p_message_id);
END $$;

-- Append flag entries for messages that users may read again.
CREATE OR REPLACE FUNCTION tell_regained(
    p_realm_id bigint, p_user_ids bigint[], p_ids bigint[], p_empty_topic_name text,
    p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_user_id bigint;
    v_audience bytea;
    v_unread bigint[];
    v_starred bigint[];
    v_details jsonb;
BEGIN
    FOREACH v_user_id IN ARRAY p_user_ids LOOP
        SELECT array_agg(s.id ORDER BY s.id) FILTER (WHERE s.unread),
               array_agg(s.id ORDER BY s.id) FILTER (WHERE s.flags & {STARRED} <> 0),
               jsonb_object_agg(s.id::text, jsonb_build_object(
                   'type', 'stream', 'stream_id', s.channel_id, 'topic', (
                        SELECT t.name FROM topics t
                         WHERE t.realm_id = p_realm_id AND t.topic_id = s.conversation_id))
                   || CASE WHEN counts_as_mention(p_realm_id, v_user_id, s.channel_id, s.conversation_id,
                                                  s.flags, s.traits, s.received)
                           THEN '{"mentioned": true}'::jsonb ELSE '{}'::jsonb END)
               FILTER (WHERE s.unread)
          INTO v_unread, v_starred, v_details
          FROM message_states(p_realm_id, v_user_id, p_ids) s
         WHERE s.accessible;
        v_audience := convert_to(format('{"users":[%s]}', v_user_id), 'UTF8');
        PERFORM append_flag_entries(p_realm_id, 'remove', 'read', v_unread, v_audience,
                                    p_write_id, false, v_details, p_empty_topic_name);
        PERFORM append_flag_entries(p_realm_id, 'add', 'starred', v_starred, v_audience,
                                    p_write_id);
    END LOOP;
END $$;

-- Messages from p_since on that mention the user, by name, group or wildcard.
CREATE OR REPLACE FUNCTION mentions_since(p_realm_id bigint, p_user_id bigint, p_since bigint)
    RETURNS TABLE (id bigint, by_name boolean)
    LANGUAGE sql STABLE
    AS $$
    SELECT f.message_id, f.flags & {MENTIONED} <> 0
      FROM message_flags f
     WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.message_id >= p_since
       AND f.flags & {MENTIONED | TOPIC_WILDCARD_MENTIONED} <> 0
    UNION
    SELECT m.id, false
      FROM subscriptions s
     CROSS JOIN LATERAL (
           SELECT m.id FROM messages m
            WHERE m.realm_id = p_realm_id AND m.origin_channel_id = s.channel_id
              AND m.traits & {CHANNEL_WILDCARD} <> 0 AND m.id >= p_since) m
     WHERE s.realm_id = p_realm_id AND s.user_id = p_user_id AND s.spans @> m.id
    UNION
    SELECT m.id, false
      FROM messages m
      JOIN dm_group_members g ON g.realm_id = p_realm_id AND g.user_id = p_user_id
           AND g.dm_group_id = m.conversation_id
     WHERE m.realm_id = p_realm_id AND m.origin_channel_id IS NULL AND m.traits & {CHANNEL_WILDCARD} <> 0
       AND m.id >= p_since
$$;
