-- Jobs of the log whose work leaves no row of its own, once they are done: shipped again, they are skipped.
CREATE TABLE done_jobs (
    realm_id bigint NOT NULL,
    queue text NOT NULL,
    key text NOT NULL,
    done_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (realm_id, queue, key)
);
CREATE INDEX done_jobs_by_age ON done_jobs (done_at);

-- Whether phones have it. What was handed over before this column existed counts as pushed.
ALTER TABLE notifications ADD COLUMN pushed boolean NOT NULL DEFAULT true;
ALTER TABLE notifications ALTER COLUMN pushed SET DEFAULT false;
