-- Bots that are called: where, and for which messages.

CREATE TABLE bot_services (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    interface smallint NOT NULL CHECK (interface IN (1, 2)),
    base_url text NOT NULL,
    token text NOT NULL,
    -- When its owner was told last that it cannot be called.
    told_at timestamptz,
    PRIMARY KEY (realm_id, bot_id)
);

-- One row for each message and bot: however often the work is done, it is one call.
CREATE TABLE webhook_calls (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    trigger text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    -- Whether the queue has its job.
    is_handed boolean NOT NULL DEFAULT false,
    failures integer NOT NULL DEFAULT 0,
    -- How it ended. NULL: it has not.
    outcome text,
    PRIMARY KEY (realm_id, message_id, bot_id)
);
CREATE INDEX webhook_calls_by_age ON webhook_calls (asked_at);
