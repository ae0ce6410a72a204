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
