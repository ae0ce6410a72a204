-- Ranges of message ids whose dates are older than their ids: those of imports into an organization
-- that was in use. Within each, and within what lies between them, ids rise with time.
CREATE TABLE imported_ranges (
    realm_id bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    PRIMARY KEY (realm_id, first_id)
);
