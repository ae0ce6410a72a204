-- Who is notified of which message: decided once, by email, by push, or both. A row goes when the
-- message has been read, is gone, or long ago.
CREATE TABLE notifications (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    message_id bigint NOT NULL,
    -- Why (server/domain/notifications.py); NULL: not so.
    email_reason text,
    push_reason text,
    -- By which group they are mentioned, where it is not by name.
    group_id bigint,
    -- The batch in which it is to be mailed; NULL once it was.
    email_batch_id bigint,
    -- Whether the queue of push notifications has it.
    push_handed boolean NOT NULL DEFAULT false,
    decided_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (realm_id, user_id, message_id)
);
CREATE INDEX notifications_message ON notifications (realm_id, message_id);
CREATE INDEX notifications_batch ON notifications (realm_id, user_id, email_batch_id)
    WHERE email_batch_id IS NOT NULL;
CREATE INDEX notifications_decided ON notifications (decided_at);

-- What somebody has missed is collected until then, and mailed together. The row goes when its
-- batch is closed: what comes later opens another.
CREATE SEQUENCE email_batch_ids;
CREATE TABLE email_batches (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    batch_id bigint NOT NULL DEFAULT nextval('email_batch_ids'),
    opened_by bigint NOT NULL,
    due_at timestamptz NOT NULL,
    -- Whether the queue of emails knows of it.
    handed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (realm_id, user_id)
);
CREATE INDEX email_batches_unhanded ON email_batches (realm_id, opened_by) WHERE NOT handed;

-- The few who want to hear of everything: in a channel, wherever they are, in a topic.
CREATE INDEX subscriptions_noisy ON subscriptions (realm_id, channel_id, user_id)
    WHERE active AND (push_notifications OR email_notifications);
CREATE INDEX users_noisy ON users (realm_id, user_id)
    WHERE settings @> '{"enable_stream_push_notifications": true}'
       OR settings @> '{"enable_stream_email_notifications": true}';
CREATE INDEX user_topics_followers ON user_topics (realm_id, topic_id, user_id)
    WHERE visibility_policy = 3;

-- Keys with which the server signs what comes back to it, one for each purpose.
CREATE TABLE server_keys (
    purpose text PRIMARY KEY,
    key bytea NOT NULL
);

-- Addresses that a mail server has refused for good, since the last mail that it took.
CREATE TABLE undeliverable_addresses (
    realm_id bigint NOT NULL,
    user_id bigint NOT NULL,
    address text NOT NULL,
    times integer NOT NULL DEFAULT 1,
    reason text NOT NULL,
    refused_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (realm_id, user_id)
);
