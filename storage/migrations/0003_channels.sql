-- How many active users are subscribed: counting them at each register would cost milliseconds.
ALTER TABLE channels ADD COLUMN subscriber_count integer NOT NULL DEFAULT 0;
-- Guests and administrators are told of channels of which others are not, and the other way round.
CREATE INDEX users_role ON users (realm_id, role);
-- Lists of subscribers leave out the few who are no longer active.
CREATE INDEX users_inactive ON users (realm_id, user_id) WHERE NOT is_active;

-- What is left of work that takes several transactions.
CREATE TABLE stepped_work (
    realm_id bigint NOT NULL,
    work_id uuid NOT NULL,
    -- JSON of the kind of work (server/actions/stepped_work.py), of which `done` counts how much
    -- has been done; NULL: only telling people of it is left.
    plan jsonb NOT NULL,
    done bigint,
    PRIMARY KEY (realm_id, work_id)
);
