-- Uploads that come in several requests. What has come is kept in parts until all of it is there.
CREATE TABLE resumable_uploads (
    realm_id bigint NOT NULL,
    upload_id text NOT NULL,
    owner_id bigint NOT NULL,
    name text NOT NULL,
    size bigint NOT NULL,
    received bigint NOT NULL DEFAULT 0,
    -- Where its content will be.
    blob_key text NOT NULL,
    expires_at timestamptz NOT NULL,
    -- Until then somebody puts the parts together.
    claimed_until timestamptz,
    is_finished boolean NOT NULL DEFAULT false,
    PRIMARY KEY (realm_id, upload_id)
);
CREATE INDEX resumable_uploads_owner ON resumable_uploads (realm_id, owner_id);

CREATE TABLE upload_parts (
    realm_id bigint NOT NULL,
    upload_id text NOT NULL,
    start bigint NOT NULL,
    blob_key text NOT NULL,
    PRIMARY KEY (realm_id, upload_id, start)
);
CREATE INDEX upload_parts_blob ON upload_parts (realm_id, blob_key);
