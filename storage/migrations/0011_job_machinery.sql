-- Whose work a job is, so that realms take turns; what killed it; and what operators decide and see.

ALTER TABLE jobs ADD COLUMN realm_id bigint NOT NULL DEFAULT 0;
CREATE INDEX jobs_of_realm ON jobs (queue, realm_id, due_at, id);

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
