-- The last delivery to each incoming webhook bot, for those who set it up.
CREATE TABLE webhook_deliveries (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    service text NOT NULL,
    outcome text NOT NULL,
    received_at timestamp with time zone NOT NULL,
    PRIMARY KEY (realm_id, bot_id)
) WITH (fillfactor = 70);
