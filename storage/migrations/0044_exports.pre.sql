-- Files with an organization's data that its administrators have asked for.
CREATE SEQUENCE realm_export_ids;

CREATE TABLE realm_exports (
    realm_id bigint NOT NULL,
    export_id bigint NOT NULL DEFAULT nextval('realm_export_ids'),
    -- 1: what is public; 2: and what those have who allow it.
    export_type smallint NOT NULL CHECK (export_type IN (1, 2)),
    acting_user_id bigint NOT NULL,
    requested_at timestamptz NOT NULL,
    -- The key of its content: whoever knows it has the file.
    blob_key text,
    size bigint,
    digest bytea,
    failed_at timestamptz,
    deleted_at timestamptz,
    PRIMARY KEY (realm_id, export_id)
);
