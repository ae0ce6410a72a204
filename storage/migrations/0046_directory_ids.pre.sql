-- Which entry of the directory (LDAP) an account belongs to, where entries have ids of their own.
CREATE TABLE directory_ids (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    -- As the directory calls it, whatever else changes in the entry.
    directory_id text NOT NULL,
    PRIMARY KEY (realm_id, user_id),
    UNIQUE (realm_id, directory_id)
);
