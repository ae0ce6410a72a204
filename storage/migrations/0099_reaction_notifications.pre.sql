-- Windows in which reactions to a message are collected into one notification of its sender.
CREATE TABLE reaction_notifications (
    realm_id bigint NOT NULL,
    message_id bigint NOT NULL,
    user_id bigint NOT NULL,
    first_position bigint NOT NULL,
    due_at timestamptz NOT NULL,
    PRIMARY KEY (realm_id, message_id)
);

CREATE INDEX reaction_notifications_due ON reaction_notifications (due_at, realm_id);
CREATE INDEX reaction_notifications_of_user ON reaction_notifications (realm_id, user_id);
