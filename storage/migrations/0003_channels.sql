-- How many active users are subscribed: counting them at each register would cost milliseconds.
ALTER TABLE channels ADD COLUMN subscriber_count integer NOT NULL DEFAULT 0;
-- Guests and administrators are told of channels of which others are not, and the other way round.
CREATE INDEX users_role ON users (realm_id, role);
-- Lists of subscribers leave out the few who are no longer active.
CREATE INDEX users_inactive ON users (realm_id, user_id) WHERE NOT is_active;

-- Subscribing many people takes several transactions: what is left to do, and to tell.
CREATE TABLE subscribing_work (
    realm_id bigint NOT NULL,
    work_id uuid NOT NULL,
    actor_id bigint NOT NULL,
    channel_ids bigint[] NOT NULL,
    -- All who are subscribed in later transactions, and how many of them have been.
    user_ids bigint[] NOT NULL,
    done integer NOT NULL DEFAULT 0,
    -- JSON of server/actions/subscriptions/news.py; NULL: nothing to tell.
    news jsonb,
    PRIMARY KEY (realm_id, work_id)
);
