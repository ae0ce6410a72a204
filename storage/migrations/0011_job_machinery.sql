-- Whose work a job is, so that realms take turns; what killed it; and what operators decide and see.

ALTER TABLE jobs ADD COLUMN realm_id bigint NOT NULL DEFAULT 0;
CREATE INDEX jobs_of_realm ON jobs (queue, realm_id, due_at, id);

-- Realms above p_after and up to p_until that have jobs, in order: a step in the index for each.
CREATE FUNCTION realms_with_jobs(p_queue text, p_after bigint, p_until bigint, p_limit integer)
    RETURNS TABLE (realm_id bigint, place bigint)
    LANGUAGE sql STABLE
    AS $$
    WITH RECURSIVE found AS (
        (SELECT j.realm_id, 1::bigint AS place FROM jobs j
          WHERE j.queue = p_queue AND j.realm_id > p_after AND j.realm_id <= p_until
          ORDER BY j.realm_id LIMIT 1)
        UNION ALL
        SELECT (SELECT j.realm_id FROM jobs j
                 WHERE j.queue = p_queue AND j.realm_id > f.realm_id AND j.realm_id <= p_until
                 ORDER BY j.realm_id LIMIT 1), f.place + 1
          FROM found f WHERE f.realm_id IS NOT NULL AND f.place < p_limit)
    SELECT f.realm_id, f.place FROM found f WHERE f.realm_id IS NOT NULL
$$;

ALTER TABLE dead_jobs ADD COLUMN realm_id bigint NOT NULL DEFAULT 0,
                      ADD COLUMN trace text NOT NULL DEFAULT '';

-- What is known of a queue beyond its jobs, on any broker.
CREATE TABLE job_queues (
    queue text PRIMARY KEY,
    -- Nobody works on it until an operator lets them.
    paused_at timestamptz,
    -- When it was last seen with nothing to do: nothing that waits is older.
    seen_empty_at timestamptz
);

-- The processes at work, as they say it themselves every few seconds.
CREATE TABLE workers (
    id text PRIMARY KEY,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- How far the shipper is behind, where this process leads it.
    ship_lag_seconds double precision,
    -- By queue: jobs in hand, when the oldest of them was asked for, and the newest handed out;
    -- how many ended well, were tried again, died.
    queues jsonb NOT NULL
);
