-- Processes that serve clients give signs of life too, and each says how it is.
ALTER TABLE workers
    ADD COLUMN serves boolean NOT NULL DEFAULT false,
    -- What it holds, by name: event queues, connections of its pool, how far it is behind the log.
    ADD COLUMN state jsonb NOT NULL DEFAULT '{}';
