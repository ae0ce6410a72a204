-- What a user may read, has received and has read: derived from spans and ranges, never stored
-- per recipient. Bits that occur here: message_flags.flags 1 unread, 32 historical (see
-- storage/message_flags.py); messages.traits 1 read by its sender (see storage/messages.py).

-- Whether one of the channel's settings lets somebody read a private channel that they are not
-- in: what server/domain/channels.py calls GRANTS_CONTENT. A setting is absent (nobody), a group,
-- or people and groups; a deactivated group admits nobody, and nobody through it.
CREATE FUNCTION channel_grants_content(p_realm_id bigint, p_user_id bigint, p_permissions jsonb)
    RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
DECLARE
    v_settings jsonb[] := ARRAY(
        SELECT p_permissions -> name
          FROM unnest(ARRAY['can_subscribe_group', 'can_add_subscribers_group']) AS name
         WHERE p_permissions ? name);
    v_role smallint;
    v_is_full boolean;
BEGIN
    IF EXISTS (SELECT FROM unnest(v_settings) AS s
                WHERE jsonb_typeof(s) = 'object'
                  AND s -> 'direct_members' @> to_jsonb(p_user_id)) THEN
        RETURN true;
    END IF;

    SELECT u.role, u.role < 400 OR now() - u.date_joined >= make_interval(
               days => coalesce((r.settings ->> 'waiting_period_threshold')::integer, 0))
      INTO v_role, v_is_full
      FROM users u JOIN realms r ON r.realm_id = p_realm_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id;

    RETURN EXISTS (
        WITH RECURSIVE admitted AS (
            SELECT g.group_id, g.name, g.is_system_group
              FROM unnest(v_settings) AS s
             CROSS JOIN LATERAL jsonb_array_elements(
                   CASE WHEN jsonb_typeof(s) = 'object' THEN s -> 'direct_subgroups'
                        ELSE jsonb_build_array(s) END) AS start
              JOIN user_groups g ON g.realm_id = p_realm_id AND g.group_id = start::bigint
             WHERE NOT g.deactivated
            UNION
            SELECT g.group_id, g.name, g.is_system_group
              FROM admitted a
              JOIN group_subgroups s ON s.realm_id = p_realm_id AND s.group_id = a.group_id
              JOIN user_groups g ON g.realm_id = p_realm_id AND g.group_id = s.subgroup_id
             WHERE NOT g.deactivated)
        SELECT FROM admitted a
         WHERE CASE WHEN NOT a.is_system_group THEN EXISTS (
                   SELECT FROM group_members m
                    WHERE m.realm_id = p_realm_id AND m.group_id = a.group_id
                      AND m.user_id = p_user_id)
               ELSE CASE a.name
                   WHEN 'role:owners' THEN v_role <= 100
                   WHEN 'role:administrators' THEN v_role <= 200
                   WHEN 'role:moderators' THEN v_role <= 300
                   WHEN 'role:fullmembers' THEN v_role <= 400 AND v_is_full
                   WHEN 'role:members' THEN v_role <= 400
                   WHEN 'role:everyone' THEN v_role <= 600
                   WHEN 'role:internet' THEN v_role <= 600
                   ELSE false END
               END);
END $$;

-- What somebody may read of a channel: 2 everything, 1 what they received, 0 nothing. The one
-- place of the database that says so; Standing.reads and Standing.reads_history say the same.
CREATE FUNCTION channel_access(
    p_user_id bigint, p_role smallint, p_is_subscribed boolean, p_channel channels)
    RETURNS integer
    LANGUAGE sql STABLE
    AS $$
    SELECT CASE
        WHEN p_channel.is_web_public OR (NOT p_channel.invite_only AND p_role <> 600) THEN 2
        WHEN p_is_subscribed IS NOT TRUE AND (
                 p_role = 600 OR NOT channel_grants_content(
                     p_channel.realm_id, p_user_id, p_channel.permissions)) THEN 0
        WHEN NOT p_channel.invite_only OR p_channel.history_public_to_subscribers THEN 2
        ELSE 1
    END
$$;

