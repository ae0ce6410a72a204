-- What people's clients ask for: how often, and when last.
CREATE TABLE user_activity (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    client text NOT NULL,
    -- The first part of the path.
    what text NOT NULL,
    count bigint NOT NULL,
    last_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, user_id, client, what)
)
WITH (fillfactor = 70);
CREATE INDEX user_activity_age ON user_activity (last_at);
