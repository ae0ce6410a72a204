-- How much was sent to each channel in the weeks before this day.
CREATE TABLE channel_traffic (
    realm_id bigint NOT NULL,
    channel_id bigint NOT NULL,
    messages integer NOT NULL,
    day date NOT NULL,
    PRIMARY KEY (realm_id, channel_id)
);