-- Each channel in which the user is or was: what they may read of it now, and the positions
-- whose messages they received there and which channel_read does not cover.
-- Channel 0 stands for all direct messages.
CREATE FUNCTION reader_channels(p_realm_id bigint, p_user_id bigint)
    RETURNS TABLE (channel_id bigint, active boolean, access integer, pending int8multirange)
    LANGUAGE sql STABLE
    AS $$
    SELECT s.channel_id, s.active,
           (SELECT channel_access(p_user_id, u.role, s.active, c)
              FROM channels c
             WHERE c.realm_id = p_realm_id AND c.channel_id = s.channel_id),
           s.spans - coalesce((SELECT r.read FROM channel_read r
                                WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                                  AND r.channel_id = s.channel_id), '{}')
      FROM users u
      JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
    UNION ALL
    SELECT 0, true, 2,
           '{[0,)}' - coalesce((SELECT r.read FROM channel_read r
                                 WHERE r.realm_id = p_realm_id AND r.user_id = p_user_id
                                   AND r.channel_id = 0), '{}')
$$;

-- How each of these messages stands to the user beside it, in pairs. Received and seen follow
-- where it was sent, accessible follows where it is now. Seen: covered by what has been marked as
-- read there, or sent by somebody whom the user mutes, or did then.
CREATE FUNCTION reader_states(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[])
    RETURNS TABLE (user_id bigint, id bigint, sender_id bigint, channel_id bigint,
                   conversation_id bigint, origin_channel_id bigint, origin_conversation_id bigint,
                   traits integer, flags integer, subscribed boolean, received boolean,
                   seen boolean, accessible boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
BEGIN
    -- One look-up for each message, and a few for each conversation of a reader, for however many
    -- messages. OFFSET 0 and LIMIT keep look-ups where they are; a set with nothing added is a
    -- value in memory, which is not unpacked for each message.
    RETURN QUERY
    WITH pairs AS MATERIALIZED (
        -- From a series the planner expects so many that it joins what follows by hashing.
        SELECT p_user_ids[n] AS user_id, p_ids[n] AS id
          FROM generate_series(1, cardinality(p_ids)) AS n
    ), flagged AS MATERIALIZED (
        SELECT r.user_id, f.message_id AS id, f.flags
          FROM (SELECT p.user_id, array_agg(p.id) AS ids FROM pairs p GROUP BY p.user_id) r
         CROSS JOIN LATERAL (
               SELECT x.message_id, x.flags FROM message_flags x
                WHERE x.realm_id = p_realm_id AND x.user_id = r.user_id
                  AND x.message_id = ANY (r.ids) OFFSET 0) f
    ), looked_at AS MATERIALIZED (
        SELECT p.user_id, m.*
          FROM pairs p
          JOIN (SELECT x.id, x.sender_id, x.conversation_id, x.origin_conversation_id, x.traits,
                       coalesce(x.channel_id, 0) AS place,
                       coalesce(x.origin_channel_id, 0) AS origin
                  FROM messages x
                 WHERE x.realm_id = p_realm_id AND x.id = ANY (p_ids) OFFSET 0) m ON m.id = p.id
    ), grounds AS MATERIALIZED (
        SELECT w.user_id, w.place, w.origin, w.origin_conversation_id, there.spans,
               w.place = 0 OR coalesce(here.active, false) AS subscribed,
               CASE WHEN w.place = 0 THEN EXISTS (
                    SELECT FROM dm_group_members x
                     WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                       AND x.dm_group_id = w.origin_conversation_id) END AS is_in_group,
               CASE WHEN w.place <> 0 THEN (
                    SELECT channel_access(w.user_id, u.role, here.active, x) FROM channels x
                     WHERE x.realm_id = p_realm_id AND x.channel_id = w.place) END AS access,
               (SELECT x.read + '{}'::int8multirange FROM channel_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                   AND x.channel_id = w.origin) AS place_read,
               (SELECT x.read + '{}'::int8multirange FROM conversation_read x
                 WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                   AND x.conversation_id = w.origin_conversation_id) AS conversation_read,
               EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id) AS mutes
          FROM (SELECT DISTINCT l.user_id, l.place, l.origin, l.origin_conversation_id
                  FROM looked_at l) w
          LEFT JOIN LATERAL (
               SELECT x.role FROM users x
                WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id LIMIT 1) u ON true
          LEFT JOIN LATERAL (
               SELECT x.active, x.spans + '{}'::int8multirange AS spans FROM subscriptions x
                WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                  AND x.channel_id = w.origin LIMIT 1) there ON true
          LEFT JOIN LATERAL (
               SELECT there.active WHERE w.place = w.origin
               UNION ALL
               SELECT x.active FROM subscriptions x
                WHERE w.place <> w.origin AND x.realm_id = p_realm_id AND x.user_id = w.user_id
                  AND x.channel_id = w.place LIMIT 1) here ON true
    ), judged AS (
        SELECT l.*, coalesce(f.flags, 0) AS flags, g.access, g.subscribed,
               coalesce(g.is_in_group, g.spans @> l.id, false) AS received,
               (l.traits & 1 <> 0 AND l.sender_id = l.user_id)
               OR coalesce(g.place_read @> l.id, false)
               OR coalesce(g.conversation_read @> l.id, false)
               OR (g.mutes AND coalesce((
                   SELECT l.id < x.read_below FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = l.user_id
                      AND x.muted_user_id = l.sender_id), false)) AS seen
          FROM looked_at l
          JOIN grounds g ON g.user_id = l.user_id AND g.place = l.place AND g.origin = l.origin
               AND g.origin_conversation_id = l.origin_conversation_id
          LEFT JOIN flagged f ON f.user_id = l.user_id AND f.id = l.id
        OFFSET 0
    )
    SELECT a.user_id, a.id, a.sender_id, nullif(a.place, 0), a.conversation_id,
           nullif(a.origin, 0), a.origin_conversation_id, a.traits, a.flags, a.subscribed,
           a.received, a.seen, a.accessible,
           a.accessible AND (a.flags & 1 <> 0 OR (a.received AND NOT a.seen))
      FROM (SELECT j.*, CASE WHEN j.place = 0 THEN j.received
                        ELSE coalesce(j.access = 2 OR (j.access = 1 AND j.received), false)
                        END AS accessible
              FROM judged j OFFSET 0) a;
