-- Which of several copies of the database leads.

-- Compare generation, system and timeline of this database with the newest lineage that the caller
-- has seen, and begin a new generation where they differ from the stored ones. An older database
-- changes nothing; r_outcome says so. With p_keeps_positions a promoted standby keeps its realms'
-- epochs: it has everything that was committed.
CREATE OR REPLACE FUNCTION claim_lineage(
    p_generation bigint, p_system bigint, p_timeline bigint, p_keeps_positions boolean,
    OUT r_generation bigint, OUT r_system bigint, OUT r_timeline bigint, OUT r_outcome text
) LANGUAGE plpgsql AS $$
DECLARE
    v_system bigint;
    v_timeline bigint;
BEGIN
    SELECT system_identifier INTO r_system FROM pg_control_system();
    r_timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint;
    SELECT d.generation, d.system_identifier, d.timeline
      INTO r_generation, v_system, v_timeline FROM database_identity d;
    IF NOT FOUND THEN
        IF p_generation IS NOT NULL AND (r_system, r_timeline) <> (p_system, p_timeline) THEN
            r_generation := -1; -- never served, and another one was
            r_outcome := 'older';
            RETURN;
        END IF;
        INSERT INTO database_identity (system_identifier, timeline, generation)
        VALUES (r_system, r_timeline,
                coalesce(p_generation, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint))
        ON CONFLICT DO NOTHING;
        SELECT d.generation, d.system_identifier, d.timeline
          INTO STRICT r_generation, v_system, v_timeline FROM database_identity d;
    END IF;
    IF r_generation < p_generation
       OR (r_generation = p_generation AND r_system = p_system AND r_timeline < p_timeline) THEN
        r_outcome := 'older';
        RETURN;
    END IF;
    r_outcome := 'known';
    IF v_system = r_system AND v_timeline = r_timeline THEN RETURN; END IF;

    SELECT d.generation, d.system_identifier, d.timeline
      INTO STRICT r_generation, v_system, v_timeline FROM database_identity d FOR UPDATE;
    IF v_system = r_system AND v_timeline = r_timeline THEN RETURN; END IF;
    r_outcome := 'kept';
    -- A database restored to a point in time has a new timeline too.
    IF NOT p_keeps_positions OR v_system <> r_system OR v_timeline > r_timeline
       OR EXISTS (SELECT FROM pg_settings s
                   WHERE s.name IN ('recovery_target', 'recovery_target_lsn', 'recovery_target_name',
                                    'recovery_target_time', 'recovery_target_xid')
                     AND s.setting <> '') THEN
        r_outcome := 'renewed';
        PERFORM renew_epoch(c.realm_id) FROM realm_clock c ORDER BY c.realm_id;
    END IF;
    UPDATE database_identity d
       SET system_identifier = r_system, timeline = r_timeline,
           generation = greatest(
               d.generation + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
    RETURNING d.generation INTO r_generation;
END $$;

-- Used by processes of older releases.
CREATE OR REPLACE FUNCTION confirm_identity() RETURNS boolean LANGUAGE sql AS $$
    SELECT r_outcome = 'renewed' FROM claim_lineage(NULL, NULL, NULL, false)
$$;
