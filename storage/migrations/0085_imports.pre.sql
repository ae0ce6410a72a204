-- Imports from the exports of other programs: how far each has come, and which rows their records
-- have become.

CREATE SEQUENCE import_ids;

CREATE TABLE imports (
    realm_id bigint NOT NULL,
    import_id bigint NOT NULL DEFAULT nextval('import_ids'),
    source text NOT NULL,
    -- Of the file: a second run continues the import of the same file.
    fingerprint bytea NOT NULL,
    options jsonb NOT NULL,
    phase text NOT NULL,
    -- Progress within the phase, in its unit.
    done bigint NOT NULL DEFAULT 0,
    -- Messages in the file; their positions begin after `first_position`.
    total bigint NOT NULL,
    first_position bigint NOT NULL,
    report jsonb NOT NULL,
    started_at timestamptz NOT NULL,
    ended_at timestamptz,
    PRIMARY KEY (realm_id, import_id)
);

-- Ids of rows by the keys that their records have in the file, until the import has ended.
CREATE TABLE import_keys (
    realm_id bigint NOT NULL,
    import_id bigint NOT NULL,
    kind text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    id bigint NOT NULL,
    PRIMARY KEY (realm_id, import_id, kind, key)
);
