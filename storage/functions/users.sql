-- Muted users and presence.

-- Append muted_users: all users whom the user mutes now, and the change.
CREATE OR REPLACE FUNCTION append_muted_users(
    p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_audience bytea, p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM append_entry(p_realm_id, 'muted_users', p_audience, convert_to((
        SELECT jsonb_build_object(
                   'user_id', p_user_id, 'muted_user_id', p_muted_user_id,
                   'is_muted', coalesce(bool_or(x.muted_user_id = p_muted_user_id), false),
                   'muted_users', coalesce(jsonb_agg(jsonb_build_object(
                       'id', x.muted_user_id,
                       'timestamp', floor(extract(epoch FROM x.muted_at))::bigint)
                       ORDER BY x.muted_at, x.muted_user_id), '[]'))::text
          FROM muted_users x
         WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id AND x.muted_at IS NOT NULL),
        'UTF8'), p_write_id);
END $$;

-- Mute a user: messages they sent and will send count as read. False if they were muted already.
CREATE OR REPLACE FUNCTION mute_user(
    p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_muted_at timestamptz,
    p_limit bigint, p_audience bytea, p_write_id uuid)
    RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_unread bigint[];
    v_told bigint[];
BEGIN
    IF EXISTS (SELECT FROM muted_users x
                WHERE x.realm_id = p_realm_id AND x.user_id = p_user_id
                  AND x.muted_user_id = p_muted_user_id AND x.muted_at IS NOT NULL) THEN
        RETURN false;
    END IF;
    v_unread := ARRAY(
        SELECT unnest(u.r_ids) FROM unread_messages(p_realm_id, p_user_id, p_limit) u);
    v_told := ARRAY(
        SELECT m.id FROM messages m
         WHERE m.realm_id = p_realm_id AND m.id = ANY (v_unread)
           AND m.sender_id = p_muted_user_id ORDER BY m.id);
    INSERT INTO muted_users AS x (realm_id, user_id, muted_user_id, muted_at, read_below)
    VALUES (p_realm_id, p_user_id, p_muted_user_id, p_muted_at, 9223372036854775807)
    ON CONFLICT (realm_id, user_id, muted_user_id)
    DO UPDATE SET muted_at = excluded.muted_at, read_below = excluded.read_below;
    PERFORM clear_unread_flag(p_realm_id, p_user_id, ARRAY(
        SELECT f.message_id FROM message_flags f
          JOIN messages m ON m.realm_id = p_realm_id AND m.id = f.message_id
         WHERE f.realm_id = p_realm_id AND f.user_id = p_user_id AND f.flags & {UNREAD} <> 0
           AND m.sender_id = p_muted_user_id));
    PERFORM append_muted_users(p_realm_id, p_user_id, p_muted_user_id, p_audience, p_write_id);
    PERFORM append_flag_entries(p_realm_id, 'add', 'read', v_told, p_audience, p_write_id);
    RETURN true;
END $$;

-- Unmute a user: messages they sent so far stay read. False if they were not muted.
CREATE OR REPLACE FUNCTION unmute_user(
    p_realm_id bigint, p_user_id bigint, p_muted_user_id bigint, p_audience bytea, p_write_id uuid)
    RETURNS boolean
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE muted_users SET muted_at = NULL, read_below = current_position() + 1
     WHERE realm_id = p_realm_id AND user_id = p_user_id
       AND muted_user_id = p_muted_user_id AND muted_at IS NOT NULL;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    PERFORM append_muted_users(p_realm_id, p_user_id, p_muted_user_id, p_audience, p_write_id);
    RETURN true;
END $$;

-- Store when these users were active (null: they were not) and seen, unless later moments are
-- stored; return the previous moments of those stored. Bots, deactivated users and users who hide
-- their presence are left out; their rows are read after the lock was granted.
CREATE OR REPLACE FUNCTION record_presences(
    p_realm_id bigint, p_user_ids bigint[], p_active_at timestamptz[], p_seen_at timestamptz[])
    RETURNS TABLE (r_user_id bigint, r_active_before timestamptz, r_seen_before timestamptz)
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_update_id bigint := presence_turn(p_realm_id);
BEGIN
    RETURN QUERY
    WITH before AS MATERIALIZED (
        SELECT p.user_id, p.active_at, p.seen_at FROM presences p
         WHERE p.realm_id = p_realm_id AND p.user_id = ANY (p_user_ids)
    ), kept AS (
        INSERT INTO presences AS p (realm_id, user_id, active_at, seen_at, update_id)
        SELECT u.realm_id, u.user_id, coalesce(n.active_at, u.date_joined), n.seen_at, v_update_id
          FROM unnest(p_user_ids, p_active_at, p_seen_at) AS n(user_id, active_at, seen_at)
          JOIN users u ON u.realm_id = p_realm_id AND u.user_id = n.user_id
         WHERE u.is_active AND u.bot_type IS NULL
           AND u.settings ->> 'presence_enabled' IS DISTINCT FROM 'false'
         ORDER BY u.user_id
        ON CONFLICT (realm_id, user_id) DO UPDATE
           SET active_at = greatest(p.active_at, excluded.active_at),
               seen_at = greatest(p.seen_at, excluded.seen_at),
               update_id = excluded.update_id
        RETURNING p.user_id
    )
    SELECT k.user_id, b.active_at, b.seen_at FROM kept k LEFT JOIN before b USING (user_id);
END $$;

-- The realm's next presence number, locked until commit: numbers become visible in order. An epoch
-- begins above all earlier numbers.
CREATE OR REPLACE FUNCTION presence_turn(p_realm_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_first bigint;
    v_update_id bigint;
BEGIN
    SELECT (c.epoch - 1) << 40 INTO v_first FROM clocks_now(ARRAY[p_realm_id]) AS c;
    INSERT INTO presence_clocks AS p (realm_id, last_update_id) VALUES (p_realm_id, v_first + 1)
    ON CONFLICT (realm_id) DO UPDATE SET last_update_id = greatest(p.last_update_id, v_first) + 1
    RETURNING p.last_update_id INTO v_update_id;
    RETURN v_update_id;
END $$;
