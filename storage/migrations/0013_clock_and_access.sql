-- The clock's row is found by its newest version. While somebody holds an old snapshot (a dump,
-- a forgotten transaction) no version of the row can be removed, and a look-up by realm_id alone
-- walks through all of them. With the position in the key the newest one is the first that is
-- met, however many there are. It is found by the index alone: a plan made for a small table
-- would read all of it later.
ALTER TABLE realm_clock DROP CONSTRAINT realm_clock_pkey;
ALTER TABLE realm_clock ADD PRIMARY KEY (realm_id, position);
ALTER TABLE realm_clock RESET (fillfactor);

CREATE OR REPLACE FUNCTION clock_lock(p_realm_id bigint, OUT r_position bigint, OUT r_epoch bigint, OUT r_day date)
    LANGUAGE plpgsql
    SET enable_seqscan = off
    AS $$
BEGIN
    SELECT c.position, c.epoch, greatest(c.day, (clock_timestamp() AT TIME ZONE 'utc')::date)
      INTO STRICT r_position, r_epoch, r_day
      FROM realm_clock c WHERE c.realm_id = p_realm_id
     ORDER BY c.position DESC LIMIT 1 FOR UPDATE;
    PERFORM set_config('parley.start', r_position::text, true),
            set_config('parley.position', r_position::text, true),
            set_config('parley.epoch', r_epoch::text, true),
            set_config('parley.day', r_day::text, true);
END $$;

CREATE OR REPLACE FUNCTION clock_advance(p_realm_id bigint)
    RETURNS TABLE (r_position bigint, r_kind text, r_audience bytea, r_body bytea, r_write_id uuid)
    LANGUAGE plpgsql
    SET enable_seqscan = off
    AS $$
DECLARE
    v_day date := current_setting('parley.day')::date;
    v_start bigint := current_setting('parley.start')::bigint;
BEGIN
    IF current_position() > v_start THEN
        UPDATE realm_clock c SET position = current_position(), day = v_day
         WHERE c.realm_id = p_realm_id AND c.position = v_start;
        RETURN QUERY SELECT l.position, l.kind, l.audience, l.body, l.write_id
            FROM event_log l
           WHERE l.realm_id = p_realm_id AND l.position > v_start AND l.day = v_day
           ORDER BY l.position;
    END IF;
END $$;

-- Where the clocks of these realms stand.
CREATE FUNCTION clocks_now(p_realm_ids bigint[])
    RETURNS TABLE (realm_id bigint, "position" bigint, day date, epoch bigint)
    LANGUAGE plpgsql STABLE
    SET enable_seqscan = off
    AS $$
BEGIN
    RETURN QUERY
    SELECT r, c.position, c.day, c.epoch
      FROM unnest(p_realm_ids) AS r
     CROSS JOIN LATERAL (
           SELECT x.position, x.day, x.epoch FROM realm_clock x
            WHERE x.realm_id = r ORDER BY x.position DESC LIMIT 1) AS c;
END $$;

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

CREATE OR REPLACE FUNCTION reader_channels(p_realm_id bigint, p_user_id bigint)
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

CREATE OR REPLACE FUNCTION reader_access(p_realm_id bigint, p_user_id bigint, p_channel_ids bigint[])
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

CREATE OR REPLACE FUNCTION reader_states(p_realm_id bigint, p_user_ids bigint[], p_ids bigint[])
    RETURNS TABLE (user_id bigint, id bigint, sender_id bigint, channel_id bigint,
                   conversation_id bigint, origin_channel_id bigint, origin_conversation_id bigint,
                   traits integer, flags integer, subscribed boolean, received boolean,
                   seen boolean, accessible boolean, unread boolean)
    LANGUAGE plpgsql STABLE ROWS 100
    -- Always one look-up by key for each message, however small a table is now.
    SET plan_cache_mode = force_generic_plan
    SET enable_seqscan = off
    SET jit = off
    AS $$
