-- Folders into which an organization sorts its channels.

CREATE SEQUENCE channel_folder_ids;

CREATE TABLE channel_folders (
    realm_id bigint NOT NULL,
    folder_id bigint NOT NULL DEFAULT nextval('channel_folder_ids'),
    name text NOT NULL,
    description text NOT NULL,
    rendered_description text NOT NULL,
    -- NULL: the server by itself.
    creator_id bigint,
    created_at timestamptz NOT NULL,
    is_archived boolean NOT NULL DEFAULT false,
    -- From 0 on; clients list them so.
    sort_order integer NOT NULL,
    PRIMARY KEY (realm_id, folder_id)
);

-- A name is given once among those that are in use.
CREATE UNIQUE INDEX channel_folders_name ON channel_folders (realm_id, lower(name))
 WHERE NOT is_archived;
