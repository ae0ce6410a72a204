-- Imports that owners ask for over the API: their files, and how far they are.
CREATE SEQUENCE import_request_ids;

CREATE TABLE import_requests (
    realm_id bigint NOT NULL,
    request_id bigint NOT NULL DEFAULT nextval('import_request_ids'),
    acting_user_id bigint NOT NULL,
    file_name text NOT NULL,
    size bigint NOT NULL,
    blob_key text,
    state text NOT NULL,
    source text NOT NULL DEFAULT '',
    topic text NOT NULL DEFAULT '',
    fingerprint bytea,
    problem text NOT NULL DEFAULT '',
    crashes smallint NOT NULL DEFAULT 0,
    report jsonb,
    requested_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (realm_id, request_id)
);

ALTER TABLE resumable_uploads ADD COLUMN purpose text NOT NULL DEFAULT 'attachment';
