-- Messages about builds and alerts, which a later delivery about the same replaces or marks.
CREATE TABLE integration_messages (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    about bytea NOT NULL,
    message_id bigint NOT NULL,
    is_open boolean NOT NULL,
    delivery bytea,
    changed_at timestamp with time zone NOT NULL,
    PRIMARY KEY (realm_id, bot_id, about)
) WITH (fillfactor = 80);
CREATE INDEX integration_messages_changed_at ON integration_messages USING brin (changed_at);
