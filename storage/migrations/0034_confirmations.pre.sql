-- What somebody has to confirm by mail. Tokens are made when the mail is written, and are in it
-- alone: here are only their digests, one for each time that it was sent.
CREATE SEQUENCE confirmation_ids;

CREATE TABLE confirmations (
    -- 0: the server's own, for organizations that are to be founded.
    realm_id bigint NOT NULL,
    confirmation_id bigint NOT NULL DEFAULT nextval('confirmation_ids'),
    purpose text NOT NULL,
    -- Where the mail goes.
    email text NOT NULL,
    -- Whose account it is about, where there is one.
    user_id bigint,
    token_digests bytea[] NOT NULL DEFAULT '{}',
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, confirmation_id)
);

CREATE INDEX confirmations_tokens ON confirmations USING gin (token_digests);
CREATE INDEX confirmations_user ON confirmations (realm_id, user_id);
