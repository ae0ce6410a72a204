-- The way from the log to the queue processors: how far the shipper has come in each realm,
-- and, in the embedded mode, the jobs themselves.

-- Everything in the realm's log up to here has become jobs. The log is kept from here on.
CREATE TABLE shipper_cursors (
    realm_id bigint PRIMARY KEY,
    position bigint NOT NULL DEFAULT 0,
    epoch bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

-- Jobs of all realms and of the server itself: a queue is read across realms.
CREATE TABLE jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    queue text NOT NULL,
    -- What processors recognise repeated work by; 'realm:position' where it came from the log.
    key text NOT NULL,
    body bytea NOT NULL,
    enqueued_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    -- When it may be handed out: its delay, or the end of the lease of who works on it.
    due_at timestamptz NOT NULL,
    claimed boolean NOT NULL DEFAULT false,
    attempts integer NOT NULL DEFAULT 0,
    -- Times handed out, given back or not: an answer to an earlier hand-out changes nothing.
    fence integer NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX jobs_due ON jobs (queue, due_at, id);

CREATE TABLE dead_jobs (
    id bigint PRIMARY KEY,
    queue text NOT NULL,
    key text NOT NULL,
    body bytea NOT NULL,
    enqueued_at timestamptz NOT NULL,
    attempts integer NOT NULL,
    reason text NOT NULL,
    died_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX dead_jobs_queue ON dead_jobs (queue, died_at);
