-- Emoji of an organization. They are never removed: messages may hold them.
CREATE SEQUENCE realm_emoji_ids;

CREATE TABLE realm_emoji (
    realm_id bigint NOT NULL,
    emoji_id bigint NOT NULL DEFAULT nextval('realm_emoji_ids'),
    name text NOT NULL,
    author_id bigint NOT NULL,
    blob_key text NOT NULL,
    -- Of an animated one.
    still_key text,
    deactivated boolean NOT NULL DEFAULT false,
    PRIMARY KEY (realm_id, emoji_id)
);

-- A name is given once among those that are in use.
CREATE UNIQUE INDEX realm_emoji_name ON realm_emoji (realm_id, name) WHERE NOT deactivated;

-- By which content an attachment is found.
CREATE INDEX attachments_blob
    ON attachments (realm_id, regexp_replace(path_id, '/[^/]*$', ''));