END $$;

-- The same for one user, each message once.
CREATE FUNCTION message_states(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS TABLE (id bigint, sender_id bigint, channel_id bigint, conversation_id bigint,
                   origin_channel_id bigint, origin_conversation_id bigint, traits integer,
                   flags integer, subscribed boolean, received boolean, seen boolean,
                   accessible boolean, unread boolean)
    LANGUAGE sql STABLE ROWS 100
    AS $$
    SELECT s.id, s.sender_id, s.channel_id, s.conversation_id, s.origin_channel_id,
           s.origin_conversation_id, s.traits, s.flags, s.subscribed, s.received, s.seen,
           s.accessible, s.unread
      FROM (SELECT ARRAY(SELECT DISTINCT i FROM unnest(p_ids) AS i) AS ids OFFSET 0) each,
           reader_states(p_realm_id, array_fill(p_user_id, ARRAY[cardinality(each.ids)]),
                         each.ids) s
$$;

-- ---------------------------------------------------------------- what is unread

-- Those of the messages that the user has read because of whom they mute.
CREATE FUNCTION read_by_sender(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM muted_users x
                    WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id) THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
           AND EXISTS (SELECT FROM muted_users x
                        WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                          AND x.muted_user_id = m.sender_id AND m.id < x.read_below));
END $$;

