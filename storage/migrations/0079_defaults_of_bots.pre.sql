-- What a bot's requests mean where they leave something out. A bot without a row has no defaults.
CREATE TABLE bot_defaults (
    realm_id bigint NOT NULL,
    bot_id bigint NOT NULL,
    sending_channel_id bigint,
    events_channel_id bigint,
    all_public_channels boolean DEFAULT false NOT NULL,
    PRIMARY KEY (realm_id, bot_id)
);
