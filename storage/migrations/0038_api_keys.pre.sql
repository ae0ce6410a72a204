-- Keys that people give to programs. What a program keeps is not here: only its digest.
CREATE SEQUENCE api_key_ids;

CREATE TABLE api_keys (
    realm_id bigint NOT NULL,
    key_id bigint NOT NULL DEFAULT nextval('api_key_ids'),
    user_id bigint NOT NULL,
    name text NOT NULL,
    digest bytea NOT NULL,
    -- How the key begins, by which its holder knows it again.
    hint text NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    -- Written once in five minutes at most.
    last_used_at timestamptz,
    PRIMARY KEY (realm_id, key_id)
);

CREATE UNIQUE INDEX api_keys_digest ON api_keys (realm_id, digest);
CREATE INDEX api_keys_user ON api_keys (realm_id, user_id);

-- By which a key in an address is found, without comparing it letter by letter.
CREATE INDEX users_api_key ON users (realm_id, sha256(api_key::bytea));
