-- Calls of slash commands that still take answers, at an address of their own.
CREATE TABLE command_calls (
    realm_id bigint NOT NULL,
    call_id text NOT NULL,
    answer_token text NOT NULL,
    bot_id bigint NOT NULL,
    caller_id bigint NOT NULL,
    command text NOT NULL,
    channel_id bigint,
    topic text NOT NULL,
    user_ids bigint[] NOT NULL,
    called_at timestamptz NOT NULL,
    answers_left smallint NOT NULL,
    PRIMARY KEY (realm_id, call_id),
    UNIQUE (realm_id, answer_token)
);

CREATE INDEX command_calls_by_age ON command_calls (called_at);
