-- Encrypted OAuth tokens of users for the services that create calls for them.
CREATE TABLE call_tokens (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    service text NOT NULL,
    tokens bytea NOT NULL,
    PRIMARY KEY (realm_id, user_id, service)
);
