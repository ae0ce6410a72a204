-- Which of several databases leads is decided by generation, then by timeline. A database begins a
-- new generation whenever it is found restored or promoted: the milliseconds since 1970, and in any
-- case more than the one before, so that what began later is always the higher one.
ALTER TABLE database_identity ADD COLUMN generation bigint NOT NULL DEFAULT 0;

-- The generation, system and timeline of this database, which begins a new generation where it is
-- not what it was. The caller gives the newest lineage it has seen: a database that is older
-- changes nothing, and the outcome says so. With p_keeps_positions a promoted standby keeps the
-- epochs of its realms: nothing was committed that it does not have.
CREATE FUNCTION claim_lineage(
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
    -- One that was taken back to a moment of the past has a new timeline, too.
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

-- For processes of the release before.
CREATE OR REPLACE FUNCTION confirm_identity() RETURNS boolean LANGUAGE sql AS $$
    SELECT r_outcome = 'renewed' FROM claim_lineage(NULL, NULL, NULL, false)
$$;

-- Where the session says that each write has to be confirmed by a standby (`parley.strict`), none is
-- begun while Postgres would not wait for one.
CREATE OR REPLACE FUNCTION clock_lock(
    p_realm_id bigint, OUT r_position bigint, OUT r_epoch bigint, OUT r_day date
) LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF current_setting('parley.strict', true) = 'on'
       AND current_setting('synchronous_standby_names') = '' THEN
        RAISE EXCEPTION 'synchronous_standby_names is empty' USING ERRCODE = '57PS1';
    END IF;
    SELECT c.position, c.epoch, greatest(c.day, (clock_timestamp() AT TIME ZONE 'utc')::date)
      INTO STRICT r_position, r_epoch, r_day
      FROM realm_clock c WHERE c.realm_id = p_realm_id
     ORDER BY c.position DESC LIMIT 1 FOR UPDATE;
    PERFORM set_config('parley.start', r_position::text, true),
            set_config('parley.position', r_position::text, true),
            set_config('parley.epoch', r_epoch::text, true),
            set_config('parley.day', r_day::text, true);
END $$;
