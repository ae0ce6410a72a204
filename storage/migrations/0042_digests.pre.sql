-- On which day somebody was last to get a digest, and whether that is done.
CREATE TABLE digests (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    day date NOT NULL,
    done boolean NOT NULL DEFAULT false,
    PRIMARY KEY (realm_id, user_id)
);