#variable_conflict use_column
BEGIN
    -- OFFSET 0 keeps the look-ups where they are: they are not turned into joins.
    RETURN QUERY
    WITH readers AS MATERIALIZED (
        SELECT u.user_id, u.role FROM users u
         WHERE u.realm_id = p_realm_id AND u.user_id = ANY (p_user_ids))
    SELECT w.user_id, m.id, m.sender_id, m.channel_id, m.conversation_id, m.origin_channel_id,
           m.origin_conversation_id, m.traits, j.flags, j.subscribed, j.received, j.seen,
           j.accessible, j.accessible AND (j.flags & 1 <> 0 OR (j.received AND NOT j.seen))
      FROM unnest(p_user_ids, p_ids) AS w(user_id, id)
      LEFT JOIN readers r ON r.user_id = w.user_id
     CROSS JOIN LATERAL (
           SELECT x.* FROM messages x WHERE x.realm_id = p_realm_id AND x.id = w.id OFFSET 0) m
      LEFT JOIN LATERAL (SELECT x.active, x.spans @> m.id AS received FROM subscriptions x
           WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
             AND x.channel_id = m.origin_channel_id LIMIT 1) there ON true
      CROSS JOIN LATERAL (
           SELECT coalesce((SELECT x.flags FROM message_flags x
                       WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                         AND x.message_id = m.id), 0) AS flags,
                  CASE WHEN m.channel_id IS NULL THEN EXISTS (SELECT FROM dm_group_members x
                       WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                         AND x.dm_group_id = m.conversation_id)
                  ELSE coalesce(there.received, false) END AS received,
                  coalesce(CASE WHEN m.channel_id IS NULL THEN true
                       WHEN m.channel_id = m.origin_channel_id THEN there.active
                       ELSE (SELECT x.active FROM subscriptions x
                              WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                                AND x.channel_id = m.channel_id) END, false) AS subscribed,
                  (m.traits & 1 <> 0 AND m.sender_id = w.user_id)
                  OR coalesce((SELECT x.read @> m.id FROM channel_read x
                       WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                         AND x.channel_id = coalesce(m.origin_channel_id, 0)), false)
                  OR coalesce((SELECT x.read @> m.id FROM conversation_read x
                       WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                         AND x.conversation_id = m.origin_conversation_id), false)
                  OR coalesce((SELECT m.id < x.read_below FROM muted_users x
                       WHERE x.realm_id = p_realm_id AND x.user_id = w.user_id
                         AND x.muted_user_id = m.sender_id), false) AS seen
            OFFSET 0) i
      CROSS JOIN LATERAL (
           SELECT i.*, CASE WHEN m.channel_id IS NULL THEN i.received
                  ELSE (SELECT CASE channel_access(w.user_id, r.role, i.subscribed, x)
                               WHEN 2 THEN true WHEN 1 THEN i.received ELSE false END
                          FROM channels x
                         WHERE x.realm_id = p_realm_id AND x.channel_id = m.channel_id)
                  END AS accessible OFFSET 0) j;
END $$;

CREATE OR REPLACE FUNCTION muted_topics_of(p_realm_id bigint, p_user_id bigint)
    RETURNS TABLE (channel_name text, topic text, muted_at bigint)
    LANGUAGE sql STABLE
    AS $$
    SELECT c.name, t.name, floor(extract(epoch FROM ut.last_updated))::bigint
      FROM users u
      JOIN user_topics ut ON ut.realm_id = p_realm_id AND ut.user_id = p_user_id
           AND ut.visibility_policy = 1
      JOIN topics t ON t.realm_id = p_realm_id AND t.topic_id = ut.topic_id
      JOIN channels c ON c.realm_id = p_realm_id AND c.channel_id = t.channel_id
           AND NOT c.is_archived
      LEFT JOIN subscriptions s ON s.realm_id = p_realm_id AND s.user_id = p_user_id
           AND s.channel_id = t.channel_id
     WHERE u.realm_id = p_realm_id AND u.user_id = p_user_id
       AND channel_access(p_user_id, u.role, s.active, c) > 0
     ORDER BY ut.last_updated, ut.topic_id
$$;

DROP FUNCTION channel_access(smallint, boolean, boolean, boolean, boolean);