-- Those of the messages, sorted, that the user has read by sending them.
CREATE FUNCTION own_among(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS bigint[]
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
BEGIN
    -- Of a few it is quicker to ask who sent them, of many what was sent meanwhile.
    IF cardinality(p_ids) < 1000 THEN
        RETURN ARRAY(SELECT m.id FROM messages m
                      WHERE m.realm_id = p_realm_id AND m.id = ANY (p_ids)
                        AND m.sender_id = p_user_id AND m.traits & 1 <> 0);
    END IF;
    RETURN ARRAY(SELECT m.id FROM messages m
                  WHERE m.realm_id = p_realm_id AND m.sender_id = p_user_id
                    AND m.id BETWEEN p_ids[1] AND p_ids[cardinality(p_ids)]
                    AND m.traits & 1 <> 0);
END $$;

-- Messages of the channels (0: direct messages) that are pending there, from p_from up to p_until,
-- where they were sent, and covered by no read set; and how many had to be looked at that are
-- covered. p_flagged are left out.
CREATE FUNCTION unseen_in_place(
    p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_pending int8multirange[],
    p_from bigint, p_until bigint, p_flagged bigint[])
    RETURNS TABLE (channel_id bigint, conversation_id bigint, ids bigint[], skipped bigint)
    LANGUAGE plpgsql STABLE ROWS 100
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    -- The ids of a conversation come in order: hashed by conversation, they stay so.
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
           AND m.id >= p_from AND m.id < p_until AND m.traits & 1 <> 0
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

-- Those pending that are not where they were sent: few, and judged one by one.
CREATE FUNCTION pending_elsewhere(
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

-- Everything unread by where it is now (channel 0: direct messages), newest first by blocks, until
-- there are p_limit or more. Rows without ids only say how many read messages had to be looked
-- at. A row without a conversation and with r_floor is a hint: in that channel, the first
-- position that channel_read does not cover is far behind the clock.
CREATE FUNCTION unread_messages(p_realm_id bigint, p_user_id bigint, p_limit bigint)
    RETURNS TABLE (r_channel_id bigint, r_conversation_id bigint, r_ids bigint[],
                   r_skipped bigint, r_floor bigint)
    LANGUAGE plpgsql STABLE ROWS 100
    SET jit = off
    AS $$
DECLARE
    v_position bigint := (SELECT max(c.position) FROM realm_clock c WHERE c.realm_id = p_realm_id);
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0);
    v_odd bigint[] := v_flagged;
    v_channel_ids bigint[];
    v_pending int8multirange[];
    v_open_ids bigint[];
    v_open int8multirange[];
    v_oldest bigint;
    v_size bigint := 500000;
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

-- What channel_read may absorb of these channels (0: direct messages) without any change of
-- meaning, up to the clock: what lies below the first unseen message, and those stretches
-- between unseen ones that save more look-ups than they cost, by the density of covered
-- messages. It stays true: what a read set covers stays covered.
CREATE FUNCTION foldable_reads(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
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
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0);
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
        SELECT o.channel_id, 0, coalesce(
                   (SELECT min(u.id) FROM unseen u WHERE u.channel_id = o.channel_id),
                   v_position + 1)
          FROM own o
    ), density AS (
        SELECT o.channel_id,
               (SELECT sum(u.skipped) FROM in_place u WHERE u.channel_id = o.channel_id)
               / greatest(v_position - o.floor, 1) AS messages
          FROM own o
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

-- What is unread of the messages that a channel or a conversation shows, whether or not the user
-- may read them now: all of them sorted; whether no read set of the place itself covers some; and
-- those that were sent elsewhere, and to where, which no read set there covers.
CREATE FUNCTION unread_shown_in(
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
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0
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
        -- By the index alone: those that were moved here are odd, and who reads their own
        -- messages by sending them has few.
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
                            || read_by_sender(p_realm_id, p_user_id, r_ids) || v_odd;
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
         WHERE s.flags & 1 <> 0 OR s.unseen;
        IF v_odd_ids <> '{}' THEN
            r_ids := ARRAY(SELECT i FROM unnest(r_ids || v_odd_ids) AS i ORDER BY i);
        END IF;
    END IF;
END $$;

-- ---------------------------------------------------------------- marking, after the clock's lock

-- The newest message before this one that was sent to the conversation, or one that is there
-- now: none that was sent there lies between. 0: there is none.
CREATE FUNCTION predecessor(p_realm_id bigint, p_conversation_id bigint, p_id bigint)
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

-- The same for a channel.
CREATE FUNCTION channel_predecessor(p_realm_id bigint, p_channel_id bigint, p_id bigint)
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

-- The body of update_message_flags. p_details: message_details by message id, or null, and what
-- clients call the empty topic that do not know it. p_all: every other message has the flag, or
-- has lost it, as well.
CREATE FUNCTION flag_entry_body(
    p_operation text, p_flag text, p_ids bigint[], p_all boolean DEFAULT false,
    p_details jsonb DEFAULT NULL, p_empty_topic_name text DEFAULT NULL)
    RETURNS bytea
    LANGUAGE sql STABLE
    AS $$
    SELECT convert_to(format(
        '{"type":"update_message_flags","op":%s,"operation":%1$s,"flag":%s,"messages":[%s],'
        '"all":%s%s}',
        to_json(p_operation), to_json(p_flag), array_to_string(p_ids, ','), p_all::text,
        CASE WHEN p_details IS NOT NULL THEN (
            SELECT format(',"message_details":%s%s', jsonb_object_agg(i::text, p_details -> i::text),
                          CASE WHEN bool_or(p_details -> i::text ->> 'topic' = '') THEN
                               ',"empty_topic_display_name":' || to_json(p_empty_topic_name) END)
              FROM unnest(p_ids) AS i) END), 'UTF8')
$$;

-- Appends update_message_flags for these messages, at most 1,000 an entry; none, no entry.
CREATE FUNCTION append_flag_entries(
    p_realm_id bigint, p_operation text, p_flag text, p_ids bigint[], p_audience bytea,
    p_write_id uuid, p_all boolean DEFAULT false, p_details jsonb DEFAULT NULL,
    p_empty_topic_name text DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    IF cardinality(p_ids) > 0 THEN
        -- The slice of everything is a plain array, from which slices are cut without a copy.
        PERFORM append_entries(
            p_realm_id, 'update_message_flags',
            array_fill(p_audience, ARRAY[cardinality(e.bodies)]), e.bodies, p_write_id)
           FROM (SELECT array_agg(flag_entry_body(
                            p_operation, p_flag, flat.ids[block : block + 999], p_all, p_details,
                            p_empty_topic_name) ORDER BY block) AS bodies
                   FROM (SELECT p_ids[:] AS ids OFFSET 0) flat
                  CROSS JOIN generate_series(1, cardinality(p_ids), 1000) AS block) e;
    END IF;
END $$;

CREATE FUNCTION add_conversation_read(
    p_realm_id bigint, p_user_id bigint, p_conversation_id bigint, p_read int8multirange)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO conversation_read AS r (realm_id, user_id, conversation_id, read)
    VALUES (p_realm_id, p_user_id, p_conversation_id, p_read)
    ON CONFLICT (realm_id, user_id, conversation_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

CREATE FUNCTION add_channel_read(
    p_realm_id bigint, p_user_id bigint, p_channel_id bigint, p_read int8multirange)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO channel_read AS r (realm_id, user_id, channel_id, read)
    VALUES (p_realm_id, p_user_id, p_channel_id, p_read)
    ON CONFLICT (realm_id, user_id, channel_id) DO UPDATE SET read = r.read + excluded.read;
END $$;

-- Marks single messages for the users beside them, in the conversations to which they were sent;
-- where that is null, nothing.
CREATE FUNCTION add_messages_read(
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
        -- All that lies between the marked ones, if they are a good part of it.
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

-- Takes the flag unread off; a row that says nothing else goes.
CREATE FUNCTION clear_unread_flag(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    -- Few have the flag, however many are read.
    v_flagged bigint[] := ARRAY(
        SELECT f.message_id FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0);
BEGIN
    IF v_flagged = '{}' THEN
        RETURN;
    END IF;
    v_flagged := ARRAY(SELECT unnest(v_flagged) INTERSECT SELECT unnest(p_ids));
    DELETE FROM message_flags
     WHERE realm_id = p_realm_id AND user_id = p_user_id AND message_id = ANY (v_flagged)
       AND flags = 1;
    UPDATE message_flags SET flags = flags & ~1
     WHERE realm_id = p_realm_id AND user_id = p_user_id AND message_id = ANY (v_flagged)
       AND flags & 1 <> 0;
END $$;

-- Drops what conversation_read says of these channels (0: direct messages) beyond channel_read.
CREATE FUNCTION prune_conversation_read(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
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

-- Let channel_read absorb what foldable_reads gave.
CREATE FUNCTION fold_reads(
    p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[], p_reads text[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM add_channel_read(p_realm_id, p_user_id, f.channel_id, f.read::int8multirange)
       FROM unnest(p_channel_ids, p_reads) AS f(channel_id, read);
    PERFORM prune_conversation_read(p_realm_id, p_user_id, p_channel_ids);
END $$;

-- Marks messages as read for the users beside them, in distinct pairs, where they are unread and
-- may be read; the pairs that changed. Each of p_readers is told with the audience beside it.
CREATE FUNCTION mark_reads(
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
    SELECT array_agg(s.user_id), array_agg(s.id), array_agg(s.flags & 1 <> 0),
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

-- Flags those of the messages as unread that are read, may be read, and are direct messages or in
-- a channel that the user is subscribed to; the ids that changed, and the channels left out.
CREATE FUNCTION mark_unread(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_empty_topic_name text, p_audience bytea,
    p_write_id uuid, OUT r_changed bigint[], OUT r_ignored_channel_ids bigint[])
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
               END || CASE WHEN s.flags & 72 <> 0 OR (s.received AND s.traits & 2 <> 0)
                           THEN '{"mentioned": true}'::jsonb ELSE '{}'::jsonb END)
           FILTER (WHERE s.subscribed AND NOT s.unread)
      INTO r_changed, v_not_received, r_ignored_channel_ids, v_details
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible;

    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, i, CASE WHEN i = ANY (v_not_received) THEN 33 ELSE 1 END
      FROM unnest(r_changed) AS i
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    PERFORM append_flag_entries(p_realm_id, 'remove', 'read', r_changed, p_audience, p_write_id,
                                false, v_details, p_empty_topic_name);
END $$;

-- Marks as read what a place shows, a channel or (where that is null) a conversation, whether or
-- not the user may read it now. What was sent there and has been moved away stays as it is.
CREATE FUNCTION mark_shown_read(
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

-- Marks for each user what the channel beside them shows, which they leave, and tells each of it.
CREATE FUNCTION mark_left_read(
    p_realm_id bigint, p_user_ids bigint[], p_channel_ids bigint[], p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM mark_shown_read(p_realm_id, l.user_id, l.channel_id, NULL, to_users(ARRAY[l.user_id]),
                            p_write_id)
       FROM unnest(p_user_ids, p_channel_ids) AS l(user_id, channel_id);
END $$;

-- Marks everything as read that the user ever received or flagged. Tells the ids of what they saw
-- as unread, the newest p_limit of it, and that this is all.
CREATE FUNCTION mark_all_read(
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
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & 1 <> 0));
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_told, p_audience, p_write_id, true);
END $$;

-- Sets or takes off one of the flags that users set themselves; the ids that changed. A message
-- that the user did not receive becomes part of their history: historical.
CREATE FUNCTION set_message_flag(
    p_realm_id bigint, p_user_id bigint, p_ids bigint[], p_bit integer, p_name text,
    p_operation text, p_audience bytea, p_write_id uuid)
    RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_changed bigint[];
    v_historical integer[];
BEGIN
    SELECT coalesce(array_agg(s.id), '{}'), array_agg(CASE WHEN s.received THEN 0 ELSE 32 END)
      INTO v_changed, v_historical
      FROM (SELECT o.id, o.received FROM message_states(p_realm_id, p_user_id, p_ids) o
             WHERE o.accessible AND (o.flags & p_bit = 0) = (p_operation = 'add')
             ORDER BY o.id) s;
    IF p_operation = 'add' THEN
        INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
        SELECT p_realm_id, p_user_id, c.id, p_bit | c.historical
          FROM unnest(v_changed, v_historical) AS c(id, historical)
        ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
    ELSE
        DELETE FROM message_flags f
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id
           AND f.message_id = ANY (v_changed) AND f.flags = p_bit;
        UPDATE message_flags f SET flags = f.flags & ~p_bit
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id
           AND f.message_id = ANY (v_changed) AND f.flags & p_bit <> 0;
    END IF;
    PERFORM append_flag_entries(p_realm_id, p_operation, p_name, v_changed, p_audience, p_write_id);
    RETURN v_changed;
END $$;

-- Puts messages that the user did not receive into their history.
CREATE FUNCTION mark_historical(p_realm_id bigint, p_user_id bigint, p_ids bigint[])
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO message_flags AS f (realm_id, user_id, message_id, flags)
    SELECT p_realm_id, p_user_id, s.id, 32
      FROM message_states(p_realm_id, p_user_id, p_ids) s
     WHERE s.accessible AND NOT s.received
    ON CONFLICT (realm_id, user_id, message_id) DO UPDATE SET flags = f.flags | excluded.flags;
END $$;
