-- Channels that newcomers may choose to join together.

CREATE SEQUENCE default_channel_group_ids;

CREATE TABLE default_channel_groups (
    realm_id bigint NOT NULL,
    group_id bigint NOT NULL DEFAULT nextval('default_channel_group_ids'),
    name text NOT NULL,
    description text NOT NULL,
    channel_ids bigint[] NOT NULL,
    PRIMARY KEY (realm_id, group_id)
);

CREATE UNIQUE INDEX default_channel_groups_name ON default_channel_groups (realm_id, lower(name));
