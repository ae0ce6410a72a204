-- Exports of a user's own data, which the user has asked for.
CREATE SEQUENCE account_export_ids;

CREATE TABLE account_exports (
    realm_id bigint NOT NULL,
    export_id bigint NOT NULL DEFAULT nextval('account_export_ids'),
    user_id bigint NOT NULL,
    requested_at timestamptz NOT NULL,
    -- How much is done while it is written.
    percent smallint NOT NULL DEFAULT 0,
    blob_key text,
    size bigint,
    digest bytea,
    failed_at timestamptz,
    deleted_at timestamptz,
    PRIMARY KEY (realm_id, export_id)
);
CREATE INDEX account_exports_by_user ON account_exports (realm_id, user_id);
