-- The realm's clock and the event log.

-- Position of the running transaction, as clock_lock has set it.
CREATE OR REPLACE FUNCTION current_position() RETURNS bigint
    LANGUAGE sql STABLE
    AS $$ SELECT current_setting('parley.position')::bigint $$;

-- Take the next position of the running transaction.
CREATE OR REPLACE FUNCTION next_position() RETURNS bigint
    LANGUAGE sql VOLATILE
    AS $$ SELECT set_config('parley.position', (current_setting('parley.position')::bigint + 1)::text, true)::bigint $$;

-- Append an entry to the log at the next position, and return the position. Nothing else writes to
-- the log.
CREATE OR REPLACE FUNCTION append_entry(p_realm_id bigint, p_kind text, p_audience bytea, p_body bytea, p_write_id uuid)
    RETURNS bigint
    LANGUAGE sql
    AS $$
    INSERT INTO event_log (realm_id, position, day, epoch, kind, audience, body, write_id)
    VALUES (p_realm_id, next_position(), current_setting('parley.day')::date,
            current_setting('parley.epoch')::bigint, p_kind, p_audience, p_body, p_write_id)
    RETURNING position
$$;

-- Use positions without entries, and append an entry after them that says so, to nobody.
CREATE OR REPLACE FUNCTION append_reserving(
    p_realm_id bigint, p_kind text, p_body bytea, p_write_id uuid, p_count bigint)
    RETURNS bigint
    LANGUAGE plpgsql
    AS $$
BEGIN
    PERFORM set_config('parley.position', (current_position() + p_count)::text, true);
    RETURN append_entry(p_realm_id, p_kind, '', p_body, p_write_id);
END $$;

-- Append several entries of one kind and one write, in order.
CREATE OR REPLACE FUNCTION append_entries(
    p_realm_id bigint, p_kind text, p_audiences bytea[], p_bodies bytea[], p_write_id uuid)
    RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO event_log (realm_id, position, day, epoch, kind, audience, body, write_id)
    SELECT p_realm_id, next_position(), current_setting('parley.day')::date,
           current_setting('parley.epoch')::bigint, p_kind, e.audience, e.body, p_write_id
      FROM (SELECT n.audience, n.body FROM unnest(p_audiences, p_bodies)
                   WITH ORDINALITY AS n(audience, body, place) ORDER BY n.place) e;
END $$;

-- Lock the realm's clock for the rest of the transaction; return its position, epoch and day. If
-- the session demands that a standby confirms each write (`parley.strict`), fail where Postgres
-- would not wait for one.
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

-- Advance the clock by the positions that the transaction has used; return the entries that it
-- appended.
CREATE OR REPLACE FUNCTION clock_advance(p_realm_id bigint)
    RETURNS TABLE (r_position bigint, r_kind text, r_audience bytea, r_body bytea, r_write_id uuid)
    LANGUAGE plpgsql
    SET enable_seqscan = off
    SET plan_cache_mode = force_generic_plan
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

-- Current position, day and epoch of each of these realms.
CREATE OR REPLACE FUNCTION clocks_now(p_realm_ids bigint[])
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

-- Start a new epoch of one realm, far above every position that may have been given out: as if
-- there had been 50,000 a second since the last known moment.
CREATE OR REPLACE FUNCTION renew_epoch(p_realm_id bigint) RETURNS void
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

-- Create the log's partitions from today for p_days ahead, safely beside other callers; return how
-- many.
CREATE OR REPLACE FUNCTION event_log_partitions(p_days integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$
DECLARE
    d date;
    made integer := 0;
    partition text;
BEGIN
    FOR d IN SELECT generate_series(
            (now() AT TIME ZONE 'utc')::date - 1,
            (now() AT TIME ZONE 'utc')::date + p_days, interval '1 day')::date
    LOOP
        partition := 'event_log_' || to_char(d, 'YYYYMMDD');
        IF to_regclass(partition) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtext('event_log_partitions'));
            -- Not to_regclass again: its cache may be from before the wait.
            IF NOT EXISTS (SELECT FROM pg_class
                            WHERE relname = partition AND relnamespace = current_schema()::regnamespace) THEN
                EXECUTE format('CREATE TABLE %I (LIKE event_log INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', partition);
                EXECUTE format('ALTER TABLE event_log ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', partition, d, d + 1);
                made := made + 1;
            END IF;
        END IF;
    END LOOP;
    RETURN made;
END $$;

-- Encode an audience of these users alone.
CREATE OR REPLACE FUNCTION to_users(p_user_ids bigint[]) RETURNS bytea
    LANGUAGE sql IMMUTABLE
    AS $$ SELECT convert_to('{"users":[' || array_to_string(p_user_ids, ',') || ']}', 'UTF8') $$;
