-- What bots keep from one run to the next.
CREATE TABLE bot_storage (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    key text NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (realm_id, user_id, key)
);
