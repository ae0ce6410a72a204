-- Legal holds, and what they keep beyond its deletion.
CREATE SEQUENCE legal_hold_ids;

CREATE TABLE legal_holds (
    realm_id bigint NOT NULL,
    hold_id bigint NOT NULL DEFAULT nextval('legal_hold_ids'),
    name text NOT NULL,
    reason text NOT NULL,
    is_realm_wide boolean NOT NULL,
    user_ids bigint[] NOT NULL,
    channel_ids bigint[] NOT NULL,
    -- The range of the sending times that it covers.
    sent_from timestamptz,
    sent_until timestamptz,
    creator_id bigint NOT NULL,
    created_at timestamptz NOT NULL,
    releaser_id bigint,
    released_at timestamptz,
    release_reason text,
    PRIMARY KEY (realm_id, hold_id)
);
CREATE INDEX legal_holds_active ON legal_holds (realm_id) WHERE released_at IS NULL;

-- The archive also keeps messages that were deleted while they were held: until the release.
ALTER TABLE expired_messages ADD COLUMN is_kept_for_hold boolean NOT NULL DEFAULT false;
-- Who deleted the message, then.
ALTER TABLE expired_messages ADD COLUMN actor_id bigint;
-- Where it was, by name, and its reactions and widgets.
ALTER TABLE expired_messages ADD COLUMN context jsonb;
CREATE INDEX expired_messages_kept ON expired_messages (realm_id) WHERE is_kept_for_hold;

-- Files that messages held before an edit or their deletion.
CREATE TABLE former_attachment_messages (
    realm_id bigint NOT NULL,
    attachment_id bigint NOT NULL,
    message_id bigint NOT NULL,
    PRIMARY KEY (realm_id, attachment_id, message_id)
);

-- Files that were deleted while they were held, whose content stays.
CREATE TABLE held_files (
    realm_id bigint NOT NULL,
    attachment_id bigint NOT NULL,
    deleted_at timestamptz NOT NULL,
    attachment jsonb NOT NULL,
    PRIMARY KEY (realm_id, attachment_id)
);
