-- Who has signed in with a browser. What the browser keeps is not here: only its digest.
CREATE TABLE sessions (
    realm_id bigint NOT NULL,
    token_digest bytea NOT NULL,
    user_id bigint NOT NULL,
    -- How the browser calls itself.
    user_agent text NOT NULL,
    began_at timestamptz NOT NULL DEFAULT now(),
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, token_digest)
);

CREATE INDEX sessions_user ON sessions (realm_id, user_id);
