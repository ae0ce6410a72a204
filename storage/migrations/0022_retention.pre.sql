-- Messages whose time is over are kept apart for a while, and then nowhere.

CREATE TABLE expired_messages (
    realm_id bigint NOT NULL,
    id bigint NOT NULL,
    expired_at timestamptz NOT NULL,
    -- The row as it was.
    message jsonb NOT NULL,
    PRIMARY KEY (realm_id, id)
);
CREATE INDEX expired_messages_age ON expired_messages (expired_at);
