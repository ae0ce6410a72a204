-- Which history of the database the positions belong to. A restored backup or a promoted standby
-- goes on from an earlier moment: what was given out after it must not be given out again.
CREATE TABLE database_identity (
    is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
    system_identifier bigint NOT NULL,
    timeline bigint NOT NULL
);

-- Called on every new connection of a server: begins new epochs if the database is another one
-- than it was, or one that has gone back. True if it did.
CREATE FUNCTION confirm_identity() RETURNS boolean
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_system bigint;
    v_timeline bigint := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
BEGIN
    SELECT system_identifier INTO v_system FROM pg_control_system();
    PERFORM FROM database_identity d
      WHERE d.system_identifier = v_system AND d.timeline = v_timeline;
    IF FOUND THEN RETURN false; END IF;

    INSERT INTO database_identity (system_identifier, timeline) VALUES (v_system, v_timeline)
    ON CONFLICT DO NOTHING;
    IF FOUND THEN RETURN false; END IF;
    PERFORM FROM database_identity d FOR UPDATE;
    PERFORM FROM database_identity d
      WHERE d.system_identifier = v_system AND d.timeline = v_timeline;
    IF FOUND THEN RETURN false; END IF;

    PERFORM renew_epoch(c.realm_id) FROM realm_clock c ORDER BY c.realm_id;
    UPDATE database_identity SET system_identifier = v_system, timeline = v_timeline;
    RETURN true;
END $$;

-- A new epoch of one realm, far above every position that may have been given out: as if
-- 50,000 a second had been, since the last moment that is known of.
CREATE FUNCTION renew_epoch(p_realm_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    v_last timestamptz;
BEGIN
    PERFORM FROM realm_clock c WHERE c.realm_id = p_realm_id FOR UPDATE;
    SELECT greatest(c.day::timestamp AT TIME ZONE 'utc', (
               SELECT m.sent_at FROM messages m
                WHERE m.realm_id = p_realm_id ORDER BY m.id DESC LIMIT 1))
      INTO v_last FROM realm_clock c WHERE c.realm_id = p_realm_id;
    UPDATE realm_clock c
       SET epoch = c.epoch + 1,
           day = greatest(c.day, (now() AT TIME ZONE 'utc')::date),
           position = c.position + greatest(
               1000000, 50000 * ceil(extract(epoch FROM now() - v_last))::bigint)
     WHERE c.realm_id = p_realm_id;
END $$;
