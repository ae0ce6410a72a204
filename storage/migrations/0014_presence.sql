-- Who is there, and what people say of themselves.

-- Presence has no position: each write of it takes the realm's next number instead, so that
-- clients can ask for what is newer than what they have.
CREATE TABLE presence_clocks (
    realm_id bigint PRIMARY KEY,
    last_update_id bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE presences (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    -- When somebody sat at one of their clients last; at first, when they joined.
    active_at timestamptz NOT NULL,
    -- When one of their clients was last heard of.
    seen_at timestamptz NOT NULL,
    update_id bigint NOT NULL,
    PRIMARY KEY (realm_id, user_id)
) WITH (fillfactor = 70);

CREATE INDEX presences_by_update ON presences (realm_id, update_id);

-- Who does not want their presence to be known: few, and register names them.
CREATE INDEX users_without_presence ON users (realm_id, user_id)
    WHERE settings ->> 'presence_enabled' = 'false';

-- The realm's next number, held until commit: numbers become visible in their order, so whoever
-- has seen one has seen all below it. An epoch begins above all that was given out before it.
CREATE FUNCTION presence_turn(p_realm_id bigint) RETURNS bigint
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

-- Keep when these people were active (NULL: they were not) and seen, unless later is known of
-- them; and what was known before of those who are kept. Left out are bots, people who are gone,
-- and those who do not want it by now: their rows are read after the turn has come.
CREATE FUNCTION record_presences(
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

-- What people say of themselves. Who says nothing has no row.
CREATE TABLE user_statuses (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    status_text text NOT NULL,
    -- These three are empty together.
    emoji_name text NOT NULL,
    emoji_code text NOT NULL,
    reaction_type text NOT NULL,
    PRIMARY KEY (realm_id, user_id)
);
